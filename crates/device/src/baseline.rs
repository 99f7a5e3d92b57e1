//! Another library's sum, loaded at run time: the C functions of `scripts/cub_baseline.cu`, which NVIDIA's CUB is behind.

use std::ffi::{CStr, c_char, c_int, c_longlong, c_void};
use std::path::Path;

use libloading::Library;

use crate::{Buffer, Device, DeviceAddress, Error, Scalar};

/// With no temporary storage, tells how many bytes of it a sum needs; else puts the sum into the stream.
type Sum = unsafe extern "C" fn(
    temp: *mut c_void,
    temp_bytes: *mut usize,
    input: *const c_void,
    out: *mut c_void,
    n: c_longlong,
    stream: *mut c_void,
) -> c_int;

/// [`Sum`] of many segments: by offsets, one more than segments, or without them of one length each.
type SegmentedSum = unsafe extern "C" fn(
    temp: *mut c_void,
    temp_bytes: *mut usize,
    input: *const c_void,
    out: *mut c_void,
    offsets: *const c_void,
    segments: c_longlong,
    length: c_longlong,
    stream: *mut c_void,
) -> c_int;

/// Segments that a library reduces to a value each.
#[derive(Debug, Clone, Copy)]
pub struct Segments<'a> {
    /// Number of segments.
    pub count: u64,
    /// Elements of each; 0 where offsets say it.
    pub length: u64,
    /// Their bounds, one more than segments; empty for segments of one length.
    pub offsets: &'a [u32],
    /// Elements of the array that all of them lie in.
    pub n: u64,
    /// Elements that the results take.
    pub results: u64,
}

/// Function that is called.
#[derive(Debug, Clone, Copy)]
enum Function {
    Array(Sum),
    Segments(SegmentedSum),
}

/// What a call of the library takes: addresses on a device, and counts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Operands {
    /// First element.
    pub input: u64,
    /// First result.
    pub out: u64,
    /// First offset, where segments have offsets.
    pub offsets: u64,
    /// Elements of an array.
    pub n: i64,
    /// Number of segments.
    pub segments: i64,
    /// Elements of each segment, where all have one length.
    pub length: i64,
}

/// One of the library's reductions, for callers that hold the memory themselves.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'b> {
    baseline: &'b Baseline,
    function: Function,
}

impl Entry<'_> {
    /// Returns the bytes of temporary storage that a call with these counts needs. Addresses are not looked at. The device's context is
    /// current on the calling thread.
    ///
    /// # Errors
    /// [`Error::Baseline`] with the library's words.
    pub fn temp_bytes(&self, operands: &Operands) -> Result<usize, Error> {
        self.needed(operands).map_err(|problem| self.baseline.problem(problem))
    }

    /// The same, with the library's words alone.
    fn needed(&self, operands: &Operands) -> Result<usize, String> {
        let mut bytes = 0;
        // SAFETY: without storage the library writes nothing but the number of bytes, and starts nothing.
        let status = unsafe { self.call((0, &mut bytes), operands, std::ptr::null_mut()) };
        self.baseline.check(status).map(|()| bytes)
    }

    /// Puts the reduction into a stream of the current context, without waiting.
    ///
    /// # Safety
    /// The storage has the bytes that [`Entry::temp_bytes`] gave. Input, offsets and results are arrays of the stream's device, as long as the
    /// counts say, and live until the stream has been waited for.
    ///
    /// # Errors
    /// [`Error::Baseline`] with the library's words.
    pub unsafe fn enqueue(
        &self,
        (temp, bytes): (u64, usize),
        operands: &Operands,
        stream: *mut c_void,
    ) -> Result<(), Error> {
        let mut bytes = bytes;
        // SAFETY: the caller's word.
        let status = unsafe { self.call((temp, &mut bytes), operands, stream) };
        self.baseline.check(status).map_err(|problem| self.baseline.problem(problem))
    }

    /// # Safety
    /// That of [`Entry::enqueue`]; without storage nothing is looked at but the counts.
    unsafe fn call(&self, (temp, bytes): (u64, &mut usize), operands: &Operands, stream: *mut c_void) -> c_int {
        let Operands { n, segments, length, .. } = *operands;
        let [temp, input, out, offsets] = [temp, operands.input, operands.out, operands.offsets].map(pointer);
        match self.function {
            // SAFETY: the caller's word.
            Function::Array(function) => unsafe { function(temp, bytes, input, out, n, stream) },
            // SAFETY: the caller's word.
            Function::Segments(function) => unsafe {
                function(temp, bytes, input, out, offsets, segments, length, stream)
            },
        }
    }
}

/// A loaded library.
#[derive(Debug)]
pub struct Baseline {
    library: Library,
    name: String,
    version: String,
}

/// The library's sum of up to so many elements of one type, with what it writes.
#[derive(Debug)]
pub struct BaselineSum<'b, T> {
    entry: Entry<'b>,
    /// Counts, and the address of the offsets.
    operands: Operands,
    /// Offsets, which are kept.
    _offsets: Option<Buffer<u32>>,
    temp: Buffer<u8>,
    temp_bytes: usize,
    out: Buffer<T>,
    /// Elements that the results take.
    results: usize,
}

impl Baseline {
    /// Loads the library at `path`.
    ///
    /// # Errors
    /// [`Error::Baseline`] for a file that is none, or another.
    pub fn open(path: &Path) -> Result<Baseline, Error> {
        let name = path.display().to_string();
        let problem = |error: libloading::Error| Error::Baseline { name: name.clone(), problem: error.to_string() };
        // SAFETY: the reader names a library whose code is to run here; it was made from the source in scripts.
        let library = unsafe { Library::new(path) }.map_err(problem)?;
        let version = {
            // SAFETY: the function has this signature in that source.
            let version = unsafe { library.get::<unsafe extern "C" fn() -> *const c_char>(b"cub_baseline_version") };
            let version = version.map_err(problem)?;
            // SAFETY: it takes nothing and gives a text that ends in NUL, which is copied before the next call.
            unsafe { text(version()) }
        };
        Ok(Baseline { library, name, version })
    }

    /// `3.0.1`
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Prepares sums of exactly `n` elements on a GPU.
    ///
    /// # Errors
    /// [`Error::Baseline`] for a type that the library has no sum of, or a size that it refuses; as [`Device::alloc`].
    pub fn sum<T: Scalar>(&self, device: &Device, n: u64) -> Result<BaselineSum<'_, T>, Error> {
        self.prepared(device, &format!("cub_baseline_sum_{}", T::NAME), n)
    }

    /// Prepares another operation like [`Baseline::sum`]: the library's function of the name `cub_baseline_<op>_<type>`.
    ///
    /// # Errors
    /// Those of [`Baseline::sum`].
    pub fn reduction<T: Scalar>(&self, device: &Device, op: &str, n: u64) -> Result<BaselineSum<'_, T>, Error> {
        self.prepared(device, &format!("cub_baseline_{op}_{}", T::NAME), n)
    }

    /// Returns whether the library adds numbers of this type in whatever order is fastest, if any order will do.
    pub fn has_unordered<T: Scalar>(&self) -> bool {
        // SAFETY: the symbol is looked for and not called.
        unsafe { self.library.get::<Sum>(unordered::<T>().as_bytes()) }.is_ok()
    }

    /// Prepares a sum like [`Baseline::sum`], in whatever order is fastest.
    ///
    /// # Errors
    /// As [`Baseline::sum`]; a library that has no such mode.
    pub fn unordered<T: Scalar>(&self, device: &Device, n: u64) -> Result<BaselineSum<'_, T>, Error> {
        self.prepared(device, &unordered::<T>(), n)
    }

    /// Prepares a sum like [`Baseline::sum`], whose bits are the same on every card.
    ///
    /// # Errors
    /// As [`Baseline::sum`]; a library that has no such mode.
    pub fn reproducible<T: Scalar>(&self, device: &Device, n: u64) -> Result<BaselineSum<'_, T>, Error> {
        self.prepared(device, &format!("cub_baseline_reproducible_{}", T::NAME), n)
    }

    /// Prepares a sum like [`Baseline::sum`], as in a program that sums once: each call asks for the size of the library's storage, allocates
    /// it, sums, gives it back and so waits. Not for graphs.
    ///
    /// # Errors
    /// As [`Baseline::sum`]; a library that has no such call.
    pub fn whole<T: Scalar>(&self, device: &Device, n: u64) -> Result<BaselineSum<'_, T>, Error> {
        self.prepared(device, &format!("cub_baseline_whole_{}", T::NAME), n)
    }

    /// Prepares a reduction of many segments by the library's function of the name `cub_segments_<form>_<op>_<type>`.
    ///
    /// # Errors
    /// Those of [`Baseline::sum`].
    pub fn segments<T: Scalar>(
        &self,
        device: &Device,
        (form, op): (&str, &str),
        segments: &Segments<'_>,
    ) -> Result<BaselineSum<'_, T>, Error> {
        let entry = self.entry(&format!("cub_segments_{form}_{op}_{}", T::NAME))?;
        let offsets = match segments.offsets {
            [] => None,
            offsets => Some(device.upload("library's offsets", offsets)?),
        };
        let operands = Operands {
            offsets: offsets.as_ref().map_or(0, Buffer::address),
            n: self.counted(segments.n)?,
            segments: self.counted(segments.count)?,
            length: self.counted(segments.length)?,
            ..Operands::default()
        };
        self.prepare(device, entry, (operands, offsets), segments.results as usize)
    }

    /// Finds the reduction of this name: `cub_baseline_<op>_<type>` of an array, `cub_segments_<form>_<op>_<type>` of segments.
    ///
    /// # Errors
    /// [`Error::Baseline`] for a name that the library has not.
    pub fn entry(&self, name: &str) -> Result<Entry<'_>, Error> {
        let function = match name.starts_with("cub_segments_") {
            true => Function::Segments(self.function(name)?),
            false => Function::Array(self.function(name)?),
        };
        Ok(Entry { baseline: self, function })
    }

    fn prepared<T: Scalar>(&self, device: &Device, symbol: &str, n: u64) -> Result<BaselineSum<'_, T>, Error> {
        let operands = Operands { n: self.counted(n)?, ..Operands::default() };
        self.prepare(device, self.entry(symbol)?, (operands, None), 1)
    }

    /// The function of this name, which in the source has the signature that is asked for.
    fn function<F: Copy>(&self, symbol: &str) -> Result<F, Error> {
        // SAFETY: the functions of these names have these signatures in the source.
        Ok(*unsafe { self.library.get::<F>(symbol.as_bytes()) }.map_err(|e| self.problem(e.to_string()))?)
    }

    fn counted(&self, n: u64) -> Result<c_longlong, Error> {
        c_longlong::try_from(n).map_err(|_| self.problem(format!("{n} elements are more than it counts")))
    }

    fn prepare<'b, T: Scalar>(
        &'b self,
        device: &Device,
        entry: Entry<'b>,
        (operands, offsets): (Operands, Option<Buffer<u32>>),
        results: usize,
    ) -> Result<BaselineSum<'b, T>, Error> {
        // In the device's context, as it asks the GPU what it is.
        let bytes = std::cell::Cell::new(0);
        device.run_foreign(&|_| {
            bytes.set(entry.needed(&operands)?);
            Ok(())
        })?;
        let temp_bytes = bytes.get();
        let temp = device.alloc("library's storage", temp_bytes.max(1))?;
        let out = device.alloc("library's sum", 1)?;
        Ok(BaselineSum { entry, operands, _offsets: offsets, temp, temp_bytes, out, results })
    }

    fn problem(&self, problem: String) -> Error {
        Error::Baseline { name: self.name.clone(), problem }
    }

    /// Turns a status into an error if it means failure.
    fn check(&self, status: c_int) -> Result<(), String> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the function has this signature in the source, and gives a text that ends in NUL and stays.
        let words = unsafe {
            let words = self.library.get::<unsafe extern "C" fn(c_int) -> *const c_char>(b"cub_baseline_error");
            words.map(|words| text(words(status)))
        };
        Err(words.unwrap_or_else(|_| format!("status {status}")))
    }
}

impl<T: Scalar> BaselineSum<'_, T> {
    /// The sum of the elements of `input` from `offset` on, as work that [`Device::run_foreign`] and a graph take. It fails
    /// with the library's words, or if there are fewer elements than it sums.
    pub fn work<'a>(&'a self, input: &'a Buffer<T>, offset: usize) -> impl Fn(*mut c_void) -> Result<(), String> + 'a {
        self.work_into(input, offset, (&self.out, 0))
    }

    /// The work of [`BaselineSum::work`], with an array and an index for the result.
    pub fn work_into<'a>(
        &'a self,
        input: &'a Buffer<T>,
        offset: usize,
        (out, at): (&'a Buffer<T>, usize),
    ) -> impl Fn(*mut c_void) -> Result<(), String> + 'a {
        move |stream| {
            let end = offset.saturating_add(self.operands.n as usize);
            for (array, end, what) in [(input, end, "of this sum"), (out, at.saturating_add(self.results), "written")] {
                if end > array.len() {
                    let (name, len) = (array.name(), array.len());
                    return Err(format!("{name} has {len} elements, and the last {what} is the {end}th"));
                }
            }
            let element = |array: &Buffer<T>, at: usize| array.address() + (at * T::BYTES) as u64;
            let operands = Operands { input: element(input, offset), out: element(out, at), ..self.operands };
            let mut bytes = self.temp_bytes;
            // SAFETY: the storage has the size that the library asked for; the input has n elements from that address on,
            // and the output as many as the results take, as checked above. They are arrays of the device whose stream this is.
            let status = unsafe { self.entry.call((self.temp.address(), &mut bytes), &operands, stream) };
            self.entry.baseline.check(status)
        }
    }

    /// Returns the result of the last sum that has run.
    ///
    /// # Errors
    /// Those of [`Device::download`].
    pub fn result(&self, device: &Device) -> Result<Option<T>, Error> {
        Ok(device.download(&self.out)?.first().copied())
    }
}

fn pointer(address: u64) -> *mut c_void {
    std::ptr::without_provenance_mut(address as usize)
}

/// The function's name.
fn unordered<T: Scalar>() -> String {
    format!("cub_baseline_unordered_{}", T::NAME)
}

/// A C text as a string; none for null.
///
/// # Safety
/// `text` is null or ends in NUL.
unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's word.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
