//! A device with a chapter's kernels on it: runs a plan to one value, judges it, times it.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use device::{Buffer, Call, Choice, Counters, Device, KernelSource, Module, Report, SimOptions};

use crate::clock::Flush;
use crate::element::{Element, Type, Value};
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::op::{OnHost as _, Op};
use crate::plan::{LaunchOptions, Pass, Planned, Problem};
use crate::progress::Progress;
use crate::reference::reference_of;
use crate::run::{Job, Run, Simulator};
use crate::verify::{Bounded, Results, Verdict, Worst, reference_for, verify, worst};
use crate::{Chapter, Variant, memory, runner, with_elements};

pub use crate::runner::Arrays;

/// The source tree that this program was built from: where kernels are when the current directory has none.
pub fn built_root() -> PathBuf {
    // This crate's folder, or of the package that has its tests.
    let built = Path::new(env!("CARGO_MANIFEST_DIR"));
    built.ancestors().find(|folder| folder.join("kernels").is_dir()).unwrap_or(built).to_path_buf()
}

/// A device with a chapter's kernels on it.
pub struct Session<'c> {
    /// The lesson.
    pub chapter: &'c Chapter,
    /// Files of its kernels.
    pub source: KernelSource,
    /// Options of the simulator, if it runs.
    pub options: SimOptions,
    /// True if kernels are launched in the shapes that are committed, which the simulator can run too, and in no other: a
    /// record is then replayed bit for bit.
    pub is_as_committed: bool,
    /// Progress of long work.
    pub progress: Progress,
    pub(crate) device: Rc<Device>,
    pub(crate) flush: OnceCell<Flush>,
    /// The chapter's own kernels first, then those of variants with a file of their own.
    modules: Vec<Module>,
    /// Kernels that were compiled on demand, at their first launch.
    on_demand: OnceCell<Box<OnDemand>>,
}

/// A list that only grows, so that what is in it can be lent.
struct OnDemand {
    kernels: Vec<String>,
    module: Module,
    next: OnceCell<Box<OnDemand>>,
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
    /// Those of [`Session::open`].
    pub fn open_source(
        chapter: &'c Chapter,
        source: KernelSource,
        choice: Choice,
        options: SimOptions,
    ) -> Result<Session<'c>> {
        Session::on(chapter, source, Rc::new(Device::open(choice, options)?), options)
    }

    /// As [`Session::open`], with the kernels of `source`, on a device that is open already and may be shared.
    ///
    /// # Errors
    /// Kernels that are not there or do not compile.
    pub fn on(
        chapter: &'c Chapter,
        source: KernelSource,
        device: Rc<Device>,
        options: SimOptions,
    ) -> Result<Session<'c>> {
        let is_on_demand = chapter.on_demand && device.is_gpu() && device.can_compile(&source);
        let mut modules =
            vec![if is_on_demand { device.load_on_demand(&source, "")? } else { device.load(&source)? }];
        for variant in chapter.variants {
            let Some(slug) = variant.kernels.filter(|_| unsupported(&device, variant).is_none()) else { continue };
            if modules.iter().all(|module| module.slug() != slug) {
                modules.push(device.load(&KernelSource::in_root(source.root(), slug))?);
            }
        }
        let progress = Progress::hidden();
        Ok(Session {
            chapter,
            source,
            options,
            is_as_committed: false,
            progress,
            device,
            flush: OnceCell::new(),
            modules,
            on_demand: OnceCell::new(),
        })
    }

    /// From here on a GPU too runs the committed PTX, and nothing that its own compiler made: what a profiler counts is set
    /// beside the counts of the simulator, and compilers differ in which loads they join.
    ///
    /// # Errors
    /// PTX that is stale, or that the device cannot load.
    pub fn take_committed(&mut self) -> Result<()> {
        self.is_as_committed = true;
        for module in &mut self.modules {
            *module = self.device.load_with(&KernelSource::in_root(self.source.root(), module.slug()), &[])?;
        }
        Ok(())
    }

    /// Why the device cannot run this variant; `None` if it can.
    pub fn unsupported(&self, variant: &Variant) -> Option<String> {
        unsupported(&self.device, variant)
    }

    /// The launches of `variant` over `n` elements on this device.
    ///
    /// # Errors
    /// The errors of [`Planned::new`].
    pub fn plan(&self, variant: &Variant, ty: Type, n: u64, options: LaunchOptions) -> Result<Planned> {
        let card = self.device.card();
        if options.overlap && card.compute_capability < 90 {
            let why = format!("launches overlap from compute capability 9.0 on, and the card ({}) is older", card.name);
            return Err(Error::Usage(format!("--overlap: {why}")));
        }
        let may_have = self.chapter.on_demand && !self.is_as_committed;
        let on_demand = may_have && self.device.is_gpu() && self.device.can_compile(&self.source);
        Planned::new(&Problem::new(variant, ty, n, options).on(card, on_demand))
    }

    /// Origin of the chapter's own kernels: `committed`, or `NVRTC 13.0 for sm_90`.
    pub fn origin(&self) -> String {
        self.modules[0].origin().to_string()
    }

    /// Origin of each loaded file of kernels, by its slug.
    pub fn origins(&self) -> impl Iterator<Item = (&str, String)> {
        self.modules.iter().map(|module| (module.slug(), module.origin().to_string()))
    }

    fn module(&self, variant: &Variant) -> Result<&Module> {
        let slug = variant.kernels.unwrap_or(self.modules[0].slug());
        let own = self.modules.iter().find(|module| module.slug() == slug);
        own.ok_or_else(|| Error::Usage(self.unsupported(variant).unwrap_or_else(|| format!("{slug} is not loaded"))))
    }

    /// Returns whether the kernels of this variant's file have an entry of this name.
    pub fn has_kernel(&self, variant: &Variant, kernel: &str) -> bool {
        self.module(variant).is_ok_and(|module| module.kernels().contains(&kernel))
    }

    /// The variants for this type that the device can run.
    pub fn variants_for(&self, ty: Type) -> impl Iterator<Item = &'static Variant> {
        self.chapter.variants_for(ty).filter(|variant| self.unsupported(variant).is_none())
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Refuses a run that does not fit in memory.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub fn check_memory(&self, ty: Type, n: u64, plan: &Planned) -> Result<()> {
        let device_bytes = self.device.description().memory_bytes.filter(|_| self.device.is_gpu());
        memory::check(ty, n, plan.more_bytes(ty, n), device_bytes).map_err(|error| match (error, plan.layout) {
            (Error::Memory { n, ty, needed, place, available, .. }, layout) if layout != Layout::Array => {
                Error::Memory { n, ty, needed, place, available, smaller: "fewer or shorter rows" }
            }
            (error, _) => error,
        })
    }

    /// Runs the job to one value and judges it.
    ///
    /// # Errors
    /// A block size that the kernel does not take, memory that does not suffice, a launch that fails.
    pub fn run(&self, job: Job<'_>) -> Result<Run> {
        with_elements!(job.input, values => self.run_typed(job, values))
    }

    /// The first launch of the job and nothing more: what a profiler shows for one kernel.
    ///
    /// # Errors
    /// Those of [`Session::run`].
    pub fn first_launch(&self, job: Job<'_>) -> Result<Report> {
        Ok(self.launches(job)?.into_iter().next().unwrap_or_default())
    }

    /// Returns the report of each launch of the job.
    ///
    /// # Errors
    /// Those of [`Session::run`].
    pub fn launches(&self, job: Job<'_>) -> Result<Vec<Report>> {
        let plan = self.plan(job.variant, job.input.ty(), job.n(), job.options)?;
        with_elements!(job.input, values => Ok(self.launch_all(job, &plan, values)?.1))
    }

    fn run_typed<T: Element>(&self, job: Job<'_>, values: &[T]) -> Result<Run> {
        let n = job.n();
        let plan = self.plan(job.variant, T::TYPE, n, job.options)?;
        let (left, reports) = self.launch_all(job, &plan, values)?;
        let mut report = Report { counters: (!self.device.is_gpu()).then(Counters::default), ..Report::default() };
        reports.into_iter().for_each(|launch| runner::merge(&mut report, launch));
        let all_sha256 = left.sha256(job.options.op, &plan.layout);
        let worst = judged(job, &plan, values, &left);
        let identity = job.options.op.identity(T::TYPE);
        let (result, expected, verdict) =
            worst.map_or((identity, identity, Verdict::EXACT), |worst| (worst.result, worst.expected, worst.verdict));
        let row = worst.map(|worst| worst.row).filter(|_| plan.layout != Layout::Array);
        Ok(Run {
            variant: job.variant,
            ty: T::TYPE,
            n,
            layout: plan.layout,
            row,
            col: worst.and_then(|worst| worst.col),
            all_sha256,
            options: job.options,
            block: plan.block().or(job.options.block).unwrap_or(job.variant.blocks.default),
            plan,
            result,
            expected,
            verdict,
            counters: report.counters,
            lines: report.lines,
            faults: report.faults,
            notes: report.notes,
            trace: report.trace,
            time: None,
        })
    }

    fn launch_all<T: Element>(&self, job: Job<'_>, plan: &Planned, values: &[T]) -> Result<(Left<T>, Vec<Report>)> {
        if plan.passes.is_empty() {
            return Ok((Left::Values(Vec::new()), Vec::new()));
        }
        let (first, second) = values.split_at(job.n() as usize);
        let input = runner::upload(&self.device, first, job.offset)?;
        let arrays = self.arrays::<T>(plan)?.with_other(&self.device, second)?;
        let mut reports = Vec::new();
        let calls = self.calls(job.variant, plan, (&input, job.offset), &arrays)?;
        // Launches that may overlap go together, and the others one by one, so that it is said how far they are.
        for together in calls.chunk_by(|_, next| next.geometry.overlaps) {
            let at = reports.len() + 1;
            self.progress.at(format!("{}, launch {at} of {}", job.variant.name, plan.passes.len()));
            reports.extend(self.device.launch_all(together)?);
        }
        let left = if job.options.op.is_per_element() {
            Left::Elements(arrays.elements(&self.device)?)
        } else {
            Left::Values(arrays.results(&self.device, job.options.op, &plan.layout)?)
        };
        Ok((left, reports))
    }

    /// Returns the results of a plan's launches in its arrays; `None` if there are none.
    ///
    /// # Errors
    /// A driver that does not give it.
    pub fn result<T: Element>(&self, op: Op, arrays: &Arrays<T>) -> Result<Option<Value>> {
        arrays.result(&self.device, op)
    }

    /// The arrays that a plan writes.
    ///
    /// # Errors
    /// Memory that does not suffice.
    pub fn arrays<T: Element>(&self, plan: &Planned) -> Result<Arrays<T>> {
        Arrays::new(&self.device, plan, None)
    }

    /// The launches of a plan over the elements of `input` from `offset` on.
    ///
    /// # Errors
    /// A variant that the device cannot run.
    pub fn calls<'a, T: Element>(
        &'a self,
        variant: &Variant,
        plan: &'a Planned,
        input: (&'a Buffer<T>, usize),
        arrays: &'a Arrays<T>,
    ) -> Result<Vec<Call<'a>>> {
        let module = |pass: &Pass| self.module_of(variant, pass);
        runner::calls(&module, plan, input, arrays)
    }

    /// Returns the module with the kernel of a pass; compiles it if there is none.
    fn module_of(&self, variant: &Variant, pass: &Pass) -> Result<&Module> {
        let module = self.module(variant)?;
        let Some(line) = pass.line.as_ref().filter(|_| !module.kernels().contains(&pass.kernel.as_str())) else {
            return Ok(module);
        };
        if let Some(known) = self.compiled(&pass.kernel) {
            return Ok(known);
        }
        self.progress.at(format!("compiling {}", pass.kernel));
        let source = KernelSource::in_root(self.source.root(), module.slug());
        Ok(self.keep(vec![pass.kernel.clone()], self.device.load_on_demand(&source, line)?))
    }

    /// The module with a kernel that was compiled on demand.
    fn compiled(&self, kernel: &str) -> Option<&Module> {
        let mut all = std::iter::successors(self.on_demand.get(), |known| known.next.get());
        all.find(|known| known.kernels.iter().any(|known| known == kernel)).map(|known| &known.module)
    }

    /// Puts the module of some kernels at the end of the list.
    fn keep(&self, kernels: Vec<String>, module: Module) -> &Module {
        let mut place = &self.on_demand;
        while let Some(known) = place.get() {
            place = &known.next;
        }
        &place.get_or_init(|| Box::new(OnDemand { kernels, module, next: OnceCell::new() })).module
    }

    /// Compiles what these plans need and nothing has compiled yet, all at once, which takes a fraction of the time that one after the
    /// other does. If that fails, each is left to its launch, which says why.
    pub fn compile_ahead(&self, variant: &Variant, plans: &[Planned]) -> Result<()> {
        let module = self.module(variant)?;
        let is_new = |kernel: &str| !module.kernels().contains(&kernel) && self.compiled(kernel).is_none();
        let passes = plans.iter().flat_map(|plan| &plan.passes).filter(|pass| is_new(&pass.kernel));
        let (kernels, mut lines): (Vec<String>, Vec<&str>) =
            passes.filter_map(|pass| Some((pass.kernel.clone(), pass.line.as_deref()?))).unzip();
        // One line makes both kernels of parts.
        lines.sort_unstable();
        lines.dedup();
        let source = KernelSource::in_root(self.source.root(), module.slug());
        if !lines.is_empty()
            && let Ok(module) = self.device.load_on_demand(&source, &lines.join("\n"))
        {
            self.keep(kernels, module);
        }
        Ok(())
    }
}

impl Simulator for Session<'_> {
    fn source(&self) -> &KernelSource {
        &self.source
    }

    fn run(&self, job: Job<'_>) -> Result<Run> {
        Session::run(self, job)
    }
}

/// Hexadecimal digits of a hash of results: enough to tell two runs apart, and records have thousands.
const HASH_DIGITS: usize = 16;

/// Results of a job's launches.
enum Left<T> {
    /// A value for each that the layout has.
    Values(Vec<Value>),
    /// An element for each of the input's.
    Elements(Vec<T>),
}

impl<T: Element> Left<T> {
    /// Hash of the bits of all results, its first digits, if there is more than one; the gaps between rows do not count.
    fn sha256(&self, op: Op, layout: &Layout) -> Option<String> {
        let whole = match (self, layout) {
            (Left::Values(values), _) => (values.len() > 1).then(|| {
                let bits: Vec<String> = values.iter().map(|result| result.bits()).collect();
                device::sha256(bits.join(" ").as_bytes())
            }),
            (Left::Elements(elements), Layout::Rows(matrix)) => {
                let rows = elements.chunks(matrix.pitch.max(1) as usize).take(op.result_rows(matrix.rows) as usize);
                let bytes = rows.flat_map(|row| row.iter().take(matrix.cols as usize).flat_map(|x| x.le()));
                Some(device::sha256(&bytes.collect::<Vec<u8>>()))
            }
            (Left::Elements(_), _) => None,
        };
        whole.map(|whole| whole[..HASH_DIGITS].to_owned())
    }
}

/// The worst of what a job has left; of an array its one result. `None` where there is nothing to judge.
fn judged<T: Element>(job: Job<'_>, plan: &Planned, values: &[T], left: &Left<T>) -> Option<Worst> {
    let op = job.options.op;
    let results = match (left, plan.layout) {
        (Left::Values(values), Layout::Array) => {
            let result = values.first().copied().unwrap_or(op.identity(T::TYPE));
            let usual = job.reference.copied().unwrap_or_else(|| reference_of(op, job.input));
            let reference = reference_for(&usual, plan.rounding(), op, job.input);
            let verdict = verify(result, &reference, plan.rounding(), T::TYPE);
            return Some(Worst { row: 0, col: None, result, expected: reference.expected, verdict });
        }
        (Left::Values(results), layout) if !op.has_bounds() => {
            return worst(&layout, op, values, results, plan.rounding());
        }
        (Left::Values(results), _) => Results::Rows(results),
        (Left::Elements(results), _) => Results::Elements(results),
    };
    let Layout::Rows(matrix) = plan.layout else { return None };
    let bounded = Bounded::new(op, matrix, plan.targets, values.split_at(job.n() as usize), plan.additions());
    bounded.worst(&bounded.rows(), results)
}

/// Why `device` cannot run `variant`.
fn unsupported(device: &Device, variant: &Variant) -> Option<String> {
    let (needs, card) = (variant.compute_capability, device.card());
    let written = |capability: u32| format!("{}.{}", capability / 10, capability % 10);
    let why = if card.compute_capability < needs {
        let (needs, has) = (written(needs), written(card.compute_capability));
        format!("compute capability {needs}, and the card ({}) has {has}", card.name)
    } else if card.clusters_of(variant.cluster) == 0 {
        format!("clusters of {} blocks, and none fits on the card ({})", variant.cluster, card.name)
    } else {
        return None;
    };
    let would = if device.is_gpu() { "--device sim" } else { "--card h200" };
    Some(format!("{} needs {why}; {would} runs it", variant.name))
}
