//! Every arithmetic instruction, one lane at a time and by integer arithmetic: exact in every rounding mode, the same on
//! every machine. The lane loops of `ops.rs` run what they can; this module runs the rest, and decides in tests whether the
//! lane loops are right.
//!
//! ```text
//! opcode -> Exact (types, rounding, flags) -> integer | float arithmetic | compare | convert | approximate
//! ```

mod approximate;
mod arithmetic;
mod compare;
mod convert;
mod ex2;
mod float;
mod integer;
mod video;

use compare::Comparison;
pub use ex2::ex2;
use float::{BF16, E4M3, E5M2, F16, F32, F64, Format, Rounding, TF32};
use integer::Integer;
pub use video::Video;

use crate::code::Combine;

/// Most sources an instruction has.
pub const SOURCES: usize = 5;

/// A type as an opcode names it. `.bN` counts as unsigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ty {
    /// An integer.
    Integer(Integer),
    /// A float.
    Float(Format),
    /// Two integers in 32 bits.
    Integers(Integer),
    /// Two floats in 32 bits.
    Floats(Format),
    /// Two floats of 32 bits in 64.
    Singles,
    /// Two floats of 8 bits in 16.
    Bytes(Format),
}

/// Flags of an opcode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    pub flush: bool,
    pub saturate: bool,
    pub relu: bool,
    pub nan: bool,
    pub xorsign: bool,
    pub carry_out: bool,
    pub high: bool,
    pub wide: bool,
    pub clamp: bool,
    pub shift_amount: bool,
    pub approximate: bool,
    pub satfinite: bool,
    pub out_of_bounds: bool,
    /// Round to a whole number.
    pub integral: bool,
    /// `.l` of `shf`.
    pub left: bool,
    /// Compares magnitudes.
    pub abs: bool,
    /// `min`, `max` of three.
    pub of_three: bool,
}

/// One instruction, all but its operands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exact {
    /// The mnemonic.
    verb: &'static str,
    /// The first type and the last.
    to: Ty,
    from: Ty,
    rounding: Rounding,
    flags: Flags,
    comparison: Comparison,
    combine: Combine,
    /// The mode of `prmt`, the question of `testp`, `pack` of `cvt`.
    mode: &'static str,
    /// All parameters of a packed video instruction.
    video: Option<Video>,
}

/// Most results an instruction has.
pub type Results = [u64; 2];

fn ty(word: &str) -> Option<Ty> {
    let integer = |signed, bits: &str| {
        bits.parse().ok().filter(|bits| matches!(bits, 2 | 4 | 8 | 16 | 32 | 64)).map(|bits| Integer { bits, signed })
    };
    Some(match word {
        "f16" => Ty::Float(F16),
        "bf16" => Ty::Float(BF16),
        "f32" => Ty::Float(F32),
        "f64" => Ty::Float(F64),
        "tf32" => Ty::Float(TF32),
        "f16x2" => Ty::Floats(F16),
        "bf16x2" => Ty::Floats(BF16),
        "f32x2" => Ty::Singles,
        "e4m3x2" => Ty::Bytes(E4M3),
        "e5m2x2" => Ty::Bytes(E5M2),
        "u16x2" => Ty::Integers(Integer { bits: 16, signed: false }),
        "s16x2" => Ty::Integers(Integer { bits: 16, signed: true }),
        _ => match word.split_at_checked(1)? {
            ("s", bits) => Ty::Integer(integer(true, bits)?),
            ("u" | "b", bits) => Ty::Integer(integer(false, bits)?),
            _ => return None,
        },
    })
}

impl Exact {
    /// The instruction that a canonical opcode of the table (`ptx::table::arithmetic`) spells, with so many sources.
    pub fn from_opcode(mnemonic: &'static str, opcode: &str, sources: usize) -> Option<Exact> {
        let words: Vec<&str> = opcode.split('.').skip(1).collect();
        let types: Vec<Ty> = words.iter().filter_map(|word| ty(word)).collect();
        let compares = matches!(mnemonic, "set" | "setp");
        let (to, from) = (*types.first()?, *types.last()?);
        let mut exact = Exact { to, from, ..Exact::whole(mnemonic, 32) };
        for word in words.iter().filter(|word| ty(word).is_none()) {
            match Comparison::from_word(word).filter(|_| compares) {
                Some(comparison) => exact.comparison = comparison,
                None => exact.modify(word)?,
            }
        }
        exact.flags.of_three = matches!(mnemonic, "min" | "max") && sources == 3;
        Some(exact)
    }

    /// `isspacep`: whether the first source is at least the second and less than the third.
    pub fn within() -> Exact {
        Exact::whole("isspacep", 64)
    }

    /// `mov` of one register into parts: `bits` bits of the first source from the bit on that the second names.
    pub fn unpack(bits: u32) -> Exact {
        Exact::whole("unpack", bits)
    }

    /// `mov` of parts of `bits` bits into one register, the first part lowest.
    pub fn pack(bits: u32) -> Exact {
        Exact::whole("pack", bits)
    }

    /// A packed video instruction.
    pub fn video(video: Video) -> Exact {
        Exact { video: Some(video), ..Exact::whole("video", 32) }
    }

    /// Whole numbers of `bits` bits, with nothing else said.
    fn whole(verb: &'static str, bits: u32) -> Exact {
        let ty = Ty::Integer(Integer { bits, signed: false });
        Exact {
            verb,
            to: ty,
            from: ty,
            rounding: Rounding::Nearest,
            flags: Flags::default(),
            comparison: Comparison::Eq,
            combine: Combine::None,
            mode: "",
            video: None,
        }
    }

    /// Takes in one word that is neither a type nor a comparison.
    fn modify(&mut self, word: &str) -> Option<()> {
        let flags = &mut self.flags;
        match word {
            "rn" | "rni" => self.rounding = Rounding::Nearest,
            "rz" | "rzi" => self.rounding = Rounding::Zero,
            "rm" | "rmi" => self.rounding = Rounding::Down,
            "rp" | "rpi" => self.rounding = Rounding::Up,
            "rna" => self.rounding = Rounding::NearestAway,
            "and" => self.combine = Combine::And,
            "or" => self.combine = Combine::Or,
            "xor" => self.combine = Combine::Xor,
            "ftz" => flags.flush = true,
            "sat" => flags.saturate = true,
            "relu" => flags.relu = true,
            "NaN" => flags.nan = true,
            "xorsign" => flags.xorsign = true,
            "cc" => flags.carry_out = true,
            "hi" => flags.high = true,
            "wide" => flags.wide = true,
            "clamp" => flags.clamp = true,
            "shiftamt" => flags.shift_amount = true,
            "approx" => flags.approximate = true,
            "satfinite" => flags.satfinite = true,
            "oob" => flags.out_of_bounds = true,
            "l" => flags.left = true,
            "abs" => flags.abs = true,
            // Defaults: the instruction does the same without the word.
            "lo" | "wrap" | "r" | "full" => {}
            other => self.mode = *MODES.iter().find(|mode| **mode == other)?,
        }
        self.flags.integral |= matches!(word, "rni" | "rzi" | "rmi" | "rpi");
        Some(())
    }

    /// Returns the results of the instruction, in order; predicates and carries are 0 or 1.
    #[inline(never)]
    pub fn evaluate(&self, s: &[u64; SOURCES]) -> Results {
        if let Some(video) = &self.video {
            return [video.evaluate(s), 0];
        }
        match (self.verb, self.to) {
            ("cvt", _) => [self.convert(s), 0],
            ("set" | "setp" | "slct" | "testp", _) => self.compare(s),
            ("selp", _) => [if s[2] != 0 { s[0] } else { s[1] }, 0],
            (_, Ty::Integers(element)) => [self.halves(Ty::Integer(element), 16, s), 0],
            (_, Ty::Floats(format)) => [self.halves(Ty::Float(format), 16, s), 0],
            (_, Ty::Singles) => [self.halves(Ty::Float(F32), 32, s), 0],
            (_, Ty::Integer(integer)) => self.integer(integer, s),
            (_, Ty::Float(format)) if matches!(self.verb, "add" | "sub" | "fma") && self.from != self.to => {
                [self.float(format, &self.widened(s)), 0]
            }
            (_, Ty::Float(format)) => [self.float(format, s), 0],
            (_, Ty::Bytes(_)) => [0, 0],
        }
    }

    /// The instruction on each half, of so many bits, of packed operands.
    fn halves(&self, element: Ty, bits: u32, s: &[u64; SOURCES]) -> u64 {
        let half = Exact { to: element, from: element, ..self.clone() };
        let ones = (1 << bits) - 1;
        let low = half.evaluate(&s.map(|x| x & ones))[0] & ones;
        let high = half.evaluate(&s.map(|x| x >> bits & ones))[0] & ones;
        low | high << bits
    }

    /// The sources of a sum or product of two formats, all but the addend in the smaller one, in the larger one.
    fn widened(&self, s: &[u64; SOURCES]) -> [u64; SOURCES] {
        let convert = Exact { verb: "cvt", flags: Flags::default(), ..self.clone() };
        let addend = if self.verb == "fma" { 2 } else { 1 };
        let wide = |at: usize| if at < addend { convert.evaluate(&[s[at], 0, 0, 0, 0])[0] } else { s[at] };
        std::array::from_fn(wide)
    }
}

/// The words that `Exact::mode` keeps.
const MODES: [&str; 13] = [
    "f4e",
    "b4e",
    "rc8",
    "ecl",
    "ecr",
    "rc16",
    "finite",
    "infinite",
    "number",
    "notanumber",
    "normal",
    "subnormal",
    "pack",
];
