//! Fragments that a page of the book includes from its chapter: tables, facts, the terminal's text, reports and the chart, all
//! of them from runs and records. Nothing in a page that could be computed is typed.

use std::path::Path;

use device::{Choice, KernelSource, Schedule, SimOptions};
use lab::hardware::{GpuRecord, PRIME};
use lab::input::{self, SEED};
use lab::record::{OPTIONS, card_record, full};
use lab::show::{self, Shown};
use lab::text::{day, grouped, per_cent, three_digits};
use lab::{Chapter, Note, Result, Run, Session, Variant, chart, counts, hardware, mistake};

use crate::fact::{Fact, facts_text, provenance};
use crate::stale::marked_parts;
use crate::{ncu, sweep};

/// Schedules that the page of an undefined kernel compares.
const SCHEDULES: [Schedule; 5] = [
    Schedule::Lockstep,
    Schedule::Independent { seed: None },
    Schedule::Independent { seed: Some(1) },
    Schedule::Independent { seed: Some(2) },
    Schedule::Independent { seed: Some(3) },
];

/// The files of `book/src/generated/<slug>/`, name and text, of the chapter's [`lab::record::runs`]. Reads the records of the
/// chapters, which must be today's.
///
/// # Errors
/// Kernels that do not compile or run, records that cannot be read.
pub fn fragments(chapter: &Chapter, root: &Path, runs: &[Run]) -> Result<Vec<(String, String)>> {
    let source = KernelSource::in_root(root, chapter.slug);
    let session = Session::open_source(chapter, source, Choice::Sim, OPTIONS)?;
    let (n, ty) = (full(chapter), chapter.default_kind().1);
    let full: Vec<Run> = runs.iter().filter(|run| run.n == n && run.ty == ty).cloned().collect();
    let notes = lab::notes(&session)?;
    let mistakes = mistake_runs(chapter, root)?;
    let mut facts = run_facts(runs, n);
    facts.extend(mistakes.iter().flat_map(mistake_facts));
    facts.extend(notes.iter().flat_map(|note| note.facts.clone()));
    let mut files = vec![
        ("counters.md".to_owned(), counters_table(&full)),
        ("run.txt".to_owned(), terminal_text(&session, &full, &notes)?),
        ("faults.txt".to_owned(), faults(root, &full, &mistakes)),
    ];
    if let Some(svg) = chart::svg(chapter, "simulator", &full)? {
        files.push(("counters.svg".to_owned(), svg));
    }
    if let Some(variant) = chapter.variants.iter().find(|variant| variant.announced.is_some()) {
        let (table, more) = schedules(chapter, root, variant)?;
        facts.extend(more);
        files.push(("schedules.md".to_owned(), table));
    }
    let measured = match hardware::load_timed(root, chapter.slug, &card_record(root, chapter.slug, ""))? {
        Some(record) => {
            let stale = record.stale(root)?;
            let (table, measured) =
                marked_parts(&record, |record| (gpu_table(record, stale.clone()), gpu_facts(record)));
            facts.extend(measured);
            table
        }
        None => "*There is no record of a GPU for this chapter yet.*\n".to_owned(),
    };
    files.push(("h200.md".to_owned(), measured));
    let profiled = match ncu::load(root, chapter.slug, &card_record(root, chapter.slug, "-ncu"))? {
        Some(record) => ncu::table(chapter, root, &record)?,
        None => "*No profiler has read this chapter's launches yet.*\n".to_owned(),
    };
    files.push(("ncu.md".to_owned(), profiled));
    if let Some(sweep) = &chapter.sweep {
        let (more, of_sweep) = sweep::fragments(chapter, sweep, root)?;
        files.extend(more);
        facts.extend(of_sweep);
    }
    files.push(("facts.md".to_owned(), facts_text(&facts)));
    Ok(files)
}

fn terminal_text(session: &Session<'_>, runs: &[Run], notes: &[Note]) -> Result<String> {
    let chart = Path::new("target").join("charts").join(format!("{}-sim.svg", session.chapter.slug));
    let (op, ty) = session.chapter.default_kind();
    let input = input::words(None, Some(SEED), (ty, op), full(session.chapter));
    Shown { session, input, runs, left_out: &[], notes, chart: Some(&chart) }.text()
}

fn counters_table(runs: &[Run]) -> String {
    let Some(table) = show::counter_table(runs) else { return String::new() };
    let heads: Vec<String> = table.headers.iter().map(|name| format!("`{name}`")).collect();
    let head = format!(
        "| simulated, n = {} | {} |\n|---|{}\n",
        grouped(runs.first().map_or(0, |run| run.n)),
        heads.join(" | "),
        "--:|".repeat(heads.len())
    );
    let (open, folded): (Vec<_>, Vec<_>) = table.rows.iter().partition(|row| CARRYING.contains(&row.name.as_str()));
    let mut out = head.clone();
    for row in &open {
        out.push_str(&format!("| {} | {} |\n", row.plain, row.cells.join(" | ")));
    }
    let names: Vec<String> = open.iter().map(|row| format!("`{}`", row.name)).collect();
    out.push_str("\n<details>\n<summary>The other counters, and what a profiler calls them</summary>\n\n");
    out.push_str(&head);
    for row in &folded {
        out.push_str(&format!("| {}<br><small>`{}`</small> | {} |\n", row.plain, row.name, row.cells.join(" | ")));
    }
    out.push_str(&format!("\nThe rows above the fold are, in their order: {}.\n\n</details>\n", names.join(", ")));
    out
}

/// The counters that carry the course, by which any two chapters can be compared: in the open on every page. The others are
/// folded away.
const CARRYING: [&str; 7] = [
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "barriers",
    "shuffles",
    "ptx_inst_executed",
    "ptx_lane_efficiency",
];

/// The reports of the announced faults, and of the mistakes that the page shows.
fn faults(root: &Path, runs: &[Run], mistakes: &[Run]) -> String {
    let announced = runs.iter().filter(|run| run.variant.announced.is_some());
    let faulty = announced.chain(mistakes).filter(|run| !run.faults.is_empty());
    faulty.map(|run| show::findings(&run.faults, root)).collect::<Vec<_>>().join("\n")
}

fn mistake_runs(chapter: &Chapter, root: &Path) -> Result<Vec<Run>> {
    chapter.mistakes.iter().map(|mistake| mistake::run(chapter, mistake, root)).collect()
}

/// Facts of a mistake: for those without a fault, the wrong result is all that shows.
fn mistake_facts(run: &Run) -> Vec<Fact> {
    let facts = [
        ("n", grouped(run.n)),
        ("result", run.result.to_string()),
        ("expected", run.expected.to_string()),
        ("found", found(run)),
    ];
    facts.into_iter().map(|(name, value)| (format!("mistake-{}-{name}", run.variant.name), value)).collect()
}

fn run_facts(runs: &[Run], full: u64) -> Vec<Fact> {
    let mut facts = Vec::new();
    for run in runs {
        let case = if run.n == full { "" } else { "one_block-" };
        let prefix = format!("{}-{}-{case}", run.variant.name, run.ty);
        let mut fact = |name: &str, value: String| facts.push((format!("{prefix}{name}"), value));
        fact("n", grouped(run.n));
        fact("block", grouped(u64::from(run.block)));
        fact("launches", run.plan.passes.len().to_string());
        fact("depth", run.plan.additions().to_string());
        fact("result", run.result.to_string());
        fact("expected", run.expected.to_string());
        fact("abs_error", three_digits(run.verdict.abs_error));
        fact("error_bound", three_digits(run.verdict.error_bound));
        let Some(counters) = &run.counters else { continue };
        for (name, count) in counts::fields(counters) {
            fact(name, grouped(count));
        }
        fact("lane_efficiency", per_cent(counters.lane_efficiency()));
    }
    facts
}

/// An announced kernel under several schedules: the same kernel and input, and now one sum, now another.
fn schedules(chapter: &Chapter, root: &Path, variant: &'static Variant) -> Result<(String, Vec<Fact>)> {
    let mut table = "| schedule | result | expected | right? | found |\n|---|--:|--:|---|---|\n".to_owned();
    let mut facts = Vec::new();
    for schedule in SCHEDULES {
        let source = KernelSource::in_root(root, chapter.slug);
        let session = Session::open_source(chapter, source, Choice::Sim, SimOptions { schedule, ..OPTIONS })?;
        let run = mistake::run_random(&session, variant, PRIME, 0)?;
        let name = schedule.to_string();
        let right = if run.verdict.right { "yes" } else { "no" };
        let found = found(&run);
        table.push_str(&format!("| `{name}` | {} | {} | {right} | {found} |\n", run.result, run.expected));
        let prefix = format!("{}-i32-{}", variant.name, name.replace(':', "_"));
        facts.push((format!("{prefix}-result"), run.result.to_string()));
        facts.push((format!("{prefix}-expected"), run.expected.to_string()));
        facts.push((format!("{prefix}-n"), grouped(run.n)));
    }
    Ok((table, facts))
}

/// `shared-race × 1,234`: each kind of fault and how often it was seen.
fn found(run: &Run) -> String {
    let mut kinds: Vec<(device::Code, u64)> = Vec::new();
    for fault in &run.faults {
        match kinds.iter_mut().find(|(code, _)| *code == fault.code) {
            Some((_, count)) => *count += fault.count,
            None => kinds.push((fault.code, fault.count)),
        }
    }
    let kinds: Vec<String> = kinds.iter().map(|(code, count)| format!("{code} × {}", grouped(*count))).collect();
    if kinds.is_empty() { "nothing".to_owned() } else { kinds.join(", ") }
}

fn gpu_table(record: &GpuRecord, stale: Option<String>) -> String {
    let mut types: Vec<&str> = record.cases.iter().map(|case| case.ty.as_str()).collect();
    types.dedup();
    let mut out = String::from("| n | kernel |");
    for ty in &types {
        out.push_str(&format!(" {ty}, µs | {ty}, GB/s |"));
    }
    out.push_str(&format!("\n|--:|---|{}\n", "--:|--:|".repeat(types.len())));
    for first in record.cases.iter().filter(|case| case.cold_us.is_some() && case.ty == types[0]) {
        out.push_str(&format!("| {} | `{}` |", grouped(first.n), first.variant));
        for ty in &types {
            let cell = |value: Option<f64>| value.map_or("-".to_owned(), three_digits);
            let case = record.case(&first.variant, ty, first.n);
            out.push_str(&format!(
                " {} | {} |",
                cell(case.and_then(|c| c.cold_us)),
                cell(case.and_then(|c| c.gb_per_s))
            ));
        }
        out.push('\n');
    }
    out.push_str(&provenance(record, stale));
    out
}

fn gpu_facts(record: &GpuRecord) -> Vec<Fact> {
    let mut facts = vec![
        ("h200-device".to_owned(), record.device.clone()),
        ("h200-date".to_owned(), day(&record.date).to_owned()),
        ("h200-driver".to_owned(), record.driver.clone().unwrap_or_default()),
        ("h200-cases".to_owned(), grouped(record.cases.len() as u64)),
    ];
    for case in &record.cases {
        let prefix = format!("h200-{}-{}-{}", case.variant, case.ty, case.n);
        let timed = [("us", case.cold_us), ("gb_per_s", case.gb_per_s), ("warm_us", case.warm_us)];
        facts.extend(
            timed.iter().filter_map(|(name, value)| Some((format!("{prefix}-{name}"), three_digits((*value)?)))),
        );
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_in_the_open_exist() {
        for key in CARRYING {
            assert!(simt::Metric::named(key).is_some(), "{key}");
        }
    }
}
