//! 2^x as the hardware's unit for special functions gives it: `ex2.approx.f32`, bit for bit.
//!
//! ```text
//! x ─ 23 bits after the point ─ floor ──────────────────────────────── exponent
//!                               upper 6 bits: c0, c1, c2 ┐
//!                               lower 17 bits: low ───────┴ c0 + c1 low + c2 low² ─ 24 bits
//! ```
//!
//! S. F. Oberman and M. Y. Siu describe the unit (A High-Performance Area-Efficient Multifunction Interpolator, 2005). The
//! coefficients, the truncated square and the constant that rounds are those that M. Kościelnicki found by experiments with a G80
//! (envytools, `nvhw/sfu.c` and `sfu_tab.c`). An H200 gives the same for all 2^32 sources
//! (`tests/semantics/ex2.rs`), but for one step that was an instruction of its own: x is cut to 23 bits, not rounded.

/// Bits after the point, of x and of what comes of its fraction.
const POINT: u32 = 23;
/// Bits of a fraction that are no number of a row.
const LOW: u32 = 17;
/// Numbers of 2^x, its slope and its bend, from 0 to 1.
#[rustfmt::skip]
const TABLE: [[u32; 3]; 64] = [
    [0x2000000, 0x58b9, 0x1ee], [0x2059347, 0x59b0, 0x1f5], [0x20b361b, 0x5aaa, 0x1fa], [0x210e8a2, 0x5ba7, 0x1ff],
    [0x216ab0f, 0x5ca6, 0x206], [0x21c7d86, 0x5da9, 0x209], [0x2226039, 0x5eae, 0x20f], [0x2285356, 0x5fb6, 0x214],
    [0x22e5709, 0x60c0, 0x21d], [0x2346b7e, 0x61ce, 0x222], [0x23a90e5, 0x62df, 0x227], [0x240c772, 0x63f2, 0x22f],
    [0x2470f4e, 0x6509, 0x234], [0x24d68ad, 0x6623, 0x238], [0x253d3c0, 0x673f, 0x241], [0x25a50b6, 0x685f, 0x247],
    [0x260dfc2, 0x6982, 0x24d], [0x2678117, 0x6aa8, 0x254], [0x26e34e6, 0x6bd2, 0x258], [0x274fb67, 0x6cfe, 0x261],
    [0x27bd4c9, 0x6e2e, 0x267], [0x282c145, 0x6f61, 0x26e], [0x289c10b, 0x7098, 0x273], [0x290d456, 0x71d2, 0x279],
    [0x297fb5a, 0x730f, 0x281], [0x29f364e, 0x7450, 0x287], [0x2a6856a, 0x7594, 0x28f], [0x2ade8e7, 0x76dc, 0x295],
    [0x2b560fb, 0x7827, 0x29e], [0x2bcede2, 0x7976, 0x2a5], [0x2c48fd7, 0x7ac8, 0x2ae], [0x2cc4710, 0x7c1f, 0x2b3],
    [0x2d413cc, 0x7d79, 0x2bb], [0x2dbf648, 0x7ed7, 0x2c1], [0x2e3eebe, 0x8038, 0x2cb], [0x2ebfd6a, 0x819e, 0x2d1],
    [0x2f4228e, 0x8307, 0x2da], [0x2fc5e67, 0x8474, 0x2e3], [0x304b134, 0x85e5, 0x2ec], [0x30d1b33, 0x875b, 0x2f1],
    [0x3159ca8, 0x88d4, 0x2fb], [0x31e35d3, 0x8a51, 0x305], [0x326e6f7, 0x8bd3, 0x30b], [0x32fb054, 0x8d59, 0x313],
    [0x3389230, 0x8ee3, 0x31c], [0x3418ccf, 0x9071, 0x326], [0x34aa076, 0x9204, 0x32d], [0x353cd6a, 0x939b, 0x336],
    [0x35d13f4, 0x9536, 0x341], [0x3667457, 0x96d6, 0x34a], [0x36feede, 0x987b, 0x351], [0x37983d3, 0x9a24, 0x35a],
    [0x383337d, 0x9bd1, 0x366], [0x38cfe27, 0x9d84, 0x36d], [0x396e41c, 0x9f3b, 0x377], [0x3a0e5aa, 0xa0f7, 0x380],
    [0x3ab031d, 0xa2b7, 0x38d], [0x3b53cc1, 0xa47d, 0x395], [0x3bf92e7, 0xa648, 0x39d], [0x3ca05dd, 0xa817, 0x3aa],
    [0x3d495f5, 0xa9ec, 0x3b2], [0x3df437f, 0xabc5, 0x3bf], [0x3ea0ecc, 0xada4, 0x3c9], [0x3f4f831, 0xaf88, 0x3d4],
];

/// 2^x of an f32 that is not subnormal. Results below 2^-126 are 0.
pub fn ex2(x: u32) -> u32 {
    let (is_negative, exponent, fraction) = (x >> 31 == 1, (x >> POINT & 0xff) as i32 - 127, x & 0x7f_ffff);
    if exponent >= 7 {
        return match (exponent, fraction, is_negative) {
            (128, 1.., _) => 0x7fff_ffff,
            (.., true) => 0,
            _ => f32::INFINITY.to_bits(),
        };
    }
    let significand = fraction | 1 << POINT;
    let fixed = if exponent < 0 { significand >> exponent.unsigned_abs().min(31) } else { significand << exponent };
    // The fraction of a negative number is complemented, which is 2^-23 less than its distance from the floor.
    let is_whole = fixed & 0x7f_ffff == 0;
    let fixed = match (is_negative, is_whole) {
        (true, true) => -(fixed as i32),
        (true, false) => !(fixed as i32),
        _ => fixed as i32,
    };
    let power = power(fixed as u32 & 0x7f_ffff);
    // A power of 2 goes to the exponent.
    let exponent = (fixed >> POINT) + 126 + (power >> POINT) as i32;
    match exponent {
        ..=0 => 0,
        255.. => f32::INFINITY.to_bits(),
        _ => (exponent as u32) << POINT | power & 0x7f_ffff,
    }
}

/// 2^f, in units of 2^-23, of a fraction f in these units.
fn power(fraction: u32) -> u32 {
    let [c0, c1, c2] = TABLE[(fraction >> LOW) as usize & 63].map(u64::from);
    let low = fraction & ((1 << LOW) - 1);
    // What is right of the last bit of a partial product is left out before they are added.
    let square: u32 = (0..LOW).map(|bit| (low >> bit & 1) * (low >> (LOW + 1 - bit))).sum();
    let sum = (c0 << 13) + c1 * u64::from(low) + c2 * u64::from(square >> 1);
    ((sum + 0x77e2) >> 15) as u32
}
