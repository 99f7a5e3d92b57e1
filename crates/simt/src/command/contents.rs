//! Contents of a buffer before the launch, those from files included.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::npy;
use crate::spec::{Init, Kind, Spec};
use anyhow::{Context, Result, ensure};

/// Bytes that are written into a buffer before the launch, from its beginning; at most as many as it has.
pub fn contents(spec: &Spec, len: u64, init: &Init) -> Result<Vec<u8>> {
    let bytes = spec.size(len).map_err(anyhow::Error::msg)?;
    let (path, fills_all) = match init {
        Init::Rule(_) | Init::Begin(_) => {
            return Ok(spec.contents(len, init).map_err(anyhow::Error::msg)?.unwrap_or_default());
        }
        Init::File(path) => (path, true),
        Init::Start(path) => (path, false),
    };
    let (data, more) = from_file(spec, len, bytes, path)?;
    let (held, name, ty) = (data.len(), &spec.name, spec.ty.name());
    let advice = if held < bytes && !more { "; start(PATH) leaves the rest unwritten" } else { "" };
    let what = format!("{name}: {}: holds {}{held} bytes of data", path.display(), if more { "at least " } else { "" });
    ensure!(!fills_all || held == bytes, "{what}, {len} elements of {ty} need {bytes}{advice}");
    ensure!(held <= bytes, "{what}, {name} has {bytes}: make it longer");
    Ok(data)
}

/// The data that a file holds, bare or as NumPy writes it; of a file that has far more than `bytes` the beginning, and true.
fn from_file(spec: &Spec, len: u64, bytes: usize, path: &Path) -> Result<(Vec<u8>, bool)> {
    let what = format!("{}: {}", spec.name, path.display());
    let unread = || format!("{what}: the file cannot be read (it is looked for from the current folder)");
    // Opening a pipe waits for the program that writes to it.
    let is_file = std::fs::metadata(path).with_context(unread)?.is_file();
    ensure!(is_file, "{what}: is no regular file: data comes from a file of known length");
    let file = File::open(path).with_context(unread)?;
    let mut held = Vec::new();
    let most = (bytes as u64).saturating_add(crate::npy::HEADER_BYTES_MAX as u64 + 1);
    file.take(most).read_to_end(&mut held).with_context(unread)?;
    let is_more = held.len() as u64 == most;
    if !crate::npy::is_npy(&held) {
        return Ok((held, is_more));
    }
    let at_most = matches!(spec.kind, Kind::Buffer { init: Init::Start(_), .. });
    let data = npy::data(&held, spec.ty, len, at_most).map_err(anyhow::Error::msg).with_context(|| what.clone())?;
    Ok((data.to_vec(), is_more))
}
