//! Distance of plans from the fastest team that `cargo course tune` found on a card.

use std::path::Path;

use lab::measurement::geometric_mean;
use lab::record::load_json;
use lab::search::{RECORDS, Searched, Searches};
use lab::text::{day, grouped};
use lab::{Error, Result};

use crate::sheet::Sheet;

/// The file of `book/src/generated/library/` that comes from the records, name and text.
///
/// # Errors
/// A record that is not there or cannot be read.
pub fn plans(root: &Path) -> Result<(String, String)> {
    let of_card = |(_, file): (&str, &str)| {
        let path = root.join(file);
        let record: Option<Searches> = load_json(&path)?;
        record.map(|record| text(&record)).ok_or(Error::Record { path, problem: "the file is not there".to_owned() })
    };
    let texts = RECORDS.into_iter().map(of_card).collect::<Result<Vec<String>>>()?;
    Ok(("plans.md".to_owned(), texts.join("\n")))
}

/// A row for each operation and type, and where the searches were made.
fn text(record: &Searches) -> String {
    let head = ["operation", "type", "shapes", "teams timed", "plan / fastest found", "worst", "there"];
    let mut sheet = Sheet::new(2, head.map(str::to_owned));
    let mut cases: Vec<&Searched> = record.cases.iter().collect();
    cases.sort_by_key(|case| (&case.op, &case.ty));
    for cases in cases.chunk_by(|a, b| (&a.op, &a.ty) == (&b.op, &b.ty)) {
        let over = |case: &&Searched| case.over_best(&case.chosen);
        let worst = cases.iter().max_by(|a, b| over(a).partial_cmp(&over(b)).unwrap_or(std::cmp::Ordering::Equal));
        let Some((worst, mean)) = worst.zip(geometric_mean(cases.iter().filter_map(over))) else { continue };
        sheet.row([
            format!("`{}`", worst.op),
            format!("`{}`", worst.ty),
            cases.len().to_string(),
            grouped(cases.iter().map(|case| case.tried).sum()),
            format!("{mean:.3}"),
            over(worst).map_or("–".to_owned(), |ratio| format!("{ratio:.2}")),
            format!("{} × {}", grouped(worst.rows), grouped(worst.cols)),
        ]);
    }
    let driver = record.driver.as_deref().unwrap_or("unknown");
    format!("{}\nMeasured on an {}, driver {driver}, on {}.\n", sheet.markdown(), record.device, day(&record.date))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_mean_and_the_worst() {
        let case = |cols: u64, us: f64| Searched {
            op: "softmax".to_owned(),
            ty: "f32".to_owned(),
            rows: 8,
            cols,
            tried: 5,
            chosen: "a".to_owned(),
            us: vec![("b".to_owned(), 10.0), ("a".to_owned(), us)],
        };
        let record =
            Searches { device: "GPU".to_owned(), cases: vec![case(16, 10.0), case(4096, 12.1)], ..Searches::default() };
        let text = text(&record);
        assert!(text.contains("| `softmax` | `f32` | 2 | 10 | 1.100 | 1.21 | 8 × 4,096 |"), "{text}");
    }
}
