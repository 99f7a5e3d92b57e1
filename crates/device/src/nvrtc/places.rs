//! Places where NVRTC may be, and the layout of each kind.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::library::Library;
use super::pinned;

/// A place to look for NVRTC in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A folder that NVIDIA's pip packages are installed into: `nvidia/cuda_nvrtc/lib`, or `nvidia/cu13/lib`.
    Wheels(PathBuf),
    /// A CUDA toolkit: `lib64` and `include`.
    Toolkit(PathBuf),
    /// Whatever the dynamic loader finds by name.
    Loader,
    /// The site-packages of python3, which is asked for them only when this place's turn comes.
    SitePackages,
}

/// Names that the loader is asked for, and that a folder is searched for, in this order: the pinned major version, then
/// its neighbours, then whatever a toolkit calls current.
const NAMES: [&str; 4] = ["libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.so.11.2", "libnvrtc.so"];

/// The places of this machine, in order; `root` is the source tree.
pub fn places(root: &Path) -> Vec<Place> {
    let toolkits = ["CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(std::env::var_os).filter(|path| !path.is_empty());
    places_from(root, toolkits.map(PathBuf::from))
}

fn places_from(root: &Path, toolkits: impl Iterator<Item = PathBuf>) -> Vec<Place> {
    let mut places = vec![Place::Wheels(root.join(pinned::FOLDER))];
    for toolkit in toolkits.map(Place::Toolkit) {
        if !places.contains(&toolkit) {
            places.push(toolkit);
        }
    }
    places.extend([Place::Loader, Place::SitePackages]);
    places
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Wheels(folder) if folder.ends_with(pinned::FOLDER) => {
                write!(f, "{} (cargo course setup)", folder.display())
            }
            Place::Wheels(folder) => write!(f, "{}", folder.display()),
            Place::Toolkit(folder) => write!(f, "{} (CUDA_PATH, CUDA_HOME)", folder.display()),
            Place::Loader => write!(f, "the loader's path"),
            Place::SitePackages => write!(f, "site-packages of python3"),
        }
    }
}

impl Place {
    /// Loads the library that is here, and says where its headers are; or why there is none.
    pub(super) fn open(&self) -> Result<(Library, Vec<PathBuf>), String> {
        let (library, includes) = self.open_here()?;
        // From CUDA 13 on, headers such as cooperative_groups.h include others that lie one folder deeper.
        let deeper: Vec<PathBuf> = includes.iter().map(|folder| folder.join("cccl")).collect();
        Ok((library, includes.into_iter().chain(existing(deeper)).collect()))
    }

    fn open_here(&self) -> Result<(Library, Vec<PathBuf>), String> {
        match self {
            Place::Wheels(folder) => open_wheels(folder),
            Place::Toolkit(folder) => {
                let libraries = ["lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"];
                let folders: Vec<PathBuf> = libraries.iter().map(|name| folder.join(name)).collect();
                let library = Library::open(&first_library(&folders)?)?;
                Ok((library, existing([folder.join("include")])))
            }
            Place::Loader => {
                let library = NAMES.iter().find_map(|name| Library::open(Path::new(name)).ok());
                let library = library.ok_or("no libnvrtc by any of its names")?;
                // A library lies in <toolkit>/lib64, <toolkit>/targets/<machine>/lib, or /usr/lib/<machine>.
                let includes = library.path().ancestors().skip(1).take(3).map(|folder| folder.join("include"));
                let includes = existing(includes.filter(|folder| folder.join("cuda_fp16.h").is_file()));
                Ok((library, includes))
            }
            Place::SitePackages => open_site_packages(),
        }
    }
}

fn open_wheels(folder: &Path) -> Result<(Library, Vec<PathBuf>), String> {
    let nvidia = folder.join("nvidia");
    let library = Library::open(&first_library(&[nvidia.join("cuda_nvrtc/lib"), nvidia.join("cu13/lib")])?)?;
    Ok((library, existing([nvidia.join("cuda_runtime/include"), nvidia.join("cu13/include")])))
}

fn open_site_packages() -> Result<(Library, Vec<PathBuf>), String> {
    let script = "import site; print(*site.getsitepackages(), site.getusersitepackages(), sep='\\n')";
    let output = Command::new("python3").args(["-c", script]).output().map_err(|error| format!("python3: {error}"))?;
    let mut reasons = Vec::new();
    for folder in String::from_utf8_lossy(&output.stdout).lines() {
        match open_wheels(Path::new(folder)) {
            Ok(found) => return Ok(found),
            Err(why) => reasons.push(why),
        }
    }
    if reasons.is_empty() { Err("python3 names no folder".to_string()) } else { Err(reasons.join("; ")) }
}

/// The first library by [`NAMES`] in the first of `folders` that has one.
fn first_library(folders: &[PathBuf]) -> Result<PathBuf, String> {
    let files = folders.iter().flat_map(|folder| NAMES.iter().map(move |name| folder.join(name)));
    files.into_iter().find(|file| file.is_file()).ok_or_else(|| {
        let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        format!("no libnvrtc in {}", folders.join(", "))
    })
}

/// Those that exist, by their real names: NVRTC reports headers by them, and the current directory may change.
fn existing(folders: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    folders.into_iter().filter_map(|folder| folder.canonicalize().ok()).filter(|folder| folder.is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_setup_toolkit_loader_site_packages() {
        let toolkits = ["/opt/cuda", "/opt/cuda", "/usr/local/cuda-12.4"].map(PathBuf::from);
        let expected = [
            Place::Wheels("/course/target/nvrtc".into()),
            Place::Toolkit("/opt/cuda".into()),
            Place::Toolkit("/usr/local/cuda-12.4".into()),
            Place::Loader,
            Place::SitePackages,
        ];
        assert_eq!(places_from(Path::new("/course"), toolkits.into_iter()), expected);
    }

    #[test]
    fn a_folder_gives_the_pinned_major_version_first_and_never_a_variant() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = |name: &str| {
            std::fs::write(folder.path().join(name), "").expect("a file");
            first_library(&[folder.path().join("missing"), folder.path().to_path_buf()])
        };
        assert!(file("libnvrtc-builtins.so.12.1").is_err());
        assert!(file("libnvrtc.alt.so.13").is_err());
        assert_eq!(file("libnvrtc.so"), Ok(folder.path().join("libnvrtc.so")));
        assert_eq!(file("libnvrtc.so.13"), Ok(folder.path().join("libnvrtc.so.13")));
        assert_eq!(file("libnvrtc.so.12"), Ok(folder.path().join("libnvrtc.so.12")));
    }
}
