//! The kernels of chapter 14 on two, four and eight devices of the simulator: results bit by bit, faults, and what crosses the links.

use std::collections::BTreeSet;
use std::path::Path;

use device::{
    Arg, Buffer, Call, Checks, Code, DeviceAddress, Geometry, KernelSource, Peers, Report, Scalar, Schedule, SimOptions,
};
use half::bf16;

const SLUG: &str = "ch14-all-reduce";
/// What the kernels have room for.
const RANKS_MAX: usize = 8;
const PACK_BYTES: usize = 16;
const GRID: u32 = 2;
const BLOCK: u32 = 64;
/// Calls one after the other: both halves of the staging array are used again.
const CALLS: usize = 4;

const ALGORITHMS: [&str; 5] = ["one_shot_pull", "one_shot_push", "two_shot_pull", "two_shot_push", "low_latency"];

/// A type of elements, with what is left of a sum of floats.
trait Element: Scalar + PartialEq + std::fmt::Debug {
    fn widen(self) -> f32;
    fn narrow(value: f32) -> Self;
    fn bits(self) -> u32;
}

impl Element for f32 {
    fn widen(self) -> f32 {
        self
    }
    fn narrow(value: f32) -> f32 {
        value
    }
    fn bits(self) -> u32 {
        self.to_bits()
    }
}

impl Element for bf16 {
    fn widen(self) -> f32 {
        self.to_f32()
    }
    fn narrow(value: f32) -> bf16 {
        bf16::from_f32(value)
    }
    fn bits(self) -> u32 {
        self.to_bits().into()
    }
}

/// One case: ranks, elements, and how far behind an aligned address arrays begin, in elements.
#[derive(Debug, Clone, Copy)]
struct Case {
    ranks: usize,
    n: usize,
    begin: usize,
    schedule: Schedule,
}

/// Element i of a rank in a call: of any size and sign, so that the order of additions shows; for the largest, now and then a NaN.
fn element<T: Element>(op: &str, call: usize, rank: usize, i: usize) -> T {
    if op == "maximum" && i % 29 == 3 * rank + call {
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
fn expected<T: Element>(op: &str, ranks: usize, call: usize, i: usize) -> T {
    let all = (0..ranks).map(|rank| element::<T>(op, call, rank, i).widen());
    let combine = |a: f32, b: f32| match op {
        "sum" => a + b,
        _ if a.is_nan() || b.is_nan() => f32::NAN,
        _ => a.max(b),
    };
    T::narrow(all.reduce(combine).expect("a rank at least"))
}

/// How the library names kernels: a sum is not said.
fn entry_name(algorithm: &str, op: &str, ty: &str) -> String {
    if op == "sum" { format!("{algorithm}_{ty}") } else { format!("{algorithm}_{op}_{ty}") }
}

/// Results by call and rank, and the reports by rank and call.
struct Left<T> {
    results: Vec<Vec<Vec<T>>>,
    reports: Vec<Vec<Report>>,
}

impl<T> Left<T> {
    fn codes(&self) -> BTreeSet<&'static str> {
        let faults = self.reports.iter().flatten().flat_map(|report| &report.faults);
        faults.map(|fault| fault.code.name()).collect()
    }
}

fn upload<T: Scalar>(peers: &Peers, name: &str, values: impl Fn(usize) -> Vec<T>, ranks: usize) -> Vec<Buffer<T>> {
    let all = peers.devices().iter().enumerate().take(ranks);
    all.map(|(rank, device)| device.upload(name, &values(rank)).expect("room for it")).collect()
}

/// Makes `CALLS` calls on each rank, all ranks at once, with these kernels in turn; their names have the operator.
fn run<T: Element>(kernels: &[String], case: Case, checks: Checks) -> Left<T> {
    let op = if kernels[0].contains("_maximum_") { "maximum" } else { "sum" };
    let Case { ranks, n, begin, schedule } = case;
    let peers = Peers::simulated(ranks as u32, SimOptions { schedule, checks, ..SimOptions::default() }).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate lies in the workspace");
    let source = KernelSource::in_root(root, SLUG);
    let modules: Vec<_> = peers.devices().iter().map(|device| device.load_with(&source, &[]).unwrap()).collect();
    let slot = (n * T::BYTES).div_ceil(PACK_BYTES);
    // Each four bytes of a message may travel with an epoch.
    let (slot, half) = (2 * slot, 2 * slot * RANKS_MAX);
    let stage = upload(&peers, "stage", |_| vec![0u64; 2 * half * PACK_BYTES / 8], ranks);
    let flags = upload(&peers, "flags", |_| vec![0u32; GRID as usize * RANKS_MAX], ranks);
    let inputs = |call: usize| {
        let input =
            move |rank| (0..begin + n).map(|i| element(op, call, rank, i.wrapping_sub(begin))).collect::<Vec<T>>();
        upload(&peers, "in", input, ranks)
    };
    let inputs: Vec<Vec<Buffer<T>>> = (1..=CALLS).map(inputs).collect();
    let outs: Vec<Vec<Buffer<T>>> =
        (0..CALLS).map(|_| upload(&peers, "out", |_| vec![T::narrow(-7.0); begin + n], ranks)).collect();
    let offset = (begin * T::BYTES) as u64;
    let call = |rank: usize, call: usize| {
        // Addresses by rank, null beyond the last.
        let mut arrays = vec![inputs[call][rank].address() + offset];
        arrays.extend((0..RANKS_MAX).map(|at| outs[call].get(at).map_or(0, |out| out.address() + offset)));
        arrays.extend((0..RANKS_MAX).map(|at| stage.get(at).map_or(0, DeviceAddress::address)));
        arrays.extend((0..RANKS_MAX).map(|at| flags.get(at).map_or(0, DeviceAddress::address)));
        let numbers = [rank, ranks, call + 1, slot, half].map(|number| Arg::U32(number as u32));
        let args = [Arg::Words(arrays)].into_iter().chain(numbers).chain([Arg::U64(n as u64)]).collect();
        let kernel = &kernels[call % kernels.len()];
        Call { module: &modules[rank], kernel, geometry: Geometry::linear(GRID, BLOCK), args }
    };
    let calls: Vec<Vec<Call<'_>>> = (0..ranks).map(|rank| (0..CALLS).map(|at| call(rank, at)).collect()).collect();
    let reports = peers.launch(&calls).unwrap();
    let result = |(device, out): (_, &Buffer<T>)| {
        let device: &device::Device = device;
        device.download(out).unwrap().split_off(begin)
    };
    let results = outs.iter().map(|outs| peers.devices().iter().zip(outs).map(result).collect()).collect();
    Left { results, reports }
}

fn seeded(seed: u64) -> Schedule {
    Schedule::Independent { seed: Some(seed) }
}

fn schedules() -> impl Iterator<Item = Schedule> {
    [Schedule::Lockstep, Schedule::Independent { seed: None }].into_iter().chain((0..8).map(seeded))
}

fn judge<T: Element>(algorithms: &[&str], op: &str, case: Case) {
    let kernels: Vec<String> = algorithms.iter().map(|name| entry_name(name, op, T::NAME)).collect();
    let left = run::<T>(&kernels, case, Checks::ALL);
    let what = format!("{kernels:?}, {case:?}");
    for report in left.reports.iter().flatten() {
        assert!(report.faults.is_empty() && report.notes.is_empty(), "{what}: {:?} {:?}", report.faults, report.notes);
    }
    for (call, ranks) in left.results.iter().enumerate() {
        for (rank, result) in ranks.iter().enumerate() {
            let value = |i| expected::<T>(op, case.ranks, call + 1, i);
            let is_right = |(i, left): (usize, &T)| match value(i) {
                value if value.widen().is_nan() => left.widen().is_nan(),
                value => left.bits() == value.bits(),
            };
            let right = result.iter().enumerate().all(is_right) && result.len() == case.n;
            assert!(right, "{what}: rank {rank} has another result in call {call}");
        }
    }
}

#[test]
fn every_rank_has_the_sum_in_the_order_of_ranks_under_every_schedule() {
    for ranks in [2, 4, 8] {
        for (at, schedule) in schedules().enumerate() {
            for algorithm in ALGORITHMS {
                judge::<f32>(&[algorithm], "sum", Case { ranks, n: 301, begin: at % 3, schedule });
                judge::<bf16>(&[algorithm], "sum", Case { ranks, n: 299, begin: at % 5, schedule });
            }
        }
    }
}

#[test]
fn the_largest_of_all_ranks_and_any_number_of_ranks() {
    for ranks in [1, 2, 3, 5, 8] {
        for algorithm in ALGORITHMS {
            judge::<f32>(&[algorithm], "maximum", Case { ranks, n: 130, begin: 0, schedule: seeded(ranks as u64) });
            judge::<bf16>(&[algorithm], "maximum", Case { ranks, n: 131, begin: 1, schedule: seeded(ranks as u64) });
        }
    }
}

#[test]
fn lengths_about_packs_blocks_and_parts() {
    for n in [0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 512, 515] {
        for algorithm in ALGORITHMS {
            judge::<f32>(&[algorithm], "sum", Case { ranks: 3, n, begin: n % 2, schedule: seeded(n as u64) });
            judge::<bf16>(&[algorithm], "sum", Case { ranks: 3, n, begin: n % 3, schedule: seeded(n as u64) });
        }
    }
}

/// All but that of the fewest bytes share a staging array and its flags.
#[test]
fn algorithms_follow_each_other_in_one_staging_array() {
    for schedule in schedules() {
        let case = Case { ranks: 3, n: 200, begin: 0, schedule };
        judge::<f32>(&["two_shot_push", "one_shot_pull", "two_shot_pull", "one_shot_push"], "sum", case);
        judge::<bf16>(&["one_shot_push", "two_shot_pull"], "sum", case);
    }
}

/// A wrong kernel is found by the announced fault, in every run or at least in some.
#[test]
fn wrong_meetings_are_races_between_devices() {
    for (kernel, at_least) in [("device_scope_f32", 10), ("overwritten_f32", 10), ("reused_f32", 8)] {
        for ranks in [2, 4, 8] {
            let mut found = 0;
            for schedule in schedules() {
                let left = run::<f32>(&[kernel.to_owned()], Case { ranks, n: 257, begin: 0, schedule }, Checks::ALL);
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
        let case = Case { ranks: 4, n: 64, begin: 0, schedule: seeded(seed) };
        let left = run::<f32>(&["arrival_f32".to_owned()], case, Checks::ALL);
        assert!(left.codes().is_empty(), "no race finds it: {:?}", left.codes());
        let bits: Vec<Vec<u32>> = left.results[0].iter().map(|sum| sum.iter().map(|x| x.to_bits()).collect()).collect();
        ranks_differ += u32::from(bits.iter().any(|other| *other != bits[0]));
        sums.insert(bits);
    }
    assert!(ranks_differ > 4 && sums.len() > 4, "ranks differ in {ranks_differ} of 8 runs, {} results", sums.len());
}

/// What the head of the kernels says: a rank gets R - 1 arrays over its links in one shot, and two times (R - 1) / R of one in two.
#[test]
fn two_shots_move_fewer_bytes_than_one() {
    let (ranks, n) = (8, 1024);
    let case = Case { ranks, n, begin: 0, schedule: Schedule::Independent { seed: None } };
    let array = 4 * n as u64;
    for (algorithm, bytes) in [("one_shot", 7 * array), ("two_shot", 2 * 7 * array / 8)] {
        let of = |way: &str| run::<f32>(&[format!("{algorithm}_{way}_f32")], case, Checks::NONE);
        let (pull, push) = (of("pull"), of("push"));
        for report in pull.reports.iter().flatten() {
            assert_eq!(report.counters.expect("the simulator counts").peer_ld_bytes, bytes, "{algorithm}, pull");
        }
        for report in push.reports.iter().flatten() {
            let counters = report.counters.expect("the simulator counts");
            let flags = counters.peer_st_bytes - bytes;
            assert!(counters.peer_ld_bytes == 0 && flags <= 2 * 4 * 7 * u64::from(GRID), "{algorithm}, push: {flags}");
        }
    }
}
