//! What a run counts. Three tiers: address-exact (equal to the hardware for the same accesses), PTX-level (ours), and
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

/// How far a counter can be trusted.
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
    /// How far to trust it.
    pub tier: Tier,
    /// Plain English, one line.
    pub plain: &'static str,
    /// Reads it.
    pub value: fn(&Counters) -> f64,
}

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
