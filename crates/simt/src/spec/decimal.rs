//! Decimal numbers as people write them, and what keeps them from being rounded twice on the way to a half.

use std::cmp::Ordering;

/// The double next to `text` on the side of 0, with its last bit set unless it is `text` itself; `value` is the double nearest to it.
/// Rounded to fewer bits, it is what `text` is rounded to: `value` may lie in the middle between two of the results.
pub fn exact(text: &str, value: f64) -> f64 {
    if !value.is_finite() || value == 0.0 {
        return value;
    }
    let size = value.abs();
    let bits = match compare(text.trim_start_matches(['+', '-']), size) {
        Ordering::Less => (size.to_bits() - 1) | 1,
        Ordering::Equal => size.to_bits(),
        Ordering::Greater => size.to_bits() | 1,
    };
    f64::from_bits(bits).copysign(value)
}

/// The float next to `value` on the side of 0, with its last bit set unless it is `value` itself: rounded to fewer bits, it is what
/// `value` is rounded to. (`half` takes a double apart by its upper 32 bits.)
pub fn odd(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) == value || near.is_nan() {
        return near;
    }
    let below = if f64::from(near).abs() > value.abs() { near.to_bits() - 1 } else { near.to_bits() };
    f32::from_bits(below | 1)
}

/// Compares a decimal number without a sign with a double that is greater than 0.
fn compare(text: &str, value: f64) -> Ordering {
    // No double has more digits behind the point.
    let (left, right) = (digits(text), digits(&format!("{value:.1074}")));
    left.1.cmp(&right.1).then_with(|| left.0.cmp(&right.0))
}

/// The digits from the first to the last that is not 0, and how many places the first lies before the point.
fn digits(text: &str) -> (Vec<u8>, i64) {
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let all: Vec<u8> = whole.bytes().chain(part.bytes()).collect();
    let zeros = all.iter().take_while(|&&digit| digit == b'0').count();
    let end = all.iter().rposition(|&digit| digit != b'0').map_or(zeros, |last| last + 1);
    let places = whole.len() as i64 - zeros as i64;
    (all[zeros..end].to_vec(), places.saturating_add(exponent.parse().unwrap_or(0)))
}
