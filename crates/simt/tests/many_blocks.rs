//! Many blocks that wait for each other take steps in proportion to their number; a seed decides which comes first.

use simt::{Arg, Checks, Launch, Memory, Options, Outcome, Schedule};

use crate::host;

/// Block b waits until block b + 1 has set its flag, and sets its own: the last has none to wait for.
const CHAIN: &str = "
.visible .entry chain(.param .u64 flags)
{
    .reg .pred %p<3>;
    .reg .b32 %r<4>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [flags];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %nctaid.x;
    mul.wide.u32 %d2, %r1, 4;
    add.u64 %d1, %d1, %d2;
    add.u32 %r1, %r1, 1;
    setp.eq.u32 %p0, %r1, %r2;
    @%p0 bra SET;
AGAIN:
    ld.acquire.gpu.global.u32 %r3, [%d1+4];
    setp.eq.u32 %p1, %r3, 0;
    @%p1 bra AGAIN;
SET:
    mov.u32 %r3, 1;
    st.release.gpu.global.u32 [%d1], %r3;
    ret;
}";

/// All blocks count themselves and wait until all have.
const MEETING: &str = "
.visible .entry meeting(.param .u64 count)
{
    .reg .pred %p;
    .reg .b32 %r<4>;
    .reg .b64 %d;
    ld.param.u64 %d, [count];
    mov.u32 %r2, %nctaid.x;
    atom.add.acq_rel.gpu.global.u32 %r1, [%d], 1;
AGAIN:
    ld.acquire.gpu.global.u32 %r3, [%d];
    setp.lt.u32 %p, %r3, %r2;
    @%p bra AGAIN;
    ret;
}";

/// Each block leaves the ticket that it drew; the counter is the last word but one.
const TICKETS: &str = "
.visible .entry tickets(.param .u64 words)
{
    .reg .b32 %r<3>;
    .reg .b64 %d<3>;
    ld.param.u64 %d0, [words];
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %nctaid.x;
    mul.wide.u32 %d1, %r1, 4;
    add.u64 %d1, %d0, %d1;
    atom.global.add.u32 %r2, [%d1], 1;
    mul.wide.u32 %d2, %r0, 4;
    add.u64 %d2, %d0, %d2;
    st.global.u32 [%d2], %r2;
    ret;
}";

/// Two blocks add to a word under a lock. Before it gives the lock back, block 0 has a fence, and block 1 has none.
const LOCK: &str = "
.visible .entry lock(.param .u64 words)
{
    .reg .pred %p<2>;
    .reg .b32 %r<3>;
    .reg .b64 %d;
    ld.param.u64 %d, [words];
    mov.u32 %r0, %ctaid.x;
    setp.eq.u32 %p1, %r0, 0;
AGAIN:
    atom.global.cas.b32 %r1, [%d], 0, 1;
    setp.ne.u32 %p0, %r1, 0;
    @%p0 bra AGAIN;
    membar.gl;
    ld.global.u32 %r2, [%d+4];
    add.u32 %r2, %r2, 1;
    st.global.u32 [%d+4], %r2;
    @%p1 membar.gl;
    atom.global.exch.b32 %r1, [%d], 0;
    ret;
}";

fn run(name: &str, body: &str, blocks: u32, options: &Options) -> Outcome {
    run_and_read(name, body, blocks, options).0
}

/// Outcome of a run, and the words that were left: one for each block, and a few more.
fn run_and_read(name: &str, body: &str, blocks: u32, options: &Options) -> (Outcome, Vec<u32>) {
    let text = format!(".version 8.0\n.target sm_80\n.address_size 64\n{body}\n");
    let kernel = host::kernel("k.ptx", &text, name);
    let mut memory = Memory::new();
    let count = blocks as usize + 2;
    let words = host::buffer(&mut memory, "words", &vec![0; count]);
    let launch = Launch { grid: [blocks, 1, 1], args: vec![Arg::Address(words)], ..Launch::default() };
    let outcome = simt::run(&kernel, &mut memory, &launch, options).unwrap();
    (outcome, host::words(&memory, words, count))
}

#[test]
fn a_seed_decides_in_which_order_blocks_come() {
    let tickets = |schedule, threads| {
        let (outcome, words) =
            run_and_read("tickets", TICKETS, 6, &Options { schedule, threads, ..Options::default() });
        assert_eq!(outcome.faults, [], "{schedule}");
        words[..6].to_vec()
    };
    for schedule in [Schedule::Lockstep, Schedule::Independent { seed: None }] {
        assert_eq!(tickets(schedule, 0), [0, 1, 2, 3, 4, 5], "{schedule}");
    }
    let mut orders = std::collections::BTreeSet::new();
    for seed in 0..32 {
        let schedule = Schedule::Independent { seed: Some(seed) };
        let drawn = tickets(schedule, 1);
        assert_eq!(tickets(schedule, 4), drawn, "{schedule}");
        orders.insert(drawn);
    }
    assert!(orders.len() > 24, "{} orders of 6 blocks under 32 seeds", orders.len());
}

#[test]
fn a_missing_fence_in_the_later_block_is_found_within_32_seeds() {
    let faults = |seed| {
        let options = Options { schedule: Schedule::Independent { seed }, ..Options::default() };
        run("lock", LOCK, 2, &options).faults
    };
    assert_eq!(faults(None), [], "block 0 comes first, and has a fence");
    let found = (0..32).filter_map(|seed| faults(Some(seed)).into_iter().next()).collect::<Vec<_>>();
    assert!((4..=28).contains(&found.len()), "{} of 32 seeds find it", found.len());
    assert!(found.iter().all(|fault| fault.code == simt::Code::GlobalRace), "{found:?}");
}

#[test]
fn the_steps_of_waiting_blocks_grow_with_their_number() {
    let (unseeded, seeded) = (Schedule::Independent { seed: None }, Schedule::Independent { seed: Some(3) });
    for (schedule, [few, many]) in [(unseeded, [200, 800]), (seeded, [100, 200])] {
        for (name, body) in [("chain", CHAIN), ("meeting", MEETING)] {
            let steps = |blocks| {
                let outcome = run(name, body, blocks, &Options { schedule, ..Options::default() });
                assert_eq!(outcome.faults, [], "{name} {blocks} {schedule}");
                outcome.counters.inst_executed as f64 / f64::from(blocks)
            };
            let (few, many) = (steps(few), steps(many));
            assert!(many < 1.5 * few, "{name} under {schedule}: {few} steps a block of few, {many} of many");
        }
    }
}

#[test]
fn what_waiting_blocks_count_does_not_depend_on_checks() {
    for (name, body) in [("chain", CHAIN), ("meeting", MEETING)] {
        let counters = |checks| run(name, body, 200, &Options { checks, ..Options::default() }).counters;
        assert_eq!(counters(Checks::ALL), counters(Checks::NONE), "{name}");
    }
}

/// One block fewer comes than all wait for.
#[test]
fn blocks_that_wait_for_one_that_does_not_exist_are_a_deadlock() {
    let outcome = run("meeting", &MEETING.replace("%r2, %nctaid.x;", "%r2, 301;"), 300, &Options::default());
    let messages: Vec<&str> = outcome.faults.iter().map(|fault| fault.message.as_str()).collect();
    assert_eq!(messages, ["waits in a loop for words[0] to change, and every thread that is left waits for another"]);
}

#[test]
fn a_launch_has_a_budget() {
    for threads in [1, 4] {
        let options = Options { steps_per_launch_max: 1000, threads, ..Options::default() };
        let outcome = run("chain", &CHAIN.replace("@%p0 bra", "bra"), 5000, &options);
        assert_eq!(outcome.faults.len(), 1, "{:?}", outcome.faults);
        assert!(outcome.faults[0].message.contains("used up its step budget of 1,000"), "{:?}", outcome.faults);
        assert!(outcome.counters.inst_executed < 1100, "{}", outcome.counters.inst_executed);
    }
}

#[test]
fn more_blocks_that_wait_for_each_other_than_a_card_holds_are_noted() {
    let shared = |body: &str| body.replace("\n{", "\n{ .shared .b8 most[232448];");
    let schedules = [Schedule::Lockstep, Schedule::Independent { seed: None }, Schedule::Independent { seed: Some(3) }];
    let notes = |name, body: &str, blocks, schedule| {
        let outcome = run(name, body, blocks, &Options { schedule, ..Options::default() });
        assert_eq!(outcome.faults, [], "{name} {blocks} {schedule}");
        outcome.notes
    };
    for schedule in schedules {
        // A block takes all the shared memory of a multiprocessor, of which no card has more than 256.
        for (name, body) in [("meeting", MEETING), ("chain", CHAIN)] {
            assert_eq!(notes(name, &shared(body), 256, schedule), [], "{name} {schedule}");
            if name == "chain" && schedule == (Schedule::Independent { seed: Some(3) }) {
                // Blocks in another order: those at the end of the chain have ended when the last one begins.
                continue;
            }
            let notes = notes(name, &shared(body), 257, schedule);
            let [note] = &notes[..] else { panic!("{name} {schedule}: {notes:?}") };
            assert_eq!((note.kind.name(), note.site.opcode.as_str()), ("not-resident", "ld.acquire.gpu.global.u32"));
            assert_eq!(
                note.message,
                "waits, as all 256 blocks that have begun do, for one that has not; no card has room for more than 256 at once \
                 (threads a block: 1, bytes of shared memory: 232,448)"
            );
        }
        // No block waits for another.
        assert_eq!(notes("tickets", &shared(TICKETS), 2000, schedule), [], "{schedule}");
    }
    // Small blocks: 32 on each multiprocessor.
    assert_eq!(notes("meeting", MEETING, 8192, Schedule::Lockstep), []);
    assert_eq!(notes("meeting", MEETING, 8193, Schedule::Lockstep).len(), 1);
}

/// Blocks that look back wait for those that began before them.
#[test]
fn blocks_that_wait_for_earlier_ones_fit_in_any_number() {
    let back = CHAIN.replace("setp.eq.u32 %p0, %r1, %r2;", "setp.eq.u32 %p0, %r1, 1;").replace("[%d1+4]", "[%d1-4]");
    let outcome = run("chain", &back, 9000, &Options::default());
    assert_eq!((outcome.faults, outcome.notes), (vec![], vec![]));
}

/// A launch that hangs with room for all of it, too, is a deadlock and no more.
#[test]
fn a_hang_that_room_would_not_end_is_no_note() {
    let outcome = run("meeting", &MEETING.replace("%r2, %nctaid.x;", "%r2, 8301;"), 8300, &Options::default());
    assert_eq!((outcome.faults.len(), outcome.notes), (1, vec![]));
}
