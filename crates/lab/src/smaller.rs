//! A wrong result among many elements says little: the smallest of the usual sizes at which the kernel goes wrong says more.

use crate::error::Result;
use crate::hardware::ragged_sizes;
use crate::input::random_for;
use crate::run::{Job, Run};
use crate::session::Session;
use crate::status::Status;
use crate::text::{grouped, wrapped};

/// A paragraph for each run that is wrong without an announcement, on numbers of this seed; on the simulator alone.
///
/// # Errors
/// A run that fails.
pub(crate) fn text(session: &Session<'_>, runs: &[(&Run, Status)], seed: u64) -> Result<String> {
    let mut out = String::new();
    if session.device().is_gpu() {
        return Ok(out);
    }
    for (run, _) in runs.iter().filter(|(_, status)| *status == Status::Wrong) {
        let Some(n) = smallest(session, run, seed)? else { continue };
        let name = run.variant.name;
        let n = grouped(n).replace(',', "_");
        let line =
            format!("{name} is wrong at n = {n} already, the smallest of the sizes tried: --variant {name} --n {n}");
        out.push_str(&format!("\n{}\n", wrapped(&line, "")));
    }
    Ok(out)
}

/// The smallest size around a warp, a block and a power of two at which the run's kernel goes wrong, if it is smaller than
/// the run's own.
fn smallest(session: &Session<'_>, run: &Run, seed: u64) -> Result<Option<u64>> {
    for n in ragged_sizes(u64::from(run.block)).into_iter().filter(|&n| n > 0 && n < run.n) {
        // A grid that the reader wished for may be more than so few elements take.
        if session.plan(run.variant, run.ty, n, run.options).is_err() {
            continue;
        }
        let input = random_for(run.options.op, run.ty, n as usize, seed);
        let job = Job { variant: run.variant, options: run.options, input: &input, reference: None, offset: 0 };
        if !session.run(job)?.ok() {
            return Ok(Some(n));
        }
    }
    Ok(None)
}
