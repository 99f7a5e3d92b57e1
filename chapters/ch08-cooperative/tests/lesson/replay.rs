//! How much of the profiler's counts the meetings of blocks explain.

use ch08_cooperative::CHAPTER;
use lab::{Result, ncu, trial};

#[test]
fn few_counts_are_those_of_meetings() -> Result<()> {
    if let Some(ncu::Comparison { compared, of_meetings, .. }) = trial::profilers_record(&CHAPTER)? {
        assert!(of_meetings < compared / 10, "{of_meetings}: those of grid_sync and cluster, and few of theirs");
    }
    Ok(())
}
