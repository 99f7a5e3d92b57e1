//! Fragments that a page includes from a sweep: the simulator's counts, made anew each time, and a GPU's times from its record.

use std::path::Path;

use lab::input::SEED;
use lab::record::N;
use lab::sweep::{self, Numbers, Point, Sweep, markdown, svg};
use lab::text::{grouped, three_digits};
use lab::{Chapter, Result, Type, Variant, hardware};

use crate::fact::{Fact, provenance};
use crate::simulated::unchecked;

/// Files, name and text, and facts.
type Fragments = (Vec<(String, String)>, Vec<Fact>);

/// The files of a sweep, name and text, and its facts.
///
/// # Errors
/// Kernels that do not compile or run, a record that cannot be read.
pub(crate) fn fragments(chapter: &Chapter, sweep: &Sweep, root: &Path) -> Result<Fragments> {
    let points = simulated(chapter, sweep, root)?;
    let mut facts = point_facts("sweep", &points);
    facts.extend(conclusion_facts(sweep, "sweep", &points));
    let mut files = vec![("sweep.md".to_owned(), markdown(&points))];
    if let Some(svg) = svg("simulated counts, i32", &points)? {
        files.push(("sweep.svg".to_owned(), svg));
    }
    let measured = match hardware::load(root, chapter.slug, "h200-sweep")? {
        Some(record) => {
            for (n, points) in by_size(&record.sweep) {
                let prefix = format!("h200-sweep-{n}");
                facts.extend(point_facts(&prefix, points));
                facts.extend(conclusion_facts(sweep, &prefix, points));
            }
            let stale = record.stale(root)?;
            measured(sweep, &record, &provenance(&record, stale))?
        }
        None => "*There is no record of a GPU's sweep for this chapter yet.*\n".to_owned(),
    };
    files.push(("h200-sweep.md".to_owned(), measured));
    Ok((files, facts))
}

/// The points that the book shows.
fn simulated(chapter: &Chapter, sweep: &Sweep, root: &Path) -> Result<Vec<Point>> {
    let session = unchecked(chapter, root)?;
    let variants: Vec<&Variant> = chapter.variants.iter().collect();
    sweep::run(sweep, &session, &Numbers { ty: Type::I32, n: N, seed: SEED }, &variants)
}

/// The points of each size, in the order of the record.
fn by_size(points: &[Point]) -> impl Iterator<Item = (u64, &[Point])> {
    points.chunk_by(|a, b| a.n == b.n).map(|points| (points[0].n, points))
}

fn point_facts(prefix: &str, points: &[Point]) -> Vec<Fact> {
    let mut facts = Vec::new();
    for point in points {
        let prefix = format!("{prefix}-{}-{}", point.curve, point.label());
        let mut fact = |name: &str, value: Option<String>| {
            facts.extend(value.map(|value| (format!("{prefix}-{name}"), value)));
        };
        fact("elements_per_thread", Some(three_digits(point.elements_per_thread())));
        fact("blocks", Some(grouped(u64::from(point.grid))));
        fact("instructions_per_element", point.instructions_per_element().map(three_digits));
        fact("us", point.cold_us.map(three_digits));
        fact("gb_per_s", point.gb_per_s.map(three_digits));
    }
    facts
}

fn conclusion_facts(sweep: &Sweep, prefix: &str, points: &[Point]) -> Vec<Fact> {
    let facts = (sweep.conclusions)(points).into_iter().flat_map(|conclusion| conclusion.facts);
    facts.map(|(name, value)| (format!("{prefix}-{name}"), value)).collect()
}

/// The fastest point of each curve, the chart, and all points.
fn measured(sweep: &Sweep, record: &hardware::GpuRecord, provenance: &str) -> Result<String> {
    let mut out =
        String::from("| n | kernel | fastest with | elements a thread | µs | GB/s |\n|--:|---|---|--:|--:|--:|\n");
    for (n, points) in by_size(&record.sweep) {
        for curve in points.chunk_by(|a, b| a.curve == b.curve) {
            let timed = curve.iter().filter_map(|point| Some((point, point.cold_us?, point.gb_per_s?)));
            let Some((point, us, gb_per_s)) = timed.min_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
            out.push_str(&format!(
                "| {} | `{}` | {} blocks of {} | {} | {} | {} |\n",
                grouped(n),
                point.curve,
                grouped(u64::from(point.grid)),
                point.block,
                three_digits(point.elements_per_thread()),
                three_digits(us),
                three_digits(gb_per_s)
            ));
        }
    }
    out.push_str(provenance);
    if let Some(svg) = svg(&format!("{}, i32, cold", record.device), &record.sweep)? {
        let caption = "Measured: bytes of the input over the cold median, by elements a thread.";
        out.push_str(&format!("\n<figure>\n\n{svg}\n<figcaption>{caption}</figcaption>\n</figure>\n"));
    }
    for (n, points) in by_size(&record.sweep) {
        out.push_str(&format!("\n<details>\n<summary>Every point at n = {}</summary>\n\n", grouped(n)));
        out.push_str(&markdown(points));
        for conclusion in (sweep.conclusions)(points) {
            out.push_str(&format!("\n{}\n", conclusion.text));
        }
        out.push_str("\n</details>\n");
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::curve::{Conclusion, test_point};

    const SWEEP: Sweep = Sweep {
        sizes: &[],
        curves: |_, _, _| Vec::new(),
        conclusions: |points| {
            let facts = vec![("count".to_owned(), points.len().to_string())];
            vec![Conclusion { text: format!("There are {} points.", points.len()), facts }]
        },
    };

    #[test]
    fn facts_name_curve_and_point() {
        let facts = point_facts("sweep", &[test_point()]);
        let fact = |name: &str, value: &str| (format!("sweep-coarsened-4-{name}"), value.to_owned());
        assert!(facts.contains(&fact("elements_per_thread", "8.00")), "{facts:?}");
        assert!(facts.contains(&fact("instructions_per_element", "0.500")), "{facts:?}");
        assert!(facts.iter().all(|(name, _)| !name.ends_with("-us")), "no time on the simulator: {facts:?}");
        assert_eq!(conclusion_facts(&SWEEP, "x", &[test_point()]), [("x-count".to_owned(), "1".to_owned())]);
    }

    #[test]
    fn a_record_becomes_the_fastest_points_a_chart_and_all_points() {
        let timed = |grid, us: f64, n: u64| Point {
            n,
            grid,
            counters: None,
            cold_us: Some(us),
            gb_per_s: Some(4e-3 * n as f64 / us),
            ..test_point()
        };
        let text = r#"{"chapter": "ch07", "device": "A card", "arch": "sm_90", "driver": "1", "cuda": "13.0",
            "multiprocessors": 132, "l2_bytes": null, "memory_bytes": null, "date": "2026-01-01T00:00:00Z",
            "commit": null, "command": "", "method": "", "seed": 1}"#;
        let mut record: hardware::GpuRecord = serde_json::from_str(text).expect("the form of a record");
        record.sweep = vec![timed(64, 50.0, 1 << 20), timed(512, 20.0, 1 << 20), timed(64, 80.0, 1 << 22)];
        let text = measured(&SWEEP, &record, "\n<small>Here.</small>\n").expect("a table");
        assert!(text.contains("| 1,048,576 | `coarsened` | 512 blocks of 256 | 8.00 | 20.0 | 210 |"), "{text}");
        assert!(text.contains("| 4,194,304 | `coarsened` | 64 blocks of 256 | 256 | 80.0 | 210 |"), "{text}");
        assert!(text.contains("There are 2 points.") && text.contains("<svg ") && text.contains("Here."), "{text}");
    }
}
