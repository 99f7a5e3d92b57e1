//! Faults as text, in the shape that rustc made familiar: what, where (with the source line), why, and what to try.

mod consequences;

use std::fmt::Write;

use crate::counters::grouped;
use crate::fault::{Blame, Fault, Frame, Note, Site};

/// Faults shown in full by [`render_all`]; the rest is counted.
pub const SHOWN_MAX: usize = 10;

/// Labels of two accesses of one launch.
const EARLIER_LATER: [&str; 2] = ["(1) earlier", "(2) later"];

/// Characters shown of a source line.
const LINE_CHARS_MAX: usize = 240;

/// Calls shown of a chain that was inlined; of a longer one the middle is left out.
const CALLERS_SHOWN_MAX: usize = 4;

/// One fault. `source` gives the text of a file by the name in [`Site::file`], or `None` when it is not at hand: the
/// report then leaves the source lines out. No colour, no trailing newline.
pub fn render(fault: &Fault, source: &dyn Fn(&str) -> Option<String>) -> String {
    let explanation = fault.code.explanation();
    let mut text = format!("error[{}]: {}\n", fault.code, fault.message);
    let margin = margin(&fault.site, fault.other.as_ref());
    // A barrier's other threads are elsewhere at the same time; of two accesses one came first.
    let of_one = if fault.code.is_between_accesses() { EARLIER_LATER } else { ["(1) there", "(2) here"] };
    sites(&mut text, &fault.site, fault.other.as_ref(), of_one, source);
    let _ = writeln!(text, "{:margin$} = why: {}", "", fault.why);
    let _ = writeln!(text, "{:margin$} = try: {}", "", fault.remedy);
    if fault.count > 1 {
        let _ = writeln!(text, "{:margin$} = note: seen {} times", "", grouped(fault.count));
    }
    let blame = match explanation.blame {
        Blame::Kernel => "this is a bug in the kernel",
        Blame::Either => "this is a bug in the kernel, or the budget is too small for its work",
        Blame::Simulator => "this is a limit of the simulator, it says nothing about the kernel",
    };
    let _ = write!(text, "{:margin$} = note: {blame}", "");
    text
}

/// One note, in the shape of a fault.
pub fn render_note(note: &Note, source: &dyn Fn(&str) -> Option<String>) -> String {
    let mut text = format!("note[{}]: {}\n", note.kind.name(), note.message);
    let margin = margin(&note.site, note.other.as_ref());
    sites(&mut text, &note.site, note.other.as_ref(), EARLIER_LATER, source);
    let times = if note.count > 1 { format!(" (seen {} times)", grouped(note.count)) } else { String::new() };
    let _ = write!(text, "{:margin$} = no fault: {}{times}", "", note.why);
    text
}

/// Up to [`SHOWN_MAX`] faults in full, one of each kind before others of the same, then how many of each kind are left. What follows from
/// a fault that is shown is named with it. Ends with a newline unless empty.
pub fn render_all(faults: &[Fault], source: &dyn Fn(&str) -> Option<String>) -> String {
    let causes: Vec<Option<usize>> = consequences::causes(faults);
    let mains: Vec<usize> = (0..faults.len()).filter(|&at| causes[at].is_none()).collect();
    let is_first = |at: usize| mains.iter().find(|&&main| faults[main].code == faults[at].code) == Some(&at);
    let (firsts, repeats): (Vec<usize>, Vec<usize>) = mains.iter().partition(|&&at| is_first(at));
    let mut shown: Vec<usize> = firsts.into_iter().chain(repeats).collect();
    let left = shown.split_off(SHOWN_MAX.min(shown.len()));
    shown.sort_unstable();
    let mut text = String::new();
    for &at in &shown {
        text += &render(&faults[at], source);
        let margin = margin(&faults[at].site, faults[at].other.as_ref());
        for (follower, _) in faults.iter().zip(&causes).filter(|(_, cause)| **cause == Some(at)) {
            let Site { file, line, .. } = &follower.site;
            let (code, count) = (follower.code, grouped(follower.count));
            let times = if follower.count == 1 { "time" } else { "times" };
            let _ = write!(
                text,
                "\n{:margin$} = note: most likely because of this, {code} at {file}:{line}, {count} {times}",
                ""
            );
        }
        text += "\n\n";
    }
    if left.is_empty() {
        text.truncate(text.trim_end().len());
        text += if text.is_empty() { "" } else { "\n" };
        return text;
    }
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for fault in left.iter().map(|&at| &faults[at]) {
        match kinds.iter_mut().find(|(name, _)| *name == fault.code.name()) {
            Some((_, count)) => *count += 1,
            None => kinds.push((fault.code.name(), 1)),
        }
    }
    let kinds: Vec<String> = kinds.iter().map(|(name, count)| format!("{} {name}", grouped(*count as u64))).collect();
    let _ = writeln!(text, "and {} more: {}", grouped(left.len() as u64), kinds.join(", "));
    text
}

/// Lanes as ranges: `lane 3`, `lanes 0-15, 17`, `no lanes`.
pub fn lanes(mask: u32) -> String {
    let mut ranges: Vec<String> = Vec::new();
    let mut lane = 0;
    while lane < u32::BITS {
        // Shifted by lane < 32, so neither count can run past the mask's end.
        let run = (mask >> lane).trailing_ones().min(u32::BITS - lane);
        match run {
            0 => {}
            1 => ranges.push(lane.to_string()),
            _ => ranges.push(format!("{lane}-{}", lane + run - 1)),
        }
        lane += run.max(1);
    }
    match mask.count_ones() {
        0 => "no lanes".to_owned(),
        1 => format!("lane {}", ranges[0]),
        _ => format!("lanes {}", ranges.join(", ")),
    }
}

/// Width of the line numbers of both sites.
fn margin(here: &Site, there: Option<&Site>) -> usize {
    let lines = [Some(here), there];
    lines.into_iter().flatten().map(|site| site.line.to_string().len()).max().unwrap_or(1)
}

/// Labels of the two sites of a pair, the other one first; accesses of two launches are labelled by their launches.
fn labels(here: &Site, other: &Site, of_one: [&'static str; 2]) -> [&'static str; 2] {
    let there = match i64::from(other.launch) - i64::from(here.launch) {
        _ if other.device != here.device => return of_one,
        0 => return of_one,
        -1 => "(1) the launch before",
        1 => "(1) the next launch",
        apart if apart < 0 => "(1) an earlier launch",
        _ => "(1) a later launch",
    };
    [there, "(2) this launch"]
}

/// Writes the site, or both of a pair with these labels if they are in one launch.
fn sites(
    text: &mut String,
    here: &Site,
    other: Option<&Site>,
    of_one: [&'static str; 2],
    source: &dyn Fn(&str) -> Option<String>,
) {
    let margin = margin(here, other);
    let Some(other) = other else { return site(text, here, None, margin, source) };
    let [first, second] = labels(here, other, of_one);
    site(text, other, Some(first), margin, source);
    site(text, here, Some(second), margin, source);
}

/// Writes one site: the threads, their action and place, and the line.
fn site(text: &mut String, site: &Site, label: Option<&str>, margin: usize, source: &dyn Fn(&str) -> Option<String>) {
    let [x, y, z] = site.block;
    let who = match site.lanes {
        // The instruction was refused before any thread executed it.
        0 => String::new(),
        mask => {
            let device = site.device.map_or(String::new(), |device| format!(" of device {device}"));
            format!("{} of warp {}, block ({x},{y},{z}){device}", lanes(mask), site.warp)
        }
    };
    let what = if site.action.is_empty() { String::new() } else { format!(" {}", verb(site)) };
    let who = match label {
        Some(label) => format!("{label}: {who}{what}: "),
        None if site.lanes == 0 => String::new(),
        None => format!("{who}{what}: "),
    };
    let ptx = if is_ptx(&site.file) {
        format!("`{}`", site.opcode)
    } else {
        format!("`{}` in line {} of the PTX", site.opcode, site.ptx_line)
    };
    if let Some([before, behind]) = site.between {
        let around = if before == behind { format!("line {before}") } else { format!("lines {before} and {behind}") };
        let _ = writeln!(
            text,
            "{:margin$}--> {}: beside {around}; the compiler gives it no line of its own",
            "", site.file
        );
        let _ = writeln!(text, "{:margin$} | {who}{ptx}", "");
        return;
    }
    let _ = writeln!(text, "{:margin$}--> {}:{}", "", site.file, site.line);
    if let Some(line) = source(&site.file).and_then(|text| nth_line(&text, site.line)) {
        let _ = writeln!(text, "{:margin$} |", "");
        let _ = writeln!(text, "{:margin$} | {line}", site.line);
    }
    let _ = writeln!(text, "{:margin$} | {who}{ptx}", "");
    inlined(text, site, margin, source);
}

/// Writes, for a site that was inlined, the code inside the line shown and the lines that called it.
fn inlined(text: &mut String, site: &Site, margin: usize, source: &dyn Fn(&str) -> Option<String>) {
    let shown = site.frames.iter().position(|frame| (&frame.file, frame.line) == (&site.file, site.line)).unwrap_or(0);
    if shown > 0 {
        let Frame { file, line } = &site.frames[0];
        let code = source(file).and_then(|text| nth_line(&text, *line)).map(|code| format!(": `{}`", code.trim()));
        let _ = writeln!(text, "{:margin$} | inside it, {file}:{line}{}", "", code.unwrap_or_default());
    }
    if let Some(callers @ [_, ..]) = site.frames.get(shown + 1..) {
        let mut callers: Vec<String> = callers.iter().map(|frame| format!("{}:{}", frame.file, frame.line)).collect();
        if callers.len() > CALLERS_SHOWN_MAX {
            callers[CALLERS_SHOWN_MAX - 1] = "…".into();
            callers.drain(CALLERS_SHOWN_MAX..callers.len() - 1);
        }
        let _ = writeln!(text, "{:margin$} | called at {}", "", callers.join(", from "));
    }
}

/// `reads` of one lane, `read` of several.
fn verb(site: &Site) -> &str {
    let plural = site.lanes.count_ones() > 1;
    match site.action {
        "is" if plural => "are here",
        "is" => "is here",
        action if plural => action.strip_suffix('s').unwrap_or(action),
        action => action,
    }
}

fn is_ptx(file: &str) -> bool {
    file.ends_with(".ptx")
}

/// Line `number` (from 1) of `text` as a report shows it: blanks for tabs, and of a long one its begin.
pub fn nth_line(text: &str, number: u32) -> Option<String> {
    let line = text.lines().nth(number.checked_sub(1)? as usize)?;
    let mut line = line.trim_end().replace('\t', "    ");
    if let Some((end, _)) = line.char_indices().nth(LINE_CHARS_MAX) {
        line.truncate(end);
        line.push('…');
    }
    Some(line)
}
