//! Exact sums and means of rows, columns, axes and ragged rows: bit for bit those by arbitrary precision, whatever the shape.

use device::{HostOperands, Schedule};
use half::{bf16, f16};
use lab::element::Element;
use lab::op::OnHost as _;
use lab::reference::exact::rounded_once;
use lab::trial::tried;
use lab::verify::verify;
use lab::with_type;
use proptest::prelude::*;
use reduction::bound::Rounding;
use reduction::card::H200;
use reduction::families::exact_rows::{Shape, plan_for, shape_for};
use reduction::{Axis, Determinism, Exact, Layout, Matrix, Op, Problem, Reduction, Role, Segments, Type};

use crate::exact::{any_bits, any_cancelling, cancelling, cases};
use crate::trial::{IN_ORDER, bytes, run_all, words};

const TYPES: [Type; 4] = [Type::F32, Type::F64, Type::F16, Type::BF16];
const RANDOM: Schedule = Schedule::Independent { seed: Some(3) };

/// Elements in a layout, and where each begins.
struct Trial<T> {
    op: Op,
    layout: Layout,
    offsets: Vec<u64>,
    all: Vec<T>,
    begin: usize,
}

impl<T: Element> Trial<T> {
    /// Elements of which nearly all of each row is cancelled.
    fn new(op: Op, layout: Layout, begin: usize) -> Trial<T> {
        let n = match layout {
            Layout::Rows(matrix) | Layout::Columns(matrix) => matrix.span().expect("a small matrix"),
            Layout::Axis(Axis { outer, reduced, inner }) => outer * reduced * inner,
            _ => 0,
        };
        Trial { op, layout, offsets: Vec::new(), all: cancelling(n as usize, n + 1), begin }
    }

    fn ragged(op: Op, offsets: &[u64], bits: u32, is_checked: bool, begin: usize) -> Trial<T> {
        let elements = offsets[offsets.len() - 1] + 2;
        let segments = Segments::new(offsets.len() as u64 - 1, elements, bits);
        let segments = if is_checked { segments.with_checks() } else { segments };
        let all = cancelling(elements as usize, elements);
        Trial { op, layout: Layout::Ragged(segments), offsets: offsets.to_vec(), all, begin }
    }

    /// The elements of each result.
    fn rows(&self) -> Vec<Vec<T>> {
        let pick = |first: u64, apart: u64, count: u64| -> Vec<T> {
            (0..count).map(|i| self.all[(first + i * apart) as usize]).collect()
        };
        match self.layout {
            Layout::Rows(m) => (0..m.rows).map(|row| pick(row * m.pitch, 1, m.cols)).collect(),
            Layout::Columns(m) => (0..m.cols).map(|col| pick(col, m.pitch, m.rows)).collect(),
            Layout::Axis(Axis { outer, reduced, inner }) => {
                let of = |at: u64| pick(at / inner * reduced * inner + at % inner, inner, reduced);
                (0..outer * inner).map(of).collect()
            }
            _ => self.offsets.windows(2).map(|row| pick(row[0], 1, row[1].saturating_sub(row[0]))).collect(),
        }
    }

    fn problem(&self) -> Problem<'static> {
        Problem::new(self.op, T::TYPE, self.all.len() as u64, self.layout, &H200).with_determinism(Determinism::Exact)
    }

    /// Results, and the flag of offsets that are checked. Twice, so that the state that one run leaves is what the next one finds.
    fn left(&self, reduction: &Reduction, schedule: Schedule) -> (Vec<u8>, u32) {
        let mut others: Vec<(Role, Vec<u8>)> = Vec::new();
        if let Layout::Ragged(Segments { bits, checked, .. }) = self.layout {
            others.push((Role::Offsets, words(bits, self.offsets.iter().copied())));
            if checked {
                others.push((Role::Flag, vec![0; 4]));
            }
        }
        let others: Vec<(Role, &[u8])> = others.iter().map(|(role, bytes)| (*role, bytes.as_slice())).collect();
        let begin = [self.begin * T::BYTES, 0, 0];
        let operands = HostOperands { input: &bytes(&self.all), others: &others, begin, in_place: false };
        let (left, others) = run_all(reduction, &operands, schedule, &H200, 2)
            .unwrap_or_else(|error| panic!("{} {} {:?}: {error}", self.op, T::TYPE, self.layout));
        let flag = others
            .last()
            .filter(|flag| flag.len() == 4)
            .map_or(0, |flag| u32::from_le_bytes(flag[..].try_into().expect("a word")));
        (left, flag)
    }

    /// Compares each result with the one by arbitrary precision.
    fn judge(&self, left: &[u8], what: &str) {
        let (rows, size) = (self.rows(), self.op.row_bytes(T::TYPE) as usize);
        assert_eq!(left.len(), rows.len() * size);
        for (at, (row, result)) in rows.into_iter().zip(left.chunks_exact(size)).enumerate() {
            let result = self.op.row_result(T::TYPE, result).expect("a result");
            let right = rounded_once(self.op, &T::array(row)).expect("an exact reference");
            let verdict = verify(result, &right, Rounding::EXACT, T::TYPE);
            let (Trial { op, layout, begin, .. }, ty) = (self, T::TYPE);
            let bits = (result.bits(), right.expected.bits());
            assert!(!verdict.is_wrong(), "{op} {ty} {layout:?} at {begin}, {what}, result {at}: {bits:?}");
        }
    }

    fn passes(&self, schedule: Schedule) -> Vec<u8> {
        let reduction = Reduction::new(&self.problem()).expect("a plan");
        assert_eq!(reduction.determinism(), Determinism::Exact);
        let (left, flag) = self.left(&reduction, schedule);
        assert_eq!(flag, 0);
        self.judge(&left, "the plan's shape");
        left
    }

    /// By a plan in a shape made by hand.
    fn passes_in(&self, shape: Shape, schedule: Schedule) {
        let plan = plan_for(&self.problem(), shape);
        // SAFETY: launches of the family, in a shape that it has.
        let reduction = unsafe { Reduction::new(&self.problem()).expect("a plan").with_plan(plan) };
        self.judge(&self.left(&reduction, schedule).0, &format!("{shape:?} {schedule:?}"));
    }
}

fn all_layouts<T: Element>(op: Op) {
    for (rows, cols) in [(0, 9), (4, 0), (1, 1), (3, 31), (33, 7), (5, 1), (40, 33), (3, 1027), (1, 5003)] {
        let (matrix, begin) = (Matrix { rows, cols, pitch: cols + rows % 3 }, rows as usize % 4);
        Trial::<T>::new(op, Layout::Rows(matrix), begin).passes(IN_ORDER);
        Trial::<T>::new(op, Layout::Columns(matrix), begin).passes(IN_ORDER);
    }
    Trial::<T>::new(op, Layout::Axis(Axis { outer: 3, reduced: 37, inner: 5 }), 1).passes(IN_ORDER);
    for (bits, is_checked) in [(32, false), (64, false), (32, true), (64, true)] {
        for offsets in [&[0, 0, 5, 5, 2000, 2001, 2033, 2033][..], &[3, 3], &[7, 20]] {
            Trial::<T>::ragged(op, offsets, bits, is_checked, 3).passes(IN_ORDER);
        }
    }
}

#[test]
fn awkward_rows_columns_axes_and_segments_are_right_bit_for_bit() {
    for ty in TYPES {
        for op in [Op::Sum, Op::Mean] {
            with_type!(ty, T => all_layouts::<T>(op));
        }
    }
}

fn all_shapes<T: Element>() {
    let matrix = Matrix { rows: 9, cols: 611, pitch: 613 };
    let shape = |team, parts, length, grid| Shape { team, parts, length, grid };
    let (rows, columns) = (Layout::Rows(matrix), Layout::Columns(Matrix::dense(611, 40)));
    for begin in [0, 1] {
        let trial = Trial::<T>::new(Op::Sum, rows, begin);
        for team in [1, 2, 4, 8, 16, 32] {
            trial.passes_in(shape(team, 1, 611, 2), IN_ORDER);
        }
        trial.passes_in(shape(32, 5, 128, 3), IN_ORDER);
        let trial = Trial::<T>::new(Op::Mean, columns, begin);
        for (team, parts) in [(1, 1), (2, 3), (4, 1), (4, 7)] {
            trial.passes_in(shape(team, parts, 0, 2), IN_ORDER);
        }
    }
    // Rows that many shares cut, rows too long for their lanes, and many short ones.
    let offsets: Vec<u64> = [0, 0, 1, 900, 900].into_iter().chain((0..70).map(|at| 905 + 5 * at)).collect();
    let trial = Trial::<T>::ragged(Op::Mean, &offsets, 64, false, 2);
    for length in [64, 333, 2000] {
        trial.passes_in(shape(32, 1, length, 2), IN_ORDER);
    }
    for seed in 0..8 {
        let schedule = Schedule::Independent { seed: Some(seed) };
        Trial::<T>::new(Op::Sum, rows, 1).passes_in(shape(32, 3, 256, 3), schedule);
        Trial::<T>::new(Op::Sum, rows, 1).passes_in(shape(4, 1, 611, 2), schedule);
        Trial::<T>::new(Op::Sum, columns, 1).passes_in(shape(4, 3, 0, 2), schedule);
        trial.passes_in(shape(32, 1, 100, 2), schedule);
    }
}

#[test]
fn no_shape_alignment_or_schedule_changes_a_bit() {
    for ty in tried(TYPES.to_vec()) {
        with_type!(ty, T => all_shapes::<T>());
    }
}

/// Rows and columns of the largest number of a slot, and of the smallest now and then, which a slot that is too full rounds off.
fn slots_that_are_full<T: Element>(largest: T, smallest: T, n: u64) {
    let (rows, columns) = (Layout::Rows(Matrix::dense(2, n)), Layout::Columns(Matrix::dense(n, 2)));
    for layout in [rows, columns] {
        let mut trial = Trial::<T>::new(Op::Sum, layout, 0);
        let of_row = |row: u64, at: u64| {
            let element = if at % 64 == 63 { smallest } else { largest };
            if row == 0 { element } else { T::from_f64(-element.value().to_f64()) }
        };
        trial.all =
            (0..2 * n).map(|i| if layout == rows { of_row(i / n, i % n) } else { of_row(i % 2, i / 2) }).collect();
        trial.op = Op::Mean;
        trial.passes_in(Shape { team: 1, parts: 1, length: n, grid: 1 }, IN_ORDER);
    }
}

#[test]
fn a_thread_carries_before_its_slots_are_full() {
    slots_that_are_full(f32::MAX, f32::MAX, 1201);
    slots_that_are_full(f32::MAX, f32::from_bits(0x7000_0001), 1201);
    slots_that_are_full(f32::from_bits(0x6fff_ffff), f32::from_bits(0x6fff_ffff), 1201);
    slots_that_are_full(f64::MAX, f64::MAX, 4200);
    slots_that_are_full(f16::MAX, f16::from_bits(1), 17_000);
    for (largest, smallest) in [(0x7f7f, 0x7c01), (0x6fff, 0x6c01), (0x3fff, 0x3c01), (0x03ff, 0x0001)] {
        slots_that_are_full(bf16::from_bits(largest), bf16::from_bits(smallest), 1201);
    }
}

fn ieee_in_each_row<T: Element>(max: T, tiny: T) {
    let [inf, nan, one, zero] = [f64::INFINITY, f64::NAN, 1.0, 0.0].map(T::from_f64);
    let minus = |x: T| T::from_f64(-x.value().to_f64());
    let rows = [
        [one, inf, minus(max)],
        [minus(inf), one, minus(inf)],
        [nan, one, one],
        [inf, minus(inf), zero],
        [minus(zero); 3],
        [minus(zero), zero, minus(zero)],
        [max, minus(max), minus(zero)],
        [max, max, minus(max)],
        [max, max, zero],
        [tiny; 3],
        [max, minus(tiny), minus(max)],
        [minus(tiny), minus(zero), minus(zero)],
    ];
    let (count, flat) = (rows.len() as u64, rows.concat());
    for op in [Op::Sum, Op::Mean] {
        let mut trial = Trial::<T>::new(op, Layout::Rows(Matrix::dense(count, 3)), 0);
        trial.all.clone_from(&flat);
        trial.passes(IN_ORDER);
        trial.passes_in(Shape { team: 32, parts: 3, length: 1, grid: 2 }, RANDOM);
        trial.layout = Layout::Columns(Matrix::dense(3, count));
        trial.all = (0..3).flat_map(|at| rows.iter().map(move |row| row[at])).collect();
        trial.passes_in(Shape { team: 2, parts: 2, length: 0, grid: 1 }, RANDOM);
        let mut trial = Trial::<T>::ragged(op, &(0..=count).map(|at| 3 * at).collect::<Vec<u64>>(), 32, true, 0);
        trial.all[..flat.len()].copy_from_slice(&flat);
        trial.passes(IN_ORDER);
    }
}

#[test]
fn what_is_not_finite_and_zeros_follow_ieee_in_each_row() {
    ieee_in_each_row(f32::MAX, f32::from_bits(1));
    ieee_in_each_row(f64::MAX, f64::from_bits(1));
    ieee_in_each_row(f16::MAX, f16::from_bits(1));
    ieee_in_each_row(bf16::MAX, bf16::from_bits(1));
}

#[test]
fn one_giant_row_among_empty_ones_is_shared_out() {
    let offsets: Vec<u64> = [0; 300].into_iter().chain([20_001; 300]).chain([20_005]).collect();
    let trial = Trial::<f32>::ragged(Op::Sum, &offsets, 32, true, 1);
    let left = trial.passes(IN_ORDER);
    for seed in 0..3 {
        assert_eq!(trial.passes(Schedule::Independent { seed: Some(seed) }), left);
    }
}

#[test]
fn offsets_that_fall_or_end_too_late_set_the_flag_and_read_nothing() {
    for offsets in [&[0, 9001][..], &[5, 4], &[0, 100, 99, 900], &[u64::MAX, 3], &[0, u64::MAX], &[9001, 9001]] {
        let mut trial = Trial::<f32>::ragged(Op::Sum, &[0, 1000], 64, true, 0);
        trial.layout = Layout::Ragged(Segments::new(offsets.len() as u64 - 1, 1002, 64).with_checks());
        trial.offsets = offsets.to_vec();
        let reduction = Reduction::new(&trial.problem()).expect("a plan");
        let (left, flag) = trial.left(&reduction, IN_ORDER);
        assert!(flag == 1 && left.iter().all(|&byte| byte == 0), "{offsets:?}: sums of nothing");
    }
}

#[test]
fn what_is_asked_for_is_planned_or_refused() {
    let layout = Layout::Rows(Matrix::dense(10, 100));
    for ty in TYPES {
        for op in [Op::Sum, Op::Mean] {
            let asked = Problem::new(op, ty, 1000, layout, &H200).with_determinism(Determinism::GpuToGpu);
            assert_eq!(Reduction::new(&asked), Exact::each(op, ty, layout).reduction(&H200));
        }
    }
    let refused = |exact: Exact| exact.reduction(&H200).expect_err("no plan").to_string();
    assert!(refused(Exact::each(Op::Dot, Type::F32, layout)).contains("exact results of rows"));
    assert!(refused(Exact::each(Op::Sum, Type::F32, layout).with_limbs()).contains("unrounded results of rows"));
    let overlapping = Layout::Rows(Matrix { rows: 2, cols: 9, pitch: 8 });
    assert!(Exact::each(Op::Sum, Type::F32, overlapping).reduction(&H200).is_err());
    let many = Layout::Rows(Matrix::dense(1, (1 << 40) + 1));
    assert!(Exact::each(Op::Sum, Type::F32, many).reduction(&H200).is_err());
}

fn any_patterns<T: Element>(bits: &[u64], rows: u64, begin: usize, seed: u64) {
    let mut all: Vec<T> = any_cancelling(bits, seed);
    let n = all.len() as u64 / rows * rows;
    all.truncate(n as usize);
    let matrix = Matrix::dense(rows, n / rows);
    for (op, layout) in [(Op::Sum, Layout::Rows(matrix)), (Op::Mean, Layout::Columns(matrix))] {
        let trial = Trial { op, layout, offsets: Vec::new(), all: all.clone(), begin };
        trial.passes(Schedule::Independent { seed: Some(seed) });
        let shape = shape_for(&trial.problem());
        trial.passes_in(Shape { team: 1 << (seed % 3), parts: 1, grid: 1, ..shape }, IN_ORDER);
    }
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn any_bits_that_cancel_are_right_bit_for_bit(
        bits in prop::collection::vec(any_bits(), 1..300), rows in 1..40u64, begin in 0..8usize, seed in any::<u64>(),
    ) {
        for ty in TYPES {
            with_type!(ty, T => any_patterns::<T>(&bits, rows, begin, seed));
        }
    }
}
