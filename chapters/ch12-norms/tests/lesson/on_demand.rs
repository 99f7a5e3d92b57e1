//! Kernels that are compiled for a GPU when they are first needed: with NVRTC they run on the simulator too.

use ch12_norms::CHAPTER;
use device::card::H200;
use device::{Checks, KernelSource};
use lab::element::Element;
use lab::input::random_for;
use lab::record::OPTIONS;
use lab::session::built_root;
use lab::trial::simulator;
use lab::verify::{Bounded, Results};
use lab::{LaunchOptions, Matrix, Op, Planned, Problem, Result, Session, Type, with_elements};

/// One of each kind of shape, small: groups of a few lanes and of a warp, by elements, a block, clusters, and a row that is cut.
const MATRICES: [(u64, u64); 7] = [(70, 16), (33, 480), (40, 50), (300, 600), (150, 20_000), (1, 50_257), (2, 600_000)];

#[test]
fn what_a_gpu_gets_is_right_too() -> Result<()> {
    let session = simulator(&CHAPTER, OPTIONS.schedule, Checks::NONE)?;
    if !session.device().can_compile(&KernelSource::in_root(&built_root(), CHAPTER.slug)) {
        eprintln!("skipped: `cargo course setup` brings NVRTC, which compiles these");
        return Ok(());
    }
    for (i, (rows, cols)) in MATRICES.into_iter().enumerate() {
        // Each operation and type meets every kind of shape that compiles another kernel for it, in turns.
        for (ty, op) in
            [(Type::F32, Op::LayerNormBackward), (Type::BF16, Op::RmsNormBackward), (Type::F16, Op::AddLayerNorm)]
        {
            if i % 2 == 0 || op != Op::AddLayerNorm {
                judge(&session, op, ty, Matrix::dense(rows, cols))?;
            }
        }
    }
    Ok(())
}

fn judge(session: &Session<'_>, op: Op, ty: Type, matrix: Matrix) -> Result<()> {
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
    let input = random_for(op, ty, n as usize, n);
    with_elements!(&input, values => judge_plan(session, &plan, (op, matrix), values))
}

fn judge_plan<T: Element>(
    session: &Session<'_>,
    plan: &Planned,
    (op, matrix): (Op, Matrix),
    values: &[T],
) -> Result<()> {
    let (device, (first, other)) = (session.device(), values.split_at((matrix.rows * matrix.cols) as usize));
    let input = device.upload("in", first)?;
    let arrays = session.arrays::<T>(plan)?.with_other(device, other)?;
    for call in session.calls(&CHAPTER.variants[3], plan, (&input, 0), &arrays)? {
        let report = device.launch(&call)?;
        assert!(report.faults.is_empty(), "{}: {:?}", call.kernel, report.faults);
    }
    let bounded = Bounded::new(op, matrix, plan.targets, (first, other), plan.additions());
    let worst = bounded.worst(&bounded.rows(), Results::Elements(&arrays.elements(device)?));
    let kernel = &plan.passes[0].kernel;
    assert!(worst.is_some_and(|worst| worst.verdict.right), "{kernel} {matrix:?}: {worst:?}");
    Ok(())
}
