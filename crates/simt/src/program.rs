//! A loaded PTX file and its kernels, lowered to register code.

/// A parsed PTX file.
#[derive(Debug)]
pub struct Program {}

/// A kernel ready to run.
#[derive(Debug)]
pub struct Kernel {}

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
pub enum LoadError {
    /// The text is not PTX as the parser knows it.
    #[error(transparent)]
    Parse(#[from] ptx::Error),
    /// No entry of that name.
    #[error("{file}: no kernel named {name}; it has {}", .kernels.join(", "))]
    NoSuchKernel {
        /// The PTX file.
        file: String,
        /// The name asked for.
        name: String,
        /// The kernels that are there.
        kernels: Vec<String>,
    },
    /// An instruction, register or symbol that the simulator cannot execute.
    #[error("{file}:{line}: {message}\n  {text}")]
    Unsupported {
        /// The PTX file.
        file: String,
        /// Line in it, from 1.
        line: u32,
        /// What is wrong.
        message: String,
        /// The line's text.
        text: String,
    },
}

impl Program {
    /// Parses `text`; `file` is the name that messages print.
    pub fn load(file: &str, text: &str) -> Result<Program, LoadError> {
        let _ = (file, text);
        unimplemented!()
    }

    /// Names of the entries, in file order.
    pub fn kernel_names(&self) -> Vec<&str> {
        unimplemented!()
    }

    /// Parameters of the entry `name`, without lowering it.
    pub fn parameters(&self, name: &str) -> Result<Vec<Parameter>, LoadError> {
        let _ = name;
        unimplemented!()
    }

    /// Lowers the entry `name` and what it calls.
    pub fn kernel(&self, name: &str) -> Result<Kernel, LoadError> {
        let _ = name;
        unimplemented!()
    }
}

impl Kernel {
    /// Its name.
    pub fn name(&self) -> &str {
        unimplemented!()
    }

    /// Its parameters in order.
    pub fn parameters(&self) -> &[Parameter] {
        unimplemented!()
    }

    /// Static shared memory in bytes.
    pub fn shared_bytes(&self) -> u32 {
        unimplemented!()
    }
}
