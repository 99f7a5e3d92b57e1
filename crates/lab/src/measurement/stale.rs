//! Rows of a record whose kernels have changed since.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{CUB, LIGER, MeasuredCase, Measurement, QUACK, TORCH};
use crate::error::Result;
use crate::kernels;

/// A chapter, and the commit of its kernels.
type Measured<'c> = (&'c str, Option<&'c str>);

/// Files of kernels that are measured with.
const MEASURED_WITH: [&str; 4] = ["ceiling", "copying", "latencies", "proofs"];

impl Measurement {
    /// Commit of the stale cases: their own where all name the same one, else the record's.
    pub fn stale_commit(&self) -> Option<&str> {
        let mut own = self.cases.iter().filter(|case| case.is_stale).map(|case| case.commit.as_deref());
        let first = own.next().flatten();
        first.filter(|_| own.all(|commit| commit == first)).or(self.commit.as_deref())
    }

    /// Why some of it is of other kernels than today's: a sentence for each chapter that has such cases, and one for what is
    /// measured with: launches, ceilings, latencies and proofs.
    ///
    /// # Errors
    /// PTX that cannot be read.
    pub fn stale(&self, root: &Path) -> Result<Vec<String>> {
        let now = kernels::today(root)?;
        let mut chapters: BTreeMap<Measured<'_>, (usize, Vec<&str>)> = BTreeMap::new();
        for case in &self.cases {
            let changed = kernels::changed(&case.kernels, &self.kernels, &now);
            if !changed.is_empty() {
                let commit = case.commit.as_deref().or(self.commit.as_deref());
                let (rows, names) =
                    chapters.entry((case.chapter.as_deref().unwrap_or("no chapter"), commit)).or_default();
                *rows += 1;
                names.extend(changed);
            }
        }
        let mut with: Vec<String> = Vec::new();
        // Where nothing is held against copying, it does not matter how that is done.
        for slug in MEASURED_WITH.into_iter().filter(|slug| *slug != "copying" || !self.copy_ceiling.is_empty()) {
            with.extend(kernels::file_hashes(root, slug)?.into_keys().filter(|name| self.kernels.contains_key(name)));
        }
        let changed = kernels::changed(&with, &self.kernels, &now);
        let commit = self.commit.as_deref();
        let of_chapter = |((slug, commit), (rows, names)): (Measured<'_>, (usize, Vec<&str>))| {
            format!("{slug}: {}", kernels::reason(&names, rows, commit))
        };
        let mut stale: Vec<String> = chapters.into_iter().map(of_chapter).collect();
        stale.extend(
            (!changed.is_empty())
                .then(|| format!("what is measured with: {}", kernels::reason(&changed, changed.len(), commit))),
        );
        Ok(stale)
    }

    /// What keeps the record from being judged: cases of ours that do not say which kernels they launched, a line each chapter.
    pub fn nameless(&self) -> Vec<String> {
        let is_library =
            |name: &str| name.starts_with(CUB) || name.starts_with(TORCH) || [LIGER, QUACK].contains(&name);
        let is_nameless =
            |case: &&MeasuredCase| case.kernels.is_empty() && case.us().is_some() && !is_library(&case.entrant);
        let slugs: BTreeSet<&str> =
            self.cases.iter().filter(is_nameless).filter_map(|case| case.chapter.as_deref()).collect();
        slugs.into_iter().map(|slug| format!("{slug}: has times that do not say of which kernels they are")).collect()
    }
}
