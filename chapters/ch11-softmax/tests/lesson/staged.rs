//! Rows in shared memory, by the kernels that stand for those that a GPU gets.

use ch11_softmax::CHAPTER;
use device::KernelSource;
use lab::session::built_root;
use lab::trial::{checked, judge_staged};
use lab::{Op, Result, Type};
use reduction::families::softmax::{kernels_for, plan_for};

/// The operations that stand for all, but for losses, which have labels.
const KINDS: [(Type, Op); 5] = [
    (Type::F32, Op::Softmax),
    (Type::BF16, Op::LogSoftmax),
    (Type::BF16, Op::Logsumexp),
    (Type::BF16, Op::SoftmaxBackward),
    (Type::F16, Op::LogSoftmaxBackward),
];

#[test]
fn blocks_and_clusters_hold_rows_in_shared_memory() -> Result<()> {
    let session = checked(&CHAPTER)?;
    KINDS.into_iter().try_for_each(|kind| judge_staged(&session, kind, plan_for))
}

/// Kernels for rows that are more than an L2 holds are compiled when they are needed: with NVRTC they run on the simulator too.
#[test]
fn those_for_large_rows_do_the_same() -> Result<()> {
    let session = checked(&CHAPTER)?;
    if !session.device().can_compile(&KernelSource::in_root(&built_root(), CHAPTER.slug)) {
        eprintln!("skipped: `cargo course setup` brings NVRTC, which compiles these");
        return Ok(());
    }
    let large = |problem: &reduction::Problem<'_>, shape| kernels_for(problem, true).plan(shape);
    KINDS.into_iter().filter(|(_, op)| op.is_per_element()).try_for_each(|kind| judge_staged(&session, kind, large))
}
