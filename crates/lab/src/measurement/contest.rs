//! The contest with NVIDIA's library: at which sizes, against what, and what is made of the ratios.

use super::{CHAMPION, CUB, CUB_NEWER, CUB_UNORDERED, Contest, LOGS, Measurement};
use crate::element::Type;
use crate::input;

/// What the champion has to be faster than: NVIDIA's library as it comes with the toolkit, its newer sources, and the mode
/// that adds in any order. At each size the fastest of them counts.
pub const RIVALS: [&str; 3] = [CUB, CUB_UNORDERED, CUB_NEWER];
/// Sizes at which the host's own calls are timed.
pub const HOST_SIZES: [u64; 5] = [1 << 10, 1 << 16, 1 << 20, 1 << 24, 1 << 28];
/// Where one mean would hide what differs: up to which size, and in words.
pub const BANDS: [(u64, &str); 3] =
    [(1 << 20, "up to 2<sup>20</sup>"), (1 << 26, "above, up to 2<sup>26</sup>"), (u64::MAX, "above 2<sup>26</sup>")];
/// Sizes drawn at random between the ends of [`LOGS`].
const DRAWN: u64 = 42;
/// Sizes drawn at random of which half are multiples of 32, half of 1,000.
const ROUND: u64 = 10;

/// Which sizes of the contest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizes {
    /// All of them.
    All,
    /// The powers of two.
    Powers,
    /// Those drawn at random, all of them odd.
    Drawn,
    /// Those drawn at random among the multiples of 32 and of 1,000.
    Round,
}

impl Sizes {
    /// Each kind, its name in facts, and in words.
    pub const ALL: [(Sizes, &str, &str); 4] = [
        (Sizes::Powers, "powers", "powers of two"),
        (Sizes::Drawn, "drawn", "drawn, odd"),
        (Sizes::Round, "round", "drawn, multiples of 32 or 1,000"),
        (Sizes::All, "all", "all"),
    ];

    /// Returns whether it is one of them.
    pub fn has(self, n: u64) -> bool {
        match self {
            Sizes::All => true,
            Sizes::Powers => n.is_power_of_two(),
            Sizes::Drawn => is_drawn(n),
            Sizes::Round => is_round(n),
        }
    }
}

/// A size between the ends of [`LOGS`], its logarithm spread evenly: the one of this number of a series.
fn drawn(series: u64, i: u64) -> u64 {
    let (first, last) = (f64::from(*LOGS.start()), f64::from(*LOGS.end()));
    let share = (input::split_mix(series, i) >> 11) as f64 / (1u64 << 53) as f64;
    (first + share * (last - first)).exp2() as u64
}

/// As many sizes as there are in [`LOGS`], twice, drawn at random between its ends. None divides by two, so that every one
/// has a ragged end.
pub fn random_sizes() -> Vec<u64> {
    let mut sizes: Vec<u64> = (0..DRAWN).map(|i| drawn(DRAWN, i) | 1).collect();
    sizes.sort_unstable();
    sizes
}

/// Sizes drawn at random that end where programs often do: at a multiple of 32 or of 1,000.
pub fn round_sizes() -> Vec<u64> {
    let mut sizes: Vec<u64> =
        (0..ROUND).map(|i| drawn(ROUND, i).next_multiple_of([32, 1000][i as usize % 2])).collect();
    sizes.sort_unstable();
    sizes
}

/// Returns whether a size is one of those drawn at random, and no power of two with an end added.
pub fn is_drawn(n: u64) -> bool {
    random_sizes().binary_search(&n).is_ok()
}

/// Returns whether a size is one of [`round_sizes`].
pub fn is_round(n: u64) -> bool {
    round_sizes().binary_search(&n).is_ok()
}

impl Measurement {
    /// The time of the fastest of [`RIVALS`].
    pub fn rival_us(&self, contest: Contest, ty: Type, n: u64) -> Option<f64> {
        self.rival(contest, ty, n).map(|(_, us)| us)
    }

    /// The fastest of [`RIVALS`], and its time.
    pub fn rival(&self, contest: Contest, ty: Type, n: u64) -> Option<(&'static str, f64)> {
        let us = |name: &&'static str| Some((*name, self.us_in(contest, name, ty, n)?));
        RIVALS.iter().filter_map(us).min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// How many times as fast as the fastest of [`RIVALS`] the champion is.
    pub fn ratio(&self, contest: Contest, ty: Type, n: u64) -> Option<f64> {
        self.ratio_of(CHAMPION, contest, ty, n)
    }

    /// How many times as fast as the fastest of [`RIVALS`] a form of the champion is.
    pub fn ratio_of(&self, form: &str, contest: Contest, ty: Type, n: u64) -> Option<f64> {
        Some(self.rival_us(contest, ty, n)? / self.us_in(contest, form, ty, n)?)
    }

    /// How many times as fast as one library it is.
    pub fn ratio_to(&self, library: &str, contest: Contest, ty: Type, n: u64) -> Option<f64> {
        Some(self.us_in(contest, library, ty, n)? / self.us_in(contest, CHAMPION, ty, n)?)
    }

    /// The sizes of the contest, ascending: powers of two, and those drawn at random.
    pub fn contest_sizes(&self, contest: Contest, ty: Type) -> Vec<u64> {
        let (first, last) = (1 << LOGS.start(), 1 << LOGS.end());
        let champion = self.cases.iter().filter(|case| case.is_plain_in(contest) && case.name() == CHAMPION);
        let of_type = champion.filter(|case| case.ty == ty.name() && (first..=last).contains(&case.n));
        let (drawn, round) = (random_sizes(), round_sizes());
        let is_sampled = |n: &u64| n.is_power_of_two() || drawn.contains(n) || round.contains(n);
        let mut sizes: Vec<u64> = of_type.map(|case| case.n).filter(is_sampled).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// [`Measurement::ratio`] at each of these sizes where both were measured.
    pub fn ratios(&self, contest: Contest, ty: Type) -> Vec<(u64, f64)> {
        self.ratios_of(CHAMPION, contest, ty)
    }

    /// [`Measurement::ratio_of`] at each of these sizes where both were measured.
    pub fn ratios_of(&self, form: &str, contest: Contest, ty: Type) -> Vec<(u64, f64)> {
        let sizes = self.contest_sizes(contest, ty).into_iter();
        sizes.filter_map(|n| Some((n, self.ratio_of(form, contest, ty, n)?))).collect()
    }

    /// Returns whether the ranges of the champion's replays and of the fastest rival's have a time in common; `None` without them.
    pub fn ranges_overlap(&self, contest: Contest, ty: Type, n: u64) -> Option<bool> {
        let [low, high] = self.plain_in(contest, CHAMPION, ty, n)?.range_us?;
        let [rival_low, rival_high] = self.plain_in(contest, self.rival(contest, ty, n)?.0, ty, n)?.range_us?;
        Some(low <= rival_high && rival_low <= high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::synthetic;

    #[test]
    fn the_fastest_of_all_rivals_counts() {
        let mut record = synthetic::record();
        let n = 1 << 24;
        for contest in [Contest::Alone, Contest::BackToBack] {
            let newer = record.us_in(contest, CUB_NEWER, Type::F64, n).unwrap();
            let champion = record.us_in(contest, CHAMPION, Type::F64, n).unwrap();
            assert_eq!(record.ratio(contest, Type::F64, n), Some(newer / champion), "the newer release is faster");
        }
        let unordered = record.us_in(Contest::Alone, CUB_UNORDERED, Type::I32, n).unwrap();
        assert_eq!(record.rival(Contest::Alone, Type::I32, n), Some((CUB_UNORDERED, unordered)));
        record.cases.retain(|case| !RIVALS.contains(&case.entrant.as_str()));
        assert_eq!(record.ratio(Contest::Alone, Type::I32, n), None);
    }

    #[test]
    fn drawn_sizes_lie_between_the_powers_and_stay() {
        let sizes = random_sizes();
        assert_eq!(sizes.len(), 42);
        assert!(sizes.iter().all(|&n| n % 2 == 1 && (1 << 10..1 << 30).contains(&n)), "{sizes:?}");
        // A third of the range of logarithms has a third of the sizes, give or take.
        let small = sizes.iter().filter(|&&n| n < 1 << 17).count();
        assert!((8..=20).contains(&small), "{small}");
        assert_eq!(sizes, random_sizes());
        assert!(is_drawn(sizes[7]) && !is_drawn((1 << 24) + 1) && !is_drawn(1 << 24));
        // The records of before have them.
        assert_eq!((sizes[0], sizes[1], sizes[2]), (1255, 1347, 3947));
    }

    #[test]
    fn round_sizes_are_apart_from_the_others() {
        let sizes = round_sizes();
        assert_eq!(sizes.len(), 10);
        assert!(
            sizes.iter().all(|&n| (1 << 10..1 << 30).contains(&n) && !n.is_power_of_two() && !is_drawn(n)),
            "{sizes:?}"
        );
        assert_eq!(sizes.iter().filter(|&&n| n % 32 == 0).count().min(5), 5, "{sizes:?}");
        assert_eq!(sizes.iter().filter(|&&n| n % 1000 == 0).count().min(5), 5, "{sizes:?}");
        let of_each = |kind: Sizes| sizes.iter().filter(|&&n| kind.has(n)).count();
        assert_eq!(Sizes::ALL.map(|(kind, ..)| of_each(kind)), [0, 0, 10, 10]);
    }

    #[test]
    fn ranges_meet_or_do_not() {
        let mut record = synthetic::record();
        let n = 1 << 10;
        assert_eq!(record.ranges_overlap(Contest::Alone, Type::I32, n), Some(false));
        for case in record.cases.iter_mut().filter(|case| case.n == n && case.name() == CHAMPION) {
            case.range_us = case.range_us.map(|[low, _]| [low, 100.0]);
        }
        assert_eq!(record.ranges_overlap(Contest::Alone, Type::I32, n), Some(true));
        assert_eq!(record.ranges_overlap(Contest::Alone, Type::I32, 999), None);
    }
}
