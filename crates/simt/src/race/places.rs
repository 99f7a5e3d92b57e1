//! Flags: places in memory through which threads hand on what they did, by releasing writes and acquiring reads.

use std::collections::HashMap;

use super::views::Beyond;
use crate::code::Scope;

/// A block, by its unit and its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reach {
    pub unit: u32,
    pub block: u32,
}

/// What a write hands on, and to whom.
#[derive(Debug)]
pub(super) struct Release {
    pub scope: Scope,
    pub released: Beyond,
}

/// What can be read at one place.
#[derive(Debug, Default)]
struct Flag {
    /// Released to the whole grid.
    wide: Beyond,
    /// Who did, while it was one block.
    sole: Option<Reach>,
    /// Released to one block or cluster.
    narrow: Option<(Scope, Reach, Beyond)>,
}

/// Every flag of a state space, by address.
#[derive(Debug, Default)]
pub struct Places(HashMap<u64, Flag>);

impl Places {
    /// What a reader at `here` sees released at `key`, and the scope that a fence needs for it to count.
    pub(super) fn visible(&self, key: u64, here: Reach, scope: Scope) -> impl Iterator<Item = (Scope, &Beyond)> {
        let flag = self.0.get(&key);
        let wide = flag.filter(|flag| !flag.wide.is_empty()).map(|flag| {
            let reach = match flag.sole {
                Some(sole) if sole == here => Scope::Cta,
                Some(sole) if sole.unit == here.unit => Scope::Cluster,
                _ => Scope::Gpu,
            };
            (reach, &flag.wide)
        });
        let narrow = flag.and_then(|flag| flag.narrow.as_ref()).filter(|(scope, from, _)| match scope {
            Scope::Cta => *from == here,
            _ => from.unit == here.unit,
        });
        let narrow = narrow.map(|(scope, _, released)| (*scope, released));
        wide.into_iter().chain(narrow).filter(move |(reach, _)| scope >= *reach)
    }

    /// A write at `key`. An atomic (`in_place`) keeps what was released there; another write replaces it.
    pub(super) fn write(&mut self, key: u64, here: Reach, release: Option<Release>, in_place: bool) {
        if release.is_none() {
            // Nothing to note, and nothing to forget where an atomic only hands on.
            if !in_place {
                self.0.remove(&key);
            }
            return;
        }
        let flag = self.0.entry(key).or_default();
        if !in_place {
            *flag = Flag::default();
        }
        let Some(Release { scope, released }) = release else { return };
        if scope >= Scope::Gpu {
            flag.sole = if flag.wide.is_empty() || flag.sole == Some(here) { Some(here) } else { None };
            flag.wide.join(&released);
            return;
        }
        match &mut flag.narrow {
            Some((old, from, all)) if *old == scope && *from == here => all.join(&released),
            narrow => *narrow = Some((scope, here, released)),
        }
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
