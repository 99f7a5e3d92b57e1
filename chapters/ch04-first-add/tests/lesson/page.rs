//! Claims of the page and of the kernels' head comments, as assertions on what the simulator counts.

use anyhow::{Context, Result, bail};
use ch04_first_add::CHAPTER;
use device::{Arg, Call, Choice, Code, Device, Fault, Geometry, KernelSource, SimOptions};
use lab::trial::{integers, sum};
use lab::{LaunchOptions, Planned, Problem, Type, input, mistake, session::built_root, trial};

/// Threads of a block, and the elements they take.
const BLOCK: usize = 256;
const SLICE: usize = 2 * BLOCK;

#[test]
fn one_block_by_hand() -> Result<()> {
    for (name, barriers) in [("first_add", 9), ("shared_mem", 8)] {
        let c = trial::one_block((&CHAPTER, name), 256)?;
        // Eight warps store what they loaded; 12 warp-additions load twice and store once; thread 0 loads the result.
        assert_eq!((c.shared_ld_wavefronts, c.shared_st_wavefronts), (2 * 12 + 1, 8 + 12), "{name}");
        assert_eq!(c.barriers, barriers * 8, "{name}: in each of eight warps");
        assert_eq!((c.global_ld_requests, c.global_st_requests), (2 * 8, 1), "{name}");
        assert_eq!((c.global_ld_sectors, c.global_st_sectors), (512 * 4 / 32, 1), "{name}");
        assert_eq!(c.divergent_branches, 5 + 1, "{name}: s = 16 to 1, and thread 0 at the end");
        let memory = c.shared_ld_requests + c.shared_st_requests + c.global_ld_requests + c.global_st_requests;
        let additions = 8 + 12;
        assert_eq!((memory + additions, c.inst_executed), (82, 737), "{name}: the core, and all of it");
    }
    Ok(())
}

#[test]
fn no_bank_conflicts_and_four_sectors_a_request() -> Result<()> {
    for variant in CHAPTER.variants {
        for block in [32, 64, 128, 256, 512, 1024] {
            let c = trial::one_block((&CHAPTER, variant.name), block)?;
            assert_eq!((c.shared_ld_conflicts, c.shared_st_conflicts), (0, 0), "{} {block}", variant.name);
            assert_eq!(c.global_ld_sectors, 4 * c.global_ld_requests, "{} {block}", variant.name);
        }
    }
    Ok(())
}

#[test]
fn the_second_element_costs_four_instructions_a_warp() -> Result<()> {
    trial::assert_facts(
        &CHAPTER,
        &[
            ("first_add-i32-one_a_thread-inst_executed", "705"), // 737 - 8 warps x 4
            ("first_add-i32-one_a_thread-inst_per_element", "2.75"),
            ("first_add-i32-two_a_thread-inst_per_element", "1.44"),
            ("first_add-i32-one_block-tree-add_inst_executed", "12"),
            ("first_add-i32-one_block-tree-add_thread_inst_executed", "255"),
            ("first_add-i32-one_block-tree-add_lane_efficiency", "66.4 %"),
        ],
    )?;
    Ok(())
}

#[test]
fn launches_of_the_page() -> Result<()> {
    let grids = |n, block| -> Result<Vec<u32>> {
        let problem = Problem::new(trial::variant(&CHAPTER, "first_add"), Type::I32, n, LaunchOptions::block(block));
        Ok(Planned::new(&problem)?.passes.iter().map(|pass| pass.grid()).collect())
    };
    assert_eq!(grids(1_000_000, 256)?, [1954, 4, 1]);
    assert_eq!(grids(262_144, 256)?, [512, 1]);
    assert_eq!(grids(262_145, 256)?, [513, 2, 1]);
    assert_eq!(grids(1 << 24, 256)?, [32_768, 64, 1]);
    assert_eq!(grids(1 << 22, 1024)?, [2048, 1]);
    assert_eq!(grids((1 << 22) + 1, 1024)?, [2049, 2, 1]);
    assert_eq!(grids(4096, 256)?, [8, 1]);
    Ok(())
}

#[test]
fn both_kernels_add_in_the_same_order() -> Result<()> {
    for n in [1, 511, 100_003] {
        let numbers = input::random(Type::F32, n, 1);
        let bits = |name| trial::bits((&CHAPTER, name), 256, &numbers);
        assert_eq!(bits("first_add")?, bits("shared_mem")?, "n = {n}");
    }
    Ok(())
}

/// A load is on its way until something reads its register.
#[test]
fn both_loads_are_issued_before_either_is_waited_for() -> Result<()> {
    let source = KernelSource::in_root(&built_root(), CHAPTER.slug);
    for entry in ["first_add_i32", "first_add_f32", "shared_mem_i32", "shared_mem_f32"] {
        let lines = source.listing(entry);
        let loads: Vec<usize> = (0..lines.len()).filter(|&i| lines[i].starts_with("ld.global")).collect();
        let &[first, second] = loads.as_slice() else { bail!("{entry} has {} loads from global memory", loads.len()) };
        let loaded = lines[first].split_whitespace().nth(1).context("a register")?;
        let read = |line: &&String| {
            line.split_once(", ").is_some_and(|(_, sources)| sources.contains(&loaded[..loaded.len() - 1]))
        };
        assert_eq!(lines[first + 1..second].iter().find(read), None, "{entry} waits for {loaded}");
    }
    Ok(())
}

/// One launch of a mistake over the first `n` of these numbers: the sum of one block, and what was found.
fn mistake(name: &str, numbers: &[i32], n: usize) -> Result<(i32, Vec<Fault>)> {
    let source = mistake::source(&CHAPTER, name, &built_root());
    Ok(trial::launched((&source, &format!("{name}_i32"), BLOCK as u32), (numbers, 0, n), 1)?)
}

#[test]
fn unguarded_loads_are_right_only_in_a_full_block() -> Result<()> {
    let (result, faults) = mistake("unguarded_loads", &integers(SLICE), SLICE)?;
    assert_eq!((result, faults.len()), (sum(&integers(SLICE)), 0));
    for n in [1, 16, BLOCK, SLICE - 100, SLICE - 1] {
        let (_, faults) = mistake("unguarded_loads", &integers(n), n)?;
        let seen: u64 = faults.iter().map(|fault| fault.count).sum();
        assert!(faults.iter().all(|fault| fault.code == Code::OutOfBounds), "{faults:?}");
        assert_eq!(seen as usize, SLICE - n, "every element that is not there is read");
    }
    Ok(())
}

#[test]
fn one_guard_is_out_of_bounds_where_the_second_element_is_missing() -> Result<()> {
    for (n, missing) in [(1, 1), (BLOCK, BLOCK), (SLICE - 100, 100), (SLICE, 0)] {
        let (_, faults) = mistake("one_guard", &integers(n), n)?;
        let seen: u64 = faults.iter().map(|fault| fault.count).sum();
        assert!(faults.iter().all(|fault| fault.code == Code::OutOfBounds), "{faults:?}");
        assert_eq!(seen, missing as u64, "n = {n}");
    }
    Ok(())
}

/// A GPU that owns the memory behind the input adds what is there, and reports no error.
#[test]
fn in_a_longer_allocation_the_same_mistake_is_silent_and_wrong() -> Result<()> {
    let longer = integers(SLICE);
    for name in ["unguarded_loads", "one_guard"] {
        let (result, faults) = mistake(name, &longer, SLICE - 100)?;
        assert_eq!((result, faults.len()), (sum(&longer), 0), "{name} adds all 512");
        assert_ne!(result, sum(&longer[..SLICE - 100]), "{name}");
    }
    Ok(())
}

#[test]
fn one_test_for_both_loses_the_elements_without_a_partner() -> Result<()> {
    let n = SLICE - 100;
    let (result, faults) = mistake("both_or_neither", &integers(n), n)?;
    let all = integers(n);
    let with_partner = sum(&all[..n - BLOCK]).wrapping_add(sum(&all[BLOCK..]));
    assert_eq!((result, faults.len()), (with_partner, 0), "nothing is out of order but the sum");
    assert_ne!(result, sum(&all));
    for n in [1, 16, BLOCK] {
        assert_eq!(mistake("both_or_neither", &all[..n], n)?.0, 0, "a half-full block sums nothing");
    }
    Ok(())
}

/// `from` says whether the second launch reads the partial sums, as it must, or the input again.
fn two_launches(numbers: &[i32], reads_partial_sums: bool) -> Result<i32> {
    let device = Device::open(Choice::Sim, SimOptions::default())?;
    let module = device.load(&KernelSource::in_root(&built_root(), CHAPTER.slug))?;
    let grid = numbers.len().div_ceil(SLICE);
    let input = device.upload("in", numbers)?;
    let (sums, total) = (device.alloc::<i32>("sums", grid)?, device.alloc::<i32>("total", 1)?);
    let second = if reads_partial_sums { &sums } else { &input };
    for (from, to, n, grid) in [(&input, &sums, numbers.len(), grid), (second, &total, grid, 1)] {
        let args = vec![Arg::Address(from, 0), Arg::Address(to, 0), Arg::U32(n as u32)];
        let geometry = Geometry::linear(grid as u32, BLOCK as u32);
        let report = device.launch(&Call { module: &module, kernel: "first_add_i32", geometry, args })?;
        assert!(report.faults.is_empty(), "{:?}", report.faults);
    }
    Ok(device.download(&total)?[0])
}

#[test]
fn a_second_launch_over_the_input_sums_its_first_few_elements() -> Result<()> {
    let numbers = integers(4096);
    assert_eq!(two_launches(&numbers, true)?, sum(&numbers));
    assert_eq!(two_launches(&numbers, false)?, sum(&numbers[..8]), "as many elements as the first launch had blocks");
    assert_eq!(two_launches(&[1; 4096], false)?, 8);
    Ok(())
}
