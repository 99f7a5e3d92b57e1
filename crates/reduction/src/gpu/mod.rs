//! Reductions of arrays that a program holds on a GPU through cudarc, on its own streams.

mod call;
#[doc(hidden)]
pub mod card;
#[cfg_attr(not(feature = "nvrtc"), path = "no_compiler.rs")]
mod compiler;
mod element;
mod gathered;
mod launch;
mod members;
mod ranks;
mod workspace;

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

use ::cudarc::driver::{CudaContext, CudaStream, result, sys};

pub use self::call::Call;
use self::compiler::Compiler;
pub use self::element::{Element, Value};
pub use self::gathered::Gathered;
use self::launch::{Function, failed};
#[doc(hidden)]
pub use self::launch::{allow, launch_kernel};
pub use self::members::Member;
pub use self::ranks::Ranks;
#[doc(hidden)]
pub use self::ranks::reach_each_other;
pub use self::workspace::Workspace;
use crate::card::Card;
use crate::element::Type;
use crate::error::{Error, Result};
use crate::families::own::Operator;
use crate::geometry::Geometry;
use crate::kernels;
use crate::layout::Layout;
use crate::op::Op;
use crate::plan::{Pass, Problem, Targets};
use crate::reduction::Reduction;

/// The oldest CUDA version whose driver is used, as the driver counts: 12.0.
const CUDA_MIN: i32 = 12_000;

/// Returns whether a driver is here that is new enough, and shows a GPU. Without one cudarc panics when it is first asked for anything.
pub fn is_available() -> bool {
    let mut version = 0;
    // SAFETY: it is asked first whether the driver's library is here, and the pointer is to a live integer.
    let is_new = unsafe { is_loadable() && sys::cuDriverGetVersion(&mut version).result().is_ok() };
    is_new
        && version >= CUDA_MIN
        && result::init().and_then(|()| result::device::get_count()).is_ok_and(|count| count > 0)
}

/// Returns whether the loader finds the driver's library. cudarc knows that where it loads CUDA; a program that was linked to CUDA,
/// as candle's are, has begun with it.
///
/// # Safety
/// A library of the driver's name is the driver.
unsafe fn is_loadable() -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        #[allow(unused_imports, reason = "cudarc's function, if it has one, goes before the one below")]
        use ::cudarc::driver::sys::*;
        is_culib_present()
    }
}

/// What [`is_loadable`] finds in a program that was linked.
#[allow(dead_code, reason = "a feature of cudarc's decides")]
unsafe fn is_culib_present() -> bool {
    true
}

/// The library's handle of a context: its card, the kernels that were loaded, and the plans that were made. One serves all streams
/// and threads.
#[derive(Debug)]
pub struct Reducer {
    context: Arc<CudaContext>,
    card: Card,
    /// A compiler, or why there is none.
    compiler: std::result::Result<Compiler, String>,
    loaded: Arc<Loaded>,
    plans: Mutex<HashMap<Shape, Arc<Prepared>>>,
}

/// What a plan of a card depends on.
type Shape = (Op, Type, u64, Layout, Targets);

/// Modules that were loaded, by the kernel of each, or by the line that made it. They stay until nothing can launch them any more.
#[derive(Debug)]
struct Loaded {
    context: Arc<CudaContext>,
    modules: Mutex<HashMap<String, Module>>,
}

/// A module's handle.
#[derive(Debug, Clone, Copy)]
struct Module(sys::CUmodule);

// SAFETY: a handle of the driver's, which belongs to a context and to no thread.
unsafe impl Send for Module {}

/// A reduction whose kernels are loaded: it can be enqueued at once, while a stream captures too.
#[derive(Debug)]
pub struct Prepared {
    reduction: Reduction,
    /// One a launch.
    functions: Vec<Function>,
    context: Arc<CudaContext>,
    /// Keeps them.
    _loaded: Arc<Loaded>,
}

impl Prepared {
    /// The reduction with its launches, plain data.
    pub fn reduction(&self) -> &Reduction {
        &self.reduction
    }
}

impl Reducer {
    /// A handle for a context. With the feature `nvrtc` it looks for NVRTC, and plans are for the shapes that were the fastest for each
    /// size; without either they are for the shapes that the crate has.
    ///
    /// # Errors
    /// [`Error::Driver`] if the driver does not describe the card.
    pub fn new(context: &Arc<CudaContext>) -> Result<Reducer> {
        let describe = |error| failed("describe the card", error);
        context.bind_to_thread().map_err(describe)?;
        let mut card = card::without_clusters(context).map_err(describe)?;
        card.clusters = relaxed(|| card::clusters(context, &card));
        let loaded = Arc::new(Loaded::new(context));
        // Code of a compiler that is newer than the driver may not load.
        let compiler = Compiler::find(card.compute_capability).and_then(|(compiler, nothing)| {
            let loads = loaded.module("nothing", || Ok(nothing));
            loads.map(|_| compiler).map_err(|error| error.to_string())
        });
        Ok(Reducer { context: Arc::clone(context), card, compiler, loaded, plans: Mutex::default() })
    }

    /// The same handle with plans for the kernels that the crate has: a first plan takes some 0.1 s, and not the better part of a second;
    /// where the driver has the code in its cache, a millisecond.
    pub fn without_compiler(mut self) -> Reducer {
        self.compiler = Err("the program does without a compiler".to_owned());
        self.plans = Mutex::default();
        self
    }

    /// Returns whether plans may have kernels that are compiled when they are first planned.
    pub fn compiles(&self) -> bool {
        self.compiler.is_ok()
    }

    /// The context.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// The card that plans are made for.
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// An empty workspace for a stream of the handle's context.
    ///
    /// # Errors
    /// [`Error::OtherContext`].
    pub fn workspace(&self, stream: &Arc<CudaStream>) -> Result<Workspace> {
        if stream.context() != &self.context {
            return Err(Error::OtherContext { what: "the stream" });
        }
        Ok(Workspace::new(stream))
    }

    /// Plans a reduction of arrays in this layout and loads its kernels, unless that was done before. `n` is the number of elements
    /// of an array; other layouts say it themselves.
    ///
    /// # Errors
    /// What [`Reduction::new`] refuses; [`Error::Driver`] for a kernel that the driver does not load.
    pub fn plan(&self, op: Op, ty: Type, n: u64, layout: Layout) -> Result<Arc<Prepared>> {
        self.plan_with(op, ty, n, layout, Targets::default())
    }

    /// As [`Reducer::plan`], for labels and gradients of another form.
    ///
    /// # Errors
    /// Those of [`Reducer::plan`].
    pub fn plan_with(&self, op: Op, ty: Type, n: u64, layout: Layout, targets: Targets) -> Result<Arc<Prepared>> {
        let key = (op, ty, n, layout, targets);
        let plans = || self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(prepared) = plans().get(&key) {
            return Ok(Arc::clone(prepared));
        }
        let problem = Problem { targets, on_demand: self.compiles(), ..Problem::new(op, ty, n, layout, &self.card) };
        let prepared = Arc::new(self.prepare(Reduction::new(&problem)?)?);
        Ok(Arc::clone(plans().entry(key).or_insert(prepared)))
    }

    /// Plans the reduction of an array of `n` elements by an operator of the caller's own, and compiles its kernel unless that was done
    /// before.
    ///
    /// # Errors
    /// What [`Operator::reduction`] refuses; [`Error::NoCompiler`]; [`Error::Compile`] with NVRTC's messages; [`Error::Driver`].
    pub fn plan_own(&self, operator: &Operator, n: u64) -> Result<Prepared> {
        self.prepare(operator.reduction(n, &self.card)?)
    }

    /// Loads the kernels of a reduction that was planned by hand, for this handle's card or another.
    ///
    /// # Errors
    /// [`Error::Driver`] for a kernel that the driver does not load; [`Error::NoCompiler`] and [`Error::Compile`] for one that the crate
    /// has not.
    pub fn prepare(&self, reduction: Reduction) -> Result<Prepared> {
        let function = |pass| self.function(pass, reduction.lesson());
        let functions = reduction.plan().passes.iter().map(function).collect::<Result<_>>()?;
        let (context, loaded) = (Arc::clone(&self.context), Arc::clone(&self.loaded));
        Ok(Prepared { reduction, functions, context, _loaded: loaded })
    }
}

impl Reducer {
    /// The function of a launch's kernel, compiled and loaded if it was not.
    fn function(&self, pass: &Pass, lesson: &str) -> Result<Function> {
        let kernel = &pass.kernel;
        let module = match (kernels::ptx(kernel, self.card.compute_capability), &pass.line) {
            (Ok(text), _) => self.loaded.module(kernel, || Ok([text.as_bytes(), b"\0"].concat())),
            (Err(_), Some(line)) if !lesson.is_empty() => {
                self.loaded.module(&format!("{lesson}: {line}"), || match &self.compiler {
                    Ok(compiler) => compiler.compile(kernel, lesson, line),
                    Err(why) => Err(Error::NoCompiler { kernel: kernel.clone(), why: why.clone() }),
                })
            }
            (Err(error), _) => Err(error),
        };
        self.loaded.function(module?, kernel, pass.geometry)
    }
}

impl Loaded {
    fn new(context: &Arc<CudaContext>) -> Loaded {
        Loaded { context: Arc::clone(context), modules: Mutex::default() }
    }

    /// A module of this name, loaded if it was not: PTX that ends in NUL, or machine code.
    fn module(&self, name: &str, image: impl FnOnce() -> Result<Vec<u8>>) -> Result<Module> {
        let modules = || self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&module) = modules().get(name) {
            return Ok(module);
        }
        // Others may plan while this compiles.
        let image = image()?;
        let load = |error| failed(&format!("load {name}"), error);
        self.context.bind_to_thread().map_err(load)?;
        let mut modules = modules();
        if let Some(&module) = modules.get(name) {
            return Ok(module);
        }
        // SAFETY: the context is current, and the image is whole.
        let module = relaxed(|| unsafe { result::module::load_data(image.as_ptr().cast()) }).map_err(load)?;
        modules.insert(name.to_owned(), Module(module));
        Ok(Module(module))
    }

    /// The function of a kernel, allowed what launches of this geometry need.
    fn function(&self, Module(module): Module, kernel: &str, geometry: Geometry) -> Result<Function> {
        let load = |error| failed(&format!("load {kernel}"), error);
        let name = CString::new(kernel).map_err(|_| Error::NoKernel { kernel: kernel.to_owned() })?;
        self.context.bind_to_thread().map_err(load)?;
        // SAFETY: the module is loaded, until this is dropped.
        let function = unsafe { result::module::get_function(module, name) }.map_err(load)?;
        // SAFETY: the function is live.
        unsafe { allow(function, geometry) }.map_err(load)?;
        Ok(Function(function))
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let modules = self.modules.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Launches may still run. A driver that refuses keeps the modules, which is all that could be done.
        if self.context.bind_to_thread().and_then(|()| self.context.synchronize()).is_err() {
            return;
        }
        for (_, Module(module)) in modules.drain() {
            // SAFETY: loaded once, unloaded once, and nothing of it runs.
            let _ = unsafe { result::module::unload(module) };
        }
    }
}

/// Does what a capture on this thread would forbid, such as loading a module, without breaking the capture.
fn relaxed<T>(work: impl FnOnce() -> T) -> T {
    let mut mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: the driver exchanges the thread's mode with the one it is given.
    let status = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) };
    let done = work();
    if status.result().is_ok() {
        // SAFETY: as above: the thread gets its own mode back.
        let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) }.result();
    }
    done
}
