//! One run that a kernel of an exercise is tried with.

use device::Schedule;
use lab::{Array, Layout, Matrix, Op, Type};

use super::numbers::Numbers;
use super::rows;

/// The schedule of today's GPUs, with lanes kept together where the program lets them.
pub(super) const TODAYS: Schedule = Schedule::Independent { seed: None };

/// One thing that a kernel is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// Element type.
    pub ty: Type,
    /// Elements.
    pub n: u64,
    /// Their rows, where each gets a value of its own.
    pub matrix: Option<Matrix>,
    /// Threads a block.
    pub block: u32,
    /// Elements by which the input is shifted from the start of its allocation.
    pub offset: usize,
    /// Schedule of the lanes.
    pub schedule: Schedule,
    /// Kind of numbers.
    pub fill: Fill,
    /// Most blocks, where that is fewer than the exercise's own.
    pub grid_max: Option<u32>,
    /// True if a second launch finds in `out` what the first one left.
    pub keeps_out: bool,
}

impl Case {
    /// Random numbers, aligned, in today's schedule.
    pub fn new(ty: Type, n: u64, block: u32) -> Case {
        Case {
            ty,
            n,
            matrix: None,
            block,
            offset: 0,
            schedule: TODAYS,
            fill: Fill::Random,
            grid_max: None,
            keeps_out: false,
        }
    }

    /// Layout of its elements.
    pub(super) fn layout(&self) -> Layout {
        self.matrix.map_or(Layout::Array, Layout::Rows)
    }

    /// The same for other rows.
    pub fn over(self, rows: u64, cols: u64) -> Case {
        Case { n: rows * cols, matrix: Some(Matrix::dense(rows, cols)), ..self }
    }

    /// The same for one element.
    pub fn with_one_element(self) -> Case {
        Case { n: 1, matrix: self.matrix.map(|_| Matrix::dense(1, 1)), ..self }
    }

    /// `n = 33`, `3 rows of 11`
    pub fn size(&self) -> String {
        self.matrix.map_or_else(|| format!("n = {}", lab::text::grouped(self.n)), rows::described)
    }
}

/// Kinds of numbers that a case is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Random ones.
    Random,
    /// The smallest of the type, each of them; −∞ where floats are compared, −10³⁰ where they are added.
    Lowest,
    /// The largest of the type, likewise.
    Highest,
    /// −3, each of them: any value of the other sign that a kernel brings for a missing element shows.
    MinusThree,
    /// Random ones below 0, where a comparison of bits or of magnitudes goes the other way.
    Negative,
    /// −2 to 2 at random: the best of them is there many times.
    Ties,
    /// −1500, −750, 0, 750 and 1500 at random: of the larger ones *e*ˣ is no float, and no double.
    Steep,
    /// 99,998 to 100,002 at random: squares so large that nothing is left of their differences.
    Far,
}

impl Fill {
    /// `n` numbers.
    pub(super) fn array(self, op: Op, ty: Type, n: u64) -> Array {
        let most = if op == Op::Sum { 1e30 } else { f64::INFINITY };
        let number = || lab::input::random(Type::I32, n as usize, n + 1);
        let (whole, float) = match self {
            Fill::Random => return lab::input::random(ty, n as usize, n + 1),
            Fill::Lowest => (i32::MIN, -most),
            Fill::Highest => (i32::MAX, most),
            Fill::MinusThree => (-3, -3.0),
            Fill::Negative => return negative(lab::input::random(ty, n as usize, n + 1)),
            Fill::Ties => return few(number(), ty, (1, 0)),
            Fill::Steep => return few(number(), ty, (750, 0)),
            Fill::Far => return few(number(), ty, (1, 100_000)),
        };
        let n = n as usize;
        match ty {
            Type::I32 => Array::I32(vec![whole; n]),
            Type::F32 => Array::F32(vec![float as f32; n]),
            Type::F64 => Array::F64(vec![float; n]),
            // Exercises are of these three, which their file says and its reader holds it to.
            _ => lab::input::random(ty, n, n as u64 + 1),
        }
    }

    /// Description of every element; `None` for random numbers.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Fill::Random => None,
            Fill::Lowest => Some("every element as small as can be"),
            Fill::Highest => Some("every element as large as can be"),
            Fill::MinusThree => Some("every element -3"),
            Fill::Negative => Some("every element negative"),
            Fill::Ties => Some("every element between -2 and 2"),
            Fill::Steep => Some("every element a multiple of 750 between -1500 and 1500"),
            Fill::Far => Some("every element near 100,000"),
        }
    }
}

/// The same numbers with a minus before each, 0 among them as -1.
fn negative(numbers: Array) -> Array {
    match numbers {
        Array::I32(values) => Array::I32(values.into_iter().map(|value| value.min(!value)).collect()),
        Array::F32(values) => Array::F32(values.into_iter().map(|value| -value.abs()).collect()),
        Array::F64(values) => Array::F64(values.into_iter().map(|value| -value.abs()).collect()),
        other => other,
    }
}

/// Few different numbers: the remainder modulo 5 of each number is from -2 to 2, and counts steps from `middle`.
fn few(numbers: Array, ty: Type, (step, middle): (i32, i32)) -> Array {
    let Array::I32(values) = numbers else { return numbers };
    let given = values.into_iter().map(|value| (value.rem_euclid(5) - 2) * step + middle).collect::<Vec<i32>>();
    let n = given.len() as u64;
    Numbers::Given(given).array(ty, n)
}
