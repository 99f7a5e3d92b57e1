//! A reduction to run, and one that was run.

use device::{Counters, Fault, KernelSource, LineCounters, Timing};

use crate::element::{Array, Type, Value};
use crate::error::Result;
use crate::layout::Layout;
use crate::plan::{LaunchOptions, Planned};
use crate::reference::Reference;
use crate::variant::Variant;
use crate::verify::Verdict;

/// A chapter's kernels on the simulator, which is what its notes are made with.
pub trait Simulator {
    /// Files of the kernels.
    fn source(&self) -> &KernelSource;

    /// Runs the job to one value and judges it.
    ///
    /// # Errors
    /// A block size that the kernel does not take, memory that does not suffice, a launch that fails.
    fn run(&self, job: Job<'_>) -> Result<Run>;
}

/// One reduction to run.
#[derive(Clone, Copy)]
pub struct Job<'j> {
    /// The kernel.
    pub variant: &'static Variant,
    /// Operation, and the launch where the variant leaves a choice.
    pub options: LaunchOptions,
    /// Input.
    pub input: &'j Array,
    /// The right answer over all of the input; without it one is computed where it is asked for: rows have their own.
    pub reference: Option<&'j Reference>,
    /// Elements by which the input is shifted from the start of its allocation, so that unaligned input can be tried.
    pub offset: usize,
}

impl Job<'_> {
    /// Elements of one of the arrays that the operation takes.
    pub fn n(&self) -> u64 {
        self.input.len() as u64 / self.options.op.arrays()
    }
}

/// A reduction that was run, and what it is worth.
#[derive(Clone)]
pub struct Run {
    /// The kernel.
    pub variant: &'static Variant,
    /// Type of the elements.
    pub ty: Type,
    /// Elements.
    pub n: u64,
    /// Their layout.
    pub layout: Layout,
    /// Row or column shown here if there are several results: the worst.
    pub row: Option<u64>,
    /// Column of the worst result, if each element has one.
    pub col: Option<u64>,
    /// Hash of the bits of all results, its first 16 digits, if there is more than one.
    pub all_sha256: Option<String>,
    /// Options of the run.
    pub options: LaunchOptions,
    /// Threads a block.
    pub block: u32,
    /// Its launches.
    pub plan: Planned,
    /// Result of the device.
    pub result: Value,
    /// Expected result.
    pub expected: Value,
    /// True if the result is right.
    pub verdict: Verdict,
    /// Counts of all launches together; `None` on a GPU.
    pub counters: Option<Counters>,
    /// Counters of each source line.
    pub lines: Vec<LineCounters>,
    /// Findings of all launches, like ones folded.
    pub faults: Vec<Fault>,
    /// Notes on what is no fault but worth a look, likewise.
    pub notes: Vec<device::Note>,
    /// The recorded steps of the first launch, if they were asked for.
    pub trace: Option<simt::trace::Trace>,
    /// Times; `None` on the simulator.
    pub time: Option<Measured>,
}

impl Run {
    /// Within the bound, and nothing found.
    pub fn ok(&self) -> bool {
        self.verdict.right && self.faults.is_empty()
    }

    /// Returns whether there is a result to show: where there are no rows, or no elements that results would be of, there is none.
    pub fn has_result(&self) -> bool {
        self.layout == Layout::Array || self.row.is_some()
    }

    /// Bytes of the input that the operation needs, and of results of the same size.
    pub fn input_bytes(&self) -> u64 {
        let op = self.options.op;
        let written = u64::from(op.is_per_element()) + u64::from(op.adds());
        self.layout.read(self.n) * (op.arrays() + written) * self.ty.bytes()
    }

    /// Cold median in microseconds.
    pub fn time_us(&self) -> Option<f64> {
        self.time.and_then(|time| time.cold).map(|cold| cold.median_us)
    }

    /// [`Run::input_bytes`], and nothing else, over the cold median.
    pub fn gb_per_s(&self) -> Option<f64> {
        self.time_us().map(|us| self.input_bytes() as f64 / us / 1e3)
    }
}

/// Times of one reduction, all its launches.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    /// Each call reads an array that the L2 does not hold.
    pub cold: Option<Timing>,
    /// Each call reads the same array.
    pub warm: Timing,
}
