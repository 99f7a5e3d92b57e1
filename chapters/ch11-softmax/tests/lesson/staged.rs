//! Rows in shared memory, by the kernels that stand for those that a GPU gets.

use ch11_softmax::CHAPTER;
use lab::trial::{checked, judge_staged};
use lab::{Op, Result, Type};
use reduction::families::softmax::plan_for;

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
