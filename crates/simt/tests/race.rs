//! The race detector: each rule by itself, and the whole against a reference that forgets nothing.

use proptest::prelude::*;
use simt::race::{Access, Arrivals, Clocks, Hazard, Race, Shadow};

const FULL: u32 = u32::MAX;

fn rising(start: u32, step: u32) -> [u32; 32] {
    std::array::from_fn(|lane| start + step * lane as u32)
}

fn access(warp: u32, mask: u32, pc: u32, bytes: u32, addresses: &[u32; 32]) -> Access<'_> {
    Access { warp, mask, pc, bytes, addresses }
}

/// A shadow of 1 KiB and four warps whose lanes run apart.
struct Block {
    clocks: Clocks,
    shadow: Shadow,
    found: Vec<Race>,
}

impl Block {
    fn new(lanes_apart: bool) -> Block {
        Block { clocks: Clocks::new(1, 4, lanes_apart), shadow: Shadow::new(1024), found: Vec::new() }
    }

    fn read(&mut self, warp: u32, mask: u32, pc: u32, bytes: u32, addresses: &[u32; 32]) {
        self.shadow.read(&mut self.clocks, access(warp, mask, pc, bytes, addresses), &mut self.found);
    }

    fn write(&mut self, warp: u32, mask: u32, pc: u32, bytes: u32, addresses: &[u32; 32]) {
        let values = std::array::from_fn(|lane| lane as u64);
        self.shadow.write(&mut self.clocks, access(warp, mask, pc, bytes, addresses), &values, &mut self.found);
    }

    fn atomic(&mut self, warp: u32, mask: u32, pc: u32, bytes: u32, addresses: &[u32; 32]) {
        self.shadow.atomic(&mut self.clocks, access(warp, mask, pc, bytes, addresses), &mut self.found);
    }

    fn races(&mut self) -> Vec<Race> {
        std::mem::take(&mut self.found)
    }
}

#[test]
fn warps_race_until_a_barrier_of_the_block() {
    let mut block = Block::new(true);
    block.write(0, FULL, 10, 4, &rising(0, 4));
    block.read(1, FULL, 11, 4, &rising(64, 4));
    let expected = Race {
        hazard: Hazard::ReadAfterWrite,
        address: 64,
        earlier: (0, 0xFFFF_0000, 10),
        later: (1, 0x0000_FFFF, 11),
    };
    assert_eq!(block.races(), [expected]);
    block.clocks.block_barrier(0);
    block.read(1, FULL, 12, 4, &rising(0, 4));
    assert_eq!(block.races(), []);
    // The barrier of a warp orders nothing between warps.
    block.clocks.warp_barrier(0, FULL);
    block.clocks.warp_barrier(1, FULL);
    block.write(0, 1, 13, 4, &rising(0, 4));
    assert_eq!(block.races().len(), 1);
}

#[test]
fn the_unrolled_warp_races_with_itself_only_when_lanes_run_apart() {
    // s[t] += s[t + 16] in lanes 0 to 15: two loads and a store; then the same with 8.
    for (lanes_apart, synced, races) in [(true, false, 1), (true, true, 0), (false, false, 0)] {
        let mut block = Block::new(lanes_apart);
        block.read(0, FULL, 1, 4, &rising(0, 4));
        block.read(0, 0xFFFF, 2, 4, &rising(64, 4));
        if synced {
            block.clocks.warp_barrier(0, FULL);
        }
        block.write(0, 0xFFFF, 3, 4, &rising(0, 4));
        if synced {
            block.clocks.warp_barrier(0, FULL);
        }
        assert_eq!(block.races(), [], "each lane touched its own words so far, or only read");
        block.read(0, 0xFFFF, 4, 4, &rising(32, 4));
        let found = block.races();
        assert_eq!(found.len(), races, "lanes apart {lanes_apart}, synchronised {synced}");
        if races > 0 {
            assert_eq!(found[0].earlier, (0, 0xFF00, 3));
            assert_eq!(found[0].later, (0, 0x00FF, 4));
            assert_eq!((found[0].hazard, found[0].address), (Hazard::ReadAfterWrite, 32));
        }
    }
}

#[test]
fn one_instruction_races_with_itself_when_its_lanes_write_different_values() {
    let mut block = Block::new(false);
    block.write(0, 0b11, 1, 4, &[128; 32]);
    let found = block.races();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].earlier, found[0].later), ((0, 0b01, 1), (0, 0b10, 1)));
    assert_eq!((found[0].hazard, found[0].address), (Hazard::WriteAfterWrite, 128));

    let same = [7; 32];
    let everywhere = [256; 32];
    block.shadow.write(&mut block.clocks, access(0, FULL, 2, 4, &everywhere), &same, &mut block.found);
    assert_eq!(block.races(), []);
    // The upper half of an 8-byte store lies under the lower half of its neighbour's.
    let overlapping = rising(512, 4);
    block.shadow.write(&mut block.clocks, access(0, 0b11, 3, 8, &overlapping), &[5 << 32 | 4; 32], &mut block.found);
    assert_eq!(block.races().len(), 1);
    block.shadow.write(&mut block.clocks, access(0, 0b11, 4, 8, &overlapping), &[5 << 32 | 5; 32], &mut block.found);
    assert_eq!(block.races(), []);
}

#[test]
fn a_copy_races_with_everybody_until_it_is_over() {
    let mut block = Block::new(true);
    let to = rising(0, 4);
    let words = access(0, FULL, 1, 4, &to);
    let id = block.shadow.begin_copy(&mut block.clocks, words, &mut block.found);
    assert_eq!(block.races(), [], "nothing was there before");
    // Neither its own thread nor a barrier makes a difference.
    block.read(0, 0b1, 2, 4, &to);
    block.clocks.block_barrier(0);
    block.write(1, 0b10, 3, 2, &rising(0, 4));
    let expected =
        [(Hazard::ReadOfCopy, (0, 0b1, 1), (0, 0b1, 2)), (Hazard::WriteOverCopy, (0, 0b10, 1), (1, 0b10, 3))];
    assert_eq!(block.races().iter().map(|race| (race.hazard, race.earlier, race.later)).collect::<Vec<_>>(), expected);
    // Lane 0 has waited: it may read, others may behind a barrier only, and of the others' copies nobody may.
    let own = Access { mask: 0b1, ..words };
    block.shadow.stamp_copy(&mut block.clocks, own);
    block.shadow.end_copy(id, own);
    block.read(0, 0b1, 4, 4, &to);
    assert_eq!(block.races(), []);
    block.read(2, 0b1, 5, 4, &to);
    assert_eq!(block.races().first().map(|race| race.hazard), Some(Hazard::ReadAfterWrite));
    block.clocks.block_barrier(0);
    block.read(2, 0b1, 6, 4, &to);
    assert_eq!(block.races(), []);
    block.read(2, 0b100, 7, 4, &to);
    assert_eq!(block.races().first().map(|race| race.hazard), Some(Hazard::ReadOfCopy));
    // A copy is a write behind what its thread did, and like any write no further.
    block.read(3, 0b1, 8, 4, &[900; 32]);
    block.shadow.begin_copy(&mut block.clocks, access(0, 0b1, 9, 4, &[900; 32]), &mut block.found);
    assert_eq!(block.races().first().map(|race| race.hazard), Some(Hazard::WriteAfterRead));
    block.shadow.forget_copies();
    block.clocks.block_barrier(0);
    block.read(2, FULL, 10, 4, &to);
    assert_eq!(block.races(), []);
}

#[test]
fn bytes_beside_each_other_do_not_race() {
    let mut block = Block::new(true);
    block.write(0, FULL, 1, 1, &rising(0, 1));
    block.write(1, FULL, 2, 1, &rising(32, 1));
    block.write(2, FULL, 3, 2, &rising(64, 2));
    assert_eq!(block.races(), []);
    block.read(3, 1, 4, 1, &[33; 32]);
    let found = block.races();
    assert_eq!((found[0].earlier, found[0].later, found[0].address), ((1, 0b10, 2), (3, 1, 4), 33));
    // A whole word after its bytes: all four bytes are looked at.
    block.read(3, 1, 5, 4, &[64; 32]);
    let found = block.races();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].earlier, (2, 0b11, 3));
}

#[test]
fn a_word_written_whole_is_remembered_by_each_of_its_bytes() {
    let mut block = Block::new(true);
    block.write(0, 1, 1, 4, &[0; 32]);
    block.read(1, 1, 2, 1, &[3; 32]);
    assert_eq!(block.races()[0].earlier, (0, 1, 1));
    block.clocks.block_barrier(0);
    block.read(1, 1, 3, 4, &[0; 32]);
    assert_eq!(block.races(), []);
}

#[test]
fn atomics_race_with_plain_accesses_only() {
    let mut block = Block::new(true);
    block.atomic(0, FULL, 1, 4, &[0; 32]);
    block.atomic(1, FULL, 2, 4, &[0; 32]);
    assert_eq!(block.races(), []);
    block.read(1, 1, 3, 4, &[0; 32]);
    let found = block.races();
    assert!(found.iter().all(|race| race.hazard == Hazard::ReadAfterWrite));
    assert_eq!(found.iter().map(|race| race.earlier.0).collect::<Vec<_>>(), [0, 1]);
    block.clocks.block_barrier(0);
    block.write(0, 1, 4, 4, &[0; 32]);
    block.atomic(0, 1, 5, 4, &[0; 32]);
    assert_eq!(block.races(), [], "one thread");
    block.atomic(0, 2, 6, 4, &[0; 32]);
    assert_eq!(block.races().len(), 1, "a second lane");
}

#[test]
fn lanes_that_write_one_place_together_do_not_hide_what_was_there() {
    let mut block = Block::new(true);
    block.write(0, 1, 1, 4, &[0; 32]);
    block.shadow.write(&mut block.clocks, access(0, 0b11, 2, 4, &[0; 32]), &[7; 32], &mut block.found);
    let found = block.races();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].earlier, found[0].later), ((0, 0b01, 1), (0, 0b10, 2)));
}

#[test]
fn readers_of_two_warps_are_both_remembered() {
    let mut block = Block::new(true);
    for warp in 0..4 {
        block.read(warp, FULL, warp, 4, &[0; 32]);
    }
    block.clocks.warp_barrier(0, FULL);
    block.write(0, 1, 9, 4, &[0; 32]);
    let found = block.races();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].hazard, found[0].earlier.0), (Hazard::WriteAfterRead, 1));
}

#[test]
fn a_barrier_of_half_a_warp_orders_that_half() {
    let mut block = Block::new(true);
    block.write(0, FULL, 1, 4, &rising(0, 4));
    block.clocks.warp_barrier(0, 0x0000_FFFF);
    // Lane t reads what lane t ^ 1 wrote.
    let neighbour = std::array::from_fn(|lane| 4 * (lane as u32 ^ 1));
    block.read(0, 0x0000_FFFF, 2, 4, &neighbour);
    assert_eq!(block.races(), []);
    block.read(0, 0xFFFF_0000, 3, 4, &neighbour);
    let found = block.races();
    assert_eq!((found[0].earlier.1, found[0].later.1), (0xFFFF_0000, 0xFFFF_0000));
    // Order is handed on: lanes 0 and 16 meet, then 16 and 17; 17 now knows what lane 0 did.
    let mut block = Block::new(true);
    block.write(0, 1, 1, 4, &[0; 32]);
    block.clocks.warp_barrier(0, 1 | 1 << 16);
    block.clocks.warp_barrier(0, 1 << 16 | 1 << 17);
    block.read(0, 1 << 17, 2, 4, &[0; 32]);
    assert_eq!(block.races(), []);
    block.read(0, 1 << 18, 3, 4, &[0; 32]);
    assert_eq!(block.races().len(), 1);
}

/// Lane 31's read lies behind the barrier for warp 1, and lane 8's, by the same instruction, does not.
#[test]
fn a_read_before_an_arrival_is_not_named_with_one_behind_it() {
    let mut block = Block::new(true);
    block.read(0, 1 << 31, 1, 4, &[0; 32]);
    let mut arrived = Arrivals::default();
    block.clocks.arrive(&mut arrived, 0, FULL);
    block.clocks.meet(&[(1, FULL)], arrived);
    block.read(0, 1 << 8, 1, 4, &[0; 32]);
    block.write(1, 1, 2, 4, &[0; 32]);
    let found = block.races();
    assert_eq!((found.len(), found[0].earlier), (1, (0, 1 << 8, 1)));
}

#[test]
fn a_warp_of_twenty_lanes_is_whole_when_all_twenty_meet() {
    let mut block = Block::new(true);
    let lanes = (1 << 20) - 1;
    block.clocks.set_lanes(0, lanes);
    block.write(0, lanes, 1, 4, &rising(0, 4));
    block.clocks.warp_barrier(0, lanes);
    block.read(0, lanes >> 1, 2, 4, &rising(4, 4));
    assert_eq!(block.races(), []);
}

#[test]
fn accesses_past_the_end_are_left_to_the_bounds_check() {
    let mut block = Block::new(true);
    for start in [1020, 1024, 4096, u32::MAX - 3] {
        let addresses = std::array::from_fn(|lane| u32::wrapping_add(start, 4 * lane as u32));
        block.write(0, FULL, 1, 4, &addresses);
        block.read(1, 2, 2, 1, &addresses);
        block.atomic(1, FULL, 3, 8, &addresses);
    }
    block.races();
}

// ---- against a reference that forgets nothing ------------------------------------------------------------------------

const WARPS: u32 = 3;
const BYTES: u32 = 64 * 4;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Act {
    Read,
    Write,
    Atomic,
}

#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)] // most events are the large one
enum Event {
    Touch {
        act: Act,
        warp: u32,
        mask: u32,
        pc: u32,
        bytes: u32,
        addresses: [u32; 32],
        values: [u64; 32],
    },
    WarpBarrier {
        warp: u32,
        mask: u32,
    },
    /// A barrier of some threads: the lanes of each warp that wait, and those that only arrive.
    Named {
        waits: [u32; WARPS as usize],
        arrives: [u32; WARPS as usize],
    },
    BlockBarrier,
}

/// One past access of one thread to one byte.
struct Past {
    thread: usize,
    clock: u32,
    act: Act,
    pc: u32,
    event: usize,
    value: u8,
}

/// Full vector clocks for each thread, and every access to each byte.
struct Reference {
    lanes_apart: bool,
    clocks: Vec<Vec<u32>>,
    past: Vec<Vec<Past>>,
}

/// A race as the reference sees it: two threads, two instructions.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Pair {
    hazard: Hazard,
    earlier: (usize, u32),
    later: (usize, u32),
    byte: u32,
}

impl Reference {
    fn new(lanes_apart: bool) -> Reference {
        let threads = WARPS as usize * 32;
        let mut clocks = vec![vec![0; threads]; threads];
        for (thread, clock) in clocks.iter_mut().enumerate() {
            clock[thread] = 1;
        }
        Reference { lanes_apart, clocks, past: (0..BYTES).map(|_| Vec::new()).collect() }
    }

    fn join(&mut self, threads: &[usize]) {
        let mut joined = vec![0; self.clocks.len()];
        for &thread in threads {
            self.clocks[thread][thread] += 1;
            for (all, &own) in joined.iter_mut().zip(&self.clocks[thread]) {
                *all = own.max(*all);
            }
        }
        for &thread in threads {
            self.clocks[thread] = joined.clone();
        }
    }

    /// `waits` go on behind what they and `arrives` did.
    fn hand_over(&mut self, arrives: &[usize], waits: &[usize]) {
        let mut joined = vec![0; self.clocks.len()];
        for &thread in arrives.iter().chain(waits) {
            self.clocks[thread][thread] += 1;
            for (all, &own) in joined.iter_mut().zip(&self.clocks[thread]) {
                *all = own.max(*all);
            }
        }
        for &thread in waits {
            for (own, &all) in self.clocks[thread].iter_mut().zip(&joined) {
                *own = all.max(*own);
            }
        }
    }

    fn step(&mut self, number: usize, event: &Event) -> Vec<Pair> {
        let lanes = |warp: u32, mask: u32| -> Vec<usize> {
            (0..32).filter(|lane| mask >> lane & 1 == 1).map(|lane| (warp * 32 + lane) as usize).collect()
        };
        match event {
            Event::BlockBarrier => self.join(&(0..self.clocks.len()).collect::<Vec<_>>()),
            Event::WarpBarrier { warp, mask } => self.join(&lanes(*warp, *mask)),
            Event::Named { waits, arrives } => {
                // In lockstep a warp is one thread.
                let whole = |mask: u32| if self.lanes_apart || mask == 0 { mask } else { FULL };
                let of = |masks: &[u32]| -> Vec<usize> {
                    masks.iter().enumerate().flat_map(|(warp, &mask)| lanes(warp as u32, whole(mask))).collect()
                };
                let (waits, arrives) = (of(waits), of(arrives));
                self.hand_over(&arrives, &waits);
            }
            Event::Touch { act, warp, mask, pc, bytes, addresses, values } => {
                let mut races = Vec::new();
                for thread in lanes(*warp, *mask) {
                    let lane = thread % 32;
                    for offset in 0..*bytes {
                        let byte = addresses[lane] + offset;
                        // The shadow sees 8 bytes of a value.
                        let value = values[lane].checked_shr(8 * offset).unwrap_or(0) as u8;
                        self.touch(number, *act, thread, *pc, byte, value, &mut races);
                    }
                }
                if !self.lanes_apart {
                    self.join(&lanes(*warp, FULL));
                }
                return races;
            }
        }
        Vec::new()
    }

    #[allow(clippy::too_many_arguments)]
    fn touch(&mut self, event: usize, act: Act, thread: usize, pc: u32, byte: u32, value: u8, races: &mut Vec<Pair>) {
        for past in &self.past[byte as usize] {
            let ordered = past.thread == thread || past.clock < self.clocks[thread][past.thread];
            let same_event = past.event == event;
            let conflict = match (past.act, act) {
                (Act::Read, Act::Read) | (Act::Atomic, Act::Atomic) => false,
                (Act::Write, Act::Write) if same_event => past.value != value,
                _ => true,
            };
            if conflict && !ordered {
                let hazard = match (past.act, act) {
                    (Act::Read, _) => Hazard::WriteAfterRead,
                    (_, Act::Read) => Hazard::ReadAfterWrite,
                    _ => Hazard::WriteAfterWrite,
                };
                races.push(Pair { hazard, earlier: (past.thread, past.pc), later: (thread, pc), byte });
            }
        }
        let clock = self.clocks[thread][thread];
        self.past[byte as usize].push(Past { thread, clock, act, pc, event, value });
    }
}

fn shadow_step(clocks: &mut Clocks, shadow: &mut Shadow, event: &Event) -> Vec<Race> {
    let mut found = Vec::new();
    match event {
        Event::BlockBarrier => clocks.block_barrier(0),
        Event::WarpBarrier { warp, mask } => clocks.warp_barrier(*warp, *mask),
        Event::Named { waits, arrives } => {
            let mut arrived = Arrivals::default();
            let of = |masks: &[u32; WARPS as usize]| (0..WARPS).zip(*masks).filter(|(_, mask)| *mask != 0);
            of(arrives).for_each(|(warp, mask)| clocks.arrive(&mut arrived, warp, mask));
            clocks.meet(&of(waits).collect::<Vec<_>>(), arrived);
        }
        Event::Touch { act, warp, mask, pc, bytes, addresses, values } => {
            let access = Access { warp: *warp, mask: *mask, pc: *pc, bytes: *bytes, addresses };
            match act {
                Act::Read => shadow.read(clocks, access, &mut found),
                Act::Write => shadow.write(clocks, access, values, &mut found),
                Act::Atomic => shadow.atomic(clocks, access, &mut found),
            }
        }
    }
    found
}

/// Every lane that a report names has a partner in the other half that the reference found racing with it.
fn check_real(race: &Race, real: &[Pair]) {
    let (earlier_warp, earlier_lanes, earlier_pc) = race.earlier;
    let (later_warp, later_lanes, later_pc) = race.later;
    let named = |warp: u32, lanes: u32, thread: usize| thread as u32 / 32 == warp && lanes >> (thread % 32) & 1 == 1;
    let pairs: Vec<&Pair> = real
        .iter()
        .filter(|pair| pair.hazard == race.hazard && (pair.earlier.1, pair.later.1) == (earlier_pc, later_pc))
        .filter(|pair| {
            named(earlier_warp, earlier_lanes, pair.earlier.0) && named(later_warp, later_lanes, pair.later.0)
        })
        .collect();
    let bits = |threads: Vec<usize>| threads.iter().fold(0_u32, |bits, thread| bits | 1 << (thread % 32));
    assert_eq!(bits(pairs.iter().map(|pair| pair.earlier.0).collect()), earlier_lanes, "{race:?}");
    assert_eq!(bits(pairs.iter().map(|pair| pair.later.0).collect()), later_lanes, "{race:?}");
    assert!(pairs.iter().any(|pair| (race.address..race.address + 4).contains(&pair.byte)), "{race:?}");
}

/// What is left of `event` when only `word` exists.
fn project(event: &Event, word: u32) -> Event {
    let Event::Touch { act, warp, mask, pc, bytes, addresses, values } = event.clone() else { return event.clone() };
    let touches = |lane: usize| addresses[lane] / 4 <= word && word <= (addresses[lane] + bytes - 1) / 4;
    let mask = (0..32).filter(|&lane| touches(lane)).fold(0, |m, lane| m | 1 << lane) & mask;
    Event::Touch { act, warp, mask, pc, bytes, addresses, values }
}

/// Whether a race among `events` touches `word`, by the shadow.
fn shadow_finds(events: &[Event], word: u32, lanes_apart: bool) -> bool {
    // One lane at a time would lose the same-instruction rule, so wide accesses keep their other words; a report counts
    // if the reference says that the same accesses race in this word.
    let (mut clocks, mut shadow) = (Clocks::new(1, WARPS, lanes_apart), Shadow::new(BYTES));
    let mut reference = Reference::new(lanes_apart);
    events.iter().enumerate().any(|(number, event)| {
        let event = project(event, word);
        let real = reference.step(number, &event);
        let in_word = real.iter().any(|pair| pair.byte / 4 == word);
        !shadow_step(&mut clocks, &mut shadow, &event).is_empty() && in_word
    })
}

fn reference_finds(events: &[Event], lanes_apart: bool) -> Vec<bool> {
    let mut reference = Reference::new(lanes_apart);
    let mut racy = vec![false; BYTES as usize / 4];
    for (number, event) in events.iter().enumerate() {
        for pair in reference.step(number, event) {
            racy[pair.byte as usize / 4] = true;
        }
    }
    racy
}

fn addresses(bytes: u32) -> impl Strategy<Value = [u32; 32]> {
    let places = BYTES / bytes;
    prop_oneof![
        // Rising from lane to lane as far as there is room, the window path.
        (0..places).prop_map(move |start| std::array::from_fn(|lane| (start + lane as u32).min(places - 1) * bytes)),
        (0..places).prop_map(move |start| std::array::from_fn(|lane| (start + lane as u32) % places * bytes)),
        (0..places).prop_map(move |place| [place * bytes; 32]),
        (0..places, 1_u32..9)
            .prop_map(move |(start, step)| std::array::from_fn(|lane| (start + step * lane as u32) % places * bytes)),
        prop::array::uniform32((0..places).prop_map(move |place| place * bytes)),
    ]
}

fn masks() -> impl Strategy<Value = u32> {
    prop_oneof![
        3 => Just(FULL),
        2 => (0_u32..32).prop_map(|lanes| (1 << lanes) - 1),
        2 => (0_u32..32).prop_map(|lane| 1 << lane),
        1 => any::<u32>(),
    ]
}

fn events(partial_barriers: bool) -> impl Strategy<Value = Vec<Event>> {
    let barrier_mask = if partial_barriers { masks().boxed() } else { Just(FULL).boxed() };
    let named = if partial_barriers { 2 } else { 0 };
    let parts = || prop_oneof![2 => Just(0), 2 => Just(FULL), 1 => masks()];
    let act = prop_oneof![3 => Just(Act::Read), 2 => Just(Act::Write), 1 => Just(Act::Atomic)];
    let bytes = prop_oneof![1 => Just(1_u32), 1 => Just(2), 6 => Just(4), 2 => Just(8), 1 => Just(16)];
    let touch =
        (act, 0..WARPS, masks(), 0_u32..6, bytes, 0_u64..3).prop_flat_map(|(act, warp, mask, pc, bytes, spread)| {
            (addresses(bytes), prop::array::uniform32(0..=spread)).prop_map(move |(addresses, values)| {
                let values = values.map(|value| value * 0x0100_0001_0000_0001);
                Event::Touch { act, warp, mask, pc, bytes, addresses, values }
            })
        });
    let event = prop_oneof![
        8 => touch,
        2 => (0..WARPS, barrier_mask).prop_map(|(warp, mask)| Event::WarpBarrier { warp, mask }),
        1 => Just(Event::BlockBarrier),
        named => (prop::array::uniform3(parts()), prop::array::uniform3(parts())).prop_map(|(waits, arrives)| {
            let arrives = std::array::from_fn(|warp| arrives[warp] & !waits[warp]);
            Event::Named { waits, arrives }
        }),
    ];
    prop::collection::vec(event, 1..24)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_report_is_a_real_race(events in events(true), lanes_apart: bool) {
        let (mut clocks, mut shadow) = (Clocks::new(1, WARPS, lanes_apart), Shadow::new(BYTES));
        let mut reference = Reference::new(lanes_apart);
        for (number, event) in events.iter().enumerate() {
            let real = reference.step(number, event);
            for race in shadow_step(&mut clocks, &mut shadow, event) {
                check_real(&race, &real);
            }
        }
    }

    #[test]
    fn the_first_race_is_found_at_once(events in events(false), lanes_apart: bool) {
        let (mut clocks, mut shadow) = (Clocks::new(1, WARPS, lanes_apart), Shadow::new(BYTES));
        let mut reference = Reference::new(lanes_apart);
        for (number, event) in events.iter().enumerate() {
            let real = reference.step(number, event);
            let found = shadow_step(&mut clocks, &mut shadow, event);
            prop_assert_eq!(found.is_empty(), real.is_empty(), "event {}: {:?} against {:?}", number, found, real);
            if !real.is_empty() {
                break;
            }
        }
    }

    #[test]
    fn a_word_that_races_is_found_to_race(events in events(false), lanes_apart: bool) {
        for (word, racy) in reference_finds(&events, lanes_apart).into_iter().enumerate() {
            let found = shadow_finds(&events, word as u32, lanes_apart);
            prop_assert!(!racy || found, "word {word} races, and no report says so");
        }
    }
}
