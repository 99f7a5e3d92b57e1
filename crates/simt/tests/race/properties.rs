//! The race detector against the reference, on random accesses and barriers.

use proptest::prelude::*;
use simt::race::{Access, Arrivals, Clocks, Race, Shadow};

use crate::race::FULL;
use crate::race::reference::{Act, BYTES, Event, Pair, Reference, WARPS};

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

/// Part of `event` that remains when only `word` exists.
fn project(event: &Event, word: u32) -> Event {
    let Event::Touch { act, warp, mask, pc, bytes, addresses, values } = event.clone() else { return event.clone() };
    let touches = |lane: usize| addresses[lane] / 4 <= word && word <= (addresses[lane] + bytes - 1) / 4;
    let mask = (0..32).filter(|&lane| touches(lane)).fold(0, |m, lane| m | 1 << lane) & mask;
    Event::Touch { act, warp, mask, pc, bytes, addresses, values }
}

/// Returns whether a race among `events` touches `word`, according to the shadow.
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
