//! The labs of the built pages in a browser: they open, step, play and go back, by mouse and by keyboard, in both themes and at two
//! widths; and what the page's engine counts is what the native simulator counts.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use course::lessons::lessons;
use course::{chromium, labs};
use serde_json::{Value, json};

use super::{Scene, Verdict, built_site};
use crate::labs::told;

/// Folder of the script and its npm packages.
pub const FOLDER: &str = "crates/web/browser";
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
    let browser = match browser(scene)? {
        Ok(browser) => browser,
        Err(skip) => return Ok(skip),
    };
    let folder = scene.root.join(FOLDER);
    let pictures = scene.root.join("target/gate/labs");
    std::fs::create_dir_all(&pictures).with_context(|| format!("cannot make `{}`", pictures.display()))?;
    let expected = pictures.join("expected.json");
    std::fs::write(&expected, expectations(&scene.root)?.to_string()).context("cannot write what is expected")?;
    let output = Command::new("node")
        .arg(folder.join("labs.mjs"))
        .args([&built_site(scene)?, &expected, &browser, &pictures])
        .output()
        .context("cannot run node")?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        bail!("{}{}", said, if said.is_empty() { String::from_utf8_lossy(&output.stderr) } else { "".into() });
    }
    let summary: Value = serde_json::from_slice(&output.stderr).context("the script ends with a summary")?;
    let [views, runs, receipts] = ["views", "runs", "receipts"].map(|key| &summary[key]);
    Ok(Verdict::Pass(format!(
        "{views} views, {runs} runs like the native ones, {receipts} sums traced to their inputs"
    )))
}

/// Chromium, with what drives it in place; else the verdict that says what is missing.
pub fn browser(scene: &Scene) -> Result<Result<PathBuf, Verdict>> {
    let Some(browser) = chromium::find() else {
        return missing(scene, "Chromium", "install it, or name one with CHROME").map(Err);
    };
    if Command::new("node").arg("--version").output().is_err() {
        return missing(scene, "Node", "install nodejs").map(Err);
    }
    let folder = scene.root.join(FOLDER);
    if !folder.join("node_modules/playwright-core").is_dir() {
        let install = Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(&folder).output();
        if !install.as_ref().is_ok_and(|output| output.status.success()) {
            return missing(scene, "playwright-core", &format!("`npm ci` in {FOLDER}")).map(Err);
        }
    }
    Ok(Ok(browser))
}

fn missing(scene: &Scene, what: &str, how: &str) -> Result<Verdict> {
    if scene.is_ci {
        bail!("no {what}, and CI looks at the labs: {how}");
    }
    Ok(Verdict::Skip(format!("no {what} on this machine: {how}")))
}

/// For each lesson, what the native simulator says of each variant: a small case that is drawn, and the largest, which is not.
fn expectations(root: &Path) -> Result<Value> {
    let mut pages = Vec::new();
    for lesson in lessons() {
        let (data, _) = labs::of(lesson, root)?;
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
    let request = labs::request(&variant["ptx"], case, schedule);
    let answer = told(slug, &web::answer(request.to_string().as_bytes()))?;
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
        "result": answer["outputs"][result][0],
        "steps": launches[shown]["trace"]["steps"],
    }))
}
