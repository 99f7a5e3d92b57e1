//! Counters of a run, in three tiers: address-exact (equal to the hardware for the same accesses), PTX-level (ours), and
//! what is not modelled, which has no name here.

/// Makes the counts and their metrics from a table, with the one share between its two parts.
macro_rules! counters {
    (
        $($count:ident = $tier:ident $key:literal: $plain:literal;)*
        (share) $share:ident = $share_tier:ident $share_key:literal: $share_plain:literal;
        $($count_2:ident = $tier_2:ident $key_2:literal: $plain_2:literal;)*
        (peers)
        $($peer:ident = $peer_key:literal: $peer_plain:literal;)*
    ) => {
        /// Raw counts of a run, or of one source line of it.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Counters {
            $(#[doc = $plain] pub $count: u64,)*
            $(#[doc = $plain_2] pub $count_2: u64,)*
            $(#[doc = $peer_plain] pub $peer: u64,)*
        }

        impl std::ops::AddAssign for Counters {
            fn add_assign(&mut self, other: Counters) {
                $(self.$count += other.$count;)*
                $(self.$count_2 += other.$count_2;)*
                $(self.$peer += other.$peer;)*
            }
        }

        /// Every counter of a device by itself, in the order that tables and JSON show them.
        pub const METRICS: &[Metric] = &[
            $(Metric { key: $key, tier: Tier::$tier, plain: $plain, is_ratio: false, value: |c| c.$count as f64 },)*
            Metric { key: $share_key, tier: Tier::$share_tier, plain: $share_plain, is_ratio: true, value: Counters::$share },
            $(Metric { key: $key_2, tier: Tier::$tier_2, plain: $plain_2, is_ratio: false, value: |c| c.$count_2 as f64 },)*
        ];

        /// Counters of accesses to the memory of other devices, which are part of those to global memory. Zero where there is one device,
        /// and shown where they are not zero. (What crosses a link depends on caches and on how the hardware packs it, so Nsight
        /// Compute's counters of links have no equal here.)
        pub const PEER_METRICS: &[Metric] = &[
            $(Metric { key: $peer_key, tier: Tier::Ptx, plain: $peer_plain, is_ratio: false, value: |c| c.$peer as f64 },)*
        ];
    };
}

counters! {
    shared_ld_wavefronts = AddressExact "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": "passes through the 32 banks for shared-memory loads";
    shared_st_wavefronts = AddressExact "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": "passes through the 32 banks for shared-memory stores";
    shared_atom_wavefronts = AddressExact "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum": "passes through the 32 banks for shared-memory atomics";
    shared_ld_conflicts = AddressExact "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": "load passes that only bank conflicts made necessary";
    shared_st_conflicts = AddressExact "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum": "store passes that only bank conflicts made necessary";
    shared_atom_conflicts = AddressExact "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum": "atomic passes that only bank conflicts or equal addresses made necessary";
    global_ld_sectors = AddressExact "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "32-byte sectors of global memory that loads touch";
    global_st_sectors = AddressExact "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": "32-byte sectors of global memory that stores touch";
    global_atom_sectors = AddressExact "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum": "sector visits of global atomics that return the old value";
    global_red_sectors = AddressExact "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum": "sector visits of global atomics that return nothing";
    barriers = AddressExact "barriers": "block barriers (__syncthreads), once for each warp that arrives";
    shuffles = AddressExact "shuffles": "warp shuffles: registers passed between lanes";
    inst_executed = Ptx "ptx_inst_executed": "PTX instructions issued, once for each warp";
    thread_inst_executed = Ptx "ptx_thread_inst_executed": "PTX instructions executed, once for each active lane";
    (share) lane_efficiency = Ptx "ptx_lane_efficiency": "share of a warp's 32 lanes at work in an average instruction";
    branches = Ptx "ptx_branches": "branches, once for each warp";
    divergent_branches = Ptx "ptx_divergent_branches": "branches that some lanes of the warp took and others did not";
    shared_ld_requests = Ptx "ptx_shared_ld_requests": "load instructions from shared memory, once for each warp";
    shared_st_requests = Ptx "ptx_shared_st_requests": "store instructions to shared memory, once for each warp";
    global_ld_requests = Ptx "ptx_global_ld_requests": "load instructions from global memory, once for each warp";
    global_st_requests = Ptx "ptx_global_st_requests": "store instructions to global memory, once for each warp";
    local_ld_requests = Ptx "ptx_local_ld_requests": "load instructions from local memory (spills, private arrays), once for each warp";
    local_st_requests = Ptx "ptx_local_st_requests": "store instructions to local memory (spills, private arrays), once for each warp";
    (peers)
    peer_ld_sectors = "ptx_peer_ld_sectors": "32-byte sectors of other devices' memory that loads touch";
    peer_ld_bytes = "ptx_peer_ld_bytes": "bytes of other devices' memory that loads ask for, counted for each lane";
    peer_st_sectors = "ptx_peer_st_sectors": "32-byte sectors of other devices' memory that stores touch";
    peer_st_bytes = "ptx_peer_st_bytes": "bytes of other devices' memory that stores write, counted for each lane";
    peer_atom_sectors = "ptx_peer_atom_sectors": "sector visits of atomics in other devices' memory";
    peer_atom_bytes = "ptx_peer_atom_bytes": "bytes of other devices' memory that atomics change, counted for each lane";
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
        METRICS.iter().chain(PEER_METRICS).find(|metric| metric.key == key)
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

/// The counts of one source line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct LineCounters {
    /// Source file as `.file` names it.
    pub file: String,
    /// Line, from 1; 0 for instructions without line information.
    pub line: u32,
    /// Its counts.
    pub counters: Counters,
}
