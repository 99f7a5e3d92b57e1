//! Finds the shapes of `single_pass` on this GPU: times every instance and many grids at each size and prints the best
//! beside the plan's own. `cargo run --release -p ch08-cooperative --example tune -- [TYPE [FIRST LAST]]`, logarithms of n.

use ch08_cooperative::{CHAPTER, plans};
use device::{Choice, SimOptions};
use lab::reference::reference;
use lab::{Job, Session, Type, Wish, input};

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let ty = words.first().map_or(Some(Type::I32), |word| Type::from_name(word));
    let ty = ty.ok_or_else(|| anyhow::anyhow!("the type is i32, f32 or f64"))?;
    let lg = |i: usize, default: u32| words.get(i).map_or(Ok(default), |word| word.parse::<u32>());
    let (first, last) = (lg(1, 10)?, lg(2, 26)?.min(30));
    let session = Session::open(&CHAPTER, Choice::Gpu, SimOptions::default())?;
    let m = session.device().description().multiprocessors.unwrap_or(1);
    let variant = CHAPTER.variant("single_pass").ok_or_else(|| anyhow::anyhow!("no single_pass"))?;
    for lg in first..=last {
        let array = input::random(ty, 1 << lg, input::SEED);
        let reference = reference(&array);
        let time = |wish: Wish| -> anyhow::Result<Option<f64>> {
            let job = Job { variant, wish, input: &array, reference: &reference, offset: 0 };
            Ok(session.time_cold(job, 9)?.map(|timing| timing.median_us))
        };
        let mut found = Vec::new();
        for (block, unroll) in plans::INSTANCES {
            for eighths in [1, 2, 3, 4, 6, 8, 12, 16, 24, 32] {
                let grid = (m * eighths / 8).max(1);
                let wish = Wish { block: Some(block), factor: Some(unroll), grid: Some(grid), ..Wish::default() };
                found.extend(time(wish)?.map(|us| (us, block, unroll, grid)));
            }
            let tiles = (1u64 << lg).div_ceil(16 / ty.bytes() * u64::from(block * unroll));
            for grid in [1, 8, 16, tiles].into_iter().filter(|&grid| grid <= 1056) {
                let wish =
                    Wish { block: Some(block), factor: Some(unroll), grid: Some(grid as u32), ..Wish::default() };
                found.extend(time(wish)?.map(|us| (us, block, unroll, grid as u32)));
            }
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        let plan = time(Wish::default())?.unwrap_or(f64::NAN);
        println!("{ty} 2^{lg}: the plan {plan:.3} us; us, block, unroll, grid: {:.3?}", &found[..found.len().min(4)]);
    }
    Ok(())
}
