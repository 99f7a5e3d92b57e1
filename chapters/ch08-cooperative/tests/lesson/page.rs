//! Claims of the page, as assertions on what the simulator counts, on plans, on PTX and on the record of the clock.

use anyhow::{Context, Result};
use ch08_cooperative::CHAPTER;
use device::{Arg, Call, Checks, Choice, Code, Counters, Device, Geometry, KernelSource, Schedule, SimOptions};
use lab::{LaunchOptions, Planned, Problem, Type, hardware, input::random, mistake, session::built_root, trial};

/// Counts, and blocks of the widest launch.
fn counters(name: &str, ty: Type, n: usize) -> Result<(Counters, u64)> {
    let session = trial::simulator(&CHAPTER, Schedule::Independent { seed: None }, Checks::NONE)?;
    let (variant, options) = (trial::variant(&CHAPTER, name), LaunchOptions::default());
    let run = trial::right(&session, variant, options, &random(ty, n, 1), 0)?;
    Ok((run.counters.context("the simulator counts")?, u64::from(run.plan.grid())))
}

fn plan(name: &str, ty: Type, n: u64) -> Result<Planned> {
    Ok(Planned::new(&Problem::new(trial::variant(&CHAPTER, name), ty, n, LaunchOptions::default()))?)
}

/// The instructions of an entry of committed PTX.
fn listing(slug: &str, entry: &str) -> Vec<String> {
    KernelSource::in_root(&built_root(), slug).listing(entry)
}

fn count(listing: &[String], what: &str) -> usize {
    listing.iter().filter(|line| line.contains(what)).count()
}

#[test]
fn four_resident_blocks_a_multiprocessor_and_one_launch() -> Result<()> {
    let n = 1 << 22;
    let grids = |name| plan(name, Type::I32, n).map(|p| p.passes.iter().map(|pass| pass.grid()).collect::<Vec<_>>());
    assert_eq!(grids("redux")?, [528, 1], "132 x 4, then one");
    assert_eq!((grids("grid_sync")?, grids("last_block")?), (vec![528], vec![528]));
    assert_eq!(grids("cluster")?, [128, 8], "16 clusters, then one");
    for ty in [Type::I32, Type::F32, Type::F64] {
        for n in [1, 4096, 1 << 16, n, 1 << 30] {
            assert_eq!(plan("single_pass", ty, n)?.passes.len(), 1, "{ty}, n = {n}");
        }
    }
    Ok(())
}

/// Try it, 1.
#[test]
fn integers_take_more_blocks_sooner() -> Result<()> {
    let blocks = |ty, n| plan("single_pass", ty, n).map(|plan| plan.grid());
    assert_eq!((blocks(Type::I32, 1000)?, blocks(Type::F32, 1000)?), (1, 1));
    assert_eq!((blocks(Type::I32, 100_000)?, blocks(Type::F32, 100_000)?), (132, 48));
    assert_eq!(blocks(Type::I32, 4096)?, 1, "no other block to meet");
    Ok(())
}

#[test]
fn one_redux_for_five_shuffles_and_five_additions() -> Result<()> {
    let (ints, floats) = (listing("ch08-cooperative", "redux_i32"), listing("ch08-cooperative", "redux_f32"));
    assert_eq!((count(&ints, "redux.sync.add"), count(&ints, "shfl.sync")), (2, 0), "a warp's, and the warps'");
    assert_eq!((count(&floats, "redux.sync"), count(&floats, "shfl.sync")), (0, 10));
    let (counted, grid) = counters("redux", Type::F32, 1 << 16)?;
    assert_eq!(counted.shuffles, 45 * (grid + 1), "8 x 5 + 5 in each block");
    assert_eq!(counters("redux", Type::I32, 1 << 16)?.0.shuffles, 0);
    Ok(())
}

#[test]
fn sectors_atomics_and_barriers_by_hand() -> Result<()> {
    let n = 1 << 18;
    let (redux, grid) = counters("redux", Type::I32, n)?;
    let (input, sums) = (n as u64 * 4 / 32, (grid * 4).div_ceil(32));
    assert_eq!((redux.global_ld_sectors, redux.global_st_sectors), (input + sums, grid + 1));
    assert_eq!((redux.global_atom_sectors, redux.barriers), (0, (grid + 1) * 8));

    let (last, same) = counters("last_block", Type::I32, n)?;
    assert_eq!(same, grid);
    assert_eq!((last.global_ld_sectors, last.global_st_sectors), (input + sums, grid + 1), "as redux, in one launch");
    assert_eq!((last.global_atom_sectors, last.barriers), (grid, grid * 16 + 8));

    let (single, grid) = counters("single_pass", Type::I32, n)?;
    assert!(grid > 1);
    assert_eq!((single.global_ld_sectors, single.global_st_sectors), (input, 2), "the result, and the word put back");
    assert_eq!(single.global_atom_sectors, grid, "one a block");
    Ok(())
}

#[test]
fn vectors_need_a_quarter_of_the_load_instructions() -> Result<()> {
    let n = 1 << 18;
    let (scalar, _) = counters("redux", Type::I32, n)?;
    let (vector, _) = counters("single_pass", Type::I32, n)?;
    assert_eq!(vector.global_ld_requests, n as u64 / 32 / 4);
    assert!(scalar.global_ld_requests >= n as u64 / 32);
    Ok(())
}

#[test]
fn floats_send_no_atomics_and_one_block_nothing_at_all() -> Result<()> {
    for ty in [Type::F32, Type::F64] {
        let (counted, grid) = counters("single_pass", ty, 1 << 18)?;
        assert!(grid > 1);
        assert_eq!(counted.global_atom_sectors, 0, "{ty}");
    }
    let (alone, grid) = counters("single_pass", Type::I32, 4096)?;
    assert_eq!((grid, alone.global_atom_sectors, alone.global_st_sectors), (1, 0, 1));
    Ok(())
}

#[test]
fn who_waits_looks_again() -> Result<()> {
    let (waiting, not) = (counters("grid_sync", Type::I32, 1 << 16)?.0, counters("last_block", Type::I32, 1 << 16)?.0);
    assert!(waiting.global_ld_requests > 2 * not.global_ld_requests, "{waiting:?}");
    let (floats, ints) =
        (counters("single_pass", Type::F32, 1 << 16)?.0, counters("single_pass", Type::I32, 1 << 16)?.0);
    assert!(floats.global_ld_requests > ints.global_ld_requests);
    Ok(())
}

/// A message and its clearing are relaxed accesses of the whole card.
#[test]
fn messages_are_strong_and_so_is_their_clearing() -> Result<()> {
    let floats = listing("ch08-champion", "single_pass_tile_t256u2_f32");
    assert_eq!(count(&floats, "st.relaxed.gpu.global.u64"), 1, "the message");
    assert_eq!(count(&floats, "st.relaxed.gpu.global.v2.u64"), 2, "the clearing of two that are looked at together");
    assert_eq!(count(&floats, "ld.relaxed.gpu.global.u64"), 2, "both looks are always made");
    assert_eq!(count(&floats, "atom."), 0);
    let ints = listing("ch08-champion", "single_pass_tile_t256u2_i32");
    assert_eq!((count(&ints, "atom.global.add.u64"), count(&ints, "fence") + count(&ints, "membar")), (1, 0));
    Ok(())
}

#[test]
fn kernels_wait_for_the_launch_before_where_they_may_overlap_it() -> Result<()> {
    let source = KernelSource::in_root(&built_root(), "ch08-champion");
    let older = std::fs::read_to_string(&source.ptx)?;
    assert!(older.contains(".entry single_pass_tile_t256u2_f32(") && !older.contains("griddepcontrol"));
    let names: Vec<String> = source.entry_hashes()?.into_keys().collect();
    assert!(names.len() > older.matches(".entry ").count(), "some are for compute_90 alone");
    for name in names {
        let waits = source.listing(&name).iter().any(|line| line.starts_with("griddepcontrol.wait"));
        assert_eq!(waits, name.contains("_overlap_"), "{name}");
    }
    Ok(())
}

/// Try it, 5: the result, and the tickets that are left.
#[test]
fn a_counter_that_is_not_put_back_works_once() -> Result<()> {
    let device = Device::open(Choice::Sim, SimOptions::default())?;
    let module = device.load(&mistake::source(&CHAPTER, "no_reset", &built_root()))?;
    for (before, expected) in [(0u32, (4096, 8)), (8, (-1, 16))] {
        let (input, out) = (device.upload("in", &vec![1i32; 4096])?, device.upload("out", &[-1i32])?);
        let (sums, tickets) =
            (device.upload("of_blocks", &[0i32; 8])?, device.upload("tickets", &[u64::from(before)])?);
        let args = [&input, &out].map(|buffer| Arg::Address(buffer, 0)).into_iter();
        let args = args.chain([Arg::U32(4096), Arg::Address(&sums, 0), Arg::Address(&tickets, 0)]).collect();
        let call = Call { module: &module, kernel: "no_reset_i32", geometry: Geometry::linear(8, 256), args };
        let codes: Vec<Code> = device.launch(&call)?.faults.iter().map(|fault| fault.code).collect();
        assert_eq!(codes, [], "no checker has a word to say");
        assert_eq!((device.download(&out)?[0], device.download(&tickets)?[0]), expected);
    }
    Ok(())
}

/// The page's conclusions from the table of times, as long as the record is of these kernels.
#[test]
fn what_the_page_says_of_the_clock() -> Result<()> {
    let Some(record) = hardware::load_timed(&built_root(), CHAPTER.slug, "h200")? else {
        println!("skipped: no data/h200.json yet");
        return Ok(());
    };
    let time = |name: &str, n: u64| -> Result<f64> {
        record.case(name, "i32", n).and_then(|case| case.cold_us).with_context(|| format!("{name}, n = {n}"))
    };
    for n in [1 << 18, 1 << 20, 1 << 22, 1 << 24] {
        let (redux, last, grid) = (time("redux", n)?, time("last_block", n)?, time("grid_sync", n)?);
        assert!((0.85..1.0).contains(&(last / redux)), "one launch is a little faster: {last} and {redux} us");
        assert!(grid > 0.98 * last, "all blocks pay: {grid} and {last} us");
        assert!(time("single_pass", n)? < 0.9 * last, "one trip, and loads on their way: n = {n}");
        assert!(time("cluster", n)? > last, "n = {n}");
    }
    let gb_per_s = |name: &str| Ok::<_, anyhow::Error>((1u64 << 26) as f64 / time(name, 1 << 24)? / 1e3);
    assert!(gb_per_s("cluster")? < 2830.0, "8 KiB on its way for each of 128");
    let (redux, last) = (time("redux", 1 << 24)?, time("last_block", 1 << 24)?);
    assert!((0.95..1.05).contains(&(last / redux)), "in large arrays the meeting is lost: {last} and {redux} us");
    Ok(())
}
