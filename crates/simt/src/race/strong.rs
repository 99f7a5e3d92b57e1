//! Accesses that are more than plain: the rule for two of them, which both memories share, and those of shared memory.

use super::cells::{Cells, Cover, Entry, Pair};
use super::clocks::Clocks;
use super::now::{Now, block_of};
use super::{Access, Act, Hazard, OBSERVERS_MAX, Place, Race, Report, Shadow};
use crate::code::Scope;

/// Role of a strong access, as far as the code around it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// A look at a flag, a store, or a plain access.
    #[default]
    Other,
    /// A read whose value is worked on, and that nothing tests: data.
    Data,
    /// Data that is put back, worked on, where it was read.
    Update,
    /// Reads and writes in one step.
    Atomic,
    /// An atomic that leaves what it is given: a store as far as others see.
    Exchange,
    /// An atomic whose result decides which way its thread goes.
    Asked,
    /// A plain load through the cache for constant data, `ld.global.nc`.
    Constant,
}

impl Role {
    pub(super) fn is_atomic(self) -> bool {
        matches!(self, Role::Atomic | Role::Exchange | Role::Asked)
    }
}

/// Scope and role of an access that is more than plain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Strong {
    /// Threads for which it is strong.
    pub(crate) scope: Scope,
    /// Its role.
    pub(crate) role: Role,
}

impl Strong {
    /// Returns whether two accesses are strong for each other's threads, of which `both` is the least scope that has both.
    pub(super) fn morally(self, other: Strong, both: Scope) -> bool {
        self.scope.min(other.scope) >= both
    }
}

/// The least scope with the threads of both accesses to shared memory.
fn least_scope(entry: &Entry, now: &Now) -> Scope {
    if block_of(entry.site) == block_of(now.site) { Scope::Cta } else { Scope::Cluster }
}

impl Hazard {
    /// Returns whether data is read through a strong access, though nothing orders it with a store.
    pub(super) fn is_unfenced(self) -> bool {
        use Hazard::{UnfencedRead, UnfencedWrite, UpdateAfterWrite, WriteIntoUpdate};
        matches!(self, UnfencedRead | UnfencedWrite | UpdateAfterWrite | WriteIntoUpdate)
    }

    /// Verdict on an unordered pair of accesses that are strong for each other. PTX has no race there. A store that a load of data may
    /// miss is a fault all the same, and so is a write between the load and the store of an update; of two writes either may come last.
    pub(super) fn between_strong(self, earlier: Role, later: Role) -> Option<Hazard> {
        let leaves_its_own = |role| matches!(role, Role::Other | Role::Exchange);
        match (self, earlier, later) {
            (Hazard::ReadAfterWrite, Role::Other, Role::Data) => Some(Hazard::UnfencedRead),
            (Hazard::ReadAfterWrite, _, Role::Update) => Some(Hazard::UpdateAfterWrite),
            (Hazard::WriteAfterRead, Role::Data, Role::Other) => Some(Hazard::UnfencedWrite),
            (Hazard::WriteAfterRead, Role::Update, _) => Some(Hazard::WriteIntoUpdate),
            (Hazard::WriteAfterWrite, one, other)
                if (leaves_its_own(one) && other != Role::Asked) || (leaves_its_own(other) && one != Role::Asked) =>
            {
                Some(Hazard::EitherLast)
            }
            _ => None,
        }
    }
}

/// Strong reads of shared memory.
#[derive(Debug)]
pub(super) struct Looks {
    flags: Pair,
    data: Pair,
}

impl Looks {
    fn new(split: &[bool]) -> Looks {
        let mut looks = Looks { flags: Pair::new(split.len()), data: Pair::new(split.len()) };
        (0..).zip(split).filter(|(_, is_split)| **is_split).for_each(|(word, _)| looks.split(word));
        looks
    }

    pub(super) fn pairs(&self) -> impl Iterator<Item = &Pair> {
        [&self.flags, &self.data].into_iter()
    }

    /// Returns whether a plain write of the covered cells may race with one.
    #[inline(never)]
    pub(super) fn conflict(&self, cover: &impl Cover, now: &Now) -> bool {
        self.pairs().any(|pair| now.since_unit_barrier(pair.used_tick) && pair.conflicts(cover, now))
    }

    pub(super) fn split(&mut self, word: u32) {
        for pair in [&mut self.flags, &mut self.data] {
            pair.first.split(word);
            pair.second.split(word);
        }
    }
}

impl Shadow {
    /// An access that is more than plain; a store's `values` tell apart lanes of one instruction, an atomic has none.
    pub(crate) fn strong(
        &mut self,
        clocks: &mut Clocks,
        access: Access<'_>,
        strong: Strong,
        values: Option<&[u64; 32]>,
        found: &mut Vec<Race>,
    ) {
        let act = if values.is_some() || strong.role.is_atomic() { Act::StrongWrite } else { Act::StrongRead };
        if self.flights.is_some() {
            self.check_flights(clocks, &access, act, found);
        }
        let now = self.tick(clocks, &access);
        self.strengths.insert(now.pc(), strong);
        if act == Act::StrongRead && self.looks.is_none() {
            self.looks = Some(Box::new(Looks::new(&self.split)));
        }
        let mut report = Report::new(&access, values.unwrap_or(&[0; 32]), &now, clocks, found);
        self.each_cell(&access, true, |shadow, place, lanes| {
            shadow.check(place, lanes, act, &mut report);
            shadow.check_strong(place, lanes, act, strong, &mut report);
            match act {
                Act::StrongRead => shadow.look(place.cell, lanes, strong, &now),
                // Among lanes that come together, the last one is behind them all.
                _ if values.is_none() => shadow.strong.set(place.cell, 1 << (31 - lanes.leading_zeros()), &now),
                _ => {}
            }
        });
        if values.is_some() {
            self.each_cell(&access, false, |shadow, place, lanes| {
                report.same_instruction(&shadow.strong, Hazard::EitherLast, place, lanes);
                shadow.strong.set_or_join(place.cell, lanes, &now);
            });
        }
        if act == Act::StrongWrite {
            self.strong_tick = now.tick;
        }
    }

    /// An atomic of the whole device whose result decides.
    pub fn atomic(&mut self, clocks: &mut Clocks, access: Access<'_>, found: &mut Vec<Race>) {
        self.strong(clocks, access, Strong { scope: Scope::Sys, role: Role::Asked }, None, found);
    }

    /// A look at a flag.
    pub fn flag(&mut self, clocks: &mut Clocks, access: Access<'_>, found: &mut Vec<Race>) {
        self.strong(clocks, access, Strong { scope: Scope::Sys, role: Role::Other }, None, found);
    }

    /// Reports what is unordered with a strong access of `lanes` among the strong accesses of one cell.
    fn check_strong(&self, place: Place, lanes: u32, act: Act, strong: Strong, report: &mut Report<'_>) {
        let hazard = if act.reads() { Hazard::ReadAfterWrite } else { Hazard::WriteAfterWrite };
        if report.now.since_unit_barrier(self.strong_tick) {
            self.between_strong(&self.strong, hazard, place, lanes, strong, report);
        }
        let Some(looks) = self.looks.as_ref().filter(|_| !act.reads()) else { return };
        for pair in looks.pairs().filter(|pair| report.now.since_unit_barrier(pair.used_tick)) {
            for cells in [&pair.first, &pair.second] {
                self.between_strong(cells, Hazard::WriteAfterRead, place, lanes, strong, report);
            }
        }
    }

    /// Reports a strong access of `lanes` if it is unordered with the strong one that `cells` remember, and that is worth a word.
    fn between_strong(
        &self,
        cells: &Cells,
        hazard: Hazard,
        place: Place,
        lanes: u32,
        strong: Strong,
        report: &mut Report<'_>,
    ) {
        let now = report.now;
        if cells.tick[place.cell] < now.unit_base {
            return;
        }
        let entry = cells.entry(place.cell);
        let Some(&past) = self.strengths.get(&entry.pc()) else { return };
        let hazard = match strong.morally(past, least_scope(&entry, now)) {
            true => hazard.between_strong(past.role, strong.role),
            false => Some(hazard),
        };
        let (Some(hazard), Some((earlier, later))) = (hazard, now.unordered(&entry, lanes)) else { return };
        let left = match hazard {
            Hazard::WriteAfterRead => later,
            _ if hazard.is_unfenced() => report.clocks.out_of_sight(now, now.unit, &entry, later),
            _ => later & !self.observers(place.cell, later, now),
        };
        if left != 0 {
            report.push(hazard, place.address, (entry.warp(), earlier, entry.pc()), left);
        }
    }

    /// The lanes read the cell by a strong read.
    fn look(&mut self, cell: usize, lanes: u32, strong: Strong, now: &Now) {
        if let Some(looks) = &mut self.looks {
            let pair = if strong.role == Role::Other { &mut looks.flags } else { &mut looks.data };
            pair.note(cell, lanes, now);
        }
        let write = self.strong.entry(cell);
        if !now.since_unit_barrier(self.strong_tick) || now.unordered(&write, lanes).is_none() {
            return;
        }
        let both = least_scope(&write, now);
        if !self.strengths.get(&write.pc()).is_some_and(|past| strong.morally(*past, both)) {
            return;
        }
        let seen = self.observed.entry(cell).or_default();
        seen.retain(|(of, _)| *of == write.tick);
        let again = seen.iter().any(|(_, by)| by.site == now.site && by.lanes & lanes == lanes);
        if !again && seen.len() <= OBSERVERS_MAX {
            // No lanes: anybody.
            let lanes = if seen.len() < OBSERVERS_MAX { lanes } else { 0 };
            seen.push((write.tick, Entry { tick: now.tick, lanes, site: now.site }));
        }
    }

    /// Those of `lanes` that come behind a read of what the last strong write of the cell left.
    #[cold]
    pub(super) fn observers(&self, cell: usize, lanes: u32, now: &Now) -> u32 {
        let Some(seen) = self.observed.get(&cell) else { return 0 };
        let write = self.strong.entry(cell).tick;
        let mut left = lanes;
        for (_, by) in seen.iter().filter(|(of, _)| *of == write) {
            if by.lanes == 0 {
                return lanes;
            }
            for lane in crate::masks::lanes(by.lanes) {
                let read = Entry { lanes: 1 << lane, ..*by };
                left = now.unordered(&read, left).map_or(0, |(_, later)| later);
            }
        }
        lanes & !left
    }
}
