//! Sets of lanes as the bits of a number: which there are, which remain, where their accesses lie.

/// The first and one past the last byte that the active lanes touch.
#[inline(always)]
pub(crate) fn hull(at: &[u64; 32], mask: u32, bytes: u32) -> (u64, u64) {
    let (mut low, mut high) = (u64::MAX, 0);
    for lane in 0..32 {
        let on = mask & (1 << lane) != 0;
        low = low.min(if on { at[lane] } else { u64::MAX });
        high = high.max(if on { at[lane] } else { 0 });
    }
    (low, high.saturating_add(u64::from(bytes)))
}

/// The lanes of `mask` for which `keep` holds.
#[inline(always)]
pub(crate) fn filter(mask: u32, keep: impl Fn(usize) -> bool) -> u32 {
    let mut out = 0;
    for lane in 0..32 {
        out |= u32::from(mask & (1 << lane) != 0 && keep(lane)) << lane;
    }
    out
}

/// Indices of the lanes in `mask`.
#[inline(always)]
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (lane < 32).then_some(lane)
    })
}
