//! The change against the chapter before: its record of the same kind of device, beside the runs of today.

use std::path::Path;

use crate::element::Type;
use crate::error::Result;
use crate::op::Op;
use crate::run::Run;
use crate::session::Session;
use crate::text::{Row, Table, day, grouped, per_cent, three_digits};
use crate::{counts, hardware, record};

/// The lines that compare `runs` with the chapter before; `None` where there is none before, and for other operations
/// than the sum, which the records are of.
///
/// # Errors
/// A record that cannot be read.
pub fn text(session: &Session<'_>, runs: &[Run]) -> Result<Option<String>> {
    let (Some((slug, variant)), Some(run)) =
        (session.chapter.before, runs.iter().find(|run| run.n > 0 && run.options.op == Op::Sum))
    else {
        return Ok(None);
    };
    let root = session.source.root();
    let text = if session.device().is_gpu() {
        measured(session, runs, root, slug, variant)?
    } else {
        simulated(runs, root, slug, variant, run.ty)?
    };
    Ok(Some(text.unwrap_or_else(|| format!("no record of {slug}'s {variant} ({}) to compare with\n", run.ty))))
}

fn simulated(runs: &[Run], root: &Path, slug: &str, variant: &str, ty: Type) -> Result<Option<String>> {
    let Some(record) = record::load(root, slug)? else { return Ok(None) };
    let Some(case) = record.case(variant, ty, record::N) else { return Ok(None) };
    let of_case = |name: &str| case.counters.get(name).copied().unwrap_or(0);
    let mut columns: Vec<(f64, Vec<(&str, u64)>)> =
        vec![(case.n as f64, case.counters.iter().map(|(k, &v)| (k.as_str(), v)).collect())];
    for run in runs {
        columns.push((run.n as f64, run.counters.iter().flat_map(counts::fields).collect()));
    }
    let count = |column: &(f64, Vec<(&str, u64)>), names: &[&str]| -> f64 {
        let named = column.1.iter().filter(|(name, _)| names.contains(name));
        1000.0 * named.map(|&(_, count)| count as f64).sum::<f64>() / column.0
    };
    let row = |name: &str, fields: &[&str]| Row {
        name: name.to_owned(),
        plain: String::new(),
        cells: columns.iter().map(|column| three_digits(count(column, fields))).collect(),
    };
    let mut lanes = vec![per_cent(counts::share(of_case("thread_inst_executed"), of_case("inst_executed")))];
    lanes.extend(runs.iter().map(|run| run.counters.map_or(String::new(), |c| per_cent(c.lane_efficiency()))));
    let ours = runs.iter().map(|run| run.plan.passes.len() as u64);
    let launches = std::iter::once(case.launches.unwrap_or(0)).chain(ours).map(grouped).collect();
    let table = Table {
        headers: std::iter::once(variant.to_owned())
            .chain(runs.iter().map(|run| run.variant.name.to_owned()))
            .collect(),
        rows: vec![
            Row { name: "launches in all".to_owned(), plain: String::new(), cells: launches },
            row("warp instructions", &["inst_executed"]),
            row("barriers", &["barriers"]),
            row("shared-memory wavefronts", &["shared_ld_wavefronts", "shared_st_wavefronts"]),
            row(
                "global-memory sectors",
                &["global_ld_sectors", "global_st_sectors", "global_atom_sectors", "global_red_sectors"],
            ),
            Row { name: "lane efficiency".to_owned(), plain: String::new(), cells: lanes },
        ],
    };
    let n = grouped(case.n);
    Ok(Some(format!("against {slug}'s {variant} at n = {n}, simulated, for every 1,000 elements\n{}", table.render())))
}

fn measured(session: &Session<'_>, runs: &[Run], root: &Path, slug: &str, variant: &str) -> Result<Option<String>> {
    let Some(record) = hardware::load_timed(root, slug, &record::card_record(root, slug, ""))? else { return Ok(None) };
    let here = &session.device().description().name;
    if record.device != *here {
        return Ok(Some(format!(
            "the record of {slug} is of an {}, and times of two devices are not compared\n",
            record.device
        )));
    }
    let mut out = format!("against {slug}'s {variant}, measured on an {} on {}\n", record.device, day(&record.date));
    for run in runs {
        let then = record.case(variant, run.ty.name(), run.n);
        let (Some(then), Some(now)) = (then.and_then(|case| case.cold_us), run.time_us()) else { continue };
        out.push_str(&format!(
            "  {:<20} {} µs, was {} µs: {:.2} times as fast\n",
            run.variant.name,
            three_digits(now),
            three_digits(then),
            then / now
        ));
    }
    Ok((out.lines().count() > 1).then_some(out))
}
