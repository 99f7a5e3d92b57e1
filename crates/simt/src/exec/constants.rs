//! Rows that a launch fills before the first instruction: literals, parameters, addresses, special registers.

use super::Context;
use super::warp::{Row32, Row64, Warp};
use crate::code::{Source, Special};

/// Fills the constant rows that are the same for all blocks.
pub(super) fn fill(context: &Context<'_>, warp: &mut Warp) {
    for &(row, source) in &context.code.constants32 {
        warp.w[usize::from(row)] =
            Row32(std::array::from_fn(|lane| value(context, warp.index, lane as u32, source) as u32));
    }
    for &(row, source) in &context.code.constants64 {
        warp.d[usize::from(row)] = Row64(std::array::from_fn(|lane| value(context, warp.index, lane as u32, source)));
    }
}

/// Fills the rows of registers that tell blocks apart.
pub(super) fn fill_block(context: &Context<'_>, warp: &mut Warp, block: [u32; 3], rank: u32) {
    for &(row, source) in &context.code.constants32 {
        if let Some(value) = block_value(context, source, block, rank) {
            warp.w[usize::from(row)] = Row32([value; 32]);
        }
    }
    for &(row, source) in &context.code.constants64 {
        if let Some(value) = block_value(context, source, block, rank) {
            warp.d[usize::from(row)] = Row64([u64::from(value); 32]);
        }
    }
}

/// The value of a register that differs from block to block.
#[inline(always)]
fn block_value(context: &Context<'_>, source: Source, block: [u32; 3], rank: u32) -> Option<u32> {
    let Source::Special(special) = source else { return None };
    let cluster = |axis: u8| context.cluster[usize::from(axis)];
    Some(match special {
        Special::Ctaid(axis) => block[usize::from(axis)],
        Special::ClusterId(axis) => block[usize::from(axis)] / cluster(axis),
        Special::ClusterCtaid(axis) => block[usize::from(axis)] % cluster(axis),
        Special::ClusterCtarank => rank,
        _ => return None,
    })
}

fn value(context: &Context<'_>, warp: u32, lane: u32, source: Source) -> u64 {
    match source {
        Source::Literal(value) => value,
        Source::Param { offset, bytes, signed } => {
            let (start, width) = (offset as usize, usize::from(bytes));
            let mut raw = [0; 8];
            raw[..width].copy_from_slice(&context.params[start..start + width]);
            let value = u64::from_le_bytes(raw);
            let shift = 64 - 8 * u32::from(bytes);
            if signed { ((value << shift) as i64 >> shift) as u64 } else { value }
        }
        Source::Variable(index, offset) => context.variables[index as usize].wrapping_add_signed(offset),
        Source::Dynamic(offset) => u64::from(context.dynamic_offset).wrapping_add_signed(offset),
        Source::Special(special) => special_value(context, warp, lane, special),
    }
}

fn special_value(context: &Context<'_>, warp: u32, lane: u32, special: Special) -> u64 {
    let thread = warp * 32 + lane;
    let [x, y, _] = context.launch.block;
    u64::from(match special {
        Special::Tid(0) => thread % x,
        Special::Tid(1) => thread / x % y,
        Special::Tid(_) => thread / x / y,
        Special::Ntid(axis) => context.launch.block[usize::from(axis)],
        Special::Nctaid(axis) => context.launch.grid[usize::from(axis)],
        Special::LaneId => lane,
        Special::WarpId => warp,
        Special::NwarpId => context.warps_per_block,
        Special::NsmId => 1,
        Special::LanemaskEq => 1 << lane,
        Special::LanemaskLt => (1 << lane) - 1,
        Special::LanemaskLe => (1 << lane) | ((1 << lane) - 1),
        Special::LanemaskGt => !((1 << lane) | ((1 << lane) - 1)),
        Special::LanemaskGe => !((1 << lane) - 1),
        Special::DynamicSharedBytes => context.launch.shared_bytes,
        Special::TotalSharedBytes => context.shared_bytes - context.code.reserved_bytes,
        Special::AllSharedBytes => context.shared_bytes,
        Special::Known(value) => value,
        Special::WarpSize => 32,
        Special::Envreg(1) => (context.workspace >> 32) as u32,
        Special::Envreg(2) => context.workspace as u32,
        Special::NclusterId(axis) => context.launch.grid[usize::from(axis)] / context.cluster[usize::from(axis)],
        Special::ClusterNctaid(axis) => context.cluster[usize::from(axis)],
        Special::ClusterNctarank => context.cluster.iter().product(),
        Special::IsExplicitCluster => u32::from(context.explicit_cluster),
        // Filled block by block, or without a meaning here.
        Special::ClusterId(_) | Special::ClusterCtaid(_) | Special::ClusterCtarank => 0,
        Special::Ctaid(_) | Special::SmId | Special::GridId | Special::Envreg(_) => 0,
    })
}
