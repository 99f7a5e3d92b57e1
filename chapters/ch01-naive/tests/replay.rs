//! The records in data/: the simulator's is recomputed, the GPU's is replayed bit for bit, the profiler's is counted again.

use ch01_naive::CHAPTER;
use lab::{Result, trial};

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
    trial::profilers_record(&CHAPTER).map(drop)
}
