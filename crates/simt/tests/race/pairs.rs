//! Every pair of accesses to one place by two threads: the same verdict in every memory, and the one that the model gives.

use std::collections::BTreeSet;
use std::fmt::Write;

use simt::{
    Arg, Check, Checks, Kernel, Launch, Memory, NoteKind, Options, Outcome, Program, Schedule, StreamLaunch, run_stream,
};

/// Part that an access plays beside another one that is strong for the same threads.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Role {
    Plain,
    Store,
    /// An exchange whose result no branch asks about.
    Exchange,
    Data,
    /// Data that is put back, worked on.
    Update,
    /// A load that a branch asks about.
    Look,
    Atomic,
    /// An atomic whose result a branch asks about.
    Asked,
}
use Role::{Asked, Atomic, Data, Exchange, Look, Plain, Store, Update};

/// What one thread does to the 16 bytes at the place.
struct Access {
    /// `{of}` is the state space, `{at}` the address, `{by}` the value, `{kept}` a register for data.
    text: &'static str,
    /// Each of its accesses: its role, and whether it writes.
    does: &'static [(Role, bool)],
    /// Strong for its block alone.
    in_block: bool,
}

const fn access(text: &'static str, does: &'static [(Role, bool)]) -> Access {
    Access { text, does, in_block: false }
}

const fn in_block(text: &'static str, does: &'static [(Role, bool)]) -> Access {
    Access { text, does, in_block: true }
}

const ACCESSES: [Access; 20] = [
    access("st{of}.u32 [{at}], {by}", &[(Plain, true)]),
    access("st{of}.u8 [{at}+1], {by}", &[(Plain, true)]),
    access("st{of}.v4.u32 [{at}], {{by}, {by}, {by}, {by}}", &[(Plain, true)]),
    access("ld{of}.u32 {kept}, [{at}]", &[(Plain, false)]),
    access("ld{of}.v2.u32 {{kept}, %more}, [{at}]", &[(Plain, false)]),
    access("st.relaxed.gpu{of}.u32 [{at}], {by}", &[(Store, true)]),
    access("st.volatile{of}.u32 [{at}], {by}", &[(Store, true)]),
    access("st.volatile{of}.u8 [{at}+1], {by}", &[(Store, true)]),
    access("ld.relaxed.gpu{of}.u32 {kept}, [{at}]", &[(Data, false)]),
    access("ld.volatile{of}.u32 {kept}, [{at}]", &[(Data, false)]),
    access("ld.relaxed.gpu{of}.u32 %flag, [{at}]", &[(Look, false)]),
    access("ld.volatile{of}.u32 %flag, [{at}]", &[(Look, false)]),
    access("red{of}.add.u32 [{at}], {by}", &[(Atomic, true)]),
    access("atom{of}.exch.b32 %more, [{at}], {by}", &[(Exchange, true)]),
    access("atom{of}.exch.b32 %flag, [{at}], {by}", &[(Asked, true)]),
    access(
        "ld.volatile{of}.u32 {kept}, [{at}]; @%here add.u32 {kept}, {kept}, {by}; @%here st.volatile{of}.u32 [{at}], {kept}",
        &[(Update, false), (Store, true)],
    ),
    in_block("st.relaxed.cta{of}.u32 [{at}], {by}", &[(Store, true)]),
    in_block("ld.relaxed.cta{of}.u32 {kept}, [{at}]", &[(Data, false)]),
    in_block("ld.relaxed.cta{of}.u32 %flag, [{at}]", &[(Look, false)]),
    in_block("red.relaxed.cta{of}.add.u32 [{at}], {by}", &[(Atomic, true)]),
];

/// The model's verdicts on two threads that nothing orders: faults, and the note `either`.
fn unordered(a: &Access, b: &Access, one_block: bool) -> BTreeSet<&'static str> {
    let morally_strong = one_block || !(a.in_block || b.in_block);
    let pair = |(one, writes): (Role, bool), (other, writes_too): (Role, bool)| match [one, other] {
        _ if !writes && !writes_too => None,
        [Plain, _] | [_, Plain] => Some("race"),
        _ if !morally_strong => Some("race"),
        [Update, _] if writes_too => Some("update"),
        [_, Update] if writes => Some("update"),
        [Data, Store] | [Store, Data] => Some("unfenced"),
        [Store | Exchange, Store | Exchange | Atomic] | [Atomic, Store | Exchange] => Some("either"),
        _ => None,
    };
    a.does.iter().flat_map(|one| b.does.iter().filter_map(move |other| pair(*one, *other))).collect()
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Global,
    Shared,
    /// The shared memory of the first block of a cluster.
    Cluster,
}

/// Relation of the two threads.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Threads {
    OneWarp,
    OneBlock,
    TwoBlocks,
    Launches,
    OverlappingLaunches,
}

/// Thread 0 does the one, thread `SECOND` the other; threads are counted through the grid from `base` on.
fn pair(place: Place, threads: Threads, texts: [&str; 2]) -> Kernel {
    let (of, at, address) = match place {
        Place::Global => (".global", "%global", ""),
        Place::Shared => (".shared", "%shared", "mov.u32 %shared, s;"),
        Place::Cluster => {
            (".shared::cluster", "%shared", "mov.u32 %shared, s; mapa.shared::cluster.u32 %shared, %shared, 0;")
        }
    };
    let second = if threads == Threads::OneBlock { 32 } else { 1 };
    let mut body = String::new();
    for (text, (who, value)) in texts.into_iter().zip([(0, 0x0101_0101), (second, 0x0202_0202)]) {
        let kept = if who == 0 { "%mine" } else { "%theirs" };
        let text = text.replace("{of}", of).replace("{at}", at).replace("{by}", "%value").replace("{kept}", kept);
        let _ = writeln!(body, "setp.eq.u32 %here, %who, {who};\nmov.u32 %value, {value};\n@%here {text};");
    }
    let stay = if place == Place::Cluster { "barrier.cluster.arrive; barrier.cluster.wait;" } else { "" };
    let ptx = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n
        .visible .entry pair(.param .u64 x, .param .u64 out, .param .u32 base) {{
        .shared .align 16 .b8 s[16];
        .reg .pred %here, %asked; .reg .b32 %who, %n, %block, %value, %mine, %theirs, %more, %flag, %shared; .reg .b64 %global, %out, %at;
        ld.param.u64 %global, [x]; ld.param.u64 %out, [out]; ld.param.u32 %who, [base];
        mov.u32 %block, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.u32 %who, %block, %n, %who;
        mov.u32 %n, %tid.x; add.u32 %who, %who, %n;
        mov.u32 %mine, 0; mov.u32 %theirs, 0; mov.u32 %flag, 0;
        {address}
        {body}
        setp.eq.u32 %asked, %flag, 7; @%asked bra LEAVE;
        mul.wide.u32 %at, %who, 4; add.u64 %out, %out, %at;
        add.u32 %mine, %mine, %theirs; st.global.u32 [%out], %mine;
        LEAVE: {stay} ret; }}"
    );
    let program = Program::load("pair.ptx", &ptx).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
    program.kernel("pair").unwrap_or_else(|error| panic!("{error}\n{ptx}"))
}

/// Faults of a run, and its notes, by what their lines say.
fn verdict(outcomes: &[Outcome]) -> BTreeSet<&'static str> {
    let faults = outcomes.iter().flat_map(|outcome| &outcome.faults).map(|fault| {
        assert!(fault.code.is_between_accesses(), "{}", fault.message);
        match &fault.message {
            line if line.contains("with nothing to say") => "unfenced",
            line if line.contains("one of the two writes may be lost") => "update",
            _ => "race",
        }
    });
    let notes = outcomes.iter().flat_map(|outcome| &outcome.notes);
    faults.chain(notes.filter(|note| note.kind == NoteKind::EitherLast).map(|_| "either")).collect()
}

fn run(kernel: &Kernel, place: Place, threads: Threads, options: &Options) -> BTreeSet<&'static str> {
    let (grid, block) = match threads {
        Threads::OneWarp => (1, 32),
        Threads::OneBlock => (1, 64),
        Threads::TwoBlocks => (2, 1),
        Threads::Launches | Threads::OverlappingLaunches => (1, 1),
    };
    let mut memory = Memory::new();
    let [x, out] = [16, 4 * 64].map(|bytes| {
        let address = memory.alloc("buffer", bytes, 16).expect("room for it");
        memory.write(address, &vec![0; bytes as usize]).expect("it is there");
        address
    });
    let cluster = (place == Place::Cluster).then_some([grid, 1, 1]);
    let launch = |base: u32| Launch {
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        cluster,
        args: vec![Arg::Address(x), Arg::Address(out), base.into()],
        ..Launch::default()
    };
    let launches = [launch(0), launch(1)];
    let count = if matches!(threads, Threads::Launches | Threads::OverlappingLaunches) { 2 } else { 1 };
    let overlaps = threads == Threads::OverlappingLaunches;
    let stream: Vec<_> = launches[..count].iter().map(|launch| StreamLaunch { kernel, launch, overlaps }).collect();
    verdict(&run_stream(&stream, &mut memory, options).expect("launches that can start"))
}

/// These checks with lanes together and apart.
fn settings(checks: Checks) -> Vec<Options> {
    [None, Some(1), Some(7)]
        .map(|seed| Schedule::Independent { seed })
        .into_iter()
        .chain([Schedule::Lockstep])
        .map(|schedule| Options { schedule, checks, threads: 1, ..Options::default() })
        .collect()
}

#[test]
fn a_pair_gets_one_verdict_in_every_memory() {
    use Threads::{Launches, OneBlock, OneWarp, OverlappingLaunches, TwoBlocks};
    let races = Checks::NONE.with(Check::SharedRace).with(Check::GlobalRace);
    let places = [
        (Place::Global, &[OneWarp, OneBlock, TwoBlocks, Launches, OverlappingLaunches][..]),
        (Place::Shared, &[OneWarp, OneBlock][..]),
        (Place::Cluster, &[OneWarp, OneBlock, TwoBlocks][..]),
    ];
    let mut wrong = Vec::new();
    for (place, threads) in places {
        for (&threads, a, b) in threads
            .iter()
            .flat_map(|threads| ACCESSES.iter().flat_map(move |a| ACCESSES.iter().map(move |b| (threads, a, b))))
        {
            let kernel = pair(place, threads, [a.text, b.text]);
            for options in settings(races) {
                let is_ordered = threads == Launches || (threads == OneWarp && options.schedule == Schedule::Lockstep);
                let expected = match is_ordered {
                    true => BTreeSet::new(),
                    false => unordered(a, b, matches!(threads, OneWarp | OneBlock)),
                };
                let mut found = run(&kernel, place, threads, &options);
                if expected.contains("update") && found.contains("update") {
                    // Its store comes behind what its load saw (observation), so it depends on who was first.
                    found.extend(expected.get("either"));
                }
                if found != expected {
                    wrong.push(format!(
                        "{place:?} {threads:?} {}: `{}` and `{}`: {found:?}, not {expected:?}",
                        options.schedule, a.text, b.text
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Stores of one instruction: the width, and how many elements a lane.
const STORES: [(&str, &str, u32); 8] = [
    ("st{of}.u8 [%at], %low", "u8", 1),
    ("st{of}.u16 [%at], %low", "u16", 2),
    ("st{of}.u32 [%at], %low", "u32", 4),
    ("st{of}.u64 [%at], %wide", "u64", 8),
    ("st{of}.v2.u8 [%at], {%same, %low}", "v2.u8", 2),
    ("st{of}.v2.u32 [%at], {%same, %low}", "v2.u32", 8),
    ("st{of}.v4.u32 [%at], {%same, %same, %same, %low}", "v4.u32", 16),
    ("st{of}.v2.u64 [%at], {%wide, %wide}", "v2.u64", 16),
];

/// Values that each lane stores, and their places: `%lane` to `%low`, and to a place by its number.
const TOGETHER: [(&str, &str, &str, &str); 7] = [
    ("all in one place", "mov.u32 %low, %lane;", "mov.u32 %place, 0;", "race"),
    ("neighbours in one place", "mov.u32 %low, %lane;", "shr.u32 %place, %lane, 1;", "race"),
    ("the ends in one place", "mov.u32 %low, %lane;", "rem.u32 %place, %lane, 31;", "race"),
    ("each in its own, falling", "mov.u32 %low, %lane;", "sub.u32 %place, 31, %lane;", "clean"),
    ("each in its own, apart", "mov.u32 %low, %lane;", "mul.lo.u32 %place, %lane, 3;", "clean"),
    ("one value in one place", "mov.u32 %low, 7;", "mov.u32 %place, 0;", "clean"),
    ("values that are stored alike", "mad.lo.u32 %low, %lane, 65536, 7;", "mov.u32 %place, 0;", "narrow"),
];

#[test]
fn lanes_of_one_store_get_one_verdict_in_every_memory() {
    let mut wrong = Vec::new();
    for place in [Place::Global, Place::Shared, Place::Cluster] {
        for (store, width, bytes) in STORES {
            for (what, values, places, expected, strong) in
                TOGETHER.into_iter().flat_map(|(a, b, c, d)| ["", ".volatile", ".relaxed.gpu"].map(|s| (a, b, c, d, s)))
            {
                let (of, register, base) = match place {
                    Place::Global => (".global", "b64", "cvt.u64.u32 %at, %byte; add.u64 %at, %at, %x;"),
                    Place::Shared => (".shared", "b32", "mov.u32 %at, s; add.u32 %at, %at, %byte;"),
                    Place::Cluster => (
                        ".shared::cluster",
                        "b32",
                        "mov.u32 %at, s; mapa.shared::cluster.u32 %at, %at, 0; add.u32 %at, %at, %byte;",
                    ),
                };
                let store = store.replace("st{of}", &format!("st{strong}{of}"));
                let ptx = format!(
                    ".version 8.0\n.target sm_90\n.address_size 64\n
                    .visible .entry lanes(.param .u64 x, .param .u64 out, .param .u32 base) {{
                    .shared .align 16 .b8 s[2048];
                    .reg .b32 %lane, %place, %low, %same, %byte; .reg .b64 %x, %wide; .reg .{register} %at;
                    ld.param.u64 %x, [x]; mov.u32 %lane, %tid.x; mov.u32 %same, 5;
                    {values} {places} cvt.u64.u32 %wide, %low; mul.lo.u32 %byte, %place, {bytes}; {base}
                    {store};
                    barrier.cluster.arrive; barrier.cluster.wait; ret; }}"
                );
                let program = Program::load("lanes.ptx", &ptx).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
                let kernel = program.kernel("lanes").unwrap_or_else(|error| panic!("{error}\n{ptx}"));
                let is_narrow = width.ends_with("u8") || width == "u16";
                let differ = if strong.is_empty() { "race" } else { "either" };
                let expected = match expected {
                    "clean" => BTreeSet::new(),
                    "narrow" if is_narrow => BTreeSet::new(),
                    _ => BTreeSet::from([differ]),
                };
                for options in settings(Checks::ALL) {
                    let found = run_lanes(&kernel, place, &options);
                    if found != expected {
                        wrong.push(format!(
                            "{place:?} {width}{strong} {}: {what}: {found:?}, not {expected:?}",
                            options.schedule
                        ));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn run_lanes(kernel: &Kernel, place: Place, options: &Options) -> BTreeSet<&'static str> {
    let mut memory = Memory::new();
    let x = memory.alloc("x", 2048, 16).expect("room for it");
    let launch = Launch {
        block: [32, 1, 1],
        cluster: (place == Place::Cluster).then_some([1; 3]),
        args: vec![Arg::Address(x), Arg::Address(x), 0_u32.into()],
        ..Launch::default()
    };
    let stream = [StreamLaunch { kernel, launch: &launch, overlaps: false }];
    verdict(&run_stream(&stream, &mut memory, options).expect("a launch that can start"))
}
