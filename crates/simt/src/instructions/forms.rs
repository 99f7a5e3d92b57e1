//! Spellings of the instructions that are no arithmetic, and spellings that the simulator refuses.

/// Spellings of one instruction that take the same operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// As [`ptx::table::Shape`] has them: words with dots between, a word's alternatives with `|`, `?` behind a word that
    /// may be left out, `+` for a dot inside an alternative.
    pub pattern: &'static str,
    /// The operands: `T` a register of the last type named, `R` of 32 bits, `D` of 64, `P` a predicate, `[D]` an address.
    pub operands: &'static str,
}

impl Form {
    /// The opcode's first word.
    pub fn mnemonic(&self) -> &'static str {
        self.pattern.split('.').next().unwrap_or_default()
    }
}

const fn form(pattern: &'static str, operands: &'static str) -> Form {
    Form { pattern, operands }
}

/// What the simulator runs besides arithmetic.
#[rustfmt::skip] // a table reads by columns
pub const FORMS: &[Form] = &[
    form("ld.weak?.const|global|local|shared|shared::cta|shared::cluster?.b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", "T, [D]"),
    form("ld.volatile.global|local|shared|shared::cta?.b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", "T, [D]"),
    form("ld.relaxed|acquire.cta|cluster|gpu|sys.global|shared|shared::cta|shared::cluster?.b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", "T, [D]"),
    form("ld.global?.ca|cg|cs|lu|cv.b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", "T, [D]"),
    form("ld.global.ca|cg|cs?.nc.b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", "T, [D]"),
    form("ld.global|shared|local?.L1::evict_normal|L1::evict_first|L1::evict_last|L1::evict_unchanged|L1::no_allocate?.L2::64B|L2::128B|L2::256B?.b32|b64|u32|u64|s32|s64|f32|f64", "T, [D]"),
    form("ld.global.nc?.L2::cache_hint.b32|b64|u32|u64|s32|s64|f32|f64", "T, [D], D"),
    form("ld.volatile?.const|global|local|shared?.v2.b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", "{T, T}, [D]"),
    form("ld.volatile?.const|global|local|shared?.v4.b8|b16|b32|u8|u16|u32|s8|s16|s32|f32", "{T, T, T, T}, [D]"),
    form("ld.global.nc?.v4.b64|u64|s64|f64", "{T, T, T, T}, [D]"),
    form("ld.global.nc?.v8.b32|u32|s32|f32", "{T, T, T, T, T, T, T, T}, [D]"),
    form("ld.global|shared?.b128", "T, [D]"),
    form("ld.param.b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", "T, [parameter]"),
    form("ld.param.v2.b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", "{T, T}, [parameter]"),
    form("ld.param.v4.b8|b16|b32|u8|u16|u32|s8|s16|s32|f32", "{T, T, T, T}, [parameter]"),
    form("ldu.global?.b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", "T, [D]"),

    form("st.weak?.global|local|shared|shared::cta|shared::cluster?.b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", "[D], T"),
    form("st.volatile.global|local|shared|shared::cta?.b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", "[D], T"),
    form("st.relaxed|release.cta|cluster|gpu|sys.global|shared|shared::cta|shared::cluster?.b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", "[D], T"),
    form("st.global?.wb|cg|cs|wt.b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", "[D], T"),
    form("st.global|shared|local?.L1::evict_normal|L1::evict_first|L1::evict_last|L1::evict_unchanged|L1::no_allocate.b32|b64|u32|u64|s32|s64|f32|f64", "[D], T"),
    form("st.global.L2::cache_hint.b32|b64|u32|u64|s32|s64|f32|f64", "[D], T, D"),
    form("st.volatile?.global|local|shared?.v2.b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", "[D], {T, T}"),
    form("st.volatile?.global|local|shared?.v4.b8|b16|b32|u8|u16|u32|s8|s16|s32|f32", "[D], {T, T, T, T}"),
    form("st.global.v4.b64|u64|s64|f64", "[D], {T, T, T, T}"),
    form("st.global.v8.b32|u32|s32|f32", "[D], {T, T, T, T, T, T, T, T}"),
    form("st.global|shared?.b128", "[D], T"),
    form("st.param.b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", "[argument], T"),
    form("st.param.v2.b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", "[argument], {T, T}"),
    form("st.param.v4.b8|b16|b32|u8|u16|u32|s8|s16|s32|f32", "[argument], {T, T, T, T}"),

    form("mov.b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64|pred", "T, T"),
    form("mov.b32", "R, {H, H}"),
    form("mov.b32", "{H, H}, R"),
    form("mov.b64", "D, {R, R}"),
    form("mov.b64", "{R, R}, D"),
    form("mov.b64", "D, {H, H, H, H}"),
    form("mov.b64", "{H, H, H, H}, D"),
    form("mov.b128", "T, {D, D}"),
    form("mov.b128", "{D, D}, T"),
    form("cvta.to?.const|global|local|shared|shared::cta|shared::cluster|param.u64", "D, D"),
    form("isspacep.global|local|shared|shared::cta|shared::cluster|param", "P, D"),
    form("mapa.shared::cluster?.u32", "R, R, R"),
    form("mapa.shared::cluster?.u64", "D, D, R"),
    form("getctarank.shared::cluster?.u32", "R, R"),
    form("getctarank.shared::cluster?.u64", "R, D"),

    form("atom.relaxed|acquire|release|acq_rel?.cta|cluster|gpu|sys?.global|shared|shared::cta|shared::cluster?.add.u32|s32|u64|f32|f64", "T, [D], T"),
    form("atom.relaxed|acquire|release|acq_rel?.cta|cluster|gpu|sys?.global|shared|shared::cta|shared::cluster?.add.noftz.f16|f16x2|bf16|bf16x2", "T, [D], T"),
    form("atom.relaxed|acquire|release|acq_rel?.cta|cluster|gpu|sys?.global|shared|shared::cta|shared::cluster?.min|max.u32|s32|u64|s64", "T, [D], T"),
    form("atom.relaxed|acquire|release|acq_rel?.cta|cluster|gpu|sys?.global|shared|shared::cta|shared::cluster?.and|or|xor.b32|b64", "T, [D], T"),
    form("atom.relaxed|acquire|release|acq_rel?.cta|cluster|gpu|sys?.global|shared|shared::cta|shared::cluster?.exch.b32|b64|b128", "T, [D], T"),
    form("atom.relaxed|acquire|release|acq_rel?.cta|cluster|gpu|sys?.global|shared|shared::cta|shared::cluster?.inc|dec.u32", "T, [D], T"),
    form("atom.relaxed|acquire|release|acq_rel?.cta|cluster|gpu|sys?.global|shared|shared::cta|shared::cluster?.cas.b16|b32|b64|b128", "T, [D], T, T"),
    form("atom.global?.add.v2.f32", "{T, T}, [D], {T, T}"),
    form("atom.global?.add.v4.f32", "{T, T, T, T}, [D], {T, T, T, T}"),
    form("atom.global?.add|min|max.noftz.v2.f16|bf16|f16x2|bf16x2", "{T, T}, [D], {T, T}"),
    form("atom.global?.add|min|max.noftz.v4.f16|bf16|f16x2|bf16x2", "{T, T, T, T}, [D], {T, T, T, T}"),
    form("atom.global.add.L2::cache_hint.u32|f32", "T, [D], T, D"),
    form("red.relaxed|release?.cta|cluster|gpu|sys?.global|shared|shared::cta|shared::cluster?.add.u32|s32|u64|f32|f64", "[D], T"),
    form("red.relaxed|release?.cta|cluster|gpu|sys?.global|shared|shared::cta|shared::cluster?.add.noftz.f16|f16x2|bf16|bf16x2", "[D], T"),
    form("red.relaxed|release?.cta|cluster|gpu|sys?.global|shared|shared::cta|shared::cluster?.min|max.u32|s32|u64|s64", "[D], T"),
    form("red.relaxed|release?.cta|cluster|gpu|sys?.global|shared|shared::cta|shared::cluster?.and|or|xor.b32|b64", "[D], T"),
    form("red.relaxed|release?.cta|cluster|gpu|sys?.global|shared|shared::cta|shared::cluster?.inc|dec.u32", "[D], T"),
    form("red.global?.add.v2.f32", "[D], {T, T}"),
    form("red.global?.add.v4.f32", "[D], {T, T, T, T}"),
    form("red.global?.add|min|max.noftz.v2.f16|bf16|f16x2|bf16x2", "[D], {T, T}"),
    form("red.global?.add|min|max.noftz.v4.f16|bf16|f16x2|bf16x2", "[D], {T, T, T, T}"),
    form("red.global.add.L2::cache_hint.u32|f32", "[D], T, D"),
    form("membar.cta|gl|sys", ""),
    form("fence.sc|acq_rel?.cta|cluster|gpu|sys", ""),
    form("fence.mbarrier_init.release.cluster", ""),
    form("fence.proxy.alias|async", ""),

    form("activemask.b32", "R"),
    form("bar.cta?.sync", "R"),
    form("bar.cta?.sync|arrive", "R, R"),
    form("bar.cta?.red.popc.u32", "R, R, P"),
    form("bar.cta?.red.popc.u32", "R, R, R, P"),
    form("bar.cta?.red.and|or.pred", "P, R, P"),
    form("bar.cta?.red.and|or.pred", "P, R, R, P"),
    form("bar.warp.sync", "R"),
    form("barrier.cta?.sync.aligned?", "R"),
    form("barrier.cta?.sync|arrive.aligned?", "R, R"),
    form("barrier.cta?.red.popc.aligned?.u32", "R, R, P"),
    form("barrier.cta?.red.popc.aligned?.u32", "R, R, R, P"),
    form("barrier.cta?.red.and|or.aligned?.pred", "P, R, P"),
    form("barrier.cta?.red.and|or.aligned?.pred", "P, R, R, P"),
    form("barrier.cluster.arrive.release|relaxed?.aligned?", ""),
    form("barrier.cluster.wait.acquire?.aligned?", ""),
    form("elect.sync", "R|P, R"),
    form("match.any.sync.b32", "R, R, R"),
    form("match.any.sync.b64", "R, D, R"),
    form("match.all.sync.b32", "R|P, R, R"),
    form("match.all.sync.b64", "R|P, D, R"),
    form("redux.sync.add|min|max.u32|s32", "R, R, R"),
    form("redux.sync.and|or|xor.b32", "R, R, R"),
    form("redux.sync.min|max.abs?.NaN?.f32", "R, R, R"),
    form("shfl.sync.up|down|bfly|idx.b32", "R, R, R, R, R"),
    form("shfl.sync.up|down|bfly|idx.b32", "R|P, R, R, R, R"),
    form("vote.sync.all|any|uni.pred", "P, P, R"),
    form("vote.sync.ballot.b32", "R, P, R"),

    form("and.pred", "P, P, P"),
    form("or.pred", "P, P, P"),
    form("xor.pred", "P, P, P"),
    form("not.pred", "P, P"),
    // Of a result that goes into a part of its register; the rest comes from the last source.
    form("vabsdiff.u32|s32.u32|s32.u32|s32.sat?", "R.h1, R.b0, R.h0, R"),
    form("vadd.u32|s32.u32|s32.u32|s32.sat?", "R.h1, R.b0, R.h0, R"),
    form("vmax.u32|s32.u32|s32.u32|s32.sat?", "R.h1, R.b0, R.h0, R"),
    form("vmin.u32|s32.u32|s32.u32|s32.sat?", "R.h1, R.b0, R.h0, R"),
    form("vsub.u32|s32.u32|s32.u32|s32.sat?", "R.h1, R.b0, R.h0, R"),
    form("vset.u32|s32.u32|s32.eq|ne|lt|le|gt|ge", "R.h1, R.b0, R.h0, R"),
    form("vshl.u32|s32.u32|s32.u32.sat?.clamp|wrap", "R.h1, R.b0, R.h0, R"),
    form("vshr.u32|s32.u32|s32.u32.sat?.clamp|wrap", "R.h1, R.b0, R.h0, R"),

    form("bra.uni?", "label"),
    form("brx.idx.uni?", "R, targets"),
    form("call.uni?", "function"),
    form("call.uni?", "(result), function, (argument)"),
    form("call.uni?", "(result), D, (argument), prototype"),
    form("exit", ""),
    form("ret.uni?", ""),
    form("trap", ""),
    form("brkpt", ""),

    form("applypriority.global?.L2::evict_normal", "[D], 128"),
    form("createpolicy.fractional.L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged.b64", "D, R"),
    form("discard.global?.L2", "[D], 128"),
    form("griddepcontrol.launch_dependents|wait", ""),
    form("nanosleep.u32", "R"),
    form("pmevent", "1"),
    form("prefetch.global|local?.L1|L2", "[D]"),
    form("prefetchu.L1", "[D]"),
    form("cp.async.bulk.prefetch.L2.global", "[D], R"),
    form("cp.async.bulk.prefetch.L2.global.L2::cache_hint", "[D], R, D"),
];

/// Spellings of instructions of [`FORMS`] that are refused, each with operands as there, and what they do.
#[rustfmt::skip] // a table reads by columns
pub const REFUSED: &[(&str, &str)] = &[
    ("shfl.up.b32 R, R, R, R", "without `.sync`: removed from PTX for Volta and later"),
    ("vote.all.pred P, P", "without `.sync`: removed from PTX for Volta and later"),
    ("isspacep.const P, D", "whether a generic address lies in constant memory"),
    ("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [D], R, [D]", "store into another block that a barrier object counts"),
    ("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [D], R, [D]", "reduction in another block that a barrier object counts"),
    ("st.bulk.shared::cta [D], D, 0", "zeros into a range of shared memory"),
];

/// Registers that the machine fills; axes are `.x`, `.y`, `.z`.
pub const SPECIAL_REGISTERS: &[&str] = &[
    "%tid",
    "%ntid",
    "%ctaid",
    "%nctaid",
    "%laneid",
    "%warpid",
    "%nwarpid",
    "%smid",
    "%nsmid",
    "%gridid",
    "%lanemask_eq",
    "%lanemask_le",
    "%lanemask_lt",
    "%lanemask_ge",
    "%lanemask_gt",
    "%clusterid",
    "%nclusterid",
    "%cluster_ctaid",
    "%cluster_nctaid",
    "%cluster_ctarank",
    "%cluster_nctarank",
    "%is_explicit_cluster",
    "%clock",
    "%clock_hi",
    "%clock64",
    "%globaltimer",
    "%globaltimer_lo",
    "%globaltimer_hi",
    "%envreg1",
    "%envreg2",
    "%dynamic_smem_size",
    "%total_smem_size",
    "%aggr_smem_size",
];
