//! Whole kernels of the course, run from their committed PTX: results, counters, faults, and that neither the number of
//! host threads nor anything else but the schedule changes them.

use simt::{Arg, Checks, Code, Launch, Memory, Options, Outcome, Program, Schedule};

use crate::host;

const SCHEDULES: [Schedule; 3] =
    [Schedule::Lockstep, Schedule::Independent { seed: None }, Schedule::Independent { seed: Some(7) }];

fn program(slug: &str) -> Program {
    let path = format!("kernels/ptx/{slug}.ptx");
    let text = host::read(format!("../../../{path}"));
    Program::load(&path, &text).unwrap_or_else(|error| panic!("{error}"))
}

/// Element i of the inputs here: signed, no two alike near each other, sums wrap.
fn element(i: u32) -> i32 {
    i.wrapping_mul(2_654_435_761) as i32
}

/// One pass of `kernel` over `n` elements, `per_block` a block; the block sums and what the run reported.
fn pass(program: &Program, kernel: &str, n: u32, block: u32, per_block: u32, options: &Options) -> (Vec<i32>, Outcome) {
    let kernel = program.kernel(kernel).unwrap_or_else(|error| panic!("{error}"));
    let mut memory = Memory::new();
    let grid = n.div_ceil(per_block);
    let elements: Vec<u32> = (0..n).map(|i| element(i) as u32).collect();
    let input = host::buffer(&mut memory, "in", &elements);
    let output = memory.alloc("out", u64::from(grid) * 4, 4).unwrap();
    let args = vec![Arg::Address(input), Arg::Address(output), n.into()];
    let launch = Launch { grid: [grid, 1, 1], block: [block, 1, 1], args, ..Launch::default() };
    let outcome = simt::run(&kernel, &mut memory, &launch, options).unwrap();
    let sums = host::words(&memory, output, grid as usize);
    (sums.into_iter().map(|sum| sum as i32).collect(), outcome)
}

fn reference(n: u32, per_block: u32) -> Vec<i32> {
    let all: Vec<i32> = (0..n).map(element).collect();
    all.chunks(per_block as usize).map(|c| c.iter().fold(0i32, |sum, &x| sum.wrapping_add(x))).collect()
}

#[test]
fn block_sums_are_right_for_every_schedule_and_any_size() {
    let naive = program("ch01-naive");
    let unroll = program("ch05-unroll");
    for schedule in SCHEDULES {
        let options = Options { schedule, ..Options::default() };
        for (program, kernel, block, per_block) in [
            (&naive, "interleaved_modulo_i32", 64, 64),
            (&naive, "simple_global_i32", 64, 128),
            (&unroll, "unroll_syncwarp_i32", 128, 256),
            (&unroll, "unroll_shuffle_i32", 64, 128),
        ] {
            for n in [1, 2, 31, 32, 33, 127, 128, 129, 1000, 4099] {
                let (sums, outcome) = pass(program, kernel, n, block, per_block, &options);
                assert_eq!(sums, reference(n, per_block), "{kernel} n={n} {schedule:?}");
                assert_eq!(outcome.faults, [], "{kernel} n={n} {schedule:?}");
            }
        }
    }
}

/// The same kernels as other compilers wrote them: typed registers and instructions up to compute_90, untyped ones from
/// compute_100 on.
#[test]
fn both_dialects_run_and_count_the_same_accesses() {
    let files = host::files("dialects", "ptx");
    assert_eq!(files.len(), 8, "two chapters by two compilers for two targets");
    for file in files {
        let name = file.display().to_string();
        let other = Program::load(&name, &host::read(&file)).unwrap_or_else(|e| panic!("{e}"));
        let committed = program(if name.contains("ch01") { "ch01-naive" } else { "ch05-unroll" });
        for kernel in other.kernel_names().into_iter().filter(|name| name.ends_with("_i32")) {
            let per_block = if kernel.starts_with("interleaved") { 64 } else { 128 };
            let run = |program| pass(program, kernel, 4099, 64, per_block, &Options::default());
            let ((sums, outcome), (_, expected)) = (run(&other), run(&committed));
            assert_eq!(sums, reference(4099, per_block), "{kernel} of {name}");
            let codes =
                |outcome: &Outcome| outcome.faults.iter().map(|f| f.code).collect::<std::collections::HashSet<_>>();
            assert_eq!(codes(&outcome), codes(&expected), "{kernel} of {name}");
            let (c, e) = (outcome.counters, expected.counters);
            assert_eq!(
                [c.shared_ld_wavefronts, c.shared_st_wavefronts, c.global_ld_sectors, c.global_st_sectors, c.barriers],
                [e.shared_ld_wavefronts, e.shared_st_wavefronts, e.global_ld_sectors, e.global_st_sectors, e.barriers],
                "{kernel} of {name}"
            );
        }
    }
}

#[test]
fn the_volatile_unroll_races_where_lanes_may_run_apart() {
    let unroll = program("ch05-unroll");
    let run =
        |schedule| pass(&unroll, "unroll_volatile_i32", 1024, 64, 128, &Options { schedule, ..Options::default() });

    let (sums, outcome) = run(Schedule::Lockstep);
    assert_eq!(sums, reference(1024, 128));
    assert_eq!(outcome.faults, [], "before Volta it was right");

    let (_, outcome) = run(Schedule::Independent { seed: None });
    assert!(!outcome.faults.is_empty());
    for fault in &outcome.faults {
        assert_eq!(fault.code, Code::SharedRace);
        let other = fault.other.as_ref().expect("a race has two sites");
        assert_eq!(fault.site.file, "kernels/ch05-unroll.cu");
        assert!(fault.message.contains("sums["), "{}", fault.message);
        assert_ne!((fault.site.line, fault.site.ptx_line), (other.line, other.ptx_line));
    }

    let wrong =
        (0..20).filter(|&seed| run(Schedule::Independent { seed: Some(seed) }).0 != reference(1024, 128)).count();
    assert!(wrong > 10, "lanes driven apart should break most runs, broke {wrong} of 20");
}

#[test]
fn lane_efficiency_of_the_textbook_case_is_255_of_864() {
    let (sums, outcome) = pass(&program("ch01-naive"), "simple_global_i32", 256, 128, 256, &Options::default());
    assert_eq!(sums, reference(256, 256));
    let source = include_str!("../../../kernels/ch01-naive.cu");
    let line = 1 + source.lines().position(|l| l.contains("data[i] += data[i + stride];")).unwrap() as u32;
    let body = outcome.lines.iter().find(|l| l.line == line).expect("the loop body has a line").counters;
    // Every instruction of the body is issued for 27 warps and needed by 255 lanes.
    assert_eq!(body.inst_executed % 27, 0);
    assert_eq!(body.thread_inst_executed * 27, body.inst_executed * 255);
}

#[test]
fn counters_are_those_worked_out_by_hand() {
    let naive = program("ch01-naive");
    // One block of 256: interleaved addressing has no bank conflicts, and 1 + 8 barriers for each of 8 warps.
    let (_, outcome) = pass(&naive, "interleaved_modulo_i32", 256, 256, 256, &Options::default());
    let c = outcome.counters;
    assert_eq!((c.shared_ld_conflicts, c.shared_st_conflicts), (0, 0));
    assert_eq!(c.barriers, 9 * 8);
    assert_eq!(c.global_ld_sectors, 256 * 4 / 32);
    assert_eq!(c.global_st_sectors, 1);
    // Chapter 5: the load's barrier, and the rounds 128 and 64.
    let (_, outcome) = pass(&program("ch05-unroll"), "unroll_shuffle_i32", 512, 256, 512, &Options::default());
    assert_eq!(outcome.counters.barriers, 3 * 8);
    assert_eq!(outcome.counters.shuffles, 5);
}

#[test]
fn host_threads_change_nothing() {
    let unroll = program("ch05-unroll");
    for schedule in SCHEDULES {
        for kernel in ["unroll_shuffle_i32", "unroll_volatile_i32"] {
            let run = |threads| {
                let options = Options { schedule, threads, ..Options::default() };
                pass(&unroll, kernel, 20_011, 64, 128, &options)
            };
            let (sums, outcome) = run(1);
            for threads in 2..=8 {
                let (other_sums, other) = run(threads);
                assert_eq!(sums, other_sums, "{kernel} {schedule:?} {threads} threads");
                assert_eq!(outcome.counters, other.counters);
                assert_eq!(outcome.lines, other.lines);
                assert_eq!(outcome.faults, other.faults);
            }
        }
    }
}

#[test]
fn the_portable_machine_gives_what_the_wide_one_gives() {
    let unroll = program("ch05-unroll");
    for kernel in ["unroll_shuffle_i32", "unroll_volatile_i32", "unroll_syncwarp_i32"] {
        let run = |portable| pass(&unroll, kernel, 5000, 64, 128, &Options { portable, ..Options::default() });
        let (wide, portable) = (run(false), run(true));
        assert_eq!(wide.0, portable.0);
        assert_eq!(wide.1.counters, portable.1.counters);
        assert_eq!(wide.1.faults, portable.1.faults);
    }
}

#[test]
fn without_checks_nothing_is_reported_and_the_rest_is_the_same() {
    let unroll = program("ch05-unroll");
    let run = |checks| pass(&unroll, "unroll_volatile_i32", 4096, 64, 128, &Options { checks, ..Options::default() });
    let (all, none) = (run(Checks::ALL), run(Checks::NONE));
    assert_eq!(none.1.faults, []);
    assert_eq!(all.0, none.0);
    assert_eq!(all.1.counters, none.1.counters);
}

#[test]
fn a_trace_shows_the_addresses_and_sums_of_the_last_warp() {
    let unroll = program("ch05-unroll");
    let run = |threads| {
        let trace = Some(simt::trace::Options { blocks: 2, ..Default::default() });
        let options = Options { threads, trace, ..Options::default() };
        let (sums, outcome) = pass(&unroll, "unroll_shuffle_i32", 40_000, 64, 128, &options);
        (sums, outcome.trace.expect("a trace was asked for"), outcome.counters)
    };
    let (sums, trace, _) = run(1);
    assert_eq!(trace, run(2).1, "host threads change no trace");
    assert_eq!((trace.version, trace.dropped_steps), (simt::trace::VERSION, 0));
    assert!(trace.steps.iter().all(|s| s.block_linear < 2));

    let opcode = |s: &simt::trace::Step| trace.code[s.pc as usize].opcode.as_str();
    let block: Vec<_> = trace.steps.iter().filter(|s| s.block_linear == 1).collect();
    let shuffles: Vec<_> = block.iter().filter(|s| opcode(s).starts_with("shfl")).collect();
    assert_eq!(shuffles.len(), 5);
    let store = block.iter().find(|s| opcode(s).starts_with("st.global")).expect("lane 0 stores");
    assert_eq!((store.warp, store.active), (0, 1));
    assert_eq!((store.access[0].sectors, store.access[0].mask), (1, 1));
    let Some(simt::trace::Values::Bits32(values)) = store.values else { panic!("a 32-bit store") };
    assert_eq!(values[0] as i32, sums[1]);
    let load = block.iter().find(|s| opcode(s).starts_with("ld.shared")).expect("the tree reads");
    assert_eq!((load.access[0].wavefronts, load.access[0].conflicts), (1, 0));
}

#[test]
fn a_trace_is_cut_off_where_it_was_asked_to() {
    let trace = Some(simt::trace::Options { steps_per_block_max: 10, ..Default::default() });
    let options = Options { trace, ..Options::default() };
    let (_, outcome) = pass(&program("ch05-unroll"), "unroll_shuffle_i32", 128, 64, 128, &options);
    let trace = outcome.trace.unwrap();
    assert_eq!(trace.steps.len(), 10);
    assert_eq!(trace.dropped_steps + 10, outcome.counters.inst_executed);
}
