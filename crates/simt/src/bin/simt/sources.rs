//! Finds the source files that line information names, to show their lines in reports.

use std::path::{Path, PathBuf};

/// The text of `name`, as a report names it. It is looked for from the current folder, then from the PTX file's folder and
/// the ones above it, then beside the PTX file.
pub fn text(ptx_file: &Path, name: &str) -> Option<String> {
    candidates(ptx_file, Path::new(name)).into_iter().find_map(|path| std::fs::read_to_string(path).ok())
}

fn candidates(ptx_file: &Path, name: &Path) -> Vec<PathBuf> {
    let mut paths = vec![name.to_path_buf()];
    let Ok(ptx_file) = std::path::absolute(ptx_file) else { return paths };
    if name.is_relative() {
        paths.extend(ptx_file.ancestors().skip(1).map(|folder| folder.join(name)));
    }
    if let (Some(folder), Some(base)) = (ptx_file.parent(), name.file_name()) {
        paths.push(folder.join(base));
    }
    paths
}
