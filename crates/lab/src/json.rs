//! The one JSON object that `--json` prints; its keys are a contract.

use serde_json::{Value, json};

use crate::cli::LeftOut;
use crate::run::Run;
use crate::session::Session;
use crate::value::json_number;

/// All runs of a chapter program.
pub fn object(session: &Session<'_>, seed: Option<u64>, runs: &[Run], left_out: &[LeftOut]) -> Value {
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
        "schedule": (!session.device().is_gpu()).then(|| session.options.schedule.to_string()),
        "left_out": left_out.iter().flat_map(|left_out| &left_out.variants).collect::<Vec<_>>(),
        "runs": runs.iter().map(run).collect::<Vec<_>>(),
    })
}

fn run(run: &Run) -> Value {
    json!({
        "variant": run.variant.name,
        "n": run.n,
        "rows": run.layout.size().map(|(rows, _)| rows),
        "cols": run.layout.size().map(|(_, cols)| cols),
        "row": run.row,
        "col": run.col,
        "type": run.ty.name(),
        "op": run.options.op.name(),
        "ok": run.ok(),
        "judged": run.verdict.not_judged.is_none(),
        "not_judged": run.verdict.not_judged.map(|why| why.to_string()),
        "announced": run.variant.announced.map(|code| code.name()),
        "harm": run.variant.harm,
        "result": run.has_result().then(|| run.result.json()),
        "expected": run.has_result().then(|| run.expected.json()),
        "abs_error": json_number(run.verdict.abs_error),
        "error_bound": json_number(run.verdict.error_bound),
        "launches": run.plan.passes.len(),
        "counters": run.counters.map_or_else(|| json!({}), |counters| json!(counters)),
        "faults": run.faults,
        "notes": run.notes,
        "time_us": run.time_us(),
        "gb_per_s": run.gb_per_s(),
        "warm_us": run.time.map(|time| time.warm.median_us),
        "block": run.block,
        "grids": run.plan.passes.iter().map(|pass| pass.grid()).collect::<Vec<_>>(),
    })
}
