//! Place of the workspace, and the files that belong to it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use device::KernelSource;

/// The workspace's root: of the checkout that cargo runs this program from, else of the one it was built from.
pub fn root() -> Result<PathBuf> {
    let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR")
        .map(PathBuf::from)
        .filter(|dir| dir.parent().is_some_and(|parent| parent.ends_with("crates")))
        .unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    let root = manifest_dir.ancestors().nth(2).unwrap_or(&manifest_dir);
    ensure!(
        root.join("book.toml").is_file(),
        "`{}` is not the course: no book.toml there; run `cargo course` inside a checkout",
        root.display()
    );
    Ok(root.to_path_buf())
}

/// Every file of the project, relative to `root` and sorted: what git tracks or would track, or, outside of a git
/// checkout, everything but `target`.
pub fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let listing = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output();
    let mut files: Vec<PathBuf> = match listing {
        Ok(listing) if listing.status.success() && !listing.stdout.is_empty() => listing
            .stdout
            .split(|&byte| byte == 0)
            .filter(|name| !name.is_empty())
            .map(|name| PathBuf::from(String::from_utf8_lossy(name).into_owned()))
            .filter(|file| root.join(file).is_file())
            .collect(),
        _ => walk(root)?
            .into_iter()
            .filter_map(|file| file.strip_prefix(root).map(Path::to_path_buf).ok())
            .filter(|file| !file.starts_with("target") && !file.starts_with(".git"))
            .collect(),
    };
    files.sort();
    files.dedup();
    Ok(files)
}

/// Every file under `dir`, sorted. A missing `dir` holds none.
pub fn walk(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut pending = vec![dir.to_path_buf()];
    while let Some(dir) = pending.pop() {
        if !dir.is_dir() {
            continue;
        }
        let entries = std::fs::read_dir(&dir).with_context(|| format!("cannot list `{}`", dir.display()))?;
        for entry in entries {
            let path = entry.with_context(|| format!("cannot list `{}`", dir.display()))?.path();
            // The build folder is never walked: it holds hundreds of thousands of files.
            if path.is_dir() && !path.join("CACHEDIR.TAG").exists() {
                pending.push(path);
            } else if path.is_file() {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The text of a file, which an error names as readers do. `file` is absolute, or relative to `root`.
pub fn read(root: &Path, file: impl AsRef<Path>) -> Result<String> {
    let path = root.join(file);
    std::fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", name(root, &path)))
}

/// Names of what lies in a folder, sorted. A missing one holds nothing.
pub fn names(folder: &Path) -> Result<Vec<String>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot list `{}`", folder.display()))?;
    let mut names =
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect::<Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

/// A kernel of this name that lies beside its PTX.
pub fn kernel(folder: &Path, name: &str) -> KernelSource {
    let file = |extension: &str| folder.join(format!("{name}.{extension}"));
    KernelSource { slug: name.to_owned(), cu: file("cu"), ptx: file("ptx") }
}

/// A command of the cargo that runs this program, in this folder.
pub fn cargo(folder: &Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(folder);
    cargo
}

/// `path` as readers name it: relative to `root`, with forward slashes.
pub fn name(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_holds_the_workspace() {
        let root = root().unwrap();
        assert!(root.join("Cargo.toml").is_file());
        assert!(root.join("crates/course/src/workspace.rs").is_file());
    }

    #[test]
    fn project_files_are_relative_and_without_build_output() {
        let root = root().unwrap();
        let files = files(&root).unwrap();
        assert!(files.contains(&PathBuf::from("crates/course/src/main.rs")));
        assert!(files.iter().all(|file| file.is_relative() && !file.starts_with("target")));
    }

    #[test]
    fn a_missing_folder_holds_no_files() {
        assert!(walk(Path::new("no/such/folder")).unwrap().is_empty());
    }
}
