//! Flags: places in memory through which threads hand on what they did, by releasing writes and acquiring reads.

use rustc_hash::FxHashMap;

use super::views::Beyond;
use crate::code::Scope;

/// A block, by its device, its unit and its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reach {
    pub device: u32,
    pub unit: u32,
    pub block: u32,
}

/// Knowledge that a write releases, and its scope.
#[derive(Debug)]
pub(super) struct Release {
    pub scope: Scope,
    pub released: Beyond,
}

/// Knowledge that can be acquired at one place.
#[derive(Debug, Default)]
struct Flag {
    released: Handed,
    /// Knowledge behind fences that were ordered before the write without being part of a release.
    behind_fences: Handed,
}

#[derive(Debug, Default)]
struct Handed {
    /// To all threads of the device that released it at least.
    wide: Vec<Wide>,
    /// To one block or cluster.
    narrow: Option<(Scope, Reach, Beyond)>,
}

/// Knowledge that threads of one device handed over.
#[derive(Debug)]
struct Wide {
    device: u32,
    /// To the threads of that device.
    all: Beyond,
    /// The part of it that was released to other devices too.
    system: Beyond,
    /// Block that released it, while there was one.
    sole: Option<Reach>,
}

/// Something that a reader sees at a flag.
pub(super) struct Visible<'a> {
    /// Scope that a fence needs for it to count.
    pub reach: Scope,
    pub released: &'a Beyond,
    /// It counts at a fence that has an order with other fences, and at no other.
    pub behind_fences: bool,
}

impl Handed {
    fn add(&mut self, here: Reach, Release { scope, released }: Release) {
        if scope >= Scope::Gpu {
            let at = self.wide.iter().position(|wide| wide.device == here.device).unwrap_or_else(|| {
                let (device, sole) = (here.device, Some(here));
                self.wide.push(Wide { device, all: Beyond::default(), system: Beyond::default(), sole });
                self.wide.len() - 1
            });
            let wide = &mut self.wide[at];
            wide.sole = wide.sole.filter(|&sole| sole == here);
            wide.all.join(&released);
            if scope == Scope::Sys {
                wide.system.join(&released);
            }
            return;
        }
        match &mut self.narrow {
            Some((old, from, all)) if *old == scope && *from == here => all.join(&released),
            narrow => *narrow = Some((scope, here, released)),
        }
    }

    /// Returns the knowledge that a reader at `here` acquires, and the scope that it needs.
    fn visible(&self, here: Reach) -> impl Iterator<Item = (Scope, &Beyond)> {
        let wide = self.wide.iter().map(move |wide| match wide.sole {
            _ if wide.device != here.device => (Scope::Sys, &wide.system),
            Some(sole) if sole == here => (Scope::Cta, &wide.all),
            Some(sole) if sole.unit == here.unit => (Scope::Cluster, &wide.all),
            _ => (Scope::Gpu, &wide.all),
        });
        let wide = wide.filter(|(_, released)| !released.is_empty());
        let narrow = self.narrow.as_ref().filter(|(scope, from, _)| match scope {
            Scope::Cta => *from == here,
            _ => from.unit == here.unit,
        });
        wide.chain(narrow.map(|(scope, _, released)| (*scope, released)))
    }
}

/// Every flag of a state space, by address.
#[derive(Debug, Default)]
pub struct Places(FxHashMap<u64, Flag>);

impl Places {
    /// Returns the knowledge that a reader at `here` acquires at `key` with an access of that scope.
    pub(super) fn visible(&self, key: u64, here: Reach, scope: Scope) -> impl Iterator<Item = Visible<'_>> {
        let flag = self.0.get(&key).into_iter();
        let all = flag.flat_map(move |flag| {
            let released = flag.released.visible(here).map(|seen| (seen, false));
            released.chain(flag.behind_fences.visible(here).map(|seen| (seen, true)))
        });
        let seen = all.map(|((reach, released), behind_fences)| Visible { reach, released, behind_fences });
        seen.filter(move |seen| scope >= seen.reach)
    }

    /// A write at `key`. An atomic (`in_place`) keeps what was released there; another write replaces it.
    pub(super) fn write(&mut self, key: u64, here: Reach, release: Option<Release>, in_place: bool) {
        if !in_place {
            self.0.remove(&key);
        }
        if let Some(release) = release {
            self.0.entry(key).or_default().released.add(here, release);
        }
    }

    /// The write at `key` comes behind fences, without a fence of its own thread.
    pub(super) fn write_behind(&mut self, key: u64, here: Reach, release: Release) {
        self.0.entry(key).or_default().behind_fences.add(here, release);
    }

    /// A plain write of `bytes` bytes at `key` ends what was released there.
    pub fn forget(&mut self, key: u64, bytes: u32) {
        if !self.0.is_empty() {
            (0..u64::from(bytes)).step_by(2).for_each(|offset| drop(self.0.remove(&(key + offset))));
        }
    }

    /// No flags.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
