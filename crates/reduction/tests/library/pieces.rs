//! More elements than a kernel counts: small pieces on the simulator, and the launches of what no simulator holds as data.

use device::HostOperands;
use lab::element::Element;
use lab::input::random_for;
use lab::op::OnHost as _;
use lab::trial::tried;
use lab::with_elements;
use reduction::card::H200;
use reduction::families::pieces::Most;
use reduction::families::{champion, operators, rows};
use reduction::{Arg, Axis, Error, Layout, Matrix, Op, Problem, Reduction, Role, Type};

use crate::gpu;
use crate::numbers::encode;
use crate::trial::{IN_ORDER, bytes, judge, on_gpu, pairs, run};

/// Pieces of 32 elements, and panels of 16 columns.
const FEW: Most = Most { array: 63, along: 63, panel: 16 };

fn planned(op: Op, ty: Type, n: u64, layout: Layout) -> Reduction {
    let card = if on_gpu() { gpu::reducer().card() } else { &H200 };
    Reduction::within(&Problem::new(op, ty, n, layout, card), FEW).unwrap_or_else(|error| panic!("{op} {ty}: {error}"))
}

/// Runs a reduction of all elements twice, `begin` elements behind an aligned place, and judges each result, whose own elements are
/// those at `of_result`.
fn passes<T: Element>(op: Op, layout: Layout, all: &[T], begin: usize, of_result: &[Vec<usize>]) {
    let reduction = planned(op, T::TYPE, all.len() as u64 / op.arrays(), layout);
    let (input, other) = all.split_at(all.len() / op.arrays() as usize);
    let (input, others) = (bytes(input), [(Role::Other, bytes(other))]);
    let others: Vec<(Role, &[u8])> = others.iter().map(|(role, bytes)| (*role, bytes.as_slice())).collect();
    let others = if op.arrays() == 2 { &others[..] } else { &[] };
    let begin = [begin * T::BYTES, 2 * begin * T::BYTES, 0];
    let operands = HostOperands { input: &input, others, begin, ..HostOperands::default() };
    let left = run(&reduction, &operands, IN_ORDER, &H200, 2).expect("a run");
    assert_eq!(left.len() % of_result.len(), 0);
    for (at, result) in left.chunks_exact(left.len() / of_result.len()).enumerate() {
        // A count has 64 bits here.
        let result = if op == Op::Count { &result[..4] } else { result };
        let along = of_result[at].iter().map(|&i| all[i]).collect();
        judge(op, along, op.result(T::TYPE, result), reduction.plan().rounding(), &(layout, at));
    }
}

#[test]
fn arrays_in_pieces_are_right() {
    let pairs = pairs(|op, ty| operators::OPS.contains(&op) && operators::is_compiled(op, ty));
    let pairs: Vec<(Op, Type)> = pairs.filter(|&(op, ty)| !champion::takes(op, ty)).collect();
    assert!(pairs.len() > 75, "{pairs:?}");
    for (op, ty) in tried(pairs) {
        for (n, begin) in [(64, 0), (65, 1), (1000, 3), (5000, 0)] {
            assert!(planned(op, ty, n, Layout::Array).plan().passes.len() > n as usize / 32);
            let all = (0..(n * op.arrays()) as usize).collect();
            with_elements!(random_for(op, ty, n as usize, n), values => passes(op, Layout::Array, &values, begin, &[all]));
        }
    }
}

#[test]
fn rows_columns_and_axes_in_pieces_are_right() {
    let mut runs = 0;
    for (op, ty) in pairs(rows::is_compiled) {
        for (rows, cols, pitch, begin) in [(1, 64, 64, 0), (5, 333, 340, 1), (3, 1000, 1000, 0)] {
            let matrix = Matrix { rows, cols, pitch };
            let of = |row: usize| (0..cols as usize).map(|col| row * pitch as usize + col).collect();
            let all: Vec<Vec<usize>> = (0..rows as usize).map(of).collect();
            let n = matrix.span().expect("a small matrix");
            with_elements!(random_for(op, ty, n as usize, n), values => passes(op, Layout::Rows(matrix), &values, begin, &all));
            let (matrix, all) = (Matrix { rows: cols, cols: rows, pitch: rows + 2 }, rows as usize);
            let of = |col| (0..cols as usize).map(|row| row * (rows as usize + 2) + col).collect();
            let all: Vec<Vec<usize>> = (0..all).map(of).collect();
            let n = matrix.span().expect("a small matrix");
            with_elements!(random_for(op, ty, n as usize, n), values => passes(op, Layout::Columns(matrix), &values, begin, &all));
            runs += 2;
        }
        // A long axis, with few columns and with more than a panel.
        for (dims, begin) in [([3, 100, 5], 1), ([2, 70, 16], 0), ([2, 65, 20], 0)] {
            let [outer, reduced, inner] = dims.map(|dim| dim as usize);
            let of = |at: usize| (0..reduced).map(|i| (at / inner * reduced + i) * inner + at % inner).collect();
            let all: Vec<Vec<usize>> = (0..outer * inner).map(of).collect();
            let (n, layout) = (outer * reduced * inner, Layout::axis(&dims, 1).expect("a small tensor"));
            with_elements!(random_for(op, ty, n, n as u64), values => passes(op, layout, &values, begin, &all));
            runs += 1;
        }
    }
    assert!(runs > 100, "{runs}");
}

/// Slices of more columns than a launch counts, of few elements each.
#[test]
fn wide_slices_are_right() {
    for (op, ty) in pairs(rows::is_compiled).filter(|(op, _)| *op != Op::Argmax) {
        let (dims, [outer, reduced, inner]) = ([3, 7, 37], [3, 7, 37]);
        let of = |at: usize| (0..reduced).map(|i| (at / inner * reduced + i) * inner + at % inner).collect();
        let all: Vec<Vec<usize>> = (0..outer * inner).map(of).collect();
        let (n, layout) = (outer * reduced * inner, Layout::axis(&dims, 1).expect("a small tensor"));
        assert_eq!(planned(op, ty, n as u64, layout).plan().passes.len(), 3 * 3);
        with_elements!(random_for(op, ty, n, n as u64), values => passes(op, layout, &values, 1, &all));
    }
}

/// The first of equal elements, the first NaN or none, wherever the pieces end.
#[test]
fn places_are_those_of_the_whole_array() {
    let found = |op, numbers: &[f64]| {
        let reduction = planned(op, Type::F32, numbers.len() as u64, Layout::Array);
        let input = encode(Type::F32, numbers);
        let operands = HostOperands { input: &input, ..HostOperands::default() };
        let left = run(&reduction, &operands, IN_ORDER, &H200, 1).expect("a run");
        i64::from_le_bytes(left[..8].try_into().expect("eight bytes"))
    };
    let mut numbers = vec![1.0; 200];
    assert_eq!([Op::Argmin, Op::Argmax, Op::Nanargmax].map(|op| found(op, &numbers)), [0; 3]);
    (numbers[70], numbers[150], numbers[199]) = (2.0, 2.0, -3.0);
    assert_eq!([Op::Argmin, Op::Argmax, Op::Nanargmin].map(|op| found(op, &numbers)), [199, 70, 199]);
    (numbers[33], numbers[40], numbers[0]) = (f64::NAN, f64::NAN, f64::NAN);
    assert_eq!([Op::Argmin, Op::Argmax, Op::Nanargmin, Op::Nanargmax].map(|op| found(op, &numbers)), [0, 0, 199, 70]);
    numbers[0] = 0.0;
    assert_eq!([Op::Argmin, Op::Argmax].map(|op| found(op, &numbers)), [33, 33]);
    numbers.fill(f64::NAN);
    assert_eq!([Op::Argmin, Op::Nanargmin, Op::Nanargmax].map(|op| found(op, &numbers)), [0, -1, -1]);
}

/// Bytes behind the begin of the input, and behind that of an array of the plan, for each launch that has both.
fn offsets(reduction: &Reduction) -> Vec<(u64, usize, u64)> {
    let of_pass = |pass: &reduction::Pass| {
        let input = pass.args.iter().find_map(|arg| match arg {
            Arg::Behind(Role::Input, bytes) => Some(*bytes),
            _ => None,
        });
        let out = pass.args.iter().find_map(|arg| match arg {
            Arg::BehindSums(array, bytes) => Some((*array, *bytes)),
            _ => None,
        });
        input.zip(out).map(|(input, (array, out))| (input, array, out))
    };
    reduction.plan().passes.iter().filter_map(of_pass).collect()
}

fn huge(op: Op, ty: Type, n: u64, layout: Layout) -> Result<Reduction, Error> {
    Reduction::new(&Problem::new(op, ty, n, layout, &H200))
}

#[test]
fn pieces_of_a_huge_array_are_all_of_it() {
    for (op, ty) in [(Op::Min, Type::I8), (Op::Argmax, Type::F64), (Op::Meanvar, Type::BF16), (Op::Count, Type::F32)] {
        for n in [1 << 32, (1 << 32) + 1, (1 << 35) + 12_345, champion::N_MAX] {
            let reduction = huge(op, ty, n, Layout::Array).expect("a plan");
            let pieces = n.div_ceil(1 << 31);
            assert_eq!(reduction.plan().passes.len() as u64, pieces + 1);
            let mut elements = 0;
            for (k, (input, array, out)) in offsets(&reduction).into_iter().enumerate() {
                let pass = &reduction.plan().passes[k];
                assert_eq!((input, array, out), (elements * ty.bytes(), 0, k as u64 * op.result_bytes(ty)));
                assert!(out + op.result_bytes(ty) <= reduction.scratch_bytes());
                let Arg::U32(count) = pass.args[3] else { panic!("{pass:?}") };
                assert_eq!(u64::from(count), pass.elements);
                elements += u64::from(count);
            }
            assert_eq!(elements, n);
            assert_eq!(reduction.rule(Role::Input).expect("an input").bytes, n * ty.bytes());
        }
        assert!(matches!(huge(op, ty, champion::N_MAX + 1, Layout::Array), Err(Error::TooMany { .. })));
    }
    let of_count = huge(Op::Count, Type::F32, 1 << 32, Layout::Array).expect("a plan");
    assert_eq!(of_count.rule(Role::Out).map(|rule| (rule.element, rule.bytes)), Some(("u64", 8)));
}

#[test]
fn both_inputs_of_a_dot_product_move_on() {
    let dot = huge(Op::Dot, Type::F16, 1 << 33, Layout::Array).expect("a plan");
    for (k, pass) in dot.plan().passes[..4].iter().enumerate() {
        let bytes = k as u64 * (2 << 31);
        assert_eq!(pass.args[..2], [Arg::Behind(Role::Input, bytes), Arg::Behind(Role::Other, bytes)]);
    }
}

#[test]
fn pieces_of_huge_rows_columns_and_axes_are_all_of_them() {
    let (long, pitch) = ((1 << 33) + 7, (1 << 33) + 64);
    let rows = huge(Op::Argmax, Type::F32, 0, Layout::Rows(Matrix { rows: 3, cols: long, pitch })).expect("a plan");
    let places: Vec<_> = (0..9).map(|k| (k << 32, 1, k * 3 * 8)).collect();
    assert_eq!(offsets(&rows), places);
    assert_eq!(rows.rule(Role::Out).map(|rule| (rule.element, rule.bytes)), Some(("Found<f32>", 48)));
    let columns = Layout::Columns(Matrix { rows: 1 << 31, cols: 5, pitch: 9 });
    let columns = huge(Op::Sum, Type::F32, 0, columns).expect("a plan");
    assert_eq!(offsets(&columns), [(0, 1, 0), (9 << 32, 1, 20)]);
    let axis = Layout::Axis(Axis { outer: 2, reduced: 1 << 31, inner: 3 });
    let axis = huge(Op::Max, Type::BF16, 0, axis).expect("a plan");
    assert_eq!(offsets(&axis), [(0, 1, 0), (3 << 31, 1, 24)]);
    let slices = axis.plan().passes[..2].iter().map(|pass| pass.args[8]);
    assert!(slices.into_iter().all(|slice| slice == Arg::U64(3 << 31)), "a slice is as long as ever");
    let wide = Layout::Axis(Axis { outer: 2, reduced: 2, inner: 3 << 30 });
    let wide = huge(Op::Sum, Type::I32, 0, wide).expect("a plan");
    let places = (0..6u64).map(|k| (((k % 3) << 32) + k / 3 * (3 << 33), 1, k << 32));
    assert_eq!(offsets(&wide), places.collect::<Vec<_>>());
    for layout in [
        Layout::Rows(Matrix::dense(1 << 10, 1 << 31)),
        Layout::Columns(Matrix::dense(1 << 31, 1 << 10)),
        Layout::Axis(Axis { outer: 1 << 30, reduced: 0, inner: 1 << 31 }),
    ] {
        let refused = huge(Op::Sum, Type::F32, 0, layout);
        assert!(matches!(refused, Err(Error::TooMany { what: "elements", .. })), "{layout:?}");
    }
}
