//! Claims of the page and of the kernels' head comments, as assertions on what the simulator counts and on the PTX.

use anyhow::{Context, Error, Result, ensure};
use ch06_templates::CHAPTER;
use device::nvrtc::{Nvrtc, pinned};
use device::{Code, Fault, KernelSource, listing};
use lab::trial::{integers, sum};
use lab::{Array, LaunchOptions, Op, Type, input, mistake, record, session::built_root, trial};

const BLOCKS: [u32; 6] = [32, 64, 128, 256, 512, 1024];

fn fact<'a>(facts: &'a [(String, String)], name: &str) -> Result<&'a str> {
    facts.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str()).with_context(|| name.to_owned())
}

#[test]
fn one_block_of_256_by_hand() -> Result<()> {
    let unrolled = trial::one_block((&CHAPTER, "template_unrolled"), 256)?;
    // Eight warps store what they loaded; s = 128 and 64 add in 4 + 2 warps, two loads and one store each; the last warp
    // loads its own value and one in each of six rounds, and stores in five.
    assert_eq!((unrolled.shared_ld_wavefronts, unrolled.shared_st_wavefronts), (2 * 6 + 7, 8 + 6 + 5));
    assert_eq!((unrolled.barriers, unrolled.shuffles), (3 * 8, 0));
    // Set-up and load, the block's two rounds, the test for the last warp, its rounds with the result, the end.
    let parts = [26 * 8, (4 * 7 + 4 * 3) + (2 * 7 + 6 * 3), 2 * 8, 6 + 4 * 5 + 2 + 2 + 4, 8];
    assert_eq!((parts, unrolled.inst_executed), ([208, 72, 16, 34, 8], 338));
    assert_eq!(parts.iter().sum::<u64>(), unrolled.inst_executed);
    let shuffle = trial::one_block((&CHAPTER, "template_shuffle"), 256)?;
    assert_eq!((shuffle.shared_ld_wavefronts, shuffle.shared_st_wavefronts), (1, 8), "one value a warp");
    assert_eq!((shuffle.barriers, shuffle.shuffles), (8, 8 * 5 + 3));
    assert_eq!(shuffle.inst_executed, 424);
    Ok(())
}

#[test]
fn constants_take_61_of_the_shuffles_instructions() -> Result<()> {
    let ptx = committed_ptx()?;
    let listing = body(&ptx, "template_shuffle_b256_i32")?;
    let after = |opcode: &str, from: usize| -> Result<usize> {
        let found = listing[from..].iter().rposition(|line| line.starts_with(opcode));
        found.map(|at| from + at + 1).with_context(|| opcode.to_owned())
    };
    let constants = |lines: &[&str]| {
        let value =
            |line: &&str| line.strip_prefix("mov.u32")?.split_once(", ")?.1.trim_end_matches(';').parse::<i32>().ok();
        lines.iter().filter_map(value).count() as u64
    };
    let barrier = after("bar.sync", 0)?;
    let of_each_warp = constants(&listing[after("ld.global", 0)?..barrier]);
    let of_warp_0 = constants(&listing[after("ld.shared", barrier)?..]);
    assert_eq!((of_each_warp, of_warp_0), (7, 5));
    assert_eq!(of_each_warp * 8 + of_warp_0, 61);
    Ok(())
}

/// The record of chapter 5 for one full block of 256.
fn before(name: &str, ty: Type) -> Result<record::SimCase> {
    let record = record::load(&built_root(), "ch05-unroll")?.context("chapter 5 has a record")?;
    record.case(name, ty, 512).cloned().context("its case")
}

#[test]
fn the_loop_is_what_is_gone() -> Result<()> {
    let then = before("unroll_syncwarp", Type::I32)?;
    let now = trial::one_block((&CHAPTER, "template_unrolled"), 256)?;
    let count = |name: &str| then.counters.get(name).copied().unwrap_or(0);
    assert_eq!((count("inst_executed"), now.inst_executed), (479, 338));
    // The subjects of the lesson stay: traffic (but for the result, which has no way through memory any more), barriers.
    assert_eq!(count("barriers"), now.barriers);
    assert_eq!(count("global_ld_sectors"), now.global_ld_sectors);
    assert_eq!(count("shared_ld_wavefronts"), now.shared_ld_wavefronts + 1);
    assert_eq!(count("shared_st_wavefronts"), now.shared_st_wavefronts + 1);
    // Above the last warp: the loop's test before it, then 14 for a warp that adds and 7 for one that does not, twice.
    let (working, idle) = (4 + 2, 4 + 6);
    assert_eq!((2 * 8 + 14 * working + 7 * idle, 7 * working + 3 * idle), (170, 72));
    // The table, part by part: set-up and load, all warps, warp 0, the end.
    let last_warp_then = 2 * 8 + (9 + 4 * 8 + 7) + 2 * 8 + 5;
    assert_eq!((27 * 8 + 170 + last_warp_then + 8, last_warp_then), (count("inst_executed"), 85));
    assert_eq!(26 * 8 + 72 + 50 + 8, now.inst_executed);
    assert_eq!(21 * 8 + 26 * 8 + 40 + 8, trial::one_block((&CHAPTER, "template_shuffle"), 256)?.inst_executed);
    Ok(())
}

fn ptx_of(slug: &str) -> Result<String> {
    let source = KernelSource::in_root(&built_root(), slug);
    source.read_ptx(&source.read_cu()?).map_err(Error::msg)
}

fn committed_ptx() -> Result<String> {
    ptx_of(CHAPTER.slug)
}

/// The instructions and labels of an entry.
fn body<'a>(ptx: &'a str, entry: &str) -> Result<Vec<&'a str>> {
    let listing = listing(ptx, entry);
    ensure!(!listing.is_empty(), "no {entry}");
    Ok(listing)
}

#[test]
fn a_round_of_the_chain_is_seven_instructions() -> Result<()> {
    let facts = trial::facts(&CHAPTER)?;
    let size = |block: u32| -> Result<usize> {
        Ok(fact(&facts, &format!("template_unrolled-i32-b{block}-ptx_instructions"))?.parse()?)
    };
    for pair in BLOCKS[1..].windows(2) {
        assert_eq!(size(pair[1])? - size(pair[0])?, 7, "{pair:?}");
    }
    let count = |name: &str| -> Result<(usize, usize)> {
        let lines: Vec<&str> = fact(&facts, name)?.lines().collect();
        Ok((lines.iter().filter(|line| line.ends_with(';')).count(), lines.len()))
    };
    // The loop with its test before it, and two rounds of seven with a label each.
    assert_eq!((count("ptx-loop")?, count("ptx-chain")?), ((2 + 14, 16 + 3), (14, 14 + 2)));
    let chain = fact(&facts, "ptx-chain")?;
    for constant in [", 127;", ", 63;", "+512]", "+256]"] {
        assert_eq!(chain.matches(constant).count(), 1, "{constant} in\n{chain}");
    }
    assert!(!chain.contains("mul.") && !chain.contains("add.s64"), "no address is computed:\n{chain}");
    // After the load chapter 5 computes one in the loop, one in each of six rounds, and the one of the result.
    let before = ptx_of("ch05-unroll")?;
    for (ptx, entry, addresses) in
        [(before, "unroll_syncwarp_i32", 1 + 6 + 1), (committed_ptx()?, "template_unrolled_b256_i32", 1)]
    {
        let listing = body(&ptx, entry)?;
        let after_load = listing.iter().skip_while(|line| !line.starts_with("bar.sync"));
        assert_eq!(after_load.filter(|line| line.starts_with("mul.wide")).count(), addresses, "{entry}");
    }
    Ok(())
}

#[test]
fn table_of_block_sizes() -> Result<()> {
    let facts = trial::facts(&CHAPTER)?;
    for block in BLOCKS {
        let (warps, rounds) = (u64::from(block / 32), u64::from((block / 64).max(1).ilog2()));
        let unrolled = trial::one_block((&CHAPTER, "template_unrolled"), block)?;
        assert_eq!(unrolled.barriers, (1 + rounds) * warps, "block {block}");
        assert_eq!(unrolled.shuffles, 0);
        let shuffle = trial::one_block((&CHAPTER, "template_shuffle"), block)?;
        let one_warp = warps == 1;
        assert_eq!(shuffle.barriers, if one_warp { 0 } else { warps }, "block {block}");
        assert_eq!(shuffle.shuffles, 5 * warps + u64::from(warps.ilog2()), "block {block}");
        let wavefronts = shuffle.shared_ld_wavefronts + shuffle.shared_st_wavefronts;
        assert_eq!(wavefronts, if one_warp { 0 } else { warps + 1 }, "block {block}");
        for (name, counters) in [("template_unrolled", unrolled), ("template_shuffle", shuffle)] {
            let printed = fact(&facts, &format!("{name}-i32-b{block}-inst_per_element"))?;
            assert_eq!(printed, format!("{:.2}", counters.inst_executed as f64 / f64::from(2 * block)));
            assert_eq!((counters.shared_ld_conflicts, counters.shared_st_conflicts), (0, 0));
            assert_eq!(counters.global_ld_sectors, u64::from(block) * 2 * 4 / 32);
        }
    }
    Ok(())
}

#[test]
fn the_file_has_108_kernels_and_their_load_comes_first() -> Result<()> {
    let ptx = committed_ptx()?;
    assert_eq!(ptx.matches(".visible .entry ").count(), 2 * 6 * 3 * 3);
    for variant in CHAPTER.variants {
        for block in BLOCKS {
            let entry = variant.entry(Op::Sum, Type::I32, block);
            let listing = body(&ptx, &entry)?;
            assert_eq!(listing.iter().filter(|line| line.starts_with("ld.global")).count(), 2, "{entry}");
            // Branches go forward only: nothing is repeated.
            for (at, line) in listing.iter().enumerate() {
                let Some((_, label)) = line.split_once("bra") else { continue };
                let label = label.trim().trim_end_matches(';');
                let to = listing.iter().position(|line| line.trim_end_matches(':') == label);
                assert!(to > Some(at), "{entry} goes back to {label}");
            }
        }
    }
    Ok(())
}

#[test]
fn brackets_of_a_float_sum() -> Result<()> {
    let bits = trial::bits((&CHAPTER, "template_unrolled"), 256, &input::random(Type::F32, 512, input::SEED))?;
    // The tree is chapter 5's, whatever it is written with; warps that sum for themselves are another one.
    assert_eq!(bits, before("unroll_syncwarp", Type::F32)?.result);
    let whole = |name: &str| -> Result<String> {
        let record = record::load(&built_root(), CHAPTER.slug)?.context("a record")?;
        Ok(record.case(name, Type::F32, record::N).context("its case")?.result.clone())
    };
    assert_ne!(whole("template_unrolled")?, whole("template_shuffle")?);
    Ok(())
}

/// One launch of one block of a mistake: its value, and what was found.
fn mistake(file: &str, kernel: &str, block: u32, numbers: &[i32]) -> Result<(i32, Vec<Fault>)> {
    let source = mistake::source(&CHAPTER, file, &built_root());
    Ok(trial::launched((&source, kernel, block), (numbers, 0, numbers.len()), 1)?)
}

#[test]
fn without_the_step_for_1024_half_is_lost() -> Result<()> {
    let all = integers(2048);
    let (result, faults) = mistake("no_1024_step", "no_1024_step_b1024_i32", 1024, &all)?;
    let first_512 = all.iter().enumerate().filter(|(i, _)| i % 1024 < 512).map(|(_, x)| x);
    assert_eq!((result, faults.len()), (sum(first_512), 0), "threads 512 to 1,023 are left out, and nothing is found");
    assert_ne!(result, sum(&all));
    assert_eq!(mistake("no_1024_step", "no_1024_step_b1024_i32", 1024, &[1; 2048])?.0, 1024);
    let (result, _) = mistake("no_1024_step", "no_1024_step_b512_i32", 512, &all[..1024])?;
    assert_eq!(result, sum(&all[..1024]), "512 threads are what it was written for");
    Ok(())
}

#[test]
fn a_last_warp_of_32_reads_what_is_not_there() -> Result<()> {
    let (result, faults) = mistake("block_of_32", "block_of_32_i32", 32, &integers(64))?;
    assert!(faults.iter().all(|fault| fault.code == Code::OutOfBounds), "{faults:?}");
    // 16 lanes in the first round, then 8, 4 and 2, all in one line; the last one stands in another.
    assert_eq!(faults.iter().map(|fault| fault.count).collect::<Vec<_>>(), [16 + 8 + 4 + 2, 1]);
    assert_eq!(result, sum(&integers(64)), "lanes that read past the end add nothing that is used");
    Ok(())
}

#[test]
fn a_barrier_in_the_if_shows_when_other_threads_wait() -> Result<()> {
    let all = integers(512);
    let (result, faults) = mistake("barrier_in_if", "as_printed_i32", 256, &all)?;
    assert_eq!((result, faults.len()), (sum(&all), 0), "warps that have ended are not waited for");
    let (result, faults) = mistake("barrier_in_if", "barrier_in_if_i32", 256, &all)?;
    assert_eq!(faults.first().map(|fault| fault.code), Some(Code::BarrierDivergence), "{faults:?}");
    assert_ne!(result, sum(&all));
    Ok(())
}

#[test]
fn a_maximum_that_starts_from_zero() -> Result<()> {
    let kernel = "max_from_zero_max_i32";
    let four = integers(4);
    assert!(four.iter().all(|&x| x < 0), "{four:?}");
    assert_eq!(mistake("max_from_zero", kernel, 256, &four)?.0, 0);
    // One positive number hides it, and so does a block without a missing element.
    for n in [5, 100, 511, 512] {
        let (result, faults) = mistake("max_from_zero", kernel, 256, &integers(n))?;
        assert_eq!((Some(result), faults.len()), (integers(n).into_iter().max(), 0), "n = {n}");
    }
    assert_eq!(mistake("max_from_zero", kernel, 256, &[-7; 512])?.0, -7, "no thread without an element");
    assert_eq!(mistake("max_from_zero", kernel, 256, &[-7; 511])?.0, -7, "its first element is there");
    assert_eq!(mistake("max_from_zero", kernel, 256, &[-7; 255])?.0, 0);
    Ok(())
}

#[test]
fn a_macro_pastes_the_shuffle_twice() -> Result<()> {
    let (_, faults) = mistake("macro_max", "macro_max_max_i32", 256, &integers(512))?;
    assert_eq!(faults.first().map(|fault| fault.code), Some(Code::MaskMismatch));
    let ptx = std::fs::read_to_string(mistake::source(&CHAPTER, "macro_max", &built_root()).ptx)?;
    let shuffles = |line: &&&str| line.starts_with("shfl.sync");
    assert_eq!(body(&ptx::unfold(&ptx), "macro_max_max_i32")?.iter().filter(shuffles).count(), 2 * (5 + 3));
    Ok(())
}

#[test]
fn an_instance_launched_with_fewer_threads_than_its_block() -> Result<()> {
    let source = KernelSource::in_root(&built_root(), CHAPTER.slug);
    let (_, faults) = trial::launched((&source, "template_unrolled_b256_i32", 128), (&integers(512), 0, 512), 1)?;
    let read: u64 = faults.iter().filter(|fault| fault.code == Code::UninitialisedRead).map(|f| f.count).sum();
    assert_eq!((read, faults.len()), (128, 1), "{faults:?}");
    Ok(())
}

#[test]
fn an_identity_of_floats_is_nan() -> Result<()> {
    let session = trial::checked(&CHAPTER)?;
    for variant in CHAPTER.variants {
        for op in [Op::Min, Op::Max] {
            let options = LaunchOptions { op, ..LaunchOptions::default() };
            let run = trial::run_with(&session, variant, options, &Array::F32(vec![f32::NAN; 3]), 0)?;
            assert!(run.ok() && run.result.to_f64().is_nan(), "{}", trial::describe(&run, op.name()));
        }
    }
    Ok(())
}

/// The pinned compiler, if it is here.
fn nvrtc() -> Option<Nvrtc> {
    let nvrtc = Nvrtc::find(&built_root()).ok().filter(|nvrtc| nvrtc.version() == pinned::VERSION);
    if nvrtc.is_none() {
        println!("skipped: the pinned NVRTC is not here (cargo course setup installs it)");
    }
    nvrtc
}

#[test]
fn a_plain_if_on_a_constant_is_folded_as_well() -> Result<()> {
    let Some(nvrtc) = nvrtc() else { return Ok(()) };
    let text = KernelSource::in_root(&built_root(), CHAPTER.slug).read_cu()?;
    assert!(text.contains("if constexpr"));
    let compile = |text: &str| nvrtc.compile("k.cu", text, &["--gpu-architecture=compute_80".to_owned()]);
    let instructions = |ptx: &str| -> Result<Vec<String>> {
        let mut all = Vec::new();
        for variant in CHAPTER.variants {
            for block in BLOCKS {
                all.extend(body(ptx, &variant.entry(Op::Sum, Type::I32, block))?.into_iter().map(str::to_owned));
            }
        }
        Ok(all)
    };
    let (constexpr, plain) = (compile(&text)?, compile(&text.replace("if constexpr", "if"))?);
    assert_eq!(instructions(&constexpr)?, instructions(&plain)?);
    Ok(())
}

/// The code in the notes on the slides does not compile, however its loads are changed.
#[test]
fn a_helper_without_its_template_line_does_not_compile() -> Result<()> {
    let Some(nvrtc) = nvrtc() else { return Ok(()) };
    let helper = "__device__ void last_warp(volatile int* sums, int tid) {\n\
                  if (blockSize >= 64) sums[tid] += sums[tid + 32];\n}\n";
    let compile = |text: &str| nvrtc.compile("k.cu", text, &["--gpu-architecture=compute_80".to_owned()]);
    let error = compile(helper).expect_err("blockSize is nothing here").to_string();
    assert!(error.contains("blockSize"), "{error}");
    compile(&format!("template <unsigned int blockSize>\n{helper}"))?;
    Ok(())
}
