//! Softmax with scale and masks against a reference in doubles, whose bounds follow from the kernels' roundings as those of chapter 11 do.

use device::{HostOperands, Schedule};
use reduction::bound::error_bound;
use reduction::card::H200;
use reduction::{Error, Matrix, Role, Softmax, Type};

use crate::numbers::{Right, U, drawn, encode, half_step, rounded, run};
use crate::trial::{IN_ORDER, any_order};

const LEAST: f64 = f32::MIN_POSITIVE as f64;

/// A call, forward or backward, with its numbers.
#[derive(Debug, Clone)]
struct Trial {
    problem: Softmax,
    /// Elements of x, forward.
    x: Vec<f64>,
    mask: Vec<f64>,
    lengths: Vec<i32>,
    /// Gradients, backward.
    gradients: Vec<f64>,
    begin: [u64; 3],
    in_place: bool,
    schedule: Schedule,
}

/// Facts that the results of a row are judged by.
struct Row {
    /// scale · x + mask, −∞ where nothing is seen.
    z: Vec<f64>,
    max: f64,
    log: f64,
    error: f64,
    /// What the rounding of z changes.
    of_z: f64,
}

impl Row {
    fn of(z: Vec<f64>, additions: u64) -> Row {
        let max = z.iter().fold(f64::NEG_INFINITY, |max, &z| if max.is_nan() || z <= max { max } else { z });
        let terms = z.iter().map(|z| ((z - max).exp(), max - z)).filter(|&(e, _)| e != 0.0);
        let (sum, apart) = terms.fold((0.0, 0.0), |(sum, apart), (e, d)| (sum + e, apart + e * d));
        let error = error_bound(Type::F32, (additions + 16).into(), 1.0) + 1.06 * U * apart / sum;
        let of_z = z.iter().filter(|z| z.is_finite()).fold(0.0, |most: f64, z| most.max(z.abs())) * 4.0 * U;
        Row { z, max, log: f64::ln(sum), error, of_z }
    }

    fn logsumexp(&self) -> Right {
        if self.max.is_infinite() {
            return Right { value: self.max, bound: 0.0 };
        }
        let value = self.max + self.log;
        Right { value, bound: self.error + self.of_z + 2.0 * U * self.log.abs() + 1.01 * U * value.abs() }
    }

    fn result(&self, column: usize, is_log: bool, ty: Type) -> Right {
        if self.max == f64::NEG_INFINITY {
            return Right { value: if is_log { self.max } else { 0.0 }, bound: 0.0 };
        }
        let apart = self.z[column] - self.max;
        if !self.max.is_finite() || is_log {
            let value = if self.max.is_finite() { apart - self.log } else { f64::NAN };
            let size = 2.0 * self.log.abs() + 1.01 * (apart.abs() + value.abs());
            return Right { value, bound: self.error + self.of_z + U * size + half_step(ty, value) };
        }
        let value = (apart - self.log).exp();
        let apart = if value > 0.0 { apart.abs() } else { 0.0 };
        let relative = self.error + self.of_z + U * (1.06 * apart + 4.0);
        Right { value, bound: value * relative + 2.0 * LEAST + half_step(ty, value) }
    }
}

impl Trial {
    /// Numbers for a problem; lengths from -1 to two more than there are columns.
    fn new(problem: Softmax) -> Trial {
        let Matrix { rows, cols, pitch } = problem.matrix;
        let drawn = |pitch: u64, seed, size| {
            let matrix = if pitch == 0 { Matrix::dense(rows.min(1), cols) } else { Matrix { rows, cols, pitch } };
            drawn(problem.ty, matrix.span().expect("a small matrix"), seed, size)
        };
        let mut mask = problem.mask_pitch.map_or(Vec::new(), |pitch| drawn(pitch, 7, 2.0));
        mask.iter_mut().step_by(3).for_each(|added| *added = f64::NEG_INFINITY);
        let length = |row: u64| ((row * 97 + 1) % (cols + 4)) as i32 - 1;
        Trial {
            problem,
            x: drawn(pitch, rows + cols, 8.0),
            mask,
            lengths: if problem.has_lengths { (0..rows).map(length).collect() } else { Vec::new() },
            gradients: drawn(pitch, 11, 1.0),
            begin: [0; 3],
            in_place: false,
            schedule: IN_ORDER,
        }
    }

    fn seen(&self, row: usize) -> usize {
        let all = self.problem.matrix.cols as i64;
        let length = self.lengths.get(row).map_or(all, |&length| length.into());
        let causal = self.problem.causal.map_or(all, |causal| row as i64 % causal.rows as i64 + causal.offset + 1);
        all.min(length).min(causal).max(0) as usize
    }

    fn rows(&self, additions: u64) -> Vec<Row> {
        let Matrix { rows, cols, pitch } = self.problem.matrix;
        let facts = |row: usize| {
            let z = |column: usize| {
                let added = self.problem.mask_pitch.map_or(0.0, |pitch| self.mask[row * pitch as usize + column]);
                let x = self.x[row * pitch as usize + column] * f64::from(self.problem.scale) + added;
                if column < self.seen(row) { x } else { f64::NEG_INFINITY }
            };
            Row::of((0..cols as usize).map(z).collect(), additions)
        };
        (0..rows as usize).map(facts).collect()
    }

    /// Runs it and judges every result; the bits of the results.
    fn passes(&self) -> Vec<u8> {
        let problem = &self.problem;
        let reduction = problem.reduction(&H200).unwrap_or_else(|error| panic!("{problem:?}: {error}"));
        let rows = self.rows(reduction.plan().additions());
        // Backward, what the reference has left.
        let mut input = self.x.clone();
        for (at, row) in rows.iter().enumerate().filter(|_| problem.is_backward) {
            for column in 0..row.z.len() {
                input[at * problem.matrix.pitch as usize + column] =
                    row.result(column, problem.is_log, problem.ty).value;
            }
        }
        let input = encode(problem.ty, &input);
        let others = self.others();
        let others: Vec<(Role, &[u8])> = others.iter().map(|(role, bytes)| (*role, bytes.as_slice())).collect();
        let begin = self.begin.map(|elements| (elements * problem.ty.bytes()) as usize);
        let operands = HostOperands { input: &input, others: &others, begin, in_place: self.in_place };
        let (out, left) = run(&reduction, &operands, self.schedule);
        let got = rounded(problem.ty, &out);
        if problem.is_backward {
            self.judge_gradients(&rounded(problem.ty, &input), &got, reduction.plan().additions());
            return self.without_gaps(&out);
        }
        for (at, row) in rows.iter().enumerate() {
            for column in 0..row.z.len() {
                let got = got[at * problem.matrix.pitch as usize + column];
                let right = row.result(column, problem.is_log, problem.ty);
                assert!(right.takes(got), "{problem:?}: {at}, {column} is {got}, not {right:?}");
            }
        }
        if let Some(saved) = others.iter().position(|other| other.0 == Role::Logsumexp) {
            for (row, got) in rows.iter().zip(rounded(Type::F32, &left[saved])) {
                assert!(row.logsumexp().takes(got), "{problem:?}: {got}, not {:?}", row.logsumexp());
            }
        }
        self.without_gaps(&out)
    }

    /// The bytes of the rows alone.
    fn without_gaps(&self, out: &[u8]) -> Vec<u8> {
        let Matrix { cols, pitch, .. } = self.problem.matrix;
        let size = self.problem.ty.bytes();
        let rows = out.chunks((pitch * size).max(1) as usize);
        rows.flat_map(|row| row[..(cols * size) as usize].to_vec()).collect()
    }

    fn others(&self) -> Vec<(Role, Vec<u8>)> {
        let problem = &self.problem;
        let mut others = Vec::new();
        if problem.is_backward {
            others.push((Role::Other, encode(problem.ty, &self.gradients)));
        } else if problem.mask_pitch.is_some() {
            others.push((Role::Mask, encode(problem.ty, &self.mask)));
        }
        if problem.has_lengths {
            others.push((Role::Lengths, self.lengths.iter().flat_map(|length| length.to_le_bytes()).collect()));
        }
        if problem.has_logsumexp && !problem.is_backward {
            others.push((Role::Logsumexp, encode(Type::F32, &vec![5.0; problem.matrix.rows as usize])));
        }
        others
    }

    fn judge_gradients(&self, y: &[f64], got: &[f64], additions: u64) {
        let Softmax { is_log, matrix, scale, ty, .. } = self.problem;
        let scale = f64::from(scale);
        for row in 0..matrix.rows as usize {
            let at = row * matrix.pitch as usize;
            let row = at..at + matrix.cols as usize;
            let (y, gradients, got) = (&y[row.clone()], &self.gradients[row.clone()], &got[row]);
            let is_out = |y: f64| if is_log { y == f64::NEG_INFINITY } else { y == 0.0 };
            let pairs = || y.iter().zip(gradients).filter(|&(&y, _)| !is_out(y));
            let terms = pairs().map(|(y, gradient)| if is_log { *gradient } else { y * gradient });
            let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
            let error = error_bound(Type::F32, (additions + 16).into(), size) + y.len() as f64 * LEAST;
            for ((&y, &gradient), &got) in y.iter().zip(gradients).zip(got) {
                let right = if is_out(y) {
                    Right { value: 0.0, bound: 0.0 }
                } else if is_log {
                    let e = y.exp();
                    let of_e = e * (error + (4.0 + 1.06 * y.abs()) * U * sum.abs());
                    let value = (gradient - e * sum) * scale;
                    Right { value, bound: scale.abs() * of_e + 3.0 * U * value.abs() + 2.0 * LEAST * (1.0 + sum.abs()) }
                } else {
                    let apart = gradient - sum;
                    let value = y * apart * scale;
                    let bound = scale.abs() * y * (error + U * apart.abs()) + 3.0 * U * value.abs() + 2.0 * LEAST;
                    Right { value, bound }
                };
                let right = Right { bound: right.bound + half_step(ty, right.value), ..right };
                assert!(right.takes(got), "{:?}: {got}, not {right:?}", self.problem);
            }
        }
    }
}

const SHAPES: [(u64, u64); 11] =
    [(1, 1), (0, 9), (4, 0), (9, 3), (7, 31), (9, 33), (5, 257), (5, 700), (3, 2300), (2, 4099), (2, 9001)];

/// Each combination of masks in turn.
fn masked(problem: Softmax, turn: usize) -> Softmax {
    let Matrix { cols, pitch, .. } = problem.matrix;
    let problem = if turn & 1 > 0 { problem.with_causal(3, cols as i64 / 2 - 1) } else { problem };
    let problem = if turn & 2 > 0 { problem.with_lengths() } else { problem };
    match (turn & 4, turn & 8) {
        (0, _) => problem,
        (_, 0) => problem.with_mask(pitch + 1),
        _ => problem.with_mask(0),
    }
}

#[test]
fn results_are_right_apart_and_in_place() {
    for ty in [Type::F32, Type::BF16, Type::F16] {
        for (i, (rows, cols)) in SHAPES.into_iter().enumerate() {
            for turn in [i, i + 5] {
                let matrix = Matrix { rows, cols, pitch: cols + rows % 4 };
                let problem = masked(Softmax::forward(ty, matrix).with_scale(0.37), turn).with_logsumexp();
                let problem = if turn % 3 == 0 { problem.with_log() } else { problem };
                let trial = Trial { begin: [1, 0, 1], ..Trial::new(problem) };
                let over = Trial { in_place: true, ..trial.clone() }.passes();
                assert_eq!(trial.passes(), over, "{rows} x {cols}: other bits in place");
                Trial { begin: [1, 0, 2], ..trial }.passes();
            }
        }
    }
}

#[test]
fn gradients_are_right_and_of_what_is_masked_0() {
    for ty in [Type::F32, Type::BF16, Type::F16] {
        for (i, (rows, cols)) in SHAPES.into_iter().enumerate() {
            for turn in [i, i + 5] {
                let matrix = Matrix { rows, cols, pitch: cols + rows % 4 };
                let problem = masked(Softmax::backward(ty, matrix).with_scale(-1.7), turn);
                let problem = if turn % 3 == 0 { problem.with_log() } else { problem };
                let mut trial = Trial { begin: [1; 3], in_place: turn % 2 > 0, ..Trial::new(problem) };
                for row in 0..rows as usize {
                    let at = row * matrix.pitch as usize;
                    let seen = trial.seen(row);
                    trial.gradients[at + seen..at + cols as usize].fill(f64::NAN);
                }
                trial.passes();
            }
        }
    }
}

#[test]
fn a_row_of_infinities_nan_or_nothing_has_its_class() {
    let inf = f64::INFINITY;
    for cols in [5, 900, 2100] {
        for scale in [1.0, -2.0, 0.0] {
            let problem = Softmax::forward(Type::F32, Matrix::dense(6, cols)).with_scale(scale).with_logsumexp();
            for problem in [problem, problem.with_log(), problem.with_causal(6, -3)] {
                let mut trial = Trial::new(problem);
                for (row, first) in [inf, -inf, f64::NAN, -0.0, -inf, inf].into_iter().enumerate() {
                    trial.x[row * cols as usize] = first;
                }
                trial.x[4 * cols as usize..5 * cols as usize].fill(-inf);
                trial.passes();
            }
        }
    }
}

#[test]
fn masked_elements_are_not_read() {
    for (cols, length) in [(40, 7), (900, 300), (5000, 2500)] {
        let mut trial = Trial::new(Softmax::forward(Type::BF16, Matrix::dense(2, cols)).with_lengths());
        trial.lengths = vec![length, 0];
        trial.x[length as usize..].fill(f64::NAN);
        trial.passes();
    }
}

#[test]
fn no_schedule_changes_a_bit() {
    for cols in [40, 1500, 2300] {
        for problem in [Softmax::forward, Softmax::backward] {
            let trial = Trial::new(masked(problem(Type::F32, Matrix::dense(7, cols)), 7));
            let again = |schedule| Trial { schedule, ..trial.clone() }.passes();
            any_order(&trial.passes(), &trial.problem, again);
        }
    }
}

#[test]
fn what_kernels_do_not_take_is_refused() {
    let problem = Softmax::forward(Type::F32, Matrix::dense(2, 3));
    let refused = |problem: Softmax| problem.reduction(&H200).expect_err("it is to be refused");
    for scale in [f32::INFINITY, f32::NAN] {
        assert!(matches!(refused(problem.with_scale(scale)), Error::Parameter { what: "scale", .. }));
    }
    assert!(matches!(refused(problem.with_causal(0, 0)), Error::Parameter { what: "rows of a causal mask", .. }));
    assert!(matches!(refused(problem.with_causal(1 << 31, 0)), Error::TooMany { .. }));
    assert_eq!(refused(problem.with_mask(2)), Error::Pitch { pitch: 2, cols: 3 });
    assert!(matches!(refused(problem.with_mask(1 << 63)), Error::Size { .. }));
    let of = |ty, rows, cols, pitch| refused(Softmax::backward(ty, Matrix { rows, cols, pitch }));
    assert!(matches!(of(Type::F64, 2, 3, 3), Error::Unsupported { .. } | Error::NoKernels { .. }));
    assert_eq!(of(Type::F32, 2, 3, 2), Error::Pitch { pitch: 2, cols: 3 });
    assert!(matches!(of(Type::F32, 1 << 39, 1, 1), Error::TooMany { what: "rows", .. }));
    assert!(matches!(of(Type::F32, 9, 1, 1 << 62), Error::Size { .. }));
}
