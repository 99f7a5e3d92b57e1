//! Forms of instructions that the simulator refuses though it runs others, and the special registers that it has.

/// Spellings that are refused of instructions that are run, each with operands as in the table, and what they do.
#[rustfmt::skip] // a table reads by columns
pub const REFUSED: &[(&str, &str)] = &[
    ("shfl.up.b32 b32, b32, b32, b32", "without `.sync`: removed from PTX for Volta and later"),
    ("vote.all.pred pred, pred", "without `.sync`: removed from PTX for Volta and later"),
    ("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [b64], b32, [b64]", "reduction in another block that a barrier object counts"),
    ("st.bulk.shared::cta [b64], b64, 0", "zeros into a range of shared memory"),
    ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [b32], [b64], b32, [b32], b16", "bulk copy into several blocks of the cluster"),
    ("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [b32], [b32], b32, [b32]", "bulk copy between blocks of the cluster"),
    ("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {b32, b32}, [b32]", "matrices of bytes (sm_100)"),
    ("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [b32], {b32}", "matrices of bytes (sm_100)"),
    ("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [b32], [b32], b32, [b32]", "bulk reduction in another block of the cluster"),
];

/// Registers that the machine fills; axes are `.x`, `.y`, `.z`.
#[rustfmt::skip] // a name a line would be forty lines
pub const SPECIAL_REGISTERS: &[&str] = &[
    "%tid", "%ntid", "%ctaid", "%nctaid", "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid",
    "%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt", "%clusterid", "%nclusterid",
    "%cluster_ctaid", "%cluster_nctaid", "%cluster_ctarank", "%cluster_nctarank", "%is_explicit_cluster", "%clock",
    "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi", "%envreg1", "%envreg2",
    "%dynamic_smem_size", "%total_smem_size", "%aggr_smem_size", "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end", "%reserved_smem_offset_cap", "%reserved_smem_offset_0", "%reserved_smem_offset_1",
];
