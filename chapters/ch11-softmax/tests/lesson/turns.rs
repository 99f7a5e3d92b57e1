//! Clusters that take rows in turns, by the kernels that stand for those that a GPU gets.

use ch11_softmax::CHAPTER;
use lab::trial::{checked, judge_turns};
use lab::{Op, Result, Type};
use reduction::families::softmax::plan_for;

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
    let session = checked(&CHAPTER)?;
    KINDS.into_iter().try_for_each(|kind| judge_turns(&session, kind, plan_for))
}
