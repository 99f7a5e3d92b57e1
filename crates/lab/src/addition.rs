//! The addition alone: how many lanes the one line of a kernel that does the sum keeps busy, apart from the loop and the
//! addresses around it. Textbooks count this; a profiler counts everything.

use crate::element::Type;
use crate::error::Result;
use crate::input::{SEED, random};
use crate::run::{Job, Simulator};
use crate::text::{grouped, per_cent};
use crate::{LaunchOptions, Variant, counts};

/// The counts of one source line of the form `array[i] += array[j]`, over one full block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Addition {
    /// Elements of the block.
    pub n: u64,
    /// Its threads.
    pub block: u32,
    /// Times that a warp executed the addition.
    pub warp_additions: u64,
    /// Additions: lanes that took part, summed over those times.
    pub thread_additions: u64,
    /// The share of busy lanes over all instructions of the kernel.
    pub whole: f64,
}

/// Runs `variant` over one full block on the simulator and reads the counts of the line with this text. `None` if the
/// kernel's file does not have that line exactly once: a reader may have edited it.
///
/// # Errors
/// A run that fails.
pub fn one_block(session: &dyn Simulator, variant: &'static Variant, ty: Type, line: &str) -> Result<Option<Addition>> {
    let text = session.source().read_cu()?;
    let numbers: Vec<u32> =
        (1u32..).zip(text.lines()).filter(|(_, text)| text.trim() == line).map(|(number, _)| number).collect();
    let &[number] = numbers.as_slice() else { return Ok(None) };
    let block = variant.blocks.default;
    let n = (variant.elements_per_block)(block);
    let input = random(ty, n as usize, SEED);
    let run = session.run(Job {
        variant,
        options: LaunchOptions::block(block),
        input: &input,
        reference: None,
        offset: 0,
    })?;
    let counted = run.lines.iter().find(|counted| counted.line == number).map(|counted| counted.counters);
    let (Some(line), Some(all)) = (counted.filter(|c| c.inst_executed > 0), run.counters) else { return Ok(None) };
    // The line stores once for each addition, and all of its instructions run under the same mask.
    let warp_additions = line.shared_st_requests + line.global_st_requests;
    let thread_additions = line.thread_inst_executed * warp_additions / line.inst_executed;
    Ok(Some(Addition { n, block, warp_additions, thread_additions, whole: all.lane_efficiency() }))
}

impl Addition {
    /// Busy lanes of the addition: `29.5 %`.
    pub fn lane_efficiency(&self) -> String {
        per_cent(counts::share(self.thread_additions, self.warp_additions))
    }

    /// Busy lanes of all the kernel's instructions.
    pub fn whole_lane_efficiency(&self) -> String {
        per_cent(self.whole)
    }

    /// The counts as facts of a page, with these words in front.
    pub fn facts(&self, prefix: &str) -> Vec<(String, String)> {
        let fact = |name: &str, value: String| (format!("{prefix}-{name}"), value);
        vec![
            fact("add_lane_efficiency", self.lane_efficiency()),
            fact("add_inst_executed", grouped(self.warp_additions)),
            fact("add_thread_inst_executed", grouped(self.thread_additions)),
        ]
    }
}
