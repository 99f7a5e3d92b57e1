//! Several devices, by the library: they run at once, what one may touch of another's memory, and what is counted and reported between
//! them. (What the memory model says of them is in `tests/litmus/devices.ptx`.)

use std::collections::BTreeSet;

use simt::{
    Arg, Code, Counters, Fault, Kernel, Launch, LaunchError, Memory, Options, Outcome, Schedule, StreamLaunch, run,
    run_devices,
};

use crate::host::{self, UNSEEDED, under};

fn seeded(seed: u64) -> Schedule {
    Schedule::Independent { seed: Some(seed) }
}

/// A kernel with the parameters `mine`, `peer`, `out` (addresses) and `rank`, in registers of these names.
fn kernel(name: &str, body: &str) -> Kernel {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.global .u32 kept;\n.visible .entry {name}(.param .u64 mine, .param .u64 peer, \
         .param .u64 out, .param .u32 rank)\n{{\n.reg .pred %p;\n.reg .b32 %r, %v, %t, %c;\n.reg .b64 %m, %q, %o, %w, %d;\n\
         ld.param.u64 %m, [mine];\nld.param.u64 %q, [peer];\nld.param.u64 %o, [out];\nld.param.u32 %r, [rank];\n\
         mov.u32 %t, %tid.x;\nmul.wide.u32 %w, %t, 4;\n{body}\nret;\n}}\n"
    );
    host::kernel("devices.ptx", &text, name)
}

/// Each of two devices has a flag; each sets its peer's and waits for its own.
const MEET: &str = "st.release.sys.global.u32 [%q], 1;\nWAIT:\nld.acquire.sys.global.u32 %v, [%m];\nsetp.eq.u32 %p, %v, 0;\n@%p bra WAIT;";

/// Devices with a buffer each, `words` words of zeros, and one buffer for results on device 0.
struct Bench {
    memory: Memory,
    buffers: Vec<u64>,
    out: u64,
    words: usize,
}

impl Bench {
    fn new(devices: u32, words: usize) -> Bench {
        let mut memory = Memory::new();
        let mut zeros = |device: u32, name: &str| {
            let address = memory.alloc_on(device, name, 4 * words as u64, 4).unwrap();
            memory.write(address, &vec![0; 4 * words]).unwrap();
            address
        };
        let buffers = (0..devices).map(|device| zeros(device, "data")).collect();
        let out = zeros(0, "out");
        memory.map_all_peers(devices).unwrap();
        Bench { memory, buffers, out, words }
    }

    /// The launch on one device, whose peer is the next one.
    fn launch(&self, device: u32, threads: u32) -> Launch {
        let peer = (device as usize + 1) % self.buffers.len();
        let addresses = [self.buffers[device as usize], self.buffers[peer], self.out].map(Arg::Address);
        let args = addresses.into_iter().chain([device.into()]).collect();
        Launch { block: [threads, 1, 1], device, args, ..Launch::default() }
    }

    /// Runs kernels one after the other, each in one block, on all devices at once.
    fn run(&mut self, kernels: &[&Kernel], threads: u32, options: &Options) -> Vec<Vec<Outcome>> {
        let launches: Vec<Launch> = (0..self.buffers.len() as u32).map(|device| self.launch(device, threads)).collect();
        let stream = |launch| kernels.iter().map(|kernel| StreamLaunch { kernel, launch, overlaps: false }).collect();
        let streams: Vec<Vec<_>> = launches.iter().map(stream).collect();
        run_devices(&streams, &mut self.memory, options).expect("launches that can start")
    }

    fn left(&self) -> Vec<Vec<u32>> {
        let all = self.buffers.iter().chain([&self.out]);
        all.map(|&address| host::words(&self.memory, address, self.words)).collect()
    }
}

fn faults(outcomes: &[Vec<Outcome>]) -> Vec<&Fault> {
    outcomes.iter().flatten().flat_map(|outcome| &outcome.faults).collect()
}

#[test]
fn devices_that_wait_for_each_other_go_on_under_every_schedule() {
    let meet = kernel("meet", MEET);
    let schedules = [Schedule::Lockstep, UNSEEDED, Schedule::IndependentFrom { seed: 3, line: 7 }];
    for devices in [2, 3, 8] {
        for schedule in schedules.into_iter().chain((0..12).map(seeded)) {
            let mut bench = Bench::new(devices, 1);
            let outcomes = bench.run(&[&meet], 1, &under(schedule));
            assert_eq!(faults(&outcomes), Vec::<&Fault>::new(), "{devices} devices under {schedule}");
            assert_eq!(outcomes.len(), devices as usize);
            assert!(bench.left()[..devices as usize].iter().all(|flag| flag == &[1]));
        }
    }
}

#[test]
fn a_seed_decides_the_order_of_devices_and_gives_the_same_again() {
    // Each device takes tickets, one a thread, and writes down who took it.
    let tickets = kernel(
        "tickets",
        "atom.relaxed.sys.global.add.u32 %v, [%o], 1;\nadd.u32 %v, %v, 1;\nmul.wide.u32 %d, %v, 4;\nadd.u64 %d, %d, %o;\n\
         add.u32 %r, %r, 1;\nst.relaxed.sys.global.u32 [%d], %r;",
    );
    let run = |schedule: Schedule, threads: usize| {
        let mut bench = Bench::new(3, 400);
        let outcomes = bench.run(&[&tickets, &tickets], 64, &Options { threads, ..under(schedule) });
        assert!(faults(&outcomes).is_empty(), "{schedule}: {:?}", faults(&outcomes));
        (bench.left()[3][1..=384].to_vec(), outcomes)
    };
    let (mut first, mut orders) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..16 {
        let (order, outcomes) = run(seeded(seed), 1);
        let traces = outcomes.iter().flatten().filter_map(|outcome| outcome.trace.as_ref());
        let mut steps: Vec<u64> = traces.flat_map(|trace| &trace.steps).map(|step| step.order).collect();
        steps.sort_unstable();
        assert!(
            steps.len() > 100 && steps.iter().zip(0..).all(|(&step, at)| step == at),
            "seed {seed}: launches do not count together"
        );
        for threads in [1, 4] {
            let (again, same) = run(seeded(seed), threads);
            assert_eq!(order, again, "seed {seed}");
            for (one, other) in outcomes.iter().flatten().zip(same.iter().flatten()) {
                assert_eq!((one.counters, &one.lines, &one.notes), (other.counters, &other.lines, &other.notes));
                assert!(one.trace == other.trace, "seed {seed}: the trace differs");
            }
        }
        first.insert(order[0]);
        orders.insert(order);
    }
    assert_eq!(first.len(), 3, "each device comes first under some seed");
    assert!(orders.len() > 12, "{} orders", orders.len());
    assert!(run(UNSEEDED, 1).0.is_sorted_by(|a, b| a <= b || (a, b) == (&3, &1)), "else in the order of their numbers");
}

#[test]
fn waiting_for_what_never_comes_is_a_deadlock_of_both_devices() {
    let wait = kernel("wait", &MEET[MEET.find("WAIT").unwrap()..]);
    for schedule in [UNSEEDED, Schedule::Lockstep, seeded(1), seeded(2)] {
        let outcomes = Bench::new(2, 1).run(&[&wait], 1, &under(schedule));
        for (device, outcome) in outcomes.iter().flatten().enumerate() {
            let [fault] = &outcome.faults[..] else { panic!("{schedule}: {:?}", outcome.faults) };
            assert_eq!((fault.code, fault.site.device), (Code::Deadlock, Some(device as u32)), "{schedule}");
            assert!(fault.message.contains(&format!("data[0] of device {device}")), "{}", fault.message);
        }
    }
    // One that counts while it waits is no proven deadlock, and uses up its steps.
    let count = MEET.replace("WAIT:", "WAIT:\nadd.u32 %c, %c, 1;").replacen(
        "st.release.sys.global.u32 [%q], 1;",
        "mov.u32 %c, 0;",
        1,
    );
    let options = Options { steps_per_launch_max: 10_000, steps_per_block_max: 1 << 30, ..Options::default() };
    let outcomes = Bench::new(2, 1).run(&[&kernel("count", &count)], 1, &options);
    assert_eq!(faults(&outcomes).iter().map(|fault| fault.code).collect::<Vec<_>>(), [Code::StepBudget]);
}

#[test]
fn memory_of_a_peer_that_is_not_mapped_is_out_of_bounds() {
    let read = kernel("read", "ld.global.u32 %v, [%q];\nst.global.u32 [%m], %v;");
    let write = kernel("write", "st.global.u32 [%q], %r;");
    let add = kernel("add", "red.relaxed.sys.global.add.u32 [%q], 1;");
    for (kernel, action) in [(&read, "reads"), (&write, "writes"), (&add, "updates")] {
        for (device, peer) in [(0, 1), (1, 0)] {
            let mut bench = Bench::new(2, 1);
            bench.memory.unmap_peer(device, peer);
            let outcomes = bench.run(&[kernel], 1, &Options { checks: simt::Checks::NONE, ..Options::default() });
            let [fault] = faults(&outcomes)[..] else { panic!("{:?}", faults(&outcomes)) };
            assert_eq!((fault.code, fault.site.device), (Code::OutOfBounds, Some(device)), "{action}");
            let expected = format!(
                "{action} 4 bytes of data[0] of device {peer}, and device {device} has not mapped the memory of device {peer}"
            );
            assert_eq!(fault.message, expected);
            assert!(fault.remedy.contains("cudaDeviceEnablePeerAccess"), "{}", fault.remedy);
        }
    }
}

#[test]
fn checks_of_single_accesses_hold_for_a_peers_memory() {
    let read = kernel("read", "add.u64 %q, %q, %w;\nld.global.u32 %v, [%q];\nst.global.u32 [%o], %v;");
    let mut bench = Bench::new(2, 1);
    bench.buffers[1] = bench.memory.alloc_on(1, "new", 4, 4).unwrap();
    let outcomes = bench.run(&[&read], 1, &under(UNSEEDED));
    let [fault] = &outcomes[0][0].faults[..] else { panic!("{:?}", outcomes[0][0].faults) };
    assert_eq!(fault.code, Code::UninitialisedRead);
    assert_eq!(fault.message, "reads new[0] of device 1, which nothing has written");

    let past = kernel("past", "ld.global.u32 %v, [%q+4];\nst.global.u32 [%m], %v;");
    let outcomes = Bench::new(2, 1).run(&[&past], 1, &under(UNSEEDED));
    let [fault, _] = faults(&outcomes)[..] else { panic!("{:?}", faults(&outcomes)) };
    assert_eq!(fault.code, Code::OutOfBounds);
    assert!(
        fault.message.ends_with("data[1], just past the end of data (1 elements) of device 1"),
        "{}",
        fault.message
    );
}

#[test]
fn a_race_between_devices_says_so_and_what_to_write() {
    let body = |scope: &str| {
        format!(
            "setp.eq.u32 %p, %r, 1;\n@%p bra ONE;\nst.global.u32 [%m], 7;\nst.release.{scope}.global.u32 [%q], 1;\nret;\nONE:\n\
             ld.acquire.{scope}.global.u32 %v, [%m];\nsetp.eq.u32 %p, %v, 0;\n@%p bra ONE;\nld.global.u32 %v, [%q];\nst.global.u32 [%o], %v;"
        )
    };
    let narrow = Bench::new(2, 1).run(&[&kernel("narrow", &body("gpu"))], 1, &under(UNSEEDED));
    let found = faults(&narrow);
    let data = found.iter().find(|fault| fault.message.contains("of device 0")).expect("a race on the data");
    assert_eq!(data.message, "reads data[0] of device 0 while device 0 may still be writing it");
    assert!(data.why.contains("two devices") && data.remedy.contains("__threadfence_system()"), "{data:?}");
    let flag = found.iter().find(|fault| fault.message.contains("of device 1")).expect("a race on the flag");
    assert!(flag.remedy.contains("atomicAdd_system"), "{}", flag.remedy);
    let text = simt::report::render(data, &|_| None);
    assert!(text.contains("(1) earlier: lane 0 of warp 0, block (0,0,0) of device 0"), "{text}");
    assert!(text.contains("(2) later: lane 0 of warp 0, block (0,0,0) of device 1"), "{text}");
    let object = serde_json::to_value(data).unwrap();
    assert_eq!((&object["device"], &object["other"]["device"]), (&1.into(), &0.into()));

    let mut bench = Bench::new(2, 1);
    assert!(faults(&bench.run(&[&kernel("wide", &body("sys"))], 1, &under(UNSEEDED))).is_empty());
    assert_eq!(bench.left()[2], [7]);
}

/// A flag without an epoch is still set when it is waited for a second time, so that the second round begins too soon. A run in which one
/// device is through with all rounds before the other begins them has no race, and stale values: such a bug needs several seeds.
#[test]
fn a_barrier_that_is_used_again_lets_devices_through_too_soon() {
    const ROUNDS: u32 = 16;
    let round = |write: u32, epoch: u32| {
        format!(
            "setp.eq.u32 %p, %r, 1;\n@%p bra READ{write};\nst.global.u32 [%o], {write};\nst.release.sys.global.u32 [%q], {epoch};\nBACK{write}:\n\
             ld.acquire.sys.global.u32 %v, [%m];\nsetp.lo.u32 %p, %v, {epoch};\n@%p bra BACK{write};\nbra NEXT{write};\nREAD{write}:\n\
             ld.acquire.sys.global.u32 %v, [%m];\nsetp.lo.u32 %p, %v, {epoch};\n@%p bra READ{write};\nld.global.u32 %c, [%o];\n\
             st.global.u32 [%m+4], %c;\nst.release.sys.global.u32 [%q], {epoch};\nNEXT{write}:\n"
        )
    };
    let rounds = |epoch: fn(u32) -> u32| (1..=ROUNDS).map(|write| round(write, epoch(write))).collect::<String>();
    let (right, wrong) = (kernel("right", &rounds(|round| round)), kernel("wrong", &rounds(|_| 1)));
    let (mut races, mut stale) = (0, 0);
    for seed in 0..24 {
        let mut bench = Bench::new(2, 2);
        assert!(faults(&bench.run(&[&right], 1, &under(seeded(seed)))).is_empty(), "seed {seed}");
        assert_eq!(bench.left()[1][1], ROUNDS, "seed {seed}");
        let mut bench = Bench::new(2, 2);
        let outcomes = bench.run(&[&wrong], 1, &under(seeded(seed)));
        assert!(faults(&outcomes).iter().all(|fault| fault.code == Code::GlobalRace));
        races += u32::from(!faults(&outcomes).is_empty());
        stale += u32::from(bench.left()[1][1] != ROUNDS);
    }
    assert!(races > 0 && stale > 12, "{races} of 24 seeds show a race, {stale} a stale value");
}

#[test]
fn launches_of_one_device_follow_each_other_and_are_not_ordered_with_another_s() {
    let write = kernel("write", "setp.eq.u32 %p, %r, 1;\n@%p ret;\nadd.u64 %m, %m, %w;\nst.global.u32 [%m], 5;");
    let own = kernel(
        "own",
        "setp.eq.u32 %p, %r, 1;\n@%p ret;\nxor.b32 %t, %t, 63;\nmul.wide.u32 %w, %t, 4;\nadd.u64 %m, %m, %w;\n\
        ld.global.u32 %v, [%m];\nst.global.u32 [%o], %v;",
    );
    let peer = kernel("peer", "setp.eq.u32 %p, %r, 0;\n@%p ret;\nld.global.u32 %v, [%q];\nst.global.u32 [%m], %v;");
    for schedule in [UNSEEDED, Schedule::Lockstep, seeded(1), seeded(2), seeded(3)] {
        let mut bench = Bench::new(2, 64);
        let outcomes = bench.run(&[&write, &own], 64, &under(schedule));
        assert!(faults(&outcomes).is_empty(), "{schedule}: {:?}", faults(&outcomes));
        assert_eq!(bench.left()[2][0], 5, "{schedule}");
        let outcomes = Bench::new(2, 64).run(&[&write, &peer], 64, &under(schedule));
        assert!(
            faults(&outcomes).iter().any(|fault| fault.code == Code::GlobalRace),
            "{schedule}: no host waits between"
        );
    }
}

#[test]
fn accesses_to_a_peer_are_counted_apart_from_those_to_the_own_memory() {
    let touch = kernel(
        "touch",
        "add.u64 %m, %m, %w;\nadd.u64 %q, %q, %w;\nld.global.u32 %v, [%q];\nld.global.u32 %c, [%m];\nadd.u32 %v, %v, %c;\n\
         setp.ge.u32 %p, %t, 16;\nselp.b64 %d, %q, %m, %p;\nst.global.u32 [%d+128], %v;\nred.relaxed.sys.global.add.u32 [%q+256], 1;",
    );
    let mut bench = Bench::new(2, 96);
    let outcomes = bench.run(&[&touch], 32, &Options { checks: simt::Checks::NONE, ..Options::default() });
    let Counters { global_ld_sectors, global_st_sectors, peer_ld_sectors, peer_ld_bytes, .. } = outcomes[0][0].counters;
    let Counters { peer_st_sectors, peer_st_bytes, peer_atom_sectors, peer_atom_bytes, .. } = outcomes[0][0].counters;
    assert_eq!((global_ld_sectors, global_st_sectors), (8, 4), "all of them, as hardware counts");
    assert_eq!((peer_ld_sectors, peer_ld_bytes, peer_st_sectors, peer_st_bytes), (4, 128, 2, 64));
    assert_eq!((peer_atom_sectors, peer_atom_bytes), (outcomes[0][0].counters.global_red_sectors, 128));
    let object = serde_json::to_value(outcomes[0][0].counters).unwrap();
    assert_eq!(object["ptx_peer_ld_sectors"], 4);
    let mut lines = Counters::default();
    outcomes[0][0].lines.iter().for_each(|line| lines += line.counters);
    assert_eq!(lines, outcomes[0][0].counters);
    assert!(serde_json::to_value(Counters::default()).unwrap().get("ptx_peer_ld_sectors").is_none());
}

#[test]
fn a_device_alone_runs_as_without_devices() {
    let write = kernel(
        "write",
        "add.u64 %m, %m, %w;\nst.global.u32 [%m], %t;\nld.global.u32 %v, [%m+4];\nst.global.u32 [kept], %v;",
    );
    for schedule in [UNSEEDED, Schedule::Lockstep, seeded(9)] {
        let mut bench = Bench::new(1, 64);
        let together = bench.run(&[&write], 64, &under(schedule));
        let mut other = Bench::new(1, 64);
        let launch = other.launch(0, 64);
        let alone = run(&write, &mut other.memory, &launch, &under(schedule)).unwrap();
        assert_eq!(format!("{:?}", together[0][0].faults), format!("{:?}", alone.faults));
        assert!(!alone.faults.is_empty() && alone.faults[0].site.device.is_none());
        assert!(together[0][0].trace == alone.trace && together[0][0].counters == alone.counters);
        assert_eq!(bench.left(), other.left());
    }
}

#[test]
fn each_device_has_variables_of_its_own() {
    let count = kernel("count", "atom.global.add.u32 %v, [kept], 1;\nadd.u64 %m, %m, %w;\nst.global.u32 [%m], %v;");
    for schedule in [UNSEEDED, seeded(1)] {
        let mut bench = Bench::new(4, 1);
        let outcomes = bench.run(&[&count, &count], 1, &under(schedule));
        assert!(faults(&outcomes).is_empty(), "{:?}", faults(&outcomes));
        assert!(bench.left()[..4].iter().all(|left| left == &[1]), "{:?}", bench.left());
    }
}

#[test]
fn streams_are_one_for_each_device() {
    let meet = kernel("meet", MEET);
    let mut bench = Bench::new(2, 1);
    let launches = [0, 1, 40].map(|device| Launch { device, ..bench.launch(0, 1) });
    let [zero, one, far] = launches.each_ref().map(|launch| StreamLaunch { kernel: &meet, launch, overlaps: false });
    let error = |streams: &[Vec<StreamLaunch<'_>>], memory: &mut Memory| {
        run_devices(streams, memory, &Options::default()).expect_err("no such streams")
    };
    assert_eq!(error(&[vec![zero], vec![zero]], &mut bench.memory), LaunchError::Streams { device: 0 });
    assert_eq!(error(&[vec![one, zero]], &mut bench.memory), LaunchError::Streams { device: 1 });
    let message = error(&[vec![zero], vec![far]], &mut bench.memory).to_string();
    assert_eq!(message, "meet: device 40; a simulation has devices 0 to 31");
    let none = run_devices(&[vec![], vec![]], &mut bench.memory, &Options::default()).unwrap();
    assert_eq!(none.len(), 2);
}
