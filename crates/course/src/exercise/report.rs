//! A verdict in words: what passed, the first thing that failed in its smallest case, and where to look.

use std::path::Path;

use lab::Type;
use lab::text::{WIDTH, grouped, three_digits, wrapped};

use super::bench::Answer;
use super::case::{Case, TODAYS};
use super::judge::{Failure, Stage, Verdict};
use super::ranks::BETWEEN;
use super::write::Goal;

/// Most lines of what a kernel prints or a compiler says that are shown.
const LINES_MAX: usize = 20;

/// Everything that was found out about a kernel. `text` is its source, for lines that goals point to, and `name` what
/// messages call it.
pub fn verdict(verdict: &Verdict, root: &Path, name: &str, text: &str) -> String {
    if let Some(Failure::NoKernel(why)) = &verdict.failure {
        return format!("  ✗ compiles and loads\n\n{}\n", why.trim_end());
    }
    let mut out = String::from("  ✓ compiles and loads\n");
    if !verdict.warnings.is_empty() {
        out.push_str(&format!("\nthe compiler warns:\n{}\n\n", first_lines(&verdict.warnings)));
    }
    let mut is_reached = true;
    for stage in &verdict.stages {
        out.push_str(&stage_line(stage, is_reached));
        is_reached &= stage.passed == stage.cases;
    }
    match &verdict.failure {
        Some(Failure::Case { case, answer, contributions }) => {
            out.push_str(&case_text(*case, answer, contributions.as_deref(), root));
        }
        Some(Failure::Tree { case, result, expected }) => {
            let line = format!(
                "the sum is right, and not of the same pairs: floats round to {result} here, and to {expected} where \
                 neighbours are added, then neighbours of the sums, at {}",
                asked(*case)
            );
            out.push_str(&format!("\n{}\n", wrapped(&line, "")));
        }
        Some(Failure::Goal { goal, case, counted, most, who }) => {
            out.push_str(&goal_text(goal, *case, (*counted, who.as_deref()), *most, (name, text)));
        }
        Some(Failure::NoKernel(_)) | None => {}
    }
    out
}

fn stage_line(stage: &Stage, is_reached: bool) -> String {
    let Stage { name, what, passed, cases } = stage;
    let (mark, count) = match (is_reached, passed == cases) {
        (false, _) => ('–', "not tried yet".to_owned()),
        (true, true) => ('✓', format!("{cases} of {cases}")),
        (true, false) => ('✗', format!("{passed} of {cases}")),
    };
    let line = format!("  {mark} {name:<16} {count:<14} {what}");
    format!("{}\n", wrapped(&line, &" ".repeat(36)))
}

/// `n = 33, 32 threads a block, i32`
fn asked(case: Case) -> String {
    let mut text = format!("{}, {} threads a block, {}", case.size(), case.block, case.ty);
    if case.offset > 0 {
        let s = if case.offset == 1 { "" } else { "s" };
        text.push_str(&format!(", input {} element{s} further on", case.offset));
    }
    if let Some(blocks) = case.grid_max {
        text.push_str(&format!(", at most {blocks} blocks"));
    }
    if let Some(words) = case.fill.words() {
        text.push_str(&format!(", {words}"));
    }
    if case.schedule != TODAYS {
        text.push_str(&format!(", schedule {}", case.schedule));
    }
    text
}

fn case_text(case: Case, answer: &Answer, contributions: Option<&str>, root: &Path) -> String {
    let mut out = format!("\nfails first at {}\n", asked(case));
    if let Some(n) = answer.second {
        let line = format!(
            "the first launch was right; the second, of {} elements, began with what the first left in {}the workspace",
            grouped(n),
            if case.keeps_out { "out and in " } else { "" }
        );
        out.push_str(&format!("{}\n", wrapped(&line, "")));
    }
    if !answer.verdict.right {
        out.push_str(&format!("{}\n", wrapped(&wrong_sum(case, answer, contributions), "")));
    }
    if !answer.report.printed.is_empty() {
        out.push_str(&format!("\nprintf in this case:\n{}\n", first_lines(&answer.report.printed)));
    }
    if let Some(first) = answer.report.faults.first() {
        out.push_str(&format!("\n{}", lab::show::findings(std::slice::from_ref(first), root)));
        let places = std::iter::once(&first.site).chain(&first.other);
        if places.into_iter().any(|place| place.file.ends_with(BETWEEN)) {
            let line = format!(
                "{BETWEEN} stands for what a rank runs between two calls: it writes the next `in`, and reads the last `out`"
            );
            out.push_str(&format!("{}\n", wrapped(&line, "")));
        }
        match answer.report.faults.len() - 1 {
            0 => {}
            1 => out.push_str("and 1 more finding in this run\n"),
            more => out.push_str(&format!("and {} more findings in this run\n", grouped(more as u64))),
        }
    }
    out
}

/// The first lines of a long text, as many as a reader reads.
fn first_lines(text: &str) -> String {
    let count = text.lines().count();
    let shown: Vec<&str> = text.lines().take(LINES_MAX).collect();
    let rest = count - shown.len();
    let more = if rest > 0 { format!("\n… and {} more lines", grouped(rest as u64)) } else { String::new() };
    shown.join("\n") + &more
}

fn wrong_sum(case: Case, answer: &Answer, contributions: Option<&str>) -> String {
    let (result, expected) = (answer.result, answer.expected);
    if let Some(place) = answer.ranks.as_ref().and_then(|ran| ran.place) {
        let order = if case.ty == Type::I32 { "" } else { ", the sum in the order of ranks" };
        return format!("{}: {result} where {expected} is right{order}", place.words());
    }
    let mut text = match answer.row {
        Some(row) => format!("row {}: {result} where {expected} is right", grouped(row)),
        None => format!("the result is {result}, expected {expected}"),
    };
    if case.ty != Type::I32 {
        let (error, bound) = (three_digits(answer.verdict.abs_error), three_digits(answer.verdict.error_bound));
        text.push_str(&match answer.verdict.error_bound == 0.0 {
            true => format!(": off by {error}; nothing is rounded here, so it has to be that exactly"),
            false => format!(": off by {error}; rounding, in whatever order, explains {bound} at most"),
        });
    }
    if let Some(contributions) = contributions {
        text.push_str(&format!(": {contributions}"));
    }
    text
}

fn goal_text(
    goal: &Goal,
    case: Case,
    (counted, who): (u64, Option<&str>),
    most: Option<(u32, u64)>,
    (name, text): (&str, &str),
) -> String {
    let mut out = format!("\ngoal missed: {}\n", goal.say);
    let limit = match (goal.at_most, goal.at_least) {
        (Some(0), _) => "none".to_owned(),
        (Some(most), _) if counted > most => format!("at most {}", grouped(most)),
        (_, Some(least)) => format!("at least {}", grouped(least)),
        (_, None) => String::new(),
    };
    let line = match (who, goal.each_block) {
        (Some(who), _) => format!("{who}, at {}", asked(case)),
        (_, Some(steps)) => {
            format!("a block executes more than {} warp-instructions, at {}", grouped(steps), asked(case))
        }
        (_, None) => format!("counted {}, allowed {limit}, at {}", grouped(counted), asked(case)),
    };
    out.push_str(&format!("{}\n", wrapped(&line, "")));
    for metric in goal.metrics() {
        out.push_str(&format!("{}\n", wrapped(&format!("  {}: {}", metric.key, metric.plain), "    ")));
    }
    let line = most.and_then(|(line, part)| Some((line, part, text.lines().nth((line as usize).checked_sub(1)?)?)));
    if let Some((line, part, source)) = line {
        let part = if part == counted { "all of it".to_owned() } else { format!("{} of them", grouped(part)) };
        out.push_str(&format!("{part} in {name}:{line}\n  {line} | {}\n", shortened(source.trim_end())));
    }
    out
}

/// A line of source, cut where a terminal ends.
fn shortened(line: &str) -> String {
    line.chars().take(WIDTH).collect()
}
