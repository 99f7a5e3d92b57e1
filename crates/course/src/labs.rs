//! What the labs of the pages are made of: each chapter's kernels as PTX, its source, and how every variant is launched for the
//! sizes that a lab offers, from the same plans that the chapter's program runs.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use lab::{Arg, Chapter, LaunchOptions, Pass, Plan, Problem, Type, Variant};
use serde_json::{Value, json};

/// Sizes that a lab offers: small ones to look at, ragged ones, and one to run.
const SIZES: [u64; 12] = [32, 64, 100, 128, 256, 512, 1000, 1024, 2048, 4096, 16_384, 1 << 20];
/// Block sizes that a lab offers, of those that a variant takes.
const BLOCKS: [u32; 6] = [32, 64, 128, 256, 512, 1024];
/// Blocks of a grid that a lab offers besides what the plan itself takes, where the variant leaves the choice.
const GRIDS: [u32; 2] = [2, 4];
/// Inputs of so many elements are digits from 1 to 9, which a reader can add up; longer ones are `hash8`.
pub const DIGITS_MAX: u64 = 4096;

/// What a lab shows before anybody touches it.
pub struct Opening {
    /// The chapter's slug.
    pub slug: &'static str,
    /// Name of the variant.
    pub variant: &'static str,
    /// Elements.
    pub n: u64,
    /// Threads a block.
    pub block: u32,
    /// Blocks, where that is the reader's choice.
    pub grid: Option<u32>,
    /// As `simt run --schedule` takes it.
    pub schedule: &'static str,
}

/// Of each chapter, a run with something to see. A chapter that is not here opens with its first variant.
const OPENINGS: [Opening; 8] = [
    opening("ch01-naive", "interleaved_modulo", 128, 128),
    opening("ch02-divergence", "strided_index", 128, 128),
    opening("ch03-sequential", "sequential", 128, 128),
    opening("ch04-first-add", "first_add", 256, 128),
    opening("ch05-unroll", "unroll_volatile", 256, 128),
    opening("ch06-templates", "template_shuffle", 256, 128),
    opening("ch07-coarsening", "coarsened", 1024, 64),
    Opening { grid: Some(4), ..opening("ch08-cooperative", "last_block", 512, 64) },
];

const fn opening(slug: &'static str, variant: &'static str, n: u64, block: u32) -> Opening {
    Opening { slug, variant, n, block, grid: None, schedule: "independent" }
}

/// One way to launch a variant: every pass, and the arrays that it needs.
pub struct Case {
    /// Elements.
    pub n: u64,
    /// Threads a block that were asked for.
    pub block: u32,
    /// Blocks that were asked for.
    pub grid: Option<u32>,
    /// The launches.
    pub plan: Plan,
}

impl Case {
    /// The case, if the variant has it.
    pub fn new(variant: &Variant, ty: Type, n: u64, options: LaunchOptions) -> Option<Case> {
        let plan = Plan::new(&Problem::new(variant, ty, n, options)).ok()?;
        let block = options.block.unwrap_or(variant.blocks.default);
        (!plan.passes.is_empty()).then_some(Case { n, block, grid: options.grid, plan })
    }

    /// Buffers of a request to `crates/web`, the input first, without elements that are given one by one.
    pub fn buffers(&self, ty: Type) -> Vec<String> {
        let ty = ty.name();
        // Nothing has written the arrays of sums yet, and a kernel that reads them too early is told so.
        let sums = self.plan.sums.iter().enumerate().map(|(i, len)| format!("sums{i}={ty}[{len}]:zero(0)"));
        let state = (self.plan.state_words > 0).then(|| format!("state=u64[{}]:zero", self.plan.state_words));
        std::iter::once(format!("in={ty}[{}]:hash8", self.n)).chain(sums).chain(state).collect()
    }

    /// Launches of a request.
    pub fn launches(&self) -> Vec<Value> {
        self.plan.passes.iter().map(launch).collect()
    }

    /// Name of the array whose first element is the result.
    pub fn result(&self) -> String {
        format!("sums{}:1", self.plan.sums.len().saturating_sub(1))
    }

    /// The pass that a lab shows: the first of the widest, not one that clears a word.
    fn shown(&self) -> usize {
        let threads = |pass: &Pass| u64::from(pass.grid()) * u64::from(pass.block());
        let most = self.plan.passes.iter().map(threads).max();
        self.plan.passes.iter().position(|pass| Some(threads(pass)) == most).unwrap_or(0)
    }

    fn json(&self) -> Value {
        json!({
            "n": self.n, "block": self.block, "grid": self.grid, "shown": self.shown(),
            "buffers": self.buffers(Type::I32), "launches": self.launches(), "result": self.result(),
        })
    }
}

/// A pass as a launch of a request.
pub fn launch(pass: &Pass) -> Value {
    let arg = |(place, arg): (usize, &Arg)| match arg {
        Arg::Input => format!("a{place}=&in"),
        Arg::Sums(i) => format!("a{place}=&sums{i}"),
        Arg::State => format!("a{place}=&state"),
        Arg::U32(number) => format!("a{place}=u32:{number}"),
        Arg::U64(number) => format!("a{place}=u64:{number}"),
    };
    let mut launch = json!({
        "kernel": pass.kernel,
        "grid": pass.geometry.grid,
        "block": pass.geometry.block,
        "args": pass.args.iter().enumerate().map(arg).collect::<Vec<_>>(),
    });
    if pass.geometry.cooperative {
        launch["cooperative"] = true.into();
    }
    if pass.geometry.cluster > 1 {
        launch["cluster"] = json!([pass.geometry.cluster, 1, 1]);
    }
    launch
}

/// The opening of a chapter's lab: the one in the list, else the first variant with a few hundred elements.
fn opening_of(chapter: &Chapter) -> Result<Opening> {
    if let Some(known) = OPENINGS.into_iter().find(|known| known.slug == chapter.slug) {
        return Ok(known);
    }
    let of_integers = |variant: &&Variant| variant.types.contains(&Type::I32);
    let variant = chapter.variants.iter().find(of_integers);
    let variant = variant.with_context(|| format!("{}: no variant takes i32, which labs sum", chapter.slug))?;
    let cases = cases(variant);
    let case = cases.iter().find(|case| case.n >= 256).or(cases.first());
    let case = case.with_context(|| format!("{} {}: takes no size that labs offer", chapter.slug, variant.name))?;
    Ok(Opening { grid: case.grid, ..opening(chapter.slug, variant.name, case.n, case.block) })
}

/// Element `i` of an input that readers add up in their heads.
pub fn digit(i: u64) -> u64 {
    1 + u64::from((i as u32).wrapping_mul(2_654_435_761) >> 24) % 9
}

/// A chapter's lab: the data of the page, and the request of its opening.
pub fn of(chapter: &Chapter, root: &Path) -> Result<(Value, Value)> {
    let opening = opening_of(chapter)?;
    let mut files = serde_json::Map::new();
    let mut variants = Vec::new();
    let mut first = None;
    for variant in chapter.variants.iter().filter(|variant| variant.types.contains(&Type::I32)) {
        let slug = variant.kernels.unwrap_or(chapter.slug);
        let cases = cases(variant);
        if variant.name == opening.variant {
            first = cases
                .iter()
                .position(|case| (case.n, case.block, case.grid) == (opening.n, opening.block, opening.grid));
            let at = first.with_context(|| format!("{}: the lab's opening is no case that it has", chapter.slug))?;
            first = Some(at);
        }
        let kernels: BTreeSet<&str> =
            cases.iter().flat_map(|case| &case.plan.passes).map(|pass| pass.kernel.as_str()).collect();
        let name = format!("kernels/ptx/{slug}.ptx");
        let ptx = std::fs::read_to_string(root.join(&name)).with_context(|| format!("cannot read `{name}`"))?;
        let source = format!("kernels/{slug}.cu");
        if !files.contains_key(&source) {
            let text =
                std::fs::read_to_string(root.join(&source)).with_context(|| format!("cannot read `{source}`"))?;
            files.insert(source.clone(), text.replace("\r\n", "\n").into());
        }
        variants.push(json!({
            "name": variant.name, "idea": variant.idea, "limit": variant.limit, "source": source,
            "announced": variant.announced.map(|code| code.name()), "harm": variant.harm,
            "ptx": { "name": name, "text": only(&ptx, &kernels) },
            "cases": cases.iter().map(Case::json).collect::<Vec<_>>(),
        }));
    }
    let variant =
        variants.iter().find(|variant| variant["name"] == opening.variant).context("the opening's variant")?;
    let request = request(&variant["ptx"], &variant["cases"][first.unwrap_or(0)], opening.schedule);
    let data = json!({
        "slug": chapter.slug, "title": chapter.title, "files": files, "variants": variants,
        "opening": { "variant": opening.variant, "n": opening.n, "block": opening.block, "grid": opening.grid,
            "schedule": opening.schedule },
    });
    Ok((data, request))
}

/// What the page asks of the engine for one case; it builds the same request itself.
pub fn request(ptx: &Value, case: &Value, schedule: &str) -> Value {
    let mut buffers = case["buffers"].clone();
    let n = case["n"].as_u64().unwrap_or(0);
    if n <= DIGITS_MAX {
        buffers[0] = json!({ "spec": buffers[0], "elements": (0..n).map(digit).collect::<Vec<_>>() });
    }
    json!({
        "ptx": [ptx], "buffers": buffers, "launches": case["launches"], "schedule": schedule,
        "outputs": [case["result"]], "trace": { "launch": case["shown"], "blocks": 8 },
    })
}

/// Every case of a variant that a lab offers.
fn cases(variant: &Variant) -> Vec<Case> {
    let grids = || std::iter::once(None).chain(GRIDS.map(Some).into_iter().filter(|_| variant.chooses_grid));
    let mut cases: Vec<Case> = Vec::new();
    for n in SIZES {
        for block in BLOCKS {
            for grid in grids() {
                let options = LaunchOptions { grid, ..LaunchOptions::block(block) };
                // A grid that the plan takes by itself is no choice of its own.
                let new = Case::new(variant, Type::I32, n, options)
                    .filter(|case| case.grid.is_none() || cases.last().is_none_or(|last| last.plan != case.plan));
                cases.extend(new);
            }
        }
    }
    cases
}

/// The PTX without the entries that nobody launches.
pub fn only(ptx: &str, kernels: &BTreeSet<&str>) -> String {
    let mut text = String::with_capacity(ptx.len() / 4);
    let mut is_kept = true;
    for line in ptx.lines() {
        if let Some((_, rest)) = line.split_once(".entry ") {
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_' || *c == '$').collect();
            is_kept = kernels.contains(name.as_str());
        }
        if is_kept && !line.trim().is_empty() {
            text += line;
            text.push('\n');
        }
        // An entry ends with a brace in the first column.
        is_kept |= line.starts_with('}');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lessons::lessons;
    use crate::workspace;

    /// Names of the entries of some PTX.
    fn entries(ptx: &str) -> BTreeSet<&str> {
        let names = ptx.lines().filter_map(|line| Some(line.split_once(".entry ")?.1.trim_end_matches(['(', ' '])));
        names.collect()
    }

    #[test]
    fn every_lesson_has_a_lab_whose_opening_can_be_run() {
        let root = workspace::root().unwrap();
        assert!(!lessons().is_empty());
        for lesson in lessons() {
            let (data, request) = of(lesson, &root).unwrap_or_else(|error| panic!("{}: {error:#}", lesson.slug));
            assert!(!request["launches"].as_array().unwrap().is_empty());
            for variant in data["variants"].as_array().unwrap() {
                let name = variant["name"].as_str().unwrap();
                let ptx = variant["ptx"]["text"].as_str().unwrap();
                let program = entries(ptx);
                for case in variant["cases"].as_array().unwrap() {
                    for launch in case["launches"].as_array().unwrap() {
                        let kernel = launch["kernel"].as_str().unwrap();
                        assert!(program.contains(&kernel), "{name}: {kernel} is left out");
                    }
                }
            }
        }
    }

    #[test]
    fn entries_that_nobody_launches_are_left_out() {
        let ptx = ".version 8.1\n.visible .entry a(\n)\n{\nret;\n}\n\n.visible .entry ab(\n)\n{\nexit;\n}\n.file 1\n";
        let kept = only(ptx, &BTreeSet::from(["ab"]));
        assert_eq!(kept, ".version 8.1\n.visible .entry ab(\n)\n{\nexit;\n}\n.file 1\n");
    }
}
