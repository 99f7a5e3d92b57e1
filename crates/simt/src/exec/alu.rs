//! Arithmetic over 32 lanes at once. Each operation of the table computes all lanes (every function is total) and keeps
//! the active ones; the loops have a fixed length so that the compiler turns them into vector instructions.

use super::warp::{FULL, Warp};
use crate::code::{ExactCode, Inst};
use crate::eval::*;
use crate::exact::{SOURCES, ex2};
use crate::ops::{Alu, Row, alu_table};

/// Keeps the lanes of `out` that `mask` names.
#[inline(always)]
pub(super) fn keep<T: Copy>(row: &mut [T; 32], out: &[T; 32], mask: u32) {
    if mask == FULL {
        *row = *out;
        return;
    }
    for lane in 0..32 {
        row[lane] = if mask & (1 << lane) != 0 { out[lane] } else { row[lane] };
    }
}

/// Keeps the lanes of `out` that `mask` names in a row of a warp. A row past the end is a discarded result.
#[inline(always)]
pub(super) fn store32(warp: &mut Warp, row: u16, out: &[u32; 32], mask: u32) {
    if let Some(row) = warp.w.get_mut(usize::from(row)) {
        keep(&mut row.0, out, mask);
    }
}

/// `store32` for rows of 64 bits.
#[inline(always)]
pub(super) fn store64(warp: &mut Warp, row: u16, out: &[u64; 32], mask: u32) {
    if let Some(row) = warp.d.get_mut(usize::from(row)) {
        keep(&mut row.0, out, mask);
    }
}

/// `store32` for predicates.
#[inline(always)]
pub(super) fn store_predicate(warp: &mut Warp, index: u16, out: u32, mask: u32) {
    if let Some(p) = warp.p.get_mut(usize::from(index)) {
        *p = (*p & !mask) | (out & mask);
    }
}

/// The low halves. (A closure given to `array::map` may end up in a function of its own, and without vectors.)
#[inline(always)]
pub(super) fn narrowed(values: &[u64; 32]) -> [u32; 32] {
    let mut out = [0; 32];
    for lane in 0..32 {
        out[lane] = values[lane] as u32;
    }
    out
}

/// Zero-extended.
#[inline(always)]
pub(super) fn widened(values: &[u32; 32]) -> [u64; 32] {
    let mut out = [0; 32];
    for lane in 0..32 {
        out[lane] = u64::from(values[lane]);
    }
    out
}

/// One function for each group of the table: `shape!(ww_w, a: w, b: w => w)`.
macro_rules! shape {
    ($name:ident, $($arg:ident : $row:ident = $field:ident),+ => p) => {
        #[inline(always)]
        fn $name(warp: &mut Warp, inst: &Inst, _mask: u32, f: impl Fn($(shape!(@type $row)),+) -> bool) {
            $(let $arg = &warp.$row[usize::from(inst.$field)].0;)+
            let mut out = 0;
            for lane in 0..32 {
                out |= u32::from(f($($arg[lane]),+)) << lane;
            }
            warp.compared = out;
        }
    };
    ($name:ident, $($arg:ident : $row:ident = $field:ident),+ => $to:ident) => {
        #[inline(always)]
        fn $name(warp: &mut Warp, inst: &Inst, mask: u32, f: impl Fn($(shape!(@type $row)),+) -> shape!(@type $to)) {
            $(let $arg = &warp.$row[usize::from(inst.$field)].0;)+
            let mut out = [0; 32];
            for lane in 0..32 {
                out[lane] = f($($arg[lane]),+);
            }
            shape!(@store $to)(warp, inst.d, &out, mask);
        }
    };
    (@type w) => { u32 };
    (@type d) => { u64 };
    (@store w) => { store32 };
    (@store d) => { store64 };
}

shape!(w_w, a: w = a => w);
shape!(ww_w, a: w = a, b: w = b => w);
shape!(www_w, a: w = a, b: w = b, c: w = c => w);
shape!(wwww_w, a: w = a, b: w = b, c: w = c, e: w = e => w);
shape!(d_d, a: d = a => d);
shape!(dd_d, a: d = a, b: d = b => d);
shape!(ddd_d, a: d = a, b: d = b, c: d = c => d);
shape!(dw_d, a: d = a, b: w = b => d);
shape!(ww_d, a: w = a, b: w = b => d);
shape!(wwd_d, a: w = a, b: w = b, c: d = c => d);
shape!(d_w, a: d = a => w);
shape!(w_d, a: w = a => d);
shape!(ddww_d, a: d = a, b: d = b, c: w = c, e: w = e => d);
shape!(dww_d, a: d = a, b: w = b, c: w = c => d);
shape!(ww_p, a: w = a, b: w = b => p);
shape!(dd_p, a: d = a, b: d = b => p);

/// An operation of the table on the rows that an instruction names.
type Operation = unsafe fn(&mut Warp, &Inst, u32);

macro_rules! dispatch {
    ($($shape:ident { $($name:ident = $($text:literal)+ : $f:expr;)* })*) => {
        /// Each operation is a small function of its own: one large one would save and restore all that its worst part needs.
        #[cfg(target_arch = "x86_64")]
        #[allow(non_snake_case)] // named after the table
        mod avx2 {
            use super::*;
            $($(
                #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
                pub(super) fn $name(warp: &mut Warp, inst: &Inst, mask: u32) {
                    $shape(warp, inst, mask, $f);
                }
            )*)*
        }

        #[allow(non_snake_case)] // named after the table
        mod baseline {
            use super::*;
            $($(
                pub(super) fn $name(warp: &mut Warp, inst: &Inst, mask: u32) {
                    $shape(warp, inst, mask, $f);
                }
            )*)*
        }

        /// Functions in the order of [`Alu`].
        #[cfg(target_arch = "x86_64")]
        static AVX2: &[Operation] = &[$($(avx2::$name,)*)*];
        static BASELINE: &[Operation] = &[$($(baseline::$name,)*)*];
    };
}
alu_table!(dispatch);

impl Warp {
    /// Executes one operation of the table. A comparison leaves its result in `self.compared`.
    #[inline(always)]
    pub(super) fn alu<const AVX2: bool>(&mut self, alu: Alu, inst: &Inst, mask: u32) {
        if matches!(alu, Alu::RemU32 | Alu::DivU32)
            && let Some(divisor) = self.common_power(inst)
        {
            // No vector unit divides integers, and 32 divisions one by one would cost more than ten other instructions.
            return match alu {
                Alu::RemU32 => w_w(self, inst, mask, |a| a & (divisor - 1)),
                _ => w_w(self, inst, mask, |a| a >> divisor.trailing_zeros()),
            };
        }
        #[cfg(target_arch = "x86_64")]
        if AVX2 {
            // SAFETY: only code reached from `Machine::run_avx2` instantiates AVX2 = true, and that is entered only where
            // the processor has the features that these functions are compiled for.
            return unsafe { self::AVX2[alu as usize](self, inst, mask) };
        }
        // SAFETY: these functions are safe ones.
        unsafe { BASELINE[alu as usize](self, inst, mask) }
    }

    /// Returns operand `b`, if it is the same power of two in all lanes.
    #[inline(always)]
    fn common_power(&self, inst: &Inst) -> Option<u32> {
        let row = &self.w[usize::from(inst.b)].0;
        let mut differ = 0;
        for lane in 0..32 {
            differ |= row[lane] ^ row[0];
        }
        (differ == 0 && row[0].is_power_of_two()).then_some(row[0])
    }
}

/// Executes an instruction one lane at a time.
#[inline(never)]
pub(super) fn exact(warp: &mut Warp, code: &ExactCode, mask: u32) {
    let (mut out, mut second) = ([0u64; 32], 0);
    for lane in (0..32).filter(|lane| mask & (1 << lane) != 0) {
        let mut sources = [0; SOURCES];
        for (value, &(row, reg, negated)) in sources.iter_mut().zip(&code.sources) {
            let reg = usize::from(reg);
            *value = match row {
                Row::W => u64::from(warp.w[reg].0[lane]),
                Row::D => warp.d[reg].0[lane],
                Row::P => u64::from((warp.p[reg] >> lane & 1 != 0) != negated),
            };
        }
        let [first, other] = code.exact.evaluate(&sources);
        out[lane] = first;
        second |= u32::from(other != 0) << lane;
    }
    match code.to {
        Row::W => store32(warp, code.d, &out.map(|value| value as u32), mask),
        Row::D => store64(warp, code.d, &out, mask),
        Row::P => {
            let first = (0..32).fold(0, |bits, lane| bits | u32::from(out[lane] != 0) << lane);
            store_predicate(warp, code.d, first, mask);
        }
    }
    store_predicate(warp, code.second, second, mask);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{Code, NONE};
    use crate::exact::Exact;

    /// Returns an awkward 64-bit value whose low half is awkward too.
    fn awkward(seed: &mut u64) -> u64 {
        const F32: [u32; 20] = [
            0,
            0x8000_0000,
            0x3f80_0000,
            0xbfc0_0000,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_1234,
            0x7f80_0001,
            1,
            0x007f_ffff,
            0x0080_0000,
            0x7f7f_ffff,
            0xffff_ffff,
            31,
            33,
            0x7fff_ffff,
            // With one another and with 2^-126 these give products and quotients next to it.
            0x00ff_ffff,
            0x3f00_0000,
            0x3f7f_ffff,
            0x4000_0000,
        ];
        const F64: [u64; 10] = [
            0,
            1 << 63,
            1,
            0x3ff0 << 48,
            0x7ff0 << 48,
            0xfff0 << 48,
            0x7ff8_0000_0000_1234,
            0xfff0_0000_0000_0001,
            u64::MAX >> 1,
            0x000f_ffff_ffff_ffff,
        ];
        *seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let bits = *seed ^ *seed >> 29;
        match bits >> 60 {
            0..4 => {
                u64::from(F32[(bits >> 40) as usize % F32.len()])
                    | u64::from(F32[(bits >> 20) as usize % F32.len()]) << 32
            }
            4..7 => F64[(bits >> 40) as usize % F64.len()],
            7..10 => 0x3fe0_0000_3f00_0000 ^ bits & 0x003f_ffff_00ff_ffff,
            10..12 => bits & 63,
            _ => bits,
        }
    }

    /// One opcode on 32 lanes: the lane loop's results and the exact ones, which differ for no lane.
    fn compare(opcode: &str, mnemonic: &'static str, alu: Alu, seed: &mut u64) {
        let signature = alu.signature();
        let mut warp = Warp::new(0, &Code { rows32: 5, rows64: 5, ..Code::default() });
        for row in 0..4 {
            for lane in 0..32 {
                let value = awkward(seed);
                warp.d[row].0[lane] = value;
                warp.w[row].0[lane] = value as u32;
            }
        }
        let inst = Inst { d: 4, a: 0, b: 1, c: 2, e: 3, f: NONE, ..Inst::NOP };
        warp.alu::<false>(alu, &inst, FULL);
        let exact = Exact::from_opcode(mnemonic, opcode, alu.signature().sources.iter().flatten().count())
            .unwrap_or_else(|| panic!("{opcode}"));
        for lane in 0..32 {
            let sources: [u64; SOURCES] = std::array::from_fn(|i| match signature.sources.get(i).copied().flatten() {
                Some(Row::D) => warp.d[i].0[lane],
                Some(_) => u64::from(warp.w[i].0[lane]),
                None => 0,
            });
            let expected = exact.evaluate(&sources)[0];
            let (found, expected) = match signature.destination {
                Row::D => (warp.d[4].0[lane], expected),
                Row::W => (u64::from(warp.w[4].0[lane]), expected & 0xffff_ffff),
                Row::P => (u64::from(warp.compared >> lane & 1), expected),
            };
            assert_eq!(found, expected, "{opcode} of {sources:x?}: {found:x}, exactly {expected:x}");
        }
    }

    #[test]
    fn a_common_power_divides_as_any_other_number() {
        let inst = Inst { d: 2, a: 0, b: 1, ..Inst::NOP };
        for (divisor, opcode, alu) in
            (0..33).flat_map(|bit| [(bit, "rem.u32", Alu::RemU32), (bit, "div.u32", Alu::DivU32)])
        {
            let divisor = 1u32.checked_shl(divisor).unwrap_or(0);
            let mut warp = Warp::new(0, &Code { rows32: 3, ..Code::default() });
            let (mut seed, mask) = (u64::from(divisor), 0xffff_0fff);
            warp.w[0].0.iter_mut().for_each(|value| *value = awkward(&mut seed) as u32);
            warp.w[1].0 = [divisor; 32];
            warp.w[2].0 = [7; 32];
            let a = warp.w[0].0;
            warp.alu::<false>(alu, &inst, mask);
            for lane in 0..32 {
                let expected = match alu {
                    _ if mask >> lane & 1 == 0 => 7,
                    Alu::RemU32 => a[lane].checked_rem(divisor).unwrap_or(u32::MAX),
                    _ => a[lane].checked_div(divisor).unwrap_or(u32::MAX),
                };
                assert_eq!(warp.w[2].0[lane], expected, "{opcode} {} by {divisor}", a[lane]);
            }
        }
    }

    #[test]
    fn lane_loops_give_what_exact_arithmetic_gives() {
        let (mut compared, mut seed) = (0, 1);
        for shape in ptx::table::ARITHMETIC {
            for opcode in shape.opcodes() {
                let Some(alu) = Alu::from_opcode(&opcode) else { continue };
                (0..40).for_each(|_| compare(&opcode, shape.mnemonic(), alu, &mut seed));
                compared += 1;
            }
        }
        assert!(compared > 150, "{compared}");
    }
}
