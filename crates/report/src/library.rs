//! The library beside candle, cubek, CUB, torch and QuACK, and what its calls cost the host: the records of `scripts/gpu_library.sh`, and
//! what the page shows of them.

use std::path::Path;

use lab::measurement::geometric_mean;
use lab::text::{day, grouped, three_digits};
use lab::{Error, Op, Result};
use serde::Deserialize;

use crate::fact::facts_text;
use crate::sheet::Sheet;

/// Folder of the records, from the root on.
const FOLDER: &str = "measurements/library";
/// Records that one card or the other has, of which the first counts: their names, that of their facts, and the rival's.
const OF_A_CARD: [([&str; 2], &str, &str); 2] = [
    (["h200-cub.json", "h100-cub.json"], "cub", "CUB"),
    (["h200-losses.json", "h100-losses.json"], "losses", "the fastest other"),
];

/// What the host pays, and the library beside candle.
#[derive(Debug, Deserialize)]
struct Record {
    first_plan: Vec<FirstPlan>,
    calls: Vec<HostCall>,
    gradients: Vec<Gradients>,
    /// Release of torch.
    torch: String,
    #[serde(flatten)]
    contest: Contest,
}

/// The library beside another one, in one run.
#[derive(Debug, Deserialize)]
struct Contest {
    device: String,
    driver: String,
    date: String,
    rival: String,
    cases: Vec<Case>,
}

/// The norm of all gradients of a model, by the library, and by torch, whose launches may be captured into a graph.
#[derive(Debug, Deserialize)]
struct Gradients {
    entrant: String,
    #[serde(rename = "type")]
    ty: lab::Type,
    arrays: u64,
    elements: u64,
    us: f64,
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

/// One shape by one entrant. Not a [`lab::Case`]: it always has rows, an array is one of them, and `n` is nowhere.
#[derive(Debug, Deserialize)]
struct Case {
    entrant: String,
    op: Op,
    #[serde(rename = "type")]
    ty: lab::Type,
    rows: u64,
    cols: u64,
    /// Name of the offsets of ragged rows.
    offsets: Option<String>,
    us: f64,
    /// Largest error, where it is known and not only that it is small enough.
    error: Option<f64>,
}

/// Layouts that have a row of a table each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Array,
    Rows,
    RaggedRows,
}

impl Case {
    fn of(&self) -> Of {
        match self.offsets {
            Some(_) => Of::RaggedRows,
            None if self.rows == 1 => Of::Array,
            None => Of::Rows,
        }
    }

    /// 1,024, or 8 × 9, or 8 × 9 `giant`.
    fn shape(&self) -> String {
        let (rows, cols) = (grouped(self.rows), grouped(self.cols));
        match (self.of(), &self.offsets) {
            (Of::Array, _) => cols,
            (_, Some(offsets)) => format!("{rows} × {cols} `{offsets}`"),
            _ => format!("{rows} × {cols}"),
        }
    }
}

impl Of {
    fn words(self) -> &'static str {
        match self {
            Of::Array => "an array",
            Of::Rows => "rows",
            Of::RaggedRows => "ragged rows",
        }
    }
}

/// The files of `book/src/generated/library/`, name and text.
///
/// # Errors
/// A record that cannot be read.
pub fn library(root: &Path) -> Result<Vec<(String, String)>> {
    let candle: Record = read(root, "h200.json")?;
    let other: Record = read(root, "h100.json")?;
    let cubek: Contest = read(root, "h200-cubek.json")?;
    let mut facts = facts(&candle);
    facts.extend(contest_facts("", &candle.contest));
    facts.extend(contest_facts("h100-", &other.contest));
    facts.extend(contest_facts("cubek-", &cubek));
    let mut files = vec![
        ("beside.md".to_owned(), beside("candle", &candle.contest)),
        ("beside-h100.md".to_owned(), beside("candle", &other.contest)),
        ("beside-cubek.md".to_owned(), beside("cubek", &cubek)),
    ];
    // Once they have been taken.
    for (names, name, rival) in OF_A_CARD {
        let Some(file) = names.into_iter().find(|name| root.join(FOLDER).join(name).exists()) else { continue };
        let record: Contest = read(root, file)?;
        facts.extend(contest_facts(&format!("{name}-"), &record));
        files.push((format!("beside-{name}.md"), beside(rival, &record)));
    }
    files.push(("facts.md".to_owned(), facts_text(&facts)));
    Ok(files)
}

fn read<T: serde::de::DeserializeOwned>(root: &Path, name: &str) -> Result<T> {
    let path = root.join(FOLDER).join(name);
    let text = std::fs::read_to_string(&path).map_err(Error::file(&path, "read"))?;
    serde_json::from_str(&text).map_err(|error| Error::Record { path, problem: error.to_string() })
}

/// Shapes of an operation and type: rows, columns, the rival's time over ours, and both errors.
fn pairs(record: &Contest, of: impl Fn(&Case) -> bool) -> Vec<(&Case, f64, Option<f64>)> {
    let ours = record.cases.iter().filter(|case| case.entrant == "reduction" && of(case));
    let rival = |ours: &Case| {
        let is_same = |case: &Case| {
            let key = |case: &Case| (case.op, case.ty, case.rows, case.cols);
            key(case) == key(ours) && case.offsets == ours.offsets
        };
        record.cases.iter().find(|case| case.entrant != "reduction" && is_same(case))
    };
    ours.filter_map(|ours| rival(ours).map(|rival| (ours, rival.us / ours.us, rival.error))).collect()
}

/// A row for each operation and type: the shape where the library is weakest, the mean over all, and the largest errors, the rival's if
/// they are known.
fn beside(rival: &str, record: &Contest) -> String {
    let errors = format!("{rival}'s error");
    let are_known = record.cases.iter().all(|case| case.error.is_some());
    let head = ["operation", "type", "smallest", "at", "mean of all", "error", &errors];
    let mut sheet = Sheet::new(2, head.into_iter().take(if are_known { 7 } else { 6 }));
    let mut seen = Vec::new();
    for case in &record.cases {
        let key = (case.op, case.ty, case.of());
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        let pairs = pairs(record, |other| (other.op, other.ty, other.of()) == key);
        let Some(&(least, ratio, _)) = pairs.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        let mean = geometric_mean(pairs.iter().map(|pair| pair.1)).unwrap_or(f64::NAN);
        let worst = |errors: &mut dyn Iterator<Item = Option<f64>>| match errors.flatten().fold(0.0, f64::max) {
            0.0 => "0".to_owned(),
            error => format!("{error:.0e}"),
        };
        let mut cells = vec![
            format!("`{}` of {}", case.op, case.of().words()),
            format!("`{}`", case.ty),
            format!("{ratio:.2}"),
            least.shape(),
            format!("{mean:.2}"),
            worst(&mut pairs.iter().map(|pair| pair.0.error)),
        ];
        cells.extend(are_known.then(|| worst(&mut pairs.iter().map(|pair| pair.2))));
        sheet.row(cells);
    }
    sheet.markdown()
}

fn facts(record: &Record) -> Vec<(String, String)> {
    let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    // A kernel that the driver had compiled before is in its cache.
    let loaded: Vec<f64> = record.first_plan.iter().map(|plan| plan.ms).filter(|&ms| ms > 1.0).collect();
    let least = loaded.iter().copied().fold(f64::INFINITY, f64::min);
    let known = most(&mut record.first_plan.iter().map(|plan| plan.ms).filter(|&ms| ms <= 1.0));
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let mut all = vec![
        fact("beside-us", format!("{:.1}", most(&mut record.calls.iter().map(|call| call.beside_us)))),
        fact("launch-us", format!("{:.1}", most(&mut record.calls.iter().map(|call| call.launch_us)))),
        fact("load-least-ms", format!("{least:.0}")),
        fact("load-most-ms", format!("{:.0}", most(&mut loaded.iter().copied()))),
        fact("known-ms", three_digits(known)),
    ];
    for gradients in &record.gradients {
        let Gradients { entrant, ty, us, .. } = gradients;
        all.push(fact(&format!("gradients-{}-{ty}", entrant.replace('_', "-")), format!("{us:.0}")));
    }
    if let Some(gradients) = record.gradients.first() {
        let Contest { device, driver, date, .. } = &record.contest;
        let torch = record.torch.split('+').next().unwrap_or_default();
        all.push(fact("gradients-source", format!("{device}, driver {driver}, torch {torch}, {}", day(date))));
        all.push(fact("gradients-arrays", gradients.arrays.to_string()));
        all.push(fact("gradients-millions", (gradients.elements / 1_000_000).to_string()));
    }
    all
}

/// Facts of a contest, whose names begin so.
fn contest_facts(begin: &str, record: &Contest) -> Vec<(String, String)> {
    let Contest { device, driver, date, rival, .. } = record;
    let all = pairs(record, |_| true);
    let behind = all.iter().filter(|pair| pair.1 < 1.0).count();
    let mean = geometric_mean(all.iter().map(|pair| pair.1)).unwrap_or(f64::NAN);
    let fact = |name: &str, value: String| (format!("{begin}{name}"), value);
    vec![
        fact("shapes", all.len().to_string()),
        fact("behind", behind.to_string()),
        fact("mean", format!("{mean:.2}")),
        fact("source", format!("{device}, driver {driver}, {rival}, {}", day(date))),
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
            offsets: None,
            us,
            error: Some(0.0),
        };
        let ragged = |case: Case| Case { offsets: Some("giant".to_owned()), ..case };
        let cases = vec![
            case("reduction", 64, 2.0),
            case("candle", 64, 8.0),
            case("reduction", 9, 4.0),
            case("candle", 9, 2.0),
            ragged(case("reduction", 9, 3.0)),
            ragged(case("candle", 9, 9.0)),
        ];
        let (device, driver, date, rival) = Default::default();
        let record = Contest { device, driver, date, rival, cases };
        let table = beside("candle", &record);
        assert!(table.contains("| `softmax` of rows | `f32` | 0.50 | 8 × 9 | 1.41 | 0 | 0 |"), "{table}");
        let ragged = "| `softmax` of ragged rows | `f32` | 3.00 | 8 × 9 `giant` | 3.00 | 0 | 0 |";
        assert!(table.contains(ragged), "{table}");
        let facts = contest_facts("x-", &record);
        for (name, value) in [("x-shapes", "3"), ("x-behind", "1"), ("x-mean", "1.82")] {
            assert!(facts.contains(&(name.to_owned(), value.to_owned())), "{facts:?}");
        }
    }

    /// The crate's own page is not built by mdBook, so that its table is a copy.
    #[test]
    fn the_crates_readme_has_the_tables_of_the_records() {
        let readme = std::fs::read_to_string(Path::new(ROOT).join("crates/reduction/README.md")).unwrap();
        // Of two cards it has the book's.
        let others = ["facts.md", "beside-h100.md"];
        let tables = library(Path::new(ROOT)).unwrap().into_iter();
        for (name, table) in tables.filter(|(name, _)| !others.contains(&name.as_str())) {
            assert!(readme.contains(table.trim_end()), "{name}: put this into crates/reduction/README.md:\n{table}");
        }
    }
}
