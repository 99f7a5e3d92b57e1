//! NVRTC, NVIDIA's run-time compiler, as cudarc loads it: kernels that the crate has not.

use std::ffi::{CString, c_char, c_int};
use std::ptr::null_mut;

use ::cudarc::nvrtc::result::{NvrtcError, compile_program, destroy_program, get_program_log};
use ::cudarc::nvrtc::sys;

use crate::error::{Error, Result};

/// The kernels' files of CUDA, and their own header, by name.
static LESSONS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/lessons.rs"));
/// What they take of the header of this name.
const COOPERATIVE_GROUPS: &str = include_str!("cooperative_groups.h");
/// A kernel that shows whether the compiler works and knows the card.
const NOTHING: &str = "extern \"C\" __global__ void nothing() {}";

/// A compiler for one architecture.
#[derive(Debug)]
pub(super) struct Compiler {
    compute_capability: u32,
}

/// A program, destroyed on every way out.
struct Program(sys::nvrtcProgram);

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: it was made once and is destroyed once.
        let _ = unsafe { destroy_program(self.0) };
    }
}

/// Returns that NVRTC is here, in a program that was linked to it.
#[allow(dead_code, reason = "a feature of cudarc's decides")]
unsafe fn is_culib_present() -> bool {
    true
}

impl Compiler {
    /// The compiler for a card, with machine code of a kernel that does nothing; or why there is none.
    pub(super) fn find(compute_capability: u32) -> std::result::Result<(Compiler, Vec<u8>), String> {
        // SAFETY: a library of NVRTC's name is NVRTC.
        let is_loadable = unsafe {
            #[allow(unused_imports, reason = "cudarc's function, if it has one, goes before the one above")]
            use ::cudarc::nvrtc::sys::*;
            is_culib_present()
        };
        if !is_loadable {
            return Err("the loader finds no NVRTC".to_owned());
        }
        let compiler = Compiler { compute_capability };
        let nothing = compiler.machine_code("nothing", NOTHING).map_err(|error| error.to_string())?;
        Ok((compiler, nothing))
    }

    /// Machine code of what a line makes by a lesson's macros.
    ///
    /// # Errors
    /// [`Error::Compile`] with NVRTC's messages.
    pub(super) fn compile(&self, kernel: &str, lesson: &str, line: &str) -> Result<Vec<u8>> {
        let file = format!("{lesson}.cu");
        let text = text_of(&file).ok_or_else(|| Error::NoKernel { kernel: kernel.to_owned() })?;
        let text = format!("#define WANTED_ALONE\n#line 1 \"{file}\"\n{text}\n#line 1 \"plan\"\n{line}\n");
        self.machine_code(kernel, &text)
    }

    fn machine_code(&self, kernel: &str, text: &str) -> Result<Vec<u8>> {
        let failed = |log: &str| Error::Compile { kernel: kernel.to_owned(), log: log.trim_end().to_owned() };
        let by_status = |error: NvrtcError| failed(&words(error));
        let nul = |_| failed("its text holds a NUL");
        let text = CString::new(text).map_err(nul)?;
        let groups = CString::new(COOPERATIVE_GROUPS).map_err(nul)?;
        let elements = CString::new(text_of("elements.cuh").unwrap_or_default()).map_err(nul)?;
        let headers = [groups.as_ptr(), elements.as_ptr()];
        let names = [c"cooperative_groups.h".as_ptr(), c"elements.cuh".as_ptr()];
        let mut program = Program(null_mut());
        // SAFETY: all strings end in NUL and outlive the call, and there are as many headers as names.
        let made = unsafe {
            let (count, name) = (headers.len() as c_int, c"reduction.cu".as_ptr());
            sys::nvrtcCreateProgram(&mut program.0, text.as_ptr(), name, count, headers.as_ptr(), names.as_ptr())
        };
        made.result().map_err(by_status)?;
        let options = [format!("--gpu-architecture=sm_{}", self.compute_capability), "--std=c++17".to_owned()];
        // SAFETY: the program is live.
        if let Err(error) = unsafe { compile_program(program.0, &options) } {
            // SAFETY: as above.
            let log = unsafe { get_program_log(program.0) }.unwrap_or_default();
            let log: Vec<u8> = log.into_iter().map(c_char::cast_unsigned).take_while(|&byte| byte != 0).collect();
            let log = String::from_utf8_lossy(&log);
            return Err(failed(if log.trim().is_empty() { words(error) } else { log.into_owned() }.as_str()));
        }
        let mut size = 0;
        // SAFETY: the program is live, and the pointer is to a live number.
        unsafe { sys::nvrtcGetCUBINSize(program.0, &mut size) }.result().map_err(by_status)?;
        let mut code = vec![0u8; size];
        // SAFETY: the array has the size that NVRTC asked for.
        unsafe { sys::nvrtcGetCUBIN(program.0, code.as_mut_ptr().cast()) }.result().map_err(by_status)?;
        Ok(code)
    }
}

fn text_of(file: &str) -> Option<&'static str> {
    LESSONS.iter().find(|(name, _)| *name == file).map(|&(_, text)| text)
}

/// NVRTC's name of an error.
fn words(NvrtcError(error): NvrtcError) -> String {
    format!("{error:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::H200;
    use crate::families::own::Operator;

    fn compiler() -> Option<Compiler> {
        match Compiler::find(H200.compute_capability) {
            Ok((compiler, nothing)) => {
                assert!(nothing.starts_with(b"\x7fELF"));
                Some(compiler)
            }
            Err(why) => {
                println!("skipped: {why}");
                None
            }
        }
    }

    #[test]
    fn every_lesson_compiles_alone() {
        let Some(compiler) = compiler() else { return };
        for (lesson, line) in [
            ("ch09-operators", "REDUCE(Max<float>, _max, f32, ONE_TILE, tile, 128, 8)"),
            ("ch10-rows", "GROUPS(Sum<float>, , f32, 16, 1, 2)"),
            ("ch11-softmax", "CLUSTER(Softmax<float>, softmax, f32, 4, 256, 2)"),
            ("ch12-norms", "CLUSTER(LayerNorm, float, layer_norm, f32, 4, 256, 2)"),
        ] {
            let code = compiler.compile("a kernel", lesson, line).expect(lesson);
            assert!(code.starts_with(b"\x7fELF"), "{lesson}");
        }
    }

    #[test]
    fn messages_have_the_lines_of_the_callers_text() {
        let Some(compiler) = compiler() else { return };
        let wrong = Operator::new::<f32, f32>("Wrong", "struct Wrong {\n    using In = flaot;\n};", 4);
        let reduction = wrong.reduction(1, &H200).expect("a plan");
        let pass = &reduction.plan().passes[0];
        let error = compiler.compile(&pass.kernel, reduction.lesson(), pass.line.as_deref().expect("a line"));
        let message = error.expect_err("it does not compile").to_string();
        assert!(message.contains("Wrong(2): error: identifier \"flaot\" is undefined"), "{message}");
    }
}
