//! Launches of one stream, by the library: those that overlap run together, those that do not run as if each were alone, and each
//! has its own outcome. (What the memory model says of them is in `tests/litmus/overlap.ptx`.)

use std::collections::BTreeSet;

use simt::{Arg, Code, Kernel, Launch, Memory, Options, Outcome, Schedule, StreamLaunch, run, run_stream};

use crate::host::{self, UNSEEDED, under};

fn load(file: &str, kernel: &str) -> Kernel {
    host::kernel(file, &host::read(file), kernel)
}

/// The kernel with an instruction in front that lets the next launch begin.
fn load_letting(file: &str, kernel: &str) -> Kernel {
    let text = host::read(file).replacen("\n{\n", "\n{\ngriddepcontrol.launch_dependents;\n", 1);
    assert!(text.contains("griddepcontrol"), "{file}");
    host::kernel(file, &text.replace(".target sm_80", ".target sm_90"), kernel)
}

/// A producer and a copy of what it makes, from the fixture `file`.
struct Pair {
    kernels: [Kernel; 2],
    blocks: u32,
}

/// Results of the launches: an outcome each, and the buffers.
type Left = (Vec<Outcome>, [Vec<u32>; 2]);

const WITH_WAIT: &str = "pass/overlapping_launch_that_waits.ptx";
const WITHOUT_WAIT: &str = "fail/global-race/overlapping_launch_without_wait.ptx";

impl Pair {
    fn of(file: &str, blocks: u32) -> Pair {
        Pair { kernels: [load(file, "produce"), load(file, "consume")], blocks }
    }

    fn launches(&self, memory: &mut Memory) -> ([Launch; 2], [u64; 2]) {
        let zeros = vec![0; self.blocks as usize * 64];
        let [x, y] = ["x", "y"].map(|name| host::buffer(memory, name, &zeros));
        let shape = Launch { grid: [self.blocks, 1, 1], block: [64, 1, 1], ..Launch::default() };
        let produce = Launch { args: vec![Arg::Address(x)], ..shape.clone() };
        ([produce, Launch { args: vec![Arg::Address(x), Arg::Address(y)], ..shape }], [x, y])
    }

    fn run(&self, options: &Options, overlaps: bool) -> Left {
        let mut memory = Memory::new();
        let (launches, buffers) = self.launches(&mut memory);
        let stream = self.stream(&launches, overlaps);
        let outcomes = run_stream(&stream, &mut memory, options).expect("launches that can start");
        (outcomes, buffers.map(|address| host::words(&memory, address, self.blocks as usize * 64)))
    }

    fn stream<'a>(&'a self, launches: &'a [Launch; 2], overlaps: bool) -> [StreamLaunch<'a>; 2] {
        [0, 1].map(|at| StreamLaunch { kernel: &self.kernels[at], launch: &launches[at], overlaps })
    }
}

fn same(a: &Outcome, b: &Outcome, what: &str) {
    assert_eq!((a.counters, &a.lines), (b.counters, &b.lines), "{what}");
    assert_eq!((&a.faults, &a.notes), (&b.faults, &b.notes), "{what}");
    assert_eq!((&a.printed, a.atomic_operations), (&b.printed, b.atomic_operations), "{what}");
    assert!(a.trace == b.trace, "{what}: the trace differs");
}

#[test]
fn the_same_schedule_gives_the_same_whatever_the_number_of_host_threads() {
    let mut schedules = vec![Schedule::Lockstep, UNSEEDED, Schedule::IndependentFrom { seed: 3, line: 17 }];
    schedules.extend((0..8).map(|seed| Schedule::Independent { seed: Some(seed) }));
    let mut courses = BTreeSet::new();
    for file in [WITH_WAIT, WITHOUT_WAIT] {
        let pair = Pair::of(file, 5);
        for &schedule in &schedules {
            let (one, left) = pair.run(&Options { threads: 1, ..under(schedule) }, true);
            for threads in [1, 2, 5] {
                let (other, other_left) = pair.run(&Options { threads, ..under(schedule) }, true);
                let what = format!("{file} under {schedule} with {threads} threads");
                assert!(other_left == left, "{what}: memory differs");
                one.iter().zip(&other).for_each(|(one, other)| same(one, other, &what));
            }
            courses.insert(left[1].clone());
        }
    }
    assert!(courses.len() > 3, "were the order of everything fixed, there would be nothing to compare");
}

#[test]
fn a_missing_wait_shows_in_what_some_seeds_read_and_is_found_under_all() {
    let right: Vec<u32> = (1..=128).collect();
    let (mut stale, mut whole) = (0, 0);
    for seed in (0..40).map(Some).chain([None]) {
        let schedule = Schedule::Independent { seed };
        let (outcomes, [x, y]) = Pair::of(WITHOUT_WAIT, 2).run(&under(schedule), true);
        assert_eq!(x, right, "{schedule}");
        let codes: Vec<Code> = outcomes[1].faults.iter().map(|fault| fault.code).collect();
        assert_eq!(codes, [Code::GlobalRace], "{schedule}");
        assert!(outcomes[0].faults.is_empty(), "{schedule}: the launch that should have waited has the fault");
        let fault = &outcomes[1].faults[0];
        let other = fault.other.as_ref().expect("two sites");
        assert_eq!((fault.site.launch, fault.site.action), (1, "reads"), "{schedule}");
        assert_eq!((other.launch, other.action), (0, "writes"), "{schedule}");
        assert!(fault.remedy.contains("griddepcontrol.wait"), "{schedule}: {}", fault.remedy);
        stale += u32::from(y != right && seed.is_some());
        whole += u32::from(y == right);
        assert!(seed.is_some() || y == right, "without a seed the launch before goes first");
        let (outcomes, [_, y]) = Pair::of(WITH_WAIT, 2).run(&under(schedule), true);
        assert!(y == right && outcomes.iter().all(|outcome| outcome.faults.is_empty()), "{schedule}");
    }
    assert!(stale > 10 && whole > 5, "{stale} of 40 seeds read a value that is old, {whole} the right ones");
}

#[test]
fn launches_that_do_not_overlap_are_run_one_after_the_other_as_if_alone() {
    for schedule in [Schedule::Lockstep, UNSEEDED, Schedule::Independent { seed: Some(5) }] {
        for file in [WITH_WAIT, WITHOUT_WAIT] {
            let (pair, options) = (Pair::of(file, 40), under(schedule));
            let (in_stream, left) = pair.run(&options, false);
            let mut memory = Memory::new();
            let (launches, buffers) = pair.launches(&mut memory);
            for (at, launch) in launches.iter().enumerate() {
                let alone = run(&pair.kernels[at], &mut memory, launch, &options).expect("a launch that can start");
                same(&alone, &in_stream[at], &format!("{file} under {schedule}"));
                assert!(alone.faults.is_empty(), "{:?}", alone.faults);
            }
            assert_eq!(buffers.map(|address| host::words(&memory, address, 40 * 64)), left, "{file} under {schedule}");
        }
    }
}

#[test]
fn launches_that_wait_count_what_they_count_alone() {
    let pair = Pair::of(WITH_WAIT, 300);
    for schedule in [Schedule::Lockstep, UNSEEDED] {
        let options = Options { schedule, ..Options::default() };
        let ((apart, one), (together, other)) = (pair.run(&options, false), pair.run(&options, true));
        assert!(one == other && one[1] == (1..=300 * 64).collect::<Vec<u32>>(), "{schedule}");
        apart.iter().zip(&together).for_each(|(one, other)| same(one, other, &schedule.to_string()));
    }
    // More of them than look again in every turn.
    let (outcomes, left) = pair.run(&under(Schedule::Independent { seed: Some(4) }), true);
    assert_eq!(left[1], (1..=300 * 64).collect::<Vec<u32>>());
    assert!(outcomes.iter().all(|outcome| outcome.faults.is_empty()));
}

#[test]
fn a_fault_belongs_to_the_launch_that_made_it() {
    let pair = Pair::of(WITH_WAIT, 2);
    let codes = |outcomes: &[Outcome]| -> Vec<Vec<Code>> {
        outcomes.iter().map(|outcome| outcome.faults.iter().map(|fault| fault.code).collect()).collect()
    };
    for wrong in [0, 1] {
        let mut memory = Memory::new();
        let (mut launches, _) = pair.launches(&mut memory);
        launches[wrong].args[0] = Arg::Address(0);
        let stream = pair.stream(&launches, true);
        let outcomes = run_stream(&stream, &mut memory, &Options::default()).expect("launches that can start");
        let mut expected = [vec![], vec![]];
        expected[wrong] = vec![Code::OutOfBounds];
        assert_eq!(codes(&outcomes), expected);
    }
    let few_steps = Options { steps_per_launch_max: 12, ..Options::default() };
    let (outcomes, _) = Pair::of(WITH_WAIT, 2).run(&few_steps, true);
    assert_eq!(codes(&outcomes), [vec![Code::StepBudget], vec![]], "the budget is that of one launch");
}

#[test]
fn a_fault_that_ends_a_launch_ends_those_that_run_with_it() {
    let pair = Pair::of(WITH_WAIT, 2);
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry ends(.param .u64 x)\n{\ntrap;\n}\n";
    let ends = host::kernel("ends.ptx", text, "ends");
    for (overlaps, runs) in [(true, false), (false, true)] {
        let mut memory = Memory::new();
        let (launches, _) = pair.launches(&mut memory);
        let stream = [
            StreamLaunch { kernel: &ends, launch: &launches[0], overlaps: false },
            StreamLaunch { kernel: &pair.kernels[1], launch: &launches[1], overlaps },
        ];
        let outcomes = run_stream(&stream, &mut memory, &Options::default()).expect("launches that can start");
        assert_eq!(outcomes[0].faults.iter().map(|fault| fault.code).collect::<Vec<_>>(), [Code::Trap]);
        assert_eq!(outcomes[1].counters.inst_executed > 0, runs, "overlaps: {overlaps}");
        assert!(outcomes[1].faults.is_empty());
    }
}

#[test]
fn nothing_runs_if_one_of_the_launches_cannot_start() {
    let pair = Pair::of(WITH_WAIT, 2);
    for overlaps in [false, true] {
        let mut memory = Memory::new();
        let (mut launches, buffers) = pair.launches(&mut memory);
        launches[1].args.pop();
        let stream = pair.stream(&launches, overlaps);
        let error = run_stream(&stream, &mut memory, &Options::default()).expect_err("an argument is missing");
        assert_eq!(error.to_string(), "consume: 1 arguments given, 2 expected");
        assert_eq!(host::words(&memory, buffers[0], 128), vec![0; 128], "the first has not run");
    }
    assert!(run_stream(&[], &mut Memory::new(), &Options::default()).is_ok_and(|outcomes| outcomes.is_empty()));
}

/// Grids with a barrier of their own, and clusters, on buffers of their own: each leaves what it leaves alone.
#[test]
fn barriers_of_the_grid_and_clusters_of_two_launches_are_kept_apart() {
    let grid_sync = load_letting("gpu/grid_sync.ptx", "grid_sync");
    let clusters = load_letting("gpu/cluster_histogram.ptx", "cluster_histogram");
    let hashed = |n: u32, more: u32| -> Vec<u32> {
        (0..n).map(|i| i.wrapping_mul(2_654_435_761).wrapping_add(more) >> 24).collect()
    };
    let buffer = |memory: &mut Memory, words: &[u32]| Arg::Address(host::buffer(memory, "buffer", words));
    for seed in [None, Some(1), Some(2), Some(3), Some(4), Some(5)] {
        let options = Options { schedule: Schedule::Independent { seed }, ..Options::default() };
        let left = [false, true].map(|overlaps| {
            let mut memory = Memory::new();
            let mut launches = Vec::new();
            for more in [1, 9] {
                let args = [hashed(288, more), vec![0; 288], vec![0; 4]];
                let args = args.iter().map(|words| buffer(&mut memory, words)).collect();
                let (grid, block) = ([3, 1, 1], [96, 1, 1]);
                launches.push((&grid_sync, Launch { grid, block, cooperative: true, args, ..Launch::default() }));
                let args = [hashed(8192, more), vec![0; 256]];
                let args = args.iter().map(|words| buffer(&mut memory, words)).collect();
                let (grid, block, cluster) = ([8, 1, 1], [128, 1, 1], Some([4, 1, 1]));
                let launch = Launch { grid, block, cluster, shared_bytes: 256, args, ..Launch::default() };
                launches.push((&clusters, launch));
            }
            let stream: Vec<StreamLaunch<'_>> =
                launches.iter().map(|(kernel, launch)| StreamLaunch { kernel, launch, overlaps }).collect();
            let outcomes = run_stream(&stream, &mut memory, &options).expect("launches that can start");
            assert!(outcomes.iter().all(|outcome| outcome.faults.is_empty()), "{seed:?}");
            let words = |arg: &Arg| match arg {
                Arg::Address(address) => host::words(&memory, *address, 4),
                _ => Vec::new(),
            };
            launches.iter().flat_map(|(_, launch)| launch.args.iter().map(words)).collect::<Vec<_>>()
        });
        assert_eq!(left[0], left[1], "{seed:?}");
    }
}
