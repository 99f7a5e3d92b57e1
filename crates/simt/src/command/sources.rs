//! Finds the source files that line information names, to show their lines in reports.

use std::path::{Path, PathBuf};

/// The names of the PTX files, as people read them.
pub fn names(files: &[PathBuf]) -> String {
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    names.join(", ")
}

/// The text of `name`, as a report names it. It is looked for from the current folder, then beside each PTX file, then from that
/// file's folder and, where the name has folders of its own, from the ones above it: a bare name there would be of another file. What
/// is no UTF-8 is shown as far as it is ASCII.
pub fn text(ptx_files: &[PathBuf], name: &str) -> Option<String> {
    let places = ptx_files.iter().flat_map(|file| candidates(file, Path::new(name)));
    let bytes = places.into_iter().find_map(|path| std::fs::read(path).ok())?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn candidates(ptx_file: &Path, name: &Path) -> Vec<PathBuf> {
    let mut paths = vec![name.to_path_buf()];
    if let (Some(folder), Some(base)) = (ptx_file.parent(), name.file_name()) {
        paths.push(folder.join(base));
    }
    let Ok(ptx_file) = std::path::absolute(ptx_file) else { return paths };
    if name.is_relative() && name.components().count() > 1 {
        paths.extend(ptx_file.ancestors().skip(1).map(|folder| folder.join(name)));
    }
    paths
}
