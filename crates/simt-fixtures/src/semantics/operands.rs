//! The values that fixtures are fed: for every kind of operand a list of special ones, and random ones of the shapes
//! that find rounding errors. The same kernel gets the same rows on every machine.

use std::f32::consts::{FRAC_PI_2, FRAC_PI_4, PI, TAU};

/// Rows of operands a kernel gets: one thread each.
pub const ROWS: usize = 128;

/// Rows of a kernel of approximate instructions, whose errors are measured.
pub const ROWS_APPROXIMATE: usize = 1024;

/// Rows that `edge` fills, the last of the first [`ROWS`].
const EDGES: usize = 13;

/// Most operands that a row holds.
pub const OPERANDS: usize = 5;

/// A small generator of random bits (xorshift64*); the seed is a hash of the kernel's name.
pub struct Bits(u64);

impl Bits {
    pub fn of(name: &str) -> Bits {
        Bits(fnv(name.as_bytes()) | 1)
    }

    pub fn word(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        (self.word() >> 16) % end
    }
}

/// The 64-bit FNV-1a hash.
pub fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &b| (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// Kind of value that an operand is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Width in bits.
    Integer(u32),
    /// Bits of the exponent and of the fraction.
    Float(u32, u32),
    /// Two of these.
    Pair(&'static str),
    /// Four bytes.
    Four,
    /// These values, for bit positions and counts.
    Listed(&'static [u64]),
    Predicate,
    /// A finite f32 of at most a few turns, or a special one.
    Angle,
    /// All pairs of neighbouring bytes, row by row.
    Bytes,
}

const COUNTS: [u64; 24] =
    [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 47, 63, 64, 65, 128, 255, 256, 0xffff_ffff];
const OFFSETS: [u64; 12] =
    [0, 1, 2, 3, 7, 31, 0xffff_ffff, 0xffff_fffe, 0xffff_fffd, 0xffff_fff9, 0xffff_ffe0, 0xffff_ffff];
const BYTES: [u64; 9] = [0, 0x80, 0xff, 0x7f, 1, 0xfe, 0x81, 2, 0x55];
const POSITIONS: [u64; 8] = [0, 1, 5, 13, 16, 22, 30, 31];

fn kind_of(name: &str) -> Kind {
    match name {
        "pred" => Kind::Predicate,
        "f16" => Kind::Float(5, 10),
        "bf16" => Kind::Float(8, 7),
        "f32" => Kind::Float(8, 23),
        "f64" => Kind::Float(11, 52),
        "f16x2" => Kind::Pair("f16"),
        "bf16x2" => Kind::Pair("bf16"),
        "f32x2" => Kind::Pair("f32"),
        "u16x2" | "s16x2" => Kind::Pair("u16"),
        "u8x4" => Kind::Four,
        "count" => Kind::Listed(&COUNTS),
        "offset" => Kind::Listed(&OFFSETS),
        "bit" => Kind::Listed(&POSITIONS),
        "angle" => Kind::Angle,
        "f8x2" => Kind::Bytes,
        // The registers of bytes have 32 bits here, so that what lies above the byte is seen to be ignored.
        "u8" | "s8" => Kind::Integer(32),
        integer => Kind::Integer(integer[1..].parse().expect("an integer type")),
    }
}

/// Bits of one of a pair.
fn width_of(name: &str) -> u32 {
    if name == "f32" { 32 } else { 16 }
}

/// The special values of a kind, most telling first.
fn specials(kind: Kind) -> Vec<u64> {
    match kind {
        Kind::Integer(bits) => {
            let ones = u64::MAX >> (64 - bits);
            let top = 1 << (bits - 1);
            let mut list = vec![0, 1, ones, top, top - 1, 2, top + 1, ones - 1, 3, 0x80, 0x7f, 0xff, 0x100, 0xff80];
            list.extend([0x5555_5555_5555_5555, 0xaaaa_aaaa_aaaa_aaaa, 0x8000, 0x7fff, 0xffff, 0x1_0000, 10, 100]);
            list.extend([0x8000_0000, 0x7fff_ffff, 0xffff_ffff, 0x1_0000_0000, 0x00ff_ffff, 0x0100_0001, 0xff7f]);
            list.iter().map(|value| value & ones).collect()
        }
        Kind::Float(exponent, fraction) => float_specials(exponent, fraction),
        Kind::Listed(list) => list.to_vec(),
        Kind::Predicate => vec![0, 1],
        Kind::Angle => {
            let angles = [0f32, 0.5, 1.0, FRAC_PI_4, FRAC_PI_2, PI, 1e-3, 1e-20, 6.0, 2.5, f32::INFINITY, f32::NAN];
            angles.iter().flat_map(|x| [x.to_bits(), (-x).to_bits()]).chain([1, 0x8000_0001]).map(u64::from).collect()
        }
        Kind::Pair(_) | Kind::Four | Kind::Bytes => Vec::new(),
    }
}

fn float_specials(exponent: u32, fraction: u32) -> Vec<u64> {
    let sign = 1u64 << (exponent + fraction);
    let infinity = ((1u64 << exponent) - 1) << fraction;
    let bias = (1u64 << (exponent - 1)) - 1;
    let one = bias << fraction;
    let normal = 1u64 << fraction;
    let power = |k: i64| ((bias as i64 + k).clamp(1, 2 * bias as i64) as u64) << fraction;
    let mut list = vec![
        one,
        sign,
        infinity,
        infinity + (normal >> 1) + 0x15,
        normal,
        sign | infinity,
        0,
        infinity - 1,
        1,
        sign | one,
        sign | (normal - 1),
        infinity + 1,
        sign | infinity | (normal >> 1),
        sign | infinity | 0x2a,
        normal - 1,
        sign | 1,
        sign | normal,
        sign | (infinity - 1),
        one + 1,
        one - 1,
        normal >> 1,
        sign - 1,
    ];
    // Halves, integers around the ends of the integer types, and numbers around the ends of smaller formats.
    list.extend([
        power(-1),
        power(0) | (normal >> 1),
        power(1) | (normal >> 2),
        sign | power(-1),
        sign | power(1) | normal >> 2,
    ]);
    list.extend([7, 8, 15, 16, 31, 32, 63, 64, -14, -24, -25, -126, -149, -150, 127].map(power));
    list.extend([7, 8, 15, 16, 31, 32, 63, 64, -14, -24, -25, -126, -149].map(|k| power(k) - 1));
    list.extend([7, 15, 31, 63, 8, 16].map(|k| sign | power(k)));
    list.extend([7, 15, 31, 63].map(|k| sign | (power(k) + 1)));
    list
}

/// A random value of a kind, near `base` in magnitude where that means something.
fn random(kind: Kind, bits: &mut Bits, base: u64) -> u64 {
    let special = |bits: &mut Bits, kind| {
        let list = specials(kind);
        list[bits.below(list.len() as u64) as usize]
    };
    match kind {
        Kind::Integer(width) => {
            let ones = u64::MAX >> (64 - width);
            match bits.below(4) {
                0 => special(bits, kind),
                1 => bits.word() & ones,
                _ => {
                    // Any number of significant bits, of either sign.
                    let small = bits.word() >> (64 - width) >> bits.below(u64::from(width));
                    (if bits.below(2) == 0 { small } else { small.wrapping_neg() }) & ones
                }
            }
        }
        Kind::Float(exponent, fraction) => match bits.below(8) {
            0 => special(bits, kind),
            1 => bits.word() >> (63 - exponent - fraction),
            2 | 3 => windowed(exponent, fraction, bits),
            _ => {
                let bias = (1i64 << (exponent - 1)) - 1;
                let near = (bias + (base % 24) as i64 - 12 + bits.below(6) as i64).clamp(0, 2 * bias) as u64;
                let sign = bits.below(2) << (exponent + fraction);
                sign | near << fraction | bits.word() >> (64 - fraction)
            }
        },
        Kind::Pair(name) => {
            let half = kind_of(name);
            let low = random(half, bits, base);
            low | random(half, bits, base) << width_of(name)
        }
        Kind::Four => (0..4).fold(0, |word, _| {
            let byte = if bits.below(2) == 0 { BYTES[bits.below(9) as usize] } else { bits.word() & 0xff };
            word << 8 | byte
        }),
        Kind::Listed(_) if bits.below(2) == 0 => bits.word() & 63,
        Kind::Listed(_) => special(bits, kind),
        Kind::Predicate => bits.below(2),
        Kind::Angle => {
            let turns = (bits.word() >> 40) as f32 / (1u64 << 24) as f32;
            u64::from(((turns - 0.5) * TAU).to_bits())
        }
        Kind::Bytes => bits.word() & 0xffff,
    }
}

/// A number whose exponent is where conversions change what they do, and whose fraction has few or telling bits.
fn windowed(exponent: u32, fraction: u32, bits: &mut Bits) -> u64 {
    let bias = (1i64 << (exponent - 1)) - 1;
    let power = match bits.below(5) {
        0 => bits.below(28) as i64 - 28,
        1 => bits.below(30) as i64 - 152,
        2 => bits.below(60) as i64 + 6,
        _ => bits.below(16) as i64 - 3,
    };
    let kept = match bits.below(4) {
        0 => bits.below(4) as u32 + 23,
        1 => bits.below(4) as u32 + 9,
        2 => bits.below(9) as u32,
        _ => fraction,
    };
    let mut low = bits.word() >> (64 - fraction);
    if kept < fraction {
        low &= !((1 << (fraction - kept)) - 1);
    }
    let biased = (bias + power).clamp(0, 2 * bias) as u64;
    bits.below(2) << (exponent + fraction) | biased << fraction | low
}

/// The rows of one kernel: what each source holds, by thread.
pub fn rows(kernel: &str, sources: &[String], count: usize) -> Vec<[u64; OPERANDS]> {
    let kinds: Vec<Kind> = sources.iter().filter(|name| *name != "imm8").map(|name| kind_of(name)).collect();
    let mut bits = Bits::of(kernel);
    (0..count)
        .map(|row| {
            let mut values = [0; OPERANDS];
            let base = bits.word();
            for (at, &kind) in kinds.iter().enumerate() {
                let repeat = at > 0 && kinds[at - 1] == kind && bits.below(10) == 0;
                values[at] = match crossed(&kinds, at, row).or_else(|| edge(&kinds, at, row)) {
                    Some(value) => value,
                    None if repeat => values[at - 1],
                    None => random(kind, &mut bits, base),
                };
            }
            values
        })
        .collect()
}

/// In the last rows what rounding and flushing decide: products next to the smallest normal number, sums and products in
/// the middle between two numbers, and such a product with a little more or less.
fn edge(kinds: &[Kind], at: usize, row: usize) -> Option<u64> {
    let of_format = |exponent: u32, fraction: u32, which: usize| {
        let sign = 1u64 << (exponent + fraction);
        let one = ((1u64 << (exponent - 1)) - 1) << fraction;
        let normal = 1u64 << fraction;
        let power = |k: u64| one.saturating_sub(k << fraction);
        let tie = power(u64::from(fraction) + 1);
        let infinity = ((1u64 << exponent) - 1) << fraction;
        let nan = infinity | normal >> 1;
        let i = (fraction + 1).div_ceil(2);
        let (a, b) = (one | 1 << (fraction - i), one | 1 << (i - 1));
        let edges = [
            [normal, one - 1, 0],
            [2 * normal - 1, power(1), 0],
            [2 * normal - 1, one + normal, 0],
            [one, tie, one],
            [one + 1, tie, tie],
            [sign | one, tie, 1],
            [a, b, 1],
            [a, b, sign | 1],
            [a, b, 0],
            // Several NaNs, of which one comes out.
            [nan, sign | (nan + 1), nan + 2],
            [one, sign | (nan + 1), nan + 2],
            [infinity + 3, nan, one],
            [one, infinity + 3, sign | nan],
        ];
        edges[which % edges.len()][at]
    };
    let which = row.checked_sub(ROWS - EDGES).filter(|which| *which < EDGES)?;
    if !(2..=3).contains(&kinds.len()) || kinds.iter().any(|kind| *kind != kinds[0]) {
        return None;
    }
    match kinds[0] {
        Kind::Float(exponent, fraction) => Some(of_format(exponent, fraction, which)),
        Kind::Pair(name) => match kind_of(name) {
            Kind::Float(exponent, fraction) => {
                Some(of_format(exponent, fraction, which) | of_format(exponent, fraction, which + 4) << width_of(name))
            }
            _ => None,
        },
        _ => None,
    }
}

/// In the first rows every combination of special values: of all of them for one source, of nine for two, of four for
/// three.
fn crossed(kinds: &[Kind], at: usize, row: usize) -> Option<u64> {
    let kind = kinds[at];
    let numbers = kinds.iter().filter(|kind| **kind != Kind::Predicate).count();
    if kind == Kind::Bytes {
        return Some(((2 * row) | ((2 * row + 1) << 8)) as u64);
    }
    let side: usize = match numbers {
        1 => 64,
        2 => 9,
        3 => 4,
        _ => return None,
    };
    let one = |name: &str, row: usize| {
        let list = specials(kind_of(name));
        list[row / side.pow(at as u32) % side.min(list.len())]
    };
    let end = side.pow(numbers as u32);
    match kind {
        Kind::Predicate => None,
        _ if row >= end => None,
        // Each byte walks the combinations from another place on.
        Kind::Four => {
            let byte = |which: usize| BYTES[(row + which * end / 4) % end / side.pow(at as u32) % side];
            Some((0..4).fold(0, |word, which| word | byte(which) << (8 * which)))
        }
        // The low half walks the combinations one way and the high half the other.
        Kind::Pair(name) => Some(one(name, row) | one(name, end - 1 - row) << 16),
        _ => {
            let list = specials(kind);
            let index = row / side.pow(at as u32) % side;
            (index < list.len()).then(|| list[index])
        }
    }
}
