//! A race detector that forgets nothing: full vector clocks for each thread, and every access to each byte.

use simt::race::Hazard;

use crate::race::FULL;

/// Warps of the block.
pub const WARPS: u32 = 3;
/// Bytes of its shared memory.
pub const BYTES: u32 = 64 * 4;

/// Kind of an access.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Act {
    Read,
    Write,
    Atomic,
}

/// Event in a block.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)] // most events are the large one
pub enum Event {
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
pub struct Reference {
    lanes_apart: bool,
    clocks: Vec<Vec<u32>>,
    past: Vec<Vec<Past>>,
}

/// A race as the reference sees it: two threads, two instructions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    pub hazard: Hazard,
    pub earlier: (usize, u32),
    pub later: (usize, u32),
    pub byte: u32,
}

impl Reference {
    pub fn new(lanes_apart: bool) -> Reference {
        let threads = WARPS as usize * 32;
        let mut clocks = vec![vec![0; threads]; threads];
        for (thread, clock) in clocks.iter_mut().enumerate() {
            clock[thread] = 1;
        }
        Reference { lanes_apart, clocks, past: (0..BYTES).map(|_| Vec::new()).collect() }
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

    /// The races that `event`, the `number`-th, has with those before it.
    pub fn step(&mut self, number: usize, event: &Event) -> Vec<Pair> {
        let lanes = |warp: u32, mask: u32| -> Vec<usize> {
            (0..32).filter(|lane| mask >> lane & 1 == 1).map(|lane| (warp * 32 + lane) as usize).collect()
        };
        match event {
            Event::BlockBarrier => self.hand_over(&[], &(0..self.clocks.len()).collect::<Vec<_>>()),
            Event::WarpBarrier { warp, mask } => self.hand_over(&[], &lanes(*warp, *mask)),
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
                    self.hand_over(&[], &lanes(*warp, FULL));
                }
                return races;
            }
        }
        Vec::new()
    }

    #[allow(clippy::too_many_arguments)] // the parts of one event
    fn touch(&mut self, event: usize, act: Act, thread: usize, pc: u32, byte: u32, value: u8, races: &mut Vec<Pair>) {
        let knows = |past: &Past| past.thread == thread || past.clock < self.clocks[thread][past.thread];
        let last_known = self.past[byte as usize].iter().rposition(|past| past.act == Act::Atomic && knows(past));
        for (at, past) in self.past[byte as usize].iter().enumerate() {
            // Each atomic has read what the one before it left.
            let chained = past.act == Act::Atomic && last_known.is_some_and(|known| at < known);
            let ordered = knows(past) || chained;
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
                    (Act::Write, Act::Write) if same_event => Hazard::WriteTogether,
                    _ => Hazard::WriteAfterWrite,
                };
                races.push(Pair { hazard, earlier: (past.thread, past.pc), later: (thread, pc), byte });
            }
        }
        let clock = self.clocks[thread][thread];
        self.past[byte as usize].push(Past { thread, clock, act, pc, event, value });
    }
}
