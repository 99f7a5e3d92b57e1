//! The labs of the built pages in a browser: they open, step, play and go back, by mouse and by keyboard, in both themes and at two
//! widths; and what the page's engine counts is what the native simulator counts.

use std::path::Path;

use anyhow::{Context, Result, bail};
use course::figures;
use course::lessons::{self, lessons};
use course::share;
use serde_json::{Value, json};

use super::browser;
use super::{Scene, Verdict, built_site};
use crate::figures::{parse_answer, piece};

/// Names of the figure's counts, and the counters that make each.
const COUNTS: [(&str, &[&str]); 6] = [
    (
        "passes",
        &[
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
        ],
    ),
    (
        "conflicts",
        &[
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
        ],
    ),
    ("sectors", &["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]),
    ("barriers", &["barriers"]),
    ("shuffles", &["shuffles"]),
    ("instructions", &["ptx_inst_executed"]),
];

/// What each lab's views are made of: with another of these, every lab is looked at.
const MAKERS: [&str; 2] = ["crates/web/browser/labs.mjs", "crates/web/src/"];
/// Pages with a lab or a film beside those of the chapters.
const MORE: [&str; 3] = ["champion", "first-kernel", "introduction"];

/// Runs the check. In CI it looks at the labs that the commit has changed, and at a share of the others.
pub fn check(scene: &Scene, chromium: &Path) -> Result<Verdict> {
    let all: Vec<&str> = lessons::slugs().chain(MORE).collect();
    let pieces = all.iter().map(|slug| piece(&scene.root, slug)).collect();
    let share = share::of(&scene.root, pieces, &MAKERS);
    let words = share.as_ref().map_or_else(String::new, |(_, words)| format!("labs {words}; "));
    let is_chosen = |slug: &str| share.as_ref().is_none_or(|(chosen, _)| chosen.contains(slug));
    let pictures = scene.root.join("target/gate/labs");
    std::fs::create_dir_all(&pictures).with_context(|| format!("cannot make `{}`", pictures.display()))?;
    let expected = pictures.join("expected.json");
    let cases = expectations(&scene.root, is_chosen)?;
    std::fs::write(&expected, cases.to_string()).context("cannot write what is expected")?;
    let site = built_site(&scene.root)?;
    let chosen = all.into_iter().filter(|slug| is_chosen(slug)).map(Path::new);
    let args: Vec<&Path> = [site.as_path(), &expected, chromium, &pictures].into_iter().chain(chosen).collect();
    let summary = browser::run(scene, "labs.mjs", &args)?;
    let [views, runs, receipts, sentences] = ["views", "runs", "receipts", "sentences"].map(|key| &summary[key]);
    if views == 0 {
        bail!("no lab was looked at: nothing was proved");
    }
    Ok(Verdict::Pass(format!(
        "{words}{views} views, {runs} runs like the native ones, {receipts} sums traced to their inputs, {sentences} sentences held against the steps"
    )))
}

/// For each chosen lesson, what the native simulator says of each variant: a small case that is drawn, and the largest, which is not.
fn expectations(root: &Path, is_chosen: impl Fn(&str) -> bool) -> Result<Value> {
    let mut pages = Vec::new();
    for lesson in lessons().into_iter().filter(|lesson| is_chosen(lesson.slug)) {
        let (data, _) = figures::of(lesson, root)?;
        let mut cases = Vec::new();
        for variant in data["variants"].as_array().context("variants")? {
            let all = variant["cases"].as_array().context("cases")?;
            let ragged = all.iter().find(|case| case["n"] == 100);
            for (case, schedule) in ragged
                .map(|case| (case, "independent:5"))
                .into_iter()
                .chain(all.last().map(|case| (case, "independent")))
            {
                cases.push(expectation(lesson.slug, variant, case, schedule)?);
            }
        }
        pages.push(json!({ "slug": lesson.slug, "cases": cases }));
    }
    Ok(pages.into())
}

fn expectation(slug: &str, variant: &Value, case: &Value, schedule: &str) -> Result<Value> {
    let request = figures::request(&variant["ptx"], case, schedule);
    let answer = parse_answer(slug, &web::answer(request.to_string().as_bytes()))?;
    let launches = answer["launches"].as_array().context("launches")?;
    let sum = |keys: &[&str]| -> u64 {
        let of = |launch: &Value| keys.iter().filter_map(|key| launch["counters"][key].as_u64()).sum::<u64>();
        launches.iter().map(of).sum()
    };
    let counts: serde_json::Map<String, Value> =
        COUNTS.iter().map(|(name, keys)| ((*name).to_owned(), sum(keys).into())).collect();
    let result = case["result"].as_str().and_then(|name| name.split(':').next()).context("a result")?;
    let shown = case["shown"].as_u64().unwrap_or(0) as usize;
    let grid = case["grid"].as_u64().map_or_else(String::new, |grid| format!("&g={grid}"));
    Ok(json!({
        "hash": format!("#lab={slug}&v={}&n={}&b={}{grid}&s={schedule}&at=end", variant["name"].as_str().unwrap_or(""), case["n"], case["block"]),
        "counts": counts,
        // Rows and columns have all their results here.
        "result": if case.get("of").is_some() { &answer["outputs"][result] } else { &answer["outputs"][result][0] },
        "steps": launches[shown]["trace"]["steps"],
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use course::workspace;

    #[test]
    fn every_lab_of_a_chapter_has_weight_and_sources() {
        let root = workspace::root().unwrap();
        for slug in lessons::slugs() {
            let piece = piece(&root, slug);
            assert!(piece.weight > 0, "{slug} has no data");
            assert!(piece.files.contains(&format!("kernels/{slug}")), "{:?}", piece.files);
        }
        for page in MORE {
            assert!(root.join(format!("book/src/{page}.md")).is_file(), "{page} is gone");
        }
        for maker in MAKERS {
            assert!(root.join(maker).exists(), "{maker} is gone");
        }
    }
}
