//! The kernels of one PTX text. Those of a lesson are found by an index, and each is parsed and lowered alone when it is first
//! needed, once in a process, however often the lesson is loaded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ptx::Index;
use simt::{Kernel, Program};

use crate::Error;

/// A PTX text and those of its kernels that were parsed so far.
#[derive(Debug)]
pub(crate) struct Kernels {
    file: String,
    text: String,
    index: Index,
    /// Program of a text that is parsed as a whole: its kernels may share variables.
    whole: Option<Arc<Program>>,
    alone: Mutex<HashMap<String, Arc<Program>>>,
    lowered: Mutex<HashMap<String, Arc<Kernel>>>,
}

/// Locks a mutex. The data behind these locks stays consistent when a thread dies, since every change is one call.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Kernels {
    /// The kernels of a lesson's committed PTX, which share nothing; `file` is what messages call it.
    pub(crate) fn committed(file: &str, text: &str) -> Arc<Kernels> {
        static KNOWN: OnceLock<Mutex<HashMap<String, Arc<Kernels>>>> = OnceLock::new();
        let mut known = lock(KNOWN.get_or_init(Mutex::default));
        if let Some(kernels) = known.get(file).filter(|kernels| kernels.text == text) {
            return Arc::clone(kernels);
        }
        let kernels = Arc::new(Kernels::new(file, text, None));
        known.insert(file.to_owned(), Arc::clone(&kernels));
        kernels
    }

    /// The kernels of any other text.
    ///
    /// # Errors
    /// [`Error::Load`] for text that is no PTX.
    pub(crate) fn parsed(file: &str, text: &str) -> Result<Arc<Kernels>, Error> {
        Ok(Arc::new(Kernels::new(file, text, Some(Arc::new(Program::load(file, text)?)))))
    }

    fn new(file: &str, text: &str, whole: Option<Arc<Program>>) -> Kernels {
        let (alone, lowered) = Default::default();
        Kernels { file: file.to_owned(), text: text.to_owned(), index: Index::new(text), whole, alone, lowered }
    }

    /// Names, in file order.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.whole.as_ref().map_or_else(|| self.index.entries(&self.text), |program| program.kernel_names())
    }

    /// A program that has this kernel.
    ///
    /// # Errors
    /// [`Error::Load`] for PTX that does not parse. A kernel that is nowhere is none: the program names those there are.
    pub(crate) fn program(&self, kernel: &str) -> Result<Arc<Program>, Error> {
        if let Some(program) = &self.whole {
            return Ok(Arc::clone(program));
        }
        let mut alone = lock(&self.alone);
        if let Some(program) = alone.get(kernel) {
            return Ok(Arc::clone(program));
        }
        let Some(text) = self.index.alone(&self.text, kernel) else {
            return Ok(Arc::new(Program::load(&self.file, &self.text)?));
        };
        let program = Arc::new(Program::load(&self.file, &text)?);
        alone.insert(kernel.to_owned(), Arc::clone(&program));
        Ok(program)
    }

    /// A kernel as the simulator runs it.
    ///
    /// # Errors
    /// [`Error::Load`] for PTX that does not parse, a kernel that is not there, and one that the simulator does not run.
    pub(crate) fn kernel(&self, name: &str) -> Result<Arc<Kernel>, Error> {
        let mut lowered = lock(&self.lowered);
        if let Some(kernel) = lowered.get(name) {
            return Ok(Arc::clone(kernel));
        }
        let kernel = Arc::new(self.program(name)?.kernel(name)?);
        lowered.insert(name.to_owned(), Arc::clone(&kernel));
        Ok(kernel)
    }

    /// Returns whether a kernel waits in its own code for the launch before it.
    pub(crate) fn waits(&self, kernel: &str) -> bool {
        self.index.body(&self.text, kernel).is_some_and(|body| body.contains("griddepcontrol.wait;"))
    }

    /// Compute capability that the text is compiled for, 90 for `sm_90`; 0 if it does not say.
    pub(crate) fn target(&self) -> u32 {
        let target = self.text.lines().find_map(|line| line.trim_start().strip_prefix(".target"));
        let digits = target.unwrap_or_default().chars().filter(char::is_ascii_digit).collect::<String>();
        digits.parse().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry a(\n.param .u64 p\n)\n{\n\tgriddepcontrol.wait;\n\tret;\n}\n.visible .entry b()\n{\n\tret;\n}\n";

    #[test]
    fn a_kernel_is_parsed_alone_and_once() {
        let kernels = Kernels::committed("once.ptx", PTX);
        assert_eq!((kernels.names(), kernels.target()), (vec!["a", "b"], 90));
        let program = kernels.program("a").unwrap();
        assert_eq!((program.kernel_names(), program.parameters("a").unwrap().len()), (vec!["a"], 1));
        let again = Kernels::committed("once.ptx", PTX);
        assert!(Arc::ptr_eq(&program, &again.program("a").unwrap()), "another session of the same text");
        assert!(Arc::ptr_eq(&kernels.kernel("a").unwrap(), &again.kernel("a").unwrap()));
        let other = Kernels::committed("once.ptx", &PTX.replace("ret;\n}\n.visible", "exit;\n}\n.visible"));
        assert!(!Arc::ptr_eq(&program, &other.program("a").unwrap()), "the text has changed");
        let message = kernels.program("c").unwrap().parameters("c").unwrap_err().to_string();
        assert!(message.contains('a') && message.contains('b'), "{message}");
    }

    #[test]
    fn only_kernels_that_wait_may_overlap() {
        let kernels = Kernels::committed("waits.ptx", PTX);
        assert!(kernels.waits("a") && !kernels.waits("b") && !kernels.waits("c"));
    }
}
