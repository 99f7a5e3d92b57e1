//! What an approximate instruction of a GPU may be off by. PTX gives a bound for most; the others are measured.

use super::fixture::Fixture;
use super::operands::OPERANDS;

/// How far the card may be from the correctly rounded value.
enum Bound {
    /// Units in the last place of the result.
    Ulps(u64),
    /// An absolute error.
    Absolute(f64),
    /// Either: absolute near zero, relative elsewhere.
    Either(u64, f64),
}

/// The bound of an opcode; `None` where it gives the one right value.
fn bound(opcode: &str) -> Option<Bound> {
    let word = |wanted: &str| opcode.split('.').any(|word| word == wanted);
    if !word("approx") && !word("full") {
        return None;
    }
    Some(match opcode.split('.').next()? {
        "div" => Bound::Ulps(2),
        "rcp" | "sqrt" if word("f32") => Bound::Ulps(1),
        "rsqrt" if word("f32") => Bound::Ulps(2),
        // Of the upper half alone, which has 20 bits of fraction.
        "rcp" | "rsqrt" if word("ftz") => Bound::Ulps(4 << 32),
        "rsqrt" => Bound::Ulps(2),
        "sin" | "cos" => Bound::Absolute(2f64.powf(-20.5)),
        "lg2" => Bound::Either(4, 2f64.powi(-22)),
        "ex2" if word("f32") => Bound::Ulps(4),
        "tanh" if word("f32") => Bound::Ulps(1 << 13),
        _ => Bound::Ulps(2),
    })
}

/// Whether `theirs` is near enough to `ours`, the results of `fixture` for one row of operands.
pub fn within(fixture: &Fixture, _row: &[u64; OPERANDS], ours: u64, theirs: u64) -> bool {
    let Some(bound) = bound(&fixture.opcode) else { return false };
    let halves = |kind: &str, bits: u64| match kind {
        "f16x2" | "bf16x2" => vec![bits & 0xffff, bits >> 16 & 0xffff],
        _ => vec![bits],
    };
    let kind = fixture.destinations[0].as_str();
    halves(kind, ours).into_iter().zip(halves(kind, theirs)).all(|(ours, theirs)| near(kind, &bound, ours, theirs))
}

fn near(kind: &str, bound: &Bound, ours: u64, theirs: u64) -> bool {
    let top = match kind {
        "f64" => 63,
        "f32" => 31,
        _ => 15,
    };
    // Numbers in order, so that neighbours differ by one.
    let order = |bits: u64| {
        let magnitude = (bits & !(1 << top)) as i64;
        if bits >> top & 1 != 0 { -magnitude } else { magnitude }
    };
    let ulps = order(ours).abs_diff(order(theirs));
    let (x, y) = (f32::from_bits(ours as u32), f32::from_bits(theirs as u32));
    let error = f64::from((x - y).abs());
    let both_are_numbers = !x.is_nan() && !y.is_nan() && x.is_infinite() == y.is_infinite();
    match *bound {
        Bound::Ulps(most) => ulps <= most,
        Bound::Absolute(most) => both_are_numbers && error <= most,
        Bound::Either(most, absolute) => ulps <= most || both_are_numbers && error <= absolute,
    }
}
