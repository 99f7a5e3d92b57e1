//! What a first plan spends its time on, where the driver compiles its kernels: the compiler's own start, each kernel by itself at every level
//! of optimisation, its machine code without a compiler, and the kernels of a plan on a thread each. Prints lines of text.
//!
//! Usage: CUDA_CACHE_DISABLE=1 first_plan

use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::{CudaContext, result, sys};
use reduction::{Layout, Matrix, Op, Problem, Reducer, Reduction, Type, kernels};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Loads of the same text; the fastest counts.
const LOADS: usize = 3;
/// Levels of optimisation that the driver's compiler has.
const LEVELS: std::ops::RangeInclusive<usize> = 0..=4;

fn main() -> std::process::ExitCode {
    if let Err(error) = run() {
        eprintln!("first_plan: {error}");
        return std::process::ExitCode::FAILURE;
    }
    std::process::ExitCode::SUCCESS
}

fn run() -> Result<()> {
    if std::env::var("CUDA_CACHE_DISABLE").as_deref() != Ok("1") {
        return Err("the driver would take code from its cache: set CUDA_CACHE_DISABLE=1".into());
    }
    if !reduction::is_available() {
        return Err("no NVIDIA driver with a GPU is here; run it on a machine that has one".into());
    }
    let context = CudaContext::new(0)?;
    println!("{}, milliseconds, the fastest of {LOADS} where no more is said", context.name()?);
    starts()?;
    let begin = Instant::now();
    let reducer = Reducer::new(&context)?.without_compiler();
    println!("{:44} {:6.1}", "a handle", ms(begin));

    println!("{:44} {:>6} {:>6} {}   {:>6}", "kernel", "lines", "as is", headings(), "code");
    let rows = Layout::Rows(Matrix::dense(4096, 4096));
    for (op, ty, layout) in [
        (Op::Sum, Type::F32, Layout::Array),
        (Op::Argmax, Type::BF16, Layout::Array),
        (Op::Meanvar, Type::F32, rows),
        (Op::Softmax, Type::BF16, rows),
        (Op::LayerNormBackward, Type::F32, rows),
    ] {
        let reduction = Reduction::new(&Problem::new(op, ty, 1 << 24, layout, reducer.card()))?;
        let text = |name: String| -> Result<(String, CString)> {
            let text = CString::new(kernels::ptx(&name, reducer.card().compute_capability)?)?;
            Ok((name, text))
        };
        let texts = reduction.plan().kernels().into_iter().map(text).collect::<Result<Vec<_>>>()?;
        for (name, text) in &texts {
            kernel(name, text)?;
        }
        if texts.len() > 1 {
            together(&context, &texts)?;
        }
    }
    Ok(())
}

fn headings() -> String {
    LEVELS.map(|level| format!("{:>6}", format!("O{level}"))).collect::<Vec<_>>().join(" ")
}

/// Loads kernels that do nothing: the first of them starts the compiler.
fn starts() -> Result<()> {
    for turn in 0..4 {
        let text =
            format!(".version 8.1\n.target sm_80\n.address_size 64\n.visible .entry nothing{turn}()\n{{\n\tret;\n}}\n");
        let begin = Instant::now();
        load(CString::new(text)?.as_bytes_with_nul(), None)?;
        println!("{:44} {:6.1}", if turn == 0 { "an empty kernel, the first" } else { "another" }, ms(begin));
    }
    Ok(())
}

/// Prints a kernel's times: as the library loads it, at each level, and as machine code.
fn kernel(name: &str, text: &CString) -> Result<()> {
    let as_is = fastest(|| load(text.as_bytes_with_nul(), None))?;
    let levels = LEVELS.map(|level| Ok(format!("{:6.1}", fastest(|| load(text.as_bytes_with_nul(), Some(level)))?)));
    let levels = levels.collect::<Result<Vec<_>>>()?.join(" ");
    let code = machine_code(text)?;
    let of_code = fastest(|| load(&code, None))?;
    let lines = text.as_bytes().iter().filter(|&&byte| byte == b'\n').count();
    println!("{name:44} {lines:6} {as_is:6.1} {levels}   {of_code:6.2}");
    Ok(())
}

/// Prints what the kernels of a plan take one behind the other, and on a thread each.
fn together(context: &Arc<CudaContext>, texts: &[(String, CString)]) -> Result<()> {
    let in_turn = fastest(|| texts.iter().try_for_each(|(_, text)| load(text.as_bytes_with_nul(), None)))?;
    let on_threads = fastest(|| {
        std::thread::scope(|scope| {
            let one = |text: &CString| -> std::result::Result<(), String> {
                context.bind_to_thread().map_err(|error| error.to_string())?;
                load(text.as_bytes_with_nul(), None).map_err(|error| error.to_string())
            };
            let running: Vec<_> = texts.iter().map(|(_, text)| scope.spawn(move || one(text))).collect();
            running.into_iter().try_for_each(|thread| Ok(thread.join().map_err(|_| "a thread died")??))
        })
    })?;
    println!("{:44} {in_turn:6.1} in turn, {on_threads:.1} on a thread each", format!("these {}", texts.len()));
    Ok(())
}

/// Loads an image into the current context, at this level of optimisation if one is given, and unloads it.
fn load(image: &[u8], level: Option<usize>) -> Result<()> {
    let mut option = sys::CUjit_option::CU_JIT_OPTIMIZATION_LEVEL;
    // The driver takes the number itself for the pointer.
    let mut value: *mut c_void = std::ptr::without_provenance_mut(level.unwrap_or(0));
    let mut module = null_mut();
    // SAFETY: a context is current; the image is machine code, or text that ends in NUL; there is a value for each option.
    let status = unsafe {
        let count = level.is_some().into();
        sys::cuModuleLoadDataEx(&mut module, image.as_ptr().cast(), count, &mut option, &mut value)
    };
    status.result()?;
    // SAFETY: it was loaded above, and nothing of it runs.
    unsafe { result::module::unload(module) }?;
    Ok(())
}

/// Machine code that the driver's compiler makes of a kernel.
fn machine_code(text: &CString) -> Result<Vec<u8>> {
    let (mut state, mut code, mut bytes) = (null_mut(), null_mut(), 0);
    let (ptx, size) = (text.as_ptr().cast_mut().cast(), text.as_bytes_with_nul().len());
    // SAFETY: a context is current; the text ends in NUL and outlives the linker; the code is copied before the linker is destroyed, once.
    unsafe {
        sys::cuLinkCreate_v2(0, null_mut(), null_mut(), &mut state).result()?;
        let kind = sys::CUjitInputType::CU_JIT_INPUT_PTX;
        let added =
            sys::cuLinkAddData_v2(state, kind, ptx, size, c"kernel.ptx".as_ptr(), 0, null_mut(), null_mut()).result();
        let linked = added.and_then(|()| sys::cuLinkComplete(state, &mut code, &mut bytes).result());
        let copied = linked.map(|()| std::slice::from_raw_parts(code.cast::<u8>(), bytes).to_vec());
        sys::cuLinkDestroy(state).result()?;
        Ok(copied?)
    }
}

fn fastest(mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..LOADS {
        let begin = Instant::now();
        work()?;
        least = least.min(ms(begin));
    }
    Ok(least)
}

fn ms(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e3
}
