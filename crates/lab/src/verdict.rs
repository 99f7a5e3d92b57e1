//! The verdict on one number: right, wrong, or not judged where rounding and overflow explain whatever came out.

use std::fmt;

/// Verdict on a result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// Within the bound, or the same infinity or a NaN where one follows from the input. A NaN and an infinity are never right
    /// where a finite number is expected.
    pub right: bool,
    /// Why nothing can be said of the result. It is then not right either.
    pub not_judged: Option<Why>,
    /// |result − expected|: 0 for the same infinity or two NaNs, NaN where only one of them is a NaN.
    pub abs_error: f64,
    /// Largest error that the kernel's own order of operations explains; infinite where it explains any.
    pub error_bound: f64,
}

/// Reason why a result cannot be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// A right kernel may leave an infinity, or a NaN, by its order of operations alone.
    Overflow,
    /// More rounded operations in sequence than the reciprocal of the unit roundoff.
    LongPath,
    /// A mean so far from 0, beside the deviation, that its own rounding moves normalised elements by as much as they can be.
    FarMean,
    /// A factor that is 0 or not by rounding alone, times an infinity.
    ZeroTimesInfinity,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Overflow => "values on the way may overflow, in this order of operations or another",
            Why::LongPath => "so many operations round one after the other that they explain any result",
            Why::FarMean => "the mean is so far from 0, beside the deviation, that its rounding explains any result",
            Why::ZeroTimesInfinity => "an infinity is multiplied by a number that rounding may make 0",
        })
    }
}

/// Results, by their class, that a right kernel may leave though they are not the expected number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsure {
    /// NaN.
    pub nan: bool,
    /// +∞.
    pub up: bool,
    /// −∞.
    pub down: bool,
    /// Finite numbers outside the bound.
    pub finite: bool,
    /// Why.
    pub why: Why,
}

impl Unsure {
    /// No result but the expected one.
    pub const NONE: Unsure = Unsure { nan: false, up: false, down: false, finite: false, why: Why::Overflow };

    /// Any result.
    pub const fn all(why: Why) -> Unsure {
        Unsure { nan: true, up: true, down: true, finite: true, why }
    }

    /// Any finite result.
    pub const fn finite(why: Why) -> Unsure {
        Unsure { finite: true, why, ..Unsure::NONE }
    }

    /// Any infinity and NaN on a condition, else none.
    pub fn infinite_if(condition: bool, why: Why) -> Unsure {
        if condition { Unsure { finite: false, ..Unsure::all(why) } } else { Unsure::NONE }
    }

    /// [`Unsure::all`] on a condition, else none.
    pub fn all_if(condition: bool, why: Why) -> Unsure {
        if condition { Unsure::all(why) } else { Unsure::NONE }
    }

    /// Both; the reason is that of the first which excuses anything.
    pub fn and(self, other: Unsure) -> Unsure {
        if self == Unsure::NONE {
            return other;
        }
        Unsure {
            nan: self.nan || other.nan,
            up: self.up || other.up,
            down: self.down || other.down,
            finite: self.finite || other.finite,
            why: self.why,
        }
    }

    fn excuses(&self, result: f64) -> bool {
        match result {
            _ if result.is_nan() => self.nan,
            f64::INFINITY => self.up,
            f64::NEG_INFINITY => self.down,
            _ => self.finite,
        }
    }
}

/// One number as it should be, and what a right kernel may make of it.
#[derive(Debug, Clone, Copy)]
pub struct Expected {
    /// The number.
    pub value: f64,
    /// What `value` lacks to the exact number.
    pub low: f64,
    /// Largest error that rounding explains.
    pub bound: f64,
    /// Largest finite number of the result's type: beyond it an infinity of the same sign is right.
    pub largest: f64,
    /// What else may come out.
    pub unsure: Unsure,
}

impl Expected {
    /// A number without any error.
    pub const fn exact(value: f64) -> Expected {
        Expected { value, low: 0.0, bound: 0.0, largest: f64::MAX, unsure: Unsure::NONE }
    }

    /// Judges a result.
    pub fn judge(&self, result: f64) -> Verdict {
        let abs_error = self.distance(result);
        // Written so that a NaN in error or bound is not right.
        let is_within = result.is_finite() && abs_error <= self.bound && self.bound.is_finite();
        let overflows = self.value.abs() > self.largest && result.is_infinite() && (result > 0.0) == (self.value > 0.0);
        let is_same = result == self.value || (result.is_nan() && self.value.is_nan());
        let right = is_within || overflows || (is_same && !self.value.is_finite());
        let not_judged = if right { None } else { self.excuse(result) };
        Verdict { right, not_judged, abs_error, error_bound: self.bound }
    }

    fn distance(&self, result: f64) -> f64 {
        let is_same = result == self.value || (result.is_nan() && self.value.is_nan());
        if is_same && !result.is_finite() { 0.0 } else { ((result - self.value) - self.low).abs() }
    }

    fn excuse(&self, result: f64) -> Option<Why> {
        let is_finite = self.value.is_finite();
        // Rounding alone takes a sum at the edge over it.
        let may_round_up = is_finite && self.bound.is_finite() && self.value + self.bound > self.largest;
        let may_round_down = is_finite && self.bound.is_finite() && self.value - self.bound < -self.largest;
        let at_edge = Unsure { up: may_round_up, down: may_round_down, ..Unsure::NONE };
        let why = if self.unsure == Unsure::NONE { Why::LongPath } else { self.unsure.why };
        let has_no_bound = Unsure { finite: is_finite && !self.bound.is_finite(), why, ..Unsure::NONE };
        [self.unsure, at_edge, has_no_bound].iter().find(|unsure| unsure.excuses(result)).map(|unsure| unsure.why)
    }
}

impl Verdict {
    /// Verdict on a result that is exactly as expected, or where none is due.
    pub const EXACT: Verdict = Verdict { right: true, not_judged: None, abs_error: 0.0, error_bound: 0.0 };
    /// Verdict on a result that is not there.
    pub const MISSING: Verdict = Verdict { right: false, not_judged: None, abs_error: f64::INFINITY, error_bound: 0.0 };

    /// Verdict on a result that allows no error.
    pub const fn exact(right: bool, abs_error: f64) -> Verdict {
        Verdict { right, not_judged: None, abs_error, error_bound: 0.0 }
    }

    /// Whether the result is neither right nor excused.
    pub fn is_wrong(&self) -> bool {
        !self.right && self.not_judged.is_none()
    }

    /// Whether this is the one to show of two: wrong before not judged before right, then by the share of the bound.
    pub fn is_worse_than(&self, other: &Verdict) -> bool {
        let rank = |verdict: &Verdict| (verdict.is_wrong(), verdict.not_judged.is_some());
        let share = |verdict: &Verdict| {
            if verdict.abs_error > 0.0 { verdict.abs_error / verdict.error_bound } else { 0.0 }
        };
        (rank(self), share(self)) > (rank(other), share(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: f64 = f64::NAN;
    const INF: f64 = f64::INFINITY;

    fn one(bound: f64, unsure: Unsure) -> Expected {
        Expected { bound, unsure, largest: f64::from(f32::MAX), ..Expected::exact(1.0) }
    }

    #[test]
    fn no_nan_and_no_infinity_passes_for_a_number() {
        for bound in [0.0, 1.0, INF, NAN] {
            for unsure in [Unsure::NONE, Unsure::all(Why::Overflow), Unsure::finite(Why::FarMean)] {
                for result in [NAN, INF, -INF] {
                    let verdict = one(bound, unsure).judge(result);
                    assert!(!verdict.right, "{result} {bound}");
                    assert_eq!(verdict.not_judged.is_some(), unsure.nan, "{result} {bound}");
                    assert!(verdict.abs_error.is_nan() || verdict.abs_error == INF, "the true distance");
                }
            }
        }
    }

    #[test]
    fn a_bound_that_says_nothing_neither_passes_nor_fails() {
        for bound in [INF, NAN] {
            for result in [1.0, 5.0, -3e38] {
                let verdict = one(bound, Unsure::NONE).judge(result);
                assert!(!verdict.right && !verdict.is_wrong() && verdict.not_judged.is_some(), "{result} {bound}");
                assert_eq!(verdict.abs_error, (result - 1.0).abs());
            }
        }
    }

    #[test]
    fn what_no_float_holds_is_an_infinity_of_its_sign() {
        let large = Expected { value: -6e38, ..one(1e33, Unsure::NONE) };
        assert!(large.judge(-INF).right && large.judge(INF).is_wrong() && large.judge(NAN).is_wrong());
        let edge = Expected { value: 3.402e38, ..one(1e36, Unsure::NONE) };
        assert_eq!(edge.judge(INF).not_judged, Some(Why::Overflow));
        assert!(edge.judge(-INF).is_wrong() && edge.judge(3.4e38).right);
    }

    #[test]
    fn infinities_and_nan_are_right_for_themselves_alone() {
        let infinite = Expected::exact(INF);
        assert_eq!(infinite.judge(INF), Verdict::EXACT);
        assert!(infinite.judge(NAN).is_wrong() && infinite.judge(3e38).is_wrong() && infinite.judge(-INF).is_wrong());
        let nan = Expected::exact(NAN);
        assert_eq!(nan.judge(NAN), Verdict::EXACT);
        assert!(nan.judge(0.0).is_wrong() && nan.judge(INF).is_wrong());
    }

    #[test]
    fn the_worst_is_wrong_then_not_judged_then_the_largest_share() {
        let (wrong, unknown) = (one(0.5, Unsure::NONE).judge(9.0), one(INF, Unsure::NONE).judge(1.0));
        let (near, far) = (one(0.5, Unsure::NONE).judge(1.1), one(0.5, Unsure::NONE).judge(1.4));
        assert!(wrong.is_worse_than(&unknown) && unknown.is_worse_than(&far) && far.is_worse_than(&near));
        assert!(!near.is_worse_than(&near) && !unknown.is_worse_than(&wrong));
    }
}
