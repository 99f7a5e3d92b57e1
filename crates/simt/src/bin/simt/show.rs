//! What a run prints: one JSON object, or text for people.

use std::fmt::Write;

use serde_json::{Map, Value, json};
use simt::counters::{METRICS, grouped};
use simt::{Outcome, report};

use crate::command_line::Request;
use crate::run::Ran;
use crate::seeds::Seeds;
use crate::sources;
use crate::values::Type;

/// A buffer after the launch.
pub struct Output {
    pub name: String,
    pub ty: Type,
    pub bytes: Vec<u8>,
}

impl Output {
    fn elements(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks_exact(self.ty.bytes())
    }
}

/// Everything there is to show.
pub struct Shown<'a> {
    pub request: &'a Request,
    pub ran: &'a Ran,
    pub outputs: Vec<Output>,
    /// What became of many schedules, if they were asked for.
    pub seeds: Option<&'a Seeds>,
    /// A line about the trace, if one was written.
    pub traced: Option<String>,
}

/// One object on one line.
pub fn json(shown: &Shown<'_>) -> String {
    let outcome = &shown.ran.outcome;
    let counters = &outcome.counters;
    let outputs: Map<String, Value> = shown
        .outputs
        .iter()
        .map(|output| (output.name.clone(), output.elements().map(|e| output.ty.json(e)).collect()))
        .collect();
    let mut object = json!({
        "kernel": shown.request.kernel,
        "schedule": shown.ran.schedule.to_string(),
        "outputs": outputs,
        "counters": counters,
        "faults": outcome.faults,
        "warp_instructions": counters.inst_executed,
        "seconds": shown.ran.seconds,
    });
    if let Some(seeds) = shown.seeds {
        object["seeds"] = seeds.json();
    }
    if !outcome.printed.is_empty() || outcome.prints_dropped > 0 {
        object["printed"] = outcome.printed.as_str().into();
        object["prints_dropped"] = outcome.prints_dropped.into();
    }
    format!("{object}\n")
}

/// What the kernel printed, a table of the counters that are not 0, the outputs asked for, then the faults.
pub fn text(shown: &Shown<'_>) -> String {
    let request = shown.request;
    let outcome = &shown.ran.outcome;
    let mut text = outcome.printed.clone();
    if !text.is_empty() {
        text += if text.ends_with('\n') { "\n" } else { "\n\n" };
    }
    if outcome.prints_dropped > 0 {
        let dropped = grouped(outcome.prints_dropped);
        let _ = writeln!(text, "(1 MiB of output: {dropped} more calls of printf are not shown)\n");
    }
    let _ = writeln!(text, "kernel    {} of {}", request.kernel, request.file.display());
    let (grid, block) = (dimensions(request.grid.0), dimensions(request.block.0));
    let _ = writeln!(text, "launch    grid {grid}, block {block}, schedule {}", shown.ran.schedule);
    let _ = writeln!(
        text,
        "simulated {} warp instructions in {} of this computer's time\n",
        grouped(outcome.counters.inst_executed),
        duration(shown.ran.seconds)
    );
    if let Some(seeds) = shown.seeds {
        let _ = writeln!(text, "{}", seeds.text());
    }
    if let Some(traced) = &shown.traced {
        let _ = writeln!(text, "{traced}");
    }
    counters(&mut text, outcome);
    for output in &shown.outputs {
        let elements: Vec<String> = output.elements().map(|e| output.ty.display(e)).collect();
        let _ = writeln!(text, "\n{} = [{}]", output.name, elements.join(", "));
    }
    let faults = &outcome.faults;
    if faults.is_empty() {
        text += "\nno faults found\n";
        return text;
    }
    let source = |name: &str| sources::text(&request.file, name);
    let _ = write!(text, "\n{}", report::render_all(faults, &source));
    let _ = writeln!(
        text,
        "\n{} found",
        if faults.len() == 1 { "1 fault".into() } else { format!("{} faults", faults.len()) }
    );
    text
}

fn counters(text: &mut String, outcome: &Outcome) {
    let counters = &outcome.counters;
    let shown: Vec<_> = METRICS.iter().filter(|metric| (metric.value)(counters) != 0.0).collect();
    let values: Vec<String> = shown.iter().map(|metric| metric.display(counters)).collect();
    let key_width = shown.iter().map(|metric| metric.key.len()).max().unwrap_or(0);
    let value_width = values.iter().map(String::len).max().unwrap_or(0);
    for (metric, value) in shown.iter().zip(values) {
        let _ = writeln!(text, "{value:>value_width$}  {:key_width$}  {}", metric.key, metric.plain);
    }
    if shown.len() < METRICS.len() {
        text.push_str("every other counter is 0\n");
    }
}

/// `3.2 s`, or `0.4 ms` below a second.
fn duration(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}

/// `4` for (4, 1, 1), else `(4, 2, 1)`.
fn dimensions(dimensions: [u32; 3]) -> String {
    match dimensions {
        [x, 1, 1] => grouped(x.into()),
        [x, y, z] => format!("({x}, {y}, {z})"),
    }
}
