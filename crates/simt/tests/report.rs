//! Reports: every part of one, what is left out when it is not known, and the words of every fault.

use simt::fault::{Blame, Code, Fault, Note, NoteKind, Site, fold, fold_notes};
use simt::report::{SHOWN_MAX, lanes, render, render_all};

fn site(file: &str, line: u32, lanes: u32, action: &'static str) -> Site {
    let opcode = "ld.volatile.shared.u32".to_owned();
    Site {
        file: file.into(),
        line,
        between: None,
        frames: Vec::new(),
        ptx_line: 120,
        opcode,
        block: [3, 0, 0],
        launch: 0,
        device: None,
        warp: 1,
        lanes,
        action,
    }
}

fn race() -> Fault {
    Fault {
        code: Code::SharedRace,
        message: "reads sums[16] while another thread may still be writing it".into(),
        site: site("kernels/sum.cu", 12, 0x0000_FFFF, "reads"),
        other: Some(site("kernels/sum.cu", 9, 0xFFFF_0000, "writes")),
        why: Code::SharedRace.explanation().why,
        remedy: Code::SharedRace.explanation().remedy,
        variable: Some("sums".into()),
        count: 12_345,
    }
}

fn source(file: &str) -> Option<String> {
    (file == "kernels/sum.cu").then(|| (1..=20).map(|n| format!("\tline {n};  \n")).collect())
}

#[test]
fn a_race_shows_both_places_in_the_order_they_happened() {
    let expected = "\
error[shared-race]: reads sums[16] while another thread may still be writing it
  --> kernels/sum.cu:9
   |
 9 |     line 9;
   | (1) earlier: lanes 16-31 of warp 1, block (3,0,0) write: `ld.volatile.shared.u32` in line 120 of the PTX
  --> kernels/sum.cu:12
   |
12 |     line 12;
   | (2) later: lanes 0-15 of warp 1, block (3,0,0) read: `ld.volatile.shared.u32` in line 120 of the PTX
   = why: nothing orders the two accesses, so either may come first, and the result is unpredictable
   = try: put `__syncthreads()` between them, or `__syncwarp()` if both threads are in one warp
   = note: seen 12,345 times
   = note: this is a bug in the kernel";
    assert_eq!(render(&race(), &source), expected);
}

#[test]
fn what_is_not_at_hand_is_left_out() {
    let mut fault = race();
    (fault.other, fault.count) = (None, 1);
    fault.site.line = 99;
    for source in [&(|_: &str| None) as &dyn Fn(&str) -> Option<String>, &source] {
        let text = render(&fault, source);
        assert!(!text.contains("line 99") && !text.contains("(1)") && !text.contains("seen"), "{text}");
        assert!(text.contains("--> kernels/sum.cu:99\n"), "{text}");
    }
    fault.site.line = 0;
    assert!(render(&fault, &source).contains("--> kernels/sum.cu:0\n"));
}

#[test]
fn a_place_in_the_ptx_itself_is_not_named_twice() {
    let mut fault = race();
    (fault.other, fault.site.file) = (None, "sum.ptx".into());
    let text = render(&fault, &|_| None);
    assert!(text.contains("lanes 0-15 of warp 1, block (3,0,0) read: `ld.volatile.shared.u32`\n"), "{text}");
}

#[test]
fn a_limit_of_the_simulator_says_so() {
    let fault = Fault { code: Code::UnsupportedInstruction, ..race() };
    assert!(
        render(&fault, &source).ends_with("= note: this is a limit of the simulator, it says nothing about the kernel")
    );
}

#[test]
fn many_faults_are_summed_up() {
    assert_eq!(render_all(&[], &source), "");
    let one = render_all(&[race()], &source);
    assert_eq!(one, format!("{}\n", render(&race(), &source)));
    let mut faults = vec![race(); SHOWN_MAX];
    assert!(!render_all(&faults, &source).contains("more"));
    let trap = Fault { code: Code::Trap, ..race() };
    faults.extend([race(), race(), trap.clone(), trap]);
    let text = render_all(&faults, &source);
    assert_eq!(text.matches("error[").count(), SHOWN_MAX);
    assert!(text.ends_with("\n\nand 4 more: 3 shared-race, 1 trap\n"), "{text}");
}

/// One of each kind is shown before a second of any, and all that is shown in the order of the list.
#[test]
fn the_only_one_of_a_kind_is_not_lost_among_many() {
    let mut faults = vec![race(); SHOWN_MAX + 5];
    faults.push(Fault { code: Code::OutOfBounds, other: None, ..race() });
    let text = render_all(&faults, &source);
    assert_eq!(text.matches("error[shared-race]").count(), SHOWN_MAX - 1);
    assert_eq!(text.matches("error[out-of-bounds]").count(), 1);
    assert!(text.ends_with("\n\nand 6 more: 6 shared-race\n"), "{text}");
}

#[test]
fn what_follows_from_a_fault_is_a_note_of_it() {
    let read = |opcode: &str, line| {
        let mut fault = Fault { code: Code::UninitialisedRead, other: None, message: String::new(), ..race() };
        (fault.site.line, fault.site.opcode, fault.count) = (line, opcode.to_owned(), 64);
        fault
    };
    let text = render_all(&[read("ld.shared.u32", 12), race()], &source);
    assert_eq!(text.matches("error[").count(), 1, "{text}");
    assert!(
        text.contains("note: most likely because of this, uninitialised-read at kernels/sum.cu:12, 64 times\n"),
        "{text}"
    );
    // Another line may have another reason, and a line that only writes reads nothing.
    for line in [9, 13] {
        assert_eq!(render_all(&[read("ld.shared.u32", line), race()], &source).matches("error[").count(), 2);
    }
    let mut copy = Fault { code: Code::Misaligned, ..read("cp.async.ca.shared.global", 3) };
    let stuck = Fault { code: Code::Deadlock, ..read("mbarrier.try_wait.parity.shared.b64", 5) };
    let all = [copy.clone(), read("ld.shared.u32", 4), stuck];
    assert_eq!(render_all(&all, &source).matches("error[").count(), 1);
    copy.site.opcode = "ld.global.u32".into();
    assert_eq!(render_all(&[copy, all[1].clone(), all[2].clone()], &source).matches("error[").count(), 3);
}

#[test]
fn long_lines_are_cut() {
    let long = |_: &str| Some("x".repeat(1000) + "\n" + &"é".repeat(1000));
    let mut fault = race();
    (fault.other, fault.site.line) = (None, 2);
    let text = render(&fault, &long);
    assert!(text.contains("ééé…\n") && text.lines().all(|line| line.chars().count() < 300), "{text}");
}

#[test]
fn lanes_are_ranges() {
    let cases = [
        (0, "no lanes"),
        (1, "lane 0"),
        (1 << 31, "lane 31"),
        (0b11, "lanes 0-1"),
        (0b101, "lanes 0, 2"),
        (u32::MAX, "lanes 0-31"),
        (0xFFFF_0000, "lanes 16-31"),
        (0x8000_00F1, "lanes 0, 4-7, 31"),
    ];
    for (mask, text) in cases {
        assert_eq!(lanes(mask), text);
    }
}

#[test]
fn every_code_is_explained() {
    for code in Code::ALL {
        let words = code.explanation();
        assert_eq!(Code::named(code.name()), Some(code));
        for clause in [words.why, words.remedy, words.may_miss, words.false_alarms] {
            let first = clause.chars().next().unwrap();
            assert!(!first.is_uppercase() && !clause.ends_with('.'), "{code}: a clause, not a sentence: {clause}");
            assert!(!clause.contains("  ") && !clause.contains('\n'), "{code}: {clause}");
        }
        let meaning = words.meaning;
        assert!(meaning.ends_with('.') && !meaning.contains("  ") && meaning.len() > 150, "{code}: {meaning}");
        let expected = match code {
            Code::UnsupportedInstruction => Blame::Simulator,
            Code::StepBudget => Blame::Either,
            _ => Blame::Kernel,
        };
        assert_eq!(words.blame, expected, "{code}");
    }
    assert_eq!(Code::named("sharedrace"), None);
}

#[test]
fn what_several_launches_found_is_one_where_it_is_alike() {
    let mut all = Vec::new();
    fold(&mut all, vec![race()]);
    fold(&mut all, vec![race(), Fault { variable: Some("others".into()), ..race() }]);
    let mut elsewhere = race();
    elsewhere.site.line += 1;
    fold(&mut all, vec![elsewhere, Fault { code: Code::GlobalRace, count: 1, ..race() }]);
    assert_eq!(all.iter().map(|fault| fault.count).collect::<Vec<_>>(), [24_690, 12_345, 12_345, 1]);
}

#[test]
fn like_notes_of_several_launches_are_one() {
    let note = || Note {
        kind: NoteKind::EqualWrites,
        message: "writes to sums[16] the value that another thread writes there".into(),
        site: site("kernels/sum.cu", 12, 1, "writes"),
        other: Some(site("kernels/sum.cu", 12, 2, "writes")),
        variable: Some("sums".into()),
        why: "in whatever order they come",
        count: 5,
    };
    let mut all = Vec::new();
    fold_notes(&mut all, vec![note(), Note { kind: NoteKind::ExitedThreads, ..note() }]);
    fold_notes(&mut all, vec![note(), Note { variable: Some("others".into()), ..note() }]);
    assert_eq!(all.iter().map(|note| note.count).collect::<Vec<_>>(), [10, 5, 5]);
}
