//! The contest of the chapter on operators: its last kernel beside the fastest of the libraries for each operator, type and
//! size, what of it is slower, and how near it is to what the card allows.

use std::collections::BTreeMap;
use std::path::Path;

use lab::measurement::{CUB, Contest, ENTRANT, MeasuredCase, Measurement, TORCH_COMPILED, geometric_mean};
use lab::text::{grouped, per_cent};
use lab::{Op, Result, Type};

use crate::contest_table::ContestTable;
use crate::sheet::Sheet;
use crate::stale::marked;
use crate::tables::{cell, digits, size, source_beside, stale_note, unmeasured, wrong};

/// Types of the table in the open, the first of the contest's.
const TYPES_IN_THE_OPEN: usize = 4;
/// Sizes of the tables, as powers of two.
const LOGS: [u32; 4] = [10, 16, 22, 28];
/// The size at which reading is nearly all that takes time, as a power of two.
const LARGEST: u32 = 28;
/// Sizes at which the place of the largest stands beside the largest, as powers of two.
const ARG_LOGS: [u32; 4] = [22, 24, 26, 28];

/// One operator and type at one size.
struct Point<'r> {
    op: Op,
    ty: Type,
    n: u64,
    ours: &'r MeasuredCase,
    us: f64,
    /// The fastest of the others whose results were right.
    rival: Option<(&'r str, f64)>,
}

impl Point<'_> {
    /// Time of the fastest other over ours.
    fn ratio(&self) -> Option<f64> {
        self.rival.map(|(_, us)| us / self.us)
    }
}

/// The points in the order of the tables: operators, then types, then sizes.
fn points<'r>(table: &ContestTable, record: &'r Measurement) -> Vec<Point<'r>> {
    let mut cases: BTreeMap<(&str, &str, u64), Vec<&MeasuredCase>> = BTreeMap::new();
    for case in &record.cases {
        let is_of_chapter = case.chapter.as_deref() == Some(&table.chapter);
        if is_of_chapter && case.is_plain_in(Contest::Alone) && case.ok && case.cold_us.is_some() {
            cases.entry((case.op(), &case.ty, case.n)).or_default().push(case);
        }
    }
    fn point<'r>(((op, ty, n), cases): ((&str, &str, u64), Vec<&'r MeasuredCase>)) -> Option<Point<'r>> {
        let ours = *cases.iter().find(|case| case.entrant == ENTRANT)?;
        let others = cases.iter().filter(|case| case.entrant != ENTRANT);
        let rival = others.filter_map(|&case| Some((case.entrant.as_str(), case.cold_us?)));
        let rival = rival.min_by(|a, b| a.1.total_cmp(&b.1));
        Some(Point { op: Op::from_name(op)?, ty: Type::from_name(ty)?, n, ours, us: ours.cold_us?, rival })
    }
    let mut points: Vec<Point<'_>> = cases.into_iter().filter_map(point).collect();
    let (headline, types) = (headline(table), table.types());
    let place = |ty: Type| types.iter().position(|&other| other == ty);
    let op_place = |op: Op| (headline.iter().position(|&other| other == op).unwrap_or(headline.len()), op as usize);
    points.sort_by_key(|point| (op_place(point.op), place(point.ty), point.n));
    points
}

/// Operators of the table in the open: what is measured of the first type before the other types come.
fn headline(table: &ContestTable) -> &[Op] {
    table.tasks.first().map_or(&[], |task| &task.ops)
}

/// The files of `book/src/generated/ch09-operators/` that come from the record of the contest, name and text. The names are
/// the same whether there is a record or not.
///
/// # Errors
/// A record that cannot be read.
pub fn operators(table: &ContestTable, root: &Path) -> Result<Vec<(String, String)>> {
    let names = ["clock", "clock-others", "clock-sum", "clock-below", "clock-limit", "clock-places", "clock-source"];
    marked(root, &table.record(), |record, stale| {
        let texts = match record {
            None => names.map(|_| unmeasured("the operators")),
            Some(record) => texts(table, record, stale),
        };
        Ok(names.into_iter().map(|name| format!("{name}.md")).zip(texts).collect())
    })
}

fn texts(table: &ContestTable, record: &Measurement, stale: &[String]) -> [String; 7] {
    let (points, types) = (points(table, record), table.types());
    let is_open = |op: Op, ty: Type| {
        headline(table).contains(&op) && types.iter().take(TYPES_IN_THE_OPEN).any(|&open| open == ty)
    };
    [
        beside(&points, &is_open),
        beside(&points, &|op, ty| !is_open(op, ty)),
        summary(record, &points),
        below(&points),
        limit(&points, &types),
        places(&points, &types),
        source(record, stale),
    ]
}

/// A row for each operator and type: our time, and how many times as long the fastest of the others takes.
fn beside(points: &[Point<'_>], is_asked: &dyn Fn(Op, Type) -> bool) -> String {
    let heads = ["operator", "type"].into_iter().map(str::to_owned);
    let mut sheet = Sheet::new(2, heads.chain(LOGS.map(|log| size(1 << log))));
    let mut rows: Vec<(Op, Type)> = points.iter().map(|point| (point.op, point.ty)).collect();
    rows.dedup();
    for (op, ty) in rows.into_iter().filter(|&(op, ty)| is_asked(op, ty)) {
        let cells = LOGS.map(|log| at(points, op, ty, log).map_or("–".to_owned(), both));
        sheet.row([format!("`{}`", op.name()), format!("`{ty}`")].into_iter().chain(cells));
    }
    if sheet.is_empty() { unmeasured("these operators") } else { sheet.markdown() }
}

fn at<'p, 'r>(points: &'p [Point<'r>], op: Op, ty: Type, log: u32) -> Option<&'p Point<'r>> {
    points.iter().find(|point| (point.op, point.ty, point.n) == (op, ty, 1 << log))
}

/// `1.31 µs, 1.52 CUB`; bold where the other is faster.
fn both(point: &Point<'_>) -> String {
    let us = cell(Some(point.us));
    let Some(((name, _), ratio)) = point.rival.zip(point.ratio()) else { return format!("{us} µs") };
    let text = format!("{}× {}", digits(ratio), called(name));
    if ratio < 1.0 { format!("{us} µs, **{text}**") } else { format!("{us} µs, {text}") }
}

fn called(name: &str) -> &str {
    match name {
        CUB => "CUB",
        TORCH_COMPILED => "torch, compiled",
        name => name,
    }
}

/// The mean of all ratios, the smallest, and what stands beside ours nowhere because it was wrong.
fn summary(record: &Measurement, points: &[Point<'_>]) -> String {
    let mut compared: Vec<(&Point<'_>, f64)> =
        points.iter().filter_map(|point| Some((point, point.ratio()?))).collect();
    compared.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (Some(mean), Some((least, ratio))) =
        (geometric_mean(compared.iter().map(|&(_, ratio)| ratio)), compared.first())
    else {
        return unmeasured("the operators beside a library");
    };
    let below = compared.iter().filter(|&&(_, ratio)| ratio < 1.0).count();
    let of_points = |case: &&MeasuredCase| {
        let is_at = |point: &Point<'_>| (point.op.name(), point.ty.name(), point.n) == (case.op(), &case.ty, case.n);
        points.iter().any(is_at)
    };
    let is_compiled = |case: &&MeasuredCase| case.ok && case.entrant == TORCH_COMPILED;
    let compiled = record.cases.iter().filter(is_compiled).filter(of_points).count();
    let out = format!(
        "At {} points, an operator, a type and a size each, a library was timed too. The fastest of them takes {mean:.2} times \
         as long as `reduce`, in the geometric mean. The smallest ratio is {ratio:.3}: `{}` of `{}` at {}, {}. \
         {} below 1. Compiled torch was timed at {compiled} of the points.\n",
        grouped(compared.len() as u64),
        least.op.name(),
        least.ty,
        size(least.n),
        called(least.rival.map_or("", |(name, _)| name)),
        match below {
            0 => "None of the ratios is".to_owned(),
            1 => "One of the ratios is".to_owned(),
            more => format!("{} of the ratios are", grouped(more as u64)),
        },
    );
    let cases = record.cases.iter().filter(|case| !case.ok).filter(of_points);
    let things = cases.map(|case| format!("`{}` of `{}` by {}", case.op(), case.ty, called(&case.entrant)));
    out + &wrong("Wrong at some size, and left out there", things)
}

/// Points where another is faster, the weakest first.
fn below(points: &[Point<'_>]) -> String {
    let mut sheet = Sheet::new(2, ["operator", "type", "n", "`reduce`, µs", "the fastest", "µs", "ratio"]);
    let mut slower: Vec<_> = points
        .iter()
        .filter_map(|point| Some((point, point.rival?, point.ratio().filter(|&ratio| ratio < 1.0)?)))
        .collect();
    slower.sort_by(|a, b| a.2.total_cmp(&b.2));
    for (point, (name, us), ratio) in slower {
        sheet.row([
            format!("`{}`", point.op.name()),
            format!("`{}`", point.ty),
            size(point.n),
            cell(Some(point.us)),
            called(name).to_owned(),
            cell(Some(us)),
            format!("{ratio:.3}"),
        ]);
    }
    if sheet.is_empty() {
        "At none of the points of this record is another faster.\n".to_owned()
    } else {
        sheet.markdown()
    }
}

/// Share of the card's limit that `reduce` reaches at the largest size: operators down, types across.
fn limit(points: &[Point<'_>], types: &[Type]) -> String {
    let of = |op, ty| {
        let point = at(points, op, ty, LARGEST)?;
        Some(per_cent(point.ours.limit_us? / point.us))
    };
    let types: Vec<Type> = types.iter().copied().filter(|&ty| Op::ALL.iter().any(|&op| of(op, ty).is_some())).collect();
    let mut sheet = Sheet::new(1, ["operator".to_owned()].into_iter().chain(types.iter().map(|ty| format!("`{ty}`"))));
    let mut ops: Vec<Op> = points.iter().map(|point| point.op).collect();
    ops.dedup();
    for op in ops {
        let cells: Vec<Option<String>> = types.iter().map(|&ty| of(op, ty)).collect();
        if cells.iter().any(Option::is_some) {
            let cells = cells.into_iter().map(|cell| cell.unwrap_or_else(|| "–".to_owned()));
            sheet.row([format!("`{}`", op.name())].into_iter().chain(cells));
        }
    }
    if sheet.is_empty() { unmeasured("the limit") } else { sheet.markdown() }
}

/// The place of the largest element beside the largest element.
fn places(points: &[Point<'_>], types: &[Type]) -> String {
    let mut sheet = Sheet::new(2, ["type", "n", "`max`, µs", "`argmax`, µs", "`argmax` / `max`"]);
    for &ty in types {
        for log in ARG_LOGS {
            let us = |op| at(points, op, ty, log).map(|point| point.us);
            if let (Some(max), Some(argmax)) = (us(Op::Max), us(Op::Argmax)) {
                let ratio = digits(argmax / max);
                sheet.row([format!("`{ty}`"), size(1 << log), cell(Some(max)), cell(Some(argmax)), ratio]);
            }
        }
    }
    if sheet.is_empty() { unmeasured("`argmax` beside `max`") } else { sheet.markdown() }
}

/// The card, the day and the libraries, and why the figures are of other kernels, if they are.
fn source(record: &Measurement, stale: &[String]) -> String {
    let libraries: Vec<String> =
        record.libraries.iter().map(|(name, library)| format!("{} {}", called(name), library.version)).collect();
    format!("{}\n{}", source_beside(record, &libraries), stale_note(stale))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::{self, has, record};
    use lab::measurement::TORCH;
    use lab::session::built_root;

    fn table() -> ContestTable {
        ContestTable::read(&built_root(), "ch09-operators").unwrap()
    }

    fn case(entrant: &str, op: &str, ty: &str, (log, us): (u32, f64)) -> serde_json::Value {
        made::case("ch09-operators", entrant, (op, ty), us, serde_json::json!({ "n": 1u64 << log }))
    }

    #[test]
    fn the_fastest_right_library_stands_beside_ours() {
        let mut wrong = case(TORCH, "sum", "f32", (10, 0.5));
        wrong["ok"] = false.into();
        let record = record(&[
            case(ENTRANT, "sum", "f32", (10, 2.0)),
            case(CUB, "sum", "f32", (10, 3.0)),
            case(TORCH_COMPILED, "sum", "f32", (10, 5.0)),
            wrong,
            case(ENTRANT, "max", "i8", (28, 2.0)),
            case(TORCH_COMPILED, "max", "i8", (28, 1.0)),
            case(ENTRANT, "argmax", "i64", (28, 3.0)),
            case(ENTRANT, "max", "i64", (28, 2.0)),
        ]);
        let [open, others, sum, below, limit, places, source] = texts(&table(), &record, &["why".to_owned()]);
        has(&open, &["| `sum` | `f32` | 2.00 µs, 1.50× CUB | – | – | – |"]);
        has(&open, &["| `max` | `i8` | – | – | – | 2.00 µs, **0.50× torch, compiled** |"]);
        assert!(!open.contains("i64"), "{open}");
        has(&others, &["| `argmax` | `i64` | – | – | – | 3.00 µs |"]);
        has(&sum, &["Compiled torch was timed at 2 of the points.", "At 2 points", "0.87 times"]);
        has(&sum, &["One of the ratios is below 1.", "0.500: `max` of `i8` at 2²⁸, torch, compiled."]);
        has(&sum, &["Wrong at some size, and left out there: `sum` of `f32` by torch."]);
        has(&below, &["| `max` | `i8` | 2²⁸ | 2.00 | torch, compiled | 1.00 | 0.500 |"]);
        assert_eq!(below.lines().count(), 3, "{below}");
        has(&limit, &["| `max` | 75.0 % | 75.0 % |", "| `argmax` | – | 50.0 % |"]);
        has(&places, &["| `i64` | 2²⁸ | 2.00 | 3.00 | 1.50 |"]);
        has(&source, &["Measured on an A GPU", "stale:** why."]);
    }

    #[test]
    fn what_is_not_there_is_told() {
        let empty = texts(&table(), &record(&[]), &[]);
        assert!(empty[2].contains("no record") && empty[0].contains("no record"), "{empty:?}");
        let absent = operators(&table(), Path::new("no such folder")).unwrap();
        assert!(absent.iter().all(|(_, text)| text.contains("no record")), "{absent:?}");
    }
}
