//! The kernels of chapter 14, launched as the library's group says, on two, four and eight devices of the simulator: results bit by bit, faults, and what crosses the links.

use std::collections::BTreeSet;
use std::path::Path;

use device::card::H200;
use device::{
    Arg, Buffer, Call, Checks, Code, DeviceAddress, Geometry, KernelSource, Peers, Report, Scalar, Schedule, SimOptions,
};
use half::bf16;
use reduction::{Group, Memory, Op, RankLaunch, Route, Share, Type};

const SLUG: &str = "ch14-all-reduce";
/// Small launches of more than one block, in place of those that fill a card.
const GRID: u32 = 2;
const BLOCK: u32 = 64;
/// Calls one after the other: both halves of the staging array are used again.
const CALLS: usize = 4;

/// A type of elements, each of which a float holds.
trait Element: Scalar + Into<f32> {
    fn narrow(value: f32) -> Self;

    fn widen(self) -> f32 {
        self.into()
    }
}

impl Element for f32 {
    fn narrow(value: f32) -> f32 {
        value
    }
}

impl Element for bf16 {
    fn narrow(value: f32) -> bf16 {
        bf16::from_f32(value)
    }
}

/// One case: ranks, elements, how far behind an aligned address arrays begin, in elements (on odd ranks one more, if at all), whether results take the input's place, and
/// whether every other call is of nothing.
#[derive(Debug, Clone, Copy)]
struct Case {
    ranks: usize,
    n: usize,
    begin: usize,
    in_place: bool,
    has_gaps: bool,
    schedule: Schedule,
}

fn case(ranks: usize, n: usize, begin: usize, schedule: Schedule) -> Case {
    Case { ranks, n, begin, in_place: false, has_gaps: false, schedule }
}

/// Element i of a rank in a call: of any size and sign, so that the order of additions shows; for the largest, now and then a NaN.
fn element<T: Element>(op: Op, call: usize, rank: usize, i: usize) -> T {
    if op == Op::Maximum && i % 29 == 3 * rank + call {
        return T::narrow(f32::NAN);
    }
    let mut bits = (call as u64) << 40 | (rank as u64) << 32 | i as u64;
    for _ in 0..3 {
        bits = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (bits >> 29);
    }
    let scale = [1.0, 1e-4, 3e3][(bits >> 20) as usize % 3];
    T::narrow(((bits & 0xffff) as f32 / 65536.0 - 0.5) * scale)
}

/// The result in the order of ranks. A NaN wins where the largest is asked for.
fn expected<T: Element>(op: Op, ranks: usize, call: usize, i: usize) -> T {
    let all = (0..ranks).map(|rank| element::<T>(op, call, rank, i).widen());
    let combine = |a: f32, b: f32| match op {
        Op::Sum => a + b,
        _ if a.is_nan() || b.is_nan() => f32::NAN,
        _ => a.max(b),
    };
    T::narrow(all.reduce(combine).expect("a rank at least"))
}

/// Results by call and rank, calls as the first block of each rank has counted them, and the reports by rank and call.
struct Left<T> {
    results: Vec<Vec<Vec<T>>>,
    counted: Vec<u32>,
    reports: Vec<Vec<Report>>,
}

impl<T> Left<T> {
    fn codes(&self) -> BTreeSet<&'static str> {
        let faults = self.reports.iter().flatten().flat_map(|report| &report.faults);
        faults.map(|fault| fault.code.name()).collect()
    }
}

fn upload<T: Scalar>(peers: &Peers, name: &str, values: impl Fn(usize) -> Vec<T>) -> Vec<Buffer<T>> {
    let all = peers.devices().iter().enumerate();
    all.map(|(rank, device)| device.upload(name, &values(rank)).expect("room for it")).collect()
}

/// Makes `CALLS` calls on each rank, all ranks at once, by these routes in turn. A wrong kernel is launched in place of the first one's.
fn run<T: Element>(routes: &[Route], wrong: Option<&str>, op: Op, case: Case, checks: Checks) -> Left<T> {
    let Case { ranks, n, begin, in_place, has_gaps, schedule } = case;
    let begin = |rank: usize| if begin > 0 { begin + rank % 2 } else { 0 };
    let peers = Peers::simulated(ranks as u32, SimOptions { schedule, checks, ..SimOptions::default() }).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate lies in the workspace");
    let source = KernelSource::in_root(root, SLUG);
    let modules: Vec<_> = peers.devices().iter().map(|device| device.load_with(&source, &[]).unwrap()).collect();
    let ty = Type::from_name(T::NAME).expect("a type of elements");
    let group = Group::new(op, ty, n as u64, &vec![&H200; ranks]).unwrap().with_routes(routes);
    let room = group.room();
    let zeros = |name, bytes: u64| upload(&peers, name, |_| vec![0u32; bytes as usize / 4]);
    let [stage, words, flags, counts] =
        [("stage", room.stage), ("words", room.words), ("flags", room.flags), ("calls", room.calls)]
            .map(|(name, bytes)| zeros(name, bytes));
    let input = |call: usize| {
        let values =
            move |rank| (0..begin(rank) + n).map(|i| element(op, call, rank, i.wrapping_sub(begin(rank)))).collect();
        upload::<T>(&peers, "in", values)
    };
    let inputs: Vec<Vec<Buffer<T>>> = (1..=CALLS).map(input).collect();
    let apart: Vec<Vec<Buffer<T>>> =
        (0..CALLS).map(|_| upload(&peers, "out", |rank| vec![T::narrow(-7.0); begin(rank) + n])).collect();
    let outs = if in_place { &inputs } else { &apart };
    let behind = |rank: usize, buffer: &Buffer<T>| {
        let (address, bytes) = (buffer.address() + (begin(rank) * T::BYTES) as u64, (n * T::BYTES) as u64);
        Memory { address, bytes }
    };
    let whole = |buffer: &Buffer<u32>| Memory { address: buffer.address(), bytes: buffer.bytes() };
    let launches = (0..CALLS).map(|call| {
        let share = |rank: usize| Share {
            input: behind(rank, &inputs[call][rank]),
            out: behind(rank, &outs[call][rank]),
            stage: whole(&stage[rank]),
            words: whole(&words[rank]),
            flags: whole(&flags[rank]),
            calls: whole(&counts[rank]),
        };
        let shares: Vec<Share> = (0..ranks).map(share).collect();
        let n = if has_gaps && call % 2 == 1 { 0 } else { n };
        let call = group.call(routes[call % routes.len()], n as u64).unwrap();
        call.launches(&shares).unwrap().into_iter().map(|launch| (call.kernel(), launch)).collect()
    });
    let launches: Vec<Vec<(String, RankLaunch)>> = launches.collect();
    let call = |rank: usize, call: usize| {
        let (kernel, launch) = &launches[call][rank];
        let numbers = launch.numbers.map(Arg::U32);
        let args =
            [Arg::Words(launch.arrays.to_vec())].into_iter().chain(numbers).chain([Arg::U64(launch.n)]).collect();
        Call { module: &modules[rank], kernel: wrong.unwrap_or(kernel), geometry: Geometry::linear(GRID, BLOCK), args }
    };
    let calls: Vec<Vec<Call<'_>>> = (0..ranks).map(|rank| (0..CALLS).map(|at| call(rank, at)).collect()).collect();
    let reports = peers.launch(&calls).unwrap();
    let download = |outs: &Vec<Buffer<T>>| {
        let each = peers.devices().iter().zip(outs).enumerate();
        each.map(|(rank, (device, out))| device.download(out).unwrap().split_off(begin(rank))).collect()
    };
    // Two words of each number, and first those of routes that meet.
    let counted = peers.devices().iter().zip(&counts).map(|(device, counts)| {
        let words = device.download(counts).unwrap();
        words[0] + words[words.len() / 2]
    });
    Left { results: outs.iter().map(download).collect(), counted: counted.collect(), reports }
}

fn seeded(seed: u64) -> Schedule {
    Schedule::Independent { seed: Some(seed) }
}

fn schedules() -> impl Iterator<Item = Schedule> {
    [Schedule::Lockstep, Schedule::Independent { seed: None }].into_iter().chain((0..8).map(seeded))
}

fn judge<T: Element>(routes: &[Route], op: Op, case: Case) {
    let left = run::<T>(routes, None, op, case, Checks::ALL);
    let what = format!("{op} by {routes:?} of {}, {case:?}", T::NAME);
    for report in left.reports.iter().flatten() {
        assert!(report.faults.is_empty() && report.notes.is_empty(), "{what}: {:?} {:?}", report.faults, report.notes);
    }
    let calls = if case.has_gaps { CALLS / 2 } else { CALLS } as u32;
    assert!(case.n == 0 || left.counted.iter().all(|&counted| counted == calls), "{what}: {:?} calls", left.counted);
    for (call, ranks) in left.results.iter().enumerate() {
        if case.has_gaps && call % 2 == 1 {
            assert!(ranks.iter().flatten().all(|x| x.widen() == -7.0), "{what}: a call of nothing wrote");
            continue;
        }
        for (rank, result) in ranks.iter().enumerate() {
            let value = |i| expected::<T>(op, case.ranks, call + 1, i);
            let is_right = |(i, left): (usize, &T)| match value(i) {
                value if value.widen().is_nan() => left.widen().is_nan(),
                value => left.widen().to_bits() == value.widen().to_bits(),
            };
            let right = result.iter().enumerate().all(is_right) && result.len() == case.n;
            assert!(right, "{what}: rank {rank} has another result in call {call}");
        }
    }
}

#[test]
fn every_rank_of_a_few_has_the_sum_in_the_order_of_ranks_under_every_schedule() {
    [2, 4].into_iter().for_each(sums_in_the_order_of_ranks);
}

#[test]
fn every_rank_of_eight_has_the_sum_in_the_order_of_ranks_under_every_schedule() {
    sums_in_the_order_of_ranks(8);
}

fn sums_in_the_order_of_ranks(ranks: usize) {
    for (at, schedule) in schedules().enumerate() {
        // One type or the other under each schedule, which does not see what it orders; both by each route.
        for (i, &route) in Route::ALL.iter().enumerate() {
            match (at + i) % 2 {
                0 => judge::<f32>(&[route], Op::Sum, case(ranks, 301, at % 3, schedule)),
                _ => judge::<bf16>(&[route], Op::Sum, case(ranks, 299, at % 5, schedule)),
            }
        }
    }
}

#[test]
fn the_largest_of_all_ranks_and_any_number_of_ranks() {
    for ranks in [1, 2, 3, 5, 8] {
        for route in Route::ALL {
            judge::<f32>(&[route], Op::Maximum, case(ranks, 130, 0, seeded(ranks as u64)));
            judge::<bf16>(&[route], Op::Maximum, case(ranks, 131, 1, seeded(ranks as u64)));
        }
    }
}

#[test]
fn lengths_about_packs_blocks_and_parts() {
    for n in [0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 512, 515] {
        for route in Route::ALL {
            judge::<f32>(&[route], Op::Sum, case(3, n, n % 2, seeded(n as u64)));
            judge::<bf16>(&[route], Op::Sum, case(3, n, n % 3, seeded(n as u64)));
        }
    }
}

/// Routes that meet share a staging array and its flags, and results may take the input's place.
#[test]
fn algorithms_follow_each_other_in_one_staging_array() {
    for schedule in schedules() {
        let case = case(3, 200, 0, schedule);
        use Route::{LowLatency, OneShotPull, OneShotPush, TwoShotDirect, TwoShotPush};
        judge::<f32>(&[TwoShotPush, OneShotPull, LowLatency, TwoShotDirect, OneShotPush], Op::Sum, case);
        judge::<bf16>(&[OneShotPush, LowLatency, TwoShotDirect], Op::Sum, Case { in_place: true, ..case });
    }
}

/// A call of nothing waits for no peer, and must not count: the next call would take the half that a peer still reads.
#[test]
fn calls_of_nothing_do_not_count() {
    for (ranks, schedule) in [2, 3].into_iter().flat_map(|ranks| schedules().map(move |schedule| (ranks, schedule))) {
        for route in Route::ALL {
            judge::<f32>(&[route], Op::Sum, Case { has_gaps: true, ..case(ranks, 200, 0, schedule) });
        }
    }
}

fn run_wrong(kernel: &str, case: Case) -> Left<f32> {
    run(&[Route::OneShotPull], Some(kernel), Op::Sum, case, Checks::ALL)
}

/// A wrong kernel is found by the announced fault, in every run or at least in some.
#[test]
fn wrong_meetings_are_races_between_devices() {
    for (kernel, at_least) in [("device_scope_f32", 10), ("overwritten_f32", 10), ("reused_f32", 8)] {
        for ranks in [2, 4, 8] {
            let mut found = 0;
            for schedule in schedules() {
                let left = run_wrong(kernel, case(ranks, 257, 0, schedule));
                let codes = left.codes();
                assert!(codes.is_empty() || codes == BTreeSet::from([Code::GlobalRace.name()]), "{kernel}: {codes:?}");
                let between = left.reports.iter().flatten().flat_map(|report| &report.faults).all(|fault| {
                    let other = fault.other.as_ref().expect("a pair");
                    fault.site.device != other.device && fault.why.contains("two devices")
                });
                assert!(between, "{kernel}: a race within a device");
                found += usize::from(!codes.is_empty());
            }
            assert!(found >= at_least, "{kernel} on {ranks} ranks: a race under {found} of 10 schedules");
        }
    }
}

#[test]
fn ranks_that_add_in_order_of_arrival_have_other_bits_each_time() {
    let mut sums = BTreeSet::new();
    let mut ranks_differ = 0;
    for seed in 0..8 {
        let left = run_wrong("arrival_f32", case(4, 64, 0, seeded(seed)));
        assert!(left.codes().is_empty(), "no race finds it: {:?}", left.codes());
        let bits: Vec<Vec<u32>> = left.results[0].iter().map(|sum| sum.iter().map(|x| x.to_bits()).collect()).collect();
        ranks_differ += u32::from(bits.iter().any(|other| *other != bits[0]));
        sums.insert(bits);
    }
    assert!(ranks_differ > 4 && sums.len() > 4, "ranks differ in {ranks_differ} of 8 runs, {} results", sums.len());
}

/// Bytes over the links, as the head of the kernels has them: a rank gets R - 1 arrays over its links in one shot, and two times (R - 1) / R of one in two.
#[test]
fn two_shots_move_fewer_bytes_than_one() {
    let (ranks, n) = (8, 1024);
    let case = case(ranks, n, 0, Schedule::Independent { seed: None });
    let array = 4 * n as u64;
    let (one, two) = (7 * array, 2 * 7 * array / 8);
    // What each rank reads from its peers, and what it writes to them.
    let routes = [
        (Route::OneShotPull, one, 0),
        (Route::OneShotPush, 0, one),
        (Route::TwoShotPush, 0, two),
        (Route::TwoShotDirect, two / 2, two / 2),
    ];
    for (route, read, written) in routes {
        assert_eq!(route.link_bytes(array, ranks as u32), read + written, "{route}");
        let left = run::<f32>(&[route], None, Op::Sum, case, Checks::NONE);
        for report in left.reports.iter().flatten() {
            let counters = report.counters.expect("the simulator counts");
            let flags = counters.peer_st_bytes - written;
            assert!(counters.peer_ld_bytes == read && flags <= 2 * 8 * 7 * u64::from(GRID), "{route}: {flags}");
        }
    }
}
