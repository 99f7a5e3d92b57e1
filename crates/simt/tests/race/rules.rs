//! Each rule of the race detector by itself.

use simt::race::{Access, Arrivals, Clocks, Hazard, Race, Shadow};

use crate::race::FULL;

/// Addresses that rise by `step` bytes from lane to lane.
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
    assert_eq!((found[0].hazard, found[0].address), (Hazard::WriteTogether, 128));

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
    // Lane 0 has waited: it may read, others may behind a barrier only, and no lane may read the others' copies.
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
fn a_copy_that_a_barrier_object_counted_is_over_for_those_who_know() {
    let mut block = Block::new(true);
    let to = rising(0, 4);
    let words = access(0, FULL, 1, 4, &to);
    let id = block.shadow.begin_copy(&mut block.clocks, words, &mut block.found);
    let (tick, mut arrived) = (block.clocks.landing(), Arrivals::default());
    block.shadow.land_copy(id, words, 7, tick);
    arrived.land(7, tick);
    // The phase is over, and no barrier tells who has not asked.
    block.clocks.block_barrier(0);
    block.read(1, 0b1, 2, 4, &to);
    assert_eq!(block.races().first().map(|race| race.hazard), Some(Hazard::ReadOfCopy));
    // One lane has seen the end, and its warp behind a barrier.
    block.clocks.learn(1, 0b1, &arrived);
    block.read(1, 0b1, 3, 4, &to);
    assert_eq!(block.races(), []);
    block.read(1, 0b10, 4, 4, &to);
    assert_eq!(block.races().first().map(|race| race.later), Some((1, 0b10, 4)));
    block.clocks.warp_barrier(1, FULL);
    block.read(1, FULL, 5, 4, &to);
    assert_eq!(block.races(), []);
    block.read(2, 0b1, 6, 4, &to);
    assert_eq!(block.races().first().map(|race| race.later), Some((2, 0b1, 6)));
    // And all of the block behind a barrier of the block; the next copy starts anew.
    block.clocks.block_barrier(0);
    block.read(2, FULL, 7, 4, &to);
    assert_eq!(block.races(), []);
    block.shadow.begin_copy(&mut block.clocks, words, &mut block.found);
    assert_eq!(block.races().first().map(|race| race.hazard), Some(Hazard::WriteAfterRead));
    block.read(1, 0b1, 8, 4, &to);
    assert_eq!(block.races().first().map(|race| race.hazard), Some(Hazard::ReadOfCopy));
}

#[test]
fn a_copy_out_of_shared_memory_reads_until_it_is_waited_for() {
    let mut block = Block::new(true);
    let from = rising(0, 4);
    let words = access(0, 0b1, 1, 128, &[0; 32]);
    let id = block.shadow.begin_reading(&mut block.clocks, words, &mut block.found);
    block.clocks.block_barrier(0);
    block.read(1, FULL, 2, 4, &from);
    assert_eq!(block.races(), [], "reads do not race");
    block.write(1, 0b1, 3, 4, &[0; 32]);
    assert_eq!(block.races().first().map(|race| race.hazard), Some(Hazard::WriteUnderCopy));
    block.shadow.end_reading(&mut block.clocks, id, words);
    block.write(2, 0b1, 4, 4, &[64; 32]);
    assert_eq!(block.races().last().map(|race| race.hazard), Some(Hazard::WriteAfterRead), "the wait was another's");
    block.clocks.block_barrier(0);
    block.write(1, 0b1, 5, 4, &[0; 32]);
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
    // The last lane of the last atomic comes behind all of them.
    assert_eq!(found.iter().map(|race| race.earlier).collect::<Vec<_>>(), [(1, 1 << 31, 2)]);
    block.read(1, 1 << 31, 3, 4, &[0; 32]);
    assert_eq!(block.races(), []);
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
