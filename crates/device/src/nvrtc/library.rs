//! NVRTC's C interface, called through a handle of our own.
//!
//! cudarc has bindings too, but finds the library by a fixed list of names that begins with `libnvrtc.so`: a toolkit in
//! the loader's path would silently win over the pinned release, and the committed PTX would depend on the machine. It
//! also takes a path from nowhere and panics when it finds nothing. Eleven functions called by hand are simpler.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

use crate::Error;

/// `nvrtcProgram`
type Program = *mut c_void;
/// `nvrtcResult`; 0 is success.
type Status = c_int;

/// `NVRTC_ERROR_COMPILATION`: the text is at fault, and the log says how.
const COMPILATION_FAILED: Status = 6;

type SizeOf = unsafe extern "C" fn(Program, *mut usize) -> Status;
type Copy = unsafe extern "C" fn(Program, *mut c_char) -> Status;

/// The functions, as <https://docs.nvidia.com/cuda/nvrtc/> declares them. They stay valid for the life of the process,
/// because the library is never unloaded: it keeps threads and state of its own.
struct Functions {
    version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status,
    error_string: unsafe extern "C" fn(Status) -> *const c_char,
    architecture_count: unsafe extern "C" fn(*mut c_int) -> Status,
    architectures: unsafe extern "C" fn(*mut c_int) -> Status,
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> Status,
    destroy: unsafe extern "C" fn(*mut Program) -> Status,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status,
    log: (SizeOf, Copy),
    ptx: (SizeOf, Copy),
    cubin: (SizeOf, Copy),
}

/// A loaded library.
pub(super) struct Library {
    path: PathBuf,
    version: (u32, u32),
    architectures: Vec<u32>,
    functions: Functions,
}

/// Output of a compilation; `cubin` is empty unless it was requested.
pub(super) struct Output {
    pub ptx: String,
    pub cubin: Vec<u8>,
    /// Warnings of the compiler; may be empty.
    pub warnings: String,
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").field("path", &self.path).field("version", &self.version).finish_non_exhaustive()
    }
}

impl Library {
    /// Loads `file`, an absolute path or a name for the loader, and its table of built-in functions beside it.
    pub(super) fn open(file: &Path) -> Result<Library, String> {
        let functions = load_functions(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both pointers are to live integers.
        let status = unsafe { (functions.version)(&mut major, &mut minor) };
        if status != 0 {
            return Err(format!("{}: {}", file.display(), functions.text(status)));
        }
        let path = loaded_path(file);
        preload_builtins(&path, major, minor);
        let architectures = functions.supported_architectures();
        Ok(Library { path, version: (major.unsigned_abs(), minor.unsigned_abs()), architectures, functions })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn version(&self) -> (u32, u32) {
        self.version
    }

    /// Compute capabilities it makes code for, 90 for 9.0.
    pub(super) fn architectures(&self) -> &[u32] {
        &self.architectures
    }

    /// `headers` are the name, as an `#include` has it, and the text of files that need not be on the disk.
    pub(super) fn compile(
        &self,
        name: &str,
        text: &str,
        options: &[String],
        headers: &[(&str, &str)],
        cubin: bool,
    ) -> Result<Output, Error> {
        let functions = &self.functions;
        let c_text = self.c_string("take the source", text)?;
        let c_name = self.c_string("take the source's name", name)?;
        let options = options.iter().map(|option| self.c_string("take an option", option));
        let options = options.collect::<Result<Vec<CString>, Error>>()?;
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();

        let headers = headers.iter().map(|(name, text)| {
            Ok((self.c_string("take a header's name", name)?, self.c_string("take a header", text)?))
        });
        let headers = headers.collect::<Result<Vec<(CString, CString)>, Error>>()?;
        let (names, texts): (Vec<_>, Vec<_>) =
            headers.iter().map(|(name, text)| (name.as_ptr(), text.as_ptr())).unzip();

        let mut program = OwnedProgram { functions, handle: null_mut() };
        // SAFETY: the strings end in NUL and outlive the call; both arrays hold as many of them as is said.
        let status = unsafe {
            let (c_text, c_name) = (c_text.as_ptr(), c_name.as_ptr());
            let count = headers.len() as c_int;
            (functions.create)(&mut program.handle, c_text, c_name, count, texts.as_ptr(), names.as_ptr())
        };
        self.check("make a program", status)?;

        // SAFETY: the program is live; `options` holds as many strings as it says, and they outlive the call.
        let status = unsafe { (functions.compile)(program.handle, options.len() as c_int, options.as_ptr()) };
        if status == COMPILATION_FAILED {
            let log = self.text_of(&program, "give its messages", functions.log)?;
            return Err(Error::Compile { file: name.to_string(), log: log.trim_end().to_string() });
        }
        if status != 0 {
            let log = self.text_of(&program, "give its messages", functions.log).unwrap_or_default();
            return Err(self.error("compile", &format!("{} {}", functions.text(status), log.trim())));
        }
        let ptx = self.text_of(&program, "give the PTX", functions.ptx)?;
        let cubin = if cubin { self.bytes_of(&program, "give the machine code", functions.cubin)? } else { Vec::new() };
        let warnings = self.text_of(&program, "give its messages", functions.log)?.trim_end().to_owned();
        Ok(Output { ptx, cubin, warnings })
    }

    fn c_string(&self, doing: &str, text: &str) -> Result<CString, Error> {
        CString::new(text).map_err(|error| self.error(doing, &format!("byte {} is NUL", error.nul_position())))
    }

    fn check(&self, doing: &str, status: Status) -> Result<(), Error> {
        if status == 0 { Ok(()) } else { Err(self.error(doing, &self.functions.text(status))) }
    }

    fn error(&self, doing: &str, text: &str) -> Error {
        Error::Nvrtc { path: self.path.clone(), doing: doing.to_string(), text: text.trim().to_string() }
    }

    fn bytes_of(&self, program: &OwnedProgram<'_>, doing: &str, get: (SizeOf, Copy)) -> Result<Vec<u8>, Error> {
        let mut size = 0;
        // SAFETY: the program is live and the pointer is to a live integer.
        self.check(doing, unsafe { get.0(program.handle, &mut size) })?;
        let mut bytes = vec![0u8; size];
        // SAFETY: the buffer has the size that NVRTC just asked for.
        self.check(doing, unsafe { get.1(program.handle, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }

    /// Text with the NUL at its end taken off.
    fn text_of(&self, program: &OwnedProgram<'_>, doing: &str, get: (SizeOf, Copy)) -> Result<String, Error> {
        let mut bytes = self.bytes_of(program, doing, get)?;
        bytes.truncate(bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len()));
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// A program that is destroyed on every way out.
struct OwnedProgram<'a> {
    functions: &'a Functions,
    handle: Program,
}

impl Drop for OwnedProgram<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the handle came from `create` and is destroyed once.
            unsafe { (self.functions.destroy)(&mut self.handle) };
        }
    }
}

impl Functions {
    /// NVRTC's words for a status.
    fn text(&self, status: Status) -> String {
        // SAFETY: NVRTC gives a static string for any status.
        let text = unsafe { (self.error_string)(status) };
        if text.is_null() {
            return format!("status {status}");
        }
        // SAFETY: not null, and NVRTC's strings end in NUL.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    fn supported_architectures(&self) -> Vec<u32> {
        let mut count = 0;
        // SAFETY: the pointer is to a live integer.
        if unsafe { (self.architecture_count)(&mut count) } != 0 || count <= 0 {
            return Vec::new();
        }
        let mut list: Vec<c_int> = vec![0; count.unsigned_abs() as usize];
        // SAFETY: the list has as many entries as NVRTC just said it needs.
        let status = unsafe { (self.architectures)(list.as_mut_ptr()) };
        if status == 0 { list.into_iter().map(c_int::unsigned_abs).collect() } else { Vec::new() }
    }
}

fn load_functions(file: &Path) -> Result<Functions, libloading::Error> {
    // SAFETY: loading runs the library's initialisers; a library of this name in one of NVRTC's places is NVRTC.
    let library = unsafe { libloading::Library::new(file) }?;
    macro_rules! function {
        ($name:literal) => {
            // SAFETY: NVRTC declares the function of this name with the type of the field it is stored in.
            *unsafe { library.get($name.as_bytes()) }?
        };
    }
    let functions = Functions {
        version: function!("nvrtcVersion"),
        error_string: function!("nvrtcGetErrorString"),
        architecture_count: function!("nvrtcGetNumSupportedArchs"),
        architectures: function!("nvrtcGetSupportedArchs"),
        create: function!("nvrtcCreateProgram"),
        destroy: function!("nvrtcDestroyProgram"),
        compile: function!("nvrtcCompileProgram"),
        log: (function!("nvrtcGetProgramLogSize"), function!("nvrtcGetProgramLog")),
        ptx: (function!("nvrtcGetPTXSize"), function!("nvrtcGetPTX")),
        cubin: (function!("nvrtcGetCUBINSize"), function!("nvrtcGetCUBIN")),
    };
    std::mem::forget(library);
    Ok(functions)
}

/// NVRTC opens `libnvrtc-builtins.so.12.1` by name when it first compiles. In a folder that is not in the loader's path
/// it finds it only if it is in the process already. Where there is none beside it, the loader may still know one; if
/// not, the first compilation says so.
fn preload_builtins(library: &Path, major: c_int, minor: c_int) {
    let builtins = library.with_file_name(format!("libnvrtc-builtins.so.{major}.{minor}"));
    if builtins.is_absolute() && builtins.is_file() {
        // SAFETY: the file of this name beside NVRTC is its data; its initialisers do nothing of their own.
        if let Ok(handle) = unsafe { libloading::Library::new(builtins) } {
            std::mem::forget(handle);
        }
    }
}

/// Path of a library that was loaded by name, from the operating system's map of this process; the name itself elsewhere.
fn loaded_path(file: &Path) -> PathBuf {
    if file.is_absolute() {
        return file.to_path_buf();
    }
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mapped = maps.lines().filter_map(|line| line.find('/').map(|at| Path::new(&line[at..])));
    let is_nvrtc =
        |path: &&Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libnvrtc.so"));
    mapped.into_iter().find(is_nvrtc).unwrap_or(file).to_path_buf()
}
