//! Packed video instructions, whose registers may carry selectors of bytes and half words.

use ptx::table::arithmetic;
use ptx::{Instruction, Operand};

use super::Lower;
use crate::code::{ExactCode, NONE};
use crate::exact::{Exact, Video};
use crate::ops::Row;
use crate::program::LoadError;

/// Returns whether the mnemonic is one of the manual's video instructions with several results side by side. Those with one result are
/// refused like anything that the table does not list: in most of their spellings an H200 does not give what the manual says.
pub(super) fn is_packed_video(mnemonic: &str) -> bool {
    mnemonic
        .strip_suffix(['2', '4'])
        .is_some_and(|one| matches!(one, "vadd" | "vsub" | "vavrg" | "vabsdiff" | "vmin" | "vmax" | "vset"))
}

impl Lower<'_> {
    pub(super) fn video(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let Some((_, opcode)) = arithmetic(&inst.opcode, inst.operands.len()) else { return self.refuse_opcode(inst) };
        let (mut plain, mut selectors) = (Vec::with_capacity(inst.operands.len()), [""; 3]);
        for (at, operand) in inst.operands.iter().enumerate() {
            let (operand, selector) = selected(operand);
            match selectors.get_mut(at) {
                Some(slot) => *slot = selector,
                None if selector.is_empty() => {}
                None => return self.refuse(inst, format!("the addend of {} has no selector", inst.opcode)),
            }
            plain.push(operand);
        }
        let Some(video) = Video::from_opcode(&opcode, selectors) else {
            return self.refuse(inst, format!("a selector that {} does not have", inst.opcode));
        };
        let mut sources = Vec::with_capacity(plain.len() - 1);
        for operand in &plain[1..] {
            sources.push((Row::W, self.row32(inst, operand)?, false));
        }
        let d = self.row32(inst, &plain[0])?;
        self.emit_exact(inst, ExactCode { exact: Exact::video(video), sources, to: Row::W, d, second: NONE })
    }
}

/// An operand without its selector, and the selector without its dot.
fn selected(operand: &Operand) -> (Operand, &str) {
    if let Operand::Name(name) = operand
        && let Some((register, selector)) = name.rsplit_once('.')
        && selector.strip_prefix(['b', 'h']).is_some_and(|digits| digits.bytes().all(|c| c.is_ascii_digit()))
    {
        return (Operand::Name(register.to_owned()), selector);
    }
    (operand.clone(), "")
}
