//! Copies that a thread starts and does not wait for.

use super::Machine;
use super::block::Environment;
use super::memory::{Place, addresses, filter};
use super::warp::Warp;
use crate::code::Inst;
use crate::fault::Code;

/// What the address and the size of a bulk copy must be a multiple of, in bytes.
const BULK_GRANULE_BYTES: u32 = 16;

impl Machine<'_> {
    /// `cp.async.bulk.prefetch`: a hint like other prefetches, to wherever it goes, but one that PTX leaves undefined unless
    /// address and size are multiples of 16.
    #[inline(never)]
    pub(super) fn prefetch_bulk(&mut self, env: &Environment, warp: &Warp, pc: u32, inst: &Inst, active: u32) {
        let (at, sizes) = (addresses(warp, inst), warp.w[usize::from(inst.b)].0);
        let askew = filter(active, |lane| !at[lane].is_multiple_of(u64::from(BULK_GRANULE_BYTES)));
        if askew != 0 {
            let first = at[askew.trailing_zeros() as usize];
            self.findings.access(Code::Misaligned, env, warp, pc, askew, Place::Global, first, BULK_GRANULE_BYTES);
        }
        let odd = filter(active & !askew, |lane| !sizes[lane].is_multiple_of(BULK_GRANULE_BYTES));
        if odd != 0 {
            let first = sizes[odd.trailing_zeros() as usize];
            self.findings.granule(env, warp, pc, odd, first, BULK_GRANULE_BYTES);
        }
    }
}
