//! Error bounds of approximate instructions of a GPU. PTX gives a bound for most; the others are measured.

use simt_fixtures::semantics::fixture::Fixture;
use simt_fixtures::semantics::operands::OPERANDS;

/// Largest distance of the card from the correctly rounded value.
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
    let word = |name: &str| opcode.split('.').any(|word| word == name);
    let is_power = opcode.starts_with("ex2.") && word("f32");
    if is_power || !word("approx") && !word("full") {
        return None;
    }
    Some(match opcode.split('.').next()? {
        "div" => Bound::Ulps(2),
        "rcp" | "sqrt" if word("f32") => Bound::Ulps(1),
        "rsqrt" if word("f32") => Bound::Ulps(2),
        // Units of the upper half alone, which has 20 bits of fraction.
        "rcp" | "rsqrt" if word("ftz") => Bound::Ulps(4 << 32),
        "rsqrt" => Bound::Ulps(2),
        "sin" | "cos" => Bound::Absolute(2f64.powf(-20.5)),
        "lg2" => Bound::Either(4, 2f64.powi(-22)),
        "tanh" if word("f32") => Bound::Ulps(1 << 13),
        _ => Bound::Ulps(2),
    })
}

/// Returns whether `theirs` is near enough to `ours`, the results of `fixture` for one row of operands.
pub fn within(fixture: &Fixture, _row: &[u64; OPERANDS], ours: u64, theirs: u64) -> bool {
    let Some(bound) = bound(&fixture.opcode) else { return false };
    distances(fixture, ours, theirs).into_iter().all(|Distance { ulps, absolute, .. }| match bound {
        Bound::Ulps(most) => ulps <= most,
        Bound::Absolute(most) => absolute.is_some_and(|error| error <= most),
        Bound::Either(most, error_most) => ulps <= most || absolute.is_some_and(|error| error <= error_most),
    })
}

/// The bound of an approximate opcode in words; `None` for the others.
pub fn words(opcode: &str) -> Option<String> {
    let power = |value: f64| format!("2^{}", value.log2());
    Some(match bound(opcode)? {
        Bound::Ulps(most) if is_coarse(opcode) => format!("{} ulp", most >> 32),
        Bound::Ulps(most) => format!("{most} ulp"),
        Bound::Absolute(most) => power(most),
        Bound::Either(most, absolute) => format!("{most} ulp or {}", power(absolute)),
    })
}

/// Returns whether an error in units of the last place says something about the opcode, and whether an absolute one does.
pub fn measures(opcode: &str) -> (bool, bool) {
    match bound(opcode) {
        None => (false, false),
        Some(Bound::Ulps(_)) => (true, false),
        Some(Bound::Absolute(_)) => (false, true),
        Some(Bound::Either(..)) => (true, true),
    }
}

/// `rcp` and `rsqrt` of the upper half of an f64, whose last place is that half's.
pub fn is_coarse(opcode: &str) -> bool {
    opcode.ends_with(".approx.ftz.f64")
}

/// Distance of two results.
pub struct Distance {
    /// Numbers of the format between the two, one of them counted.
    pub ulps: u64,
    /// Their difference; `None` if one is no finite number and the other not the same.
    pub absolute: Option<f64>,
    /// Magnitude of our result.
    pub magnitude: f64,
}

/// The distance of the results of one row, or of each half where there are two in one register.
pub fn distances(fixture: &Fixture, ours: u64, theirs: u64) -> Vec<Distance> {
    let kind = fixture.destinations[0].as_str();
    let halves = |bits: u64| match kind {
        "f16x2" | "bf16x2" => vec![bits & 0xffff, bits >> 16 & 0xffff],
        _ => vec![bits],
    };
    halves(ours).into_iter().zip(halves(theirs)).map(|(ours, theirs)| distance(kind, ours, theirs)).collect()
}

fn distance(kind: &str, ours: u64, theirs: u64) -> Distance {
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
    let value = |bits: u64| match kind {
        "f64" => f64::from_bits(bits),
        "f32" => f64::from(f32::from_bits(bits as u32)),
        kind if kind.starts_with("bf16") => half::bf16::from_bits(bits as u16).to_f64(),
        _ => half::f16::from_bits(bits as u16).to_f64(),
    };
    let (x, y) = (value(ours), value(theirs));
    let absolute = match (x.is_finite() && y.is_finite(), ours == theirs) {
        (true, _) => Some((x - y).abs()),
        (false, same) => same.then_some(0.0),
    };
    Distance { ulps, absolute, magnitude: x.abs() }
}
