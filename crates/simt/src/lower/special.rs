//! Special registers by name.

use ptx::Instruction;

use super::Lower;
use crate::code::{RESERVED_SHARED_BYTES, Special};
use crate::program::LoadError;

/// Offsets in `%reserved_smem_offset_0` and `_1`, which PTX leaves to the driver. Each has half of the region.
const RESERVED_PLACES: [u32; 2] = [0, RESERVED_SHARED_BYTES / 2];

/// Registers that count what the driver was set up to count, or that hold what only a driver knows.
const WITHOUT_MEANING: [&str; 3] = ["%pm", "%current_graph_exec", "%nvshmem"];

/// The special register of this name, if it is constant for a warp.
pub(super) fn special(name: &str) -> Option<Special> {
    if let Some((base, axis)) = name.split_once('.') {
        let axis = ["x", "y", "z", "w"].iter().position(|known| *known == axis)? as u8;
        return axis_register(base, axis);
    }
    if let Some(index) = name.strip_prefix("%envreg") {
        return index.parse().ok().filter(|&i: &u8| i < 32).map(Special::Envreg);
    }
    Some(match name {
        "%cluster_ctarank" => Special::ClusterCtarank,
        "%cluster_nctarank" => Special::ClusterNctarank,
        "%laneid" => Special::LaneId,
        "%warpid" => Special::WarpId,
        "%nwarpid" => Special::NwarpId,
        "%smid" => Special::SmId,
        "%nsmid" => Special::NsmId,
        "%gridid" => Special::GridId,
        "%lanemask_eq" => Special::LanemaskEq,
        "%lanemask_le" => Special::LanemaskLe,
        "%lanemask_lt" => Special::LanemaskLt,
        "%lanemask_ge" => Special::LanemaskGe,
        "%lanemask_gt" => Special::LanemaskGt,
        "%dynamic_smem_size" => Special::DynamicSharedBytes,
        "%total_smem_size" => Special::TotalSharedBytes,
        "%aggr_smem_size" => Special::AllSharedBytes,
        "%reserved_smem_offset_begin" => Special::Known(0),
        "%reserved_smem_offset_end" | "%reserved_smem_offset_cap" => Special::Known(RESERVED_SHARED_BYTES),
        "%reserved_smem_offset_0" => Special::Known(RESERVED_PLACES[0]),
        "%reserved_smem_offset_1" => Special::Known(RESERVED_PLACES[1]),
        "WARP_SZ" => Special::WarpSize,
        _ => return None,
    })
}

/// One component of a register of four. The fourth is unused: 0 of an index, 1 of a size.
fn axis_register(base: &str, axis: u8) -> Option<Special> {
    let (special, unused) = match base {
        "%tid" => (Special::Tid(axis), 0),
        "%ntid" => (Special::Ntid(axis), 1),
        "%ctaid" => (Special::Ctaid(axis), 0),
        "%nctaid" => (Special::Nctaid(axis), 1),
        "%clusterid" => (Special::ClusterId(axis), 0),
        "%nclusterid" => (Special::NclusterId(axis), 1),
        "%cluster_ctaid" => (Special::ClusterCtaid(axis), 0),
        "%cluster_nctaid" => (Special::ClusterNctaid(axis), 1),
        _ => return None,
    };
    Some(if axis == 3 { Special::Known(unused) } else { special })
}

impl Lower<'_> {
    /// Refuses a name that stands for nothing here.
    pub(super) fn undeclared<T>(&self, inst: &Instruction, name: &str) -> Result<T, LoadError> {
        let known = WITHOUT_MEANING.iter().any(|start| name.starts_with(start));
        self.refuse(
            inst,
            match known {
                true => format!("unsupported special register {name}: only a driver knows what it holds"),
                false => format!("{name} is not declared"),
            },
        )
    }
}
