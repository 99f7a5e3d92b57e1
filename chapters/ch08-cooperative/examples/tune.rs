//! Finds the shapes of `single_pass` on this GPU: times instances, grids and layouts at each size and prints the best
//! beside the plan's own. `cargo run --release -p ch08-cooperative --example tune -- [TYPE [FIRST LAST]]`, logarithms of n.

use ch08_cooperative::plans::{self, Shape};
use device::{Buffer, Choice, SimOptions};
use lab::element::Element;
use lab::plan::Wish;
use lab::{Array, Ask, Plan, Session, Type, clock, input};

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let ty = words.first().map_or(Some(Type::I32), |word| Type::from_name(word));
    let ty = ty.ok_or_else(|| anyhow::anyhow!("the type is i32, f32 or f64"))?;
    let lg = |i: usize, default: u32| words.get(i).map_or(Ok(default), |word| word.parse::<u32>());
    let (first, last) = (lg(1, 10)?, lg(2, 26)?.min(30));
    let session = Session::open(&ch08_cooperative::CHAPTER, Choice::Gpu, SimOptions::default())?;
    println!("{}, {}", session.device().description().name, session.origin());
    for lg in first..=last {
        match input::random(ty, 1 << lg, input::SEED) {
            Array::I32(values) => tune(&session, &values)?,
            Array::F32(values) => tune(&session, &values)?,
            Array::F64(values) => tune(&session, &values)?,
        }
    }
    Ok(())
}

fn tune<T: Element>(session: &Session<'_>, values: &[T]) -> anyhow::Result<()> {
    let variant = ch08_cooperative::CHAPTER.variant("single_pass").ok_or_else(|| anyhow::anyhow!("no single_pass"))?;
    let device = session.device();
    let multiprocessors = device.description().multiprocessors.unwrap_or(1);
    let ask = Ask { ty: T::TYPE, n: values.len() as u64, wish: Wish::default(), multiprocessors };
    let original = device.upload("in", values)?;
    let copies = (0..clock::copies(device, original.bytes())).map(|_| device.duplicate(&original));
    let copies: Vec<Buffer<T>> = copies.collect::<Result<_, _>>()?;
    let time = |plan: &Plan| -> anyhow::Result<f64> {
        let timing = session.time_plan(variant, plan, &copies, 0, true, 7)?;
        Ok(timing.map_or(f64::NAN, |timing| timing.median_us))
    };
    let mut found = Vec::new();
    for shape in shapes(ask.n.div_ceil(16 / T::TYPE.bytes()), multiprocessors) {
        found.push((time(&plans::launch(&ask, shape))?, shape));
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    println!("{} 2^{}: the plan {:.3} us", T::TYPE, ask.n.ilog2(), time(&plans::single_pass(&ask))?);
    for (us, Shape { block, unroll, grid, spread, ahead }) in found.iter().take(5) {
        println!("    {us:.3} us: {grid} blocks of {block}, {unroll} loads, spread {spread}, ahead {ahead}");
    }
    Ok(())
}

/// What may be good for so many vectors of 16 bytes on `m` multiprocessors.
fn shapes(vectors: u64, m: u32) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for (block, unroll) in plans::INSTANCES {
        let loads = vectors as f64 / f64::from(block * unroll);
        let tiles = loads.ceil() as u32;
        let grids = [1, 33, 48, 65, m / 2, 97, 129, m, 2 * m, 4 * m, tiles, tiles + tiles / 2];
        let mut grids: Vec<u32> = grids.into_iter().filter(|&g| g > 0 && g <= 4 * m && g <= 2 * tiles).collect();
        grids.sort_unstable();
        grids.dedup();
        // Blocks with dozens of tiles each leave the card idle.
        grids.retain(|&grid| f64::from(grid) * 40.0 > loads || grid >= m / 2);
        for grid in grids {
            for spread in [false, true] {
                let mut aheads = vec![0, unroll / 2, unroll];
                aheads.retain(|&ahead| vectors <= 1 << 22 || ahead == 0);
                shapes.extend(aheads.into_iter().map(|ahead| Shape { block, unroll, grid, spread, ahead }));
            }
        }
    }
    shapes
}
