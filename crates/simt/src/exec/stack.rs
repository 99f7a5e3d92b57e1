//! `alloca`, `stacksave`, `stackrestore`: room on a thread's stack whose size is known at run time.
//!
//! It lies in local memory behind the variables of the activation, for each lane at a place of its own; what a call adds
//! begins behind the last of them. A return gives it back.

use super::Machine;
use super::Stop;
use super::findings::Detail;
use super::issue::Issue;
use super::warp::Warp;
use crate::code::StackAct;
use crate::fault::Code;
use crate::masks::{filter, lanes};
use crate::memory::LOCAL_BYTES_MAX;

impl Warp {
    /// End of each lane's stack in split `at`, whose activation has so many bytes of variables.
    pub(super) fn stack_ends(&self, at: usize, local_bytes: u32) -> [u32; 32] {
        let end = self.splits[at].local + local_bytes;
        self.dynamic_ends.map(|dynamic| dynamic.max(end))
    }

    /// Frees, for the lanes `back`, the allocations of the activation with its variables at byte `local`.
    pub(super) fn release_stack(&mut self, local: u32, back: u32) {
        lanes(back).for_each(|lane| self.dynamic_ends[lane] = self.dynamic_ends[lane].min(local));
    }
}

impl Machine<'_> {
    /// Executes one of them.
    pub(super) fn stack(&mut self, issue: &mut Issue<'_>, act: StackAct) -> Result<(), Stop> {
        let Issue { at, pc, inst, active, .. } = *issue;
        let warp = &mut *issue.warp;
        let ends = warp.stack_ends(at, self.context.code.function_at(pc).local_bytes);
        match act {
            StackAct::Save => super::alu::store64(warp, inst.d, &ends.map(u64::from), active),
            StackAct::Restore => {
                // It only ever gives back: a value that no `stacksave` made changes nothing.
                let saved = warp.d[usize::from(inst.a)].0;
                for lane in lanes(active).filter(|&lane| saved[lane] <= u64::from(ends[lane])) {
                    warp.dynamic_ends[lane] = saved[lane] as u32;
                }
            }
            StackAct::Allocate { align_bytes } => {
                let sizes = warp.d[usize::from(inst.a)].0;
                let starts = ends.map(|end| u64::from(end).next_multiple_of(u64::from(align_bytes)));
                let entry = self.context.code.functions.first().map_or(0, |entry| u64::from(entry.local_bytes));
                let limit = (entry + u64::from(self.context.options.stack_bytes)).min(u64::from(LOCAL_BYTES_MAX));
                let full = filter(active, |lane| starts[lane].saturating_add(sizes[lane]) > limit);
                if full != 0 {
                    let depth = warp.splits[at].depth;
                    let detail = Detail::Stack { depth, bytes: self.context.options.stack_bytes };
                    self.findings.found(issue, full, Code::StackOverflow, detail);
                    return Err(Stop::Fatal);
                }
                for lane in lanes(active) {
                    let (start, bytes) = (starts[lane] as u32, sizes[lane] as u32);
                    warp.dynamic_ends[lane] = start + bytes;
                    warp.make_room(start + bytes, 0);
                    warp.forget_local(start, bytes, 1 << lane);
                }
                super::alu::store64(warp, inst.d, &starts, active);
            }
        }
        Ok(())
    }
}
