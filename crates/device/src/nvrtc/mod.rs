//! NVRTC, NVIDIA's run-time compiler: CUDA C++ to PTX or machine code, on any machine, with or without a GPU.

mod headers;
mod library;
mod places;

use std::path::{Path, PathBuf};

use crate::Error;
use library::{Library, Output};

/// From this version on it takes an option to use several cores.
const SPLIT_COMPILE: (u32, u32) = (13, 0);

pub(crate) use headers::included;
pub use headers::stand_ins;
pub use places::{Place, places};

/// The one release of NVRTC that `cargo course setup` installs and that makes the committed PTX.
pub mod pinned {
    /// Packages and versions on PyPI, in the form that pip takes.
    ///
    /// 12.1 is chosen for reach: it is the smallest download of those that know Hopper, and drivers from 530 on load
    /// its PTX. The second package holds the headers (`cuda_fp16.h` and its kin).
    pub const PACKAGES: [&str; 2] = ["nvidia-cuda-nvrtc-cu12==12.1.105", "nvidia-cuda-runtime-cu12==12.1.105"];

    /// [`super::Nvrtc::version`] of that release.
    pub const VERSION: (u32, u32) = (12, 1);

    /// Its name in the stamp of the committed PTX.
    pub const NAME: &str = "NVRTC 12.1.105";

    /// The folder, below the root of the source tree, that the packages are installed into (`pip install --target`).
    pub const FOLDER: &str = "target/nvrtc";
}

/// A loaded NVRTC.
#[derive(Debug)]
pub struct Nvrtc {
    library: Library,
    include_dirs: Vec<PathBuf>,
    place: String,
}

/// Code for one architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineCode {
    /// The PTX that the machine code was made from.
    pub ptx: String,
    /// The machine code, an ELF file ("cubin").
    pub cubin: Vec<u8>,
}

impl Nvrtc {
    /// Finds and loads NVRTC: what `cargo course setup` installed under `root`, else CUDA_PATH or CUDA_HOME, else the
    /// loader's path, else the site-packages of python3.
    ///
    /// # Errors
    /// [`Error::NoNvrtc`] with every place and what was wrong with it.
    pub fn find(root: &Path) -> Result<Nvrtc, Error> {
        Nvrtc::find_in(&places(root))
    }

    /// Loads the first NVRTC that works among `places`.
    ///
    /// # Errors
    /// [`Error::NoNvrtc`] with every place and what was wrong with it.
    pub fn find_in(places: &[Place]) -> Result<Nvrtc, Error> {
        let mut looked = Vec::new();
        for place in places {
            match place.open() {
                Ok((library, include_dirs)) => return Ok(Nvrtc { library, include_dirs, place: place.to_string() }),
                Err(why) => looked.push(format!("  {place}: {why}")),
            }
        }
        Err(Error::NoNvrtc { looked: looked.join("\n") })
    }

    /// Version of the release, `(12, 1)`.
    pub fn version(&self) -> (u32, u32) {
        self.library.version()
    }

    /// `NVRTC 12.1`
    pub fn name(&self) -> String {
        let (major, minor) = self.version();
        format!("NVRTC {major}.{minor}")
    }

    /// The library's file.
    pub fn path(&self) -> &Path {
        self.library.path()
    }

    /// Place where it was found: `target/nvrtc (cargo course setup)`.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Folders of CUDA's headers; may be empty, which is enough for kernels that include none.
    pub fn include_dirs(&self) -> &[PathBuf] {
        &self.include_dirs
    }

    /// Returns whether it can make machine code for compute capability `arch` (90 for 9.0).
    pub fn knows(&self, arch: u32) -> bool {
        self.library.architectures().contains(&arch)
    }

    /// Compiles `text` to PTX. `source_name` is what messages and line information call it; the folders of the headers
    /// are added to `options`.
    ///
    /// The PTX holds no path of this machine: `.file` lines name `source_name` and, for headers, the file as included.
    ///
    /// # Errors
    /// [`Error::Compile`] with NVRTC's messages when the text does not compile, [`Error::Nvrtc`] for anything else.
    pub fn compile(&self, source_name: &str, text: &str, options: &[String]) -> Result<String, Error> {
        Ok(self.compile_with_warnings(source_name, text, options)?.0)
    }

    /// Compiles like [`Nvrtc::compile`], and returns the warnings too; empty if there are none.
    ///
    /// # Errors
    /// Those of [`Nvrtc::compile`].
    pub fn compile_with_warnings(
        &self,
        source_name: &str,
        text: &str,
        options: &[String],
    ) -> Result<(String, String), Error> {
        let output = self.run(source_name, text, options, false)?;
        Ok((portable_file_names(&output.ptx, source_name, &self.include_dirs), output.warnings))
    }

    /// Compiles `text` to machine code for compute capability `arch`, with line information.
    ///
    /// # Errors
    /// Those of [`Nvrtc::compile`].
    pub fn compile_for(&self, arch: u32, source_name: &str, text: &str) -> Result<MachineCode, Error> {
        let mut options = vec![format!("--gpu-architecture=sm_{arch}"), "--generate-line-info".to_string()];
        // On all cores. Compilations side by side would wait for each other.
        if self.version() >= SPLIT_COMPILE {
            options.push("--split-compile=0".to_string());
        }
        let output = self.run(source_name, text, &options, true)?;
        let ptx = portable_file_names(&output.ptx, source_name, &self.include_dirs);
        Ok(MachineCode { ptx, cubin: output.cubin })
    }

    fn run(&self, name: &str, text: &str, options: &[String], cubin: bool) -> Result<Output, Error> {
        let includes = self.include_dirs.iter().map(|folder| format!("--include-path={}", folder.display()));
        let options: Vec<String> = options.iter().cloned().chain(includes).collect();
        // A byte order mark, as editors on Windows write it, is no token of C++.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        self.library.compile(name, text, &options, &headers::STAND_INS, cubin)
    }
}

/// Rewrites the file names of `.file` lines. NVRTC makes every name absolute, from the current directory on, so the
/// same source would give another text in every folder, and the text would tell where it was made.
fn portable_file_names(ptx: &str, source_name: &str, include_dirs: &[PathBuf]) -> String {
    let is_named = |path: &str, name: &str| {
        path.strip_suffix(name).is_some_and(|folder| folder.is_empty() || folder.ends_with(['/', '\\']))
    };
    let portable = |path: &str| -> String {
        // Headers that are handed over by name come after those on the disk, some of which have the same names.
        let on_disk = include_dirs.iter().find_map(|folder| Path::new(path).strip_prefix(folder).ok()?.to_str());
        let by_name = || {
            [source_name].into_iter().chain(headers::STAND_INS.map(|(name, _)| name)).find(|name| is_named(path, name))
        };
        on_disk.or_else(by_name).unwrap_or(path).to_owned()
    };
    ptx.split_inclusive('\n')
        .map(|line| match line.splitn(3, '"').collect::<Vec<_>>()[..] {
            [before, path, after] if before.trim_start().starts_with(".file") => {
                format!("{before}\"{}\"{after}", portable(path))
            }
            _ => line.to_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_lines_lose_the_machines_folders() {
        let includes = [PathBuf::from("/opt/cuda/include")];
        let ptx = "\t.file\t1 \"/home/ann/course/kernels/a.cu\"\n\t.file\t2 \"/opt/cuda/include/cuda_fp16.hpp\"\n\
                   \t.file\t3 \"/elsewhere/b.h\"\nmov.u32 %r1, 1;\n";
        let expected = "\t.file\t1 \"kernels/a.cu\"\n\t.file\t2 \"cuda_fp16.hpp\"\n\t.file\t3 \"/elsewhere/b.h\"\n\
                        mov.u32 %r1, 1;\n";
        assert_eq!(portable_file_names(ptx, "kernels/a.cu", &includes), expected);
    }

    #[test]
    fn a_longer_file_name_is_not_mistaken_for_the_source() {
        let header = ".file 2 \"/home/ann/course/elements.cuh\"";
        assert_eq!(portable_file_names(header, "kernels/a.cu", &[]), ".file 2 \"elements.cuh\"");
        let ptx = ".file 1 \"/x/another-kernels/a.cu\"";
        assert_eq!(portable_file_names(ptx, "kernels/a.cu", &[]), ptx);
    }

    #[test]
    fn a_machine_without_nvrtc_hears_every_place_and_the_command() {
        let empty = tempfile::tempdir().expect("a temporary folder");
        let places = [Place::Wheels(empty.path().to_path_buf()), Place::Toolkit(empty.path().join("cuda"))];
        let message = Nvrtc::find_in(&places).expect_err("nothing is there").to_string();
        assert!(message.contains("cargo course setup"), "{message}");
        assert_eq!(message.matches("no libnvrtc").count(), 2, "{message}");
    }

    #[test]
    fn a_file_that_is_no_library_is_passed_over_with_its_reason() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = root.path().join("nvidia/cuda_nvrtc/lib");
        std::fs::create_dir_all(&folder).expect("folders");
        std::fs::write(folder.join("libnvrtc.so.12"), "not a library").expect("a file");
        let message = Nvrtc::find_in(&[Place::Wheels(root.path().to_path_buf())]).expect_err("no library").to_string();
        assert!(message.contains("libnvrtc.so.12"), "{message}");
    }
}
