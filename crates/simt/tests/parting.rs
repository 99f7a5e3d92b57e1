//! `independent:SEED@LINE`: lanes stay together until their warp comes to that line, and part from there on.

use simt::{Arg, Launch, Memory, Options, Outcome, Schedule};

use crate::host;

/// The first line of the last warp's rounds in `kernels/ch05-unroll.cu`.
const LINE: u32 = 49;
const THREADS: u32 = 128;

/// Sums 256 ones with the kernel whose last warp races; what it leaves, and the run.
fn run(schedule: Schedule) -> (u32, Outcome) {
    let kernel =
        host::kernel("ch05-unroll.ptx", &host::read("../../../kernels/ptx/ch05-unroll.ptx"), "unroll_volatile_i32");
    let mut memory = Memory::new();
    let input = host::buffer(&mut memory, "in", &[1; 256]);
    let output = memory.alloc("out", 4, 4).expect("room");
    let args = vec![Arg::Address(input), Arg::Address(output), 256_u32.into()];
    let launch = Launch { block: [THREADS, 1, 1], args, ..Launch::default() };
    let options = Options { schedule, trace: Some(simt::trace::Options::default()), ..Options::default() };
    let outcome = simt::run(&kernel, &mut memory, &launch, &options).expect("it runs");
    (host::words(&memory, output, 1)[0], outcome)
}

/// Steps as warp and lines of the code, up to the first that comes from `LINE`; and whether lanes ever came there apart.
fn before_the_line(outcome: &Outcome) -> (Vec<(u32, u32, u32)>, bool) {
    let trace = outcome.trace.as_ref().expect("a trace");
    let of = |step: &simt::trace::Step| &trace.code[step.pc as usize];
    let first = trace.steps.iter().position(|step| of(step).line == LINE).expect("the line runs");
    let steps = trace.steps[..first].iter().map(|step| (step.warp, step.pc, step.split)).collect();
    let is_apart =
        trace.steps[first..].iter().any(|step| of(step).line > LINE && of(step).line < 55 && step.split != u32::MAX);
    (steps, is_apart)
}

#[test]
fn lanes_part_from_the_line_on_and_not_before() {
    let (mut apart, mut wrong) = (0, 0);
    for seed in 0..20 {
        let (sum, outcome) = run(Schedule::IndependentFrom { seed, line: LINE });
        let (steps, is_apart) = before_the_line(&outcome);
        // Only the guards of the tree make lanes of a warp go different ways before: none of 32.
        assert!(steps.iter().all(|(.., split)| *split == u32::MAX), "seed {seed}: lanes part too early");
        apart += u32::from(is_apart);
        wrong += u32::from(sum != 256);
    }
    assert!(apart > 10, "lanes part under {apart} of 20 seeds");
    assert!(wrong > 0, "no seed shows the race");
}

#[test]
fn before_the_line_every_seed_runs_alike() {
    let of = |seed| before_the_line(&run(Schedule::IndependentFrom { seed, line: LINE }).1).0;
    let first = of(0);
    assert!((1..5).all(|seed| of(seed) == first));
    // Warps take turns in order: the first goes on until it waits.
    let warps: Vec<u32> = first.iter().map(|(warp, ..)| *warp).take(20).collect();
    assert!(warps.is_sorted(), "{warps:?}");
}

#[test]
fn without_such_a_line_lanes_stay_together() {
    let (sum, outcome) = run(Schedule::IndependentFrom { seed: 3, line: 9999 });
    assert_eq!(sum, 256);
    let trace = outcome.trace.expect("a trace");
    assert!(trace.steps.iter().all(|step| matches!(step.split.count_ones(), 1 | 31 | 32)));
}
