//! Finds the shapes of `rows` on this GPU: times lane groups, blocks and parts for each matrix and prints the best beside the
//! plan's own. `cargo run --release -p ch10-rows --example tune -- TYPE OP ROWSxCOLS...`

use ch10_rows::{CHAPTER, Shape, of_shape};
use device::{Buffer, Choice, SimOptions};
use lab::element::Element;
use lab::{LaunchOptions, Matrix, Op, Plan, Problem, Rows, Session, Type, clock, input, with_elements};

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [ty, op, matrices @ ..] = words.as_slice() else { anyhow::bail!("TYPE OP ROWSxCOLS... are wanted") };
    let ty = Type::from_name(ty).ok_or_else(|| anyhow::anyhow!("{ty} is no type"))?;
    let op = Op::from_name(op).ok_or_else(|| anyhow::anyhow!("{op} is no operation"))?;
    let session = Session::open(&CHAPTER, Choice::Gpu, SimOptions::default())?;
    println!("{}, {}", session.device().description().name, session.origin());
    for matrix in matrices {
        let (rows, cols) = matrix.split_once('x').ok_or_else(|| anyhow::anyhow!("{matrix} is not ROWSxCOLS"))?;
        let matrix = Matrix::dense(rows.parse()?, cols.parse()?);
        let input = input::random(ty, (matrix.rows * matrix.cols) as usize, input::SEED);
        with_elements!(&input, values => tune(&session, op, matrix, values)?);
    }
    Ok(())
}

fn tune<T: Element>(session: &Session<'_>, op: Op, matrix: Matrix, values: &[T]) -> anyhow::Result<()> {
    let variant = CHAPTER.variant("rows").ok_or_else(|| anyhow::anyhow!("no rows"))?;
    let device = session.device();
    let multiprocessors = device.description().multiprocessors.unwrap_or(1);
    let options = LaunchOptions { op, rows: Some(Rows::Matrix(matrix)), ..LaunchOptions::default() };
    let problem =
        Problem { multiprocessors, compiles: true, ..Problem::new(variant, T::TYPE, values.len() as u64, options) };
    let original = device.upload("in", values)?;
    let copies = (0..clock::copies(device, original.bytes())).map(|_| device.duplicate(&original));
    let copies: Vec<Buffer<T>> = copies.collect::<Result<_, _>>()?;
    let time = |plan: Plan| -> anyhow::Result<f64> {
        let plan = Plan { layout: problem.layout(), ..plan };
        let timing = session.time_plan(variant, &plan, (&copies, &[]), 0, true, 5)?;
        Ok(timing.map_or(f64::NAN, |timing| timing.median_us))
    };
    let mut found = Vec::new();
    for shape in shapes(&problem, matrix) {
        found.push((time(of_shape(&problem, shape))?, shape));
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let own = time((variant.launches)(&problem))?;
    println!("{op} {} {} x {}: the plan {own:.2} us", T::TYPE, matrix.rows, matrix.cols);
    for (us, shape) in found.iter().take(6) {
        println!("    {us:.2} us: {shape:?}");
    }
    Ok(())
}

/// What may be good for this matrix.
fn shapes(problem: &Problem, matrix: Matrix) -> Vec<Shape> {
    let vectors = (matrix.cols * problem.ty.bytes()).div_ceil(16);
    let m = problem.multiprocessors;
    let mut shapes = Vec::new();
    for (lanes, rows, loads) in GROUPS {
        let held = u64::from(lanes * loads);
        if vectors * 2 < u64::from(lanes) || vectors > 16 * held {
            continue;
        }
        let tiles = matrix.rows.div_ceil(256 / u64::from(lanes) * u64::from(rows)).min(1 << 30) as u32;
        let grids = [8 * m, 32 * m, tiles].into_iter().filter(|&grid| grid <= tiles);
        shapes.extend(grids.map(|grid| Shape::Groups { lanes, rows, loads, grid }));
    }
    for (block, loads) in BLOCKS.into_iter().filter(|_| vectors > 128) {
        let rows = matrix.rows.min(1 << 30) as u32;
        let most = 2048 / block * m;
        shapes.extend([most / 2, most, rows].into_iter().filter(|&grid| grid <= rows).map(|grid| Shape::Block {
            block,
            loads,
            grid,
        }));
        for all in [most / 2, most, 2 * most, 4 * most] {
            let parts = u64::from(all) / matrix.rows.max(1);
            if parts < 2 || vectors / parts < 32 {
                continue;
            }
            let length = matrix.cols.div_ceil(parts).next_multiple_of(128 / problem.ty.bytes());
            let parts = matrix.cols.div_ceil(length) as u32;
            shapes.push(Shape::Parts { block, loads, parts, length: length as u32 });
        }
    }
    shapes
}

const GROUPS: [(u32, u32, u32); 14] = [
    (2, 4, 1),
    (4, 1, 1),
    (4, 2, 1),
    (4, 4, 1),
    (4, 2, 2),
    (8, 1, 2),
    (8, 2, 2),
    (8, 4, 1),
    (16, 1, 4),
    (16, 2, 2),
    (32, 1, 4),
    (32, 1, 8),
    (32, 2, 2),
    (32, 2, 4),
];
const BLOCKS: [(u32, u32); 5] = [(128, 4), (256, 4), (256, 8), (512, 4), (512, 8)];
