//! Text of a chapter's program for a person: checks, findings, counters, times, the change, the chart's path.

use std::path::Path;

use device::{Device, Fault};

use crate::chapter::Note;
use crate::cli::LeftOut;
use crate::element::Type;
use crate::error::Result;
use crate::op::OnHost as _;
use crate::plan::{Pass, Planned};
use crate::run::Run;
use crate::session::Session;
use crate::status::Status;
use crate::text::{Row, Table, grouped, listed, three_digits, wrapped};
use crate::{Variant, compare, counts};

/// Everything that the text is made of.
pub struct Shown<'s, 'c> {
    /// The device and the chapter.
    pub session: &'s Session<'c>,
    /// `1,048,576 random i32, seed 1`
    pub input: String,
    /// The runs, one a variant.
    pub runs: &'s [Run],
    /// Variants that did not run, because they cannot do what was asked.
    pub left_out: &'s [LeftOut],
    /// Remarks of the chapter.
    pub notes: &'s [Note],
    /// Path of the chart.
    pub chart: Option<&'s Path>,
}

impl Shown<'_, '_> {
    /// Status of each run, in order.
    pub fn statuses(&self) -> Vec<Status> {
        let is_gpu = self.session.device().is_gpu();
        self.runs.iter().map(|run| Status::of(run, is_gpu, self.session.options)).collect()
    }

    /// The whole text.
    ///
    /// # Errors
    /// A record of the chapter before that cannot be read.
    pub fn text(&self) -> Result<String> {
        let mut out = format!("{}: {}\n\n", self.session.chapter.slug, self.session.chapter.title);
        out.push_str(&wrapped(&format!("device   {}", device_line(self.session.device())), "         "));
        if self.session.device().is_gpu() {
            let origin = self.session.origin();
            let made =
                if origin == "committed" { "the committed PTX, compiled by the driver".to_owned() } else { origin };
            out.push_str(&format!("\ncode     {made}"));
        }
        out.push_str(&format!("\ninput    {}\n\ncheck\n", self.input));
        let statuses = self.statuses();
        for (run, status) in self.runs.iter().zip(&statuses) {
            out.push_str(&check_lines(run, *status));
        }
        out.push_str(&not_run_lines(self.session, self.left_out));
        for run in self.runs.iter().filter(|run| !run.faults.is_empty()) {
            out.push_str(&format!("\nfound in {}\n", run.variant.name));
            out.push_str(&findings(&run.faults, self.session.source.root()));
        }
        for run in self.runs.iter().filter(|run| !run.notes.is_empty()) {
            out.push_str(&format!("\nnoted in {}\n", run.variant.name));
            out.push_str(&remarks(&run.notes, self.session.source.root()));
        }
        self.push_counters(&mut out);
        push_times(&mut out, self.runs);
        if let Some(text) = compare::text(self.session, self.runs)? {
            out.push_str(&format!("\n{text}"));
        }
        for note in self.notes.iter().filter(|note| self.tells(note)) {
            out.push_str(&format!("\n{}\n", wrapped(&note.text, "")));
        }
        push_limits(&mut out, self.runs);
        if let Some(chart) = self.chart {
            out.push_str(&format!("\nchart    {}\n", chart.display()));
        }
        push_verdict(&mut out, self.runs, &statuses);
        Ok(out)
    }

    fn tells(&self, note: &Note) -> bool {
        !note.text.is_empty() && self.runs.iter().any(|run| run.variant.name == note.variant && run.n > 0)
    }

    fn push_counters(&self, out: &mut String) {
        let Some(table) = counter_table(self.runs) else { return };
        out.push_str("\ncounters, simulated, all launches together\n");
        out.push_str(&table.render());
    }
}

/// `simulator (sm_80): why it was taken`
pub fn device_line(device: &Device) -> String {
    let d = device.description();
    let mut line = format!("{} ({}", d.name, d.arch);
    if let Some(driver) = &d.driver {
        line.push_str(&format!(", driver {driver}"));
    }
    if let Some(cuda) = &d.cuda {
        line.push_str(&format!(", CUDA {cuda}"));
    }
    format!("{line}): {}", d.why)
}

/// The variants that did not run, with why.
pub(crate) fn not_run_lines(session: &Session<'_>, left_out: &[LeftOut]) -> String {
    let left_out = left_out.iter().map(|left_out| format!("  {}\n", wrapped(&left_out.to_string(), "    ")));
    let missing = session.chapter.variants.iter().filter_map(|variant| session.unsupported(variant));
    left_out.chain(missing.map(|missing| format!("  skipped: {}\n", wrapped(&missing, "    ")))).collect()
}

/// A tick, a cross or a question mark, the result, what was expected, the kernel's idea, and how it was launched.
pub(crate) fn check_lines(run: &Run, status: Status) -> String {
    let mark = match status {
        Status::NotJudged(_) => '?',
        _ if run.ok() && run.variant.harm.is_none() => '✓',
        _ => '✗',
    };
    let name = run.variant.name;
    let mut text = format!("  {mark} {name:<19} {}\n", result_text(run));
    let mut below = |line: String| text.push_str(&format!("{}\n", wrapped(&format!("      {line}"), "      ")));
    if !run.variant.idea.is_empty() {
        below(run.variant.idea.to_owned());
    }
    below(launch_text(run));
    if let Some(harm) = run.variant.harm {
        below(format!("✗ right, and no good: {harm}"));
    }
    match status {
        Status::Right => {}
        Status::NotJudged(why) => below(format!("? not judged: {why}")),
        Status::AsAnnounced(code) => below(format!("✗ as announced: {code}")),
        Status::AnnouncedMissing(code) => below(format!("the lesson announces {code}, and it did not show")),
        Status::AnnouncedUnseen(code, why) => {
            below(format!("the lesson announces {code}, which does not show here: {why}"))
        }
        Status::Wrong => {
            let mut codes: Vec<&str> = run.faults.iter().map(|fault| fault.code.name()).collect();
            codes.dedup();
            let wrong = run.verdict.is_wrong().then_some("a wrong result");
            let all: Vec<&str> = wrong.into_iter().chain(codes).collect();
            below(format!("not announced: {}", listed(&all)));
        }
    }
    text
}

fn result_text(run: &Run) -> String {
    if let Some((rows, cols)) = run.layout.size().filter(|_| !run.has_result()) {
        return format!("of {} rows of {} there is no result", grouped(rows), grouped(cols));
    }
    let text = judged_text(run);
    match (run.row, run.layout.of()) {
        (Some(row), Some((one, many))) if run.layout.values() > 1 => {
            let col = run.col.map_or(String::new(), |col| format!(" element {}", grouped(col)));
            format!("{} {many}, the worst is {one} {}{col}: {text}", grouped(run.layout.values()), grouped(row))
        }
        _ => text,
    }
}

fn judged_text(run: &Run) -> String {
    let (result, expected, verdict) = (run.result, run.expected, &run.verdict);
    if run.ty == Type::I32 {
        return if verdict.right {
            format!("{result}, exact")
        } else {
            format!("{result}, expected {expected}: wrong, off by {}", grouped(verdict.abs_error as u64))
        };
    }
    let (error, bound) = (three_digits(verdict.abs_error), three_digits(verdict.error_bound));
    let within = match verdict.not_judged {
        None if verdict.right => format!("within the bound {bound}"),
        None => format!("outside the bound {bound}"),
        Some(_) => "which says nothing here".to_owned(),
    };
    format!("{result}, expected {expected}: off by {error}, {within}")
}

/// `3 launches of 256 threads a block: 4,096, then 16, then 1 block`
fn launch_text(run: &Run) -> String {
    let passes = &run.plan.passes;
    let grids: Vec<String> = passes.iter().map(|pass| grouped(u64::from(pass.grid()))).collect();
    if passes.iter().any(|pass| pass.block() != run.block) {
        let launch = |pass: &Pass| format!("{} x {}", grouped(u64::from(pass.grid())), pass.block());
        let launches: Vec<String> = passes.iter().map(launch).collect();
        return format!("{} launches, blocks x threads: {}", passes.len(), launches.join(", then "));
    }
    match grids.as_slice() {
        [] if !run.has_result() => "no launch".to_owned(),
        [] => format!("no launch: a {} of nothing is {}", run.options.op, run.options.op.identity(run.ty)),
        [grid] => format!("1 launch: {grid} block{} of {} threads", if grid == "1" { "" } else { "s" }, run.block),
        _ => format!("{} launches: {} blocks of {} threads", grids.len(), grids.join(" + "), run.block),
    }
}

/// Output of `--plan`: the launches of each variant, as a table or as JSON.
pub fn plans(
    session: &Session<'_>,
    (variants, left_out): (&[&Variant], &[LeftOut]),
    plans: &[Planned],
    json: bool,
) -> String {
    if json {
        let plan = |(variant, plan): (&&Variant, &Planned)| {
            serde_json::json!({
                "variant": variant.name,
                "passes": plan.passes.iter().map(pass_json).collect::<Vec<_>>(),
                "array_elements": plan.sums,
                "state_words": plan.state_words,
                "why": plan.why,
            })
        };
        let plans: Vec<_> = variants.iter().zip(plans).map(plan).collect();
        return format!("{:#}\n", serde_json::json!({ "chapter": session.chapter.slug, "plans": plans }));
    }
    let mut out = format!("{}: {}\n", session.chapter.slug, session.chapter.title);
    for (variant, plan) in variants.iter().zip(plans) {
        out.push_str(&format!("\n{}\n", variant.name));
        for (i, pass) in plan.passes.iter().enumerate() {
            out.push_str(&format!("  {}. {}\n", i + 1, pass_text(pass)));
        }
        if plan.passes.is_empty() {
            out.push_str("  no launch\n");
        }
        if !plan.why.is_empty() {
            out.push_str(&format!("{}\n", wrapped(&format!("     {}", plan.why), "     ")));
        }
    }
    for left_out in left_out {
        out.push_str(&format!("\n{left_out}\n"));
    }
    out
}

fn pass_text(pass: &Pass) -> String {
    let blocks = if pass.grid() == 1 { "block" } else { "blocks" };
    let (elements, grid) = (grouped(pass.elements), grouped(u64::from(pass.grid())));
    let mut text = format!("{}: {elements} elements by {grid} {blocks} of {} threads", pass.kernel, pass.block());
    if pass.geometry.cooperative {
        text.push_str(", cooperative");
    }
    if pass.geometry.cluster > 1 {
        text.push_str(&format!(", clusters of {}", pass.geometry.cluster));
    }
    if pass.geometry.overlaps {
        text.push_str(", may start before the launch before it has ended");
    }
    text
}

fn pass_json(pass: &Pass) -> serde_json::Value {
    serde_json::json!({
        "kernel": pass.kernel,
        "grid": pass.grid(),
        "block": pass.block(),
        "elements": pass.elements,
        "depth": pass.additions,
        "cooperative": pass.geometry.cooperative,
        "cluster": pass.geometry.cluster,
        "overlaps": pass.geometry.overlaps,
    })
}

/// The report of the first fault of each kind, with the lines of source that it names, and how many more there are.
pub fn findings(faults: &[Fault], root: &Path) -> String {
    let others = |faults: &[&Fault]| {
        let sites = faults.iter().flat_map(|fault| fault.other.iter().chain([&fault.site])).map(|site| site.line);
        let (low, high) = (sites.clone().min().unwrap_or(0), sites.max().unwrap_or(0));
        let places = if low == high { format!("line {low}") } else { format!("lines {low} to {high}") };
        format!("{} at {places}", faults[0].code)
    };
    first_of_each(faults, |fault| fault.code, |fault| simt::report::render(fault, &sources(root)), others)
}

/// Notes on what is no fault but worth a look: the first of each kind, and the number of others.
fn remarks(notes: &[device::Note], root: &Path) -> String {
    let others = |notes: &[&device::Note]| notes[0].kind.name().to_owned();
    first_of_each(notes, |note| note.kind, |note| simt::report::render_note(note, &sources(root)), others)
}

/// Text of a file of the source, for reports.
fn sources(root: &Path) -> impl Fn(&str) -> Option<String> {
    move |file| std::fs::read_to_string(root.join(file)).ok()
}

/// The report of the first of each kind, and how many others there are, in the words of `others`.
fn first_of_each<T, K: PartialEq>(
    all: &[T],
    kind: fn(&T) -> K,
    report: impl Fn(&T) -> String,
    others: impl Fn(&[&T]) -> String,
) -> String {
    let mut out = String::new();
    for (i, first) in all.iter().enumerate() {
        if all[..i].iter().any(|earlier| kind(earlier) == kind(first)) {
            continue;
        }
        for line in report(first).lines() {
            out.push_str(&format!("{}\n", report_line(line).trim_end()));
        }
        let more: Vec<&T> = all[i + 1..].iter().filter(|later| kind(later) == kind(first)).collect();
        if !more.is_empty() {
            out.push_str(&format!("and {} more {}; --json lists them all\n", more.len(), others(&more)));
        }
    }
    out
}

/// A line of a report, wrapped under its first word if it is a sentence; lines of source stay as they are.
fn report_line(line: &str) -> String {
    let (margin, text) = line.split_at(line.len() - line.trim_start().len());
    match text.split_once(": ") {
        Some((head, _)) if text.starts_with("= ") => wrapped(line, &" ".repeat(margin.len() + head.len() + 2)),
        Some(_) if text.starts_with("| ") => wrapped(line, &format!("{margin}|     ")),
        _ => line.to_owned(),
    }
}

/// A column a run, a row a counter that says something; `None` where nothing was counted.
pub fn counter_table(runs: &[Run]) -> Option<Table> {
    let counted: Vec<(&Run, device::Counters)> = runs.iter().filter_map(|run| Some((run, run.counters?))).collect();
    let counters: Vec<device::Counters> = counted.iter().map(|(_, counters)| *counters).collect();
    let rows: Vec<Row> = counts::worth_showing(&counters)
        .into_iter()
        .map(|metric| Row {
            name: metric.key.to_owned(),
            plain: metric.plain.to_owned(),
            cells: counters.iter().map(|c| metric.display(c)).collect(),
        })
        .collect();
    let headers = counted.iter().map(|(run, _)| run.variant.name.to_owned()).collect();
    (!rows.is_empty()).then_some(Table { headers, rows })
}

fn push_times(out: &mut String, runs: &[Run]) {
    let timed: Vec<(&Run, crate::run::Measured)> = runs.iter().filter_map(|run| Some((run, run.time?))).collect();
    if timed.is_empty() {
        return;
    }
    let cell = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let row =
        |name: &str, plain: &str, cells: Vec<String>| Row { name: name.to_owned(), plain: plain.to_owned(), cells };
    let table = Table {
        headers: timed.iter().map(|(run, _)| run.variant.name.to_owned()).collect(),
        rows: vec![
            row(
                "cold, µs",
                "median; the input is not in the L2 cache",
                timed.iter().map(|(run, _)| cell(run.time_us().map(three_digits))).collect(),
            ),
            row(
                "cold, GB/s",
                "bytes of the input over that time",
                timed.iter().map(|(run, _)| cell(run.gb_per_s().map(three_digits))).collect(),
            ),
            row(
                "warm, µs",
                "median; the same input again and again",
                timed.iter().map(|(_, time)| three_digits(time.warm.median_us)).collect(),
            ),
        ],
    };
    out.push_str("\ntime, measured, all launches together\n");
    out.push_str(&table.render());
}

/// Limit of each kernel: the reason for the kernel after it, and of the last one, for the next chapter.
fn push_limits(out: &mut String, runs: &[Run]) {
    let limited: Vec<&Variant> = runs.iter().map(|run| run.variant).filter(|v| !v.limit.is_empty()).collect();
    if limited.is_empty() {
        return;
    }
    out.push_str("\nwhat holds each back\n");
    for variant in limited {
        let line = format!("  {:<19} {}", variant.name, variant.limit);
        out.push_str(&format!("{}\n", wrapped(&line, &" ".repeat(22))));
    }
}

fn push_verdict(out: &mut String, runs: &[Run], statuses: &[Status]) {
    let failed: Vec<&str> =
        runs.iter().zip(statuses).filter(|(_, status)| status.fails()).map(|(run, _)| run.variant.name).collect();
    if !failed.is_empty() {
        out.push_str(&format!("\nfailed: {}\n", listed(&failed)));
    }
    let unjudged = runs.iter().zip(statuses).filter(|(_, status)| status.is_unjudged());
    let unjudged: Vec<&str> = unjudged.map(|(run, _)| run.variant.name).collect();
    if !unjudged.is_empty() {
        let line = format!("not judged: {}; with --allow-unjudged that is no failure", listed(&unjudged));
        out.push_str(&format!("\n{}\n", wrapped(&line, "")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::{Note, NoteKind, Site};

    fn note(kind: NoteKind, line: u32) -> Note {
        let site = Site {
            file: "kernels/some.cu".to_owned(),
            line,
            between: None,
            frames: Vec::new(),
            ptx_line: 1,
            opcode: "st.global.u32".to_owned(),
            launch: 0,
            device: None,
            block: [0; 3],
            warp: 0,
            lanes: 1,
            action: "writes",
        };
        Note { kind, message: format!("seen in {line}"), site, other: None, variable: None, why: "told", count: 1 }
    }

    /// The first of each kind is shown whole, with its line and reason, and the others are counted.
    #[test]
    fn notes_of_one_kind_are_told_once() {
        let notes = [note(NoteKind::EqualWrites, 3), note(NoteKind::ExitedThreads, 5), note(NoteKind::EqualWrites, 8)];
        let text = remarks(&notes, Path::new("/nowhere"));
        let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words} in {text}"));
        assert!(at("seen in 3") < at("some.cu:3") && at("some.cu:3") < at("and 1 more equal-writes"));
        assert!(at("and 1 more equal-writes") < at("seen in 5"));
        assert!(!text.contains("seen in 8"), "{text}");
        assert_eq!(text.matches("told").count(), 2, "{text}");
    }
}
