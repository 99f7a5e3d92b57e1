//! The contests of the chapters on rows: which shapes, beside what, and what is made of it.

use std::path::Path;

use lab::measurement::{
    CUB, CUB_FIXED, CUB_NEWER, CUB_NEWER_FIXED, Contest, ENTRANT, LIGER, MeasuredCase, Measurement, QUACK, SAVED,
    TORCH, TORCH_COMPILED, geometric_mean,
};
use lab::text::{grouped, listed, per_cent};
use lab::{Op, Result, Type};

use crate::contest_table::{ContestTable, Over};
use crate::sheet::Sheet;
use crate::stale::marked;
use crate::tables::{cell, digits, source_beside, stale_note, wrong};

/// From so many bytes of input on the share of the limit is what counts; of less, how much longer the others take.
const LARGE_BYTES: u64 = 60_000_000;
/// Forms of torch, which stand before the libraries, each with its name in tables.
const TORCHS: [(&str, &str); 2] = [(TORCH, "torch"), (TORCH_COMPILED, "torch, compiled")];
/// Returns whether a point belongs to a measure.
type IsOf = fn(&Point<'_>) -> bool;

/// Quantity that a table shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// A value for each row of the contest's shapes.
    Rows(Op),
    /// The sum of each column of them.
    Columns,
    /// The sum of each ragged row.
    Ragged,
    /// Each row of the shapes drawn at random, by this operation.
    Random(Op),
}

/// A figure of a point, if it has one.
type Figure<'f> = &'f dyn Fn(&Point<'_>) -> Option<f64>;

/// Format of a cell.
type Shown = fn(f64) -> String;

/// The weakest of some points, what it reaches, the geometric mean, and how many there are.
type Weakest<'p, 'r> = (&'p Point<'r>, f64, f64, usize);

/// One shape, by one operator and type.
struct Point<'r> {
    part: Part,
    /// The faster of ours, where it was timed with saved logarithms too.
    ours: &'r MeasuredCase,
    ty: Type,
    us: f64,
    /// Time without and with saved logarithms, where both were timed.
    anew_and_saved: Option<[f64; 2]>,
    /// Times of torch, torch compiled and the fastest form of each library, as [`names_of_others`] has them.
    others: Vec<Option<f64>>,
    /// The fastest of the others over ours where all read one matrix, which the L2 holds.
    warm: Option<f64>,
}

impl Point<'_> {
    /// Time of the fastest other over ours.
    fn over_best(&self) -> Option<f64> {
        self.others.iter().copied().flatten().min_by(f64::total_cmp).map(|us| us / self.us)
    }

    /// Time of a library over ours.
    fn over_library(&self, index: usize) -> Option<f64> {
        self.others.get(TORCHS.len() + index).copied().flatten().map(|us| us / self.us)
    }

    fn limit_share(&self) -> Option<f64> {
        self.ours.limit_us.map(|limit| limit / self.us)
    }

    fn is_large(&self) -> bool {
        self.ours.input_bytes() >= LARGE_BYTES
    }

    /// `4,096 × 16,384`, or the name of ragged rows.
    fn shape(&self) -> String {
        shape(self.ours)
    }

    /// The shape, with what is computed.
    fn named(&self) -> String {
        let per = if self.part == Part::Columns { " of columns" } else { "" };
        format!("`{}`{per} of `{}`, {}", self.ours.op(), self.ty, self.shape())
    }
}

fn shape(case: &MeasuredCase) -> String {
    match (&case.offsets, case.rows, case.cols) {
        (Some(name), ..) => format!("`{name}`"),
        (None, Some(rows), Some(cols)) => format!("{} × {}", grouped(rows), grouped(cols)),
        _ => grouped(case.n),
    }
}

/// Returns whether it is of the chapter's contest.
fn is_of_contest(table: &ContestTable, case: &MeasuredCase) -> bool {
    case.chapter.as_deref() == Some(&table.chapter) && case.is_plain_in(Contest::Alone) && case.rows.is_some()
}

/// Returns whether two entrants had the same to do.
fn is_same(a: &MeasuredCase, b: &MeasuredCase) -> bool {
    let of_matrix = |case: &MeasuredCase| (case.rows, case.cols, case.per.clone(), case.offsets.clone());
    (a.op(), &a.ty) == (b.op(), &b.ty) && of_matrix(a) == of_matrix(b)
}

/// The points in the order of the tables: types, then as they were measured.
fn points<'r>(table: &ContestTable, record: &'r Measurement) -> Vec<Point<'r>> {
    let is_timed = |case: &&MeasuredCase| is_of_contest(table, case) && case.ok && case.cold_us.is_some();
    let timed: Vec<&MeasuredCase> = record.cases.iter().filter(is_timed).collect();
    let ours = timed.iter().filter(|case| case.entrant == ENTRANT);
    let mut points: Vec<Point<'_>> = ours.filter_map(|ours| point(table, &timed, ours)).collect();
    let types = table.types();
    points.sort_by_key(|point| types.iter().position(|&ty| ty == point.ty));
    points
}

fn point<'r>(table: &ContestTable, timed: &[&'r MeasuredCase], ours: &'r MeasuredCase) -> Option<Point<'r>> {
    let (rows, cols) = ours.rows.zip(ours.cols)?;
    let of = |names: &[&str], us: fn(&MeasuredCase) -> Option<f64>| {
        let is_of = |case: &&MeasuredCase| names.contains(&case.entrant.as_str()) && is_same(case, ours);
        timed.iter().copied().filter(is_of).filter_map(us).min_by(f64::total_cmp)
    };
    let fastest = |names: &[&str]| of(names, |case| case.cold_us);
    let saved = timed.iter().find(|case| case.entrant == SAVED && is_same(case, ours));
    let anew_and_saved = ours.cold_us.zip(saved.and_then(|saved| saved.cold_us)).map(<[f64; 2]>::from);
    let others: Vec<&str> =
        table.libraries.iter().flat_map(|library| library.entrants()).copied().chain([TORCH, TORCH_COMPILED]).collect();
    let warm = of(&[ENTRANT, SAVED], |case| case.warm_us).zip(of(&others, |case| case.warm_us));
    let part = match (&ours.offsets, &ours.per) {
        (Some(_), _) => Part::Ragged,
        (None, Some(_)) => Part::Columns,
        (None, None) if table.over == Over::Rows && table.drawn.contains(&(rows, cols)) => {
            Part::Random(Op::from_name(ours.op())?)
        }
        (None, None) => Part::Rows(Op::from_name(ours.op())?),
    };
    Some(Point {
        part,
        ours: saved.copied().filter(|saved| saved.cold_us < ours.cold_us).unwrap_or(ours),
        ty: Type::from_name(&ours.ty)?,
        us: fastest(&[ENTRANT, SAVED])?,
        anew_and_saved,
        warm: warm.map(|(ours, theirs)| theirs / ours),
        others: TORCHS
            .map(|(entrant, _)| fastest(&[entrant]))
            .into_iter()
            .chain(table.libraries.iter().map(|library| fastest(library.entrants())))
            .collect(),
    })
}

/// The files of `book/src/generated/<slug>/` that come from the record of a contest over rows or matrices, name and text. The
/// names are the same whether there is a record or not.
///
/// # Errors
/// A record that cannot be read.
pub fn rows(table: &ContestTable, root: &Path) -> Result<Vec<(String, String)>> {
    let mut all = marked(root, &table.record(), |record, stale| Ok(files(table, record, stale)))?;
    if let Some(name) = table.other_record() {
        all.extend(marked(root, &name, |record, stale| {
            Ok(vec![("clock-card.md".to_owned(), card(table, record, stale))])
        })?);
    }
    Ok(all)
}

/// Summary of another card's record.
fn card(table: &ContestTable, record: Option<&Measurement>, stale: &[String]) -> String {
    let Some(record) = record else { return not_yet(table) };
    let points = fresh_points(table, record);
    [source(record, stale), summary(table, record, &points), operators(table, &points)].join("\n")
}

fn not_yet(table: &ContestTable) -> String {
    format!("*Not measured yet: `{}` takes the record on a GPU.*\n", table.script)
}

/// The tables, each with the name of its file, without the ending.
fn parts(table: &ContestTable) -> Vec<(String, Part)> {
    let of_op = |op: Op| (format!("clock-{}", op.name().replace('_', "-")), Part::Rows(op));
    let mut parts: Vec<(String, Part)> = table.ops().into_iter().map(of_op).collect();
    if table.over == Over::Rows {
        let others = [("columns", Part::Columns), ("ragged", Part::Ragged), ("random", Part::Random(Op::Sum))];
        parts.extend(others.map(|(name, part)| (format!("clock-{name}"), part)));
    }
    parts
}

fn files(table: &ContestTable, record: Option<&Measurement>, stale: &[String]) -> Vec<(String, String)> {
    let points = record.map(|record| points(table, record)).unwrap_or_default();
    let mut files: Vec<(String, String)> =
        parts(table).into_iter().map(|(name, part)| (format!("{name}.md"), sheet(table, &points, part))).collect();
    let or_missing = |text: &dyn Fn(&Measurement) -> String| record.map_or_else(|| not_yet(table), text);
    files.push(("clock.md".to_owned(), or_missing(&|record| summary(table, record, &fresh_points(table, record)))));
    files.push(("clock-operators.md".to_owned(), operators(table, &points)));
    let short = |record: &Measurement| short(table, &fresh_points(table, record));
    files.push(("clock-short.md".to_owned(), or_missing(&short)));
    files.push(("clock-source.md".to_owned(), or_missing(&|record| source(record, stale))));
    files
}

/// A row for each shape of a part: our time and how near it is to the limit, the others, and the fastest of them over ours.
fn sheet(table: &ContestTable, points: &[Point<'_>], part: Part) -> String {
    let mut points: Vec<&Point<'_>> = points.iter().filter(|point| point.part == part).collect();
    if matches!(part, Part::Random(_)) {
        points.sort_by_key(|point| point.ours.n);
    }
    let has = |index: &usize| points.iter().any(|point| point.others[*index].is_some());
    let names = names_of_others(table);
    let others: Vec<usize> = (0..names.len()).filter(has).collect();
    let types = points.iter().any(|point| point.ty != points[0].ty);
    let ours = match part {
        Part::Columns => "columns",
        Part::Ragged => "ragged",
        _ => &table.variant,
    };
    let mut head = vec![if part == Part::Ragged { "offsets" } else { "rows × columns" }.to_owned()];
    head.extend(types.then(|| "type".to_owned()));
    let has_saved = points.iter().any(|point| point.anew_and_saved.is_some());
    head.push(format!("`{ours}`, µs"));
    head.extend(has_saved.then(|| "from saved logarithms, µs".to_owned()));
    head.push("of the limit".to_owned());
    head.extend(others.iter().map(|&index| format!("{}, µs", names[index])));
    head.extend((!others.is_empty()).then(|| "fastest other / ours".to_owned()));
    let mut sheet = Sheet::new(if types { 2 } else { 1 }, head);
    for point in points {
        let mut cells = vec![point.shape()];
        cells.extend(types.then(|| format!("`{}`", point.ty)));
        cells.push(cell(Some(point.anew_and_saved.map_or(point.us, |[anew, _]| anew))));
        cells.extend(has_saved.then(|| cell(point.anew_and_saved.map(|[_, saved]| saved))));
        cells.push(point.limit_share().map_or("–".to_owned(), per_cent));
        cells.extend(others.iter().map(|&index| cell(point.others[index])));
        cells.extend((!others.is_empty()).then(|| point.over_best().map_or("–".to_owned(), bold_if_slower)));
        sheet.row(cells);
    }
    if sheet.is_empty() { not_yet(table) } else { sheet.markdown() }
}

/// A ratio; bold where the other is faster. One near to 1 has a digit more, which says on which side it is.
fn bold_if_slower(ratio: f64) -> String {
    let text = digits(ratio);
    if ratio < 1.0 { format!("**{text}**") } else { text }
}

/// The weakest of some points by a figure; `None` where there are none.
fn weakest<'p, 'r>(points: impl Iterator<Item = &'p Point<'r>>, of: Figure<'_>) -> Option<Weakest<'p, 'r>>
where
    'r: 'p,
{
    let found: Vec<(&Point<'r>, f64)> = points.filter_map(|point| Some((point, of(point)?))).collect();
    let (point, least) = *found.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some((point, least, geometric_mean(found.iter().map(|(_, value)| *value))?, found.len()))
}

/// Measures of the time that a library takes over ours, each with the library's place in the table and its points.
fn over_libraries(table: &ContestTable) -> Vec<(String, usize, IsOf)> {
    let libraries = table.libraries.iter().enumerate();
    let measures = libraries.flat_map(|(index, library)| {
        let library = library.name();
        if table.over == Over::Rows {
            return vec![
                (format!("{library}'s segmented reduction over `{}`", table.variant), index, is_no_ragged as IsOf),
                (format!("{library}'s segmented reduction over `ragged`"), index, |point| point.part == Part::Ragged),
            ];
        }
        vec![(format!("{library} over `{}`", table.variant), index, |_: &Point<'_>| true)]
    });
    measures.collect()
}

fn is_no_ragged(point: &Point<'_>) -> bool {
    point.part != Part::Ragged
}

/// Names of those that stand beside ours, as [`Point::others`] has their times.
fn names_of_others(table: &ContestTable) -> Vec<&'static str> {
    TORCHS.map(|(_, name)| name).into_iter().chain(table.libraries.iter().map(|library| library.name())).collect()
}

/// How many combinations each of the others was timed at, and where one of them is faster.
fn who_was_timed(table: &ContestTable, points: &[Point<'_>]) -> String {
    let count = |is: &dyn Fn(&Point<'_>) -> bool| grouped(points.iter().filter(|point| is(point)).count() as u64);
    let of_each = names_of_others(table).into_iter().enumerate().map(|(index, name)| {
        let is_faster = |point: &Point<'_>| point.others[index].is_some_and(|us| us < point.us);
        format!("{name} at {}, faster at {}", count(&|point| point.others[index].is_some()), count(&is_faster))
    });
    format!(
        "\nOf {} combinations of shape, operator and type, another library was timed at {}, and the fastest of them is faster than \
         ours at {}: {}.\n",
        count(&|_| true),
        count(&|point| point.over_best().is_some()),
        count(&|point| point.over_best().is_some_and(|ratio| ratio < 1.0)),
        listed(&of_each.collect::<Vec<_>>()),
    )
}

/// The points of today's kernels, on which a page's lead may rest; all where there are none.
fn fresh_points<'r>(table: &ContestTable, record: &'r Measurement) -> Vec<Point<'r>> {
    let mut fresh = points(table, record);
    if fresh.iter().any(|point| !point.ours.is_stale) {
        fresh.retain(|point| !point.ours.is_stale);
    }
    fresh
}

/// Each measure of the contest: the weakest shape first, then the mean of all.
fn summary(table: &ContestTable, record: &Measurement, points: &[Point<'_>]) -> String {
    let is_matrix = |point: &&Point<'_>| point.part != Part::Ragged;
    let large = || points.iter().filter(is_matrix).filter(|point| point.is_large());
    let small = || points.iter().filter(is_matrix).filter(|point| !point.is_large());
    let times: Shown = |ratio| digits(ratio) + "×";
    let mut measures: Vec<(&str, Option<Weakest<'_, '_>>, Shown)> = vec![
        ("share of the limit, from 60 MB on", weakest(large(), &|p| p.limit_share()), per_cent),
        ("the fastest other over ours, from 60 MB on", weakest(large(), &|p| p.over_best()), times),
        ("the fastest other over ours, below 60 MB", weakest(small(), &|p| p.over_best()), times),
        ("the fastest other over ours, with everything in the L2", weakest(points.iter(), &|p| p.warm), times),
    ];
    let over = over_libraries(table);
    measures.extend(over.iter().map(|(name, index, is_of)| {
        (name.as_str(), weakest(points.iter().filter(|point| is_of(point)), &|p| p.over_library(*index)), times)
    }));
    let mut sheet = Sheet::new(3, ["measure", "weakest shape", "there", "geometric mean", "shapes"]);
    for (name, found, text) in measures {
        let Some((point, least, mean, count)) = found else { continue };
        sheet.row([name.to_owned(), point.named(), text(least), text(mean), grouped(count as u64)]);
    }
    if sheet.is_empty() {
        return not_yet(table);
    }
    let cases = record.cases.iter().filter(|case| is_of_contest(table, case) && !case.ok);
    let thing =
        |case: &MeasuredCase| format!("`{}` of `{}` by {}, {}", case.op(), case.ty, called(&case.entrant), shape(case));
    sheet.markdown() + &who_was_timed(table, points) + &wrong("Wrong, and left out", cases.map(thing))
}

/// From so much of ours on, the time of the fastest other counts as no shorter.
const AS_FAST: f64 = 0.98;

/// The operators and types of which another library is faster than that at some shape, the weakest first.
fn short(table: &ContestTable, points: &[Point<'_>]) -> String {
    let names = names_of_others(table);
    let mut found: Vec<(f64, Vec<String>)> = Vec::new();
    for (op, ty) in table.pairs() {
        let of = || points.iter().filter(|point| point.ty == ty && point.ours.op() == op.name());
        let Some((point, least, _, count)) = weakest(of(), &|p| p.over_best()) else { continue };
        let below = of().filter_map(Point::over_best).filter(|&ratio| ratio < AS_FAST).count();
        let mut others = point.others.iter().zip(&names).filter_map(|(us, name)| Some(((*us)?, name)));
        let Some((us, name)) = others.by_ref().min_by(|a, b| a.0.total_cmp(&b.0)).filter(|_| below > 0) else {
            continue;
        };
        let cells = vec![
            format!("`{op}`"),
            format!("`{ty}`"),
            format!("{} of {}", grouped(below as u64), grouped(count as u64)),
            point.shape(),
            cell(Some(point.us)),
            format!("{} ({name})", cell(Some(us))),
            digits(least),
        ];
        found.push((least, cells));
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let head = ["operator", "type", "shapes below", "weakest", "ours, µs", "fastest other, µs", "fastest other / ours"];
    let mut sheet = Sheet::new(2, head);
    found.into_iter().for_each(|(_, cells)| sheet.row(cells));
    let below = format!("less than {} of our time", per_cent(AS_FAST));
    if sheet.is_empty() {
        return format!("Nowhere does the fastest other take {below}.\n");
    }
    format!("Shapes below: those where the fastest other takes {below}.\n\n{}", sheet.markdown())
}

/// The same for each operator and type.
fn operators(table: &ContestTable, points: &[Point<'_>]) -> String {
    let of_libraries: Vec<String> =
        table.libraries.iter().map(|library| format!("{} / ours", library.name())).collect();
    let head =
        ["operator", "type", "of the limit, from 60 MB on", "weakest", "fastest other / ours, below 60 MB", "weakest"];
    let of_libraries = of_libraries.iter().flat_map(|name| [name.as_str(), "weakest"]);
    let mut sheet = Sheet::new(2, head.into_iter().chain(of_libraries));
    let parts = table.ops().into_iter().map(|op| (Part::Rows(op), format!("`{op}` of rows")));
    for (part, name) in parts.chain([(Part::Columns, "`sum` of columns".to_owned())]) {
        for ty in table.types() {
            let of = || points.iter().filter(move |point| (point.part, point.ty) == (part, ty));
            let both = |found: Option<Weakest<'_, '_>>, text: Shown| match found {
                Some((point, least, mean, _)) => [text(mean), format!("{}: {}", point.shape(), text(least))],
                None => ["–".to_owned(), "–".to_owned()],
            };
            if of().next().is_none() {
                continue;
            }
            let limit = both(weakest(of().filter(|point| point.is_large()), &|p| p.limit_share()), per_cent);
            let best = both(weakest(of().filter(|point| !point.is_large()), &|p| p.over_best()), digits);
            let of_library = |index| both(weakest(of(), &|p| p.over_library(index)), digits);
            let libraries = (0..table.libraries.len()).flat_map(of_library);
            sheet.row([name.clone(), format!("`{ty}`")].into_iter().chain(limit).chain(best).chain(libraries));
        }
    }
    if sheet.is_empty() { not_yet(table) } else { sheet.markdown() }
}

fn called(name: &str) -> &str {
    match name {
        ENTRANT => "ours",
        CUB => "CUB, by offsets",
        CUB_FIXED => "CUB, of one length",
        CUB_NEWER => "newer CUB, by offsets",
        CUB_NEWER_FIXED => "newer CUB, of one length",
        TORCH_COMPILED => "torch, compiled",
        LIGER => "Liger",
        QUACK => "QuACK",
        name => name,
    }
}

/// The card, the day, the libraries and the limit, and why the figures are of other kernels, if they are.
fn source(record: &Measurement, stale: &[String]) -> String {
    let version = |(name, library): (&String, &lab::measurement::Library)| {
        let name = match name.as_str() {
            CUB => "CUB",
            CUB_NEWER => "newer CUB",
            name => called(name),
        };
        format!("{name} {}", library.version)
    };
    let libraries: Vec<String> = record.libraries.iter().map(version).collect();
    let mut out = source_beside(record, &libraries);
    if let Some((floor, rate)) = record.floor_us.zip(record.read_ceiling_gb_per_s) {
        let (floor, rate) = (cell(Some(floor.one_block)), grouped(rate.round() as u64));
        out.push_str(&match record.copy_ceiling_gb_per_s {
            None => format!(
                " The limit is {floor} µs for an empty launch and every byte of input, offsets and results at {rate} GB/s, \
                 the fastest that reading alone was on this card."
            ),
            Some(copying) => format!(
                " The limit is {floor} µs for an empty launch, twice the bytes of the results at {} GB/s, the fastest that \
                 copying was on this card, and what is read beyond that at {rate} GB/s, the fastest that reading was.",
                grouped(copying.round() as u64)
            ),
        });
    }
    format!("{out}\n{}", stale_note(stale))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::{self, has, record};
    use lab::Case;
    use lab::measurement::COLUMN;
    use lab::session::built_root;

    fn case(entrant: &str, op: &str, ty: &str, (rows, cols): (u64, u64), us: f64) -> serde_json::Value {
        let chapter = if op.contains("softmax") { "ch11-softmax" } else { "ch10-rows" };
        let more = serde_json::json!({ "n": rows * cols, "rows": rows, "cols": cols });
        made::case(chapter, entrant, (op, ty), us, more)
    }

    fn table(slug: &str) -> ContestTable {
        ContestTable::read(&built_root(), slug).unwrap()
    }

    fn text(files: &[(String, String)], name: &str) -> String {
        files.iter().find(|file| file.0 == name).unwrap().1.clone()
    }

    #[test]
    fn the_fastest_right_one_stands_beside_ours_and_the_weakest_shape_is_named() {
        let (large, small) = ((65_536, 1024), (4, 4096));
        let mut column = case(ENTRANT, "sum", "f32", large, 3.0);
        column["per"] = COLUMN.into();
        let mut wrong = case(TORCH, "sum", "f32", large, 0.1);
        wrong["ok"] = false.into();
        let ragged = |entrant: &str, us: f64| {
            let mut case = case(entrant, "sum", "f32", (1 << 20, 64), us);
            case["offsets"] = "giant".into();
            case
        };
        let record = record(&[
            case(ENTRANT, "sum", "f32", large, 2.0),
            case(CUB, "sum", "f32", large, 9.0),
            case(CUB_NEWER_FIXED, "sum", "f32", large, 4.0),
            wrong,
            column,
            case(ENTRANT, "sum", "f32", small, 2.0),
            case(TORCH_COMPILED, "sum", "f32", small, 1.0),
            case(ENTRANT, "sum", "bf16", small, 2.0),
            case(TORCH, "sum", "bf16", small, 8.0),
            case(ENTRANT, "sum", "f32", table("ch10-rows").drawn[0], 2.0),
            case(TORCH, "sum", "f32", table("ch10-rows").drawn[0], 5.0),
            ragged(ENTRANT, 2.0),
            ragged(CUB, 50.0),
        ]);
        let files = files(&table("ch10-rows"), Some(&record), &["why".to_owned()]);
        for (name, words) in [
            ("clock-sum.md", "| 65,536 × 1,024 | `f32` | 2.00 | 75.0 % | – | – | 4.00 | 2.00 |"),
            ("clock-sum.md", "| 4 × 4,096 | `f32` | 2.00 | 75.0 % | – | 1.00 | – | **0.50** |"),
            ("clock-columns.md", "| 65,536 × 1,024 | 3.00 | 50.0 % |"),
            ("clock-ragged.md", "| `giant` | 2.00 | 75.0 % | 50.0 | 25.00 |"),
            ("clock-random.md", "| 515 × 14 | 2.00 | 75.0 % | 5.00 | 2.50 |"),
            ("clock.md", "from 60 MB on | `sum` of columns of `f32`, 65,536 × 1,024 | 50.0 % | 61.2 % | 2 |"),
            ("clock.md", "below 60 MB | `sum` of `f32`, 4 × 4,096 | 0.50× | 1.71× | 3 |"),
            ("clock.md", "over `ragged` | `sum` of `f32`, `giant` | 25.00× | 25.00× | 1 |"),
            ("clock.md", "was timed at 5, and the fastest of them is faster than ours at 1: torch at 2, faster at 0, "),
            ("clock.md", "Wrong, and left out: `sum` of `f32` by torch, 65,536 × 1,024."),
            ("clock-operators.md", "| `sum` of rows | `f32` | 75.0 % | 65,536 × 1,024: 75.0 % | 0.50 |"),
            ("clock-source.md", "stale:** why."),
            ("clock-short.md", "| `sum` | `f32` | 1 of 4 | 4 × 4,096 | 2.00 | 1.00 (torch, compiled) | 0.50 |"),
        ] {
            has(&text(&files, name), &[words]);
        }
        let sums = text(&files, "clock-sum.md");
        assert_eq!(sums.lines().count(), 5, "no columns, ragged or drawn ones: {sums}");
    }

    #[test]
    fn what_is_written_is_limited_by_copying() {
        let mut record = record(&[case(ENTRANT, "softmax_backward", "f32", (1000, 1000), 9.0)]);
        record.floor_us = serde_json::from_value(
            serde_json::json!({"one_block": 1.0, "full": 1.0, "overlapped": 1.0, "overlapped_full": 1.0}),
        )
        .unwrap();
        record.read_ceiling_gb_per_s = Some(4000.0);
        assert_eq!(record.limit_of(&record.cases[0]), Some(1.0 + 3.0));
        record.copy_ceiling_gb_per_s = Some(2000.0);
        assert_eq!(record.limit_of(&record.cases[0]), Some(1.0 + 1.0 + 4.0), "4 MB are read alone, 8 MB copied");
        let files = files(&table("ch11-softmax"), Some(&record), &[]);
        assert!(text(&files, "clock-source.md").contains("at 2,000 GB/s"), "{files:?}");
    }

    #[test]
    fn what_is_not_there_is_told() {
        for (slug, count, words) in
            [("ch10-rows", 12, "Not measured yet"), ("ch11-softmax", 12, "gpu_matrices.sh softmax")]
        {
            let files = rows(&table(slug), Path::new("no such folder")).unwrap();
            assert!(files.len() == count && files.iter().all(|(_, text)| text.contains(words)), "{files:?}");
        }
    }

    #[test]
    fn what_moves_is_read_and_written_once() {
        let cases = record(&[case(ENTRANT, "argmax", "f32", (10, 20), 1.0)]).cases;
        assert_eq!(cases[0].moved_bytes(), 4 * 200 + 8 * 10);
        let case = |op: &str| Case { op: Some(op.to_owned()), ..cases[0].case.clone() };
        let of = |case: Case| MeasuredCase { case, ..cases[0].clone() };
        let ragged = MeasuredCase { offsets: Some("giant".to_owned()), ..of(case("sum")) };
        assert_eq!(ragged.moved_bytes(), 4 * 200 + 4 * 10 + 4 * 11);
        let columns = MeasuredCase { per: Some(COLUMN.to_owned()), ..of(case("sum")) };
        assert_eq!(columns.moved_bytes(), 4 * 200 + 4 * 20);
        let array = of(Case { rows: None, cols: None, ..case("dot") });
        assert_eq!(array.moved_bytes(), 2 * 4 * 200);
        let of = |op: &str| of(case(op)).read_and_written_bytes();
        assert_eq!(of("softmax"), (800, 800));
        assert_eq!(of("softmax_backward"), (1600, 800));
        assert_eq!(of("cross_entropy"), (880, 40));
        assert_eq!(of("cross_entropy_backward"), (920, 800));
    }
}
