//! Accesses to global memory, flags and fences, as they are handed to the race checks.

use super::issue::{Access, Issue};
use super::observe::low_bytes;
use super::{Context, Machine, Watch};
use crate::code::Scope;
use crate::race::global::{self, Act, Pages, Race, Shadow};
use crate::race::{Hazard, Places, Role, Strength, Strong};

/// The check for races in global memory, where it is on.
pub(super) struct GlobalOrder {
    shadow: Shadow,
    places: Places,
    found: Vec<Race>,
}

impl GlobalOrder {
    pub(super) fn new(context: &Context<'_>) -> Option<Box<GlobalOrder>> {
        let shadow = match context.watch {
            Watch::Nothing => return None,
            Watch::Written => Shadow::watching(Pages::default()),
            Watch::WrittenAnd(pages) => Shadow::watching(pages.clone()),
            Watch::Pages { pages, .. } => Shadow::of(pages.clone()),
        };
        Some(Box::new(GlobalOrder { shadow, places: Places::default(), found: Vec::new() }))
    }

    /// Pages that were not looked at early enough.
    pub(super) fn suspicious(self) -> Pages {
        self.shadow.suspicious
    }
}

impl Machine<'_> {
    /// A unit has ended, and the next one starts alone. What was learnt of the one does not hold for the other; and where no
    /// other may touch what it touched, that is forgotten.
    pub(super) fn unit_ends(&mut self) {
        self.goes_ahead = self.context.options.schedule.is_seeded();
        if let (Some(order), Watch::Pages { across: false, .. }) = (&mut self.order, self.context.watch) {
            order.shadow.clear();
        }
    }

    /// An access to global memory.
    #[inline(never)]
    pub(super) fn watch_order(&mut self, issue: &mut Issue<'_>, access: &Access<'_>) {
        let Access { strength, lanes: mask, bytes, at, values, .. } = *access;
        let (warp, pc) = (issue.unit_warp(), issue.pc);
        let strong = self.strong(pc, strength);
        let (Some(order), Some(clocks)) = (&mut self.order, &mut issue.env.team.clocks) else { return };
        let lanes = || crate::masks::lanes(mask);
        let reads = strength.act == Act::Read || strength.is_atomic;
        if strength.is_strong() && reads {
            for lane in lanes() {
                clocks.read_flag(&order.places, at[lane], warp, lane, strength.order, strength.scope);
            }
        }
        let is_constant = self.context.code.roles.get(&pc) == Some(&Role::Constant);
        let seen =
            global::Access { warp, mask, pc, bytes, addresses: at, act: strength.act, strong, is_constant, values };
        order.shadow.access(clocks, &seen, &mut order.found);
        if strength.act == Act::Write {
            for lane in lanes() {
                if strength.is_strong() {
                    clocks.write_flag(&mut order.places, at[lane], warp, lane, strength);
                } else {
                    order.places.forget(at[lane], bytes);
                }
            }
        }
        if !order.found.is_empty() {
            forgive_equal_writes(&mut order.found, self.context, access);
        }
        for race in order.found.drain(..) {
            self.findings.global_race(self.context, issue.env, &race);
        }
    }

    /// Returns what an access at `pc` is to other strong ones; `None` for a plain one.
    #[inline(always)]
    pub(super) fn strong(&self, pc: u32, strength: Strength) -> Option<Strong> {
        let of_code = || self.context.code.roles.get(&pc).copied();
        let role = || of_code().unwrap_or(if strength.is_atomic { Role::Atomic } else { Role::Other });
        strength.is_strong().then(|| Strong { scope: strength.scope, role: role() })
    }

    /// A strong access to the shared memory of the block of rank `owner`, which may be a flag.
    #[inline(never)]
    pub(super) fn watch_shared_flag(
        &mut self,
        issue: &mut Issue<'_>,
        strength: Strength,
        owner: Option<u32>,
        mask: u32,
        at: &[u32; 32],
    ) {
        let (warp, owner) = (issue.unit_warp(), owner.unwrap_or(issue.env.rank));
        let team = &mut issue.env.team;
        let Some(clocks) = &mut team.clocks else { return };
        for lane in crate::masks::lanes(mask) {
            let key = u64::from(owner) << 32 | u64::from(at[lane]);
            if strength.act == Act::Read || strength.is_atomic {
                clocks.read_flag(&team.places, key, warp, lane, strength.order, strength.scope);
            }
            if strength.act == Act::Write {
                clocks.write_flag(&mut team.places, key, warp, lane, strength);
            }
        }
    }

    /// `fence`, `membar`
    #[inline(never)]
    pub(super) fn fence(&mut self, issue: &mut Issue<'_>, scope: Scope, orders_fences: bool) {
        let warp = issue.unit_warp();
        if let Some(clocks) = issue.env.team.clocks.as_mut().filter(|_| issue.active != 0) {
            clocks.fence(warp, issue.active, scope, orders_fences);
        }
    }
}

/// Turns those of `races` into notes whose writes store the value that another thread wrote: in every order they leave the
/// same. An atomic has no values.
#[cold]
fn forgive_equal_writes(races: &mut Vec<Race>, context: &Context<'_>, access: &Access<'_>) {
    let Access { at, values, .. } = *access;
    if values.is_empty() {
        return;
    }
    let bytes = access.width();
    let same = |lane: usize| {
        context.memory.buffer(at[lane]).is_some_and(|(buffer, offset)| {
            let old = |element: usize| buffer.load(offset + u64::from(element as u32 * bytes), bytes);
            values.iter().enumerate().all(|(element, values)| old(element) == low_bytes(values[lane], bytes))
        })
    };
    for index in 0..races.len() {
        let Race { hazard, later: (unit, warp, lanes, pc), earlier, .. } = races[index];
        if !matches!(hazard, Hazard::WriteAfterWrite | Hazard::EitherLast) {
            continue;
        }
        // The result of an atomic depends on the value that was there.
        if context.grid_of(earlier.0).1.code.is_atomic(earlier.3) {
            continue;
        }
        let equal = crate::masks::filter(lanes, same);
        if equal != 0 && hazard == Hazard::WriteAfterWrite {
            races.push(Race { hazard: Hazard::EqualWrites, later: (unit, warp, equal, pc), ..races[index] });
        }
        races[index].later.2 &= !equal;
    }
    races.retain(|race| race.later.2 != 0);
}
