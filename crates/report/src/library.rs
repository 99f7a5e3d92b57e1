//! The library beside candle, and what its calls cost the host: the record of `scripts/gpu_library.sh`, and what the page shows of it.

use std::path::Path;

use lab::measurement::geometric_mean;
use lab::text::{day, grouped, three_digits};
use lab::{Error, Op, Result};
use serde::Deserialize;

use crate::fact::facts_text;
use crate::sheet::Sheet;

/// Path of the record, from the root on.
const FILE: &str = "measurements/library/h200.json";

/// A run of `scripts/gpu_library.sh`.
#[derive(Debug, Deserialize)]
struct Record {
    device: String,
    driver: String,
    date: String,
    rival: String,
    first_plan: Vec<FirstPlan>,
    calls: Vec<HostCall>,
    cases: Vec<Case>,
}

/// The first plan of an operation, with the loading of its kernels.
#[derive(Debug, Deserialize)]
struct FirstPlan {
    ms: f64,
}

/// A call by the host's clock.
#[derive(Debug, Deserialize)]
struct HostCall {
    launch_us: f64,
    beside_us: f64,
}

/// One shape by one entrant.
#[derive(Debug, Deserialize)]
struct Case {
    entrant: String,
    op: Op,
    #[serde(rename = "type")]
    ty: lab::Type,
    rows: u64,
    cols: u64,
    us: f64,
    error: f64,
}

/// The files of `book/src/generated/library/`, name and text.
///
/// # Errors
/// A record that cannot be read.
pub fn library(root: &Path) -> Result<Vec<(String, String)>> {
    let path = root.join(FILE);
    let text = std::fs::read_to_string(&path).map_err(Error::file(&path, "read"))?;
    let record: Record =
        serde_json::from_str(&text).map_err(|error| Error::Record { path, problem: error.to_string() })?;
    Ok(vec![("beside.md".to_owned(), beside(&record)), ("facts.md".to_owned(), facts_text(&facts(&record)))])
}

/// Shapes of an operation and type: rows, columns, the rival's time over ours, and both errors.
fn pairs(record: &Record, of: impl Fn(&Case) -> bool) -> Vec<(&Case, f64, f64)> {
    let ours = record.cases.iter().filter(|case| case.entrant == "reduction" && of(case));
    let rival = |ours: &Case| {
        let key = |case: &Case| (case.op, case.ty, case.rows, case.cols);
        record.cases.iter().find(|case| case.entrant != "reduction" && key(case) == key(ours))
    };
    ours.filter_map(|ours| rival(ours).map(|rival| (ours, rival.us / ours.us, rival.error))).collect()
}

/// A row for each operation and type: the shape where the library is weakest, the mean over all, and the largest errors.
fn beside(record: &Record) -> String {
    let mut sheet = Sheet::new(2, ["operation", "type", "smallest", "at", "mean of all", "error", "candle's error"]);
    let mut seen = Vec::new();
    for case in &record.cases {
        let is_array = case.rows == 1;
        let key = (case.op, case.ty, is_array);
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        let pairs = pairs(record, |other| (other.op, other.ty, other.rows == 1) == key);
        let Some(&(least, ratio, _)) = pairs.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        let mean = geometric_mean(pairs.iter().map(|pair| pair.1)).unwrap_or(f64::NAN);
        let worst = |errors: &mut dyn Iterator<Item = f64>| match errors.fold(0.0, f64::max) {
            0.0 => "0".to_owned(),
            error => format!("{error:.0e}"),
        };
        let shape = match is_array {
            true => grouped(least.cols),
            false => format!("{} × {}", grouped(least.rows), grouped(least.cols)),
        };
        sheet.row([
            format!("`{}` of {}", case.op, if is_array { "an array" } else { "rows" }),
            format!("`{}`", case.ty),
            format!("{ratio:.2}"),
            shape,
            format!("{mean:.2}"),
            worst(&mut pairs.iter().map(|pair| pair.0.error)),
            worst(&mut pairs.iter().map(|pair| pair.2)),
        ]);
    }
    sheet.markdown()
}

fn facts(record: &Record) -> Vec<(String, String)> {
    let all = pairs(record, |_| true);
    let behind = all.iter().filter(|pair| pair.1 < 1.0).count();
    let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    // A kernel that the driver had compiled before is in its cache.
    let loaded: Vec<f64> = record.first_plan.iter().map(|plan| plan.ms).filter(|&ms| ms > 1.0).collect();
    let least = loaded.iter().copied().fold(f64::INFINITY, f64::min);
    let known = most(&mut record.first_plan.iter().map(|plan| plan.ms).filter(|&ms| ms <= 1.0));
    let fact = |name: &str, value: String| (name.to_owned(), value);
    vec![
        fact("shapes", all.len().to_string()),
        fact("behind", behind.to_string()),
        fact("beside-us", format!("{:.1}", most(&mut record.calls.iter().map(|call| call.beside_us)))),
        fact("launch-us", format!("{:.1}", most(&mut record.calls.iter().map(|call| call.launch_us)))),
        fact("load-least-ms", format!("{least:.0}")),
        fact("load-most-ms", format!("{:.0}", most(&mut loaded.iter().copied()))),
        fact("known-ms", three_digits(known)),
        fact("source", format!("{}, driver {}, {}, {}", record.device, record.driver, record.rival, day(&record.date))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

    #[test]
    fn the_weakest_shape_stands_first() {
        let case = |entrant: &str, cols: u64, us: f64| Case {
            entrant: entrant.to_owned(),
            op: Op::Softmax,
            ty: lab::Type::F32,
            rows: 8,
            cols,
            us,
            error: 0.0,
        };
        let cases = vec![
            case("reduction", 64, 2.0),
            case("candle", 64, 8.0),
            case("reduction", 9, 4.0),
            case("candle", 9, 2.0),
        ];
        let (device, driver, date, rival) = Default::default();
        let record = Record { device, driver, date, rival, first_plan: vec![], calls: vec![], cases };
        assert!(
            beside(&record).contains("| `softmax` of rows | `f32` | 0.50 | 8 × 9 | 1.41 | 0 | 0 |"),
            "{}",
            beside(&record)
        );
        let facts = facts(&record);
        assert!(
            facts.contains(&("shapes".to_owned(), "2".to_owned()))
                && facts.contains(&("behind".to_owned(), "1".to_owned()))
        );
    }

    /// The crate's own page is not built by mdBook, so that its table is a copy.
    #[test]
    fn the_crates_readme_has_the_records_table() {
        let readme = std::fs::read_to_string(Path::new(ROOT).join("crates/reduction/README.md")).unwrap();
        let table = library(Path::new(ROOT)).unwrap().remove(0).1;
        assert!(readme.contains(table.trim_end()), "put this into crates/reduction/README.md:\n{table}");
    }
}
