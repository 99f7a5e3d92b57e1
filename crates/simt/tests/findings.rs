//! Words of reports: which element, what a deadlock waits for, what to try, and what is folded into one.

use simt::{Arg, Code, Fault, Launch, Memory, Options};

use crate::host;

/// Runs an entry `k(.param .u64 a)`, whose body this is, on one block; `a` has `elements` words of which the host wrote all.
fn faults(body: &str, threads: u32, elements: usize, shared_bytes: u32) -> Vec<Fault> {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"k.cu\"\n.extern .shared .align 16 .b8 dynamic[];\n\
         .visible .entry k(.param .u64 a)\n{{\n .reg .pred %p<4>;\n .reg .b32 %r<8>;\n .reg .b64 %d<8>;\n .reg .f32 %f<4>;\n \
         ld.param.u64 %d1, [a];\n mov.u32 %r1, %tid.x;\n{body}\n ret;\n}}\n"
    );
    let kernel = host::kernel("k.ptx", &text, "k");
    let mut memory = Memory::new();
    let a = host::buffer(&mut memory, "a", &vec![0; elements]);
    let launch = Launch { block: [threads, 1, 1], shared_bytes, args: vec![Arg::Address(a)], ..Launch::default() };
    simt::run(&kernel, &mut memory, &launch, &Options { threads: 1, ..Options::default() }).unwrap().faults
}

/// The only fault.
fn fault(body: &str, threads: u32, elements: usize, shared_bytes: u32) -> Fault {
    let mut all = faults(body, threads, elements, shared_bytes);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn an_instruction_that_the_compiler_moved_is_shown_beside_its_neighbours() {
    let body = |line: u32| {
        format!(
            ".loc 1 4 0\n mov.u32 %r2, 0;\n .loc 1 {line} 0\n ld.global.u32 %r2, [%d1+400];\n .loc 1 9 0\n st.global.u32 [%d1], %r2;"
        )
    };
    let source = |_: &str| Some("a line\n".repeat(9));
    let moved = fault(&body(0), 1, 1, 0);
    assert_eq!((moved.site.line, moved.site.between), (4, Some([4, 9])));
    let text = simt::report::render(&moved, &source);
    assert!(text.contains("k.cu: beside lines 4 and 9;") && !text.contains("| a line"), "{text}");
    let own = fault(&body(6), 1, 1, 0);
    assert_eq!((own.site.line, own.site.between), (6, None));
    assert!(simt::report::render(&own, &source).contains("6 | a line"));
}

#[test]
fn elements_before_a_buffer_have_negative_indices() {
    for (offset, place) in [
        (-8, "a[-2], 8 bytes before the start of a"),
        (-792, "a[-198], 792 bytes before the start of a"),
        (16, "a[4], just past the end of a (4 elements)"),
    ] {
        let fault = fault(&format!("ld.global.u32 %r2, [%d1+{offset}];"), 1, 4, 0);
        assert_eq!(fault.message, format!("reads 4 bytes outside every allocation: {place}"));
        assert_eq!(fault.remedy.contains("negative"), offset < 0, "{}", fault.remedy);
    }
    let fault = fault("mov.u64 %d1, 0;\n st.global.u32 [%d1+12], %r1;", 1, 4, 0);
    assert!(fault.message.contains("a null pointer plus 12 bytes") && fault.remedy.contains("null"), "{fault:?}");
}

#[test]
fn an_access_half_outside_says_how_much_is_outside() {
    let wide = fault("ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%d1+496];", 1, 126, 0);
    assert_eq!(wide.message, "reads 16 bytes at a[124], the last 8 of them past the end of a");
    let shared = fault("mov.f32 %f0, 0f00000000;\n st.shared.v4.f32 [dynamic+112], {%f0, %f0, %f0, %f0};", 1, 1, 120);
    assert_eq!(shared.message, "writes 16 bytes at dynamic[28], the last 8 of them past the end of dynamic");
}

#[test]
fn shared_arrays_count_in_what_is_accessed() {
    let body = |width: &str| {
        let (bytes, row) = if width == "u8" { (1, "%r2") } else { (4, "%r2") };
        format!(
            "mov.u32 %r3, dynamic;\n mad.lo.u32 %r3, %r1, {bytes}, %r3;\n mov.u32 {row}, 0;\n st.shared.{width} [%r3], {row};"
        )
    };
    let past = fault(&body("u32"), 64, 1, 128);
    assert_eq!(
        past.message,
        "writes 4 bytes outside every allocation: dynamic[32], just past the end of dynamic (32 elements)"
    );
    assert!(past.remedy.contains("--shared"), "{}", past.remedy);
    assert_eq!(past.count, 32);
    let bytes = fault(&body("u8"), 64, 1, 16);
    assert!(bytes.message.contains("dynamic[16], just past the end of dynamic (16 elements)"), "{}", bytes.message);
    let before = fault("mov.u32 %r3, dynamic;\n st.shared.u32 [%r3+-4], %r1;", 1, 1, 128);
    assert!(before.message.contains("dynamic[-1], 4 bytes before the start of dynamic"), "{}", before.message);
}

#[test]
fn copies_of_an_unrolled_loop_are_one_fault() {
    let body = "mov.u32 %r3, dynamic;\n mad.lo.u32 %r4, %r1, 4, %r3;\n.loc 1 4 1\n st.shared.u32 [%r4], %r1;\n.loc 1 5 1\n\
                ld.shared.u32 %r5, [%r3+0];\n ld.shared.u32 %r5, [%r3+4];\n ld.shared.u32 %r5, [%r3+8];\n.loc 1 6 1\n ld.shared.u32 %r5, [%r3+12];";
    let all = faults(body, 64, 1, 256);
    let lines: Vec<u32> = all.iter().map(|fault| fault.site.line).collect();
    assert_eq!(lines, [5, 6]);
    assert!(all[0].count > all[1].count, "{all:?}");
}

#[test]
fn a_deadlock_of_lanes_names_the_mask_and_where_the_others_are() {
    let body = "setp.lt.u32 %p0, %r1, 16;\n.loc 1 7 1\n @!%p0 bra OTHERS;\n.loc 1 8 1\n shfl.sync.down.b32 %r2, %r1, 1, 31, -1;\n bra DONE;\n\
                OTHERS:\n.loc 1 9 1\n vote.sync.ballot.b32 %r2, %p0, -1;\nDONE:\n.loc 1 10 1\n";
    let fault = fault(body, 32, 1, 0);
    assert_eq!(fault.code, Code::Deadlock);
    let other = fault.other.as_ref().unwrap();
    let mut sides = [(fault.site.line, fault.site.lanes), (other.line, other.lanes)];
    sides.sort_unstable();
    assert_eq!(sides, [(8, 0xFFFF), (9, 0xFFFF_0000)]);
    assert!(fault.message.contains("mask 0xffffffff names, and lanes"), "{}", fault.message);
    assert!(fault.remedy.contains("__ballot_sync"), "{}", fault.remedy);
}

#[test]
fn a_deadlock_at_a_barrier_object_says_what_is_missing() {
    let wait = "AGAIN:\n mbarrier.test_wait.parity.shared.b64 %p1, [dynamic], 0;\n @!%p1 bra AGAIN;";
    let body = format!(
        "mbarrier.init.shared.b64 [dynamic], 3;\n mbarrier.arrive.expect_tx.shared.b64 %d2, [dynamic], 64;\n{wait}"
    );
    let fault = fault(&body, 1, 1, 16);
    assert!(
        fault.message.contains(
            "phase of parity 0 of the barrier object dynamic[0] to end, which lacks 2 of 3 arrivals and 64 bytes"
        ),
        "{}",
        fault.message
    );
    assert!(fault.remedy.contains("mbarrier.init"), "{}", fault.remedy);
}

#[test]
fn a_copy_asks_for_another_wait_than_a_store() {
    let copy = "mov.u32 %r3, dynamic;\n cp.async.ca.shared.global [%r3], [%d1], 4;\n ld.shared.u32 %r2, [%r3];";
    let fault = fault(copy, 1, 1, 16);
    assert_eq!(fault.code, Code::SharedRace);
    assert!(fault.remedy.contains("__pipeline_wait_prior"), "{}", fault.remedy);
}

#[test]
fn what_a_predicate_throws_away_is_no_finding() {
    // Lanes 3 and 4 of five shuffle from lanes 5 and 6, which are not there; %p1 is false for these two.
    let body = |combined: &str| {
        format!(
            "setp.lt.u32 %p1, %r1, 3;\n shfl.sync.down.b32 %r2, %r1, 2, 31, 31;\n {combined}\n \
             selp.b32 %r3, 7, %r1, %p3;\n st.global.u32 [%d1], %r3;"
        )
    };
    for (combined, is_used) in [
        ("setp.gt.s32 %p2, %r2, %r1;\n and.pred %p3, %p1, %p2;", false),
        ("setp.gt.s32 %p2, %r2, %r1;\n and.pred %p3, %p2, %p1;", false),
        ("setp.gt.and.s32 %p3, %r2, %r1, %p1;", false),
        ("not.pred %p1, %p1;\n setp.gt.s32 %p2, %r2, %r1;\n or.pred %p3, %p1, %p2;", false),
        ("not.pred %p1, %p1;\n setp.gt.or.s32 %p3, %r2, %r1, %p1;", false),
        ("not.pred %p1, %p1;\n setp.gt.and.s32 %p3, %r2, %r1, !%p1;", false),
        ("setp.gt.or.s32 %p3, %r2, %r1, !%p1;", false),
        ("setp.gt.s32 %p2, %r2, %r1;\n or.pred %p3, %p1, %p2;", true),
        ("setp.gt.s32 %p2, %r2, %r1;\n xor.pred %p3, %p1, %p2;", true),
        ("setp.gt.or.s32 %p3, %r2, %r1, %p1;", true),
        ("setp.gt.and.s32 %p3, %r2, %r1, !%p1;", true),
        ("setp.gt.s32 %p2, %r2, %r1;\n and.pred %p3, %p2, %p2;", true),
    ] {
        let found = faults(&body(combined), 5, 4, 0);
        let codes: Vec<Code> = found.iter().map(|fault| fault.code).filter(|&code| code != Code::GlobalRace).collect();
        assert_eq!(codes, if is_used { vec![Code::InactiveShuffleLane] } else { vec![] }, "{combined}: {found:?}");
    }
}

/// Each word adds an origin to the sum, and each addition hands them all on: that once took the cube of their number.
#[test]
fn a_sum_of_many_unwritten_words_is_followed_in_a_moment() {
    let body = "mov.u32 %r2, dynamic;\n add.u32 %r3, %r2, 16384;\n mov.u32 %r5, 0;\nAGAIN:\n ld.shared.u32 %r4, [%r2];\n \
        add.u32 %r5, %r5, %r4;\n add.u32 %r2, %r2, 4;\n setp.lt.u32 %p1, %r2, %r3;\n @%p1 bra AGAIN;\n st.global.u32 [%d1], %r5;";
    let start = cpu_time::ThreadTime::now();
    let fault = fault(body, 1, 1, 16384);
    assert_eq!((fault.code, fault.count), (Code::UninitialisedRead, 4096));
    assert!(start.elapsed().as_secs() < 4, "{:?}", start.elapsed());
}
