//! A lesson's kernels on a device, and how its PTX becomes what the device runs.

use std::fmt;
use std::sync::Arc;

use simt::Parameter;

use crate::committed::{committed_options, committed_target, options};
use crate::gpu::{Gpu, GpuModule, Image};
use crate::kernels::Kernels;
use crate::nvrtc::{Nvrtc, Place};
use crate::source::{Part, joined};
use crate::{Error, KernelSource};

/// A device with a lesson's kernels on it, ready to launch.
#[derive(Debug)]
pub struct Module {
    pub(crate) slug: String,
    pub(crate) kernels: Arc<Kernels>,
    pub(crate) code: Code,
    origin: Origin,
}

/// Code that the device runs.
#[derive(Debug)]
pub(crate) enum Code {
    Gpu(GpuModule),
    /// The simulator runs [`Module::kernels`] as they are.
    Sim,
}

/// Origin of the code on the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// From the committed PTX.
    Committed,
    /// Compiled from the `.cu` on this machine.
    Compiled {
        /// `NVRTC 12.1`
        compiler: String,
        /// `sm_90`, or `compute_80` for PTX that goes to the simulator or the driver.
        target: String,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Committed => write!(f, "committed"),
            Origin::Compiled { compiler, target } => write!(f, "{compiler} for {target}"),
        }
    }
}

/// Resources that one kernel takes of a multiprocessor, as the GPU's driver reports them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resources {
    /// Registers a thread.
    pub registers: u32,
    /// Static shared memory a block, in bytes.
    pub shared_bytes: u32,
    /// Local memory a thread (spilled registers, arrays), in bytes.
    pub local_bytes: u32,
}

impl Module {
    /// The lesson.
    pub fn slug(&self) -> &str {
        &self.slug
    }

    /// Names of the kernels, in file order.
    pub fn kernels(&self) -> Vec<&str> {
        self.kernels.names()
    }

    /// Parameters of a kernel, in order.
    ///
    /// # Errors
    /// [`Error::Load`] when there is no such kernel.
    pub fn parameters(&self, kernel: &str) -> Result<Vec<Parameter>, Error> {
        Ok(self.kernels.program(kernel)?.parameters(kernel)?)
    }

    /// Makes a kernel ready on the simulator, so that what it cannot run is said now and not at the first launch.
    ///
    /// # Errors
    /// [`Error::Load`] when there is no such kernel, or it cannot be simulated.
    pub fn prepare(&self, kernel: &str) -> Result<(), Error> {
        match &self.code {
            Code::Gpu(_) => self.parameters(kernel).map(drop),
            Code::Sim => self.kernels.kernel(kernel).map(drop),
        }
    }

    /// Returns whether the kernel waits in its own code for the launch before it. Only then may the two overlap; code compiled for
    /// a target older than compute capability 9.0 cannot.
    pub(crate) fn waits(&self, kernel: &str) -> bool {
        self.kernels.waits(kernel)
    }

    /// Returns whether the code is for a target whose kernels can wait for the launch before them: compute capability 9.0 or newer.
    pub(crate) fn may_wait(&self) -> bool {
        self.kernels.target() >= 90
    }

    /// Origin of the code on the device; prints `committed` or `NVRTC 12.1 for sm_90`.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Registers and memory of a kernel; `None` on the simulator, which has no machine code.
    ///
    /// # Errors
    /// [`Error::Load`] when there is no such kernel, [`Error::Driver`].
    pub fn resources(&self, kernel: &str) -> Result<Option<Resources>, Error> {
        self.parameters(kernel)?;
        match &self.code {
            Code::Gpu(module) => module.resources(kernel).map(Some),
            Code::Sim => Ok(None),
        }
    }
}

/// PTX that belongs to the lesson's `.cu`: the committed texts, or the one that was compiled.
struct Ptx {
    parts: Vec<Part>,
    origin: Origin,
}

impl Ptx {
    fn kernels(&self) -> Result<Arc<Kernels>, Error> {
        match (&self.origin, &self.parts[..]) {
            (Origin::Compiled { .. }, [Part { name, text }]) => Kernels::parsed(name, text),
            (_, parts) => Ok(Kernels::committed(parts)),
        }
    }
}

/// A lesson's files while they become a module: the committed PTX if it may be used, and NVRTC when it is needed.
struct Recipe<'a> {
    source: &'a KernelSource,
    places: &'a [Place],
    /// Compute capability of the device, 90 for 9.0; `None` on a simulator that is not taken for a card.
    arch: Option<u32>,
    cu: String,
    committed: Result<Vec<Part>, String>,
}

impl<'a> Recipe<'a> {
    fn read(source: &'a KernelSource, places: &'a [Place], arch: Option<u32>) -> Result<Recipe<'a>, Error> {
        let cu = source.read_cu()?;
        let committed = source.read_parts(&cu, arch);
        Ok(Recipe { source, places, arch, cu, committed })
    }

    /// The committed PTX, or what NVRTC makes of an edited `.cu` for the same target.
    fn ptx(&self) -> Result<Ptx, Error> {
        let why = match &self.committed {
            Ok(parts) => return Ok(Ptx { parts: parts.clone(), origin: Origin::Committed }),
            Err(why) => why,
        };
        let nvrtc = Nvrtc::find_in(self.places)
            .map_err(|_| Error::NeedsNvrtc { cu: self.source.cu_name(), why: why.clone() })?;
        let target = committed_target(&self.cu, self.arch);
        let text = nvrtc.compile(&self.source.cu_name(), &self.cu, &options(target))?;
        let origin = Origin::Compiled { compiler: nvrtc.name(), target: target.to_string() };
        let name = format!("PTX of {} by {}", self.source.cu_name(), nvrtc.name());
        Ok(Ptx { parts: vec![Part { name, text }], origin })
    }

    fn module(&self, kernels: Arc<Kernels>, code: Code, origin: Origin) -> Module {
        Module { slug: self.source.slug.clone(), kernels, code, origin }
    }
}

/// Loads a lesson into the simulator.
pub(crate) fn load_sim(source: &KernelSource, places: &[Place], arch: Option<u32>) -> Result<Module, Error> {
    let recipe = Recipe::read(source, places, arch)?;
    let ptx = recipe.ptx()?;
    Ok(recipe.module(ptx.kernels()?, Code::Sim, ptx.origin))
}

/// A lesson with the lines of kernels that are compiled on demand, and without its own.
fn on_demand<'a>(source: &'a KernelSource, lines: &str) -> Result<Recipe<'a>, Error> {
    let cu = format!("#define WANTED_ALONE\n#line 1\n{}\n{lines}\n", source.read_cu()?);
    Ok(Recipe { source, places: &[], arch: None, cu, committed: Err(String::new()) })
}

/// Kernels of a lesson that its committed PTX has not, as machine code.
pub(crate) fn load_on_demand_gpu(
    gpu: &Gpu,
    source: &KernelSource,
    nvrtc: &Nvrtc,
    lines: &str,
) -> Result<Module, Error> {
    load_machine_code(gpu, &on_demand(source, lines)?, nvrtc)
}

/// The same, as PTX.
pub(crate) fn load_on_demand_sim(source: &KernelSource, nvrtc: &Nvrtc, lines: &str) -> Result<Module, Error> {
    let recipe = on_demand(source, lines)?;
    let text = nvrtc.compile(&source.cu_name(), &recipe.cu, &committed_options(&recipe.cu))?;
    let kernels = Kernels::parsed(&format!("PTX of {} by {}", source.cu_name(), nvrtc.name()), &text)?;
    let origin = Origin::Compiled { compiler: nvrtc.name(), target: committed_target(&recipe.cu, None).to_string() };
    Ok(recipe.module(kernels, Code::Sim, origin))
}

/// PTX without a source, on the simulator.
pub(crate) fn load_ptx_sim(name: &str, text: &str) -> Result<Module, Error> {
    Ok(sourceless(name, Kernels::parsed(name, text)?, Code::Sim))
}

/// PTX without a source, on a GPU.
pub(crate) fn load_ptx_gpu(gpu: &Gpu, name: &str, text: &str) -> Result<Module, Error> {
    let kernels = Kernels::parsed(name, text)?;
    let code = gpu.load(name, &Image::Ptx(text))?;
    Ok(sourceless(name, kernels, Code::Gpu(code)))
}

fn sourceless(name: &str, kernels: Arc<Kernels>, code: Code) -> Module {
    Module { slug: name.to_string(), kernels, code, origin: Origin::Committed }
}

/// Loads a lesson into a GPU: machine code by NVRTC where NVRTC is there and knows the GPU, else PTX for the driver's
/// own compiler. Code of an NVRTC newer than the driver may be refused, and an old toolkit's NVRTC may not understand a
/// lesson; then PTX is tried too.
pub(crate) fn load_gpu(gpu: &Gpu, source: &KernelSource, places: &[Place]) -> Result<Module, Error> {
    let recipe = Recipe::read(source, places, Some(gpu.arch()))?;
    let nvrtc = Nvrtc::find_in(places).ok().filter(|nvrtc| nvrtc.knows(gpu.arch()));
    match nvrtc.map(|nvrtc| load_machine_code(gpu, &recipe, &nvrtc)) {
        Some(Ok(module)) => return Ok(module),
        Some(Err(error @ Error::Compile { .. })) if recipe.committed.is_err() => return Err(error),
        Some(Err(_)) | None => {}
    }
    let ptx = recipe.ptx()?;
    let kernels = ptx.kernels()?;
    let name = ptx.parts.first().map_or("", |part| part.name.as_str());
    let code = gpu.load(name, &Image::Ptx(&joined(&ptx.parts)))?;
    Ok(recipe.module(kernels, Code::Gpu(code), ptx.origin))
}

fn load_machine_code(gpu: &Gpu, recipe: &Recipe<'_>, nvrtc: &Nvrtc) -> Result<Module, Error> {
    let (name, arch) = (recipe.source.cu_name(), gpu.arch());
    let made = nvrtc.compile_for(arch, &name, &recipe.cu)?;
    let code = gpu.load(&format!("code of {name} by {}", nvrtc.name()), &Image::Machine(&made.cubin))?;
    let kernels = Kernels::parsed(&format!("PTX of {name} by {}", nvrtc.name()), &made.ptx)?;
    let origin = Origin::Compiled { compiler: nvrtc.name(), target: format!("sm_{arch}") };
    Ok(recipe.module(kernels, Code::Gpu(code), origin))
}
