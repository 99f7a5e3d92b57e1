//! `mbarrier`: barrier objects in shared memory.

use ptx::{Instruction, Operand};

use super::Lower;
use crate::code::{ExactCode, Inst, MbarrierAct, MbarrierOp, NONE, Op, Source};
use crate::exact::Exact;
use crate::ops::Row;
use crate::program::LoadError;

/// Position and width of the pending count in a state: see `exec::mbarrier`.
pub(crate) const PENDING_SHIFT: u32 = 20;
pub(crate) const COUNT_BITS: u32 = 20;

impl Lower<'_> {
    pub(super) fn mbarrier(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let Some(act) = inst.modifiers.first() else { return self.refuse_opcode(inst) };
        let act = match act.as_str() {
            "pending_count" => return self.pending_count(inst),
            "init" => MbarrierAct::Init,
            "inval" => MbarrierAct::Invalidate,
            "expect_tx" => MbarrierAct::ExpectBytes,
            "complete_tx" => MbarrierAct::CompleteBytes,
            "arrive" | "arrive_drop" => MbarrierAct::Arrive {
                completes: !inst.has("noComplete"),
                drops: act == "arrive_drop",
                expects: inst.has("expect_tx"),
            },
            "test_wait" | "try_wait" => MbarrierAct::Test { parity: inst.has("parity"), may_wait: act == "try_wait" },
            _ => return self.refuse_opcode(inst),
        };
        self.code.may_spin = true;
        self.on_object(inst, act)
    }

    fn on_object(&mut self, inst: &Instruction, act: MbarrierAct) -> Result<(), LoadError> {
        let has_result = matches!(act, MbarrierAct::Arrive { .. } | MbarrierAct::Test { .. });
        let [address, rest @ ..] = &inst.operands[usize::from(has_result)..] else { return self.refuse_opcode(inst) };
        let d = match act {
            MbarrierAct::Arrive { .. } => self.row64(inst, &inst.operands[0])?,
            MbarrierAct::Test { .. } => self.predicate_destination(inst, &inst.operands[0])?,
            _ => NONE,
        };
        let needs_number = match act {
            MbarrierAct::Arrive { completes, expects, .. } => !completes || expects,
            act => act != MbarrierAct::Invalidate,
        };
        let (mut b, mut c) = (NONE, NONE);
        match (act, rest) {
            (MbarrierAct::Test { parity: false, .. }, [state]) => c = self.row64(inst, state)?,
            // The hint is the longest time to wait, and the simulator has no time.
            (MbarrierAct::Test { parity: false, may_wait: true }, [state, hint]) => {
                self.row32(inst, hint)?;
                c = self.row64(inst, state)?;
            }
            (MbarrierAct::Test { parity: true, may_wait: true }, [parity, hint]) => {
                self.row32(inst, hint)?;
                b = self.row32(inst, parity)?;
            }
            (MbarrierAct::Arrive { .. }, []) if !needs_number => b = self.constant32(Source::Literal(1)),
            (_, []) if !needs_number => {}
            (_, [number]) if act != MbarrierAct::Invalidate => b = self.row32(inst, number)?,
            _ => return self.refuse_opcode(inst),
        }
        let is_remote = inst.has("shared::cluster");
        let may_be_remote = matches!(act, MbarrierAct::Arrive { completes: true, .. });
        if is_remote && !(may_be_remote && inst.operands[0] == Operand::Sink) {
            return self.refuse_opcode(inst);
        }
        let at = self.at(inst, address)?;
        let generic = super::space_of(inst).is_none();
        let op = MbarrierOp { act, generic, is_remote, ordered: !inst.has("relaxed") };
        self.emit(inst, &[Inst { op: Op::Mbarrier(op), b, c, d, ..at }])
    }

    /// `.pending_count`: of a state that an arrival gave.
    fn pending_count(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let [d, state] = inst.operands.as_slice() else { return self.refuse_opcode(inst) };
        if matches!(state, Operand::Immediate(_)) {
            return self.refuse(inst, "a register with the state of an arrival is expected here");
        }
        let (d, state) = (self.row32(inst, d)?, self.row64(inst, state)?);
        let shift = self.constant64(Source::Literal(PENDING_SHIFT.into()));
        let sources = vec![(Row::D, state, false), (Row::D, shift, false)];
        self.emit_exact(inst, ExactCode { exact: Exact::unpack(COUNT_BITS), sources, to: Row::W, d, second: NONE })
    }
}
