//! The chart that a chapter's program draws of its runs, and that its page includes.

use crate::Chapter;
use crate::error::Result;
use crate::figure::{self, Bar, COLOURS, Panel};
use crate::run::Run;
use crate::text::{grouped, per_cent, three_digits};

/// The chart of these runs: counters of the simulator, or times of a GPU. `None` where there is nothing to draw.
///
/// # Errors
/// [`crate::Error::Chart`].
pub fn svg(chapter: &Chapter, device: &str, runs: &[Run]) -> Result<Option<String>> {
    let n = runs.first().map_or(0, |run| run.n);
    let panels = if runs.iter().any(|run| run.time.is_some()) { times(runs) } else { counters(runs) };
    if panels.is_empty() || n == 0 {
        return Ok(None);
    }
    let title = format!(
        "{}: {}, n = {}",
        chapter.title,
        if device == "simulator" { "simulated counts" } else { device },
        grouped(n)
    );
    figure::bars(&title, &panels).map(Some)
}

fn panel(title: &str, runs: &[Run], value: impl Fn(&Run) -> Option<(f64, String)>) -> Option<Panel> {
    let bar = |(i, (run, value, label)): (usize, (&Run, f64, String))| {
        let colour = COLOURS[i % COLOURS.len()];
        Bar { name: run.variant.name.to_owned(), value, label, colour }
    };
    let valued = runs.iter().filter_map(|run| value(run).map(|(value, label)| (run, value, label)));
    let bars: Vec<Bar> = valued.enumerate().map(bar).collect();
    bars.iter().any(|bar| bar.value > 0.0).then(|| Panel { title: title.to_owned(), bars, full: None })
}

fn times(runs: &[Run]) -> Vec<Panel> {
    let figure = |v: f64| (v, three_digits(v));
    [
        panel("time in µs, cold median (less is better)", runs, |run| run.time_us().map(figure)),
        panel("GB/s of input (more is better)", runs, |run| run.gb_per_s().map(figure)),
        panel("time in µs, warm median (less is better)", runs, |run| {
            run.time.map(|time| figure(time.warm.median_us))
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn counters(runs: &[Run]) -> Vec<Panel> {
    let total = |title, count: fn(&device::Counters) -> u64| {
        panel(title, runs, |run| run.counters.map(|c| (count(&c) as f64, grouped(count(&c)))))
    };
    [
        total("warp instructions (PTX)", |c| c.inst_executed),
        panel("lane efficiency (100 %: no lane ever idle)", runs, |run| {
            run.counters.map(|c| (c.lane_efficiency(), per_cent(c.lane_efficiency())))
        })
        .map(|panel| Panel { full: Some(1.0), ..panel }),
        total("barriers", |c| c.barriers),
        total("shared-memory wavefronts", |c| c.shared_ld_wavefronts + c.shared_st_wavefronts),
        total("bank conflicts", |c| c.shared_ld_conflicts + c.shared_st_conflicts),
        total("global-memory sectors", |c| c.global_ld_sectors + c.global_st_sectors),
    ]
    .into_iter()
    .flatten()
    .collect()
}
