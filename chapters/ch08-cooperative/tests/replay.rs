//! The records in data/: the simulator's is recomputed, the GPU's is replayed bit for bit, the profiler's is counted again.

use ch08_cooperative::CHAPTER;
use lab::{Result, ncu, trial};

#[test]
fn the_simulators_record_is_what_it_computes_today() -> Result<()> {
    trial::simulators_record(&CHAPTER)
}

#[test]
fn the_gpus_results_are_the_simulators_bit_for_bit() -> Result<()> {
    trial::gpus_record(&CHAPTER).map(drop)
}

#[test]
fn the_profilers_counts_are_the_simulators() -> Result<()> {
    if let Some(ncu::Comparison { compared, of_meetings, .. }) = trial::profilers_record(&CHAPTER)? {
        assert!(of_meetings < compared / 10, "{of_meetings}: those of grid_sync and cluster, and few of theirs");
    }
    Ok(())
}
