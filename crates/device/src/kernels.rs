//! The kernels of a lesson or of one PTX text. Those of a lesson are found by an index, and each is parsed and lowered alone when
//! it is first needed, once in a process, however often the lesson is loaded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ptx::Index;
use simt::{Kernel, Program};

use crate::Error;
use crate::source::{Part, joined};

/// PTX and those of its kernels that were parsed so far.
#[derive(Debug)]
pub(crate) struct Kernels {
    /// Texts for one target each, oldest first: a kernel is the newest one of its name.
    parts: Vec<(Part, Index)>,
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
    /// The kernels of a lesson's committed PTX, which share nothing.
    pub(crate) fn committed(parts: &[Part]) -> Arc<Kernels> {
        static KNOWN: OnceLock<Mutex<HashMap<Vec<String>, Arc<Kernels>>>> = OnceLock::new();
        let mut known = lock(KNOWN.get_or_init(Mutex::default));
        let names = parts.iter().map(|part| part.name.clone()).collect::<Vec<_>>();
        let are_these = |kernels: &&Arc<Kernels>| kernels.parts.iter().map(|(part, _)| part).eq(parts);
        if let Some(kernels) = known.get(&names).filter(are_these) {
            return Arc::clone(kernels);
        }
        let kernels = Arc::new(Kernels::new(parts.to_vec(), None));
        known.insert(names, Arc::clone(&kernels));
        kernels
    }

    /// The kernels of any other text; `file` is what messages call it.
    ///
    /// # Errors
    /// [`Error::Load`] for text that is no PTX.
    pub(crate) fn parsed(file: &str, text: &str) -> Result<Arc<Kernels>, Error> {
        let whole = Some(Arc::new(Program::load(file, text)?));
        Ok(Arc::new(Kernels::new(vec![Part { name: file.to_owned(), text: text.to_owned() }], whole)))
    }

    fn new(parts: Vec<Part>, whole: Option<Arc<Program>>) -> Kernels {
        let indexed = |part: Part| {
            let index = Index::new(&part.text);
            (part, index)
        };
        let (alone, lowered) = Default::default();
        Kernels { parts: parts.into_iter().map(indexed).collect(), whole, alone, lowered }
    }

    /// Names, in the order of the files.
    pub(crate) fn names(&self) -> Vec<&str> {
        if let Some(program) = &self.whole {
            return program.kernel_names();
        }
        let mut names: Vec<&str> = Vec::new();
        for name in self.parts.iter().flat_map(|(part, index)| index.entries(&part.text)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
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
        let Some((part, index)) = self.part(kernel) else {
            let parts: Vec<Part> = self.parts.iter().map(|(part, _)| part.clone()).collect();
            let file = parts.first().map_or("", |part| part.name.as_str());
            return Ok(Arc::new(Program::load(file, &joined(&parts))?));
        };
        let program = Arc::new(Program::load(&part.name, &index.alone(&part.text, kernel).unwrap_or_default())?);
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

    /// The newest part that has this kernel.
    fn part(&self, kernel: &str) -> Option<&(Part, Index)> {
        self.parts.iter().rev().find(|(_, index)| index.has(kernel))
    }

    /// Returns whether a kernel waits in its own code for the launch before it.
    pub(crate) fn waits(&self, kernel: &str) -> bool {
        let body = self.part(kernel).and_then(|(part, index)| index.body(&part.text, kernel));
        body.is_some_and(|body| body.contains("griddepcontrol.wait;"))
    }

    /// Compute capability that the newest text is compiled for, 90 for `sm_90`; 0 if it does not say.
    pub(crate) fn target(&self) -> u32 {
        let text = self.parts.last().map_or("", |(part, _)| part.text.as_str());
        let target = text.lines().find_map(|line| line.trim_start().strip_prefix(".target"));
        let digits = target.unwrap_or_default().chars().filter(char::is_ascii_digit).collect::<String>();
        digits.parse().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry a(\n.param .u64 p\n)\n{\n\tgriddepcontrol.wait;\n\tret;\n}\n.visible .entry b()\n{\n\tret;\n}\n";

    fn part(name: &str, text: &str) -> Part {
        Part { name: name.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_kernel_is_parsed_alone_and_once() {
        let kernels = Kernels::committed(&[part("once.ptx", PTX)]);
        assert_eq!((kernels.names(), kernels.target()), (vec!["a", "b"], 90));
        let program = kernels.program("a").unwrap();
        assert_eq!((program.kernel_names(), program.parameters("a").unwrap().len()), (vec!["a"], 1));
        let again = Kernels::committed(&[part("once.ptx", PTX)]);
        assert!(Arc::ptr_eq(&program, &again.program("a").unwrap()), "another session of the same text");
        assert!(Arc::ptr_eq(&kernels.kernel("a").unwrap(), &again.kernel("a").unwrap()));
        let other = Kernels::committed(&[part("once.ptx", &PTX.replace("ret;\n}\n.visible", "exit;\n}\n.visible"))]);
        assert!(!Arc::ptr_eq(&program, &other.program("a").unwrap()), "the text has changed");
        let message = kernels.program("c").unwrap().parameters("c").unwrap_err().to_string();
        assert!(message.contains('a') && message.contains('b'), "{message}");
    }

    #[test]
    fn only_kernels_that_wait_may_overlap() {
        let kernels = Kernels::committed(&[part("waits.ptx", PTX)]);
        assert!(kernels.waits("a") && !kernels.waits("b") && !kernels.waits("c"));
    }

    #[test]
    fn a_kernel_is_the_newest_of_its_name() {
        let base = PTX.replace("sm_90", "sm_80").replace("\tgriddepcontrol.wait;\n", "");
        let newer = PTX.split(".visible .entry b").next().unwrap();
        let kernels = Kernels::committed(&[part("k.ptx", &base), part("k.compute_90.ptx", newer)]);
        assert_eq!((kernels.names(), kernels.target()), (vec!["a", "b"], 90));
        assert!(kernels.waits("a") && !Kernels::committed(&[part("k.ptx", &base)]).waits("a"));
        assert_eq!(kernels.program("b").unwrap().kernel_names(), ["b"], "of the older text");
        let message = kernels.program("c").unwrap().parameters("c").unwrap_err().to_string();
        assert!(message.contains('a') && message.contains('b'), "{message}");
    }
}
