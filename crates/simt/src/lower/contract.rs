//! Products and sums that `ptxas` makes one instruction of, which rounds once.
//!
//! PTX leaves an `add`, `sub` or `mul` of floats without a rounding modifier to the optimiser, and release 13.0 fuses a product
//! with a sum in the same basic block where nothing else needs the product; with `.rn`, as `__fmul_rn` and its kin have it, both
//! stay as they are. A product of several sums is fused with all of them or with none. Of a sum of two products the first is
//! fused, if only one sum needs it. Read in the machine code of 60 small kernels for sm_90.
//!
//! Not followed: registers that several instructions write, and saturating sums.

use std::collections::HashMap;
use std::ops::Range;

use super::cfg;
use super::live::{reads, writes};
use crate::code::{Code, Inst, NONE, Op, Reg};
use crate::ops::{Alu, Row};

type Register = (Row, Reg);

/// Use of a product: the sum, whether as its second operand, and whether negated on the way.
#[derive(Debug, Clone, Copy)]
struct Use {
    pc: usize,
    second: bool,
    negated: bool,
}

/// A product and the sums that need it.
struct Product {
    pc: usize,
    uses: Vec<Use>,
}

/// Facts about the registers.
struct Facts {
    written: HashMap<Register, Vec<usize>>,
    read: HashMap<Register, Vec<usize>>,
}

/// Makes fused instructions of sums whose products are for nothing else. The product stays: no instruction reads it, and its line counts.
pub(super) fn contract(code: &mut Code) {
    if !(0..code.insts.len()).any(|pc| kind(code, pc).is_some_and(|(part, _)| part == Part::Product)) {
        return;
    }
    let facts = Facts::of(code);
    let blocks = cfg::blocks(code);
    let products: Vec<Product> = blocks
        .iter()
        .flat_map(|block| (block.start..block.end).map(|pc| (pc, block.start..block.end)))
        .filter_map(|(pc, block)| Some(Product { pc, uses: facts.uses(code, pc, &block)? }))
        .collect();
    // The first operand of a sum before its second.
    let mut single: Vec<&Product> = products.iter().filter(|product| product.uses.len() == 1).collect();
    single.sort_by_key(|product| (product.uses[0].pc, product.uses[0].second));
    let several = products.iter().filter(|product| product.uses.len() > 1);
    let mut fused = vec![false; code.insts.len()];
    for product in single.into_iter().chain(several) {
        if product.uses.iter().all(|at| !fused[at.pc]) {
            product.uses.iter().for_each(|&at| fuse(code, product.pc, at));
            product.uses.iter().for_each(|at| fused[at.pc] = true);
        }
    }
}

/// Puts the product of `pc` into a sum.
fn fuse(code: &mut Code, pc: usize, at: Use) {
    let (product, sum) = (code.insts[pc], code.insts[at.pc]);
    let Some((part, kind)) = kind(code, at.pc) else { return };
    let minus_product = at.negated != (part == Part::Difference && at.second);
    let minus_other = part == Part::Difference && !at.second;
    let c = if at.second { sum.a } else { sum.b };
    let Some(alu) = fused(kind, minus_product, minus_other) else { return };
    code.insts[at.pc] = Inst { op: Op::Alu(alu), a: product.a, b: product.b, c, ..sum };
}

impl Facts {
    fn of(code: &Code) -> Facts {
        let mut facts = Facts { written: HashMap::new(), read: HashMap::new() };
        for (pc, inst) in code.insts.iter().enumerate() {
            for register in writes(code, inst) {
                facts.written.entry(register).or_default().push(pc);
            }
            for register in reads(code, inst) {
                facts.read.entry(register).or_default().push(pc);
            }
        }
        facts
    }

    /// The sums that need the product of `pc`, if that is all it is for.
    fn uses(&self, code: &Code, pc: usize, block: &Range<usize>) -> Option<Vec<Use>> {
        let (Part::Product, kind) = kind(code, pc)? else { return None };
        let inst = &code.insts[pc];
        if inst.guard.predicate != NONE {
            return None;
        }
        let mut uses = Vec::new();
        self.follow(code, (row(kind), inst.d), pc, kind, block, false, &mut uses)?;
        let last = uses.iter().map(|at| at.pc).max()?;
        let kept = [inst.a, inst.b].into_iter().all(|reg| {
            let written = self.written.get(&(row(kind), reg));
            !written.is_some_and(|written| written.iter().any(|at| (pc..last).contains(at)))
        });
        kept.then_some(uses)
    }

    /// Adds the sums that need `register`, which only `pc` writes, and follows it through negations and copies. `None` when
    /// something else needs it.
    #[allow(clippy::too_many_arguments)] // what a step of the recursion changes, and what it keeps
    fn follow(
        &self,
        code: &Code,
        register: Register,
        pc: usize,
        of: Kind<'_>,
        block: &Range<usize>,
        negated: bool,
        uses: &mut Vec<Use>,
    ) -> Option<()> {
        if self.written.get(&register)?.len() != 1 {
            return None;
        }
        for &at in self.read.get(&register)? {
            let inst = &code.insts[at];
            // An instruction before it in the block reads the product of the round before.
            if !block.contains(&at) || at <= pc {
                return None;
            }
            let (part, found) = kind(code, at)?;
            match part {
                Part::Sum | Part::Difference if found == of && inst.a != inst.b => {
                    uses.push(Use { pc: at, second: inst.b == register.1, negated });
                }
                Part::Copy | Part::Negation if inst.guard.predicate == NONE && row(found) == row(of) => {
                    if part == Part::Negation && found != of {
                        return None;
                    }
                    let negated = negated != (part == Part::Negation);
                    self.follow(code, (row(of), inst.d), at, of, block, negated, uses)?;
                }
                _ => return None,
            }
        }
        Some(())
    }
}

/// Role of an instruction in a fused one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Product,
    Sum,
    Difference,
    Negation,
    Copy,
}

/// The type that a part is of, as its opcode ends: `ftz.f32`. A copy takes any of its width.
type Kind<'a> = &'a str;

/// The part that an instruction may play, if it leaves its rounding open.
fn kind(code: &Code, pc: usize) -> Option<(Part, Kind<'_>)> {
    match code.insts[pc].op {
        Op::Mov32 => return Some((Part::Copy, "f32")),
        Op::Mov64 => return Some((Part::Copy, "f64")),
        Op::Alu(_) => {}
        _ => return None,
    }
    let (verb, kind) = code.debug[pc].opcode.split_once('.')?;
    let part = match verb {
        "mul" => Part::Product,
        "add" => Part::Sum,
        "sub" => Part::Difference,
        "neg" => Part::Negation,
        _ => return None,
    };
    fused(kind, false, true).map(|_| (part, kind))
}

fn row(kind: Kind<'_>) -> Row {
    if kind == "f64" { Row::D } else { Row::W }
}

/// The operation on the product's factors and the sum's other operand; `None` if the type is none that is fused.
fn fused(kind: Kind<'_>, minus_product: bool, minus_other: bool) -> Option<Alu> {
    let operation = match (minus_product, minus_other) {
        (false, false) => "fma.rn",
        (true, false) => "fused.-ab+c",
        (false, true) => "fused.ab-c",
        (true, true) => "fused.-ab-c",
    };
    Alu::from_opcode(&format!("{operation}.{kind}"))
}
