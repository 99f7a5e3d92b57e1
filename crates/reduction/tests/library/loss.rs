//! Cross-entropy against a reference in doubles, whose bounds follow from the kernels' roundings as those of chapter 11 do.

use device::{HostOperands, Schedule};
use reduction::bound::error_bound;
use reduction::card::H200;
use reduction::{CrossEntropy, Error, LossReduction, Matrix, Role, Type};

use crate::numbers::{Right, U, drawn, encode, half_step, rounded, run};
use crate::trial::{IN_ORDER, any_order, words};

/// Facts about a row of logits.
struct Row<'a> {
    x: &'a [f64],
    max: f64,
    log: f64,
    /// Error bound of the logarithm, and of an exponential's sum, relatively.
    error: f64,
    additions: u64,
}

impl Row<'_> {
    fn of(x: &[f64], additions: u64) -> Row<'_> {
        let max = x.iter().fold(f64::NEG_INFINITY, |max, &x| if max.is_nan() || x <= max { max } else { x });
        let terms = x.iter().map(|x| ((x - max).exp(), max - x)).filter(|&(e, _)| e != 0.0);
        let (sum, apart) = terms.fold((0.0, 0.0), |(sum, apart), (e, d)| (sum + e, apart + e * d));
        let error = error_bound(Type::F32, (additions + 16).into(), 1.0) + 1.06 * U * apart / sum;
        Row { x, max, log: sum.ln(), error, additions }
    }

    fn logsumexp(&self) -> Right {
        let (value, log) = (self.max + self.log, self.log);
        if self.max.is_infinite() {
            return Right { value: self.max, bound: 0.0 };
        }
        Right { value, bound: self.error + 2.0 * U * log.abs() + 1.01 * U * value.abs() }
    }

    fn loss(&self, label: usize, smoothing: f64) -> Right {
        let of_log = self.error + 2.0 * U * self.log.abs();
        let apart = self.max - self.x[label];
        let value = apart + self.log;
        let one = Right { value, bound: of_log + U * (apart.abs() + 1.01 * value.abs()) };
        if smoothing == 0.0 {
            return one;
        }
        let shift = if self.x[label].is_finite() { self.x[label] } else { 0.0 };
        let columns = self.x.len() as f64;
        let size = self.x.iter().map(|x| (x - shift).abs()).sum::<f64>() / columns;
        let mean = self.x.iter().map(|x| self.max + self.log - x).sum::<f64>() / columns;
        let above = (self.max - shift).abs() + self.log.abs();
        let of_mean = of_log + error_bound(Type::F32, (self.additions + 3).into(), size) + 3.0 * U * (above + size);
        let (value, size) = (smoothing * mean + (1.0 - smoothing) * value, smoothing * mean.abs() + value.abs());
        Right { value, bound: smoothing * of_mean + one.bound + 4.0 * U * size }
    }

    fn gradient(&self, column: usize, label: usize, smoothing: f64, gradient: f64, ty: Type) -> Right {
        let all = self.max + self.log;
        if !all.is_finite() {
            return Right::NAN;
        }
        let p = (self.x[column] - all).exp();
        let apart = if p > 0.0 { all - self.x[column] + self.log } else { 0.0 };
        let of_p = p * (self.error + 2.2 * U * apart + 2.0 * U * all.abs() + 8.0 * U) + f64::from(f32::MIN_POSITIVE);
        let each = smoothing / self.x.len() as f64;
        let target = each + if column == label { 1.0 - smoothing } else { 0.0 };
        let value = (p - target) * gradient;
        let bound = gradient.abs() * (of_p + U * (4.0 * target + (p - target).abs())) + 4.0 * U * value.abs();
        Right { value, bound: bound + half_step(ty, value) }
    }
}

/// A call, forward or backward, with its numbers.
#[derive(Debug, Clone)]
struct Trial {
    problem: CrossEntropy,
    logits: Vec<f64>,
    labels: Vec<i64>,
    begin: [u64; 3],
    in_place: bool,
    schedule: Schedule,
}

impl Trial {
    /// Random logits in [-8, 8) and labels, of which every fifth is ignored.
    fn new(problem: CrossEntropy) -> Trial {
        let Matrix { rows, cols, pitch } = problem.matrix;
        let logits = drawn(problem.ty, problem.matrix.span().expect("a small matrix"), rows + cols, 8.0);
        let label = |row: u64| {
            if row % 5 == 3 || cols == 0 { problem.ignore_index } else { ((7 * row + pitch) % cols) as i64 }
        };
        let labels = (0..rows).map(label).collect();
        let schedule = IN_ORDER;
        Trial { problem, logits, labels, begin: [0; 3], in_place: false, schedule }
    }

    fn row(&self, row: usize) -> &[f64] {
        let at = row * self.problem.matrix.pitch as usize;
        &self.logits[at..at + self.problem.matrix.cols as usize]
    }

    fn gradients(&self) -> Vec<f64> {
        let rows = if self.problem.one_gradient { 1 } else { self.problem.matrix.rows };
        (0..rows).map(|row| 0.75 - row as f64 / 4.0).collect()
    }

    /// Runs it and judges every result; the bits of the results, and the flag.
    fn passes(&self) -> (Vec<u8>, Option<u32>) {
        let problem = &self.problem;
        let reduction = problem.reduction(&H200).unwrap_or_else(|error| panic!("{problem:?}: {error}"));
        let additions = reduction.plan().additions();
        let rows: Vec<Row<'_>> = (0..self.labels.len()).map(|row| Row::of(self.row(row), additions)).collect();
        let others = self.others(&rows);
        let others: Vec<(Role, &[u8])> = others.iter().map(|(role, bytes)| (*role, bytes.as_slice())).collect();
        let size = problem.ty.bytes();
        let operands = HostOperands {
            input: &encode(problem.ty, &self.logits),
            others: &others,
            begin: self.begin.map(|elements| (elements * size) as usize),
            in_place: self.in_place,
        };
        let (out, left) = run(&reduction, &operands, self.schedule);
        let left = |role| others.iter().position(|other| other.0 == role).map(|at| left[at].as_slice());
        if problem.is_backward {
            self.judge_gradients(&rows, &rounded(problem.ty, &out));
        } else {
            self.judge_losses(&rows, &rounded(Type::F32, &out), left(Role::Logsumexp));
        }
        (out, left(Role::Flag).map(|flag| u32::from_le_bytes(flag.try_into().expect("a word"))))
    }

    fn passes_in_any_order(&self) {
        let again = |schedule| Trial { schedule, ..self.clone() }.passes();
        any_order(&self.passes(), &self.problem, again);
    }

    fn others(&self, rows: &[Row<'_>]) -> Vec<(Role, Vec<u8>)> {
        let problem = &self.problem;
        let labels = self.labels.iter().map(|&label| label as u64);
        let mut others = vec![(Role::Labels, words(problem.label_bits, labels))];
        if problem.is_backward {
            others.push((Role::Gradients, encode(Type::F32, &self.gradients())));
        }
        if problem.has_logsumexp {
            let saved: Vec<f64> = rows.iter().map(|row| row.logsumexp().value).collect();
            let saved = if problem.is_backward { saved } else { vec![5.0; saved.len()] };
            others.push((Role::Logsumexp, encode(Type::F32, &saved)));
        }
        if problem.has_flag {
            others.push((Role::Flag, vec![0; 4]));
        }
        others
    }

    /// The row's column; else what it has in place of results.
    fn target(&self, row: usize) -> Result<usize, f64> {
        let label = self.labels[row];
        if label == self.problem.ignore_index {
            return Err(0.0);
        }
        usize::try_from(label).ok().filter(|&label| label < self.problem.matrix.cols as usize).ok_or(f64::NAN)
    }

    fn counted(&self) -> f64 {
        self.labels.iter().filter(|&&label| label != self.problem.ignore_index).count() as f64
    }

    fn judge_losses(&self, rows: &[Row<'_>], got: &[f64], saved: Option<&[u8]>) {
        let smoothing = f64::from(self.problem.smoothing);
        let instead = |value| Right { value, bound: 0.0 };
        let right = |(at, row): (usize, &Row<'_>)| match self.target(at) {
            Ok(label) => row.loss(label, smoothing),
            Err(value) => instead(value),
        };
        let each: Vec<Right> = rows.iter().enumerate().map(right).collect();
        let sum = each.iter().fold(Right { value: 0.0, bound: 0.0 }, |sum, one| Right {
            value: sum.value + one.value,
            bound: sum.bound + one.bound,
        });
        let divided = |by: f64| {
            let value = sum.value / by;
            Right { value, bound: sum.bound / by + U * value.abs() }
        };
        let right = match self.problem.reduction {
            LossReduction::None => each,
            LossReduction::Sum => vec![divided(1.0)],
            LossReduction::Mean => vec![divided(self.counted())],
        };
        assert_eq!(right.len(), got.len());
        for (at, (right, &got)) in right.iter().zip(got).enumerate() {
            assert!(right.takes(got), "{:?}: loss {at} is {got}, not {right:?}", self.problem);
        }
        let saved = saved.map(|bytes| rounded(Type::F32, bytes)).unwrap_or_default();
        for (at, &got) in saved.iter().enumerate() {
            let right = self.target(at).map_or_else(instead, |_| rows[at].logsumexp());
            assert!(right.takes(got), "{:?}: logsumexp {at} is {got}, not {right:?}", self.problem);
        }
    }

    fn judge_gradients(&self, rows: &[Row<'_>], got: &[f64]) {
        let problem = &self.problem;
        let counted = if problem.reduction == LossReduction::Mean { self.counted() } else { 1.0 };
        let gradients = self.gradients();
        for (at, row) in rows.iter().enumerate() {
            let gradient = gradients[if problem.one_gradient { 0 } else { at }] / counted;
            for column in 0..row.x.len() {
                let got = got[at * problem.matrix.pitch as usize + column];
                let right = match self.target(at) {
                    Ok(label) => row.gradient(column, label, f64::from(problem.smoothing), gradient, problem.ty),
                    Err(value) => Right { value, bound: 0.0 },
                };
                assert!(right.takes(got), "{problem:?}: gradient {at}, {column} is {got}, not {right:?}");
            }
        }
    }
}

const SHAPES: [(u64, u64); 13] = [
    (1, 1),
    (0, 9),
    (4, 0),
    (9, 3),
    (7, 31),
    (9, 33),
    (6, 130),
    (5, 257),
    (4, 700),
    (3, 2300),
    (2, 4099),
    (2, 9001),
    (2, 17_003),
];
const REDUCTIONS: [LossReduction; 3] = [LossReduction::None, LossReduction::Sum, LossReduction::Mean];

#[test]
fn losses_are_right() {
    for ty in [Type::F32, Type::BF16, Type::F16] {
        for (i, (rows, cols)) in SHAPES.into_iter().enumerate() {
            let matrix = Matrix { rows, cols, pitch: cols + rows % 4 };
            let problem = CrossEntropy::forward(ty, matrix).with_reduction(REDUCTIONS[i % 3]).with_flag();
            let trial = Trial { begin: [rows % 3, 0, 0], ..Trial::new(problem.with_logsumexp()) };
            assert_eq!(trial.passes().1, Some(0));
            let smooth = problem.with_smoothing(0.1).with_ignore_index(1 % cols.max(1) as i64);
            Trial { begin: [1, 0, 0], ..Trial::new(smooth.with_label_bits(32)) }.passes();
        }
    }
}

#[test]
fn gradients_are_right_apart_and_in_place() {
    for ty in [Type::F32, Type::BF16, Type::F16] {
        for (i, (rows, cols)) in SHAPES.into_iter().enumerate() {
            let matrix = Matrix { rows, cols, pitch: cols + rows % 2 };
            let problem = CrossEntropy::backward(ty, matrix).with_reduction(REDUCTIONS[i % 3]);
            Trial { begin: [rows % 3, 0, 1], ..Trial::new(problem) }.passes();
            let problem = problem.with_logsumexp().with_smoothing(0.25).with_label_bits(32);
            let trial = Trial { begin: [1, 0, 1], ..Trial::new(problem.with_gradient_a_row()) };
            let over = Trial { in_place: true, ..trial.clone() }.passes();
            assert!(trial.passes() == over || matrix.pitch > cols, "{rows} x {cols}: other bits in place");
        }
    }
}

#[test]
fn smoothing_of_logits_far_from_zero_loses_nothing() {
    for smoothing in [0.1, 1.0] {
        let problem = CrossEntropy::forward(Type::F32, Matrix::dense(3, 5000)).with_smoothing(smoothing);
        let mut trial = Trial::new(problem.with_reduction(LossReduction::None));
        trial.logits.iter_mut().for_each(|x| *x = f64::from((*x + 4096.0) as f32));
        trial.passes();
    }
}

#[test]
fn means_are_of_the_rows_that_count() {
    let problem = CrossEntropy::forward(Type::F32, Matrix::dense(5000, 2));
    Trial::new(problem).passes();
    Trial::new(problem.with_reduction(LossReduction::Sum)).passes();
    let gradients = CrossEntropy::backward(Type::F32, Matrix::dense(5000, 2));
    Trial::new(gradients).passes();
    for problem in [CrossEntropy::forward, CrossEntropy::backward] {
        let problem = problem(Type::F32, Matrix::dense(5, 2));
        let mut trial = Trial::new(problem);
        trial.labels.fill(problem.ignore_index);
        trial.passes();
    }
}

#[test]
fn rows_of_infinities_and_nan_have_the_values_of_torch() {
    let inf = f64::INFINITY;
    for cols in [5, 600, 2100] {
        for smoothing in [0.0, 0.5] {
            let matrix = Matrix::dense(8, cols);
            for problem in [CrossEntropy::forward(Type::F32, matrix), CrossEntropy::backward(Type::BF16, matrix)] {
                let problem = problem.with_smoothing(smoothing).with_reduction(LossReduction::None);
                let mut trial = Trial::new(problem.with_ignore_index(-1));
                trial.labels = vec![0, 1, 0, 1, 2, -1, -1, 3];
                for (row, first) in [inf, -inf, f64::NAN, -inf, -0.0, f64::NAN, inf, -0.0].into_iter().enumerate() {
                    trial.logits[row * cols as usize] = first;
                }
                trial.logits[3 * cols as usize..4 * cols as usize].fill(-inf);
                trial.passes();
                Trial { in_place: problem.is_backward, problem: trial.problem.with_logsumexp(), ..trial }.passes();
            }
        }
    }
}

#[test]
fn labels_that_are_no_columns_give_nan_and_set_the_flag() {
    for cols in [3, 700, 5000] {
        for bits in [32, 64] {
            let matrix = Matrix::dense(4, cols);
            for problem in [CrossEntropy::forward(Type::F32, matrix), CrossEntropy::backward(Type::F32, matrix)] {
                let problem = problem.with_reduction(LossReduction::None).with_label_bits(bits);
                let wrong = [-1, cols as i64, i64::from(i32::MIN), if bits == 64 { 1 << 32 } else { -101 }];
                for label in wrong {
                    let mut trial = Trial::new(problem.with_flag().with_logsumexp());
                    trial.labels[2] = label;
                    assert_eq!(trial.passes().1, Some(1), "{label}");
                    trial.problem = problem;
                    assert_eq!(trial.passes().1, None);
                }
            }
        }
    }
}

#[test]
fn no_schedule_changes_a_bit() {
    for cols in [40, 1500, 2300] {
        for problem in [CrossEntropy::forward, CrossEntropy::backward] {
            let problem = problem(Type::F32, Matrix::dense(10, cols)).with_smoothing(0.1).with_flag();
            let mut trial = Trial::new(problem);
            trial.labels[1] = -7;
            trial.passes_in_any_order();
        }
    }
    Trial::new(CrossEntropy::forward(Type::F32, Matrix::dense(5000, 1))).passes_in_any_order();
}

#[test]
fn what_kernels_do_not_take_is_refused() {
    let problem = CrossEntropy::forward(Type::F32, Matrix::dense(2, 3));
    let refused = |problem: CrossEntropy| problem.reduction(&H200).expect_err("it is to be refused");
    for smoothing in [-0.1, 1.1, f32::NAN] {
        assert!(matches!(refused(problem.with_smoothing(smoothing)), Error::Parameter { what: "label smoothing", .. }));
    }
    assert_eq!(refused(problem.with_label_bits(16)), Error::Bits { what: "labels", got: 16 });
    let of = |ty, rows, cols, pitch| refused(CrossEntropy::backward(ty, Matrix { rows, cols, pitch }));
    assert!(matches!(of(Type::F64, 2, 3, 3), Error::Unsupported { .. } | Error::NoKernels { .. }));
    assert_eq!(of(Type::F32, 2, 3, 2), Error::Pitch { pitch: 2, cols: 3 });
    assert!(matches!(of(Type::F32, 1 << 39, 1, 1), Error::TooMany { what: "rows", .. }));
    assert!(matches!(of(Type::F32, 1, 1 << 31, 1 << 31), Error::TooMany { what: "columns", .. }));
    assert!(matches!(of(Type::F32, 9, 1, 1 << 62), Error::Size { .. }));
}
