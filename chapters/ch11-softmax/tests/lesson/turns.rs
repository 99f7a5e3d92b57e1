//! Clusters that take rows in turns, by the kernels that stand for those that a GPU gets.

use ch11_softmax::CHAPTER;
use device::Checks;
use device::card::H200;
use lab::record::OPTIONS;
use lab::trial::{judge_plan, simulator};
use lab::{LaunchOptions, Matrix, Op, Planned, Problem, Result, Type};
use reduction::families::softmax::plan_for;
use reduction::team::{PersistentTeam, Shape};

/// The operations that a plan may give to such clusters, but for losses, which have labels.
const KINDS: [(Type, Op); 6] = [
    (Type::F32, Op::Softmax),
    (Type::F32, Op::LogSoftmax),
    (Type::BF16, Op::SoftmaxBackward),
    (Type::F16, Op::SoftmaxBackward),
    (Type::BF16, Op::LogSoftmaxBackward),
    (Type::F16, Op::LogSoftmaxBackward),
];

#[test]
fn clusters_take_more_turns_than_they_have_places() -> Result<()> {
    let session = simulator(&CHAPTER, OPTIONS.schedule, Checks::ALL)?;
    let variant = &CHAPTER.variants[3];
    let card = H200.clone().with_clusters([1, 0, 0, 0]);
    for (ty, op) in KINDS {
        // One cluster takes all rows, of which most do not begin at a multiple of 16 bytes.
        let team = PersistentTeam { blocks: 2, block: 64, vectors: 2, stages: 2, resident: 64 };
        let matrix = Matrix::dense(70, 4 * 64 * 16 / ty.bytes() - 3);
        let problem = Problem::new(variant, ty, matrix.rows * matrix.cols, LaunchOptions::over(op, matrix));
        let problem = problem.on(&card, true);
        let plan = plan_for(&problem, Shape::Persistent(team));
        assert_eq!((plan.passes[0].grid(), plan.passes[0].geometry.cluster), (2, 2));
        judge_plan(
            &session,
            variant,
            (ty, op, matrix),
            &Planned { plan, layout: problem.layout(), ..Planned::default() },
        )?;
    }
    Ok(())
}
