//! `simt check`: will the kernels of these PTX files run?
//!
//! Files are linked as `simt run` links them. Files that are no parts of one program, because two define the same name, are checked
//! each by itself.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use crate::{LoadError, Program};
use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::command_line::Check;
use super::{BAD_INPUT, CLEAN, FAULTS, Written, load, sources};

/// Reasons that are shown of one kernel; the others are counted.
const REASONS_MAX: usize = 10;

/// A kernel and everything that keeps it from running.
struct Checked {
    name: String,
    reasons: Vec<String>,
}

/// Checks every kernel and writes what came of it; the exit status.
pub fn run(request: &Check, out: &mut dyn Write) -> Result<Written> {
    let (mut kernels, mut unread, mut apart) = (Vec::new(), Vec::new(), None);
    match load(&request.files).and_then(|program| check(&request.files, &program)) {
        Ok(checked) => kernels.push((sources::names(&request.files), checked)),
        Err(error) if request.files.len() == 1 => return Err(error),
        Err(error) => {
            apart = error
                .downcast_ref::<LoadError>()
                .filter(|e| matches!(e, LoadError::Duplicate { .. }))
                .map(|e| e.to_string());
            for file in request.files.iter().map(std::slice::from_ref) {
                match load(file).and_then(|program| check(file, &program)) {
                    Ok(checked) => kernels.push((sources::names(file), checked)),
                    Err(error) => unread.push(error),
                }
            }
        }
    }
    unread.iter().for_each(|error| eprintln!("error: {error:#}"));
    let all_run = kernels.iter().flat_map(|(_, kernels)| kernels).all(|kernel| kernel.reasons.is_empty());
    let written = if request.json {
        writeln!(out, "{}", as_json(&kernels))
    } else {
        out.write_all(as_text(&kernels, apart.as_deref()).as_bytes())
    };
    let status = match (unread.is_empty(), all_run) {
        (false, _) => BAD_INPUT,
        (true, false) => FAULTS,
        (true, true) => CLEAN,
    };
    Ok((status, written))
}

/// The kernels of a program.
fn check(files: &[PathBuf], program: &Program) -> Result<Vec<Checked>> {
    let names = program.kernel_names();
    anyhow::ensure!(!names.is_empty(), "{}: no kernel (.entry) in this file", sources::names(files));
    let check = |name: &&str| {
        let problems = program.problems(name).with_context(|| (*name).to_owned())?;
        Ok(Checked { name: (*name).to_owned(), reasons: reasons(&problems) })
    };
    names.iter().map(check).collect()
}

/// One line a reason: where, what, and the line of the PTX. The same thing in many lines is reported once.
fn reasons(problems: &[LoadError]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let is_new = |problem: &&LoadError| match problem {
        LoadError::Unsupported { message, .. } => seen.insert(message.clone()),
        _ => true,
    };
    problems.iter().filter(is_new).map(|problem| problem.to_string().replace("\n  ", ": ")).collect()
}

fn as_json(files: &[(String, Vec<Checked>)]) -> Value {
    let kernels = files.iter().flat_map(|(file, kernels)| {
        kernels.iter().map(move |kernel| {
            json!({"file": file, "kernel": kernel.name, "runs": kernel.reasons.is_empty(), "reasons": kernel.reasons})
        })
    });
    json!({ "kernels": kernels.collect::<Vec<_>>() })
}

fn as_text(files: &[(String, Vec<Checked>)], apart: Option<&str>) -> String {
    let mut text = String::new();
    if let Some(apart) = apart {
        text += &format!("These files are no parts of one program, so each is checked by itself: {apart}\n\n");
    }
    let (mut all, mut run) = (0, 0);
    for (file, kernels) in files {
        for kernel in kernels {
            all += 1;
            if kernel.reasons.is_empty() {
                run += 1;
                text += &format!("runs          {} of {file}\n", kernel.name);
                continue;
            }
            text += &format!("does not run  {} of {file}\n", kernel.name);
            for reason in kernel.reasons.iter().take(REASONS_MAX) {
                text += &format!("    {reason}\n");
            }
            if kernel.reasons.len() > REASONS_MAX {
                text += &format!("    and {} more reasons\n", kernel.reasons.len() - REASONS_MAX);
            }
        }
    }
    text + &format!("\n{run} of {all} kernels run\n")
}
