//! Output of a run: one JSON object, or text for people.
//!
//! Buffers are read and written a piece at a time, so that showing one takes no memory beside its own.

use std::io::{self, Write};

use crate::counters::{METRICS, grouped};
use crate::{Counters, LineCounters, report};
use serde::ser::{Error as _, Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;

use super::command_line::Request;
use super::run::Ran;
use super::seeds::Seeds;
use super::sources::{self, names};
use super::then::Counted;
use crate::spec::Type;

/// Elements of a buffer that are read at a time.
const PIECE_ELEMENTS: usize = 1 << 13;

/// A buffer after the launch, or its first elements.
pub struct Output {
    pub name: String,
    pub ty: Type,
    /// Index of the buffer.
    pub place: usize,
    pub count: usize,
}

/// Everything there is to show.
pub struct Shown<'a> {
    pub request: &'a Request,
    pub ran: &'a Ran,
    pub outputs: Vec<Output>,
    /// Outcome of many schedules, if they were asked for.
    pub seeds: Option<&'a Seeds>,
    /// A line about the trace, if one was written.
    pub traced: Option<String>,
}

impl Output {
    /// The bytes of its elements, piece by piece.
    fn pieces<'a>(&'a self, ran: &'a Ran) -> impl Iterator<Item = anyhow::Result<Vec<u8>>> + 'a {
        let bytes = self.ty.bytes();
        (0..self.count).step_by(PIECE_ELEMENTS).map(move |first| {
            let elements = PIECE_ELEMENTS.min(self.count - first);
            ran.bytes(self.place, first * bytes, elements * bytes)
        })
    }

    fn text(&self, ran: &Ran, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "\n{} = [", self.name)?;
        let mut between = "";
        for piece in self.pieces(ran) {
            for element in piece.map_err(io::Error::other)?.chunks_exact(self.ty.bytes()) {
                write!(out, "{between}{}", self.ty.display(element))?;
                between = ", ";
            }
        }
        writeln!(out, "]")
    }
}

/// A buffer as JSON: its elements.
struct Elements<'a>(&'a Output, &'a Ran);

impl Serialize for Elements<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Elements(output, ran) = self;
        let mut seq = serializer.serialize_seq(Some(output.count))?;
        for piece in output.pieces(ran) {
            for element in piece.map_err(S::Error::custom)?.chunks_exact(output.ty.bytes()) {
                seq.serialize_element(&output.ty.json(element))?;
            }
        }
        seq.end()
    }
}

/// The buffers, by name.
struct Outputs<'a>(&'a Shown<'a>);

impl Serialize for Outputs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.outputs.len()))?;
        for output in &self.0.outputs {
            map.serialize_entry(&output.name, &Elements(output, self.0.ran))?;
        }
        map.end()
    }
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let outcome = &self.ran.outcome;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kernel", &self.request.kernel)?;
        map.serialize_entry("schedule", &self.ran.schedule.to_string())?;
        map.serialize_entry("outputs", &Outputs(self))?;
        map.serialize_entry("counters", &outcome.counters)?;
        map.serialize_entry("faults", &outcome.faults)?;
        if !outcome.notes.is_empty() {
            map.serialize_entry("notes", &outcome.notes)?;
        }
        map.serialize_entry("warp_instructions", &outcome.counters.inst_executed)?;
        map.serialize_entry("seconds", &self.ran.seconds)?;
        map.serialize_entry("lines", &outcome.lines)?;
        if !self.ran.counted.is_empty() {
            let launches: Vec<Value> = self.ran.counted.iter().map(Counted::json).collect();
            map.serialize_entry("launches", &launches)?;
        }
        if let Some(seeds) = self.seeds {
            map.serialize_entry("seeds", &seeds.json())?;
        }
        if !outcome.printed.is_empty() || outcome.prints_dropped > 0 {
            map.serialize_entry("printed", &outcome.printed)?;
            map.serialize_entry("prints_dropped", &outcome.prints_dropped)?;
        }
        map.end()
    }
}

/// One object on one line.
pub fn json(shown: &Shown<'_>, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, shown)?;
    writeln!(out)
}

/// Writes what the kernel printed, a table of the counters that are not 0, the outputs asked for, then the faults and the notes.
pub fn text(shown: &Shown<'_>, out: &mut dyn Write) -> io::Result<()> {
    let request = shown.request;
    let outcome = &shown.ran.outcome;
    head(shown, out)?;
    counters(&outcome.counters, "", out)?;
    if request.lines {
        lines(request, &outcome.lines, out)?;
    }
    for output in &shown.outputs {
        output.text(shown.ran, out)?;
    }
    let faults = &outcome.faults;
    let source = |name: &str| sources::text(&request.files, name);
    if !faults.is_empty() {
        write!(out, "\n{}", report::render_all(faults, &source))?;
    }
    for note in &outcome.notes {
        writeln!(out, "\n{}", report::render_note(note, &source))?;
    }
    let found = match faults.len() {
        0 => "no faults found".to_owned(),
        1 => "1 fault found".to_owned(),
        n => format!("{n} faults found"),
    };
    // Results that differ are no fault of one run, but the kernel is not clean either.
    match shown.seeds.and_then(Seeds::verdict) {
        Some(verdict) => writeln!(out, "\n{found} in this run, but {verdict}"),
        None => writeln!(out, "\n{found}"),
    }
}

/// Writes what was run, and what the kernel printed.
fn head(shown: &Shown<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (request, outcome) = (shown.request, &shown.ran.outcome);
    out.write_all(outcome.printed.as_bytes())?;
    if !outcome.printed.is_empty() {
        out.write_all(if outcome.printed.ends_with('\n') { b"\n" } else { b"\n\n" })?;
    }
    if outcome.prints_dropped > 0 {
        let dropped = grouped(outcome.prints_dropped);
        writeln!(out, "(1 MiB of output: {dropped} more calls of printf are not shown)\n")?;
    }
    writeln!(out, "kernel    {} of {}", request.kernel, names(&request.files))?;
    let (grid, block) = (dimensions(request.grid.0), dimensions(request.block.0));
    writeln!(out, "launch    grid {grid}, block {block}, schedule {}", shown.ran.schedule)?;
    for launch in shown.ran.counted.iter().skip(1) {
        writeln!(out, "{}", launch.text(dimensions))?;
    }
    writeln!(
        out,
        "simulated {} warp instructions in {} of this computer's time\n",
        grouped(outcome.counters.inst_executed),
        duration(shown.ran.seconds)
    )?;
    if let Some(seeds) = shown.seeds {
        writeln!(out, "{}", seeds.text())?;
    }
    if let Some(traced) = &shown.traced {
        writeln!(out, "{traced}")?;
    }
    Ok(())
}

/// A table of the counters that are not 0.
fn counters(counters: &Counters, indent: &str, out: &mut dyn Write) -> io::Result<()> {
    let shown: Vec<_> = METRICS.iter().filter(|metric| (metric.value)(counters) != 0.0).collect();
    let values: Vec<String> = shown.iter().map(|metric| metric.display(counters)).collect();
    let key_width = shown.iter().map(|metric| metric.key.len()).max().unwrap_or(0);
    let value_width = values.iter().map(String::len).max().unwrap_or(0);
    for (metric, value) in shown.iter().zip(values) {
        writeln!(out, "{indent}{value:>value_width$}  {:key_width$}  {}", metric.key, metric.plain)?;
    }
    if shown.len() < METRICS.len() && indent.is_empty() {
        writeln!(out, "every other counter is 0")?;
    }
    Ok(())
}

/// For each line of the source, in order, the counters that are not 0.
fn lines(request: &Request, lines: &[LineCounters], out: &mut dyn Write) -> io::Result<()> {
    let (mut file, mut text) = ("", None);
    for line in lines {
        if line.line == 0 {
            writeln!(out, "\ninstructions without a line of the source (compile with -lineinfo)")?;
        } else {
            if file != line.file {
                (file, text) = (&line.file, sources::text(&request.files, &line.file));
            }
            let code = text.as_deref().and_then(|text| report::nth_line(text, line.line)).unwrap_or_default();
            writeln!(out, "\n{}:{}  {}", line.file, line.line, code.trim_start())?;
        }
        counters(&line.counters, "  ", out)?;
    }
    Ok(())
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
