//! Opcodes whose operand counts are narrower than those of their mnemonic's row.

/// The operand counts of every opcode that starts with these words.
#[derive(Debug, PartialEq, Eq)]
pub struct Form {
    /// The opcode's first words: `bar.red`.
    pub prefix: &'static str,
    /// Fewest operands.
    pub operands_min: u8,
    /// Most operands.
    pub operands_max: u8,
}

impl Form {
    /// Whether `opcode` starts with the form's words.
    pub fn covers(&self, opcode: &str) -> bool {
        opcode.strip_prefix(self.prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ':']))
    }
}

const fn form(prefix: &'static str, operands_min: u8, operands_max: u8) -> Form {
    Form { prefix, operands_min, operands_max }
}

/// The forms; where several cover an opcode, the longest prefix holds.
pub static FORMS: &[Form] = &[
    form("bar.arrive", 2, 2),
    form("bar.cta.arrive", 2, 2),
    form("bar.cta.red", 3, 4),
    form("bar.cta.sync", 1, 2),
    form("bar.red", 3, 4),
    form("bar.sync", 1, 2),
    form("bar.warp.sync", 1, 1),
    form("barrier.arrive", 2, 2),
    form("barrier.cluster", 0, 0),
    form("barrier.cta.arrive", 2, 2),
    form("barrier.cta.red", 3, 4),
    form("barrier.cta.sync", 1, 2),
    form("barrier.red", 3, 4),
    form("barrier.sync", 1, 2),
    form("cp.async.bulk.commit_group", 0, 0),
    form("cp.async.bulk.prefetch.L2", 2, 3),
    form("cp.async.bulk.wait_group", 1, 1),
    form("cp.async.commit_group", 0, 0),
    form("cp.async.ca", 3, 5),
    form("cp.async.cg", 3, 5),
    form("cp.async.mbarrier", 1, 1),
    form("cp.async.wait_all", 0, 0),
    form("cp.async.wait_group", 1, 1),
    form("fence.proxy.tensormap", 0, 2),
    form("fence.acq_rel", 0, 0),
    form("fence.mbarrier_init", 0, 0),
    form("fence.proxy.alias", 0, 0),
    form("fence.proxy.async", 0, 0),
    form("fence.sc", 0, 0),
    form("mbarrier.complete_tx", 2, 2),
    form("mbarrier.expect_tx", 2, 2),
    form("mbarrier.init", 2, 2),
    form("mbarrier.inval", 1, 1),
    form("mbarrier.pending_count", 2, 2),
    form("mbarrier.test_wait", 3, 3),
    form("mbarrier.try_wait", 3, 4),
    form("red.async", 3, 3),
    form("shfl.sync", 5, 5),
    form("st.async", 3, 3),
    form("st.bulk", 2, 3),
    form("vote.sync", 3, 3),
    form("wgmma.commit_group", 0, 0),
    form("wgmma.fence", 0, 0),
    form("wgmma.wait_group", 1, 1),
];
