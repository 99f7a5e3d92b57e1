//! Share of a check's work that is done for a commit: what the commit has changed, and a part of the rest, which its hash picks. Tests
//! do it wherever `COURSE_ALL` is not set, the gate in CI. A maintainer's gate does everything, and so does a tree without git or
//! without the commit before.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

/// The commit that is checked out.
#[derive(Debug)]
pub struct Commit {
    hash: String,
    /// Files that differ from its first parent, those that are not committed yet among them; of a merge, all that it brings.
    changed: Vec<String>,
}

/// One of the things that are dealt into shares.
#[derive(Debug, Clone)]
pub struct Piece {
    /// Its name, by which the caller knows it.
    pub name: String,
    /// How much work it is beside the others, in whatever unit.
    pub weight: u64,
    /// Files that are its own, and beginnings of their names, from the root of the repository.
    pub files: Vec<String>,
}

/// The commit that is checked out; `None` without git, or without the commit before it.
pub fn commit(root: &Path) -> Option<Commit> {
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
    /// A commit of this hash with these changes, for tests.
    #[cfg(test)]
    pub(crate) fn made(hash: &str, changed: &[&str]) -> Commit {
        Commit { hash: hash.to_owned(), changed: changed.iter().map(|&name| name.to_owned()).collect() }
    }

    /// First digits of its hash.
    pub fn short(&self) -> &str {
        self.hash.get(..8).unwrap_or(&self.hash)
    }

    /// Returns whether it has changed a file whose name begins so.
    pub fn has_changed(&self, beginnings: &[impl AsRef<str>]) -> bool {
        self.changed.iter().any(|name| beginnings.iter().any(|beginning| name.starts_with(beginning.as_ref())))
    }

    /// Names of the pieces that it has changed, and of the share of the others that its hash picks, of so many.
    pub fn share(&self, pieces: Vec<Piece>, shares: usize) -> BTreeSet<String> {
        let picked = self.hash.bytes().map(usize::from).sum::<usize>() % shares;
        let dealt = dealt(pieces, shares).into_iter().enumerate();
        let chosen = dealt.flat_map(|(i, share)| {
            share.into_iter().filter(move |piece| i == picked || self.has_changed(&piece.files))
        });
        chosen.map(|piece| piece.name).collect()
    }
}

/// Beginnings of the names of a chapter's own files. It may have several files of kernels.
pub fn files_of(slug: &str) -> Vec<String> {
    let number = slug.split_once('-').map_or(slug, |(number, _)| number);
    let kernels = ["kernels/", "kernels/ptx/"].map(|folder| format!("{folder}{number}-"));
    let others = ["chapters/", "book/src/", "book/src/generated/"].map(|folder| format!("{folder}{slug}"));
    kernels.into_iter().chain(others).collect()
}

/// Shares that pieces are dealt into.
const SHARES: usize = 6;

/// The share of these pieces that the gate does in CI, and words that say so; `None` where it does everything: outside CI, without git,
/// and where the commit has changed one of `makers`, sources that all pieces depend on.
pub fn of(root: &Path, pieces: Vec<Piece>, makers: &[&str]) -> Option<(BTreeSet<String>, String)> {
    let is_ci = std::env::var_os("CI").is_some_and(|ci| ci != "false");
    is_ci.then(|| chosen(root, pieces, makers))?
}

/// As [`of`], in CI and elsewhere.
fn chosen(root: &Path, pieces: Vec<Piece>, makers: &[&str]) -> Option<(BTreeSet<String>, String)> {
    let commit = commit(root).filter(|commit| !commit.has_changed(makers))?;
    let all = pieces.len();
    let chosen = commit.share(pieces, SHARES);
    let words =
        format!("{} of {all}: what {} has changed, and the share that its hash picks", chosen.len(), commit.short());
    Some((chosen, words))
}

/// What a test does of pieces that are chapters, labs or exercises: what the commit has changed and a share of the rest, and it says so
/// where the test harness shows it; everything where `COURSE_ALL` is set, without git, and where one of `makers` has changed.
///
/// # Panics
/// If none is chosen: the test would prove nothing.
pub fn for_test(what: &str, root: &Path, pieces: Vec<Piece>, makers: &[&str]) -> BTreeSet<String> {
    let all = pieces.iter().map(|piece| piece.name.clone()).collect();
    let takes_share = std::env::var_os("COURSE_ALL").is_none();
    let Some((chosen, words)) = takes_share.then(|| chosen(root, pieces, makers)).flatten() else { return all };
    // What `println` says of a test that passes is not shown.
    let _ = writeln!(std::io::stderr(), "{what}: {words}");
    assert!(!chosen.is_empty(), "{what}: none is in the share");
    chosen
}

/// The pieces in shares of much the same weight: the heaviest first, each to the share that has least.
fn dealt(mut pieces: Vec<Piece>, shares: usize) -> Vec<Vec<Piece>> {
    pieces.sort_by(|a, b| b.weight.cmp(&a.weight).then_with(|| a.name.cmp(&b.name)));
    let mut dealt = vec![Vec::new(); shares];
    let mut weights = vec![0; shares];
    for piece in pieces {
        let least = (0..shares).min_by_key(|&i| weights[i]).unwrap_or(0);
        weights[least] += piece.weight;
        dealt[least].push(piece);
    }
    dealt
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(weights: &[u64]) -> Vec<Piece> {
        let piece =
            |(i, &weight)| Piece { name: format!("k{i}"), weight, files: vec![format!("k{i}.cu"), format!("k{i}/")] };
        weights.iter().enumerate().map(piece).collect()
    }

    #[test]
    fn each_piece_is_in_one_share_and_the_shares_are_alike() {
        let shares = dealt(pieces(&[10, 90, 20, 80, 30, 100, 40, 70]), 4);
        let names = |share: &Vec<Piece>| share.iter().map(|piece| piece.name.clone()).collect::<Vec<_>>().join(" ");
        assert_eq!(shares.iter().map(names).collect::<Vec<_>>(), ["k5 k0", "k1 k2", "k3 k4", "k7 k6"]);
    }

    #[test]
    fn every_piece_is_picked_by_a_commit_and_a_changed_one_by_each() {
        let mut picked = Vec::new();
        for hash in ["0", "1", "2", "3"] {
            let commit = Commit::made(hash, &["k3/data.json", "k1.cu", "k10.cu"]);
            let chosen = commit.share(pieces(&[4, 3, 2, 1]), 4);
            assert!(chosen.contains("k1") && chosen.contains("k3"), "{chosen:?}");
            picked.extend(chosen);
        }
        picked.sort();
        assert_eq!(picked, ["k0", "k1", "k1", "k1", "k1", "k2", "k3", "k3", "k3", "k3"]);
    }
}
