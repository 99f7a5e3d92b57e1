//! The one JSON object that `--json` prints: the keys of the other chapters, and those of several devices.

use lab::Value as Number;
use lab::value::json_number;
use serde_json::{Value, json};

use crate::show::{Shown, link_bytes};
use crate::tried::Tried;
use crate::{Announced, CALLS, SLUG};

/// All runs of the program.
pub(crate) fn object(shown: &Shown<'_>) -> Value {
    let devices: Vec<_> = shown.peers.devices().iter().map(|device| device.description()).collect();
    let first = devices.first();
    json!({
        "chapter": SLUG,
        "device": first.map(|device| &device.name),
        "devices": devices.iter().map(|device| &device.name).collect::<Vec<_>>(),
        "device_kind": first.map(|device| device.kind),
        "device_arch": first.map(|device| &device.arch),
        "driver": first.and_then(|device| device.driver.as_ref()),
        "cuda": first.and_then(|device| device.cuda.as_ref()),
        "why": first.map(|device| &device.why),
        "seed": shown.problem.seed,
        "schedule": (!shown.peers.are_gpus()).then(|| shown.schedule.to_string()),
        "route": shown.route.name(),
        "left_out": shown.left_out.iter().flat_map(|left_out| &left_out.variants).collect::<Vec<_>>(),
        "runs": shown.tried.iter().map(|tried| run(shown, tried)).collect::<Vec<_>>(),
    })
}

fn run(shown: &Shown<'_>, tried: &Tried) -> Value {
    let (problem, run) = (&shown.problem, &tried.run);
    let place = run.verdict.shown;
    let us = run.time.map(|time| time.median_us);
    let mut object = json!({
        "variant": run.variant.name,
        "ranks": problem.ranks,
        "n": problem.n,
        "type": problem.ty.name(),
        "op": problem.op.name(),
        "ok": run.ok(),
        "announced": run.variant.announced.map(Announced::name),
        "result": place.map(|place| Number::F32(place.result).json()),
        "expected": place.map(|place| Number::F32(place.expected).json()),
        "rank": place.map(|place| place.rank),
        "call": place.map(|place| place.call + 1),
        "index": place.map(|place| place.index),
        "wrong": run.verdict.wrong,
        "judged": run.verdict.judged,
        "abs_error": place.map(|place| {
            let is_same = place.result.to_bits() == place.expected.to_bits() || run.verdict.is_right();
            json_number(if is_same { 0.0 } else { (f64::from(place.result) - f64::from(place.expected)).abs() })
        }),
        "error_bound": 0.0,
        "calls": CALLS,
        "launches": problem.ranks,
        "counters": run.counters.map_or_else(|| json!({}), |counters| json!(counters)),
        "link_bytes": link_bytes(run, problem),
        "faults": run.report.faults,
        "notes": run.report.notes,
        "time_us": us,
        "gb_per_s": us.map(|us| problem.bytes() as f64 / us / 1e3),
        "block": run.geometry.block[0],
        "grid": run.geometry.grid[0],
    });
    if shown.args.seeds.is_some() {
        object["seeds"] = tried.seeds();
    }
    object
}
