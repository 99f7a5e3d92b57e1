//! Claims of the page and of the kernels' head comments, as assertions on what the simulator counts.

use anyhow::Result;
use ch01_naive::CHAPTER;
use lab::trial;

#[test]
fn interleaved_modulo_has_no_bank_conflict() -> Result<()> {
    for block in [32, 64, 128, 256, 512, 1024] {
        let c = trial::one_block((&CHAPTER, "interleaved_modulo"), block)?;
        assert_eq!((c.shared_ld_conflicts, c.shared_st_conflicts), (0, 0), "block {block}");
    }
    Ok(())
}

#[test]
fn interleaved_modulo_over_256_elements() -> Result<()> {
    let c = trial::one_block((&CHAPTER, "interleaved_modulo"), 256)?;
    // Eight warps store once each; 47 warp-additions load twice and store once; thread 0 loads the result.
    assert_eq!((c.shared_ld_wavefronts, c.shared_st_wavefronts), (2 * 47 + 1, 8 + 47));
    assert_eq!(c.barriers, 9 * 8, "one after the load and one a round, in each of eight warps");
    assert_eq!((c.global_ld_sectors, c.global_st_sectors), (256 * 4 / 32, 1));
    Ok(())
}

#[test]
fn simple_global_over_256_elements() -> Result<()> {
    let c = trial::one_block((&CHAPTER, "simple_global"), 128)?;
    assert_eq!(c.barriers, 8 * 4, "one a round, in each of four warps");
    assert_eq!((c.shared_ld_wavefronts, c.shared_st_wavefronts), (0, 0), "no shared memory");
    assert_eq!((c.global_ld_sectors, c.global_st_sectors), (255, 128));
    Ok(())
}

#[test]
fn the_textbook_figure_is_29_5_per_cent() -> Result<()> {
    trial::assert_facts(
        &CHAPTER,
        &[
            ("simple_global-i32-one_block-add_inst_executed", "27"),
            ("simple_global-i32-one_block-add_thread_inst_executed", "255"),
            ("simple_global-i32-one_block-add_lane_efficiency", "29.5 %"),
            ("interleaved_modulo-i32-one_block-add_inst_executed", "47"),
            ("interleaved_modulo-i32-one_block-add_lane_efficiency", "17.0 %"),
        ],
    )?;
    Ok(())
}

#[test]
fn one_round_too_few_loses_half_of_the_block() -> Result<()> {
    let run = trial::mistake(&CHAPTER, "stride_too_short")?;
    assert!(run.faults.is_empty(), "nothing is out of order but the sum: {:?}", run.faults);
    let first_half = trial::sum(&trial::integers(256)[..128]);
    assert_eq!(run.result.to_f64(), f64::from(first_half), "the sum of the first 128 of 256");
    assert!(!run.verdict.right);
    Ok(())
}

#[test]
fn a_barrier_inside_the_if_is_found() -> Result<()> {
    let run = trial::mistake(&CHAPTER, "barrier_in_if")?;
    assert!(run.faults.iter().any(|fault| fault.code == lab::Code::BarrierDivergence), "{:?}", run.faults);
    Ok(())
}
