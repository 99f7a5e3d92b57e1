//! Counters of a run, in three tiers: address-exact (equal to the hardware for the same accesses), PTX-level (ours), and
//! what is not modelled, which has no name here.

/// Raw counts of a run, or of one source line of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)] // METRICS below says what each one is
pub struct Counters {
    pub shared_ld_wavefronts: u64,
    pub shared_st_wavefronts: u64,
    pub shared_atom_wavefronts: u64,
    pub shared_ld_conflicts: u64,
    pub shared_st_conflicts: u64,
    pub shared_atom_conflicts: u64,
    pub global_ld_sectors: u64,
    pub global_st_sectors: u64,
    pub global_atom_sectors: u64,
    pub global_red_sectors: u64,
    pub barriers: u64,
    pub shuffles: u64,
    pub inst_executed: u64,
    pub thread_inst_executed: u64,
    pub branches: u64,
    pub divergent_branches: u64,
    pub shared_ld_requests: u64,
    pub shared_st_requests: u64,
    pub global_ld_requests: u64,
    pub global_st_requests: u64,
    pub local_ld_requests: u64,
    pub local_st_requests: u64,
}

impl std::ops::AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
        self.shared_ld_wavefronts += other.shared_ld_wavefronts;
        self.shared_st_wavefronts += other.shared_st_wavefronts;
        self.shared_atom_wavefronts += other.shared_atom_wavefronts;
        self.shared_ld_conflicts += other.shared_ld_conflicts;
        self.shared_st_conflicts += other.shared_st_conflicts;
        self.shared_atom_conflicts += other.shared_atom_conflicts;
        self.global_ld_sectors += other.global_ld_sectors;
        self.global_st_sectors += other.global_st_sectors;
        self.global_atom_sectors += other.global_atom_sectors;
        self.global_red_sectors += other.global_red_sectors;
        self.barriers += other.barriers;
        self.shuffles += other.shuffles;
        self.inst_executed += other.inst_executed;
        self.thread_inst_executed += other.thread_inst_executed;
        self.branches += other.branches;
        self.divergent_branches += other.divergent_branches;
        self.shared_ld_requests += other.shared_ld_requests;
        self.shared_st_requests += other.shared_st_requests;
        self.global_ld_requests += other.global_ld_requests;
        self.global_st_requests += other.global_st_requests;
        self.local_ld_requests += other.local_ld_requests;
        self.local_st_requests += other.local_st_requests;
    }
}

impl Counters {
    /// Lanes that took part in an instruction, as a share of the 32 that could have; 0 when nothing ran.
    pub fn lane_efficiency(&self) -> f64 {
        if self.inst_executed == 0 { 0.0 } else { self.thread_inst_executed as f64 / (32 * self.inst_executed) as f64 }
    }
}

/// Trust in a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// Equal to the hardware's counter of the same name for the same accesses.
    AddressExact,
    /// Counted on PTX; a GPU runs SASS, whose counts differ.
    Ptx,
}

/// One counter: its name in JSON, how far to trust it, and what it means.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Nsight Compute's name, or `ptx_…`.
    pub key: &'static str,
    /// Trust in it.
    pub tier: Tier,
    /// Plain English, one line.
    pub plain: &'static str,
    /// A share between 0 and 1; every other counter is a whole number.
    pub is_ratio: bool,
    /// Reads it.
    pub value: fn(&Counters) -> f64,
}

impl Metric {
    /// The metric of that JSON name.
    pub fn named(key: &str) -> Option<&'static Metric> {
        METRICS.iter().find(|metric| metric.key == key)
    }

    /// Its value as people read it: `12,345`, or `0.359` for a share.
    pub fn display(&self, counters: &Counters) -> String {
        let value = (self.value)(counters);
        if self.is_ratio { format!("{value:.3}") } else { grouped(value as u64) }
    }
}

/// Decimal digits in groups of three: `12,345`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

const fn hardware(key: &'static str, plain: &'static str, value: fn(&Counters) -> f64) -> Metric {
    Metric { key, tier: Tier::AddressExact, plain, is_ratio: false, value }
}

const fn ptx_metric(key: &'static str, plain: &'static str, value: fn(&Counters) -> f64) -> Metric {
    Metric { key, tier: Tier::Ptx, plain, is_ratio: false, value }
}

/// Every counter, in the order that tables and JSON show them.
pub const METRICS: &[Metric] = &[
    hardware(
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
        "passes through the 32 banks for shared-memory loads",
        |c| c.shared_ld_wavefronts as f64,
    ),
    hardware(
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
        "passes through the 32 banks for shared-memory stores",
        |c| c.shared_st_wavefronts as f64,
    ),
    hardware(
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
        "passes through the 32 banks for shared-memory atomics",
        |c| c.shared_atom_wavefronts as f64,
    ),
    hardware(
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
        "load passes that only bank conflicts made necessary",
        |c| c.shared_ld_conflicts as f64,
    ),
    hardware(
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
        "store passes that only bank conflicts made necessary",
        |c| c.shared_st_conflicts as f64,
    ),
    hardware(
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum",
        "atomic passes that only bank conflicts or equal addresses made necessary",
        |c| c.shared_atom_conflicts as f64,
    ),
    hardware(
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        "32-byte sectors of global memory that loads touch",
        |c| c.global_ld_sectors as f64,
    ),
    hardware(
        "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
        "32-byte sectors of global memory that stores touch",
        |c| c.global_st_sectors as f64,
    ),
    hardware(
        "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
        "sector visits of global atomics that return the old value",
        |c| c.global_atom_sectors as f64,
    ),
    hardware(
        "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
        "sector visits of global atomics that return nothing",
        |c| c.global_red_sectors as f64,
    ),
    hardware("barriers", "block barriers (__syncthreads), once for each warp that arrives", |c| c.barriers as f64),
    hardware("shuffles", "warp shuffles: registers passed between lanes", |c| c.shuffles as f64),
    ptx_metric("ptx_inst_executed", "PTX instructions issued, once for each warp", |c| c.inst_executed as f64),
    ptx_metric("ptx_thread_inst_executed", "PTX instructions executed, once for each active lane", |c| {
        c.thread_inst_executed as f64
    }),
    Metric {
        key: "ptx_lane_efficiency",
        tier: Tier::Ptx,
        plain: "share of a warp's 32 lanes at work in an average instruction",
        is_ratio: true,
        value: Counters::lane_efficiency,
    },
    ptx_metric("ptx_branches", "branches, once for each warp", |c| c.branches as f64),
    ptx_metric("ptx_divergent_branches", "branches that some lanes of the warp took and others did not", |c| {
        c.divergent_branches as f64
    }),
    ptx_metric("ptx_shared_ld_requests", "load instructions from shared memory, once for each warp", |c| {
        c.shared_ld_requests as f64
    }),
    ptx_metric("ptx_shared_st_requests", "store instructions to shared memory, once for each warp", |c| {
        c.shared_st_requests as f64
    }),
    ptx_metric("ptx_global_ld_requests", "load instructions from global memory, once for each warp", |c| {
        c.global_ld_requests as f64
    }),
    ptx_metric("ptx_global_st_requests", "store instructions to global memory, once for each warp", |c| {
        c.global_st_requests as f64
    }),
    ptx_metric(
        "ptx_local_ld_requests",
        "load instructions from local memory (spills, private arrays), once for each warp",
        |c| c.local_ld_requests as f64,
    ),
    ptx_metric(
        "ptx_local_st_requests",
        "store instructions to local memory (spills, private arrays), once for each warp",
        |c| c.local_st_requests as f64,
    ),
];

/// The counts of one source line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineCounters {
    /// Source file as `.file` names it.
    pub file: String,
    /// Line, from 1; 0 for instructions without line information.
    pub line: u32,
    /// Its counts.
    pub counters: Counters,
}
