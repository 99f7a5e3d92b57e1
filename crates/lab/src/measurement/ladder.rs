//! What the charts and tables compare: the best kernel of each chapter, the champion, the libraries, and the limit that
//! the card itself sets.

use std::ops::RangeInclusive;

use super::{
    ABLATIONS, CUB, CUB_NEWER, CUB_UNORDERED, Contest, MeasuredCase, Measurement, NOT_AHEAD, TORCH, WITH_MEMSET,
    is_drawn, is_round,
};
use crate::Chapter;
use crate::element::Type;

/// The variant that the course ends with.
pub const CHAMPION: &str = "single_pass";
/// Sizes of the champion's table, as powers of two.
pub const LOGS: RangeInclusive<u32> = 10..=30;
/// Sizes at which the champion's ideas are taken away one at a time.
pub const ABLATION_SIZES: [u64; 4] = [1 << 12, 1 << 16, 1 << 20, 1 << 24];
/// The size at which one figure stands for a kernel, where it was measured.
pub const ONE_SIZE: u64 = 1 << 24;

/// A chapter's best kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rung<'a> {
    /// Of the chapter.
    pub slug: &'a str,
    /// The variant.
    pub name: &'a str,
}

impl Rung<'_> {
    /// `5` of `ch05-unroll`.
    pub fn number(&self) -> &str {
        number(self.slug)
    }

    /// Returns whether it is the champion.
    pub fn is_champion(&self) -> bool {
        self.name == CHAMPION
    }
}

/// `5` of `ch05-unroll`; the whole slug if it has another form.
pub fn number(slug: &str) -> &str {
    let digits = slug.strip_prefix("ch").and_then(|rest| rest.split('-').next()).unwrap_or(slug);
    digits.trim_start_matches('0')
}

/// Returns whether it is none of the course's kernels.
pub fn is_library(name: &str) -> bool {
    [CUB, CUB_UNORDERED, CUB_NEWER, TORCH].contains(&name)
}

/// Returns whether the course teaches this variant as wrong or harmful.
pub fn is_taught_as_wrong(lessons: &[&Chapter], slug: &str, name: &str) -> bool {
    let variant = lessons.iter().find(|lesson| lesson.slug == slug).and_then(|lesson| lesson.variant(name));
    variant.is_some_and(|variant| variant.announced.is_some() || variant.harm.is_some())
}

impl Measurement {
    /// The plain cases of this type that were timed cold and alone, in the order of the record: kernels of the course, the
    /// library and torch, without what is there for one table alone.
    pub fn timed(&self, ty: Type) -> impl Iterator<Item = &MeasuredCase> {
        let rows = [CUB_UNORDERED, CUB_NEWER, WITH_MEMSET, NOT_AHEAD];
        let apart = move |name: &str| rows.contains(&name) || ABLATIONS.iter().any(|a| a.0 == name);
        let timed =
            self.cases.iter().filter(move |case| case.is_plain() && case.ty == ty.name() && !apart(&case.entrant));
        timed.filter(|case| case.cold_us.is_some())
    }

    /// [`ONE_SIZE`], or the largest size that was timed where that was not; `None` where nothing was.
    pub fn one_size(&self, ty: Type) -> Option<u64> {
        let sizes = || self.timed(ty).filter(|case| !is_library(case.name())).map(|case| case.n);
        sizes().find(|&n| n == ONE_SIZE).or_else(|| sizes().max())
    }

    /// The best kernel of each chapter by its cold time at [`Measurement::one_size`], in the order of the course: right,
    /// and not taught as wrong. The champion stands for its chapter.
    pub fn rungs<'a>(&'a self, lessons: &[&Chapter], ty: Type) -> Vec<Rung<'a>> {
        let Some(n) = self.one_size(ty) else { return Vec::new() };
        let mut best: Vec<(Rung<'a>, f64)> = Vec::new();
        for case in self.timed(ty).filter(|case| case.n == n && case.ok) {
            let (Some(slug), Some(us)) = (case.chapter.as_deref(), case.cold_us) else { continue };
            let is_rung = lessons.iter().all(|lesson| lesson.slug != slug || lesson.is_rung);
            if !is_rung || is_library(case.name()) || is_taught_as_wrong(lessons, slug, case.name()) {
                continue;
            }
            let rung = Rung { slug, name: case.name() };
            match best.iter_mut().find(|(other, _)| other.slug == slug) {
                None => best.push((rung, us)),
                Some(other) if rung.is_champion() || (us < other.1 && !other.0.is_champion()) => *other = (rung, us),
                Some(_) => {}
            }
        }
        best.sort_by_key(|(rung, _)| rung.slug);
        best.into_iter().map(|(rung, _)| rung).collect()
    }

    /// What a reduction of this size is measured by: an empty launch of one block, by the rules of the contest, and every byte
    /// at the rate of the best of the reading kernels.
    pub fn limit_us(&self, contest: Contest, ty: Type, n: u64) -> Option<f64> {
        self.limit_of_bytes(contest, n * ty.bytes())
    }

    /// The same of so many bytes.
    pub fn limit_of_bytes(&self, contest: Contest, bytes: u64) -> Option<f64> {
        let reading_us = bytes as f64 / self.read_ceiling_gb_per_s? / 1e3;
        let floor = self.floor_us?;
        Some(if contest == Contest::BackToBack { floor.overlapped } else { floor.one_block } + reading_us)
    }

    /// The same of a case: as many bytes as it writes are moved at the rate of copying, where the record has one, and what it
    /// reads beside that at the rate of reading.
    pub fn limit_of(&self, case: &MeasuredCase) -> Option<f64> {
        let (read, written) = case.read_and_written_bytes();
        let Some(copying) = self.copy_ceiling_gb_per_s.filter(|_| written <= read) else {
            return self.limit_of_bytes(case.contest, read + written);
        };
        Some(self.limit_of_bytes(case.contest, read - written)? + 2.0 * written as f64 / copying / 1e3)
    }

    /// How much of what the card allows the champion reaches, 1 for all.
    pub fn share_of_limit(&self, contest: Contest, ty: Type, n: u64) -> Option<f64> {
        Some(self.limit_us(contest, ty, n)? / self.us_in(contest, CHAMPION, ty, n)?)
    }

    /// How many times as fast as the first chapter's best kernel the champion is, cold, at [`Measurement::one_size`].
    pub fn speed_up(&self, lessons: &[&Chapter], ty: Type) -> Option<f64> {
        let n = self.one_size(ty)?;
        let rungs = self.rungs(lessons, ty);
        let champion = rungs.iter().find(|rung| rung.is_champion())?;
        Some(self.cold_us(rungs.first()?.name, ty, n)? / self.cold_us(champion.name, ty, n)?)
    }

    /// The champion on input that begins at an odd place or has a ragged size, from [`ONE_SIZE`] on: the case, the plain
    /// case of the nearest power of two, and the share of that one's speed.
    pub fn awkward(&self) -> Vec<(&MeasuredCase, &MeasuredCase, f64)> {
        let is_champion = |case: &&MeasuredCase| {
            case.name() == CHAMPION
                && case.contest == Contest::Alone
                && case.swept.is_none()
                && !is_drawn(case.n)
                && !is_round(case.n)
        };
        let champion = self.cases.iter().filter(is_champion);
        let awkward = champion.filter(|case| case.offset != 0 || !case.n.is_power_of_two());
        let compared = awkward.filter_map(|case| {
            let nearest = 1u64.checked_shl((case.n as f64).log2().round() as u32)?;
            let plain = self.plain(CHAMPION, Type::from_name(&case.ty)?, nearest)?;
            Some((case, plain, case.gb_per_s()? / plain.gb_per_s()?))
        });
        compared.filter(|(_, plain, _)| plain.n >= ONE_SIZE).collect()
    }
}

/// The geometric mean; `None` of nothing.
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0u32);
    for value in values {
        sum += value.ln();
        count += 1;
    }
    (count > 0).then(|| (sum / f64::from(count)).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::synthetic;

    #[test]
    fn the_best_right_kernel_stands_for_its_chapter() {
        let mut record = synthetic::record();
        let names = |record: &Measurement| -> Vec<String> {
            record.rungs(&synthetic::LESSONS, Type::I32).iter().map(|rung| rung.name.to_owned()).collect()
        };
        let before = names(&record);
        assert_eq!((before.len(), before[0].as_str(), before[7].as_str()), (8, "interleaved_modulo", CHAMPION));
        assert_eq!(before[4], "unroll_syncwarp", "unroll_volatile is faster, and taught as wrong");
        // A wrong sum is no rung, however fast; neither is what was misaligned or swept.
        let n = record.one_size(Type::I32);
        for case in record.cases.iter_mut().filter(|case| Some(case.n) == n && case.name() == "unroll_syncwarp") {
            case.ok = false;
        }
        assert_eq!(names(&record)[4], "unroll_shuffle");
        // Even where a sibling is faster, the champion stands for its chapter.
        for case in record.cases.iter_mut().filter(|case| case.name() == "redux") {
            case.cold_us = Some(0.001);
        }
        assert_eq!(names(&record)[7], CHAMPION);
    }

    #[test]
    fn figures_follow_from_the_record() {
        let mut record = synthetic::record();
        record.read_ceiling_gb_per_s = Some(4000.0);
        record.floor_us.as_mut().unwrap().one_block = 0.5;
        let n = 1 << 24;
        // 64 MiB at 4 bytes a nanosecond and half a microsecond.
        assert!((record.limit_us(Contest::Alone, Type::I32, n).unwrap() - 17.277_216).abs() < 1e-9);
        record.floor_us.as_mut().unwrap().overlapped = 0.25;
        assert!((record.limit_us(Contest::BackToBack, Type::I32, n).unwrap() - 17.027_216).abs() < 1e-9);
        for contest in [Contest::Alone, Contest::BackToBack] {
            assert_eq!(record.ratios(contest, Type::F64).len(), 21 + 42 + 10);
        }
        record.cases.retain(|case| !is_library(&case.entrant));
        assert_eq!(record.ratios(Contest::Alone, Type::F64), []);
        record.floor_us = None;
        assert_eq!(record.share_of_limit(Contest::Alone, Type::I32, n), None);
    }

    #[test]
    fn awkward_cases_are_compared_with_the_nearest_power_of_two() {
        let record = synthetic::record();
        let awkward = record.awkward();
        assert!(awkward.iter().any(|(case, plain, _)| case.n == plain.n && case.offset == 1));
        assert!(awkward.iter().any(|(case, plain, _)| case.n == plain.n + 3));
        assert!(awkward.iter().all(|(_, plain, _)| plain.n >= ONE_SIZE));
        for (case, plain, share) in awkward {
            let expected = (case.n as f64 / case.cold_us.unwrap()) / (plain.n as f64 / plain.cold_us.unwrap());
            assert!((share - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn means_are_geometric() {
        assert_eq!(geometric_mean([]), None);
        assert!((geometric_mean([1.0, 4.0]).unwrap() - 2.0).abs() < 1e-12);
    }

    #[test]
    fn chapters_have_numbers() {
        assert_eq!((number("ch05-unroll"), number("ch10-x"), number("odd")), ("5", "10", "odd"));
    }
}
