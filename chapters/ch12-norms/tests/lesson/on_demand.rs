//! Kernels that are compiled for a GPU when they are first needed: with NVRTC they run on the simulator too.

use ch12_norms::CHAPTER;
use device::card::H200;
use device::{Checks, KernelSource};
use lab::record::OPTIONS;
use lab::session::built_root;
use lab::trial::{checked, judge_plan, judge_staged, judge_turns, kinds, simulator, tried};
use lab::{LaunchOptions, Matrix, Op, Planned, Problem, Result, Session, Type};
use reduction::families::norms::{kernels_for, plan_for};

/// One of each kind of shape, small: groups of a few lanes and of a warp, by elements, a block, clusters, and a row that is cut; and
/// a block and clusters whose rows begin within a vector.
const MATRICES: [(u64, u64); 9] =
    [(70, 16), (33, 480), (40, 50), (300, 600), (150, 20_000), (1, 50_257), (2, 600_000), (300, 1203), (150, 20_001)];

#[test]
fn what_a_gpu_gets_is_right_too() -> Result<()> {
    let session = simulator(&CHAPTER, OPTIONS.schedule, Checks::NONE)?;
    if !session.device().can_compile(&KernelSource::in_root(&built_root(), CHAPTER.slug)) {
        eprintln!("skipped: `cargo course setup` brings NVRTC, which compiles these");
        return Ok(());
    }
    // Each operation and type meets every kind of shape that compiles another kernel for it, in turns.
    let back = [(Type::F32, Op::LayerNormBackward), (Type::BF16, Op::RmsNormBackward)];
    for (ty, op) in back {
        for (rows, cols) in tried(MATRICES.to_vec()) {
            judge(&session, op, ty, Matrix::dense(rows, cols), 0)?;
        }
    }
    // Kernels for plain rows, over an input that begins one element later: they take it by elements.
    for (ty, op) in back.into_iter().chain([(Type::BF16, Op::LayerNorm), (Type::F32, Op::AddRmsNorm)]) {
        judge(&session, op, ty, Matrix::dense(40, 1200), 1)?;
    }
    for &(rows, cols) in tried(MATRICES.iter().step_by(2).collect()) {
        judge(&session, Op::AddLayerNorm, Type::F16, Matrix::dense(rows, cols), 0)?;
    }
    // Kernels for rows that are more than an L2 holds, over fewer.
    let large = |problem: &reduction::Problem<'_>, shape| kernels_for(problem, false, true).plan(shape);
    judge_staged(&session, (Type::BF16, Op::AddRmsNorm), large)?;
    judge_turns(&session, (Type::F32, Op::AddLayerNorm), large)
}

fn judge(session: &Session<'_>, op: Op, ty: Type, matrix: Matrix, offset: usize) -> Result<()> {
    let variant = &CHAPTER.variants[3];
    let options = LaunchOptions::over(op, matrix);
    let n = matrix.rows * matrix.cols;
    let problem = Problem::new(variant, ty, n, options).on(&H200, true);
    let plan = Planned { plan: (variant.launches)(&problem), layout: problem.layout(), ..Planned::default() };
    // Alone each line makes its kernel, as on a GPU, where nothing that is committed is loaded.
    let source = KernelSource::in_root(&built_root(), CHAPTER.slug);
    for pass in plan.passes.iter().skip(1) {
        let module = session.device().load_on_demand(&source, pass.line.as_deref().unwrap_or_default())?;
        assert!(module.kernels().contains(&pass.kernel.as_str()), "{:?} makes {:?}", pass.line, module.kernels());
    }
    judge_plan(session, variant, (ty, op, matrix), &plan, offset)
}

#[test]
fn clusters_take_more_turns_than_they_have_places() -> Result<()> {
    let session = checked(&CHAPTER)?;
    kinds(&CHAPTER.variants[3]).into_iter().try_for_each(|kind| judge_turns(&session, kind, plan_for))
}

#[test]
fn clusters_hold_rows_in_shared_memory() -> Result<()> {
    let session = checked(&CHAPTER)?;
    let forward = kinds(&CHAPTER.variants[3]).into_iter().filter(|(_, op)| !op.has_weight_gradients());
    forward.into_iter().try_for_each(|kind| judge_staged(&session, kind, plan_for))
}
