//! Asynchronous copies into shared memory: which words one may still be writing.
//!
//! A copy begins behind all that its thread has done, and is a write of its thread at the moment when that thread has waited
//! for it. Between the two no thread may use its words: every read or write of one then, by the copying thread too, races
//! with the copy, whatever barriers lie between. A copy that a barrier object has counted is over for the threads that saw the
//! end of the phase, and for all that come after one of them; for all others it stays in flight. A bulk copy out of shared memory is a
//! reader in the same way, until its thread has waited for its group.

use super::clocks::{Clocks, Tick};
use super::now::{pack, pc_of, warp_of};
use super::{Access, Act, Hazard, Race, Report, Shadow, WORD_BYTES};

/// A word in flight.
#[derive(Debug, Clone, Copy, Default)]
struct Flight {
    /// Number of the copy; 0 if there is none.
    id: u32,
    site: u32,
    lane: u8,
    /// When the phase of the barrier object `key` ended that counted it; 0 before.
    landed: Tick,
    key: u32,
}

/// The words in flight.
#[derive(Debug, Default)]
pub(super) struct Flights {
    words: Vec<Flight>,
    /// Words that copies out of shared memory may still be reading.
    read: Vec<Flight>,
    in_flight: usize,
    last_id: u32,
}

impl Shadow {
    /// A copy begins that will write the words of `access`. Gives its number, for [`Shadow::end_copy`].
    pub fn begin_copy(&mut self, clocks: &mut Clocks, access: Access<'_>, found: &mut Vec<Race>) -> u32 {
        self.begin(Act::Write, clocks, &access, found)
    }

    /// Begins a copy that reads the words of `access`, and may read them until [`Shadow::end_reading`] gets its number.
    pub fn begin_reading(&mut self, clocks: &mut Clocks, access: Access<'_>, found: &mut Vec<Race>) -> u32 {
        self.begin(Act::Read, clocks, &access, found)
    }

    fn begin(&mut self, act: Act, clocks: &mut Clocks, access: &Access<'_>, found: &mut Vec<Race>) -> u32 {
        let now = self.tick(clocks, access);
        self.check_flights(clocks, access, act, found);
        let mut report = Report::new(access, &[0; 32], &now, clocks, found);
        self.each_cell(access, false, |shadow, place, lanes| shadow.check(place, lanes, act, &mut report));
        let words = self.split.len();
        let flights = self.flights.get_or_insert_default();
        flights.last_id = flights.last_id.wrapping_add(1).max(1);
        let (id, site) = (flights.last_id, pack(access.warp, access.pc));
        let flying = if act.reads() { &mut flights.read } else { &mut flights.words };
        flying.resize(words, Flight::default());
        for (lane, word) in words_of(access) {
            if let Some(flight) = flying.get_mut(word) {
                flights.in_flight += usize::from(flight.id == 0);
                *flight = Flight { id, site, lane: lane as u8, landed: 0, key: 0 };
            }
        }
        id
    }

    /// The copy with this number has read the words of `access`, which counts as a read of its thread now.
    pub fn end_reading(&mut self, clocks: &mut Clocks, id: u32, access: Access<'_>) {
        let now = self.tick(clocks, &access);
        self.each_cell(&access, false, |shadow, place, lanes| shadow.readers.note(place.cell, lanes, &now));
        self.end(Act::Read, id, &access);
    }

    /// The copy with this number is over for the lanes of `access`, which has the words that it wrote.
    pub fn end_copy(&mut self, id: u32, access: Access<'_>) {
        self.end(Act::Write, id, &access);
    }

    fn end(&mut self, act: Act, id: u32, access: &Access<'_>) {
        let Some(flights) = &mut self.flights else { return };
        let flying = if act.reads() { &mut flights.read } else { &mut flights.words };
        for (_, word) in words_of(access) {
            if let Some(flight) = flying.get_mut(word).filter(|flight| flight.id == id) {
                *flight = Flight::default();
                flights.in_flight -= 1;
            }
        }
    }

    /// Counts the words that the lanes of `access` have copied as written by them now.
    pub fn stamp_copy(&mut self, clocks: &mut Clocks, access: Access<'_>) {
        let now = self.tick(clocks, &access);
        self.each_cell(&access, false, |shadow, place, lanes| shadow.writes.set_or_join(place.cell, lanes, &now));
    }

    /// A phase of the barrier object `key` has ended at `tick`, which counted the copy with this number.
    pub fn land_copy(&mut self, id: u32, access: Access<'_>, key: u32, tick: i32) {
        let Some(flights) = &mut self.flights else { return };
        for (_, word) in words_of(&access) {
            if let Some(flight) = flights.words.get_mut(word).filter(|flight| flight.id == id) {
                (flight.landed, flight.key) = (tick, key);
            }
        }
    }

    /// Returns whether any word of the copy with this number has not been written or copied to since.
    pub fn is_flying(&self, id: u32, access: Access<'_>) -> bool {
        let Some(flights) = &self.flights else { return false };
        words_of(&access).any(|(_, word)| flights.words.get(word).is_some_and(|flight| flight.id == id))
    }

    /// Another block begins: nothing is in flight.
    pub fn forget_copies(&mut self) {
        if let Some(flights) = self.flights.as_mut().filter(|flights| flights.in_flight > 0) {
            flights.words.fill(Flight::default());
            flights.read.fill(Flight::default());
            flights.in_flight = 0;
        }
    }

    /// Reports what an access has in common with copies that may not be over.
    #[cold]
    #[inline(never)]
    pub(super) fn check_flights(&mut self, clocks: &Clocks, access: &Access<'_>, act: Act, found: &mut Vec<Race>) {
        let Some(flights) = self.flights.as_mut().filter(|flights| flights.in_flight > 0) else { return };
        let reported = found.len();
        let reads = act.reads();
        for (lane, word) in words_of(access) {
            let mut report = |hazard, flight: &Flight| {
                let (warp, pc) = (warp_of(flight.site), pc_of(flight.site));
                let same = |race: &&mut Race| (race.earlier.0, race.earlier.2) == (warp, pc);
                if let Some(race) = found[reported..].iter_mut().find(same) {
                    race.earlier.1 |= 1 << flight.lane;
                    race.later.1 |= 1 << lane;
                    return;
                }
                let (earlier, later) = ((warp, 1 << flight.lane, pc), (access.warp, 1 << lane, access.pc));
                found.push(Race { hazard, address: word as u32 * WORD_BYTES, earlier, later });
            };
            if let Some(flight) = flights.read.get(word).filter(|flight| flight.id != 0 && !reads) {
                report(Hazard::WriteUnderCopy, flight);
            }
            let Some(flight) = flights.words.get_mut(word).filter(|flight| flight.id != 0) else { continue };
            let Flight { landed, key, .. } = *flight;
            let known = landed != 0 && clocks.knows_landed(access.warp, lane as usize, key, landed);
            if !known {
                report(if reads { Hazard::ReadOfCopy } else { Hazard::WriteOverCopy }, flight);
                continue;
            }
            // An access behind such a write, or behind what all threads know, is behind the copy.
            if !reads || clocks.all_know_landed(key, landed) {
                *flight = Flight::default();
                flights.in_flight -= 1;
            }
        }
    }
}

/// Each lane with the words that it touches.
fn words_of<'a>(access: &Access<'a>) -> impl Iterator<Item = (u32, usize)> + 'a {
    let Access { mask, bytes, addresses, .. } = *access;
    crate::masks::lanes(mask).flat_map(move |lane| {
        let at = addresses[lane];
        let end = at.saturating_add(bytes.max(1));
        (at / WORD_BYTES..end.div_ceil(WORD_BYTES)).map(move |word| (lane as u32, word as usize))
    })
}
