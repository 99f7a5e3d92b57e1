//! Finds the shapes of `softmax` on this GPU: times many for each matrix and prints the best beside the plan's own.
//! `cargo run --release -p ch11-softmax --example tune_softmax -- TYPE OP ROWSxCOLS...`

use anyhow::Context;
use ch11_softmax::CHAPTER;
use device::{Choice, SimOptions};
use lab::element::Element;
use lab::{LaunchOptions, Matrix, Op, Problem, Session, Type, input, with_elements};
use reduction::families::softmax::plan_for;
use reduction::team::Shape;

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [ty, op, all @ ..] = words.as_slice() else { anyhow::bail!("expected TYPE OP ROWSxCOLS...") };
    let ty = Type::from_name(ty).with_context(|| format!("{ty} is no type"))?;
    let op = Op::from_name(op).with_context(|| format!("{op} is no operation"))?;
    let session = Session::open(&CHAPTER, Choice::Gpu, SimOptions::default())?;
    println!("{}, {}", session.device().description().name, session.origin());
    for name in all {
        let (rows, cols) = name.split_once('x').with_context(|| format!("{name} is not ROWSxCOLS"))?;
        let matrix = Matrix::dense(rows.parse()?, cols.parse()?);
        let input = input::random_for(op, ty, (matrix.rows * matrix.cols) as usize, input::SEED);
        println!("{op} {ty} {name}:");
        with_elements!(&input, values => tune(&session, op, matrix, values)?);
    }
    Ok(())
}

fn tune<T: Element>(session: &Session<'_>, op: Op, matrix: Matrix, values: &[T]) -> anyhow::Result<()> {
    let variant = CHAPTER.variant("softmax").context("the chapter has no softmax")?;
    let n = matrix.rows * matrix.cols;
    let problem = Problem::new(variant, T::TYPE, n, LaunchOptions::over(op, matrix)).on(session.device().card(), true);
    let plans = shapes(&problem, matrix).into_iter().map(|shape| (shape, plan_for(&problem, shape)));
    let (own_us, found) = session.quickest(&problem, values, plans, 5)?;
    println!("    the plan {own_us:.2} us: {}", (variant.launches)(&problem).passes[0].kernel);
    for (us, shape) in found.iter().take(5) {
        println!("    {us:.2} us: {shape:?}");
    }
    Ok(())
}

/// Shapes that may be good for this matrix.
fn shapes(problem: &Problem, matrix: Matrix) -> Vec<Shape> {
    let per = 16 / problem.ty.bytes();
    let vectors = matrix.cols.div_ceil(per);
    let most = 64 / problem.op.arrays() / per; // vectors of a thread: 64 elements, or 32 of each of two
    let mut shapes = Vec::new();
    for lanes in [1u64, 2, 4, 8, 16, 32] {
        for rows in [1, 2, 4] {
            let mut add = |each: u64, width: u64| {
                if each * width * rows <= 64 / problem.op.arrays() && each > 0 {
                    let (lanes, rows) = (lanes as u32, rows as u32);
                    shapes.push(Shape::Groups { lanes, rows, vectors: each as u32, width: width as u32 });
                }
            };
            if vectors >= lanes.div_ceil(2) {
                add(vectors.div_ceil(lanes), per);
            }
            if matrix.cols <= 128 && matrix.cols >= lanes.div_ceil(2) && !matrix.cols.is_multiple_of(per) {
                add(matrix.cols.div_ceil(lanes), 1);
            }
        }
    }
    for block in [64u64, 128, 256, 512, 1024] {
        let each = vectors.div_ceil(block);
        if vectors >= block && each <= most {
            shapes.push(Shape::Block { block: block as u32, vectors: each as u32 });
        }
        for blocks in [2, 4, 8] {
            let each = vectors.div_ceil(blocks * block);
            if block >= 128 && vectors >= blocks * block && each <= most {
                shapes.push(Shape::Cluster { blocks: blocks as u32, block: block as u32, vectors: each as u32 });
            }
        }
    }
    for (block, loads) in [(256, 4), (512, 2), (512, 4), (1024, 2), (1024, 4)] {
        if vectors < 512 {
            continue;
        }
        shapes.push(Shape::Stream { block, loads });
        for each in [1u64, 2, 3, 4] {
            let all = u64::from(problem.card.multiprocessors) * 1024 * each / u64::from(block);
            let parts = all / matrix.rows.max(1);
            if parts < 2 || vectors / parts < 64 {
                continue;
            }
            let length = matrix.cols.div_ceil(parts).next_multiple_of(128 / problem.ty.bytes());
            let parts = matrix.cols.div_ceil(length) as u32;
            shapes.push(Shape::Parts { block, loads, parts, length: length as u32 });
        }
    }
    shapes
}
