//! Data of `--sweep`: geometries as curves, and the cost of each point.

use device::{Card, Counters};
use serde::{Deserialize, Serialize};

use crate::element::Type;
use crate::plan::LaunchOptions;
use crate::variant::Variant;

/// Sweep of a chapter: its curves and conclusions.
#[derive(Debug, Clone, Copy)]
pub struct Sweep {
    /// Elements of each point of a GPU's record.
    pub sizes: &'static [u64],
    /// The curves for this many elements of a type on this card. The variant takes all of their options.
    pub curves: fn(n: u64, ty: Type, card: &Card) -> Vec<Curve>,
    /// Conclusions from the points of one size.
    pub conclusions: fn(points: &[Point]) -> Vec<Conclusion>,
}

/// One variant over a range of geometries: a line of the chart.
#[derive(Debug, Clone)]
pub struct Curve {
    /// `coarsened`; no two curves have the same.
    pub name: String,
    /// The kernel.
    pub variant: &'static Variant,
    /// Its geometries.
    pub options: Vec<LaunchOptions>,
    /// True if the chart shows it: one whose points have as many elements a thread all lie on one vertical.
    pub drawn: bool,
}

/// A sentence or a few that follow from the points, and the facts in it for the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conclusion {
    /// For the terminal.
    pub text: String,
    /// Anchor and value.
    pub facts: Vec<(String, String)>,
}

/// The numbers that every point sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    /// Their type.
    pub ty: Type,
    /// Number of elements.
    pub n: u64,
    /// Seed.
    pub seed: u64,
}

/// One geometry and what it cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The curve that it is on.
    pub curve: String,
    /// True if the chart shows that curve.
    pub drawn: bool,
    /// The kernel.
    pub variant: String,
    /// Elements.
    pub n: u64,
    /// The number that the kernel is tuned by, if it was asked for.
    pub factor: Option<u32>,
    /// Threads a block of the widest launch.
    pub block: u32,
    /// Its blocks.
    pub grid: u32,
    /// Multiprocessors that the geometry was made for.
    pub multiprocessors: u32,
    /// Threads that each of them holds at a time; records that do not say are of cards that hold 2,048.
    #[serde(default = "threads_of_sm_90", skip_serializing_if = "is_threads_of_sm_90")]
    pub threads_per_multiprocessor: u32,
    /// Launches.
    pub launches: u64,
    /// True if the result was within its bound and nothing was found.
    pub right: bool,
    /// Cold median on a GPU.
    pub cold_us: Option<f64>,
    /// Fastest and slowest cold replay.
    pub cold_range_us: Option<[f64; 2]>,
    /// Bytes of the input over the cold median.
    pub gb_per_s: Option<f64>,
    /// Counts of the simulator, all launches together.
    #[serde(skip)]
    pub counters: Option<Counters>,
}

fn threads_of_sm_90() -> u32 {
    2048
}

fn is_threads_of_sm_90(threads: &u32) -> bool {
    *threads == threads_of_sm_90()
}

impl Point {
    /// Elements for each thread of the widest launch, on average.
    pub fn elements_per_thread(&self) -> f64 {
        self.n as f64 / (f64::from(self.grid) * f64::from(self.block))
    }

    /// Blocks for each multiprocessor, on average.
    pub fn blocks_per_multiprocessor(&self) -> f64 {
        f64::from(self.grid) / f64::from(self.multiprocessors)
    }

    /// Warp-instructions for each element; `None` on a GPU.
    pub fn instructions_per_element(&self) -> Option<f64> {
        self.counters.map(|counters| counters.inst_executed as f64 / self.n as f64)
    }

    /// Returns its label within its curve: `4` of a factor, `1056x256` of blocks and threads.
    pub fn label(&self) -> String {
        match self.factor {
            Some(factor) if self.variant == self.curve => factor.to_string(),
            _ => format!("{}x{}", self.grid, self.block),
        }
    }
}

/// Half a million warp-instructions for a million elements.
#[cfg(any(test, feature = "trial"))]
pub fn test_point() -> Point {
    Point {
        curve: "coarsened".to_owned(),
        drawn: true,
        variant: "coarsened".to_owned(),
        n: 1 << 20,
        factor: Some(4),
        block: 256,
        grid: 512,
        multiprocessors: 128,
        threads_per_multiprocessor: 2048,
        launches: 2,
        right: true,
        cold_us: None,
        cold_range_us: None,
        gb_per_s: None,
        counters: Some(Counters { inst_executed: 1 << 19, ..Counters::default() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_says_how_its_elements_are_spread() {
        let point = test_point();
        assert_eq!((point.elements_per_thread(), point.blocks_per_multiprocessor()), (8.0, 4.0));
        assert_eq!(point.instructions_per_element(), Some(0.5));
        assert_eq!(point.label(), "4");
        assert_eq!(Point { factor: None, ..point }.label(), "512x256");
    }
}
