//! Finds the shapes of `single_pass` on this GPU: times instances, grids and layouts at each size and prints the best
//! beside the plan's own. `cargo run --release -p ch08-cooperative --example tune -- [TYPE [FIRST LAST [overlap]]]`, logarithms
//! of n; with the last word for launches that overlap.

use device::{Choice, SimOptions};
use lab::element::Element;
use lab::plan::LaunchOptions;
use lab::{Array, Problem, Session, Type, input};
use reduction::families::champion::{self, INSTANCES, Shape, Share};

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let ty = words.first().map_or(Some(Type::I32), |word| Type::from_name(word));
    let ty = ty.ok_or_else(|| anyhow::anyhow!("the type is i32, f32 or f64"))?;
    let lg = |i: usize, default: u32| words.get(i).map_or(Ok(default), |word| word.parse::<u32>());
    let (first, last) = (lg(1, 10)?, lg(2, 26)?.min(30));
    let overlap = words.get(3).is_some_and(|word| word == "overlap");
    let session = Session::open(&ch08_cooperative::CHAPTER, Choice::Gpu, SimOptions::default())?;
    println!("{}, {}", session.device().description().name, session.origin());
    for lg in first..=last {
        match input::random(ty, 1 << lg, input::SEED) {
            Array::I32(values) => tune(&session, &values, overlap)?,
            Array::F32(values) => tune(&session, &values, overlap)?,
            Array::F64(values) => tune(&session, &values, overlap)?,
            _ => anyhow::bail!("the type is i32, f32 or f64"),
        }
    }
    Ok(())
}

fn tune<T: Element>(session: &Session<'_>, values: &[T], overlap: bool) -> anyhow::Result<()> {
    let variant = ch08_cooperative::CHAPTER.variant("single_pass").ok_or_else(|| anyhow::anyhow!("no single_pass"))?;
    let card = session.device().card();
    let options = LaunchOptions { overlap, ..LaunchOptions::default() };
    let problem = Problem::new(variant, T::TYPE, values.len() as u64, options).on(card, false);
    let shapes = shapes(problem.n.div_ceil(16 / T::TYPE.bytes()), card.multiprocessors, overlap).into_iter();
    let plans = shapes.map(|shape| (shape, champion::plan_for(&problem, shape)));
    let (own_us, found) = session.quickest(&problem, values, plans, 7)?;
    println!("{} 2^{}: the plan {own_us:.3} us", T::TYPE, problem.n.ilog2());
    for (us, shape) in found.iter().take(5) {
        println!("    {us:.3} us: {shape:?}");
    }
    Ok(())
}

/// Shapes that may be good for so many vectors of 16 bytes on `m` multiprocessors.
fn shapes(vectors: u64, m: u32, overlap: bool) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for (share, block, unroll) in INSTANCES {
        let tiles = vectors.div_ceil(u64::from(block * unroll)).min(1 << 20) as u32;
        let grids = match share {
            Share::OneBlock => vec![1],
            Share::OneTile => vec![tiles, 48, 65, m / 2, m, 2 * m, tiles + tiles / 2],
            Share::ManyTiles => vec![m / 2, m, 3 * m / 2, 2 * m, 3 * m, 4 * m, 6 * m, 8 * m],
        };
        let fits = |grid: u32| match share {
            Share::OneBlock => tiles == 1,
            Share::OneTile => tiles > 1 && tiles <= grid && grid <= (2 * tiles).min(16 * m),
            Share::ManyTiles => grid <= tiles && tiles <= 1024 * grid,
        };
        for grid in grids.into_iter().filter(|&grid| fits(grid)) {
            for spread in [false, true] {
                let aheads = if overlap { vec![0, unroll / 2, unroll] } else { vec![0] };
                shapes.extend(aheads.into_iter().map(|ahead| Shape { share, block, unroll, grid, spread, ahead }));
            }
        }
    }
    shapes
}
