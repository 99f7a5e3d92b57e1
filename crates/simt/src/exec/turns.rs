//! Order in which the units of a launch start, and the length of their turns: by number without a seed, random with one.

use super::Context;
use crate::launch::Schedule;

/// Warp-instructions a unit runs before the next has a turn, where blocks talk to each other.
pub(super) const TURN_STEPS: u64 = 1 << 16;
/// With a seed a turn is this long at least, and any length up to the other is as likely as twice it.
const TURN_STEPS_MIN: u64 = 1 << 4;
/// The longest of several devices with a seed: short, since what they do to each other takes few instructions.
const TURN_STEPS_OF_DEVICES: u64 = 1 << 10;

/// Units that start together are up to two to the power of this many.
const STARTS_BITS_MAX: usize = 7;

/// Turns of all units between two in which a seed holds one device back.
const HELD_BACK_IN: usize = 3;

/// SplitMix64 (Steele, Lea and Flood 2014): small, seedable, good enough to shuffle a schedule.
#[derive(Debug, Clone)]
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// One of those below `end` that are `fit`, if there are any.
    pub(super) fn pick(&mut self, end: usize, fit: impl Fn(usize) -> bool) -> Option<usize> {
        let first = self.below(end);
        (first..end).chain(0..first).find(|&at| fit(at))
    }

    /// A set of lanes.
    pub(super) fn lanes(&mut self) -> u32 {
        (self.next() >> 32) as u32
    }

    /// Puts them into any order.
    pub(super) fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            all.swap(last, self.below(last + 1));
        }
    }
}

/// Sets the choices on one device apart from those on another, which runs the same blocks; none on the first.
pub(super) fn device_bits(context: &Context<'_>) -> u64 {
    u64::from(context.launch.device) << 48
}

/// Order of units and length of their turns.
pub(super) struct Turns {
    units: u64,
    seed: Option<u64>,
    random: Random,
    /// Devices that take turns with each other.
    devices: usize,
}

impl Turns {
    pub(super) fn new(context: &Context<'_>, units: u64) -> Turns {
        let seed = match context.options.schedule {
            Schedule::Independent { seed } => seed,
            Schedule::Lockstep | Schedule::IndependentFrom { .. } => None,
        };
        let seed = seed.map(|seed| seed ^ device_bits(context));
        Turns { units, seed, random: Random(seed.unwrap_or(0) ^ 0x7475_726e), devices: 1 }
    }

    /// Turns of so many devices together.
    pub(super) fn among(self, devices: usize) -> Turns {
        Turns { devices, ..self }
    }

    /// Keeps of those that could start now the ones that do, in their order: all without a seed, one at least with one.
    pub(super) fn some_of<T>(&mut self, all: &mut Vec<T>) {
        if self.seed.is_some() && all.len() > 1 {
            self.random.shuffle(all);
            all.truncate(1 + self.random.below(all.len()));
        }
    }

    /// The one of several devices that does nothing while the others have their turns; none without a seed, and often none with one.
    pub(super) fn held_back(&mut self) -> Option<usize> {
        let is_held = self.seed.is_some() && self.devices > 1 && self.random.below(HELD_BACK_IN) == 0;
        is_held.then(|| self.random.below(self.devices))
    }

    /// The unit that starts as number `place`. A seed makes a permutation of all of them, which needs no table: a Feistel network
    /// over the next power of four, walked until it comes to a number that there is.
    pub(super) fn unit(&self, place: u64) -> u64 {
        let Some(seed) = self.seed else { return place };
        let half = (u64::BITS - self.units.saturating_sub(1).leading_zeros()).div_ceil(2).max(1);
        let ones = (1 << half) - 1;
        let mut at = place;
        loop {
            let (mut high, mut low) = (at >> half, at & ones);
            for round in 0..6 {
                let mixed = Random(seed ^ round << 58 ^ low << 8).next() & ones;
                (high, low) = (low, high ^ mixed);
            }
            at = high << half | low;
            if at < self.units {
                return at;
            }
        }
    }

    /// Units that start together where launches overlap: one without a seed, and with one now and then all that a card would have.
    pub(super) fn starts(&mut self) -> u64 {
        if self.seed.is_some() { 1 << self.random.below(STARTS_BITS_MAX + 1) } else { 1 }
    }

    /// Units that wait for their turn, in the order in which they have it.
    pub(super) fn order<T>(&mut self, waiting: &mut [T]) {
        if self.seed.is_some() {
            self.random.shuffle(waiting);
        }
    }

    /// The length of the next turn.
    pub(super) fn steps(&mut self) -> u64 {
        let longest = if self.devices > 1 { TURN_STEPS_OF_DEVICES } else { TURN_STEPS };
        match self.seed {
            None => TURN_STEPS,
            Some(_) => TURN_STEPS_MIN << self.random.below((longest / TURN_STEPS_MIN).ilog2() as usize + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(units: u64, seed: Option<u64>) -> Vec<u64> {
        let turns = Turns { units, seed, random: Random(0), devices: 1 };
        (0..units).map(|place| turns.unit(place)).collect()
    }

    #[test]
    fn every_unit_starts_once() {
        for units in [0, 1, 2, 3, 4, 5, 16, 17, 100, 1000] {
            assert_eq!(order(units, None), (0..units).collect::<Vec<_>>());
            for seed in 0..8 {
                let mut started = order(units, Some(seed));
                started.sort_unstable();
                assert_eq!(started, (0..units).collect::<Vec<_>>(), "{units} units, seed {seed}");
            }
        }
    }

    #[test]
    fn seeds_bring_every_order_of_a_few_units() {
        for (units, orders) in [(2, 2), (3, 6), (4, 24)] {
            let found: std::collections::BTreeSet<_> = (0..256).map(|seed| order(units, Some(seed))).collect();
            assert_eq!(found.len(), orders, "{units} units");
        }
        let reversed = (0..32).filter(|&seed| order(2, Some(seed)) == [1, 0]).count();
        assert!((8..=24).contains(&reversed), "{reversed} of 32 seeds let the second of two start first");
    }
}
