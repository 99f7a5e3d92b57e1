//! Exact sums: bit for bit the sum by arbitrary precision, rounded once, whatever the grid, the alignment, the order and the parts.

use device::{HostOperands, Schedule};
use lab::element::Element;
use lab::op::OnHost as _;
use lab::reference::exact::rounded_once;
use lab::trial::tried;
use lab::verify::verify;
use lab::{Value, with_type};
use proptest::prelude::*;
use reduction::bound::Rounding;
use reduction::card::H200;
use reduction::families::exact::{plan_for, shape_for};
use reduction::plan::Asked;
use reduction::{Exact, ExactSum, Layout, Op, Problem, Reduction, Role, Type};

use crate::trial::{IN_ORDER, any_order, bytes, on_gpu, run};

const OPS: [Op; 4] = [Op::Sum, Op::Mean, Op::Dot, Op::Sumsq];
const TYPES: [Type; 4] = [Type::F32, Type::F64, Type::F16, Type::BF16];

/// Numbers in an order that looks random, the same on every machine.
pub struct Stream(pub u64);

impl Stream {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for i in (1..all.len()).rev() {
            all.swap(i, self.below(i + 1));
        }
    }
}

/// An element of these bits, whose exponent keeps away from that of infinities: finite.
pub fn finite<T: Element>(bits: u64) -> T {
    let size = T::TYPE.bytes() as usize;
    let exponent = match T::TYPE {
        Type::F16 => 0x7c00,
        Type::BF16 => 0x7f80,
        Type::F32 => 0x7f80_0000,
        _ => 0x7ff0_0000_0000_0000,
    };
    let lowest = exponent & !(exponent << 1);
    let bits = if bits & exponent == exponent { bits ^ lowest } else { bits };
    T::from_le(&bits.to_le_bytes()[..size])
}

/// These elements and their negatives, but for those of the first few.
fn with_negatives<T: Element>(mut all: Vec<T>, few: usize) -> Vec<T> {
    let negatives: Vec<T> = all.iter().skip(few).map(|x| T::from_f64(-x.value().to_f64())).collect();
    all.extend(negatives);
    all
}

/// Elements of these bits that nearly all cancel, in an order of the seed's.
pub fn any_cancelling<T: Element>(bits: &[u64], seed: u64) -> Vec<T> {
    let mut all = with_negatives(bits.iter().map(|&bits| finite(bits)).collect(), 1);
    Stream(seed).shuffle(&mut all);
    all
}

/// Random bits, of which all but a few meet their negatives, so that nearly all of any sum is cancelled.
pub fn cancelling<T: Element>(n: usize, seed: u64) -> Vec<T> {
    let mut stream = Stream(seed);
    let mut all = with_negatives((0..n / 2).map(|_| finite(stream.next())).collect(), 3);
    while all.len() < n {
        all.push(finite(stream.next()));
    }
    stream.shuffle(&mut all);
    all
}

/// A run of a plan over elements that begin so many behind a multiple of 256 bytes; a dot product is with the second half.
fn left<T: Element>(reduction: &Reduction, op: Op, all: &[T], begin: [usize; 2], schedule: Schedule) -> Vec<u8> {
    let (first, second) = all.split_at(all.len() / op.arrays() as usize);
    let second = bytes(second);
    let others: &[(Role, &[u8])] = if op.arrays() == 2 { &[(Role::Other, &second)] } else { &[] };
    let begin = [begin[0] * T::BYTES, begin[1] * T::BYTES, 0];
    let operands = HostOperands { input: &bytes(first), others, begin, in_place: false };
    // Twice, so that the state that one run leaves is what the next one finds.
    run(reduction, &operands, schedule, &H200, 2).unwrap_or_else(|error| panic!("{reduction:?}: {error}"))
}

/// The result, judged.
fn judged<T: Element>(op: Op, all: &[T], left: &[u8], what: &str) -> Value {
    let result = op.result(T::TYPE, left).expect("a result");
    let right = rounded_once(op, &T::array(all.to_vec())).expect("an exact reference");
    let verdict = verify(result, &right, Rounding::EXACT, T::TYPE);
    assert!(!verdict.is_wrong(), "{op} {} {what}: {} for {}", T::TYPE, result.bits(), right.expected.bits());
    result
}

fn elements<T: Element>(op: Op, n: usize, seed: u64) -> Vec<T> {
    (0..op.arrays()).flat_map(|array| cancelling(n, seed + array)).collect()
}

fn passes<T: Element>(op: Op, all: &[T], begin: [usize; 2], schedule: Schedule) -> Value {
    let n = all.len() as u64 / op.arrays();
    let reduction = Exact::new(op, T::TYPE, n).reduction(&H200).expect("a plan");
    judged(op, all, &left(&reduction, op, all, begin, schedule), &format!("n = {n}, begin {begin:?}"))
}

#[test]
fn awkward_sizes_at_any_place_are_right_bit_for_bit() {
    for ty in TYPES {
        for op in OPS {
            for (n, begin) in [(0, [0, 0]), (1, [1, 1]), (31, [0, 0]), (33, [3, 3]), (257, [1, 2]), (4099, [3, 3])] {
                with_type!(ty, T => passes::<T>(op, &elements::<T>(op, n, n as u64 + 7), begin, IN_ORDER));
            }
        }
    }
}

/// The result by a plan with this grid.
fn by_grid<T: Element>(op: Op, all: &[T], grid: u32, begin: [usize; 2], schedule: Schedule) -> String {
    let n = all.len() as u64 / op.arrays();
    let problem = Problem::new(op, T::TYPE, n, Layout::Array, &H200);
    let reduction = Exact::new(op, T::TYPE, n).reduction(&H200).expect("a plan");
    let asked = problem.with_asked(Asked::new(None, Some(grid), None));
    let plan = plan_for(&asked, shape_for(&asked), false);
    assert_eq!(plan.grid(), grid);
    // SAFETY: launches of the family, in a shape that it has.
    let reduction = unsafe { reduction.with_plan(plan) };
    judged(op, all, &left(&reduction, op, all, begin, schedule), &format!("grid {grid}, begin {begin:?}")).bits()
}

fn one_result<T: Element>(op: Op, n: usize) {
    let mut all: Vec<T> = elements(op, n, 99);
    let first = by_grid(op, &all, 1, [0, 0], IN_ORDER);
    for (grid, begin) in [(2, [0, 0]), (3, [1, 1]), (5, [2, 1])] {
        assert_eq!(by_grid(op, &all, grid, begin, IN_ORDER), first);
    }
    any_order(&first, &op, |schedule| by_grid(op, &all, 4, [0, 0], schedule));
    if op != Op::Dot {
        for seed in 0..3 {
            Stream(seed).shuffle(&mut all);
            assert_eq!(by_grid(op, &all, 3, [0, 0], IN_ORDER), first, "another order of the elements");
        }
    }
}

#[test]
fn every_grid_alignment_schedule_and_order_gives_one_result() {
    let kinds = TYPES.iter().flat_map(|&ty| OPS.map(|op| (ty, op))).collect();
    for (ty, op) in tried(kinds) {
        with_type!(ty, T => one_result::<T>(op, 5003));
    }
}

/// The sum of the parts between these bounds, merged from the last to the first.
fn merged<T: Element>(op: Op, all: &[T], bounds: &[usize]) -> ExactSum {
    let (first, second) = all.split_at(all.len() / op.arrays() as usize);
    let parts = bounds.windows(2).rev().map(|bound| {
        let range = bound[0]..bound[1];
        let other = if second.is_empty() { &[] } else { &second[range.clone()] };
        let exact = Exact::new(op, T::TYPE, range.len() as u64).with_limbs();
        let reduction = exact.reduction(&H200).expect("a plan");
        assert_eq!(reduction.result_bytes() as usize, 4 * exact.words());
        let left = left(&reduction, op, &[&first[range], other].concat(), [1, 1], IN_ORDER);
        let words = left.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
        let sum = exact.read(&words.collect::<Vec<u32>>()).expect("a part");
        ExactSum::from_bytes(&sum.to_bytes()).expect("its bytes")
    });
    parts
        .reduce(|mut sum, part| {
            sum.merge(&part).expect("one unit");
            sum
        })
        .expect("a part")
}

fn parts_agree<T: Element>(op: Op, n: usize) {
    let all: Vec<T> = elements(op, n, 5);
    let whole = passes(op, &all, [0, 0], IN_ORDER).bits();
    for bounds in [vec![0, n], vec![0, 1, n], vec![0, 0, 700, 701, n], vec![0, n / 3, n / 2, n, n]] {
        let sum = merged(op, &all, &bounds);
        assert_eq!(sum.elements(), n as u64);
        let rounded = match (op, T::TYPE) {
            (Op::Mean, Type::F64) => Value::F64(sum.mean_f64()),
            (Op::Mean, _) => Value::F32(sum.mean_f32()),
            (_, Type::F64) => Value::F64(sum.to_f64()),
            _ => Value::F32(sum.to_f32()),
        };
        assert_eq!(rounded.bits(), whole, "{op} {} in parts {bounds:?}", T::TYPE);
    }
}

#[test]
fn parts_of_an_array_make_the_same_bits_as_the_whole() {
    for ty in TYPES {
        for op in OPS {
            with_type!(ty, T => parts_agree::<T>(op, 2501));
        }
    }
}

#[test]
fn what_is_not_finite_zeros_and_overflow_follow_ieee() {
    let of = |values: &[f32]| passes(Op::Sum, values, [0, 0], IN_ORDER).bits();
    let (inf, max, tiny) = (f32::INFINITY, f32::MAX, f32::from_bits(1));
    let bits = |x: f32| Value::F32(x).bits();
    assert_eq!(of(&[1.0, inf, -max]), bits(inf));
    assert_eq!(of(&[-inf, 1.0, -inf]), bits(-inf));
    for nan in [&[f32::NAN, 1.0][..], &[inf, -inf], &[f32::NAN, -inf]] {
        assert!(passes(Op::Sum, nan, [0, 0], IN_ORDER).to_f64().is_nan());
    }
    assert_eq!((of(&[-0.0; 70]), of(&[-0.0, 0.0]), of(&[max, -max])), (bits(-0.0), bits(0.0), bits(0.0)));
    assert_eq!((of(&[max, max, -max]), of(&[max, max])), (bits(max), bits(inf)));
    assert_eq!((of(&[tiny; 9]), of(&[1e30, -tiny, -1e30])), (bits(9.0 * tiny), bits(-tiny)));
    assert!(passes(Op::Dot, &[0.0f32, 1.0, inf, 1.0], [0, 0], IN_ORDER).to_f64().is_nan(), "0 times an infinity");
    assert_eq!(passes(Op::Mean, &[max, max], [0, 0], IN_ORDER).bits(), bits(max));
    assert_eq!(passes(Op::Mean, &[-tiny, -0.0, -0.0], [0, 0], IN_ORDER).bits(), bits(-0.0));
    assert!(passes::<f64>(Op::Mean, &[], [0, 0], IN_ORDER).to_f64().is_nan());
}

/// Bits of any double, and patterns at the edges of formats.
pub fn any_bits() -> impl Strategy<Value = u64> {
    let edges = [0, 1 << 63, 1, 0x7f7f_ffff, 0x8000_0001, 0x7fef_ffff_ffff_ffff, 0x0080_0000, 0x3c01, 0x8000, 0x7f7f];
    prop_oneof![4 => any::<u64>(), 1 => prop::sample::select(edges.to_vec())]
}

fn any_patterns<T: Element>(op: Op, bits: &[u64], begin: [usize; 2], seed: u64) {
    let mut all: Vec<T> = any_cancelling(bits, seed);
    all.truncate(all.len() / 2 * 2);
    passes(op, &all, begin, Schedule::Independent { seed: Some(seed) });
}

/// Few cases on the simulator, and as many as the script says on a GPU.
pub fn cases(few: u32) -> ProptestConfig {
    let all = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if on_gpu() { all } else { ProptestConfig { cases: few, ..all } }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn any_bits_that_cancel_are_right_bit_for_bit(
        bits in prop::collection::vec(any_bits(), 0..400), begin in prop::array::uniform2(0..8usize), seed in any::<u64>(),
    ) {
        for ty in TYPES {
            for op in OPS {
                with_type!(ty, T => any_patterns::<T>(op, &bits, begin, seed));
            }
        }
    }
}
