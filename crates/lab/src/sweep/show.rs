//! The points of a sweep as text for a terminal, as Markdown for the page and as JSON.

use serde_json::{Value, json};

use crate::session::Session;
use crate::sweep::{Conclusion, Point};
use crate::text::{Row, Table, grouped, three_digits, wrapped};

/// A column: its head, and a point's cell.
type Column = (&'static str, fn(&Point) -> String);

const GEOMETRY: [Column; 5] = [
    ("blocks", |point| grouped(u64::from(point.grid))),
    ("blocks an SM", |point| three_digits(point.blocks_per_multiprocessor())),
    ("threads a block", |point| point.block.to_string()),
    ("elements a thread", |point| three_digits(point.elements_per_thread())),
    ("launches", |point| point.launches.to_string()),
];

const COUNTED: [Column; 3] = [
    ("warp instructions", |point| per_thousand(point, |c| c.inst_executed)),
    ("barriers", |point| per_thousand(point, |c| c.barriers)),
    ("sectors", |point| {
        per_thousand(point, |c| {
            c.global_ld_sectors + c.global_st_sectors + c.global_atom_sectors + c.global_red_sectors
        })
    }),
];

const TIMED: [Column; 2] = [
    ("cold, µs", |point| point.cold_us.map_or("-".to_owned(), three_digits)),
    ("cold, GB/s", |point| point.gb_per_s.map_or("-".to_owned(), three_digits)),
];

/// A count for every 1,000 elements.
fn per_thousand(point: &Point, count: fn(&device::Counters) -> u64) -> String {
    point.counters.map_or("-".to_owned(), |counters| three_digits(1000.0 * count(&counters) as f64 / point.n as f64))
}

fn columns(points: &[Point]) -> Vec<Column> {
    let simulated = points.iter().any(|point| point.counters.is_some());
    let cost: &[Column] = if simulated { &COUNTED } else { &TIMED };
    GEOMETRY.iter().chain(cost).copied().collect()
}

/// `coarsened 4`, `vectorised_v16`: a curve, and the factor where it is what changes along it.
fn name(point: &Point) -> String {
    match point.factor {
        Some(factor) if point.variant == point.curve => format!("{} {factor}", point.curve),
        _ => point.curve.clone(),
    }
}

/// Text for the terminal: a table, its conclusions, and the chart's path.
pub fn text(session: &Session<'_>, points: &[Point], conclusions: &[Conclusion], input: &str) -> String {
    let chapter = session.chapter;
    let mut out = format!("{}: {}\n\n", chapter.slug, chapter.title);
    let device = format!("device   {}", crate::show::device_line(session.device()));
    out.push_str(&format!("{}\ninput    {input}\n\n", wrapped(&device, "         ")));
    let simulated = points.iter().any(|point| point.counters.is_some());
    out.push_str(if simulated {
        "sweep, simulated counts for every 1,000 elements, all launches together\n"
    } else {
        "sweep, measured, all launches together, cold medians\n"
    });
    let columns = columns(points);
    let row = |point: &Point| Row {
        name: name(point),
        plain: if point.right { String::new() } else { "✗ wrong".to_owned() },
        cells: columns.iter().map(|(_, cell)| cell(point)).collect(),
    };
    let headers = columns.iter().map(|(head, _)| (*head).to_owned()).collect();
    out.push_str(&Table { headers, rows: points.iter().map(row).collect() }.render());
    for conclusion in conclusions {
        out.push_str(&format!("\n{}\n", wrapped(&conclusion.text, "")));
    }
    out
}

/// The table of a page.
pub fn markdown(points: &[Point]) -> String {
    let columns = columns(points);
    let heads: Vec<&str> = columns.iter().map(|(head, _)| *head).collect();
    let mut out = format!("| kernel | {} |\n|---|{}\n", heads.join(" | "), "--:|".repeat(heads.len()));
    for point in points {
        let cells: Vec<String> = columns.iter().map(|(_, cell)| cell(point)).collect();
        out.push_str(&format!("| `{}` | {} |\n", name(point), cells.join(" | ")));
    }
    out
}

/// The one JSON object that `--sweep --json` prints.
pub fn object(session: &Session<'_>, seed: u64, points: &[Point]) -> Value {
    let description = session.device().description();
    let point = |point: &Point| {
        let mut value = json!(point);
        value["counters"] = point.counters.map_or_else(|| json!({}), |counters| json!(counters));
        value["elements_per_thread"] = json!(point.elements_per_thread());
        value
    };
    json!({
        "chapter": session.chapter.slug,
        "device": description.name,
        "device_kind": description.kind,
        "seed": seed,
        "sweep": points.iter().map(point).collect::<Vec<_>>(),
    })
}
