//! A device with a chapter's kernels on it: runs a plan to one value, judges it, times it.

use std::path::{Path, PathBuf};

use device::{
    Arg, Buffer, Call, Choice, Counters, Device, DeviceAddress, Fault, Geometry, KernelSource, LineCounters, Module,
    Report, SimOptions,
};

use crate::clock::Measured;
use crate::element::{Array, Element, Type, Value};
use crate::error::Result;
use crate::plan::{Pass, Plan};
use crate::progress::Progress;
use crate::reference::Reference;
use crate::verify::{Verdict, verify};
use crate::{Chapter, Variant, memory};

/// The source tree that this program was built from: where kernels are when the current directory has none.
pub fn built_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("..")
}

/// A device with a chapter's kernels on it.
pub struct Session<'c> {
    /// The lesson.
    pub chapter: &'c Chapter,
    /// Where its kernels are.
    pub source: KernelSource,
    /// How the simulator runs, if it does.
    pub options: SimOptions,
    /// What says how far long work is.
    pub progress: Progress,
    pub(crate) device: Device,
    module: Module,
}

/// One reduction to run.
#[derive(Clone, Copy)]
pub struct Job<'j> {
    /// The kernel.
    pub variant: &'static Variant,
    /// Threads a block.
    pub block: u32,
    /// What to sum.
    pub input: &'j Array,
    /// Its sum.
    pub reference: &'j Reference,
    /// Elements by which the input is shifted from the start of its allocation, so that unaligned input can be tried.
    pub offset: usize,
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
    /// Threads a block.
    pub block: u32,
    /// Its launches.
    pub plan: Plan,
    /// What the device said.
    pub result: Value,
    /// What is right.
    pub expected: Value,
    /// Whether the result is right.
    pub verdict: Verdict,
    /// Counts of all launches together; `None` on a GPU.
    pub counters: Option<Counters>,
    /// The same per source line.
    pub lines: Vec<LineCounters>,
    /// Findings of all launches, those of the same two lines folded.
    pub faults: Vec<Fault>,
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

    /// Bytes of the input.
    pub fn input_bytes(&self) -> u64 {
        self.n * self.ty.bytes()
    }

    /// Cold median in microseconds.
    pub fn time_us(&self) -> Option<f64> {
        self.time.and_then(|time| time.cold).map(|cold| cold.median_us)
    }

    /// Bytes of the input, and nothing else, over the cold median.
    pub fn gb_per_s(&self) -> Option<f64> {
        self.time_us().map(|us| self.input_bytes() as f64 / us / 1e3)
    }
}

impl<'c> Session<'c> {
    /// Opens a device and loads the chapter's kernels: those of the current directory or of a folder above it, else
    /// those this program was built with.
    ///
    /// # Errors
    /// No such device, no kernels, or kernels that do not compile.
    pub fn open(chapter: &'c Chapter, choice: Choice, options: SimOptions) -> Result<Session<'c>> {
        let source = KernelSource::find(chapter.slug, &built_root())?;
        Session::open_source(chapter, source, choice, options)
    }

    /// As [`Session::open`], with the kernels of `source`.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn open_source(
        chapter: &'c Chapter,
        source: KernelSource,
        choice: Choice,
        options: SimOptions,
    ) -> Result<Session<'c>> {
        let device = Device::open(choice, options)?;
        let module = device.load(&source)?;
        Ok(Session { chapter, source, options, progress: Progress::hidden(), device, module })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Refuses a run that does not fit in memory.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub fn check_memory(&self, ty: Type, n: u64, plan: &Plan) -> Result<()> {
        memory::check(
            ty,
            n,
            plan.partial_sums(),
            self.device.description().memory_bytes.filter(|_| self.device.is_gpu()),
        )
    }

    /// Runs the job to one value and judges it.
    ///
    /// # Errors
    /// A block size that the kernel does not take, memory that does not suffice, a launch that fails.
    pub fn run(&self, job: Job<'_>) -> Result<Run> {
        match job.input {
            Array::I32(values) => self.run_typed(job, values),
            Array::F32(values) => self.run_typed(job, values),
            Array::F64(values) => self.run_typed(job, values),
        }
    }

    /// The first launch of the job and nothing more: what a profiler shows for one kernel.
    ///
    /// # Errors
    /// As [`Session::run`].
    pub fn first_launch(&self, job: Job<'_>) -> Result<Report> {
        let mut plan = Plan::new(job.variant, job.input.len() as u64, job.block)?;
        plan.passes.truncate(1);
        Ok(match job.input {
            Array::I32(values) => self.launch_all(job, &plan, values)?.1,
            Array::F32(values) => self.launch_all(job, &plan, values)?.1,
            Array::F64(values) => self.launch_all(job, &plan, values)?.1,
        })
    }

    fn run_typed<T: Element>(&self, job: Job<'_>, values: &[T]) -> Result<Run> {
        let n = values.len() as u64;
        let plan = Plan::new(job.variant, n, job.block)?;
        let (result, report) = self.launch_all(job, &plan, values)?;
        let verdict = verify(result, job.reference, plan.depth(job.variant), T::TYPE);
        Ok(Run {
            variant: job.variant,
            ty: T::TYPE,
            n,
            block: job.block,
            plan,
            result,
            expected: job.reference.expected,
            verdict,
            counters: report.counters,
            lines: report.lines,
            faults: report.faults,
            trace: report.trace,
            time: None,
        })
    }

    fn launch_all<T: Element>(&self, job: Job<'_>, plan: &Plan, values: &[T]) -> Result<(Value, Report)> {
        let mut total = Report { counters: (!self.device.is_gpu()).then(Counters::default), ..Report::default() };
        if plan.passes.is_empty() {
            return Ok((Value::zero(T::TYPE), total));
        }
        let input = self.upload_shifted(values, job.offset)?;
        let sums = self.alloc_sums::<T>(plan)?;
        let kernel = job.variant.entry(T::TYPE);
        for (i, call) in self.calls(&kernel, plan, (&input, job.offset), &sums).iter().enumerate() {
            self.progress.at(format!("{}, launch {} of {}", job.variant.name, i + 1, plan.passes.len()));
            merge(&mut total, self.device.launch(call)?);
        }
        let result = match sums.last() {
            Some(last) => self.device.download(last)?.first().map_or(Value::zero(T::TYPE), |&v| v.value()),
            None => Value::zero(T::TYPE),
        };
        Ok((result, total))
    }

    fn upload_shifted<T: Element>(&self, values: &[T], offset: usize) -> Result<Buffer<T>> {
        if offset == 0 {
            return Ok(self.device.upload("in", values)?);
        }
        // What lies before the input is data, so that a kernel that reads it gets a wrong sum and not a lucky zero.
        let before = values.iter().copied().cycle().take(offset);
        let shifted: Vec<T> = before.chain(values.iter().copied()).collect();
        Ok(self.device.upload("in", &shifted)?)
    }

    /// One array of block sums a pass: each is written once, so that a read of what was never written shows.
    pub(crate) fn alloc_sums<T: Element>(&self, plan: &Plan) -> Result<Vec<Buffer<T>>> {
        let arrays = plan.passes.iter().enumerate();
        arrays.map(|(i, pass)| Ok(self.device.alloc(&format!("sums{}", i + 1), pass.grid as usize)?)).collect()
    }

    pub(crate) fn calls<'a, T: Element>(
        &'a self,
        kernel: &'a str,
        plan: &Plan,
        (input, offset): (&'a Buffer<T>, usize),
        sums: &'a [Buffer<T>],
    ) -> Vec<Call<'a>> {
        let call = |(i, pass): (usize, &Pass)| {
            let (from, skipped): (&dyn DeviceAddress, usize) = if i == 0 { (input, offset) } else { (&sums[i - 1], 0) };
            let args = vec![
                Arg::Address(from, (skipped * T::BYTES) as u64),
                Arg::Address(&sums[i], 0),
                Arg::U32(pass.elements as u32),
            ];
            Call { module: &self.module, kernel, geometry: pass.geometry(), args }
        };
        plan.passes.iter().enumerate().map(call).collect()
    }
}

impl Pass {
    fn geometry(&self) -> Geometry {
        Geometry { grid: [self.grid, 1, 1], block: [self.block, 1, 1], shared_bytes: 0, cooperative: false }
    }
}

/// Adds what one launch reported to what the launches before it did.
fn merge(total: &mut Report, launch: Report) {
    if let (Some(total), Some(launch)) = (&mut total.counters, &launch.counters) {
        *total += *launch;
    }
    total.trace = total.trace.take().or(launch.trace);
    for line in launch.lines {
        match total.lines.iter_mut().find(|known| (&known.file, known.line) == (&line.file, line.line)) {
            Some(known) => known.counters += line.counters,
            None => total.lines.push(line),
        }
    }
    total.lines.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    for fault in launch.faults {
        match total.faults.iter_mut().find(|known| same_finding(known, &fault)) {
            Some(known) => known.count += fault.count,
            None => total.faults.push(fault),
        }
    }
}

/// Whether two faults are the same mistake: the same code at the same instructions.
fn same_finding(a: &Fault, b: &Fault) -> bool {
    let place = |site: &device::Site| (site.file.clone(), site.ptx_line);
    a.code == b.code && place(&a.site) == place(&b.site) && a.other.as_ref().map(place) == b.other.as_ref().map(place)
}
