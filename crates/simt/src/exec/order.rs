//! What the race checks are told of global memory, of flags and of fences.

use super::block::Environment;
use super::memory::{Span, low_bytes};
use super::team::unit_warp;
use super::warp::Warp;
use super::{Context, Machine, Watch};
use crate::code::{MemOp, Order, Scope};
use crate::race::global::{Access, Act, Pages, Race, Role, Shadow};
use crate::race::{Hazard, Places};

/// The check for races in global memory, where it is on.
pub(super) struct GlobalOrder {
    shadow: Shadow,
    places: Places,
    found: Vec<Race>,
}

/// How an access is ordered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strength {
    pub(super) order: Order,
    pub(super) scope: Scope,
    pub(super) act: Act,
    /// An atomic: reads and writes in one step.
    pub(super) is_atomic: bool,
}

impl GlobalOrder {
    pub(super) fn new(context: &Context<'_>) -> Option<Box<GlobalOrder>> {
        let shadow = match context.watch {
            Watch::Nothing => return None,
            Watch::Written => Shadow::of_written(Pages::default()),
            Watch::WrittenAnd(pages) => Shadow::of_written(pages.clone()),
            Watch::Pages { pages, .. } => Shadow::of(pages.clone()),
        };
        Some(Box::new(GlobalOrder { shadow, places: Places::default(), found: Vec::new() }))
    }

    /// Pages that were not looked at early enough.
    pub(super) fn suspicious(self) -> Pages {
        self.shadow.suspicious
    }
}

impl Strength {
    /// That of a load or store.
    #[inline(always)]
    pub(super) fn of(op: MemOp, act: Act) -> Strength {
        Strength { order: op.order, scope: op.scope, act, is_atomic: false }
    }

    /// Whether it is more than plain.
    fn is_strong(self) -> bool {
        self.order != Order::Weak
    }

    /// Whether it may be a flag in shared memory: `volatile` is no way to order threads there.
    #[inline(always)]
    pub(super) fn is_flag(self) -> bool {
        !matches!(self.order, Order::Weak | Order::Volatile)
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

    /// An access to global memory by the lanes `mask`; `values` is what a plain store writes.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)] // a struct would only rename the arguments
    pub(super) fn watch_order(
        &mut self,
        env: &mut Environment,
        warp: &Warp,
        pc: u32,
        strength: Strength,
        mask: u32,
        span: &Span,
        values: &[[u64; 32]],
    ) {
        let role = self.role_of(pc, strength);
        let (Some(order), Some(clocks)) = (&mut self.order, &mut env.team.clocks) else { return };
        let unit_warp = unit_warp(env.rank, warp.index);
        let lanes = || crate::masks::lanes(mask);
        let reads = strength.act == Act::Read || strength.is_atomic;
        if strength.is_strong() && reads {
            for lane in lanes() {
                clocks.read_flag(&order.places, span.at[lane], unit_warp, lane, strength.order, strength.scope);
            }
        }
        let access = Access {
            warp: unit_warp,
            mask,
            pc,
            bytes: span.bytes,
            addresses: &span.at,
            act: strength.act,
            strong: strength.is_strong().then_some(strength.scope),
            role,
            values,
        };
        order.shadow.access(clocks, &access, &mut order.found);
        if strength.act == Act::Write {
            for lane in lanes() {
                let at = span.at[lane];
                if strength.is_strong() {
                    let (order_of, scope) = (strength.order, strength.scope);
                    clocks.write_flag(&mut order.places, at, unit_warp, lane, order_of, scope, strength.is_atomic);
                } else {
                    order.places.forget(at, span.bytes);
                }
            }
        }
        if !order.found.is_empty() {
            forgive_equal_writes(&mut order.found, self.context, span, values);
        }
        for race in order.found.drain(..) {
            self.findings.global_race(self.context, env, &race);
        }
    }

    /// What an access at `pc` is for.
    fn role_of(&self, pc: u32, strength: Strength) -> Role {
        match strength.act {
            _ if strength.is_atomic => Role::Atomic,
            Act::Read if strength.is_strong() && self.context.code.data_loads.contains(&pc) => Role::Data,
            _ => Role::Other,
        }
    }

    /// A strong access to the shared memory of the block of rank `owner`, which may be a flag.
    #[inline(never)]
    pub(super) fn watch_shared_flag(
        &mut self,
        env: &mut Environment,
        warp: &Warp,
        strength: Strength,
        owner: u32,
        mask: u32,
        at: &[u32; 32],
    ) {
        let Some(clocks) = &mut env.team.clocks else { return };
        let unit_warp = unit_warp(env.rank, warp.index);
        for lane in crate::masks::lanes(mask) {
            let key = u64::from(owner) << 32 | u64::from(at[lane]);
            if strength.act == Act::Read || strength.is_atomic {
                clocks.read_flag(&env.team.places, key, unit_warp, lane, strength.order, strength.scope);
            }
            if strength.act == Act::Write {
                let (order, scope) = (strength.order, strength.scope);
                clocks.write_flag(&mut env.team.places, key, unit_warp, lane, order, scope, strength.is_atomic);
            }
        }
    }

    /// `fence`, `membar`
    #[inline(never)]
    pub(super) fn fence(&mut self, env: &mut Environment, warp: &Warp, scope: Scope, orders_fences: bool, active: u32) {
        if let Some(clocks) = env.team.clocks.as_mut().filter(|_| active != 0) {
            clocks.fence(unit_warp(env.rank, warp.index), active, scope, orders_fences);
        }
    }
}

/// Of `races`, the writes of `values` that leave in memory what another thread wrote there are none: in whatever order they
/// come, they leave the same. They become notes. An atomic has no values.
#[cold]
fn forgive_equal_writes(races: &mut Vec<Race>, context: &Context<'_>, span: &Span, values: &[[u64; 32]]) {
    if values.is_empty() {
        return;
    }
    let bytes = span.bytes / values.len() as u32;
    let same = |lane: usize| {
        context.memory.buffer(span.at[lane]).is_some_and(|(buffer, offset)| {
            let old = |element: usize| buffer.load(offset + u64::from(element as u32 * bytes), bytes);
            values.iter().enumerate().all(|(element, values)| old(element) == low_bytes(values[lane], bytes))
        })
    };
    for at in 0..races.len() {
        let Race { hazard: Hazard::WriteAfterWrite, later: (unit, warp, lanes, pc), earlier, .. } = races[at] else {
            continue;
        };
        // What an atomic makes of a place depends on what was there.
        if context.code.is_atomic(earlier.3) {
            continue;
        }
        let equal = crate::masks::filter(lanes, same);
        if equal != 0 {
            races.push(Race { hazard: Hazard::EqualWrites, later: (unit, warp, equal, pc), ..races[at] });
            races[at].later.2 &= !equal;
        }
    }
    races.retain(|race| race.later.2 != 0);
}
