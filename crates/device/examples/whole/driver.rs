//! One launch through the driver alone: PTX to the driver's compiler, plain allocations, the launch as the fixture says.
//!
//! Not through `Device`, for what it adds: a pool of memory, under which a tool sees no end of an array; our own reading of
//! the PTX; and the limits of what the chapters need.

use std::ffi::{CString, c_void};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use cudarc::driver::{DriverError, result, sys};

use simt::command::command_line::Request;
use simt::command::contents::contents;
use simt::spec::{Argument, Kind, Value};

/// Room for what the driver's compiler says.
const LOG_BYTES: usize = 8192;

/// A frame of machine code also holds the registers that a call saves, so that a GPU gets this many times the stack that the
/// fixture gives to the frames of its PTX.
const MACHINE_FRAME: usize = 8;

/// The first GPU, opened. Every function below needs one.
pub struct Gpu(sys::CUdevice);

/// A buffer after the launch: its name and its bytes.
pub type Left = (String, Vec<u8>);

impl Gpu {
    /// Opens it; the error says what is missing.
    pub fn open() -> Result<Gpu> {
        device::probe(std::path::Path::new(".")).devices?;
        let open = || -> Result<Gpu, DriverError> {
            result::init()?;
            let device = result::device::get(0)?;
            // SAFETY: the driver just gave the device; the context is released when this is dropped.
            unsafe { result::ctx::set_current(result::primary_ctx::retain(device)?) }?;
            Ok(Gpu(device))
        };
        open().map_err(words).context("open the GPU")
    }

    /// Runs a kernel of this PTX to its end; what `--print` names, in that order.
    pub fn run(&self, ptx: &str, request: &Request) -> Result<Vec<Left>> {
        ensure!(request.then.is_empty(), "launches behind --then are for the simulator alone");
        let stack_bytes = request.stack as usize * MACHINE_FRAME;
        // SAFETY: a context is current.
        let limit = unsafe { sys::cuCtxSetLimit(sys::CUlimit::CU_LIMIT_STACK_SIZE, stack_bytes) };
        limit.result().map_err(words).context("set the stack's size")?;
        let module = load(ptx)?;
        let name = CString::new(request.kernel.as_str())?;
        // SAFETY: the module is loaded, and is not unloaded before the process ends.
        let function = unsafe { result::module::get_function(module, name) };
        let function = function.map_err(words).with_context(|| format!("find the kernel {}", request.kernel))?;
        let addresses = request.args.iter().map(place).collect::<Result<Vec<_>>>()?;
        launch(function, request, &addresses)?;
        result::ctx::synchronize().map_err(words).context("run the kernel")?;
        request.print.iter().map(|print| read_back(request, &addresses, &print.name, print.count)).collect()
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // Memory and modules go with the context. After a fault of a kernel the driver refuses this too, and the process ends.
        // SAFETY: retained once, released once.
        let _ = unsafe { result::primary_ctx::release(self.0) };
    }
}

/// Name of the error in the driver, and its description.
fn words(error: DriverError) -> anyhow::Error {
    let text = |words: Result<&std::ffi::CStr, DriverError>| words.map(|w| w.to_string_lossy().into_owned()).ok();
    let name = text(error.error_name()).unwrap_or_else(|| format!("{:?}", error.0));
    anyhow!("{name}: {}", text(error.error_string()).unwrap_or_default())
}

fn load(ptx: &str) -> Result<sys::CUmodule> {
    let ptx = CString::new(ptx).context("the PTX holds a NUL")?;
    let mut module = std::ptr::null_mut();
    let mut log = vec![0u8; LOG_BYTES];
    let mut options = [
        sys::CUjit_option::CU_JIT_GENERATE_LINE_INFO,
        sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
        sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    ];
    // The driver takes integers where it takes pointers.
    let number = std::ptr::without_provenance_mut::<c_void>;
    let mut values = [number(1), log.as_mut_ptr().cast(), number(LOG_BYTES)];
    // SAFETY: the text ends in NUL; both arrays have three elements; the log has the size that is passed.
    let status = unsafe {
        sys::cuModuleLoadDataEx(&mut module, ptx.as_ptr().cast(), 3, options.as_mut_ptr(), values.as_mut_ptr())
    };
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    let said = String::from_utf8_lossy(&log[..end]).trim().to_string();
    status.result().map_err(words).with_context(|| format!("load the PTX ({said})"))?;
    Ok(module)
}

/// The eight bytes that the driver copies a parameter from: an address, or a scalar with zeros behind it.
fn place(argument: &Argument) -> Result<u64> {
    let Argument::Spec(spec) = argument else { bail!("a value inside of an argument: only simt puts those there") };
    match &spec.kind {
        Kind::Scalar(Value::Number(bytes)) => {
            let mut value = [0; 8];
            value[..bytes.len()].copy_from_slice(bytes);
            Ok(u64::from_le_bytes(value))
        }
        Kind::Buffer { len, init } => {
            let written = contents(spec, *len, init)?;
            let bytes = *len as usize * spec.ty.bytes();
            let fill = || -> Result<u64, DriverError> {
                // SAFETY: a context is current; what is not copied stays unwritten, which is what the fixture asks for.
                let address = unsafe { result::malloc_sync(bytes.max(1)) }?;
                if !written.is_empty() {
                    // SAFETY: `written` has at most `bytes` bytes, see `contents`.
                    unsafe { result::memcpy_htod_sync(address, &written) }?;
                }
                Ok(address)
            };
            fill().map_err(words).with_context(|| format!("make {}, {bytes} bytes", spec.name))
        }
        _ => bail!("{}: a structure or an address: only simt passes those", spec.name),
    }
}

fn launch(function: sys::CUfunction, request: &Request, addresses: &[u64]) -> Result<()> {
    use sys::CUlaunchAttributeID as Id;
    let mut attributes = Vec::new();
    let mut attribute = |id: Id, value: sys::CUlaunchAttributeValue| {
        attributes.push(sys::CUlaunchAttribute { id, pad: [0; 4], value });
    };
    if request.cooperative {
        attribute(Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE, sys::CUlaunchAttributeValue { cooperative: 1 });
    }
    if let Some(cluster) = request.cluster {
        let [x, y, z] = cluster.0;
        let cluster = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z };
        attribute(Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, sys::CUlaunchAttributeValue { clusterDim: cluster });
    }
    let mut values = addresses.to_vec();
    let mut pointers: Vec<*mut c_void> = values.iter_mut().map(|value| std::ptr::from_mut(value).cast()).collect();
    let config = sys::CUlaunchConfig {
        gridDimX: request.grid.0[0],
        gridDimY: request.grid.0[1],
        gridDimZ: request.grid.0[2],
        blockDimX: request.block.0[0],
        blockDimY: request.block.0[1],
        blockDimZ: request.block.0[2],
        sharedMemBytes: request.shared,
        hStream: std::ptr::null_mut(),
        attrs: attributes.as_mut_ptr(),
        numAttrs: attributes.len() as u32,
    };
    // SAFETY: the function is live, there is one value of eight bytes for each argument, and the driver copies values and
    // attributes before it returns. That the arguments are those of the kernel is for the fixture to say.
    let status = unsafe { sys::cuLaunchKernelEx(&config, function, pointers.as_mut_ptr(), std::ptr::null_mut()) };
    status.result().map_err(words).context("launch the kernel")
}

fn read_back(request: &Request, addresses: &[u64], name: &str, count: Option<usize>) -> Result<Left> {
    let named = |argument: &Argument| matches!(argument, Argument::Spec(spec) if spec.name == name);
    let Some(at) = request.args.iter().position(named) else {
        bail!("no argument is named {name}");
    };
    let Argument::Spec(spec) = &request.args[at] else { bail!("--print {name}: it is no buffer") };
    let Kind::Buffer { len, .. } = spec.kind else { bail!("{name} is a scalar, only buffers change") };
    let count = count.unwrap_or(len as usize).min(len as usize);
    let mut bytes = vec![0u8; count * spec.ty.bytes()];
    // SAFETY: the buffer at that address has at least `count` elements.
    let copied = unsafe { result::memcpy_dtoh_sync(&mut bytes, addresses[at]) };
    copied.map_err(words).with_context(|| format!("copy {name} back"))?;
    Ok((name.to_string(), bytes))
}
