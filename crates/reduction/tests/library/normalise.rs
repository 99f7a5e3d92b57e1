//! Norms with all that they may have, forward and on the way back, against a reference in double precision with a bound.

use std::collections::HashMap;

use device::{HostOperand, Schedule};
use reduction::card::H200;
use reduction::{Error, Matrix, Norm, Reduction, Role, Type};

use crate::numbers::{encode, half_step, rounded};
use crate::trial::{IN_ORDER, any_order, run_any};

/// Largest error of a rounding to f32.
const UNIT: f64 = 1.0 / (1u64 << 24) as f64;

/// Numbers as a device holds them.
pub fn encoded(ty: Type, numbers: &[f32]) -> Vec<u8> {
    encode(ty, &numbers.iter().map(|&x| x.into()).collect::<Vec<_>>())
}

/// Largest error of a rounding of this number to this type.
fn rounding(ty: Type, x: f64) -> f64 {
    if ty == Type::F32 { UNIT * x.abs() } else { 1.01 * half_step(ty, x) }
}

/// Numbers between −1 and 3 that have no pattern.
pub fn numbers(count: u64, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 22) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// A problem with another field.
pub fn changed<P>(mut problem: P, change: impl FnOnce(&mut P)) -> P {
    change(&mut problem);
    problem
}

/// Operands before and after.
pub type Held = HashMap<Role, Vec<u8>>;

/// Runs a reduction; operands that it writes have what it left. Of `over`, the first lies over the second. All others begin so many
/// elements after a multiple of 256 bytes.
pub fn run(reduction: &Reduction, held: &Held, over: &[(Role, Role)], begin: u64, schedule: Schedule) -> Held {
    let filler: Held = reduction.rules().iter().map(|rule| (rule.role, vec![0xa5; rule.bytes as usize])).collect();
    let mut rules: Vec<_> = reduction.rules().iter().collect();
    let goal = |role| over.iter().find(|pair| pair.0 == role).map(|pair| pair.1);
    rules.sort_by_key(|rule| goal(rule.role).is_some());
    let operands: Vec<HostOperand<'_>> = rules
        .iter()
        .map(|rule| HostOperand {
            begin: (begin * rule.multiple) as usize,
            over: goal(rule.role),
            ..HostOperand::new(rule.role, held.get(&rule.role).unwrap_or(&filler[&rule.role]))
        })
        .collect();
    let left = run_any(reduction, &operands, schedule, &H200, 1);
    let left = left.unwrap_or_else(|error| panic!("{reduction:?}: {error}"));
    operands.iter().map(|operand| operand.role).zip(left).collect()
}

/// Elements of a row.
fn row<T: Copy>(all: &[T], matrix: Matrix, row: u64) -> &[T] {
    let begin = (row * matrix.pitch) as usize;
    &all[begin..begin + matrix.cols as usize]
}

fn close(what: &str, got: f64, right: f64, bound: f64) {
    assert!((got - right).abs() <= bound, "{what}: {got} for {right}, off by more than {bound:e}");
}

fn mean_of(numbers: impl Iterator<Item = f64>, count: u64) -> f64 {
    numbers.sum::<f64>() / count as f64
}

/// Operands of a norm, of random numbers; the residual is a quarter of others.
fn forward_operands(norm: &Norm) -> Held {
    let n = norm.matrix.span().expect("a small matrix");
    let mut held = Held::from([(Role::Input, encoded(norm.ty, &numbers(n, 1)))]);
    if norm.has_residual {
        let residual: Vec<f32> = numbers(n, 2).iter().map(|x| x / 4.0).collect();
        held.insert(Role::Other, encoded(norm.ty, &residual));
    }
    for (role, ty, seed) in [(Role::Weights, norm.weights, 3), (Role::Biases, norm.biases, 4)] {
        held.extend(ty.map(|ty| (role, encoded(ty, &numbers(norm.matrix.cols, seed)))));
    }
    held
}

/// One number a column, or the same for all.
fn columns(held: &Held, role: Role, ty: Option<Type>, cols: u64, otherwise: f64) -> Vec<f64> {
    ty.map_or(vec![otherwise; cols as usize], |ty| rounded(ty, &held[&role]))
}

/// Elements that are normalised: the input, or the rounded sum.
pub fn elements(ty: Type, held: &Held) -> Vec<f64> {
    let input = rounded(ty, &held[&Role::Input]);
    let Some(other) = held.get(&Role::Other) else { return input };
    let sums = input.iter().zip(rounded(ty, other)).map(|(x, y)| *x as f32 + y as f32);
    rounded(ty, &encoded(ty, &sums.collect::<Vec<_>>()))
}

/// Mean, reciprocal deviation, and the largest errors of both, the second relative, for so many roundings.
pub fn moments(norm: &Norm, x: &[f64], roundings: f64) -> [f64; 4] {
    let count = x.len() as u64;
    let mean = if norm.is_centred { mean_of(x.iter().copied(), count) } else { 0.0 };
    let variance = mean_of(x.iter().map(|x| (x - mean) * (x - mean)), count);
    let deviation = 1.0 / (variance + f64::from(norm.epsilon)).sqrt();
    let mean_error = if norm.is_centred { roundings * UNIT * mean_of(x.iter().map(|x| x.abs()), count) } else { 0.0 };
    let relative = (roundings / 2.0 + 4.0) * UNIT + (mean_error * deviation).powi(2);
    [mean, deviation, mean_error, relative]
}

fn judge_forward(norm: &Norm, reduction: &Reduction, before: &Held, after: &Held) {
    let Matrix { rows, cols, .. } = norm.matrix;
    let x = elements(norm.ty, before);
    let (weights, biases) = (
        columns(before, Role::Weights, norm.weights, cols, 1.0),
        columns(before, Role::Biases, norm.biases, cols, 0.0),
    );
    let out = rounded(norm.ty, &after[&Role::Out]);
    let saved = |role, at: u64| after.get(&role).map(|bytes| rounded(Type::F32, bytes)[at as usize]);
    for at in 0..rows {
        let (x, out) = (row(&x, norm.matrix, at), row(&out, norm.matrix, at));
        let [mean, deviation, mean_error, relative] = moments(norm, x, reduction.plan().additions() as f64);
        if norm.has_residual {
            let sums = rounded(norm.ty, &after[&Role::Sum]);
            assert_eq!(row(&sums, norm.matrix, at), x);
        }
        if let (true, true, Some(got)) = (cols > 0, norm.is_centred, saved(Role::Means, at)) {
            close("a mean", got, mean, mean_error + UNIT * mean.abs());
        }
        if let (true, Some(got)) = (cols > 0, saved(Role::Deviations, at)) {
            close("a deviation", got, deviation, deviation * relative);
        }
        for c in 0..cols as usize {
            let (weight, bias) = (weights[c], biases[c]);
            let normal = (x[c] - mean) * deviation;
            let right = normal * weight + bias;
            let off = weight.abs() * (mean_error * deviation + normal.abs() * (relative + 4.0 * UNIT));
            let bound = off + 2.0 * UNIT * (right.abs() + bias.abs()) + rounding(norm.ty, right) + 1e-38;
            close(&format!("{norm:?}, row {at}, column {c}"), out[c], right, bound);
        }
    }
}

/// Runs a norm forward and judges it; what it left.
fn forward(norm: Norm, over: &[(Role, Role)], begin: u64, schedule: Schedule) -> Held {
    let reduction = norm.reduction(&H200).expect("a plan");
    let before = forward_operands(&norm);
    let after = run(&reduction, &before, over, begin, schedule);
    judge_forward(&norm, &reduction, &before, &after);
    after
}

fn judge_backward(norm: &Norm, reduction: &Reduction, before: &Held, after: &Held) {
    let Matrix { rows, cols, .. } = norm.matrix;
    let (x, y) = (rounded(norm.ty, &before[&Role::Input]), rounded(norm.ty, &before[&Role::Other]));
    let out = rounded(norm.ty, &after[&Role::Out]);
    let saved = |role, at: u64| before.get(&role).map_or(0.0, |bytes| rounded(Type::F32, bytes)[at as usize]);
    let weights = columns(before, Role::Weights, norm.weights, cols, 1.0);
    let roundings = (reduction.plan().additions() + 8) as f64 * UNIT;
    // Of weights and biases, each with the sum of magnitudes.
    let mut sums = vec![[0.0; 4]; cols as usize];
    for at in 0..rows {
        let (x, y, out) = (row(&x, norm.matrix, at), row(&y, norm.matrix, at), row(&out, norm.matrix, at));
        let (mean, deviation) = (saved(Role::Means, at), saved(Role::Deviations, at));
        let normal: Vec<f64> = x.iter().map(|x| (x - mean) * deviation).collect();
        let g: Vec<f64> = y.iter().zip(&weights).map(|(y, weight)| y * weight).collect();
        let products = || g.iter().zip(&normal).map(|(g, n)| g * n);
        let of_gx = mean_of(products(), cols);
        let of_g = if norm.is_centred { mean_of(g.iter().copied(), cols) } else { 0.0 };
        let all_gx = mean_of(products().map(f64::abs), cols);
        let all_g = if norm.is_centred { mean_of(g.iter().map(|g| g.abs()), cols) } else { 0.0 };
        for c in 0..cols as usize {
            let right = deviation * (g[c] - of_g - normal[c] * of_gx);
            let terms = g[c].abs() + of_g.abs() + (normal[c] * of_gx).abs();
            let bound = deviation * (roundings * (all_g + normal[c].abs() * all_gx) + 6.0 * UNIT * terms)
                + rounding(norm.ty, right)
                + 1e-38;
            close(&format!("back, {norm:?}, row {at}, column {c}"), out[c], right, bound);
            let of_weight = y[c] * normal[c];
            let more = [of_weight, of_weight.abs(), y[c], y[c].abs()];
            sums[c].iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
    }
    for (role, at) in [(Role::WeightGradients, 0), (Role::BiasGradients, 2)] {
        let (Some(bytes), Some(ty)) = (after.get(&role), norm.gradients) else { continue };
        let got = rounded(ty, bytes);
        assert_eq!(got.len() as u64, cols);
        for (got, sums) in got.iter().zip(&sums) {
            let bound = roundings * sums[at + 1] + rounding(ty, sums[at]);
            close(&format!("{role:?} of {norm:?}"), *got, sums[at], bound);
        }
    }
}

/// Runs a norm backward and judges it; what it left.
fn backward(norm: Norm, over: &[(Role, Role)], begin: u64, schedule: Schedule) -> Held {
    let reduction = norm.backward(&H200).expect("a plan");
    let Matrix { rows, cols, .. } = norm.matrix;
    let mut before = forward_operands(&changed(norm, |norm| (norm.has_residual, norm.biases) = (false, None)));
    let n = norm.matrix.span().expect("a small matrix");
    before.insert(Role::Other, encoded(norm.ty, &numbers(n, 5)));
    let x = rounded(norm.ty, &before[&Role::Input]);
    let saved: Vec<_> = (0..rows).map(|at| moments(&norm, row(&x, norm.matrix, at), 1.0)).collect();
    let kept = |at: usize| saved.iter().map(|known| known[at] as f32).collect::<Vec<_>>();
    if norm.is_centred {
        before.insert(Role::Means, encoded(Type::F32, &kept(0)));
    }
    before.insert(Role::Deviations, encoded(Type::F32, &kept(1)));
    let after = run(&reduction, &before, over, begin, schedule);
    assert!(cols == 0 || rows == 0 || !reduction.plan().passes.is_empty());
    judge_backward(&norm, &reduction, &before, &after);
    after
}

const SHAPES: [(u64, u64); 8] = [(0, 9), (3, 1), (5, 31), (70, 33), (3, 257), (2, 600), (1, 9001), (2, 16_500)];

/// Layer and RMS norm of each type, plain and with all.
fn norms(matrix: Matrix) -> Vec<Norm> {
    let mut all = Vec::new();
    for ty in [Type::F32, Type::BF16, Type::F16] {
        let (layer, rms) = (Norm::layer(ty, matrix, 1e-5), Norm::rms(ty, matrix, 0.3));
        all.push(layer);
        all.push(layer.with_weights(ty).with_biases(Type::F32).with_residual().with_saved().with_gradients(Type::F32));
        all.push(rms.with_weights(Type::F32).with_saved().with_gradients(ty));
        all.push(rms.with_biases(ty).with_residual());
    }
    all
}

#[test]
fn norms_are_right_forward_and_backward() {
    for (at, (rows, cols)) in SHAPES.into_iter().enumerate() {
        let matrix = Matrix { rows, cols, pitch: cols + at as u64 % 3 };
        for norm in norms(matrix) {
            forward(norm, &[], at as u64 % 2, IN_ORDER);
            backward(norm, &[], at as u64 % 2, IN_ORDER);
        }
    }
}

#[test]
fn results_in_place_have_the_same_bits() {
    for (rows, cols) in [(5, 33), (2, 700), (1, 16_500)] {
        let matrix = Matrix::dense(rows, cols);
        for ty in [Type::F32, Type::BF16, Type::F16] {
            let norm = Norm::layer(ty, matrix, 1e-5).with_weights(ty).with_residual();
            let apart = forward(norm, &[], 0, IN_ORDER);
            for over in [
                [(Role::Out, Role::Input), (Role::Sum, Role::Other)],
                [(Role::Out, Role::Other), (Role::Sum, Role::Input)],
            ] {
                let after = forward(norm, &over, 0, IN_ORDER);
                assert!(after[&Role::Out] == apart[&Role::Out] && after[&Role::Sum] == apart[&Role::Sum]);
            }
            let norm = norm.with_gradients(ty);
            let apart = backward(norm, &[], 0, IN_ORDER);
            for goal in [Role::Other, Role::Input] {
                let after = backward(norm, &[(Role::Out, goal)], 0, IN_ORDER);
                for role in [Role::Out, Role::WeightGradients] {
                    assert_eq!(after[&role], apart[&role], "{role:?} over {goal:?}");
                }
            }
        }
    }
}

#[test]
fn no_schedule_finds_a_fault_or_changes_a_bit() {
    for (rows, cols) in [(70, 40), (9, 530), (2, 16_400)] {
        let norm = Norm::layer(Type::BF16, Matrix::dense(rows, cols), 1e-5).with_weights(Type::F32).with_saved();
        let norm = norm.with_biases(Type::BF16).with_gradients(Type::F32);
        let both = |schedule| (forward(norm, &[], 0, schedule), backward(norm, &[], 0, schedule));
        any_order(&both(IN_ORDER), &norm, both);
    }
}

#[test]
fn a_row_does_not_depend_on_the_others() {
    let matrix = Matrix::dense(9, 300);
    let norm = Norm::rms(Type::F32, matrix, 1e-6).with_saved();
    let all = forward(norm, &[], 0, IN_ORDER);
    let alone = changed(norm, |norm| norm.matrix.rows = 1).reduction(&H200).expect("a plan");
    let input = encoded(Type::F32, &numbers(2700, 1))[8 * 1200..].to_vec();
    let last = run(&alone, &Held::from([(Role::Input, input)]), &[], 0, IN_ORDER);
    assert_eq!(last[&Role::Out], all[&Role::Out][8 * 1200..]);
}

#[test]
fn nan_infinity_and_zero_are_what_the_documentation_says() {
    let specials = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    for cols in [5, 700, 16_500] {
        let matrix = Matrix::dense(4, cols);
        let mut x = numbers(4 * cols, 7);
        for (at, special) in specials.into_iter().enumerate() {
            x[at * cols as usize + 3] = special;
        }
        x[3 * cols as usize..].fill(-0.0);
        let held = Held::from([(Role::Input, encoded(Type::F32, &x))]);
        let results = |norm: Norm| {
            let reduction = norm.reduction(&H200).expect("a plan");
            rounded(Type::F32, &run(&reduction, &held, &[], 0, IN_ORDER)[&Role::Out])
        };
        let layer = results(Norm::layer(Type::F32, matrix, 1e-5));
        assert!(layer[..3 * cols as usize].iter().all(|y| y.is_nan()));
        let rms = results(Norm::rms(Type::F32, matrix, 1e-5));
        assert!(row(&rms, matrix, 0).iter().all(|y| y.is_nan()));
        for at in [1, 2] {
            let is_right = |(c, y): (usize, &f64)| if c == 3 { y.is_nan() } else { *y == 0.0 };
            assert!(row(&rms, matrix, at).iter().enumerate().all(is_right), "{cols}, row {at}");
        }
        assert!(row(&layer, matrix, 3).iter().chain(row(&rms, matrix, 3)).all(|&y| y == 0.0));
    }
}

#[test]
fn empty_rows_and_no_rows_leave_what_is_documented() {
    let empty = forward(Norm::layer(Type::F32, Matrix::dense(3, 0), 1e-5).with_saved(), &[], 0, IN_ORDER);
    assert!(rounded(Type::F32, &empty[&Role::Means]).iter().all(|mean| mean.is_nan()));
    let norm = Norm::rms(Type::BF16, Matrix::dense(0, 40), 1e-5).with_weights(Type::BF16);
    let left = backward(norm.with_gradients(Type::F32), &[], 0, IN_ORDER);
    assert_eq!(left[&Role::WeightGradients], vec![0; 160]);
    let nothing = Norm::layer(Type::F32, Matrix::dense(7, 0), 1e-5).with_gradients(Type::F32).with_weights(Type::F32);
    assert!(nothing.backward(&H200).expect("a plan").plan().passes.is_empty());
}

#[test]
fn each_refusal_says_what_was_wrong() {
    let norm = Norm::layer(Type::F32, Matrix::dense(2, 3), 1e-5);
    let error = |norm: Norm| {
        let back = norm.backward(&H200).expect_err("no plan");
        let error = norm.reduction(&H200).expect_err("no plan");
        assert_eq!(error, back);
        error
    };
    for epsilon in [0.0, -1e-5, f32::NAN, f32::INFINITY] {
        assert!(matches!(
            error(changed(norm, |norm| norm.epsilon = epsilon)),
            Error::Parameter { what: "epsilon", .. }
        ));
    }
    for (what, norm) in [
        ("weights", norm.with_weights(Type::BF16)),
        ("biases", norm.with_biases(Type::F64)),
        ("gradients", norm.with_weights(Type::F32).with_gradients(Type::I32)),
    ] {
        assert!(matches!(error(norm), Error::OperandType { operand, .. } if operand == what));
    }
    for ty in [Type::I32, Type::F64] {
        assert!(matches!(error(changed(norm, |norm| norm.ty = ty)), Error::Unsupported { .. }));
    }
    let with = |rows, cols, pitch| changed(norm, |norm| norm.matrix = Matrix { rows, cols, pitch });
    assert_eq!(error(with(2, 3, 2)), Error::Pitch { pitch: 2, cols: 3 });
    assert!(matches!(error(with(1 << 39, 1, 1)), Error::TooMany { what: "rows", .. }));
    assert!(matches!(error(with(1, 1 << 31, 1 << 31)), Error::TooMany { what: "columns", .. }));
    assert!(matches!(error(with(9, 1, 1 << 62)), Error::Size { .. }));
}
