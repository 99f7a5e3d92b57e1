//! RMS norm with results of 8 bits: every code against a table made from the format's definition, rows against a reference in double
//! precision with a bound.

use device::Schedule;
use reduction::card::H200;
use reduction::{Code, Error, Matrix, Norm, QuantisedNorm, Role, Type};

use crate::normalise::{Held, changed, elements, encoded, moments, numbers, run};
use crate::numbers::rounded;
use crate::trial::{IN_ORDER, any_order};

const UNIT: f64 = 1.0 / (1u64 << 24) as f64;
const CODES: [Code; 2] = [Code::E4M3, Code::I8];

/// Value of a code of e4m3fn by its definition: sign, 4 bits of exponent with a bias of 7, 3 of mantissa; no infinity, NaN is all ones.
fn value_of(code: u8) -> f64 {
    let (exponent, mantissa) = (i32::from(code >> 3 & 15), f64::from(code & 7));
    let magnitude = match exponent {
        15 if code & 7 == 7 => f64::NAN,
        0 => mantissa / 8.0 * 2f64.powi(-6),
        _ => (1.0 + mantissa / 8.0) * 2f64.powi(exponent - 7),
    };
    if code & 0x80 == 0 { magnitude } else { -magnitude }
}

/// The code nearest to a number, by search; of two, the even one.
fn nearest(number: f64) -> u8 {
    let sign = if number.is_sign_negative() { 0x80 } else { 0 };
    let apart = |code: u8| (value_of(code) - number.abs()).abs();
    let better =
        |a: u8, b: u8| if apart(b) < apart(a) || (apart(b) == apart(a) && b.is_multiple_of(2)) { b } else { a };
    sign | (0..=0x7e).fold(0, better)
}

fn top(code: Code) -> f64 {
    if code == Code::I8 { 127.0 } else { 448.0 }
}

/// Numbers of results.
fn results(code: Code, bytes: &[u8]) -> Vec<f64> {
    let number = |&byte: &u8| if code == Code::I8 { f64::from(byte.cast_signed()) } else { value_of(byte) };
    bytes.iter().map(number).collect()
}

/// Runs a row of ones whose weights are these numbers, of which one is the largest of the format: the scale is 1, and each result is
/// its weight's code.
fn codes_of(code: Code, weights: &[f32]) -> Vec<u8> {
    let cols = weights.len() as u64;
    let problem = QuantisedNorm::new(Type::F32, Matrix::dense(1, cols), 1e-30, code).with_weights(Type::F32);
    let held = Held::from([
        (Role::Input, encoded(Type::F32, &vec![1.0; weights.len()])),
        (Role::Weights, encoded(Type::F32, weights)),
    ]);
    let left = run(&problem.reduction(&H200).expect("a plan"), &held, &[], 0, IN_ORDER);
    assert_eq!(rounded(Type::F32, &left[&Role::Scales]), [1.0]);
    left[&Role::Out].clone()
}

/// A number, and those before and after it.
fn around(number: f64) -> [f32; 3] {
    let bits = (number as f32).to_bits();
    [f32::from_bits(bits.saturating_sub(1)), f32::from_bits(bits), f32::from_bits(bits + 1)]
}

#[test]
fn every_fp8_code_and_what_lies_between_two_is_rounded_as_defined() {
    let mut weights = vec![448.0, 0.0, -0.0, f32::from_bits(1), 1e-30];
    for code in 0..0x7e {
        let (this, next) = (value_of(code), value_of(code + 1));
        for place in [this, (3.0 * this + next) / 4.0, (this + next) / 2.0, (this + 3.0 * next) / 4.0] {
            weights.extend(around(place).into_iter().flat_map(|x| [x, -x]));
        }
    }
    let got = codes_of(Code::E4M3, &weights);
    for (weight, got) in weights.iter().zip(got) {
        assert_eq!(got, nearest(f64::from(*weight)), "{weight:e}");
    }
}

#[test]
fn integers_are_rounded_to_the_nearest_and_ties_to_even() {
    let mut weights = vec![127.0, 0.0, -0.0, 1e-30];
    for half in 0..254 {
        weights.extend(around(f64::from(half) / 2.0).into_iter().flat_map(|x| [x, -x]));
    }
    let got = codes_of(Code::I8, &weights);
    for (weight, got) in weights.iter().zip(got) {
        assert_eq!(f32::from(got.cast_signed()), weight.round_ties_even(), "{weight:e}");
    }
}

fn operands(problem: &QuantisedNorm) -> Held {
    let n = problem.matrix.span().expect("a small matrix");
    let mut held = Held::from([(Role::Input, encoded(problem.ty, &numbers(n, 1)))]);
    if problem.has_residual {
        held.insert(Role::Other, encoded(problem.ty, &numbers(n, 2)));
    }
    held.extend(problem.weights.map(|ty| (Role::Weights, encoded(ty, &numbers(problem.matrix.cols, 3)))));
    held
}

/// Runs a norm and judges it; what it left.
fn passes(problem: QuantisedNorm, over: &[(Role, Role)], begin: u64, schedule: Schedule) -> Held {
    let QuantisedNorm { ty, matrix, code, epsilon, .. } = problem;
    let reduction = problem.reduction(&H200).expect("a plan");
    let before = operands(&problem);
    let after = run(&reduction, &before, over, begin, schedule);
    let x = elements(ty, &before);
    let weights = problem.weights.map_or(vec![1.0; matrix.cols as usize], |ty| rounded(ty, &before[&Role::Weights]));
    let (scales, out) = (rounded(Type::F32, &after[&Role::Scales]), results(code, &after[&Role::Out]));
    for (at, &got_scale) in scales.iter().enumerate() {
        let begin = at * matrix.pitch as usize;
        let end = begin + matrix.cols as usize;
        let (x, out) = (&x[begin..end], &out[begin..end]);
        if problem.has_residual {
            assert_eq!(&rounded(ty, &after[&Role::Sum])[begin..end], x);
        }
        let roundings = reduction.plan().additions() as f64;
        let [_, deviation, _, relative] = moments(&Norm::rms(ty, matrix, epsilon), x, roundings);
        // Of y, of what it is multiplied by, and of scales.
        let relative = relative + 8.0 * UNIT;
        let y: Vec<f64> = x.iter().zip(&weights).map(|(x, weight)| x * deviation * weight).collect();
        let most = y.iter().fold(0.0f64, |most, y| most.max(y.abs())).max(2f64.powi(-100));
        let scale = most / top(code);
        assert!((got_scale - scale).abs() <= scale * relative, "{problem:?}: {got_scale} for {scale}");
        for (y, got) in y.iter().zip(out) {
            let right = y / scale;
            let step = match code {
                Code::E4M3 => 2f64.powi((right.abs().max(2f64.powi(-6)).log2().floor() as i32).min(8) - 3),
                _ => 1.0,
            };
            // Half of a step: of two results, either one is right if rounding errors may decide.
            let bound = step / 2.0 + 2.0 * relative * right.abs();
            assert!((got - right).abs() <= bound, "{problem:?}: {got} for {right}");
        }
    }
    after
}

#[test]
fn rows_of_8_bits_are_right() {
    let shapes = [(0, 9), (3, 1), (5, 31), (20, 33), (3, 257), (2, 600), (1, 16_500)];
    for (at, (rows, cols)) in shapes.into_iter().enumerate() {
        let matrix = Matrix { rows, cols, pitch: cols + at as u64 % 3 };
        for code in CODES {
            let begin = at as u64 % 2;
            let problem = QuantisedNorm::new(Type::F32, matrix, 1e-5, code);
            passes(problem, &[], begin, IN_ORDER);
            passes(problem.with_weights(Type::F32).with_residual(), &[(Role::Sum, Role::Input)], begin, IN_ORDER);
            for ty in [Type::BF16, Type::F16] {
                let problem = QuantisedNorm::new(ty, matrix, 1e-6, code).with_weights(ty);
                passes(problem, &[], begin, IN_ORDER);
                passes(problem.with_residual(), &[(Role::Sum, Role::Other)], begin, IN_ORDER);
            }
        }
    }
}

#[test]
fn no_schedule_finds_a_fault_or_changes_a_bit() {
    for (rows, cols) in [(70, 40), (9, 530), (2, 16_400)] {
        let problem = QuantisedNorm::new(Type::BF16, Matrix::dense(rows, cols), 1e-5, Code::E4M3).with_residual();
        let first = passes(problem, &[], 0, IN_ORDER);
        any_order(&first, &problem, |schedule| passes(problem, &[], 0, schedule));
    }
}

#[test]
fn zeros_nan_and_infinities_are_what_the_documentation_says() {
    for cols in [5usize, 700, 16_500] {
        for code in CODES {
            let mut x = numbers(5 * cols as u64, 9);
            x[..cols].fill(0.0);
            (x[cols + 1], x[2 * cols + 2]) = (f32::NAN, f32::NEG_INFINITY);
            // Results of the last two rows: one that is infinite, and then all too small for a scale of their own.
            let mut weights = vec![1.0; cols];
            weights[4] = f32::MAX;
            x[3 * cols..].fill(4.0);
            x[4 * cols..].fill(0.0);
            x[3 * cols..3 * cols + 4].fill(1.0);
            let problem = QuantisedNorm::new(Type::F32, Matrix::dense(5, cols as u64), 1e-5, code);
            let reduction = problem.with_weights(Type::F32).reduction(&H200).expect("a plan");
            let held =
                Held::from([(Role::Input, encoded(Type::F32, &x)), (Role::Weights, encoded(Type::F32, &weights))]);
            let left = run(&reduction, &held, &[], 0, IN_ORDER);
            let (scales, out) = (rounded(Type::F32, &left[&Role::Scales]), results(code, &left[&Role::Out]));
            let smallest = 2f64.powi(-100) / top(code);
            for zeros in [0, 4] {
                assert!((scales[zeros] / smallest - 1.0).abs() <= UNIT, "{}", scales[zeros]);
                assert!(out[zeros * cols..(zeros + 1) * cols].iter().all(|&y| y == 0.0));
            }
            let is_none = |y: f64| if code == Code::I8 { y == 0.0 } else { y.is_nan() };
            for nan in [1, 2] {
                assert!(scales[nan].is_nan(), "{}", scales[nan]);
                assert!(out[nan * cols..(nan + 1) * cols].iter().all(|&y| is_none(y)));
            }
            let infinite = &out[3 * cols..4 * cols];
            assert!(scales[3].is_infinite() && is_none(infinite[4]), "{}", scales[3]);
            assert!(infinite[..4].iter().chain(&infinite[5..]).all(|&y| y == 0.0));
        }
    }
}

#[test]
fn it_refuses_what_the_norm_refuses() {
    let problem = QuantisedNorm::new(Type::F32, Matrix::dense(2, 3), 1e-5, Code::E4M3);
    let error = |problem: QuantisedNorm| problem.reduction(&H200).expect_err("no plan");
    assert!(matches!(error(changed(problem, |problem| problem.epsilon = -1.0)), Error::Parameter { .. }));
    assert!(matches!(error(problem.with_weights(Type::BF16)), Error::OperandType { operand: "weights", .. }));
    assert!(matches!(error(changed(problem, |problem| problem.ty = Type::U8)), Error::Unsupported { .. }));
}
