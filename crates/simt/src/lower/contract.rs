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
use crate::code::{Code, NONE, Op};
use crate::ops::{Alu, Row};

type Register = (Row, crate::code::Reg);

/// Where a product is needed: the sum, whether as its second operand, and whether negated on the way.
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

/// What is known of the registers.
struct Facts {
    written: HashMap<Register, Vec<usize>>,
    read: HashMap<Register, Vec<usize>>,
}

/// Makes fused instructions of sums whose products are for nothing else. The product stays: nobody reads it, and its line counts.
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
    let op = Op::Alu(kind.fused(minus_product, minus_other));
    code.insts[at.pc] = crate::code::Inst { op, a: product.a, b: product.b, c, ..sum };
}

impl Facts {
    fn of(code: &Code) -> Facts {
        let mut facts = Facts { written: HashMap::new(), read: HashMap::new() };
        for (pc, inst) in code.insts.iter().enumerate() {
            for register in writes(code, inst).into_iter().filter(|register| register.1 != NONE) {
                facts.written.entry(register).or_default().push(pc);
            }
            for register in reads(code, inst).into_iter().filter(|register| register.1 != NONE) {
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
        self.follow(code, (kind.row(), inst.d), pc, kind, block, false, &mut uses)?;
        let last = uses.iter().map(|at| at.pc).max()?;
        let kept = [inst.a, inst.b].into_iter().all(|reg| {
            let written = self.written.get(&(kind.row(), reg));
            !written.is_some_and(|written| written.iter().any(|at| (pc..last).contains(at)))
        });
        kept.then_some(uses)
    }

    /// Adds the sums that need `register`, which only `pc` writes, and follows it through negations and copies. `None` when
    /// something else needs it.
    #[allow(clippy::too_many_arguments)]
    fn follow(
        &self,
        code: &Code,
        register: Register,
        pc: usize,
        of: Kind,
        block: &Range<usize>,
        negated: bool,
        uses: &mut Vec<Use>,
    ) -> Option<()> {
        if self.written.get(&register)?.len() != 1 {
            return None;
        }
        for &at in self.read.get(&register)? {
            let inst = &code.insts[at];
            // What stands before it in the block reads the product of the round before.
            if !block.contains(&at) || at <= pc {
                return None;
            }
            let (part, found) = kind(code, at)?;
            match part {
                Part::Sum | Part::Difference if found == of && inst.a != inst.b => {
                    uses.push(Use { pc: at, second: inst.b == register.1, negated });
                }
                Part::Copy | Part::Negation if inst.guard.predicate == NONE && found.row() == of.row() => {
                    if part == Part::Negation && found != of {
                        return None;
                    }
                    let negated = negated != (part == Part::Negation);
                    self.follow(code, (of.row(), inst.d), at, of, block, negated, uses)?;
                }
                _ => return None,
            }
        }
        Some(())
    }
}

/// What an instruction may be to a fused one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Product,
    Sum,
    Difference,
    Negation,
    Copy,
}

/// Types that are fused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    F32,
    FtzF32,
    F64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
}

/// The part that an instruction may play, if it leaves its rounding open.
fn kind(code: &Code, pc: usize) -> Option<(Part, Kind)> {
    let Op::Alu(alu) = code.insts[pc].op else {
        return match code.insts[pc].op {
            Op::Mov32 => Some((Part::Copy, Kind::F32)),
            Op::Mov64 => Some((Part::Copy, Kind::F64)),
            _ => None,
        };
    };
    let found = match alu {
        Alu::MulF32 => (Part::Product, Kind::F32),
        Alu::MulFtzF32 => (Part::Product, Kind::FtzF32),
        Alu::MulF64 => (Part::Product, Kind::F64),
        Alu::MulF16 => (Part::Product, Kind::F16),
        Alu::MulF16x2 => (Part::Product, Kind::F16x2),
        Alu::MulBf16 => (Part::Product, Kind::Bf16),
        Alu::MulBf16x2 => (Part::Product, Kind::Bf16x2),
        Alu::AddF32 => (Part::Sum, Kind::F32),
        Alu::AddFtzF32 => (Part::Sum, Kind::FtzF32),
        Alu::AddF64 => (Part::Sum, Kind::F64),
        Alu::AddF16 => (Part::Sum, Kind::F16),
        Alu::AddF16x2 => (Part::Sum, Kind::F16x2),
        Alu::AddBf16 => (Part::Sum, Kind::Bf16),
        Alu::AddBf16x2 => (Part::Sum, Kind::Bf16x2),
        Alu::SubF32 => (Part::Difference, Kind::F32),
        Alu::SubFtzF32 => (Part::Difference, Kind::FtzF32),
        Alu::SubF64 => (Part::Difference, Kind::F64),
        Alu::SubF16 => (Part::Difference, Kind::F16),
        Alu::SubF16x2 => (Part::Difference, Kind::F16x2),
        Alu::SubBf16 => (Part::Difference, Kind::Bf16),
        Alu::SubBf16x2 => (Part::Difference, Kind::Bf16x2),
        Alu::NegF32 => (Part::Negation, Kind::F32),
        Alu::NegFtzF32 => (Part::Negation, Kind::FtzF32),
        Alu::NegF64 => (Part::Negation, Kind::F64),
        _ => return None,
    };
    (!code.debug[pc].opcode.split('.').any(|word| word == "rn")).then_some(found)
}

impl Kind {
    fn row(self) -> Row {
        if self == Kind::F64 { Row::D } else { Row::W }
    }

    /// The operation on the product's factors and the sum's other operand.
    fn fused(self, minus_product: bool, minus_other: bool) -> Alu {
        match (self, minus_product, minus_other) {
            (Kind::F32, false, false) => Alu::FmaF32,
            (Kind::F32, true, false) => Alu::AddMinusProductF32,
            (Kind::F32, false, true) => Alu::ProductMinusF32,
            (Kind::F32, true, true) => Alu::MinusProductMinusF32,
            (Kind::FtzF32, false, false) => Alu::FmaFtzF32,
            (Kind::FtzF32, true, false) => Alu::AddMinusProductFtzF32,
            (Kind::FtzF32, false, true) => Alu::ProductMinusFtzF32,
            (Kind::FtzF32, true, true) => Alu::MinusProductMinusFtzF32,
            (Kind::F64, false, false) => Alu::FmaF64,
            (Kind::F64, true, false) => Alu::AddMinusProductF64,
            (Kind::F64, false, true) => Alu::ProductMinusF64,
            (Kind::F64, true, true) => Alu::MinusProductMinusF64,
            (Kind::F16, false, false) => Alu::FmaF16,
            (Kind::F16, true, false) => Alu::AddMinusProductF16,
            (Kind::F16, false, true) => Alu::ProductMinusF16,
            (Kind::F16, true, true) => Alu::MinusProductMinusF16,
            (Kind::F16x2, false, false) => Alu::FmaF16x2,
            (Kind::F16x2, true, false) => Alu::AddMinusProductF16x2,
            (Kind::F16x2, false, true) => Alu::ProductMinusF16x2,
            (Kind::F16x2, true, true) => Alu::MinusProductMinusF16x2,
            (Kind::Bf16, false, false) => Alu::FmaBf16,
            (Kind::Bf16, true, false) => Alu::AddMinusProductBf16,
            (Kind::Bf16, false, true) => Alu::ProductMinusBf16,
            (Kind::Bf16, true, true) => Alu::MinusProductMinusBf16,
            (Kind::Bf16x2, false, false) => Alu::FmaBf16x2,
            (Kind::Bf16x2, true, false) => Alu::AddMinusProductBf16x2,
            (Kind::Bf16x2, false, true) => Alu::ProductMinusBf16x2,
            (Kind::Bf16x2, true, true) => Alu::MinusProductMinusBf16x2,
        }
    }
}
