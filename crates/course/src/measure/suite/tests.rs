//! A run on the simulator: what it judges, leaves out and records.

use device::{Checks, Choice};
use lab::measurement::WHOLE;
use lab::session::built_root;

use super::*;
use crate::measure::task::Task;
use lab::Op;

/// A run on the simulator, which judges as a GPU does and gives no times.
fn simulated(options: &Options, out: PathBuf) -> Suite<'_> {
    let sim = SimOptions { checks: Checks::NONE, ..SimOptions::default() };
    let device = Device::open(Choice::Sim, sim).unwrap();
    let source = KernelSource::in_root(&built_root(), lab::clock::CEILING);
    let record = crate::measure::empty_record(&device, source.root(), false);
    Suite::new(options, device, source, record, out).unwrap()
}

/// The same with options of its own, which writes into a folder of its own.
fn simulated_with(words: &[&str]) -> (Suite<'static>, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    (simulated(Box::leak(Box::new(Options::of(words))), dir.path().join("sim.json")), dir)
}

#[test]
fn every_variant_is_judged_and_what_fails_costs_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let (out, absent) = (dir.path().join("m/sim.json"), dir.path().join("absent.so"));
    let mut options = Options::of(&["--sizes", "9..10"]);
    options.cub = Some(absent);
    let mut suite = simulated(&options, out.clone());
    suite.all(&KernelSource::in_root(&built_root(), CEILING)).unwrap();
    // An entrant that the simulator cannot run is reported, like a file that is not there, and the rest is measured.
    let is_known = |problem: &String| problem.contains("absent.so") || problem.contains("unsupported instruction");
    assert!(suite.problems[0].contains("absent.so"), "{:?}", suite.problems);
    assert!(suite.problems.iter().all(is_known), "{:?}", suite.problems);

    let record = measurement::read(&out).unwrap();
    for lesson in lessons() {
        let own = kernels::file_hashes(&built_root(), lesson.slug).unwrap();
        assert!(own.keys().all(|name| record.kernels.contains_key(name)));
        if suite.table(lesson.slug).is_some() {
            continue;
        }
        let everywhere =
            lesson.variants.iter().filter(|variant| variant.compute_capability == 80 && variant.per == lab::Per::Array);
        for (variant, &ty) in everywhere.flat_map(|v| v.types.iter().map(move |ty| (v, ty))) {
            let case = record.plain(variant.name, ty, 1 << 9).expect(variant.name);
            assert!(case.ok || variant.announced.is_some(), "{case:?}");
            assert_eq!((case.cold_us, case.warm_us, case.chapter.as_deref()), (None, None, Some(lesson.slug)));
        }
    }
    let overlap = record.cases.iter().filter(|case| case.contest == Contest::BackToBack);
    assert!(overlap.map(MeasuredCase::name).eq([[CHAMPION, NOT_AHEAD]; 6].concat()), "two sizes of three types");
    let cleared = record.cases.iter().filter(|case| case.entrant == WITH_MEMSET);
    assert_eq!(cleared.filter(|case| case.contest == Contest::Alone && case.ok).count(), 6);
    let by_host = |contest| record.cases.iter().filter(move |case| case.contest == contest);
    assert!(by_host(Contest::Host).map(MeasuredCase::name).eq([[CHAMPION, WHOLE]; 3].concat()), "2^10 of three types");
    assert!(by_host(Contest::Host).all(|case| case.ok && case.judged == 1), "{:?}", record.cases);
    assert_eq!(by_host(Contest::HostRow).count(), 0, "without a clock no rows");
    let is_float = |case: &MeasuredCase| case.ty != "i32";
    let errors = record.cases.iter().filter(|case| case.name() == CHAMPION);
    assert!(
        errors.into_iter().all(|case| case.error.is_some_and(|e| e < 1e-6) == is_float(case)),
        "{:?}",
        record.cases
    );
    let graphs = record.cases.iter().filter(|case| case.contest != Contest::Host);
    assert!(graphs.into_iter().all(|case| case.judged == 2), "each reduction of a graph");
    // The proofs between other kernels run here too.
    assert_eq!(record.proofs.len(), 6, "three types, with overlap and without");
    assert!(record.proofs.iter().all(|proof| (proof.judged, proof.wrong) == (3, 0)), "{:?}", record.proofs);
    assert_eq!((record.stale(&built_root()).unwrap(), record.nameless()), (vec![], vec![]));
    assert!(record.code["ch08-champion"].starts_with("committed"), "{:?}", record.code);
}

#[test]
fn ragged_shifted_and_swept_cases_say_what_they_are() {
    let (mut suite, _dir) = simulated_with(&["--chapters", "ch01-naive,ch08-cooperative"]);
    let mut pool = Pool::<i32>::new(&suite.bench.device, 1 << 12).unwrap();
    suite.ragged(&pool, 1 << 12).unwrap();
    let cases: Vec<(u64, u64)> = suite.record.cases.iter().map(|case| (case.n, case.offset)).collect();
    assert_eq!(cases, [(4095, 0), (4097, 0), (4096, 1), (4096, 2), (4096, 3)]);

    suite.sweeps(&mut pool, 1000).unwrap();
    assert!(suite.problems.iter().all(|problem| problem.starts_with("cluster ")), "{:?}", suite.problems);
    let of = |name: &str, swept: &str| {
        let cases = suite.record.cases.iter().filter(|c| c.name() == name && c.swept.as_deref() == Some(swept));
        cases.map(|case| if swept == "block" { case.block } else { case.factor }.unwrap()).collect::<Vec<u32>>()
    };
    assert_eq!(of("interleaved_modulo", "block"), [64, 128, 256, 512, 1024]);
    assert_eq!(of("single_pass", "factor"), [2, 8]);
    assert!(suite.record.cases[5..].iter().all(|case| !case.is_plain()));
}

#[test]
fn the_champion_without_one_of_its_ideas_is_right() {
    fn judged<T: Element>(suite: &Suite<'_>) {
        let n = 1 << 16;
        let pool = Pool::<T>::new(&suite.bench.device, n).unwrap();
        let entrants = |suite: &Suite<'_>| {
            let (session, variant) = suite.champion::<T>().unwrap();
            let names = ablation::entrants::<T>(session, variant, n).unwrap();
            names.iter().map(|entrant| entrant.name.clone()).collect::<Vec<_>>()
        };
        // Integers have neither columns nor slots.
        let of_floats = ["shuffles", "lone_word"];
        let is_there = |name: &&str| T::TYPE != Type::I32 || !of_floats.contains(name);
        let expected: Vec<&str> = ABLATIONS.map(|(name, _)| name).into_iter().filter(is_there).collect();
        assert_eq!(entrants(suite), expected, "{}: all are compiled for this size", T::NAME);
        let group = suite.measured(&pool, n, &|suite| {
            let (session, variant) = suite.champion::<T>().context("the champion")?;
            ablation::entrants(session, variant, n)
        });
        let (cases, failed) = group.unwrap();
        assert!(failed.is_empty() && cases.len() == expected.len(), "{failed:?}");
        assert!(cases.iter().all(|case| case.ok && case.judged == 2), "{cases:?}");
        let launches: Vec<u64> = cases.iter().filter_map(|case| case.launches).collect();
        assert_eq!(launches.iter().sum::<u64>(), expected.len() as u64 + 1, "two launches are two");
    }
    let (suite, _dir) = simulated_with(&["--chapters", "ch08-cooperative"]);
    judged::<i32>(&suite);
    judged::<f32>(&suite);
}

#[test]
fn grids_are_swept_where_a_plan_takes_any() {
    let (suite, _dir) = simulated_with(&["--chapters", "ch01-naive,ch07-coarsening"]);
    let grids = |name: &str| {
        let (session, variant) = suite.variants::<i32>().into_iter().find(|(_, v)| v.name == name).unwrap();
        suite.grids::<i32>(session.chapter.slug, variant, SWEEP_N)
    };
    assert_eq!(grids("grid_stride_shuffle"), [64, 132, 264, 528, 1056]);
    assert!(grids("interleaved_modulo").is_empty(), "its grid follows from its input");
}

#[test]
fn every_kind_of_row_is_judged_row_by_row() {
    let (mut suite, _dir) = simulated_with(&["--chapters", "ch10-rows", "--types", "f32,bf16"]);
    let table = suite.table("ch10-rows").unwrap().clone();
    let (ops, shapes) = (table.ops(), [(300, 20), (2, 4096), (64, 33)]);
    let tasks = ops.iter().flat_map(|&op| shapes.map(|shape| Task::matrix("rows", op, shape)));
    let tasks: Vec<Task> = tasks.chain(shapes.map(Task::columns)).chain(Task::ragged((64, 32)).unwrap()).collect();
    assert_eq!(tasks.len(), 3 * (5 + 1) + 4);
    suite.rows_of::<f32>(&table, &tasks).unwrap();
    suite.rows_of::<half::bf16>(&table, &tasks[..15]).unwrap();
    assert_eq!((&suite.problems, &suite.left_out), (&Vec::new(), &Vec::new()));
    let record = measurement::read(&suite.out).unwrap();
    assert_eq!(record.cases.len(), tasks.len() + 15);
    for case in &record.cases {
        let (rows, cols) = (case.rows.unwrap(), case.cols.unwrap());
        let values = if case.per.is_some() { cols } else { rows };
        assert!(case.ok && case.judged == 2 * values && case.entrant == measurement::ENTRANT, "{case:?}");
        assert!(case.offsets.is_some() || rows * cols == case.n, "{case:?}");
    }
    let names: Vec<&str> = record.cases.iter().filter_map(|case| case.offsets.as_deref()).collect();
    assert_eq!(names, ["uniform", "power", "giant", "empty"]);
}

#[test]
fn rows_that_the_time_is_not_enough_for_are_named() {
    let (mut suite, _dir) = simulated_with(&["--chapters", "ch10-rows", "--seconds", "0"]);
    let table = suite.table("ch10-rows").unwrap().clone();
    let tasks = [Task::matrix("rows", Op::Sum, (3, 5)), Task::columns((3, 5))];
    suite.rows_of::<f32>(&table, &tasks).unwrap();
    assert_eq!(suite.left_out, ["rows sum 3x5 f32", "columns sum 3x5 f32"]);
    assert!(suite.record.cases.is_empty());
}

#[test]
fn matrices_are_judged_by_rows_and_every_replay_against_a_run_before() {
    use crate::measure::matrices::Copying;
    let shapes = [(64, 33), (3, 5000)];
    let of = |slug: &str, ops: &[Op]| {
        let (mut suite, _dir) = simulated_with(&["--chapters", slug]);
        // Numbers are made for the largest shape of a table.
        let mut table = suite.table(slug).unwrap().clone();
        (table.shapes, table.models, table.drawn) = (shapes.to_vec(), Vec::new(), Vec::new());
        let source = KernelSource::in_root(&built_root(), CEILING);
        let mut copying = Copying::new(&suite.bench.device, &source).unwrap();
        let losses = suite.losses(&table, &source).unwrap();
        let mut numbers = Vec::new();
        for &op in ops {
            let tasks = shapes.map(|shape| Task::matrix(&table.variant, op, shape));
            let kernels = (&mut copying, losses.as_ref());
            suite.matrices_of::<f32>(&table, &mut numbers, kernels, &tasks).unwrap();
            let kernels = (&mut copying, losses.as_ref());
            suite.matrices_of::<half::bf16>(&table, &mut numbers, kernels, &tasks).unwrap();
        }
        assert_eq!((&suite.problems, &suite.left_out), (&Vec::new(), &Vec::new()));
        let is_judged =
            |case: &MeasuredCase| case.ok && case.judged >= case.rows.unwrap() && case.chapter.as_deref() == Some(slug);
        let saved = suite.record.cases.iter().filter(|case| case.entrant == measurement::SAVED).count();
        assert_eq!(saved, if losses.is_some() { 4 } else { 0 });
        assert_eq!(suite.record.cases.len(), 4 * ops.len() + saved);
        assert!(suite.record.cases.iter().all(is_judged), "{:?}", suite.record.cases);
    };
    let ops = [Op::Softmax, Op::Logsumexp, Op::CrossEntropy, Op::SoftmaxBackward, Op::CrossEntropyBackward];
    of("ch11-softmax", &ops);
    of("ch12-norms", &[Op::LayerNorm, Op::AddRmsNorm, Op::LayerNormBackward]);
}

/// A contest measures all that its chapter's kernel computes, but for the types that it says it leaves out.
#[test]
fn every_contest_is_of_what_its_chapter_computes() {
    for table in ContestTable::all(&built_root()).unwrap() {
        let lesson = lessons().into_iter().find(|lesson| lesson.slug == table.chapter).unwrap();
        let variant = lesson.variant(&table.variant).unwrap();
        for (op, ty) in table.pairs() {
            assert!(variant.computes(op, ty), "{}: {op} of {ty}", table.chapter);
        }
        let all = variant.ops.iter().flat_map(|&op| variant.types.iter().map(move |&ty| (op, ty)));
        let is_measured = |pair| table.pairs().any(|other| other == pair);
        for (op, ty) in all.filter(|&(op, ty)| variant.computes(op, ty)) {
            assert_ne!(is_measured((op, ty)), table.unmeasured.contains(&ty), "{}: {op} of {ty}", table.chapter);
        }
    }
}

#[test]
fn a_part_that_no_chapter_has_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::of(&["--parts", "times,norm"]);
    let device = Device::open(Choice::Sim, SimOptions::default()).unwrap();
    let source = KernelSource::in_root(&built_root(), lab::clock::CEILING);
    let record = crate::measure::empty_record(&device, source.root(), false);
    let refused = Suite::new(&options, device, source, record, dir.path().join("sim.json"));
    let said = refused.err().expect("no such part").to_string();
    assert!(said.starts_with("--parts norm: there is no such part; there are ") && said.contains("norms"), "{said}");
}

#[test]
fn what_differs_between_two_arrays_is_counted() {
    use crate::measure::matrices::Copying;
    let sim = SimOptions::default();
    let device = Device::open(Choice::Sim, sim).unwrap();
    let mut copying = Copying::new(&device, &KernelSource::in_root(&built_root(), CEILING)).unwrap();
    let numbers: Vec<half::bf16> = lab::input::elements(1003, 1);
    let a = device.upload("a", &numbers).unwrap();
    for (changed, unequal) in [(None, 0), (Some(0), 1), (Some(1002), 1), (Some(1000), 1), (Some(500), 1)] {
        let mut other = numbers.clone();
        if let Some(at) = changed {
            other[at] = half::bf16::from_bits(other[at].to_bits() ^ 1);
        }
        let b = device.upload("b", &other).unwrap();
        device.launch(&copying.compare(&a, &b)).unwrap();
        assert_eq!(copying.count(&device).unwrap(), unequal, "{changed:?}");
    }
    // Every byte is copied, and none behind.
    for how in crate::measure::limits::COPIES {
        let from = device.upload("from", &(0..4099u32 * 4).collect::<Vec<u32>>()).unwrap();
        let to = device.upload("to", &vec![7u32; 4099 * 4]).unwrap();
        let ends = [device::Arg::Address(&from, 0), device::Arg::Address(&to, 0)];
        let report = device.launch(&copying.copy(ends, 4097 * 16, how)).unwrap();
        let copied = device.download(&to).unwrap();
        assert!(report.faults.is_empty() && copied[..4097 * 4].iter().copied().eq(0..4097 * 4), "{how:?}");
        assert!(copied[4097 * 4..].iter().all(|&word| word == 7), "{how:?}");
    }
}
