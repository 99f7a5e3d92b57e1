//! Data of the labs of the pages: each chapter's kernels as PTX, its source, and how every variant is launched for the
//! sizes that a lab offers, from the same plans that the chapter's program runs.

pub mod devices;
mod example;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::lessons::lessons;
use crate::residency;
use anyhow::{Context, Result, anyhow};
use device::KernelSource;
use lab::{Arg, Chapter, LaunchOptions, Layout, Offsets, Op, Pass, Per, Planned, Problem, Type, Variant};
use serde_json::{Value, json};

/// Sizes that a lab offers: small ones to look at, ragged ones, and one to run.
const SIZES: [u64; 12] = [32, 64, 100, 128, 256, 512, 1000, 1024, 2048, 4096, 16_384, 1 << 20];
/// Types and operators that a lab offers beside the sum of integers. A word of memory is a cell of its picture, so that doubles,
/// which take two, are left out.
const KINDS: [(Type, Op); 3] = [(Type::F32, Op::Sum), (Type::I32, Op::Min), (Type::I32, Op::Max)];
/// Elements of ragged rows at most: their offsets are listed one by one, and a page may have 600 KB.
const RAGGED_N_MAX: u64 = 16_384;
/// Block sizes that a lab offers, of those that a variant takes.
const BLOCKS: [u32; 6] = [32, 64, 128, 256, 512, 1024];
/// Elements whose exponentials a page checks, at most.
const EXPONENTIALS_MAX: u64 = 4096;
/// Elements from which on blocks that send each other messages are worth a look.
const MESSAGES_N_MIN: u64 = 4096;
/// Blocks of a grid that a lab offers besides what the plan itself takes, where the variant leaves the choice.
const GRIDS: [u32; 2] = [2, 4];
/// Blocks whose steps a lab records: as many as a launch that it draws has at most.
const BLOCKS_MAX: u32 = 256;
/// Inputs of so many elements are digits from 1 to 9, which a reader can add up; longer ones are `hash8`.
pub const DIGITS_MAX: u64 = 4096;

/// First view of a lab.
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
    /// Schedule, written as for `simt run --schedule`.
    pub schedule: &'static str,
    /// The moment, as a link names it; otherwise the lab finds one with something to see.
    pub at: Option<&'static str>,
}

/// One run of each chapter with something to see. A chapter that is not here opens with its first variant.
const OPENINGS: [Opening; 13] = [
    opening("ch01-naive", "interleaved_modulo", 128, 128),
    opening("ch02-divergence", "strided_index", 128, 128),
    opening("ch03-sequential", "sequential", 128, 128),
    opening("ch04-first-add", "first_add", 256, 128),
    opening("ch05-unroll", "unroll_volatile", 256, 128),
    opening("ch06-templates", "template_shuffle", 256, 128),
    opening("ch07-coarsening", "coarsened", 1024, 64),
    Opening { grid: Some(4), ..opening("ch08-cooperative", "last_block", 512, 64) },
    // Not where a tie is settled: what each thread leaves there, two words, is a picture of more than the 120 KB that one may have,
    // and at the end of a run there is nothing more to step to.
    opening("ch09-operators", "fold", 512, 256),
    opening("ch10-rows", "thread_a_row", 2048, 256),
    opening("ch11-softmax", "softmax", 256, 256),
    opening("ch12-norms", "norm", 256, 256),
    // Where each lane has added its third number to a slot.
    Opening { at: Some("121"), ..opening("ch13-accuracy", "exact", 128, 32) },
];

/// Variants that a chapter's lab leaves out: a page may have 600 KB.
const LEFT_OUT: [(&str, &str); 1] = [("ch13-accuracy", "bins")];

const fn opening(slug: &'static str, variant: &'static str, n: u64, block: u32) -> Opening {
    Opening { slug, variant, n, block, grid: None, schedule: "independent", at: None }
}

/// A lab of a page that is no chapter: some of a chapter's kernels, and the moment that it opens on.
pub struct Page {
    /// Slug of the page.
    pub slug: &'static str,
    title: &'static str,
    chapter: &'static str,
    /// The kernels that it shows.
    entries: for<'c> fn(&'c Chapter) -> Result<Vec<Entry<'c>>>,
    /// Lines of a program that make the launch, if it is a program's.
    call: Option<fn(&Path) -> Result<String>>,
    opening: Opening,
    grain: &'static str,
}

/// Every page that is no chapter and has a lab.
pub const PAGES: [Page; 2] = [
    Page {
        slug: "champion",
        title: "The champion",
        chapter: "ch08-cooperative",
        entries: entries_of_champion,
        call: None,
        opening: Opening { grid: Some(4), at: Some("spin"), ..opening("champion", "single_pass_f32", 16_384, 256) },
        grain: "blocks",
    },
    Page {
        slug: example::SLUG,
        title: "In your own program",
        chapter: "ch08-cooperative",
        entries: example::entries,
        call: Some(example::lines),
        opening: example::OPENING,
        grain: "blocks",
    },
];

fn entries_of_champion(chapter: &Chapter) -> Result<Vec<Entry<'_>>> {
    Ok(entries(chapter).into_iter().filter(|entry| entry.variant.name.starts_with("single_pass")).collect())
}

/// One way to launch a variant: every pass, and the arrays that it needs, of which no record, or [`lab::Case`], tells.
pub struct Case {
    /// Elements.
    pub n: u64,
    /// Threads a block that were asked for.
    pub block: u32,
    /// Blocks that were asked for.
    pub grid: Option<u32>,
    /// The launches.
    pub plan: Planned,
    /// The number that each element is, where they are all alike.
    fill: Option<f64>,
}

impl Case {
    /// The case, if the variant has it.
    pub fn new(variant: &Variant, ty: Type, n: u64, options: LaunchOptions) -> Option<Case> {
        let plan = Planned::new(&Problem::new(variant, ty, n, options)).ok()?;
        let block = options.block.unwrap_or(variant.blocks.default);
        (!plan.passes.is_empty()).then_some(Case { n, block, grid: options.grid, plan, fill: None })
    }

    /// Buffers of a request to `crates/web`, the input first, without the elements of that.
    pub fn buffers(&self, ty: Type) -> Vec<Value> {
        let ty = ty.name();
        // The arrays of sums are unwritten so far, and a kernel that reads them too early gets a finding.
        let sums = self.plan.sums.iter().enumerate().map(|(i, len)| format!("sums{i}={ty}[{len}]:zero(0)"));
        let uses = |arg: Arg| self.plan.passes.iter().any(|pass| pass.args.contains(&arg));
        // A block that is alone is given the address of a state that it does not read.
        let state = uses(Arg::State).then(|| format!("state=u64[{}]:zero", self.plan.state_words.max(1)));
        let takes_two = uses(Arg::Other);
        let other = takes_two.then(|| format!("other={ty}[{}]:hash8", self.n));
        let input = self.fill.map_or_else(|| "hash8".to_owned(), |fill| format!("const({fill})"));
        let plain = std::iter::once(format!("in={ty}[{}]:{input}", self.n)).chain(other).chain(sums).chain(state);
        let mut buffers: Vec<Value> = plain.map(Value::from).collect();
        if let Layout::Ragged(offsets) = self.plan.layout {
            buffers.push(self::offsets(&offsets));
        }
        // Weights of 1 and biases of 0, so that what a reader sees is the element, and nothing else.
        let cols = self.plan.layout.size().map_or(0, |size| size.1);
        if uses(Arg::Weights) {
            buffers.push(json!({ "spec": format!("weights={ty}[{cols}]:zero"), "elements": vec![1; cols as usize] }));
        }
        if uses(Arg::Biases) {
            buffers.push(format!("biases={ty}[{cols}]:zero").into());
        }
        buffers
    }

    /// Launches of a request.
    pub fn launches(&self) -> Vec<Value> {
        self.plan.passes.iter().map(launch).collect()
    }

    /// Name of the array that begins with the result, or with one for each row, column or element, and how many.
    pub fn result(&self, op: Op) -> String {
        let count = if op.is_per_element() { self.n } else { self.plan.layout.values() };
        format!("sums{}:{count}", self.plan.sums.len().saturating_sub(1))
    }

    /// The pass that a lab shows: the first of the widest, not one that clears a word.
    fn shown(&self) -> usize {
        let threads = |pass: &Pass| u64::from(pass.grid()) * u64::from(pass.block());
        let most = self.plan.passes.iter().map(threads).max();
        self.plan.passes.iter().position(|pass| Some(threads(pass)) == most).unwrap_or(0)
    }

    /// Returns whether blocks wait for each other.
    fn waits(&self) -> bool {
        self.plan.passes.iter().any(|pass| pass.waits)
    }

    fn json(&self, ty: Type, op: Op) -> Value {
        let mut json = json!({
            "n": self.n, "block": self.block, "grid": self.grid, "shown": self.shown(),
            "buffers": self.buffers(ty), "launches": self.launches(), "result": self.result(op),
        });
        if let Some(fill) = self.fill {
            json["fill"] = fill.into();
        }
        lies(&mut json, &self.plan.layout);
        json
    }
}

/// The offsets of ragged rows as a buffer of a request.
pub fn offsets(offsets: &Offsets) -> Value {
    let spec = format!("offsets=u32[{}]:zero", offsets.rows() + 1);
    if offsets.at(offsets.rows()) == 0 {
        return spec.into();
    }
    json!({ "spec": spec, "elements": offsets.all().collect::<Vec<_>>() })
}

/// Says in a case what gets a value, where that is not the whole array.
pub fn lies(case: &mut Value, layout: &Layout) {
    if let (Some((of, _)), Some((rows, cols))) = (layout.of(), layout.size()) {
        case["of"] = of.into();
        case["rows"] = rows.into();
        case["cols"] = cols.into();
    }
}

/// A pass as a launch of a request.
pub fn launch(pass: &Pass) -> Value {
    let arg = |(place, arg): (usize, &Arg)| match arg {
        Arg::Input => format!("a{place}=&in"),
        Arg::Other => format!("a{place}=&other"),
        Arg::Sums(i) => format!("a{place}=&sums{i}"),
        Arg::Offsets => format!("a{place}=&offsets"),
        Arg::State => format!("a{place}=&state"),
        Arg::Weights => format!("a{place}=&weights"),
        Arg::Biases => format!("a{place}=&biases"),
        Arg::U32(number) => format!("a{place}=u32:{number}"),
        Arg::U64(number) => format!("a{place}=u64:{number}"),
        // No lab shows what has labels.
        _ => format!("a{place}=u64:0"),
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
    if pass.geometry.shared_bytes > 0 {
        launch["shared_bytes"] = pass.geometry.shared_bytes.into();
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
    let cases = cases(variant, Type::I32, Op::Sum);
    let case = cases.iter().find(|case| case.n >= 256).or(cases.first());
    let case = case.with_context(|| format!("{} {}: takes no size that labs offer", chapter.slug, variant.name))?;
    Ok(Opening { grid: case.grid, ..opening(chapter.slug, variant.name, case.n, case.block) })
}

/// Element `i` of an input that readers add up in their heads.
pub fn digit(i: u64) -> u64 {
    1 + u64::from((i as u32).wrapping_mul(2_654_435_761) >> 24) % 9
}

/// A chapter's lab: the data of the page, and the request of its opening.
///
/// # Errors
/// A file that cannot be read; an opening that is no case.
pub fn of(chapter: &Chapter, root: &Path) -> Result<(Value, Value)> {
    let all = lessons();
    // A chapter is most often compared with the one before it.
    let before = all.iter().position(|one| one.slug == chapter.slug).and_then(|at| all.get(at.checked_sub(1)?));
    let (mut data, request) = opened(chapter, &opening_of(chapter)?, entries(chapter), root)?;
    data["title"] = chapter.title.into();
    data["before"] = before.map(|before| json!({ "slug": before.slug, "title": before.title })).into();
    Ok((data, request))
}

/// The same of a page that is no chapter; what it is compared with are its chapter's other kernels.
///
/// # Errors
/// Those of [`of`].
pub fn page_lab(page: &Page, root: &Path) -> Result<(Value, Value)> {
    let lesson = lessons().into_iter().find(|lesson| lesson.slug == page.chapter);
    let lesson = lesson.with_context(|| format!("no chapter is called {}", page.chapter))?;
    let (mut data, request) = opened(lesson, &page.opening, (page.entries)(lesson)?, root)?;
    data["title"] = page.title.into();
    data["before"] = json!({ "slug": lesson.slug, "title": lesson.title });
    data["opening"]["grain"] = page.grain.into();
    if let Some(call) = page.call {
        data["call"] = call(root)?.into();
    }
    Ok((data, request))
}

/// The kernels, and the run that is opened.
fn opened(chapter: &Chapter, opening: &Opening, entries: Vec<Entry<'_>>, root: &Path) -> Result<(Value, Value)> {
    // Whole, and what of them is shown.
    let (mut texts, mut files) = (BTreeMap::new(), serde_json::Map::new());
    let mut variants = Vec::new();
    let mut first = 0;
    for Entry { name: shown, variant, ty, op, cases } in entries {
        let slug = variant.kernels.unwrap_or(chapter.slug);
        if shown == opening.variant {
            let is_opened = |case: &Case| (case.n, case.block, case.grid) == (opening.n, opening.block, opening.grid);
            let at = cases.iter().position(is_opened);
            first = at.with_context(|| format!("{}: the lab's opening is no case that it has", chapter.slug))?;
        }
        let kernels: BTreeSet<&str> =
            cases.iter().flat_map(|case| &case.plan.passes).map(|pass| pass.kernel.as_str()).collect();
        let lesson = KernelSource::in_root(root, slug);
        let (source, name) = (lesson.cu_name(), lesson.ptx_name());
        if !texts.contains_key(slug) {
            texts.insert(slug, lesson.read_cu()?.replace("\r\n", "\n"));
        }
        let text = texts[slug].as_str();
        files.entry(source.clone()).or_insert_with(|| lesson_part(text).into());
        let ptx = lesson.read_ptx(text).map_err(|why| anyhow!("{source}: {why}"))?;
        let of_cases = |cases: &[Case]| residency::committed(root, slug, text, &blocks(cases));
        let others = if shown == variant.name {
            others(variant, &cases, (&name, &ptx), (&source, text), of_cases)?
        } else {
            Vec::new()
        };
        let ptx = only(&ptx, &kernels);
        let names = names(&name, &ptx, &kernels, &source, text)?;
        variants.push(json!({
            "name": shown, "type": ty.name(), "op": op.name(), "idea": variant.idea, "limit": variant.limit, "source": source,
            "announced": variant.announced.map(|code| code.name()), "harm": variant.harm,
            "ptx": { "name": name, "text": ptx }, "names": names, "others": others,
            "resident": of_cases(&cases)?,
            "cases": cases.iter().map(|case| case.json(ty, op)).collect::<Vec<_>>(),
        }));
    }
    let variant =
        variants.iter().find(|variant| variant["name"] == opening.variant).context("the opening's variant")?;
    let request = request(&variant["ptx"], &variant["cases"][first], opening.schedule);
    let mut data = json!({
        "slug": opening.slug, "files": files, "variants": variants,
        "opening": { "variant": opening.variant, "n": opening.n, "block": opening.block, "grid": opening.grid,
            "schedule": opening.schedule },
    });
    if let Some(at) = opening.at {
        data["opening"]["at"] = at.into();
    }
    Ok((data, request))
}

/// A variant with other types and operators, of those whose launches differ by the names of kernels and by nothing else: their PTX,
/// and which kernel takes the place of which.
fn others(
    variant: &Variant,
    cases: &[Case],
    ptx: (&str, &str),
    source: (&str, &str),
    resident: impl Fn(&[Case]) -> Result<Value>,
) -> Result<Vec<Value>> {
    let mut others = Vec::new();
    // A page may have 600 KB, and each kernel of rows is many times as long as one of the ladder's.
    if variant.per != Per::Array {
        return Ok(others);
    }
    for (ty, op) in KINDS.into_iter().filter(|&(ty, op)| variant.computes(op, ty)) {
        let same = self::cases(variant, ty, op);
        let Some(kernels) = renamed(cases, &same) else { continue };
        let launched: BTreeSet<&str> = kernels.values().copied().collect();
        let text = only(ptx.1, &launched);
        let names = names(ptx.0, &text, &launched, source.0, source.1)?;
        others.push(json!({
            "type": ty.name(), "op": op.name(), "kernels": kernels, "ptx": { "name": ptx.0, "text": text }, "names": names,
            "resident": resident(&same)?,
        }));
    }
    Ok(others)
}

/// Kernels of cases, each with the threads of its blocks. Launches with dynamic shared memory are left out.
fn blocks(cases: &[Case]) -> BTreeMap<&str, BTreeSet<u32>> {
    let mut blocks: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for pass in cases.iter().flat_map(|case| &case.plan.passes).filter(|pass| pass.geometry.shared_bytes == 0) {
        blocks.entry(&pass.kernel).or_default().insert(pass.block());
    }
    blocks
}

/// Kernels of `cases`, each with the kernel of `others` that takes its place; `None` if they differ otherwise.
fn renamed<'c>(cases: &'c [Case], others: &'c [Case]) -> Option<BTreeMap<&'c str, &'c str>> {
    let mut kernels = BTreeMap::new();
    if cases.len() != others.len() {
        return None;
    }
    for (case, other) in cases.iter().zip(others) {
        let is_same = (case.n, case.block, case.grid) == (other.n, other.block, other.grid)
            && (&case.plan.sums, case.plan.state_words) == (&other.plan.sums, other.plan.state_words)
            && case.plan.passes.len() == other.plan.passes.len();
        let same = is_same.then(|| case.plan.passes.iter().zip(&other.plan.passes))?;
        for (pass, other) in same {
            let (mut plain, mut other_plain) = (launch(pass), launch(other));
            plain["kernel"] = Value::Null;
            other_plain["kernel"] = Value::Null;
            let before = kernels.insert(pass.kernel.as_str(), other.kernel.as_str());
            if plain != other_plain || before.is_some_and(|before| before != other.kernel) {
                return None;
            }
        }
    }
    Some(kernels)
}

/// The lesson's part of a `.cu`: what stands behind it is the library's, and no lab shows it.
pub(crate) fn lesson_part(text: &str) -> &str {
    const END: &str = "// ANCHOR_END: entries";
    text.find(END).map_or(text, |at| &text[..at + END.len()])
}

/// Names of the source for what registers hold, by kernel: what `simt::names::Name` has, in its order, without the keys. The
/// simulator finds them here and not in the page, where the engine would be a tenth larger for it.
fn names(file: &str, ptx: &str, kernels: &BTreeSet<&str>, path: &str, source: &str) -> Result<Value> {
    let program = simt::Program::load(file, ptx)?;
    let mut names = serde_json::Map::new();
    for kernel in kernels {
        let found = program.names(kernel, |file| (file == path).then(|| source.to_owned()))?;
        let row = |name: &simt::names::Name| {
            json!([name.name, name.function, name.calls, name.lines, name.line, name.ptx_line, name.register])
        };
        names.insert((*kernel).to_owned(), found.iter().map(row).collect());
    }
    Ok(names.into())
}

/// The page's request to the engine for one case; the page builds the same request itself.
pub fn request(ptx: &Value, case: &Value, schedule: &str) -> Value {
    let mut buffers = case["buffers"].clone();
    let n = case["n"].as_u64().unwrap_or(0);
    if n <= DIGITS_MAX {
        buffers[0] = json!({ "spec": buffers[0], "elements": (0..n).map(digit).collect::<Vec<_>>() });
    }
    json!({
        "ptx": [ptx], "buffers": buffers, "launches": case["launches"], "schedule": schedule,
        "outputs": [case["result"]], "trace": { "launch": case["shown"], "blocks": BLOCKS_MAX },
    })
}

/// A kernel of a lab.
pub struct Entry<'c> {
    /// Name in the lab.
    name: String,
    variant: &'c Variant,
    ty: Type,
    op: Op,
    cases: Vec<Case>,
}

/// Entries of a lab. A chapter of exponentials has its variants for floats. Others have every variant that sums integers, once more
/// for floats where its blocks then wait for each other, and a variant that finds the place of an element, whose values have two words.
fn entries(chapter: &Chapter) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    let mut push = |name, variant, ty, op, cases| entries.push(Entry { name, variant, ty, op, cases });
    let (op, ty) = chapter.default_kind();
    if op.has_bounds() || ty != Type::I32 {
        for variant in chapter.variants.iter().filter(|variant| !LEFT_OUT.contains(&(chapter.slug, variant.name))) {
            let mut cases = cases(variant, ty, op);
            // Blocks of a sum meet, and a reader may ask how many.
            cases.retain(|case| (case.grid.is_none() || op == Op::Sum) && case.n <= EXPONENTIALS_MAX);
            push(variant.name.to_owned(), variant, ty, op, cases);
        }
        return entries;
    }
    for variant in chapter.variants.iter().filter(|variant| variant.types.contains(&Type::I32)) {
        let of_integers = cases(variant, Type::I32, Op::Sum);
        let waits = of_integers.iter().any(Case::waits);
        push(variant.name.to_owned(), variant, Type::I32, Op::Sum, of_integers);
        if !waits && variant.types.contains(&Type::F32) {
            let mut of_floats = cases(variant, Type::F32, Op::Sum);
            of_floats.retain(|case| case.waits() && case.grid.is_some() && case.block == variant.blocks.default);
            of_floats.retain(|case| (MESSAGES_N_MIN..1 << 20).contains(&case.n));
            if !of_floats.is_empty() {
                push(format!("{}_f32", variant.name), variant, Type::F32, Op::Sum, of_floats);
            }
        }
        let mut of_places = cases(variant, Type::I32, Op::Argmax);
        of_places.retain(|case| case.n < 1 << 20);
        if !of_places.is_empty() {
            push(format!("{}_argmax", variant.name), variant, Type::I32, Op::Argmax, of_places);
        }
    }
    entries
}

/// Every case of a variant that a lab offers.
fn cases(variant: &Variant, ty: Type, op: Op) -> Vec<Case> {
    let grids = || std::iter::once(None).chain(GRIDS.map(Some).into_iter().filter(|_| variant.chooses_grid));
    let mut cases: Vec<Case> = Vec::new();
    for n in SIZES.into_iter().filter(|&n| variant.per != Per::RaggedRow || n <= RAGGED_N_MAX) {
        for block in BLOCKS {
            for grid in grids() {
                // A reader who asks for blocks means to see them meet: the smallest tiles leave each of them something to do.
                let factors = variant.factors.filter(|_| grid.is_some() && variant.overlaps);
                let factor = factors.and_then(|factors| factors.values.first().copied());
                let options = LaunchOptions { grid, op, factor, ..LaunchOptions::block(block) };
                // A grid that the plan takes by itself is no choice of its own.
                let new = Case::new(variant, ty, n, options)
                    .filter(|case| case.grid.is_none() || cases.last().is_none_or(|last| last.plan != case.plan));
                cases.extend(new);
            }
        }
    }
    cases
}

/// The PTX without the entries that no case launches, and what they alone use.
pub fn only(ptx: &str, kernels: &BTreeSet<&str>) -> String {
    let text = ptx::Index::new(ptx).only(ptx, &kernels.iter().copied().collect::<Vec<_>>());
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

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
                let program = ptx::Index::new(ptx);
                for case in variant["cases"].as_array().unwrap() {
                    for launch in case["launches"].as_array().unwrap() {
                        let kernel = launch["kernel"].as_str().unwrap();
                        assert!(program.has(kernel), "{name}: {kernel} is left out");
                    }
                }
            }
        }
    }

    #[test]
    fn entries_without_a_launch_are_left_out() {
        let ptx =
            ".version 8.1\n.visible .entry a(\n)\n{\n{\nret;\n}\n}\n\n.visible .entry ab(\n)\n{\nexit;\n}\n.file 1\n";
        let kept = only(ptx, &BTreeSet::from(["ab"]));
        assert_eq!(kept, ".version 8.1\n.visible .entry ab(\n)\n{\nexit;\n}\n.file 1\n");
    }
}
