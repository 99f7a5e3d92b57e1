//! Kernels that CI recompiles: those that a commit has changed, and a share of the others.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use device::KernelSource;

/// Shares that the kernels are dealt into. One of them takes NVRTC a quarter of what all take.
const SHARES: usize = 4;

/// Sources that decide what PTX is made of a kernel.
const MAKERS: [&str; 4] =
    ["crates/device/src/committed.rs", "crates/device/src/nvrtc", "crates/ptx/src/fold.rs", "crates/ptx/src/index.rs"];

/// The commit that is checked out.
#[derive(Debug)]
pub(super) struct Commit {
    hash: String,
    /// Files that differ from its first parent, those that are not committed yet among them; of a merge, all that it brings.
    changed: Vec<String>,
}

/// The commit that is checked out; `None` without git, or without the commit before it.
pub(super) fn commit(root: &Path) -> Option<Commit> {
    let git = |args: &[&str]| -> Option<String> {
        let output = Command::new("git").arg("-C").arg(root).args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let hash = git(&["rev-parse", "HEAD"])?.trim().to_owned();
    let tracked = git(&["diff", "--name-only", "--relative", "-z", "HEAD^1"])?;
    let others = git(&["ls-files", "--others", "--exclude-standard", "-z"])?;
    let changed = tracked.split('\0').chain(others.split('\0')).filter(|name| !name.is_empty());
    Some(Commit { hash, changed: changed.map(str::to_owned).collect() })
}

impl Commit {
    /// First digits of its hash.
    pub fn short(&self) -> &str {
        self.hash.get(..8).unwrap_or(&self.hash)
    }

    /// Returns whether it has changed how PTX is made.
    pub fn makes_other_ptx(&self) -> bool {
        self.changed.iter().any(|name| MAKERS.iter().any(|maker| name.starts_with(maker)))
    }

    /// The kernels that it has changed, and the share of the others that its hash picks.
    ///
    /// # Errors
    /// A kernel that cannot be read.
    pub fn share(&self, root: &Path, kernels: Vec<KernelSource>) -> Result<Vec<KernelSource>> {
        let picked = self.hash.bytes().map(usize::from).sum::<usize>() % SHARES;
        let mut chosen = Vec::new();
        for (i, share) in dealt(kernels)?.into_iter().enumerate() {
            chosen.extend(share.into_iter().filter(|kernel| i == picked || self.has_changed(root, kernel)));
        }
        Ok(chosen)
    }

    fn has_changed(&self, root: &Path, kernel: &KernelSource) -> bool {
        let files = kernel.files().unwrap_or_default().into_iter().map(|(_, ptx)| ptx);
        let is_named = |file: PathBuf| {
            let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
            self.changed.contains(&name)
        };
        files.chain([kernel.cu.clone()]).any(is_named)
    }
}

/// The kernels in shares of much the same size, counted in bytes of PTX: the largest first, each to the share that has least.
fn dealt(kernels: Vec<KernelSource>) -> Result<[Vec<KernelSource>; SHARES]> {
    let mut sized = Vec::new();
    for kernel in kernels {
        let files = kernel.files()?;
        // A kernel is compiled for each of its targets, whatever is committed of the newer ones.
        let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
        let largest = files.iter().map(|(_, ptx)| bytes(ptx)).max().unwrap_or(0);
        sized.push((largest * files.len() as u64, kernel));
    }
    sized.sort_by(|(a, kernel_a), (b, kernel_b)| b.cmp(a).then_with(|| kernel_a.cu.cmp(&kernel_b.cu)));
    let mut shares = [const { Vec::new() }; SHARES];
    let mut sizes = [0; SHARES];
    for (bytes, kernel) in sized {
        let least = (0..SHARES).min_by_key(|&i| sizes[i]).unwrap_or(0);
        sizes[least] += bytes;
        shares[least].push(kernel);
    }
    Ok(shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kernels of these sizes, in a folder of their own.
    fn kernels(dir: &Path, bytes: &[usize]) -> Vec<KernelSource> {
        let made = bytes.iter().enumerate().map(|(i, &bytes)| {
            let file = |extension: &str| dir.join(format!("k{i}.{extension}"));
            std::fs::write(file("cu"), "now\n").unwrap();
            std::fs::write(file("ptx"), "x".repeat(bytes)).unwrap();
            KernelSource { slug: format!("k{i}"), cu: file("cu"), ptx: file("ptx") }
        });
        made.collect()
    }

    fn slugs(kernels: &[KernelSource]) -> Vec<&str> {
        kernels.iter().map(|kernel| kernel.slug.as_str()).collect()
    }

    #[test]
    fn each_kernel_is_in_one_share_and_the_shares_are_alike() {
        let dir = tempfile::tempdir().unwrap();
        let shares = dealt(kernels(dir.path(), &[10, 90, 20, 80, 30, 100, 40, 70])).unwrap();
        let slugs = shares.each_ref().map(|share| slugs(share).join(" "));
        assert_eq!(slugs, ["k5 k0", "k1 k2", "k3 k4", "k7 k6"]);
    }

    #[test]
    fn every_kernel_is_picked_by_a_commit_and_a_changed_one_by_each() {
        let dir = tempfile::tempdir().unwrap();
        let kernels = kernels(dir.path(), &[4, 3, 2, 1]);
        let mut picked = Vec::new();
        for hash in ["0", "1", "2", "3"] {
            let commit = Commit { hash: hash.to_owned(), changed: vec!["k3.ptx".to_owned(), "k1.cu".to_owned()] };
            let chosen = commit.share(dir.path(), kernels.clone()).unwrap();
            assert!(slugs(&chosen).contains(&"k1") && slugs(&chosen).contains(&"k3"), "{chosen:?}");
            picked.extend(slugs(&chosen).into_iter().map(str::to_owned));
        }
        picked.sort();
        assert_eq!(picked, ["k0", "k1", "k1", "k1", "k1", "k2", "k3", "k3", "k3", "k3"]);
    }

    #[test]
    fn what_makes_ptx_is_known() {
        let commit = |name: &str| Commit { hash: String::new(), changed: vec![name.to_owned()] };
        assert!(commit("crates/device/src/committed.rs").makes_other_ptx());
        assert!(!commit("kernels/ch01-naive.cu").makes_other_ptx());
        for maker in MAKERS {
            assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(maker).exists(), "{maker} is gone");
        }
    }
}
