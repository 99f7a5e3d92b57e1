//! A libcuda.so for tests: the driver functions that this crate calls, on ordinary memory, with the failures of a real
//! driver on demand. It shows whether calls come in a valid order and what is said when one fails; it shows nothing
//! about a GPU.
//!
//! `FAKE_CUDA` lists what goes wrong: `version=11080`, `no-gpu`, `out-of-memory`, `code-refused`, `ptx-too-new`,
//! `ptx-invalid`, `launch-dies`, `no-clusters`, `no-peers`; and `gpus=3` is the number of GPUs. One kernel is known:
//! `interleaved_modulo_i32`, one sum a block.

use std::ffi::{c_char, c_int, c_uint, c_void, CStr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

type Status = c_int;
const OK: Status = 0;
const INVALID_VALUE: Status = 1;
const OUT_OF_MEMORY: Status = 2;
const NO_DEVICE: Status = 100;
const INVALID_IMAGE: Status = 200;
const INVALID_PTX: Status = 218;
const UNSUPPORTED_PTX_VERSION: Status = 222;
const NOT_FOUND: Status = 500;
const ILLEGAL_ADDRESS: Status = 700;
const CAPTURE_UNSUPPORTED: Status = 900;

/// CUlaunchConfig: grid, block and shared bytes; stream; attributes.
#[repr(C)]
#[derive(Clone, Copy)]
struct LaunchConfig {
    sizes: [c_uint; 7],
    stream: *mut c_void,
    _attributes: *const c_void,
    attributes: c_uint,
}

static CAPTURING: AtomicBool = AtomicBool::new(false);
static CAPTURED: AtomicUsize = AtomicUsize::new(0);
/// The context that is current. The tests have one thread for all work.
static CURRENT: AtomicUsize = AtomicUsize::new(0);
/// Work given to the stream: launches L, events E, graphs G with the size. Where there are several GPUs, their number is behind it, and
/// there are also peers that are opened P, and waits S.
static TIMELINE: Mutex<String> = Mutex::new(String::new());
/// A captured graph's handle: this and the number of its nodes.
const GRAPH: usize = 1000;
static LIVE_ARRAYS: AtomicUsize = AtomicUsize::new(0);

fn wrong(what: &str) -> bool {
    std::env::var("FAKE_CUDA").unwrap_or_default().split(',').any(|word| word == what)
}

fn note(what: &str) {
    TIMELINE.lock().unwrap().push_str(what);
}

/// GPUs that there are.
fn gpus() -> usize {
    let list = std::env::var("FAKE_CUDA").unwrap_or_default();
    list.split(',').find_map(|word| word.strip_prefix("gpus=")?.parse().ok()).unwrap_or(1)
}

/// Notes work of a stream. It is that of the current context, as a driver has it.
fn note_on(stream: *mut c_void, what: &str) -> Status {
    if stream != own(STREAM) {
        return INVALID_VALUE;
    }
    note(what);
    if gpus() > 1 {
        note(&device_of(stream).to_string());
    }
    OK
}

/// Kinds of a handle, each of which has one for each GPU.
const CONTEXT: usize = 1;
const STREAM: usize = 2;
const MODULE: usize = 3;
const FUNCTION: usize = 4;
const KINDS: usize = 16;

/// The handle of a kind in the current context.
fn own(kind: usize) -> *mut c_void {
    handle(CURRENT.load(SeqCst) / KINDS * KINDS + kind)
}

fn device_of(handle: *mut c_void) -> usize {
    handle.addr() / KINDS
}

/// Work of a library that is not the driver's caller: one node of a capture.
#[unsafe(no_mangle)]
pub extern "C" fn fake_foreign(stream: *mut c_void) -> Status {
    if stream != own(STREAM) {
        return INVALID_VALUE;
    }
    if CAPTURING.load(SeqCst) {
        CAPTURED.fetch_add(1, SeqCst);
    }
    OK
}

/// The library of `scripts/cub_baseline.cu`, for integers: 16 bytes of storage, and a sum that is a node of a capture.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cub_baseline_sum_i32(
    temp: *mut c_void,
    temp_bytes: *mut usize,
    input: *const i32,
    out: *mut i32,
    n: i64,
    stream: *mut c_void,
) -> Status {
    // SAFETY: the callers keep the contract that scripts/cub_baseline.cu states.
    unsafe {
        if temp.is_null() {
            *temp_bytes = 16;
            return if n == 13 { INVALID_VALUE } else { OK };
        }
        if *temp_bytes != 16 {
            return INVALID_VALUE;
        }
        if !CAPTURING.load(SeqCst) {
            *out = std::slice::from_raw_parts(input, n as usize).iter().fold(0, |sum: i32, x| sum.wrapping_add(*x));
        }
    }
    fake_foreign(stream)
}

#[unsafe(no_mangle)]
pub extern "C" fn cub_baseline_version() -> *const c_char {
    c"3.0.1".as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn cub_baseline_error(_status: c_int) -> *const c_char {
    c"invalid argument".as_ptr()
}

/// Handles are never null.
fn handle(number: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(number)
}

macro_rules! driver {
    ($(fn $name:ident($($arg:ident: $type:ty),*) $body:block)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> Status {
            // SAFETY: the callers keep the contract of the driver's function of this name.
            unsafe { $body }
        }
    )*};
}

/// A function that a capture does not allow.
macro_rules! outside_capture {
    () => {
        if CAPTURING.load(SeqCst) {
            return CAPTURE_UNSUPPORTED;
        }
    };
}

driver! {
    fn cuDriverGetVersion(version: *mut c_int) {
        let fault = std::env::var("FAKE_CUDA").unwrap_or_default();
        let given = fault.split(',').find_map(|word| word.strip_prefix("version="));
        *version = given.and_then(|number| number.parse().ok()).unwrap_or(13_000);
        OK
    }
    fn cuInit(_flags: c_uint) { if wrong("no-gpu") { NO_DEVICE } else { OK } }
    fn cuDeviceGetCount(count: *mut c_int) { *count = gpus() as c_int; OK }
    fn cuDeviceGet(device: *mut c_int, ordinal: c_int) { *device = ordinal; OK }
    fn cuDeviceGetName(name: *mut c_char, room: c_int, _device: c_int) {
        let text = c"Fake GPU";
        if text.count_bytes() >= room as usize { return INVALID_VALUE; }
        std::ptr::copy_nonoverlapping(text.as_ptr(), name, text.count_bytes() + 1);
        OK
    }
    fn cuDeviceTotalMem_v2(bytes: *mut usize, _device: c_int) { *bytes = 1 << 30; OK }
    fn cuDeviceGetAttribute(value: *mut c_int, which: c_int, _device: c_int) {
        *value = match which {
            75 => 9,        // compute capability, major
            76 => 0,        // minor
            16 => 4,        // multiprocessors
            38 => 1 << 20,  // L2 in bytes
            115 => 1,       // memory pools
            39 => 2048,     // threads of a multiprocessor
            106 => 32,      // its blocks
            82 => 65536,    // its registers
            81 => 233472,   // its shared memory in bytes
            97 => 232448,   // that a block may have
            _ => return INVALID_VALUE,
        };
        OK
    }
    fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: c_int) {
        *context = handle(KINDS * device as usize + CONTEXT);
        OK
    }
    fn cuDevicePrimaryCtxRelease_v2(_device: c_int) { OK }
    fn cuCtxGetCurrent(context: *mut *mut c_void) { *context = handle(CURRENT.load(SeqCst)); OK }
    fn cuCtxSetCurrent(context: *mut c_void) { CURRENT.store(context.addr(), SeqCst); OK }
    fn cuStreamCreate(stream: *mut *mut c_void, _flags: c_uint) { *stream = own(STREAM); OK }
    fn cuStreamDestroy_v2(_stream: *mut c_void) { OK }
    fn cuStreamSynchronize(stream: *mut c_void) {
        outside_capture!();
        if gpus() > 1 { note_on(stream, "S") } else { OK }
    }

    fn cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) {
        *can = (device != peer && !wrong("no-peers")).into();
        OK
    }
    fn cuCtxEnablePeerAccess(peer: *mut c_void, _flags: c_uint) {
        let from = device_of(own(CONTEXT));
        if from == device_of(peer) { return INVALID_VALUE; }
        note(&format!("P{from}{}", device_of(peer)));
        OK
    }
    fn cuDeviceGetMemPool(pool: *mut *mut c_void, device: c_int) { *pool = handle(1 + device as usize); OK }
    fn cuMemPoolSetAccess(pool: *mut c_void, access: *const [c_int; 3], count: usize) {
        // Memory of a device, for another, to read and to write.
        let [1, device, 3] = *access else { return INVALID_VALUE };
        if count == 1 && pool != handle(1 + device as usize) { OK } else { INVALID_VALUE }
    }

    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) { *free = 1 << 29; *total = 1 << 30; OK }
    fn cuMemAllocAsync(address: *mut u64, bytes: usize, _stream: *mut c_void) {
        if bytes == 0 { return INVALID_VALUE; }
        if wrong("out-of-memory") || bytes > 1 << 29 { return OUT_OF_MEMORY; }
        // The size lies before the array, for the day it is freed.
        let block = vec![bytes as u64; 1 + bytes.div_ceil(8)].into_boxed_slice();
        *address = (Box::into_raw(block).cast::<u64>() as u64) + 8;
        LIVE_ARRAYS.fetch_add(1, SeqCst);
        OK
    }
    fn cuMemFreeAsync(address: u64, _stream: *mut c_void) {
        let begin = (address - 8) as *mut u64;
        let words = 1 + (*begin as usize).div_ceil(8);
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(begin, words)));
        if LIVE_ARRAYS.fetch_sub(1, SeqCst) == 1 { println!("every array was freed"); }
        OK
    }
    fn cuMemAlloc_v2(address: *mut u64, bytes: usize) { cuMemAllocAsync(address, bytes, std::ptr::null_mut()) }
    fn cuMemFree_v2(address: u64) { cuMemFreeAsync(address, std::ptr::null_mut()) }
    fn cuMemcpyHtoDAsync_v2(to: u64, from: *const u8, bytes: usize, _stream: *mut c_void) {
        outside_capture!();
        std::ptr::copy_nonoverlapping(from, to as *mut u8, bytes);
        OK
    }
    fn cuMemcpyDtoHAsync_v2(to: *mut u8, from: u64, bytes: usize, _stream: *mut c_void) {
        outside_capture!();
        std::ptr::copy_nonoverlapping(from as *const u8, to, bytes);
        OK
    }
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, _stream: *mut c_void) {
        outside_capture!();
        note("C");
        std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes);
        OK
    }
    fn cuMemsetD8Async(to: u64, byte: u8, bytes: usize, stream: *mut c_void) {
        outside_capture!();
        std::ptr::write_bytes(to as *mut u8, byte, bytes);
        note_on(stream, "F")
    }

    fn cuModuleLoadDataEx(module: *mut *mut c_void, image: *const u8, count: c_uint, options: *const c_int,
                          values: *const *mut c_void) {
        outside_capture!();
        if *image == 0x7f {
            if wrong("code-refused") { return INVALID_IMAGE; }
        } else if wrong("ptx-too-new") {
            return UNSUPPORTED_PTX_VERSION;
        } else if wrong("ptx-invalid") {
            for option in 0..count as usize {
                if *options.add(option) == 5 { // the error log
                    let text = c"ptxas fatal : line 7 is nonsense";
                    std::ptr::copy_nonoverlapping(text.as_ptr(), (*values.add(option)).cast(), text.count_bytes());
                }
            }
            return INVALID_PTX;
        }
        *module = own(MODULE);
        OK
    }
    fn cuModuleUnload(_module: *mut c_void) { println!("the module was unloaded"); OK }
    fn cuModuleGetFunction(function: *mut *mut c_void, module: *mut c_void, name: *const c_char) {
        outside_capture!();
        if module != own(MODULE) { return INVALID_VALUE; }
        if ![c"interleaved_modulo_i32", c"nothing"].contains(&CStr::from_ptr(name)) { return NOT_FOUND; }
        *function = own(FUNCTION);
        OK
    }
    fn cuFuncGetAttribute(value: *mut c_int, which: c_int, _function: *mut c_void) { *value = 10 * which; OK }

    fn cuFuncSetAttribute(_function: *mut c_void, _which: c_int, _value: c_int) { OK }
    // Four multiprocessors, of which two and two lie together.
    fn cuOccupancyMaxActiveClusters(clusters: *mut c_int, _function: *mut c_void, config: *const LaunchConfig) {
        let LaunchConfig { sizes: [blocks, ..], attributes: 1, .. } = *config else { return INVALID_VALUE };
        if wrong("no-clusters") { return INVALID_VALUE; }
        *clusters = if blocks == 2 { 2 } else { 0 };
        OK
    }

    fn cuLaunchKernelEx(config: *const LaunchConfig, function: *mut c_void, args: *const *const c_void,
                        _extra: *mut c_void) {
        let LaunchConfig { sizes: [gx, _, _, bx, ..], stream, attributes: 0, .. } = *config else {
            return INVALID_VALUE;
        };
        if stream != own(STREAM) || function != own(FUNCTION) { return INVALID_VALUE; }
        if wrong("launch-dies") { return ILLEGAL_ADDRESS; }
        if CAPTURING.load(SeqCst) {
            CAPTURED.fetch_add(1, SeqCst);
            return OK;
        }
        note_on(stream, "L");
        let input = *(*args).cast::<*const i32>();
        let sums = *(*args.add(1)).cast::<*mut i32>();
        let n = *(*args.add(2)).cast::<u32>();
        for block in 0..gx {
            let range = (block * bx).min(n)..((block + 1) * bx).min(n);
            *sums.add(block as usize) = range.fold(0, |sum: i32, i| sum.wrapping_add(*input.add(i as usize)));
        }
        OK
    }

    fn cuStreamBeginCapture_v2(_stream: *mut c_void, _mode: c_int) {
        CAPTURING.store(true, SeqCst);
        CAPTURED.store(0, SeqCst);
        OK
    }
    fn cuStreamEndCapture(_stream: *mut c_void, graph: *mut *mut c_void) {
        CAPTURING.store(false, SeqCst);
        *graph = handle(GRAPH + CAPTURED.load(SeqCst));
        OK
    }
    fn cuGraphInstantiateWithFlags(graph: *mut *mut c_void, source: *mut c_void, _flags: u64) {
        *graph = source;
        OK
    }
    fn cuGraphUpload(_graph: *mut c_void, _stream: *mut c_void) { OK }
    fn cuGraphLaunch(graph: *mut c_void, stream: *mut c_void) {
        let nodes = graph.addr() - GRAPH;
        let noted = note_on(stream, &format!("G{nodes}"));
        std::thread::sleep(Duration::from_micros(100) * nodes as u32);
        noted
    }
    fn cuGraphExecDestroy(_graph: *mut c_void) { OK }
    fn cuGraphDestroy(_graph: *mut c_void) { OK }

    fn cuEventCreate(event: *mut *mut Option<Instant>, flags: c_uint) {
        if flags != 0 { return INVALID_VALUE; } // anything else would not keep time
        *event = Box::into_raw(Box::new(None));
        OK
    }
    fn cuEventRecord(event: *mut Option<Instant>, stream: *mut c_void) {
        *event = Some(Instant::now());
        note_on(stream, "E")
    }
    fn cuEventSynchronize(_event: *mut Option<Instant>) { OK }
    fn cuEventElapsedTime(ms: *mut f32, begin: *mut Option<Instant>, end: *mut Option<Instant>) {
        let (Some(begin), Some(end)) = (*begin, *end) else { return INVALID_VALUE };
        let timeline = std::mem::take(&mut *TIMELINE.lock().unwrap());
        if gpus() > 1 {
            if !timeline.is_empty() { println!("timeline: {timeline}"); }
            // The later a GPU begins, the less it waits for the others.
            *ms = 0.25 * (gpus() - device_of(own(CONTEXT))) as f32;
            return OK;
        }
        // From the first event on, and the flush before it.
        if let Some(first) = timeline.find('E') { println!("timeline: {}", &timeline[first - 1..]); }
        *ms = (end - begin).as_secs_f32() * 1000.0;
        OK
    }
    fn cuEventDestroy_v2(event: *mut Option<Instant>) { drop(Box::from_raw(event)); OK }

    fn cuGetErrorName(status: Status, text: *mut *const c_char) { *text = words(status).0.as_ptr(); OK }
    fn cuGetErrorString(status: Status, text: *mut *const c_char) { *text = words(status).1.as_ptr(); OK }
}

fn words(status: Status) -> (&'static CStr, &'static CStr) {
    match status {
        OUT_OF_MEMORY => (c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
        NO_DEVICE => (c"CUDA_ERROR_NO_DEVICE", c"no CUDA-capable device is detected"),
        INVALID_IMAGE => (c"CUDA_ERROR_INVALID_IMAGE", c"device kernel image is invalid"),
        INVALID_PTX => (c"CUDA_ERROR_INVALID_PTX", c"a PTX JIT compilation failed"),
        UNSUPPORTED_PTX_VERSION => (c"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", c"unsupported toolchain"),
        ILLEGAL_ADDRESS => (c"CUDA_ERROR_ILLEGAL_ADDRESS", c"an illegal memory access was encountered"),
        CAPTURE_UNSUPPORTED => (c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", c"not permitted when stream is capturing"),
        _ => (c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
    }
}
