//! The contest of the chapter on exact sums: the exact kernel beside the fastest that rounds, CUB's reproducible sum, and the chapter's own
//! rungs.

use std::path::Path;

use lab::measurement::{CHAMPION, CUB, CUB_NEWER, CUB_REPRODUCIBLE, Contest, ENTRANT, MeasuredCase, Measurement};
use lab::text::{per_cent, three_digits};
use lab::{Op, Result, Type};
use plotters::style::{BLACK, RGBColor};

use crate::contest_table::ContestTable;
use crate::plot::{Line, Look, MARKS, Plot};
use crate::sheet::Sheet;
use crate::stale::marked;
use crate::tables::{cell, ratio, size, source_beside, stale_note, unmeasured};

/// Sizes of the tables, as powers of two.
const LOGS: [u32; 7] = [10, 14, 18, 20, 22, 26, 28];
/// Size of the tables with one size, as a power of two.
const LARGEST: u32 = 28;
/// Types of the table in the open.
const TYPES: [Type; 2] = [Type::F32, Type::F64];
/// Chapter 9's kernel, which has more operations and types than the champion.
const REDUCE: &str = "reduce";
/// Half a unit in the last place of an f32 at 1.
const HALF_A_PLACE: f64 = 1.0 / (1u64 << 24) as f64;

/// Cases of one record.
struct Cases<'r>(&'r Measurement);

impl<'r> Cases<'r> {
    fn all(&self, op: Op, ty: Type) -> impl Iterator<Item = &'r MeasuredCase> {
        let is_of = move |case: &&MeasuredCase| {
            (case.op(), case.ty.as_str()) == (op.name(), ty.name()) && case.is_plain_in(Contest::Alone) && case.ok
        };
        self.0.cases.iter().filter(is_of)
    }

    fn case(&self, entrant: &str, (op, ty, n): (Op, Type, u64)) -> Option<&'r MeasuredCase> {
        self.all(op, ty).find(|case| case.n == n && case.entrant == entrant)
    }

    fn us(&self, entrant: &str, what: (Op, Type, u64)) -> Option<f64> {
        self.case(entrant, what)?.cold_us
    }

    /// The fastest that rounds, and promises the same bits in each run on one card: the champion, chapter 9's kernel, CUB.
    fn fastest(&self, what: (Op, Type, u64)) -> Option<f64> {
        let all = [CHAMPION, REDUCE, CUB, CUB_NEWER].into_iter();
        all.filter_map(|name| self.us(name, what)).min_by(f64::total_cmp)
    }
}

/// The files of `book/src/generated/ch13-accuracy/` that come from the record of the contest, name and text. The names are the same
/// whether there is a record or not.
///
/// # Errors
/// A record that cannot be read, a chart that cannot be drawn.
pub fn accuracy(table: &ContestTable, root: &Path) -> Result<Vec<(String, String)>> {
    let mut files = marked(root, &table.record(), |record, stale| {
        let chart = ratios(record).svg()?;
        let texts = match record.map(Cases) {
            None => ["", "-others", "-ladder", "-source"].map(|_| unmeasured("exact sums")),
            Some(cases) => [beside(&cases), others(&cases, table), ladder(&cases, table), source(cases.0, stale)],
        };
        let names = ["clock.md", "clock-others.md", "clock-ladder.md", "clock-source.md"];
        let files = names.into_iter().zip(texts).chain([("clock.svg", chart)]);
        Ok(files.map(|(name, text)| (name.to_owned(), text)).collect())
    })?;
    let other = |record: Option<&Measurement>, stale: &[String]| {
        let text = |record| format!("{}\n{}\n", beside(&Cases(record)), source(record, stale));
        Ok(vec![("clock-card.md".to_owned(), record.map_or_else(|| unmeasured("another card"), text))])
    };
    files.extend(table.other_record().map_or_else(|| other(None, &[]), |name| marked(root, &name, other))?);
    Ok(files)
}

/// Exact sums by size: their time, over that of the fastest sum that rounds, and of CUB's reproducible one.
fn beside(cases: &Cases<'_>) -> String {
    let head =
        ["type", "n", "exact, µs", "exact / fastest that rounds", "CUB `gpu_to_gpu`, µs", "CUB `gpu_to_gpu` / exact"];
    let mut sheet = Sheet::new(1, head);
    for ty in TYPES {
        for log in LOGS {
            let what = (Op::Sum, ty, 1 << log);
            let Some(exact) = cases.us(ENTRANT, what) else { continue };
            let cub = cases.us(CUB_REPRODUCIBLE, what);
            sheet.row([
                format!("`{ty}`"),
                size(1 << log),
                cell(Some(exact)),
                ratio(cases.fastest(what).map(|us| exact / us)),
                cell(cub),
                ratio(cub.map(|us| us / exact)),
            ]);
        }
    }
    if sheet.is_empty() { unmeasured("exact sums") } else { sheet.markdown() }
}

/// Each operation and type at the largest size.
fn others(cases: &Cases<'_>, table: &ContestTable) -> String {
    let head = ["operation", "type", "exact, µs", "exact / fastest that rounds", "of the card's limit"];
    let mut sheet = Sheet::new(2, head);
    for (op, ty) in table.pairs() {
        let what = (op, ty, 1 << LARGEST);
        let Some((case, us)) = cases.case(ENTRANT, what).and_then(|case| Some((case, case.cold_us?))) else { continue };
        sheet.row([
            format!("`{}`", op.name()),
            format!("`{ty}`"),
            cell(Some(us)),
            ratio(cases.fastest(what).map(|fastest| us / fastest)),
            case.limit_us.map_or("–".to_owned(), |limit| per_cent(limit / us)),
        ]);
    }
    if sheet.is_empty() { unmeasured("exact sums") } else { sheet.markdown() }
}

/// The rungs at the largest size: time, and how far the worst sum was from the right one.
fn ladder(cases: &Cases<'_>, table: &ContestTable) -> String {
    let mut sheet = Sheet::new(1, ["kernel", "µs", "over `plain`", "off by, in 2⁻²⁴ of the sum of magnitudes"]);
    let own = table.beside.iter().filter(|beside| beside.chapter == table.chapter);
    let names = own.flat_map(|beside| beside.variants.iter().map(String::as_str)).chain([ENTRANT]);
    let what = (Op::Sum, Type::F32, 1 << LARGEST);
    let plain = cases.us("plain", what);
    for name in names {
        let Some((case, us)) = cases.case(name, what).and_then(|case| Some((case, case.cold_us?))) else { continue };
        sheet.row([
            format!("`{}`", if name == ENTRANT { &table.variant } else { name }),
            cell(Some(us)),
            ratio(plain.map(|plain| us / plain)),
            case.error.map_or("–".to_owned(), |error| three_digits(error / HALF_A_PLACE)),
        ]);
    }
    if sheet.is_empty() { unmeasured("the rungs") } else { sheet.markdown() }
}

/// The card, the day and the libraries, and why the figures are of other kernels, if they are.
fn source(record: &Measurement, stale: &[String]) -> String {
    let mut libraries: Vec<String> = record.libraries.values().map(|cub| format!("CUB {}", cub.version)).collect();
    libraries.sort_unstable();
    format!("{}\n{}", source_beside(record, &libraries), stale_note(stale))
}

/// Times of exact and reproducible sums over those of the fastest that rounds.
fn ratios(record: Option<&Measurement>) -> Plot {
    let line = |(i, (label, entrant, ty)): (usize, (&str, &str, Type))| {
        let points = record.map(Cases).map_or(Vec::new(), |cases| {
            let point = |log: u32| {
                let what = (Op::Sum, ty, 1u64 << log);
                Some(((1u64 << log) as f64, cases.us(entrant, what)? / cases.fastest(what)?))
            };
            (10..=LARGEST).step_by(2).filter_map(point).collect()
        });
        let is_ours = entrant == ENTRANT;
        let look = Look {
            colour: if is_ours { RGBColor(0x1f, 0x77, 0xb4) } else { BLACK },
            tenths: if is_ours { 10 } else { 6 },
            width: if is_ours { 2 } else { 1 },
            dash: (ty == Type::F64).then_some((6, 4)),
            mark: Some(MARKS[i]),
        };
        let name = if is_ours { "exact" } else { "CUB, gpu_to_gpu" };
        Line { label: label.to_owned(), name: format!("{name}, {ty}"), points, look }
    };
    let lines = [
        ("exact 32", ENTRANT, Type::F32),
        ("exact 64", ENTRANT, Type::F64),
        ("CUB 32", CUB_REPRODUCIBLE, Type::F32),
        ("CUB 64", CUB_REPRODUCIBLE, Type::F64),
    ];
    let lines = lines.into_iter().enumerate().map(line).collect();
    let y_title = "time over that of the fastest sum that rounds";
    Plot::over_elements("What the last digit costs".to_owned(), y_title, lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made;
    use lab::measurement::Library;
    use lab::session::built_root;
    use serde_json::json;

    fn record() -> Measurement {
        let case = |entrant: &str, us: f64, error: f64| {
            let more = json!({ "n": 1 << LARGEST, "judged": 3, "limit_us": 225.0, "error": error });
            made::case("ch13-accuracy", entrant, ("sum", "f32"), us, more)
        };
        let mut record = made::record(&[
            case(ENTRANT, 236.0, 0.0),
            case(CHAMPION, 232.0, 1e-9),
            case(CUB, 231.0, 1e-9),
            case("plain", 250.0, 2.0 * HALF_A_PLACE),
            case(CUB_REPRODUCIBLE, 354.0, 1e-9),
        ]);
        record.libraries.insert(CUB.to_owned(), Library { version: "3.5.0".to_owned() });
        record
    }

    #[test]
    fn the_fastest_that_rounds_stands_beside_the_exact_sum() {
        let (record, table) = (record(), ContestTable::read(&built_root(), "ch13-accuracy").unwrap());
        let cases = Cases(&record);
        let beside = beside(&cases);
        assert!(beside.contains("236 | 1.02 | 354 | 1.50 |"), "{beside}");
        let others = others(&cases, &table);
        assert!(others.contains("| `sum` | `f32` | 236 | 1.02 | 95.3 % |"), "{others}");
        let ladder = ladder(&cases, &table);
        assert!(ladder.contains("| `plain` | 250 | 1.00 | 2.00 |") && ladder.contains("| `exact` | 236 | 0.94 | 0 |"));
        assert!(source(&record, &[]).contains("CUB 3.5.0"));
        assert!(ratios(Some(&record)).svg().unwrap().contains("exact 32"));
    }

    #[test]
    fn there_are_the_same_files_without_a_record() {
        let mut table = ContestTable::read(&built_root(), "ch13-accuracy").unwrap();
        let names = |table: &ContestTable| {
            accuracy(table, &built_root()).unwrap().into_iter().map(|file| file.0).collect::<Vec<_>>()
        };
        let before = names(&table);
        table.name = "nothing".to_owned(); // of which there is no record
        assert_eq!(names(&table), before);
    }
}
