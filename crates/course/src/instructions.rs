//! The book's appendix of instructions: what the simulator says of itself, how far a card is from it where instructions are
//! approximate, and its speed beside another simulator's.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;
use simt::trace::SCHEMA;

use crate::workspace;

/// Errors of approximate instructions; the simulator's tests keep it.
const ERRORS: &str = "crates/simt/tests/semantics/approx-errors.json";
/// Output of `scripts/numba_compare.py`.
const NUMBA: &str = "crates/simt/data/numba.json";

/// Name and text of each file of the appendix, in the folder of generated files.
pub fn fragments(root: &Path) -> Result<Vec<(&'static str, String)>> {
    Ok(vec![
        ("instructions.md", simt::instructions::markdown()),
        ("approximate.md", approximate(&read(root, ERRORS)?).with_context(|| format!("`{ERRORS}`"))?),
        ("numba.md", numba(&read(root, NUMBA)?).with_context(|| format!("`{NUMBA}`"))?),
        ("trace.md", trace()),
    ])
}

fn read(root: &Path, name: &str) -> Result<Value> {
    serde_json::from_str(&workspace::read(root, name)?).with_context(|| format!("{name} is no JSON"))
}

fn words<'v>(value: &'v Value, key: &str) -> Result<&'v str> {
    value[key].as_str().with_context(|| format!("no text under `{key}`"))
}

fn number(value: &Value, key: &str) -> Result<f64> {
    value[key].as_f64().with_context(|| format!("no number under `{key}`"))
}

/// A row for each approximate instruction.
fn approximate(record: &Value) -> Result<String> {
    let mut table = "| instruction | results that are equal | largest error in ulp | largest error | a test allows |\n\
                     |---|--:|--:|--:|--:|\n"
        .to_owned();
    for row in record["errors"].as_array().context("no list under `errors`")? {
        let (rows, equal) = (number(row, "rows")?, number(row, "equal")?);
        table.push_str(&format!(
            "| `{}` | {equal} of {rows} | {} | {} | {} |\n",
            words(row, "opcode")?,
            row["ulps"].as_f64().map(|ulps| ulps.to_string()).unwrap_or_default(),
            row["absolute"].as_f64().map(|error| format!("{error:.1e}")).unwrap_or_default(),
            words(row, "bound")?,
        ));
    }
    let (device, driver, date) = (words(record, "device")?, words(record, "driver")?, words(record, "date")?);
    Ok(format!("{table}\n<small>Against an {device} (driver {driver}), recorded on {date}.</small>\n"))
}

/// A paragraph.
fn numba(record: &Value) -> Result<String> {
    let (numba, with, without) = (
        number(record, "numba_processor_seconds")?,
        number(record, "simt_seconds")?,
        number(record, "simt_seconds_without_checks")?,
    );
    Ok(format!(
        "One launch of chapter 3's `{}` over {} numbers in blocks of {} takes Numba {}'s CUDA simulator {numba:.1} s of processor time. `simt` takes {:.2} ms for it on one \
         thread with every check on, and {:.2} ms with none: {} and {} times as fast.\n\n\
         <small>{}, Python {}, {}; the least of three runs each, the launch alone. No figure here is a GPU's.</small>\n",
        words(record, "kernel")?,
        simt::counters::grouped(number(record, "n")? as u64),
        number(record, "block")?,
        words(record, "numba")?,
        with * 1e3,
        without * 1e3,
        simt::counters::grouped((numba / with).round() as u64),
        simt::counters::grouped((numba / without).round() as u64),
        words(record, "processor")?,
        words(record, "python")?,
        words(record, "date")?,
    ))
}

/// A table for each kind of object in a trace.
fn trace() -> String {
    let mut page = format!("This is version {}.\n", simt::trace::VERSION);
    let mut object = "";
    for field in SCHEMA {
        if field.object != object {
            object = field.object;
            page.push_str(&format!("\n**{object}**\n\n| key | type | what it says |\n|---|---|---|\n"));
        }
        page.push_str(&format!("| `{}` | `{}` | {} |\n", field.key, field.ty.replace('|', "\\|"), field.meaning));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_become_tables() {
        let record = serde_json::json!({"device": "A card", "driver": "1", "date": "2026-01-02", "errors": [
            {"opcode": "rcp.approx.f32", "rows": 1024, "equal": 1000, "ulps": 1.0, "absolute": null, "bound": "1 ulp"},
            {"opcode": "sin.approx.f32", "rows": 1024, "equal": 9, "ulps": null, "absolute": 2.5e-7, "bound": "2^-20.5"},
        ]});
        let table = approximate(&record).unwrap();
        assert!(table.contains("| `rcp.approx.f32` | 1000 of 1024 | 1 |  | 1 ulp |\n"), "{table}");
        assert!(table.contains("| `sin.approx.f32` | 9 of 1024 |  | 2.5e-7 | 2^-20.5 |\n"), "{table}");
        assert!(table.contains("A card (driver 1), recorded on 2026-01-02"), "{table}");
        let error = approximate(&serde_json::json!({"errors": [{}]})).unwrap_err().to_string();
        assert_eq!(error, "no number under `rows`");

        let record = serde_json::json!({"kernel": "k", "n": 16384, "block": 256, "numba": "0.1", "numba_processor_seconds": 2.0,
            "simt_seconds": 0.002, "simt_seconds_without_checks": 0.0005, "processor": "A CPU", "python": "3", "date": "d"});
        let text = numba(&record).unwrap();
        assert!(text.contains("over 16,384 numbers") && text.contains("1,000 and 4,000 times as fast"), "{text}");
    }

    #[test]
    fn the_committed_records_make_the_page() {
        let root = workspace::root().unwrap();
        for (name, text) in fragments(&root).unwrap() {
            assert!(text.len() > 200, "{name}: {text}");
        }
    }

    #[test]
    fn every_key_of_a_trace_is_in_the_page() {
        let page = trace();
        for field in SCHEMA {
            assert!(page.contains(&format!("| `{}` | ", field.key)), "{}", field.key);
        }
        assert!(page.contains("`Values\\|null`"), "a bar inside a table would end its cell");
    }
}
