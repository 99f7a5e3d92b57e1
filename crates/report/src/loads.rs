//! Cost of the kind of load where rows are read and written: raw lines of `scripts/gpu_loads.sh`, and the tables that the pages of
//! chapters 11 and 12 have of them.

use std::path::Path;

use lab::text::{grouped, per_cent, three_digits};
use lab::{Error, Result};

use crate::sheet::Sheet;

/// Path of the lines, from the root on.
const FILE: &str = "measurements/h200-loads.txt";
/// The load that the kernels have, and the plain one.
const STANDS: &str = "ld.global.L1::no_allocate";
const PLAIN: &str = "ld.global";
/// Counters of Nsight Compute on the page: the share of its peak that memory is busy, and those that might differ and do not.
const BUSY: &str = "dram__throughput.avg.pct_of_peak_sustained_elapsed";
const REQUESTS: &str = "lts__t_requests_srcunit_tex.sum";
const SECTORS: &str = "lts__t_sectors_srcunit_tex.sum";

/// A kernel by one kind of load: its time, or something counted of it.
#[derive(Debug, PartialEq)]
struct Line {
    load: String,
    /// Operation, type, rows, columns and shape, as one text.
    case: String,
    /// The counter; none of a time.
    metric: Option<String>,
    value: f64,
}

/// Lines without remarks: `LOAD OP TYPE ROWS COLS SHAPE [METRIC] VALUE`.
fn lines(text: &str) -> Result<Vec<Line>> {
    let line = |text: &str| -> Option<Line> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (load, case, rest) = (words.first()?, words.get(1..6)?.join(" "), words.get(6..)?);
        let (metric, value) = match rest {
            [value] => (None, value),
            [metric, value] => (Some((*metric).to_owned()), value),
            _ => return None,
        };
        Some(Line { load: (*load).to_owned(), case, metric, value: value.parse().ok()? })
    };
    let is_data = |text: &&str| !text.is_empty() && !text.starts_with('#');
    let lines = text.lines().filter(is_data);
    lines.map(|text| line(text).ok_or_else(|| Error::Usage(format!("{FILE}: no line of a load: `{text}`")))).collect()
}

/// `loads.md` of a chapter with these operations, and what else is said of it, `loads-more.md`.
///
/// # Errors
/// A file that cannot be read, or a line in it that says nothing.
pub fn loads(root: &Path, operations: &[String]) -> Result<Vec<(String, String)>> {
    let path = root.join(FILE);
    let text = std::fs::read_to_string(&path).map_err(|error| Error::Usage(format!("{FILE}: {error}")))?;
    let mut lines = lines(&text)?;
    lines.retain(|line| operations.iter().any(|operation| line.case.split(' ').next() == Some(operation)));
    let more = format!("{}{}", kinds(&lines), counted(&lines));
    Ok(vec![("loads.md".to_owned(), table(&lines)), ("loads-more.md".to_owned(), more)])
}

fn value(lines: &[Line], load: &str, case: &str, metric: Option<&str>) -> Option<f64> {
    let is_it = |line: &&Line| (line.load.as_str(), line.case.as_str(), line.metric.as_deref()) == (load, case, metric);
    lines.iter().find(is_it).map(|line| line.value)
}

/// A row for each case: both times, and how much longer the load that stands takes.
fn table(lines: &[Line]) -> String {
    let mut sheet = Sheet::new(2, ["operation, rows × columns", "type", "`L1::no_allocate`, µs", "plain, µs", "ratio"]);
    for line in lines.iter().filter(|line| line.load == STANDS && line.metric.is_none()) {
        let Some(plain) = value(lines, PLAIN, &line.case, None) else { continue };
        let [op, ty, rows, cols] = line.case.split(' ').take(4).collect::<Vec<_>>()[..] else { continue };
        let number = |text: &str| grouped(text.parse().unwrap_or(0));
        sheet.row([
            format!("`{op}`, {} × {}", number(rows), number(cols)),
            format!("`{ty}`"),
            three_digits(line.value),
            three_digits(plain),
            format!("{:.2}", line.value / plain),
        ]);
    }
    sheet.markdown()
}

/// Times of the other kinds, and their largest difference.
fn kinds(lines: &[Line]) -> String {
    let apart = |load: &str, from: &str| {
        let pairs = lines.iter().filter(|line| line.load == load && line.metric.is_none());
        let apart = pairs.filter_map(|line| Some((line.value / value(lines, from, &line.case, None)? - 1.0).abs()));
        apart.fold(0.0, f64::max)
    };
    let like_stands = ["ld.global.cs", "ld.global.lu", "ld.global.L1::evict_first"];
    let most = like_stands.map(|load| apart(load, STANDS)).into_iter().fold(0.0, f64::max);
    format!(
        "`.nc` is like the plain load, {} apart at most; `.cs`, `.lu` and `.L1::evict_first` are like `.L1::no_allocate`, {} apart.\n",
        per_cent(apart("ld.global.nc", PLAIN)),
        per_cent(most),
    )
}

/// Counters that do not differ, and those that do; empty where nothing was counted.
fn counted(lines: &[Line]) -> String {
    let Some(asked) = lines.iter().find(|line| line.metric.is_some()) else { return String::new() };
    let both = |metric| {
        let of = |load| value(lines, load, &asked.case, Some(metric));
        of(STANDS).zip(of(PLAIN))
    };
    let (Some(busy), Some(requests), Some(sectors)) = (both(BUSY), both(REQUESTS), both(SECTORS)) else {
        return String::new();
    };
    let same = |(a, b): (f64, f64)| {
        if a == b { grouped(a as u64) } else { format!("{} and {}", grouped(a as u64), grouped(b as u64)) }
    };
    format!(
        "Nsight Compute counts the same of both, {} requests and {} sectors at the L2 for `{}`; memory is busy {} of the time with \
         the one, {} with the other.\n",
        same(requests),
        same(sectors),
        asked.case.split(' ').next().unwrap_or(""),
        per_cent(busy.0 / 100.0),
        per_cent(busy.1 / 100.0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# a remark\nld.global.L1::no_allocate softmax f32 16384 4096 t256v4 20\nld.global softmax f32 16384 4096 t256v4 16\n\
        ld.global norm f32 1 2 t1v1 3\nld.global softmax f32 16384 4096 t256v4 x.sum 7\n";

    #[test]
    fn a_table_has_both_loads_and_how_much_longer_one_takes() {
        let mut lines = lines(TEXT).unwrap();
        assert_eq!(lines.len(), 4);
        assert_eq!(table(&lines).lines().last(), Some("| `softmax`, 16,384 × 4,096 | `f32` | 20.0 | 16.0 | 1.25 |"));
        assert_eq!(counted(&lines), "", "what is asked for was not counted");
        for (metric, values) in [(BUSY, [80.0, 90.0]), (REQUESTS, [5.0, 5.0]), (SECTORS, [8.0, 9.0])] {
            for (load, value) in [STANDS, PLAIN].into_iter().zip(values) {
                let case = "softmax f32 16384 4096 t256v4".to_owned();
                lines.insert(0, Line { load: load.to_owned(), case, metric: Some(metric.to_owned()), value });
            }
        }
        let text = counted(&lines);
        assert!(kinds(&lines).contains("0.0 % apart"), "{}", kinds(&lines));
        assert!(text.contains("5 requests") && text.contains("8 and 9 sectors") && text.contains("80"), "{text}");
    }

    #[test]
    fn a_line_that_says_nothing_is_named() {
        let error = lines("ld.global softmax f32 1 2 t1v1 fast\n").unwrap_err().to_string();
        assert!(error.contains("h200-loads.txt") && error.contains("fast"), "{error}");
    }
}
