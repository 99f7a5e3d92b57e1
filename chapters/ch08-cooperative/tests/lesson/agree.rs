//! Kernels against the reference on the simulator, and plans as data: sizes, grids, types, operations, schedules, offsets,
//! and the state that one launch leaves to the next.

use ch08_cooperative::CHAPTER;
use device::card::H200;
use device::{Checks, KernelSource, Schedule};
use lab::element::Element;
use lab::plan::N_MAX;
use lab::{
    Arg, Array, LaunchOptions, Planned, Problem, Result, Session, Type, Variant, input::random, session::built_root,
    trial,
};
use proptest::prelude::*;
use reduction::families::champion::{self, Share};

fn variant(name: &str) -> &'static Variant {
    trial::variant(&CHAPTER, name)
}

fn grid(grid: u32) -> LaunchOptions {
    LaunchOptions { grid: Some(grid), ..LaunchOptions::default() }
}

/// Several blocks that meet, lanes and blocks driven apart: right, the same bits every time, and nothing found.
#[test]
fn any_schedule_gives_the_same_bits_and_no_fault() -> Result<()> {
    let seeds = (0..100).map(|seed| Schedule::Independent { seed: Some(seed) });
    let mut first = Vec::new();
    for schedule in std::iter::once(Schedule::Lockstep).chain(seeds) {
        let session = trial::simulator(&CHAPTER, schedule, Checks::ALL)?;
        let mut bits = Vec::new();
        for variant in CHAPTER.variants {
            let (block, grid) = if variant.name == "cluster" { (32, 16) } else { (variant.blocks.min, 5) };
            for &ty in variant.types {
                let options = LaunchOptions { block: Some(block), ..self::grid(grid) };
                let run = trial::right(&session, variant, options, &random(ty, 1501, 3), 1)?;
                bits.push(format!("{} {ty} {}", variant.name, run.result.bits()));
            }
        }
        first = if first.is_empty() { bits.clone() } else { first };
        assert_eq!(bits, first, "{schedule:?}");
    }
    Ok(())
}

/// The places that a vector of 16 bytes and a line of 128 have for an element, with ends of every length: an index that is off by one gives
/// another sum.
#[test]
fn single_pass_begins_and_ends_anywhere() -> Result<()> {
    let session = trial::checked(&CHAPTER)?;
    for &ty in variant("single_pass").types {
        let overlap = LaunchOptions { overlap: true, ..LaunchOptions::default() };
        for options in
            [LaunchOptions::default(), overlap, grid(1), grid(3), LaunchOptions { factor: Some(2), ..grid(2) }]
        {
            for offset in [0, 1, 2, 3, 15, 31, 33] {
                for n in (1..12).chain(4090..4102).chain(16_380..16_390) {
                    trial::right(&session, variant("single_pass"), options, &random(ty, n, 5), offset)?;
                }
            }
        }
    }
    Ok(())
}

#[test]
fn sizes_around_every_change_of_shape() -> Result<()> {
    let session = trial::checked(&CHAPTER)?;
    for &ty in variant("single_pass").types {
        for log in 8..=17 {
            for n in [(1usize << log) - 1, 1 << log, (1 << log) + 1] {
                for offset in [0, 1] {
                    let (options, numbers) = (LaunchOptions::default(), random(ty, n, 9));
                    trial::right(&session, variant("single_pass"), options, &numbers, offset)?;
                }
            }
        }
    }
    Ok(())
}

/// The packed word holds sums of values below 2^32, of which many have all their bits set.
#[test]
fn sums_of_extremes_wrap() -> Result<()> {
    let session = trial::checked(&CHAPTER)?;
    for value in [i32::MAX, i32::MIN, -1] {
        for variant in CHAPTER.variants {
            trial::right(&session, variant, grid(40), &Array::I32(vec![value; 50_003]), 0)?;
        }
    }
    Ok(())
}

/// Launches a plan three times with the same state, as a program does that sums three arrays, and with nothing else between.
fn thrice<T: Element>(
    session: &Session<'_>,
    variant: &Variant,
    options: LaunchOptions,
    values: &[T],
) -> Result<Vec<String>> {
    let plan = session.plan(variant, T::TYPE, values.len() as u64, options)?;
    let input = session.device().upload("in", values)?;
    let arrays = session.arrays::<T>(&plan)?;
    let mut results = Vec::new();
    for _ in 0..3 {
        for call in session.calls(variant, &plan, (&input, 0), &arrays)? {
            let faults = session.device().launch(&call)?.faults;
            assert!(faults.is_empty(), "{} {}: {faults:?}", variant.name, T::TYPE);
        }
        results.push(session.result(lab::Op::Sum, &arrays)?.expect("a result").bits());
    }
    Ok(results)
}

#[test]
fn a_launch_leaves_the_state_fit_for_the_next() -> Result<()> {
    let session = trial::checked(&CHAPTER)?;
    for variant in CHAPTER.variants {
        for &ty in variant.types {
            let results = match random(ty, 9001, 4) {
                Array::I32(values) => thrice(&session, variant, grid(8), &values),
                Array::F32(values) => thrice(&session, variant, grid(8), &values),
                Array::F64(values) => thrice(&session, variant, grid(8), &values),
                _ => unreachable!("chapter 8 has three types"),
            }?;
            let run = trial::right(&session, variant, grid(8), &random(ty, 9001, 4), 0)?;
            assert_eq!(results, vec![run.result.bits(); 3], "{} {ty}", variant.name);
        }
    }
    Ok(())
}

/// The names of the kernels that there are.
fn kernels(slug: &str) -> String {
    let source = KernelSource::in_root(&built_root(), slug);
    source.read_ptx(&source.read_cu().expect("a lesson")).expect("committed PTX")
}

fn any_type(variant: &Variant, index: prop::sample::Index) -> Type {
    variant.types[index.index(variant.types.len())]
}

proptest! {
    #[test]
    fn a_plan_covers_its_elements_with_kernels_that_there_are(
        n in prop_oneof![1u64..=N_MAX, 1u64..=1 << 17],
        which in any::<prop::sample::Index>(),
        choice in any::<prop::sample::Index>(),
        multiprocessors in 1u32..=200,
    ) {
        let variant = &CHAPTER.variants[which.index(CHAPTER.variants.len())];
        let ty = any_type(variant, choice);
        let op = variant.ops[choice.index(variant.ops.len())];
        let card = H200.clone().with_multiprocessors(multiprocessors);
        let plan = Planned::new(&Problem::new(variant, ty, n, LaunchOptions { op, ..LaunchOptions::default() }).on(&card, false))?;
        let ptx = kernels(variant.kernels.unwrap_or(CHAPTER.slug));
        let mut left = n;
        for pass in &plan.passes {
            let entry = format!(".entry {}(", pass.kernel);
            prop_assert!(ptx.contains(&entry), "{}", entry);
            prop_assert!(pass.grid() > 0 && pass.grid().is_multiple_of(pass.geometry.cluster) && pass.block() <= 1024);
            // A grid strides over all elements that it is given, so that it covers what the launch before it left.
            prop_assert_eq!(pass.elements, left);
            let Some(Arg::Sums(to)) = pass.args.get(1).copied() else { panic!("no output: {pass:?}") };
            left = plan.sums[to];
        }
        prop_assert_eq!((left, plan.sums.last().copied()), (1, Some(1)));
        prop_assert_eq!(plan.passes.len() == 1, variant.name != "redux" && variant.name != "cluster" || plan.sums.len() == 1);
    }

    /// A block of each slot, a ticket, or a word that is wide enough to count the blocks.
    #[test]
    fn the_state_has_room_for_every_block(n in 1u64..=N_MAX, blocks in 1u32..=100_000, choice in any::<prop::sample::Index>()) {
        for name in ["grid_sync", "last_block", "single_pass"] {
            let variant = variant(name);
            let ty = any_type(variant, choice);
            let Ok(plan) = Planned::new(&Problem::new(variant, ty, n, grid(blocks))) else {
                // The upper 16 bits of the word count the blocks; blocks that wait for each other are all on the card.
                let most = if name == "grid_sync" { 132 * 8 } else { 65_535 };
                prop_assert!(name != "last_block" && blocks > most, "{}: {} blocks were refused", name, blocks);
                continue;
            };
            let pass = &plan.passes[0];
            prop_assert_eq!(pass.grid(), blocks, "an option is honoured or refused");
            match name {
                "single_pass" => prop_assert!(plan.state_words >= 4 * u64::from(blocks)),
                "last_block" => prop_assert_eq!((plan.state_words, plan.sums[0]), (1, u64::from(blocks))),
                _ => prop_assert_eq!((plan.state_words, plan.sums[0], pass.geometry.cooperative), (0, u64::from(blocks), true)),
            }
        }
    }

    /// The block, the loads and the share in the name are those of the launch, and what the reader asks for is kept.
    #[test]
    fn single_pass_takes_an_instance_that_there_is(
        n in prop_oneof![1u64..=1 << 40, 1u64..=1 << 17],
        block in prop::option::of(prop::sample::select(vec![256u32, 512])),
        factor in prop::option::of(prop::sample::select(vec![2u32, 8])),
        overlap in any::<bool>(),
        choice in any::<prop::sample::Index>(),
        multiprocessors in 1u32..=200,
    ) {
        let ty = any_type(variant("single_pass"), choice);
        let options = LaunchOptions { block, factor, overlap, ..LaunchOptions::default() };
        let card = H200.clone().with_multiprocessors(multiprocessors);
        let problem = Problem::new(variant("single_pass"), ty, n, options).on(&card, false);
        let Ok(plan) = Planned::new(&problem) else {
            let (block, factor) = (block.expect("an option"), factor.expect("an option"));
            prop_assert!(!champion::INSTANCES.contains(&(Share::ManyTiles, block, factor)), "{} {} was refused", block, factor);
            return Ok(());
        };
        let pass = &plan.passes[0];
        let overlapping = if overlap { "overlap_" } else { "" };
        let name = |share: Share| match share {
            Share::OneBlock => "block",
            Share::OneTile => "tile",
            Share::ManyTiles => "tiles",
        };
        let named = |&(share, b, u): &(Share, u32, u32)| {
            pass.kernel == format!("single_pass_{overlapping}{}_t{b}u{u}_{ty}", name(share))
        };
        let (share, b, u) = champion::INSTANCES.into_iter().find(named).expect("an instance");
        prop_assert_eq!((b, overlap), (pass.block(), pass.geometry.overlaps));
        prop_assert!(block.is_none_or(|asked| asked == b) && factor.is_none_or(|asked| asked == u), "{} {:?}", pass.kernel, problem.options);
        prop_assert!((1..=65_535).contains(&pass.grid()));
        // One tile a block has to be enough, and is counted in 32 bits.
        let vectors = n.div_ceil(16 / ty.bytes());
        let of_one_tile = u64::from(pass.grid()) * u64::from(b * u);
        prop_assert!(share == Share::ManyTiles || vectors <= of_one_tile && of_one_tile <= u64::from(u32::MAX / 4));
        prop_assert!(share != Share::OneBlock || pass.grid() == 1);
    }
}
