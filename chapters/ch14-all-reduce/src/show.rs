//! Text of the program for a person.

use std::path::Path;

use device::{Counters, Metric, PEER_METRICS, Peers, Schedule};
use lab::Value;
use lab::cli::LeftOut;
use lab::show::{device_line, findings};
use lab::text::{Row, Table, bytes, grouped, listed, three_digits, wrapped};
use reduction::{Op, Route};

use crate::calls::Run;
use crate::cli::Args;
use crate::judge::Problem;
use crate::tried::{Status, Tried};
use crate::{Announced, CALLS, SLUG, TITLE};

/// Everything that is shown.
pub(crate) struct Shown<'a> {
    pub args: &'a Args,
    pub peers: &'a Peers,
    /// Origin of the kernels: `committed`, or a compiler.
    pub origin: String,
    /// Folder that faults name their lines from.
    pub root: &'a Path,
    pub problem: Problem,
    /// The route that a group chooses.
    pub route: Route,
    pub schedule: Schedule,
    pub tried: &'a [Tried],
    pub statuses: &'a [Status],
    /// Variants that do not take the problem.
    pub left_out: &'a [LeftOut],
}

impl Shown<'_> {
    /// The whole text.
    pub(crate) fn text(&self) -> String {
        let mut out = format!("{SLUG}: {TITLE}\n\n");
        self.push_head(&mut out);
        out.push_str("\ncheck\n");
        for (tried, status) in self.tried.iter().zip(self.statuses) {
            self.push_check(&mut out, tried, status);
        }
        for line in self.left_out {
            push(&mut out, &format!("  {line}"), 4);
        }
        for Tried { run, .. } in self.tried.iter().filter(|tried| !tried.run.report.faults.is_empty()) {
            out.push_str(&format!("\nfound in {}\n{}", run.variant.name, findings(&run.report.faults, self.root)));
        }
        self.push_counters(&mut out);
        self.push_times(&mut out);
        out.push_str("\nwhat holds each back\n");
        for Tried { run, .. } in self.tried {
            push(&mut out, &format!("  {:<16} {}", run.variant.name, run.variant.limit), 19);
        }
        let failed = self.tried.iter().zip(self.statuses).filter(|(_, status)| status.fails());
        let failed: Vec<&str> = failed.map(|(tried, _)| tried.run.variant.name).collect();
        if !failed.is_empty() {
            out.push_str(&format!("\nfailed: {}\n", listed(&failed)));
        }
        out
    }

    /// Devices, input, schedule and the library's choice.
    fn push_head(&self, out: &mut String) {
        let Problem { op, ty, n, ranks, seed } = self.problem;
        let lines: Vec<String> = self.peers.devices().iter().map(device_line).collect();
        match lines.first().filter(|first| lines.iter().all(|line| line == *first)) {
            Some(first) => push(out, &format!("devices  {ranks} x {first}"), 9),
            None => lines.iter().for_each(|line| push(out, &format!("device   {line}"), 9)),
        }
        if self.peers.are_gpus() {
            let by_driver = || "the committed PTX, compiled by the driver".to_owned();
            let made = if self.origin == "committed" { by_driver() } else { self.origin.clone() };
            push(out, &format!("code     {made}"), 9);
        }
        let size = bytes(self.problem.bytes());
        let size = if op == Op::Sum { size } else { format!("{size}, some NaN") };
        let input = format!("{} random {ty} on each device ({size}), seed {seed}", grouped(n));
        push(out, &format!("input    {input}; {CALLS} calls in a row, each of other numbers"), 9);
        match self.args.seeds {
            Some(seeds) => push(out, &format!("seeds    each under independent:0 to independent:{}", seeds - 1), 9),
            None if self.peers.are_gpus() => {}
            None if self.args.schedule.is_some() => push(out, &format!("schedule {}", self.schedule), 9),
            None => {
                push(out, &format!("schedule {}, under which the races show; --seeds 8 tries others", self.schedule), 9)
            }
        }
        let choice = format!("route    {}: the library expects it to be the fastest for so many bytes", self.route);
        push(out, &choice, 9);
    }

    /// A tick or a cross, the verdict, the kernel's idea, and how it was launched.
    fn push_check(&self, out: &mut String, tried: &Tried, status: &Status) {
        let Tried { run, .. } = tried;
        let mark = if run.ok() { '✓' } else { '✗' };
        push(out, &format!("  {mark} {:<16} {}", run.variant.name, self.verdict(run)), 6);
        push(out, &format!("      {}", run.variant.idea), 6);
        let [grid, block] = [run.geometry.grid[0], run.geometry.block[0]];
        let blocks = if grid == 1 { "block" } else { "blocks" };
        let launch = format!("{} ranks x {grid} {blocks} x {block} threads", self.problem.ranks);
        push(out, &format!("      {CALLS} calls: {launch}"), 6);
        let line = match status {
            Status::Right => None,
            Status::AsAnnounced(announced) => Some(format!("✗ as announced: {}", words(*announced))),
            Status::Missing(announced) => Some(format!(
                "the lesson announces {}, which did not show; --seeds 8 tries other schedules",
                words(*announced)
            )),
            Status::Unseen(announced, why) => {
                Some(format!("the lesson announces {}, which does not show here: {why}", words(*announced)))
            }
            Status::Wrong => {
                let mut codes: Vec<&str> = run.report.faults.iter().map(|fault| fault.code.name()).collect();
                codes.dedup();
                let wrong = (!run.verdict.is_right()).then_some("a wrong result");
                Some(format!("not announced: {}", listed(&wrong.into_iter().chain(codes).collect::<Vec<_>>())))
            }
        };
        if let Some(line) = line {
            push(out, &format!("      {line}"), 6);
        }
        if self.args.seeds.is_some() {
            let seeds = match tried.first {
                None => format!("nothing was found under any of the {} seeds", tried.schedules),
                Some(seed) => format!(
                    "it showed under {} of {} seeds; shown is {seed}: --schedule independent:{seed} repeats it",
                    tried.found, tried.schedules
                ),
            };
            push(out, &format!("      {seeds}"), 6);
        }
    }

    fn verdict(&self, run: &Run) -> String {
        let Problem { op, n, ranks, .. } = self.problem;
        let all = if ranks == 1 { "the one rank has" } else { "all ranks have" };
        match run.verdict.shown {
            None => "nothing to add up".to_owned(),
            Some(_) if run.verdict.is_right() => match op {
                Op::Sum => format!("{all} the bits of the {} sums in the order of ranks", grouped(n)),
                _ => format!("{all} the largest of {} elements, or NaN", grouped(n)),
            },
            Some(place) => format!(
                "rank {} has {} in element {} of call {}, expected {}: {} of {} elements are wrong",
                place.rank,
                Value::F32(place.result),
                grouped(place.index),
                place.call + 1,
                Value::F32(place.expected),
                grouped(run.verdict.wrong),
                grouped(run.verdict.judged)
            ),
        }
    }

    /// What crosses the links, as the simulator counts it and as arithmetic has it.
    fn push_counters(&self, out: &mut String) {
        // Wrong kernels move what the one moves that they are made from.
        let has_right = self.tried.iter().any(|tried| tried.run.variant.announced.is_none());
        let runs = self.tried.iter().map(|tried| &tried.run);
        let runs = runs.filter(|run| !has_right || run.variant.announced.is_none());
        let counted: Vec<(&Run, Counters)> = runs.filter_map(|run| Some((run, run.counters?))).collect();
        let any = |metric: &&Metric| counted.iter().any(|(_, counters)| (metric.value)(counters) != 0.0);
        let metrics: Vec<&Metric> = PEER_METRICS.iter().filter(any).collect();
        if metrics.is_empty() {
            return;
        }
        let row = |metric: &&Metric| Row {
            name: metric.key.to_owned(),
            plain: metric.plain.to_owned(),
            cells: counted.iter().map(|(_, counters)| metric.display(counters)).collect(),
        };
        let by_arithmetic = Row {
            name: "link_bytes".to_owned(),
            plain: "bytes of arrays that a rank gets over its links, by arithmetic; the rest are flags".to_owned(),
            cells: counted.iter().map(|(run, _)| grouped(link_bytes(run, &self.problem))).collect(),
        };
        let table = Table {
            headers: counted.iter().map(|(run, _)| run.variant.name.to_owned()).collect(),
            rows: metrics.iter().map(row).chain([by_arithmetic]).collect(),
        };
        out.push_str(&format!("\ncounters, simulated, rank 0 in one call\n{}", table.render()));
    }

    fn push_times(&self, out: &mut String) {
        let timed: Vec<(&Run, f64)> =
            self.tried.iter().filter_map(|tried| Some((&tried.run, tried.run.time?.median_us))).collect();
        if timed.is_empty() {
            return;
        }
        let row = |name: &str, plain: &str, cell: &dyn Fn(&Run, f64) -> f64| Row {
            name: name.to_owned(),
            plain: plain.to_owned(),
            cells: timed.iter().map(|&(run, us)| three_digits(cell(run, us))).collect(),
        };
        let problem = &self.problem;
        let table = Table {
            headers: timed.iter().map(|(run, _)| run.variant.name.to_owned()).collect(),
            rows: vec![
                row("µs", "median of a call on all ranks", &|_, us| us),
                row("GB/s", "bytes of one rank's array over that time", &|_, us| problem.bytes() as f64 / us / 1e3),
                row("link, GB/s", "bytes that a rank gets over its links, over that time", &|run, us| {
                    link_bytes(run, problem) as f64 / us / 1e3
                }),
            ],
        };
        out.push_str(&format!("\ntime, measured, one call after the other\n{}", table.render()));
    }
}

/// Bytes of arrays that a rank gets over its links in a call.
pub(crate) fn link_bytes(run: &Run, problem: &Problem) -> u64 {
    run.variant.route.link_bytes(problem.bytes(), problem.ranks)
}

fn words(announced: Announced) -> String {
    match announced {
        Announced::Race => format!("{} between two devices", announced.name()),
        Announced::OtherBits => "other bits than those of the order of ranks, and no fault".to_owned(),
    }
}

/// Adds a line, wrapped below its column `indent`.
fn push(out: &mut String, line: &str, indent: usize) {
    out.push_str(&format!("{}\n", wrapped(line, &" ".repeat(indent))));
}
