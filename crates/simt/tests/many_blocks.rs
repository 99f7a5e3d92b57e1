//! Many blocks that wait for each other take steps in proportion to their number.

use simt::{Arg, Checks, Launch, Memory, Options, Outcome, Program, Schedule};

/// Block b waits until block b + 1 has set its flag, and sets its own: the last has nobody to wait for.
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

fn run(name: &str, body: &str, blocks: u32, options: &Options) -> Outcome {
    let text = format!(".version 8.0\n.target sm_80\n.address_size 64\n{body}\n");
    let kernel = Program::load("k.ptx", &text).and_then(|program| program.kernel(name)).unwrap();
    let mut memory = Memory::new();
    let words = memory.alloc("words", u64::from(blocks) * 4, 4).unwrap();
    memory.write(words, &vec![0; blocks as usize * 4]).unwrap();
    let launch = Launch { grid: [blocks, 1, 1], args: vec![Arg::Address(words)], ..Launch::default() };
    simt::run(&kernel, &mut memory, &launch, options).unwrap()
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
fn a_crowd_that_waits_for_nobody_is_a_deadlock() {
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
