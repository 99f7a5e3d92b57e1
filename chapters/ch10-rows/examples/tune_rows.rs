//! Finds the shapes of `rows`, `columns` and `ragged` on this GPU: times many for each matrix and prints the best beside the
//! plan's own. `cargo run --release -p ch10-rows --example tune_rows -- rows|columns TYPE OP ROWSxCOLS...` or
//! `-- ragged TYPE OP uniform|power|giant|empty|ROWSxCOLS...`

use anyhow::Context;
use ch10_rows::CHAPTER;
use clap::ValueEnum;
use device::{Choice, SimOptions};
use lab::element::Element;
use lab::{
    LaunchOptions, Matrix, Offsets, Op, Plan, Problem, Ragged, Rows, Session, Type, Variant, input, with_elements,
};
use reduction::families::rows::{Columns, Shape, columns_of, plan_for, ragged_of};

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [variant, ty, op, all @ ..] = words.as_slice() else { anyhow::bail!("expected VARIANT TYPE OP ROWSxCOLS...") };
    let variant = CHAPTER.variant(variant).with_context(|| format!("{variant} is no variant"))?;
    let ty = Type::from_name(ty).with_context(|| format!("{ty} is no type"))?;
    let op = Op::from_name(op).with_context(|| format!("{op} is no operation"))?;
    let session = Session::open(&CHAPTER, Choice::Gpu, SimOptions::default())?;
    println!("{}, {}", session.device().description().name, session.origin());
    for name in all {
        let (rows, n) = rows_of(name)?;
        let input = input::random(ty, n as usize, input::SEED);
        println!("{} {op} {ty} {name}, {rows}:", variant.name);
        with_elements!(&input, values => tune(&session, variant, op, rows, values)?);
    }
    Ok(())
}

/// The rows of that name, and how many elements they have.
fn rows_of(name: &str) -> anyhow::Result<(Rows, u64)> {
    if let Ok(kind) = Ragged::from_str(name, true) {
        let at = kind.offsets(1 << 20, 64, input::SEED);
        let n = at.last().copied().unwrap_or(0);
        return Ok((Rows::Ragged(Offsets::new(at, 32, n).map_err(anyhow::Error::msg)?), n));
    }
    let (rows, cols) = name.split_once('x').with_context(|| format!("{name} is not ROWSxCOLS"))?;
    let matrix = Matrix::dense(rows.parse()?, cols.parse()?);
    Ok((Rows::Matrix(matrix), matrix.rows * matrix.cols))
}

fn tune<T: Element>(session: &Session<'_>, variant: &Variant, op: Op, rows: Rows, values: &[T]) -> anyhow::Result<()> {
    let options = LaunchOptions { op, rows: Some(rows), ..LaunchOptions::default() };
    let problem = Problem::new(variant, T::TYPE, values.len() as u64, options).on(session.device().card(), true);
    let plans: Vec<(String, Plan)> = match (variant.name, rows) {
        ("ragged", _) => [15, 23, 31].map(|steps| (format!("{steps} steps"), ragged_of(&problem, steps))).into(),
        ("columns", Rows::Matrix(matrix)) => {
            let shapes = columns(&problem, matrix).into_iter();
            shapes.map(|shape| (format!("{shape:?}"), columns_of(&problem, shape))).collect()
        }
        (_, Rows::Matrix(matrix)) => {
            let shapes = shapes(&problem, matrix).into_iter();
            shapes.map(|shape| (format!("{shape:?}"), plan_for(&problem, shape))).collect()
        }
        _ => Vec::new(),
    };
    let (own_us, found) = session.quickest(&problem, values, plans, 5)?;
    println!("    the plan {own_us:.2} us");
    for (us, shape) in found.iter().take(6) {
        println!("    {us:.2} us: {shape}");
    }
    Ok(())
}

/// Shapes that may be good for these columns.
fn columns(problem: &Problem, matrix: Matrix) -> Vec<Columns> {
    let per = 16 / problem.ty.bytes() as u32;
    let width = if matrix.cols.is_multiple_of(per.into()) && matrix.pitch.is_multiple_of(per.into()) { per } else { 1 };
    let mut shapes = Vec::new();
    for lanes in [4, 8, 16, 32, 64, 128, 256] {
        if u64::from(lanes * width) >= 2 * matrix.cols.next_power_of_two().max(8) {
            continue;
        }
        let tiles = matrix.cols.div_ceil(u64::from(lanes * width));
        for loads in [4, 8] {
            let most = matrix.rows.div_ceil(u64::from(256 / lanes * loads));
            let useful =
                [2, 4, 6, 8, 16].map(|each| (u64::from(problem.card.multiprocessors) * each).div_ceil(tiles).min(most));
            let mut parts: Vec<u64> = useful.into_iter().chain([1]).map(|parts| parts.max(1)).collect();
            parts.sort_unstable();
            parts.dedup();
            shapes.extend(parts.into_iter().map(|parts| Columns { lanes, width, loads, parts: parts as u32 }));
        }
    }
    shapes
}

/// Shapes that may be good for this matrix.
fn shapes(problem: &Problem, matrix: Matrix) -> Vec<Shape> {
    let vectors = (matrix.cols * problem.ty.bytes()).div_ceil(16);
    let m = problem.card.multiprocessors;
    let mut shapes = Vec::new();
    for (lanes, rows, loads) in GROUPS {
        let held = u64::from(lanes * loads);
        if vectors * 4 < u64::from(lanes) || vectors > 16 * held {
            continue;
        }
        let tiles = matrix.rows.div_ceil(256 / u64::from(lanes) * u64::from(rows)).min(1 << 30) as u32;
        let grids = [8 * m, 32 * m, tiles].into_iter().filter(|&grid| grid <= tiles);
        shapes.extend(grids.map(|grid| Shape::Groups { lanes, rows, loads, grid }));
    }
    for (block, loads) in BLOCKS.into_iter().filter(|_| vectors > 128) {
        let rows = matrix.rows.min(1 << 30) as u32;
        let most = 2048 / block * m;
        shapes.extend(
            [most / 2, most, 2 * most, rows].into_iter().filter(|&grid| grid <= rows).map(|grid| Shape::Block {
                block,
                loads,
                grid,
            }),
        );
        for all in [m / 8, m / 4, m / 2, most / 4, most / 2, most, 2 * most] {
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

const GROUPS: [(u32, u32, u32); 25] = [
    (1, 1, 4),
    (2, 1, 2),
    (1, 4, 1),
    (1, 2, 4),
    (2, 4, 1),
    (2, 2, 2),
    (2, 4, 2),
    (4, 8, 1),
    (8, 1, 1),
    (8, 2, 1),
    (16, 1, 1),
    (16, 1, 2),
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
