//! The one JSON object that `--json` prints; its keys are a contract.

use device::Fault;
use serde_json::{Map, Value, json};
use simt::counters::METRICS;

use crate::cli::schedule_name;
use crate::element::json_number;
use crate::session::{Run, Session};

/// All runs of a chapter program.
pub fn object(session: &Session<'_>, seed: Option<u64>, runs: &[Run]) -> Value {
    let description = session.device().description();
    json!({
        "chapter": session.chapter.slug,
        "device": description.name,
        "device_kind": description.kind,
        "device_arch": description.arch,
        "driver": description.driver,
        "cuda": description.cuda,
        "why": description.why,
        "seed": seed,
        "schedule": (!session.device().is_gpu()).then(|| schedule_name(session.options.schedule)),
        "runs": runs.iter().map(run).collect::<Vec<_>>(),
    })
}

fn run(run: &Run) -> Value {
    json!({
        "variant": run.variant.name,
        "n": run.n,
        "type": run.ty.name(),
        "ok": run.ok(),
        "announced": run.variant.announced.map(|code| code.name()),
        "result": run.result.json(),
        "expected": run.expected.json(),
        "abs_error": json_number(run.verdict.abs_error),
        "error_bound": json_number(run.verdict.error_bound),
        "launches": run.plan.passes.len(),
        "counters": counters(run),
        "faults": run.faults.iter().map(fault).collect::<Vec<_>>(),
        "time_us": run.time_us(),
        "gb_per_s": run.gb_per_s(),
        "warm_us": run.time.map(|time| time.warm.median_us),
        "block": run.block,
        "grids": run.plan.passes.iter().map(|pass| pass.grid).collect::<Vec<_>>(),
    })
}

fn counters(run: &Run) -> Map<String, Value> {
    let Some(counters) = &run.counters else { return Map::new() };
    METRICS.iter().map(|metric| (metric.key.to_owned(), count((metric.value)(counters)))).collect()
}

/// A whole number without a decimal point.
fn count(v: f64) -> Value {
    if v.fract() == 0.0 && v.abs() < 9e15 { json!(v as i64) } else { json_number(v) }
}

fn fault(fault: &Fault) -> Value {
    let site = |site: &device::Site| json!({ "file": site.file, "line": site.line, "block": site.block, "lanes": site.lanes, "warp": site.warp });
    json!({
        "code": fault.code.name(),
        "message": fault.message,
        "file": fault.site.file,
        "line": fault.site.line,
        "block": fault.site.block,
        "lanes": fault.site.lanes,
        "other": fault.other.as_ref().map(site),
        "count": fault.count,
    })
}
