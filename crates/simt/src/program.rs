//! A loaded PTX file and its kernels, lowered to register code.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::code::Code;
use crate::link::{self, Texts};
use crate::lower;
use crate::memory::Memory;

/// A parsed PTX file, or several that were linked.
#[derive(Debug)]
pub struct Program {
    module: ptx::Module,
    texts: Texts,
    /// Tells the module variables of one program from another's.
    id: u64,
}

/// A kernel ready to run.
#[derive(Debug)]
pub struct Kernel {
    pub(crate) name: String,
    pub(crate) sources: Vec<ptx::SourceFile>,
    pub(crate) parameters: Vec<Parameter>,
    /// Threads of a block: at most so many (`.maxntid`), or exactly these (`.reqntid`).
    pub(crate) block_max: Option<u64>,
    pub(crate) block: Option<[u32; 3]>,
    /// Blocks of a cluster that it was compiled for.
    pub(crate) cluster: Option<[u32; 3]>,
    /// Compiled for clusters whose size the launch gives.
    pub(crate) needs_cluster: bool,
    pub(crate) code: Code,
    pub(crate) program_id: u64,
    /// The PTX, whose lines a trace shows.
    pub(crate) texts: Texts,
}

/// A parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Name as in the PTX.
    pub name: String,
    /// `u64`, `u32`, `f32`, `b8[16]`, as the PTX declares it.
    pub ty: String,
    /// Size in bytes.
    pub bytes: u32,
    /// Alignment in bytes.
    pub align_bytes: u32,
}

/// Why a PTX file or a kernel of it cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the messages say what each field is
pub enum LoadError {
    /// The text is not PTX as the parser knows it.
    #[error(transparent)]
    Parse(#[from] ptx::Error),
    /// Nothing to link.
    #[error("no PTX file to load: name one or more")]
    NoFiles,
    /// Two of the files that were to be linked define the same name, and neither definition is `.weak`.
    #[error(
        "{}:{}: `{name}` is defined a second time, first in {}:{}: leave one of the files out, or make one definition `.weak`",
        second.0, second.1, first.0, first.1
    )]
    Duplicate {
        name: String,
        /// File and line of the first definition.
        first: (String, u32),
        /// File and line of the second.
        second: (String, u32),
    },
    /// Two of the files that were to be linked have addresses of different sizes.
    #[error("{second}: its `.address_size` is not that of {first}: compile both for 64 bits")]
    AddressSizes {
        first: String,
        /// The first file that differs from it.
        second: String,
    },
    /// No entry of that name.
    #[error("{file}: no kernel named {name}; it has {}", list(kernels))]
    NoSuchKernel { file: String, name: String, kernels: Vec<String> },
    /// No device function of that name that has a body.
    #[error("{file}: no device function named {name} with a body; it has {}", list(functions))]
    NoSuchFunction { file: String, name: String, functions: Vec<String> },
    /// No variable of that name in global or constant memory.
    #[error("{file}: no .global or .const variable named {name}; it has {}", list(variables))]
    NoSuchVariable { file: String, name: String, variables: Vec<String> },
    /// There is no room for a variable.
    #[error(transparent)]
    Memory(#[from] crate::MemoryError),
    /// An instruction, register or symbol that the simulator cannot execute.
    #[error("{file}:{line}: {message}\n  {text}")]
    Unsupported {
        file: String,
        /// Line in it, from 1.
        line: u32,
        message: String,
        text: String,
        /// The error as a fault, where it is an instruction that the simulator does not know.
        fault: Option<Box<crate::Fault>>,
    },
}

/// Names as messages list them.
fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

static NEXT_ID: AtomicU64 = AtomicU64::new(0);

impl Program {
    /// Parses `text`; `file` is the name that messages print.
    pub fn load(file: &str, text: &str) -> Result<Program, LoadError> {
        Program::link(&[(file, text)])
    }

    /// Parses several files, each a name and a text, and makes one program of them: what one declares `.extern`, another one
    /// defines. Names without a linkage are their file's own, `.weak` definitions give way to others, and an undefined name
    /// is refused when a kernel that needs it is lowered.
    pub fn link(files: &[(&str, &str)]) -> Result<Program, LoadError> {
        let (module, texts) = link::link(files)?;
        Ok(Program { module, texts, id: NEXT_ID.fetch_add(1, Relaxed) })
    }

    fn entries(&self) -> impl Iterator<Item = &ptx::Function> {
        self.module.functions.iter().filter(|f| f.is_entry && f.body.is_some())
    }

    /// Names of the entries, in file order.
    pub fn kernel_names(&self) -> Vec<&str> {
        self.entries().map(|f| f.name.as_str()).collect()
    }

    /// `.target` as the file says it: `sm_80`.
    pub fn target(&self) -> &str {
        &self.module.target
    }

    /// The syntax tree, and the texts that its lines are of.
    pub(crate) fn parts(&self) -> (&ptx::Module, &Texts) {
        (&self.module, &self.texts)
    }

    pub(crate) fn entry(&self, name: &str) -> Result<&ptx::Function, LoadError> {
        self.entries().find(|f| f.name == name).ok_or_else(|| LoadError::NoSuchKernel {
            file: self.texts.names(),
            name: name.to_owned(),
            kernels: self.kernel_names().into_iter().map(str::to_owned).collect(),
        })
    }

    /// Parameters of the entry `name`, without lowering it.
    pub fn parameters(&self, name: &str) -> Result<Vec<Parameter>, LoadError> {
        Ok(self.entry(name)?.params.iter().map(parameter).collect())
    }

    /// Lowers the entry `name`.
    pub fn kernel(&self, name: &str) -> Result<Kernel, LoadError> {
        self.kernel_with(name, &[])
    }

    /// Lowers the entry `name`, and these device functions whose addresses ([`Program::function_address`]) it will get from the host
    /// in arguments or in memory. Functions whose addresses the PTX itself takes come along without being named.
    pub fn kernel_with(&self, name: &str, functions: &[&str]) -> Result<Kernel, LoadError> {
        let function = self.entry(name)?;
        let more =
            functions.iter().map(|name| Ok(self.device_function(name)?.0)).collect::<Result<Vec<_>, LoadError>>()?;
        let directive = |directive: &str| {
            function.directives.iter().find(|(name, _)| name == directive).map(|(_, numbers)| &numbers[..])
        };
        Ok(Kernel {
            name: name.to_owned(),
            sources: self.module.sources.clone(),
            parameters: function.params.iter().map(parameter).collect(),
            cluster: directive("reqnctapercluster").filter(|n| n.first().is_some_and(|&x| x != 0)).map(dimensions),
            needs_cluster: function.directives.iter().any(|(name, _)| name == "explicitcluster"),
            block_max: directive("maxntid").map(count),
            block: directive("reqntid").filter(|numbers| !numbers.is_empty()).map(dimensions),
            code: lower::lower(&self.module, function, &more, &self.texts)?,
            program_id: self.id,
            texts: self.texts.clone(),
        })
    }

    /// Everything that keeps the entry `name` from running, in the order of its code; nothing if [`Program::kernel`] lowers it.
    pub fn problems(&self, name: &str) -> Result<Vec<LoadError>, LoadError> {
        Ok(lower::problems(&self.module, self.entry(name)?, &self.texts))
    }

    /// The address of a device function, as a function pointer holds it.
    pub fn function_address(&self, name: &str) -> Result<u64, LoadError> {
        Ok(self.device_function(name)?.1)
    }

    /// Index and address of a device function.
    fn device_function(&self, name: &str) -> Result<(usize, u64), LoadError> {
        lower::function_address(&self.module, name).ok_or_else(|| {
            let functions = self.module.functions.iter().filter(|f| !f.is_entry && f.body.is_some());
            LoadError::NoSuchFunction {
                file: self.texts.names(),
                name: name.to_owned(),
                functions: functions.map(|f| f.name.clone()).collect(),
            }
        })
    }

    /// Names and sizes in bytes of the `.global` and `.const` variables that the program defines, in file order.
    pub fn variables(&self) -> Vec<(&str, u64)> {
        let defined =
            self.module.variables.iter().filter(|v| {
                v.linkage != ptx::Linkage::Extern && matches!(v.space, ptx::Space::Global | ptx::Space::Const)
            });
        defined.map(|v| (v.name.as_str(), lower::variables::size_of(v))).collect()
    }

    /// The address in `memory` of the `.global` or `.const` variable `name`, where every kernel of this program finds it. It is
    /// placed and gets its initial value when it is first asked for, or when a kernel that uses it is first launched.
    pub fn variable_address(&self, memory: &mut Memory, name: &str) -> Result<u64, LoadError> {
        let missing = || LoadError::NoSuchVariable {
            file: self.texts.names(),
            name: name.to_owned(),
            variables: self.variables().into_iter().map(|(name, _)| name.to_owned()).collect(),
        };
        let variables = lower::variable(&self.module, name, &self.texts)?.ok_or_else(missing)?;
        let placed = memory.place_variables(self.id, 0, &variables)?;
        placed.first().copied().ok_or_else(missing)
    }
}

/// Numbers of a directive as x, y, z, where dimensions that are not given are 1.
fn dimensions(numbers: &[u64]) -> [u32; 3] {
    std::array::from_fn(|axis| numbers.get(axis).map_or(1, |&n| u32::try_from(n).unwrap_or(u32::MAX)))
}

/// Product of all dimensions, saturating.
fn count(dimensions: &[u64]) -> u64 {
    dimensions.iter().fold(1, |count, &n| count.saturating_mul(n))
}

fn parameter(variable: &ptx::Variable) -> Parameter {
    let element = format!("{:?}", variable.ty).to_ascii_lowercase();
    let ty = if variable.dims.is_empty() { element } else { format!("{element}[{}]", count(&variable.dims)) };
    let bytes = u32::try_from(lower::variables::size_of(variable)).unwrap_or(u32::MAX);
    Parameter { name: variable.name.clone(), ty, bytes, align_bytes: variable.align_bytes }
}

impl Kernel {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its parameters in order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Static shared memory in bytes.
    pub fn shared_bytes(&self) -> u32 {
        self.code.shared_bytes - self.code.reserved_bytes
    }

    /// Its static shared variables, in the order in which they lie: name, demangled to its last part, first byte, bytes.
    pub fn shared_variables(&self) -> impl Iterator<Item = (&str, u32, u32)> {
        let own = self.code.shared.iter().filter(|one| one.bytes > 0 && one.offset >= self.code.reserved_bytes);
        own.map(|one| (one.name.as_str(), one.offset, one.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(parameters: &str) -> Result<Kernel, LoadError> {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(\n{parameters},\n.param .u32 last)\n\
             {{ .reg .b32 %r1; .reg .pred %p1;\nld.param.u32 %r1, [last];\nsetp.ne.u32 %p1, %r1, 7;\n@%p1 trap;\nret; }}"
        );
        Program::load("k.ptx", &text)?.kernel("k")
    }

    #[test]
    fn parameters_that_a_kernel_cannot_have_are_refused_at_their_line() {
        for (parameters, line, why) in [
            (".param .pred truth", 5, "truth: a predicate has no place in memory"),
            (".param .b8 much[32761]", 6, "last ends past the 32764 bytes"),
            (".param .b8 more[4294967295]", 5, "more ends past"),
        ] {
            let error = kernel(parameters).expect_err(parameters).to_string();
            assert!(error.starts_with(&format!("k.ptx:{line}: ")) && error.contains(why), "{parameters}: {error}");
        }
        assert!(kernel(".param .b8 much[32760]").is_ok());
    }

    #[test]
    fn a_launch_places_parameters_where_the_code_reads_them() {
        for (parameters, bytes) in [(".param .b8 none[0]", 0), (".param .b8 odd[3]", 3), (".param .v4 .f32 four", 16)] {
            let kernel = kernel(parameters).expect(parameters);
            assert_eq!(kernel.parameters().iter().map(|p| p.bytes).collect::<Vec<_>>(), [bytes, 4], "{parameters}");
            let args = vec![vec![0; bytes as usize].into(), 7u32.into()];
            let mut launch = crate::Launch { block: [32, 1, 1], args, ..crate::Launch::default() };
            let faults = |launch: &crate::Launch| {
                let outcome = crate::run(&kernel, &mut crate::Memory::new(), launch, &crate::Options::default());
                outcome.map(|outcome| outcome.faults.len())
            };
            assert_eq!(faults(&launch), Ok(0), "{parameters}");
            launch.args[1] = 8u32.into();
            assert_eq!(faults(&launch), Ok(1), "{parameters}: the kernel sees another number");
        }
    }
}
