//! Effect of an undefined operand on an instruction: whether it makes the results undefined, or something depends on it. Lowering
//! asks which registers may be used before they are set, a run follows undefined values to their use.

use super::{Combine, Inst, MemOp, Op};
use crate::ops::Alu;

/// Effect of an undefined operand on an instruction.
pub(crate) enum Effect {
    /// Its results are undefined too.
    Results,
    /// Its results are undefined too, unless defined bits are joined with it.
    Joins,
    /// Its result is undefined too, unless the other operand alone decides: 0 and whatever, 0 times whatever.
    Masks,
    /// One of two operands is the result.
    Chooses,
    /// Its result is undefined too, unless the other operand alone decides: false and whatever, true or whatever.
    Decides(Decider),
    Loads(MemOp),
    Stores(MemOp),
    LoadsFrame(MemOp),
    StoresFrame(MemOp),
    /// `sync.rs` and `call.rs` say.
    Exchanges,
    Uses,
}

/// Combination of two predicates, either of which may settle the result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decider {
    /// The value that settles it: false for `and`, true for `or`.
    pub(crate) settles: bool,
    /// The second operand is taken as its opposite.
    pub(crate) is_negated: bool,
}

impl Effect {
    pub(crate) fn of(inst: &Inst) -> Effect {
        match inst.op {
            Op::Alu(Alu::OrB16 | Alu::OrB32 | Alu::OrB64 | Alu::BfiB32 | Alu::BfiB64 | Alu::PrmtB32) => Effect::Joins,
            Op::Pack32 | Op::Pack64 => Effect::Joins,
            Op::PredAnd | Op::Setp(_, Combine::And, false) => {
                Effect::Decides(Decider { settles: false, is_negated: false })
            }
            Op::PredOr | Op::Setp(_, Combine::Or, false) => {
                Effect::Decides(Decider { settles: true, is_negated: false })
            }
            Op::Setp(_, Combine::And, true) => Effect::Decides(Decider { settles: false, is_negated: true }),
            Op::Setp(_, Combine::Or, true) => Effect::Decides(Decider { settles: true, is_negated: true }),
            Op::Alu(Alu::AndB16 | Alu::AndB32 | Alu::AndB64 | Alu::MulLoB16 | Alu::MulLoB32 | Alu::MulLoB64) => {
                Effect::Masks
            }
            Op::Alu(_) | Op::Exact { .. } | Op::Setp(..) | Op::Mov32 | Op::Mov64 => Effect::Results,
            Op::Unpack32 | Op::Unpack64 | Op::ActiveMask | Op::Clock | Op::LocalAddress => Effect::Results,
            Op::PredXor | Op::PredNot | Op::PredMov => Effect::Results,
            Op::Selp32 | Op::Selp64 => Effect::Chooses,
            Op::Load(op) => Effect::Loads(op),
            Op::Store(op) => Effect::Stores(op),
            Op::LoadFrame(op) => Effect::LoadsFrame(op),
            Op::StoreFrame(op) => Effect::StoresFrame(op),
            Op::Shuffle(_) | Op::Vote(_) | Op::Match { .. } | Op::Redux(_) | Op::Elect | Op::WarpBarrier => {
                Effect::Exchanges
            }
            _ => Effect::Uses,
        }
    }
}

/// Returns whether an instruction copies values unchanged.
pub(crate) fn moves(op: Op) -> bool {
    matches!(
        op,
        Op::Mov32 | Op::Mov64 | Op::Pack32 | Op::Pack64 | Op::Unpack32 | Op::Unpack64 | Op::Selp32 | Op::Selp64
    )
}
