//! The course-wide results: the generated part of the results page, whether its record is of today's kernels, and the report
//! that `cargo course measure` leaves for a reader's own card.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lab::measurement::{self, Measurement};
use report::ContestTable;

use crate::findings::Findings;
use crate::lessons::lessons;
use crate::workspace;

/// Folder of the generated part of the results page, under the generated files.
pub const FOLDER: &str = "results";

/// Name and text of each file in [`FOLDER`].
pub fn fragments(root: &Path) -> Result<Vec<(String, String)>> {
    report::book(root, &lessons()).context("cannot write up the measurements")
}

/// Name, with the chapter's folder, and text of each file that comes from a chapter's own contest.
pub fn contests(root: &Path) -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for table in ContestTable::all(root)? {
        let Some(lesson) = lessons().into_iter().find(|lesson| lesson.slug == table.chapter) else { continue };
        let of_chapter = report::chapter_contest(&table, lesson, root)?.into_iter();
        files.extend(of_chapter.map(|(name, text)| (format!("{}/{name}", table.chapter), text)));
    }
    Ok(files)
}

/// Every committed record of `cargo course measure` says which kernels it is of; where they have changed since is noted.
pub fn records(root: &Path, findings: &mut Findings) -> Result<()> {
    let folder = root.join("measurements");
    // Tables of others, and the library's own record, which has another form.
    let others = ["quoted", "library"].map(|name| folder.join(name));
    let is_json = |file: &PathBuf| file.extension().is_some_and(|ext| ext == "json");
    let is_record = |file: &PathBuf| is_json(file) && !others.iter().any(|other| file.starts_with(other));
    for file in workspace::walk(&folder)?.into_iter().filter(is_record) {
        findings.examined += 1;
        let name = workspace::name(root, &file);
        match measurement::read(&file) {
            Ok(record) => {
                findings.problems.extend(record.nameless().into_iter().map(|why| format!("{name}: {why}")));
                findings.notes.extend(record.stale(root)?.into_iter().map(|why| format!("{name}: {why}")));
            }
            Err(error) => findings.problems.push(error.to_string()),
        }
    }
    Ok(())
}

/// Writes a reader's own charts, and a page that shows them beside the book's, into `folder`. Gives the page's path.
pub fn write_reader(record: &Measurement, folder: &Path) -> Result<PathBuf> {
    // The program may have been carried to a machine without the checkout; then there is no record to compare with.
    let books = workspace::root().ok().and_then(|root| measurement::load(&root, report::BOOKS).ok()).flatten();
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    // The charts are of sums, from chapter to chapter; a chapter beside that ladder has a contest of its own, and no chart.
    let mut sums = record.clone();
    let is_beside = |slug: &str| lessons().iter().any(|lesson| lesson.slug == slug && !lesson.is_rung);
    sums.cases.retain(|case| !case.chapter.as_deref().is_some_and(is_beside));
    let files = report::report(&sums, books.as_ref(), &lessons()).context("cannot draw the charts")?;
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    Ok(folder.join("index.html"))
}

#[cfg(test)]
mod tests {
    use lab::measurement::MeasuredCase;

    use super::*;

    fn record() -> Measurement {
        serde_json::from_str(
            r#"{"schema": 2, "device": "A GPU", "arch": "sm_80", "date": "2026-01-02T03:04:05Z", "command": "c",
                "method": "m", "commit": "0123456", "kernels": {"a_i32": "0"}, "cases": [{"chapter": "ch01-naive",
                "contest": "alone", "entrant": "interleaved_modulo", "op": "sum", "type": "i32", "n": 1024,
                "kernels": ["a_i32"], "cold_us": 2.0, "ok": true}]}"#,
        )
        .unwrap()
    }

    #[test]
    fn a_record_of_other_kernels_is_noted() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| lab::record::write(&dir.path().join(name), text).unwrap();
        put("kernels/ch01-naive.cu", "");
        put("kernels/ptx/ch01-naive.ptx", ".entry a_i32() { ret; }");
        put("measurements/quoted/table.json", "{}");
        measurement::save(&record(), &dir.path().join("measurements/gpu.json")).unwrap();
        let mut findings = Findings::new("records");
        records(dir.path(), &mut findings).unwrap();
        assert_eq!(findings.examined, 1);
        put("measurements/old.json", r#"{"schema": 1}"#);
        let mut both = Findings::new("records");
        records(dir.path(), &mut both).unwrap();
        assert!(both.problems.iter().any(|problem| problem.ends_with("measure again")), "{:?}", both.problems);
        let note = "measurements/gpu.json: ch01-naive: 1 row has times of commit 0123456, before `a_i32` changed";
        assert_eq!((findings.problems, findings.notes), (vec![], vec![note.to_owned()]));
    }

    #[test]
    fn a_reader_gets_charts_and_a_page() {
        let dir = tempfile::tempdir().unwrap();
        let mut both = record();
        let of_norms = MeasuredCase {
            chapter: Some("ch12-norms".to_owned()),
            entrant: measurement::ENTRANT.to_owned(),
            cold_us: Some(777.0),
            ..both.cases[0].clone()
        };
        both.cases.push(of_norms);
        let page = write_reader(&both, &dir.path().join("new/folder")).unwrap();
        let text = std::fs::read_to_string(&page).unwrap();
        assert!(!text.contains(">777<"), "another contest's times are no sums");
        assert!(text.contains("<h1>A GPU</h1>") && text.contains("1. The naive sums"), "{text}");
        assert!(page.with_file_name("ladder.svg").is_file());
    }
}
