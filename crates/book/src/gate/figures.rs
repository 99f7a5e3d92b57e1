//! The labs of the built pages in a browser: they open, step, play and go back, by mouse and by keyboard, in both themes and at two
//! widths; and what the page's engine counts is what the native simulator counts.

use std::path::Path;

use anyhow::{Context, Result};
use course::figures;
use course::lessons::lessons;
use serde_json::{Value, json};

use super::browser::{self, Found};
use super::{Scene, Verdict, built_site};
use crate::figures::parse_answer;

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

/// Runs the check.
pub fn check(scene: &Scene) -> Result<Verdict> {
    let chromium = match browser::find(scene)? {
        Found::Browser(chromium) => chromium,
        Found::Missing(verdict) => return Ok(verdict),
    };
    let pictures = scene.root.join("target/gate/labs");
    std::fs::create_dir_all(&pictures).with_context(|| format!("cannot make `{}`", pictures.display()))?;
    let expected = pictures.join("expected.json");
    std::fs::write(&expected, expectations(&scene.root)?.to_string()).context("cannot write what is expected")?;
    let summary = browser::run(scene, "labs.mjs", &[&built_site(scene)?, &expected, &chromium, &pictures])?;
    let [views, runs, receipts, sentences] = ["views", "runs", "receipts", "sentences"].map(|key| &summary[key]);
    Ok(Verdict::Pass(format!(
        "{views} views, {runs} runs like the native ones, {receipts} sums traced to their inputs, {sentences} sentences held against the steps"
    )))
}

/// For each lesson, what the native simulator says of each variant: a small case that is drawn, and the largest, which is not.
fn expectations(root: &Path) -> Result<Value> {
    let mut pages = Vec::new();
    for lesson in lessons() {
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
