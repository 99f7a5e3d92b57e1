//! Runs of the chapter over several devices, whose program is its own, for the page and the simulator's record.

use anyhow::{Context, Result, anyhow};
use lab::Stop;
use report::OverDevices;
use serde_json::Value;

use crate::lessons::OVER_DEVICES;

/// Numbers of devices whose counters stand side by side.
const RANKS: [&str; 3] = ["2", "4", "8"];
/// Arguments of the runs that are compared.
const COMPARED: [&str; 3] = ["--n", "1024", "--json"];
/// Kernels that race, and all that are wrong.
const RACING: &str = "device_scope,reused,overwritten";
const WRONG: &str = "device_scope,reused,overwritten,arrival";

/// Runs the chapter's program on devices of the simulator.
pub fn runs() -> Result<OverDevices> {
    let on = |ranks, more: &[&str]| said(&[&["--ranks", ranks], more].concat());
    let object = |ranks, more: &[&str]| -> Result<Value> {
        serde_json::from_str(&on(ranks, &[&COMPARED, more].concat())?).context("the program's JSON cannot be read")
    };
    Ok(OverDevices {
        text: said(&[])?,
        racing: on("4", &["--n", "1024", "--variant", RACING])?,
        objects: RANKS.iter().map(|ranks| object(ranks, &[])).collect::<Result<_>>()?,
        tried: object("4", &["--variant", WRONG, "--seeds", "8"])?,
    })
}

/// Text of the program for these arguments.
fn said(args: &[&str]) -> Result<String> {
    let command = [OVER_DEVICES, "--device", "sim"].iter().chain(args).map(|arg| arg.into());
    let output = ch14_all_reduce::execute(command).map_err(|stop| match stop {
        Stop::Clap(error) => anyhow!(error),
        Stop::Error(error) => anyhow!(error),
    });
    let output = output.with_context(|| format!("cannot run {OVER_DEVICES} {}", args.join(" ")))?;
    match output.status {
        0 => Ok(output.text),
        _ => Err(anyhow!("{OVER_DEVICES} {}: a kernel does not do what the lesson says of it", args.join(" "))),
    }
}
