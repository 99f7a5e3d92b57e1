//! Trials over matrices, of chapters with a value for each row or each element: every variant, operation and type is judged.

use device::{Checks, Schedule};
use reduction::card::{Card, H200};
use reduction::team::{PersistentTeam, Shape};

use super::{array, checked, describe, run_with, simulator, tried};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::input::random_for;
use crate::layout::{Matrix, Rows};
use crate::run::Run;
use crate::session::Session;
use crate::verify::Bounded;
use crate::{Chapter, LaunchOptions, Op, Plan, Planned, Problem, Type, Variant, with_elements};

/// Columns around a vector, a warp and a block.
const SHORT: [u64; 26] =
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 31, 32, 33, 63, 64, 65, 127, 129];

/// A chapter's kernels over matrices.
#[derive(Debug, Clone, Copy)]
pub struct Matrices {
    /// The chapter.
    pub chapter: &'static Chapter,
    /// Rows that a variant may refuse for an operation.
    pub may_refuse: fn(Op, Rows) -> bool,
}

/// Types and operations of a variant, in pairs that it takes.
pub fn kinds(variant: &Variant) -> Vec<(Type, Op)> {
    let pairs = variant.types.iter().flat_map(|&ty| variant.ops.iter().map(move |&op| (ty, op)));
    pairs.filter(|&(ty, op)| variant.computes(op, ty)).collect()
}

/// Writes the tests of chapters whose results are as many as the elements: over these matrices, with so many runs of every short one, and
/// with these long and small ones.
#[macro_export]
macro_rules! matrix_tests {
    ($matrices:expr, $runs:literal, $dense:expr) => {
        mod matrices {
            use $crate::{Matrix, Result, Rows};

            #[test]
            fn rows_of_every_short_length_are_right() -> Result<()> {
                $matrices.short(9, $runs)?;
                $matrices.dense(&[(3, 0), (0, 5)])
            }

            #[test]
            fn rows_may_begin_anywhere() -> Result<()> {
                $matrices.anywhere(&[(3, 64), (3, 37), (2, 1027)])
            }

            #[test]
            fn few_long_rows_and_many_short_ones_are_right() -> Result<()> {
                $matrices.dense(&$dense)
            }

            #[test]
            fn what_lies_between_rows_is_left_alone() -> Result<()> {
                $matrices.gaps(7, &[(3, 5), (64, 65), (60, 64), (1000, 1004)])
            }

            #[test]
            fn blocks_that_meet_are_right_in_any_order() -> Result<()> {
                $matrices.any_order(Rows::Matrix(Matrix::dense(2, 3001)), 6)
            }

            ::proptest::proptest! {
                #![proptest_config(::proptest::prelude::ProptestConfig { cases: 12, ..Default::default() })]
                #[test]
                fn any_matrix_is_right(rows in 0u64..20, cols in 1u64..300, gap in 0u64..9, offset in 0usize..9) {
                    $matrices.one(Matrix { rows, cols, pitch: cols + gap }, offset)?;
                }

                #[test]
                fn the_plan_holds_what_it_says(rows in 1u64..100_000, log in 0.0f64..23.0) {
                    $matrices.plan_holds(rows, 2f64.powf(log) as u64);
                }
            }
        }
    };
}

impl Matrices {
    /// Runs every variant over these rows, which begin `offset` elements into their allocation, for the operations and types that this
    /// run tries.
    ///
    /// # Errors
    /// A run that fails.
    ///
    /// # Panics
    /// If one is wrong, or anything is found or noted.
    pub fn are_right(&self, rows: Rows, offset: usize, schedule: Schedule) -> Result<()> {
        self.are_right_on(&simulator(self.chapter, schedule, Checks::ALL)?, rows, offset)
    }

    /// As [`Matrices::are_right`], in a session that is open: to read the committed PTX anew takes as long as some short runs.
    fn are_right_on(&self, session: &Session<'_>, rows: Rows, offset: usize) -> Result<()> {
        self.kinds_are_right(session, rows, offset, |variant| tried(kinds(variant))).map(drop)
    }

    /// As [`Matrices::are_right`], of all types and operations, in today's schedule. Returns how many runs there were.
    ///
    /// # Errors
    /// A run that fails.
    pub fn all_are_right(&self, rows: Rows, offset: usize) -> Result<usize> {
        self.kinds_are_right(&checked(self.chapter)?, rows, offset, kinds)
    }

    /// As [`Matrices::all_are_right`], of these types and operations of each variant.
    fn kinds_are_right(
        &self,
        session: &Session<'_>,
        rows: Rows,
        offset: usize,
        kinds: fn(&Variant) -> Vec<(Type, Op)>,
    ) -> Result<usize> {
        let n = match rows {
            Rows::Matrix(matrix) => matrix.span().unwrap_or(0),
            Rows::Ragged(offsets) => offsets.at(offsets.rows()),
        };
        let mut runs = 0;
        for variant in self.chapter.variants {
            for (ty, op) in kinds(variant) {
                let options = LaunchOptions { op, rows: Some(rows), ..LaunchOptions::default() };
                let run = match run_with(session, variant, options, &random_for(op, ty, n as usize, n), offset) {
                    Err(Error::Usage(_)) if (self.may_refuse)(op, rows) => continue,
                    run => run?,
                };
                assert!(run.ok(), "{}", describe(&run, &format!("{op} {rows:?} offset {offset}")));
                assert!(run.notes.is_empty(), "{:?}", run.notes);
                assert!(op.is_per_element() || run.row.is_some() == (run.layout.values() > 0), "{op} {rows:?}");
                runs += 1;
            }
        }
        Ok(runs)
    }

    /// As [`Matrices::are_right`], of one matrix in today's schedule.
    ///
    /// # Errors
    /// A run that fails.
    pub fn one(&self, matrix: Matrix, offset: usize) -> Result<()> {
        self.are_right_on(&checked(self.chapter)?, Rows::Matrix(matrix), offset)
    }

    /// Matrices of these rows and columns, without gaps.
    ///
    /// # Errors
    /// A run that fails.
    pub fn dense(&self, shapes: &[(u64, u64)]) -> Result<()> {
        let session = checked(self.chapter)?;
        let one = |&(rows, cols)| self.are_right_on(&session, Rows::Matrix(Matrix::dense(rows, cols)), 0);
        shapes.iter().try_for_each(one)
    }

    /// So many rows of every length around a vector, a warp and a block; each takes so many runs.
    ///
    /// # Errors
    /// A run that fails.
    pub fn short(&self, rows: u64, runs: usize) -> Result<()> {
        let session = checked(self.chapter)?;
        for cols in SHORT {
            let ran = self.kinds_are_right(&session, Rows::Matrix(Matrix::dense(rows, cols)), 0, kinds)?;
            assert_eq!(ran, runs, "{rows} rows of {cols}");
        }
        Ok(())
    }

    /// These matrices, at each place where a vector of 16 bytes has an element.
    ///
    /// # Errors
    /// A run that fails.
    pub fn anywhere(&self, shapes: &[(u64, u64)]) -> Result<()> {
        let session = checked(self.chapter)?;
        for offset in 0..8 {
            for &(rows, cols) in shapes {
                self.are_right_on(&session, Rows::Matrix(Matrix::dense(rows, cols)), offset)?;
            }
        }
        Ok(())
    }

    /// So many rows of these columns and pitches: what lies between rows is left alone.
    ///
    /// # Errors
    /// A run that fails.
    pub fn gaps(&self, rows: u64, shapes: &[(u64, u64)]) -> Result<()> {
        let session = checked(self.chapter)?;
        for &(cols, pitch) in shapes {
            for offset in [0, 3] {
                self.are_right_on(&session, Rows::Matrix(Matrix { rows, cols, pitch }), offset)?;
            }
        }
        Ok(())
    }

    /// These rows in lockstep and under so many random schedules.
    ///
    /// # Errors
    /// A run that fails.
    pub fn any_order(&self, rows: Rows, seeds: u64) -> Result<()> {
        for seed in 0..seeds {
            self.are_right(rows, 1, Schedule::Independent { seed: Some(seed) })?;
        }
        self.are_right(rows, 0, Schedule::Lockstep)
    }

    /// On a GPU, the shape that the last variant's plan chooses holds its row, and its kernels have lines that make them.
    ///
    /// # Panics
    /// If one does not.
    pub fn plan_holds(&self, rows: u64, cols: u64) {
        let variant = self.chapter.variants.last().expect("a chapter has variants");
        for (ty, op) in kinds(variant) {
            let options = LaunchOptions::over(op, Matrix::dense(rows, cols));
            let problem = Problem::new(variant, ty, rows * cols, options).on(&H200, true);
            let plan = (variant.launches)(&problem);
            assert!(plan.passes.iter().all(|pass| pass.line.is_some() && pass.grid() > 0), "{plan:?}");
            let kernel = &plan.passes[0].kernel;
            assert!(holds(kernel, cols, 16 / ty.bytes()), "{kernel} for {cols}");
        }
    }
}

/// Runs every variant over a matrix of these numbers, and of others where it takes two, for each type and operation that is asked for.
///
/// # Errors
/// A run that fails.
///
/// # Panics
/// If one is not right by `is_right`, or none was asked for.
pub fn over_numbers(
    chapter: &Chapter,
    matrix: Matrix,
    [first, other]: [&[f32]; 2],
    is_asked: impl Fn(Type, Op) -> bool,
    is_right: impl Fn(&Run) -> bool,
) -> Result<()> {
    let session = checked(chapter)?;
    let mut runs = 0;
    for variant in chapter.variants {
        for (ty, op) in kinds(variant).into_iter().filter(|&(ty, op)| is_asked(ty, op)) {
            let all = if op.arrays() == 2 { [first, other].concat() } else { first.to_vec() };
            let run = run_with(&session, variant, LaunchOptions::over(op, matrix), &array(ty, &all), 0)?;
            assert!(is_right(&run), "{}", describe(&run, op.name()));
            runs += 1;
        }
    }
    assert!(runs > 0, "nothing was asked for");
    Ok(())
}

/// Launches a plan over random elements, with `offset` others before them, and judges every result.
///
/// # Errors
/// A launch that fails.
///
/// # Panics
/// If a result is wrong, or a launch has a fault.
pub fn judge_plan(
    session: &Session<'_>,
    variant: &Variant,
    (ty, op, matrix): (Type, Op, Matrix),
    plan: &Planned,
    offset: usize,
) -> Result<()> {
    let n = matrix.rows * matrix.cols;
    let input = random_for(op, ty, n as usize, n);
    with_elements!(&input, values => judge_over(session, variant, (op, matrix), plan, (values, offset)))
}

/// Judges the launches of a family of kernels by one small cluster, which takes 70 rows in turns: more than it has places for. Most rows do
/// not begin at a multiple of 16 bytes, and a thread's last vector lacks some elements.
///
/// # Errors
/// A launch that fails.
///
/// # Panics
/// As [`judge_plan`]; if the plan is of other clusters.
pub fn judge_turns(
    session: &Session<'_>,
    (ty, op): (Type, Op),
    plan_for: fn(&reduction::Problem<'_>, Shape) -> Plan,
) -> Result<()> {
    let card = H200.clone().with_clusters([1, 0, 0, 0]);
    let team = PersistentTeam { blocks: 2, block: 64, vectors: 2, stages: 2, resident: 64 };
    let matrix = Matrix::dense(70, 4 * 64 * 16 / ty.bytes() - 3);
    judge_planned(session, (ty, op, matrix), &card, |problem| {
        let plan = plan_for(problem, Shape::Persistent(team));
        assert_eq!((plan.passes[0].grid(), plan.passes[0].geometry.cluster), (2, 2));
        plan
    })
}

/// Judges the launches of a family of kernels by a cluster that holds a row in shared memory, of 7 rows. Most do not begin at
/// a multiple of 16 bytes, and a thread's last vector lacks some elements.
///
/// # Errors
/// A launch that fails.
///
/// # Panics
/// As [`judge_plan`].
pub fn judge_staged(
    session: &Session<'_>,
    (ty, op): (Type, Op),
    plan_for: fn(&reduction::Problem<'_>, Shape) -> Plan,
) -> Result<()> {
    let team = Shape::Staged { blocks: 2, block: 64, vectors: 2 };
    [0, 1, 3].into_iter().try_for_each(|less| {
        let matrix = Matrix::dense(7, 4 * 64 * 16 / ty.bytes() - less);
        judge_planned(session, (ty, op, matrix), &H200, |problem| plan_for(problem, team))
    })
}

/// Judges the launches of a chapter's last variant by a plan for this card.
fn judge_planned(
    session: &Session<'_>,
    (ty, op, matrix): (Type, Op, Matrix),
    card: &Card,
    plan_for: impl Fn(&reduction::Problem<'_>) -> Plan,
) -> Result<()> {
    let variant = session.chapter.variants.last().expect("a chapter has variants");
    let problem = Problem::new(variant, ty, matrix.rows * matrix.cols, LaunchOptions::over(op, matrix)).on(card, true);
    let plan = Planned { plan: plan_for(&problem), layout: problem.layout(), ..Planned::default() };
    judge_plan(session, variant, (ty, op, matrix), &plan, 0)
}

fn judge_over<T: Element>(
    session: &Session<'_>,
    variant: &Variant,
    (op, matrix): (Op, Matrix),
    plan: &Planned,
    (values, offset): (&[T], usize),
) -> Result<()> {
    let (device, (first, other)) = (session.device(), values.split_at((matrix.rows * matrix.cols) as usize));
    let input = device.upload("in", &[&first[..offset], first].concat())?;
    let arrays = session.arrays::<T>(plan)?.with_other(device, other)?;
    for call in session.calls(variant, plan, (&input, offset), &arrays)? {
        let report = device.launch(&call)?;
        assert!(report.faults.is_empty(), "{}: {:?}", call.kernel, report.faults);
    }
    let bounded = Bounded::new(op, matrix, plan.targets, (first, other), plan.additions());
    let worst = arrays.worst(device, (op, &plan.layout), (&bounded, &bounded.rows()))?;
    let kernel = &plan.passes[0].kernel;
    assert!(worst.is_some_and(|worst| worst.verdict.right), "{kernel} {matrix:?}: {worst:?}");
    Ok(())
}

/// Returns whether the kernel of this name holds so many elements, if it is one that holds its row.
fn holds(kernel: &str, cols: u64, per: u64) -> bool {
    let number = |shape: &str, letter: char| -> u64 {
        let after = shape.split(letter).nth(1).unwrap_or("1");
        let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        after[..end].parse().unwrap_or(1)
    };
    let shape = kernel.rsplit('_').nth(1).unwrap_or("");
    match kernel.split('_').next() {
        Some("groups") => cols <= number(shape, 'l') * number(shape, 'v') * number(shape, 'w'),
        Some("block") => cols <= number(shape, 't') * number(shape, 'v') * per,
        Some("cluster" | "persistent" | "staged") => {
            cols <= number(shape, 'c') * number(shape, 't') * number(shape, 'v') * per
        }
        _ => true,
    }
}
