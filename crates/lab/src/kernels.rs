//! Kernels that a record was made with: a hash of each one's code, so that a changed kernel voids its own rows and no others.

use std::collections::BTreeMap;
use std::path::Path;

use device::KernelSource;

use crate::Chapter;
use crate::error::Result;

/// Hash of a kernel's code, by its name, which is one of a kind in the course.
pub type Hashes = BTreeMap<String, String>;

/// Hashes of the kernels of one file, as it is committed.
///
/// # Errors
/// PTX that cannot be read.
pub fn file_hashes(root: &Path, slug: &str) -> Result<Hashes> {
    Ok(KernelSource::in_root(root, slug).entry_hashes()?)
}

/// Hashes of the kernels of a chapter: of its own file, and of those that variants have.
///
/// # Errors
/// PTX that cannot be read.
pub fn chapter_hashes(root: &Path, chapter: &Chapter) -> Result<Hashes> {
    let mut hashes = file_hashes(root, chapter.slug)?;
    for slug in chapter.variants.iter().filter_map(|variant| variant.kernels) {
        hashes.extend(file_hashes(root, slug)?);
    }
    Ok(hashes)
}

/// Hashes of all kernels of the lessons, as they are committed.
///
/// # Errors
/// PTX that cannot be read.
pub fn today(root: &Path) -> Result<Hashes> {
    Ok(device::all_entry_hashes(root)?)
}

/// Those of `kernels` whose code is not what it was. A kernel that was compiled when it was launched is in no file: committed
/// kernels of the same template stand for it, or of the nearest name; one that is like none counts as changed.
pub fn changed<'k>(kernels: &'k [String], then: &Hashes, now: &Hashes) -> Vec<&'k str> {
    let is_changed = |kernel: &&str| {
        let differs = |name: &String| then.get(name) != now.get(name);
        if then.contains_key(*kernel) {
            return differs(&(*kernel).to_owned());
        }
        let kin = kin(kernel, then);
        kin.is_empty() || kin.into_iter().any(differs)
    };
    kernels.iter().map(String::as_str).filter(is_changed).collect()
}

/// The kernels of the same type whose names begin most alike, and with the same word at least; of those the shortest.
fn kin<'h>(kernel: &str, hashes: &'h Hashes) -> Vec<&'h String> {
    let own = template(kernel);
    let likeness = |name: &String| {
        let other = template(name);
        let alike = own.0.bytes().zip(other.0.bytes()).take_while(|(a, b)| a == b).count();
        let first = own.0.split('_').next().map_or(0, str::len);
        let is_kin = own.1 == other.1 && alike > 0 && alike >= first;
        is_kin.then_some((own == other, alike, std::cmp::Reverse(other.0.len())))
    };
    let best = hashes.keys().filter_map(likeness).max();
    hashes.keys().filter(|name| best.is_some() && likeness(name) == best).collect()
}

/// Why rows of a record are stale, with the names of the kernels that have changed.
pub fn reason(changed: &[&str], rows: usize, commit: Option<&str>) -> String {
    let mut names = changed.to_vec();
    names.sort_unstable();
    names.dedup();
    let more = names.len().saturating_sub(SHOWN);
    let shown = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let (s, have) = if rows == 1 { ("", "has") } else { ("s", "have") };
    format!("{rows} row{s} {have} times of {}, before {shown}{more} changed", at(commit))
}

/// Kernels that a reason names.
const SHOWN: usize = 3;
/// Mark behind a figure of a kernel that has changed since.
pub const DAGGER: &str = "†";

/// The line below a table that has a [`DAGGER`].
pub fn footnote(commit: Option<&str>) -> String {
    format!("\n{DAGGER} Measured at {}; the kernel has changed since.\n", at(commit))
}

fn at(commit: Option<&str>) -> String {
    commit.map_or("an unknown commit".to_owned(), |commit| format!("commit {}", commit.get(..7).unwrap_or(commit)))
}

/// The name of a kernel without the numbers of its shape, and its type: `block_softmax` and `f32` of `block_softmax_t256v2_f32`.
fn template(kernel: &str) -> (String, &str) {
    let (front, ty) = kernel.rsplit_once('_').unwrap_or((kernel, ""));
    (front.split('_').filter(|word| !is_shape(word)).collect::<Vec<_>>().join("_"), ty)
}

/// A letter and a number, once or several times.
fn is_shape(word: &str) -> bool {
    let bytes = word.as_bytes();
    let is_letter = |i: usize| bytes[i].is_ascii_lowercase();
    let is_number = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
    !bytes.is_empty() && is_letter(0) && (0..bytes.len()).all(|i| is_number(i) || (is_letter(i) && is_number(i + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(pairs: &[(&str, &str)]) -> Hashes {
        pairs.iter().map(|(name, hash)| ((*name).to_owned(), (*hash).to_owned())).collect()
    }

    /// Rows of records are tied to kernels by their names.
    #[test]
    fn a_name_has_one_code_in_all_files() {
        let mut all = Hashes::new();
        for source in device::all_sources(&crate::session::built_root()).expect("the kernels' folder") {
            for (name, hash) in source.entry_hashes().expect("committed PTX") {
                let known = all.entry(name.clone()).or_insert_with(|| hash.clone());
                assert_eq!(*known, hash, "{name} of {} has the name of another file's kernel", source.slug);
            }
        }
        assert!(all.len() > 1000, "{} kernels", all.len());
    }

    #[test]
    fn a_changed_kernel_is_named_and_no_other() {
        let then = hashes(&[("fold_i32", "1"), ("block_sum_t256v2_f32", "2"), ("block_max_t256v2_f32", "3")]);
        let mut now = then.clone();
        let kernels = ["fold_i32", "block_sum_t128v4_f32", "block_max_t256v2_f32"].map(str::to_owned);
        assert_eq!(changed(&kernels, &then, &now), [""; 0]);
        now.insert("block_sum_t256v2_f32".to_owned(), "4".to_owned());
        assert_eq!(changed(&kernels, &then, &now), ["block_sum_t128v4_f32"], "by the instance that is committed");
        now.remove("fold_i32");
        assert_eq!(changed(&kernels, &then, &now).len(), 2, "one that is gone has changed");
        assert_eq!(changed(&["unknown_f32".to_owned()], &then, &then), ["unknown_f32"]);
        let then =
            hashes(&[("reduce_tiles_t2_f32", "1"), ("reduce_max_tiles_t2_f32", "2"), ("reduce_tiles_t2_i8", "3")]);
        let now =
            hashes(&[("reduce_tiles_t2_f32", "1"), ("reduce_max_tiles_t2_f32", "4"), ("reduce_tiles_t2_i8", "5")]);
        let kernels = ["reduce_block_t32_f32", "reduce_max_block_t32_f32", "reduce_tile_t4_f32"].map(str::to_owned);
        assert_eq!(changed(&kernels, &then, &now), ["reduce_max_block_t32_f32"], "the nearest name of the same type");
    }

    #[test]
    fn shapes_are_no_part_of_a_template() {
        let is = |name, front: &str, ty| assert_eq!(template(name), (front.to_owned(), ty));
        is("groups_rms_norm_l32r1v2w4_bf16", "groups_rms_norm", "bf16");
        is("ragged_meanvar_o32_s7_f32", "ragged_meanvar", "f32");
        is("three_passes_softmax_f32", "three_passes_softmax", "f32");
        is("clear", "clear", "");
    }

    #[test]
    fn a_reason_names_commit_and_kernels() {
        let commit = Some("0123456789abcdef");
        assert_eq!(reason(&["b", "a", "b"], 2, commit), "2 rows have times of commit 0123456, before `a`, `b` changed");
        assert!(reason(&["a", "b", "c", "d"], 1, None).ends_with("before `a`, `b`, `c` and 1 more changed"));
    }
}
