//! Raw counts by the names that records and the book's facts use, and which of them a table should show.

use device::Counters;
use simt::Metric;
use simt::counters::{METRICS, PEER_METRICS};

/// The names and values of every raw count; those of other devices' memory only where something went there.
pub fn fields(counters: &Counters) -> Vec<(&'static str, u64)> {
    macro_rules! all {
        ($($name:ident)*) => {{
            // Without `..`, so that a count added to the simulator cannot be forgotten here.
            let Counters { $($name),* } = *counters;
            vec![$((stringify!($name), $name)),*]
        }};
    }
    let all = all! {
        shared_ld_wavefronts shared_st_wavefronts shared_atom_wavefronts
        shared_ld_conflicts shared_st_conflicts shared_atom_conflicts
        global_ld_sectors global_st_sectors global_atom_sectors global_red_sectors
        barriers shuffles inst_executed thread_inst_executed branches divergent_branches
        shared_ld_requests shared_st_requests global_ld_requests global_st_requests
        local_ld_requests local_st_requests
        peer_ld_sectors peer_ld_bytes peer_st_sectors peer_st_bytes peer_atom_sectors peer_atom_bytes
    };
    all.into_iter().filter(|(name, value)| *value != 0 || !name.starts_with("peer_")).collect()
}

/// The share of busy lanes, from the two counts that it is made of; 0 where nothing ran.
pub fn share(thread_inst_executed: u64, inst_executed: u64) -> f64 {
    Counters { thread_inst_executed, inst_executed, ..Counters::default() }.lane_efficiency()
}

/// The metrics that say something about these runs: what some run counted, and the zero that is news, no bank conflicts
/// where shared memory was used. Requests to shared memory are shown only where conflicts make them differ from wavefronts.
pub fn worth_showing(counters: &[Counters]) -> Vec<&'static Metric> {
    let any = |metric: &Metric| counters.iter().any(|c| (metric.value)(c) != 0.0);
    let any_of = |key: &str| Metric::named(key).is_some_and(any);
    let tells = |metric: &&Metric| {
        if let Some(op) = metric.key.strip_prefix("l1tex__data_bank_conflicts_pipe_lsu_") {
            return any_of(&format!("l1tex__data_pipe_lsu_wavefronts_{op}"));
        }
        if let Some(op) = metric.key.strip_prefix("ptx_shared_").and_then(|key| key.strip_suffix("_requests")) {
            return any_of(&format!("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum"));
        }
        any(metric)
    };
    METRICS.iter().chain(PEER_METRICS).filter(tells).collect()
}
