//! `data/<device>-ncu.json`: what Nsight Compute counted for single launches of a chapter's kernels, and whether the
//! simulator counts the same. Only address-exact counters are compared; a GPU's instruction counts are of other code.

use std::collections::BTreeMap;
use std::path::Path;

use device::Counters;
use lab::input::{SEED, random_for};
use lab::kernels::{self, Hashes};
use lab::record::{load_json, path};
use lab::text::grouped;
use lab::{Chapter, Error, Job, LaunchOptions, Pass, Result, Type, Variant};
use serde::Deserialize;
use simt::counters::METRICS;
use simt::{Metric, Tier};

use crate::simulated::unchecked;

const WAVEFRONTS: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_";
const CONFLICTS: &str = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_";
const GLOBAL_LOADS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
/// Threads.
const WARP: u64 = 32;
const GLOBAL_STORES: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum";

/// A file of profiled launches.
#[derive(Debug, Clone, Deserialize)]
pub struct NcuRecord {
    /// `NVIDIA H200`
    pub device: String,
    /// The driver's version.
    pub driver: String,
    /// When.
    pub date: String,
    /// Hash of each profiled kernel's code.
    #[serde(default)]
    pub kernels: Hashes,
    /// Commit of the source tree, if known.
    #[serde(default)]
    pub commit: Option<String>,
    /// The launches.
    pub cases: Vec<NcuCase>,
    /// Why launches of the file are not among them: the simulator has other kernels than were profiled.
    #[serde(skip)]
    pub stale: Option<String>,
}

/// One profiled launch. Not a [`lab::Case`], which has all launches of a plan, and grids of one dimension.
#[derive(Debug, Clone, Deserialize)]
pub struct NcuCase {
    /// `unroll_shuffle_i32`
    pub kernel: String,
    /// Blocks, as one number or as x, y, z.
    pub grid: Size,
    /// Threads a block, as one number or as x, y, z.
    pub block: Size,
    /// Elements of this launch; of the whole run where `launch` is there.
    pub n: u64,
    /// Index of the launch in its run, from 0, where a plan has several kernels.
    #[serde(default)]
    pub launch: usize,
    /// The variant, where the kernel's name does not tell.
    #[serde(default)]
    pub variant: Option<String>,
    /// Type of the elements, where the kernel's name does not tell.
    #[serde(default, rename = "type")]
    pub ty: Option<String>,
    /// Counts by Nsight Compute's names.
    pub metrics: BTreeMap<String, f64>,
}

/// One dimension or three.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
#[allow(missing_docs)]
pub enum Size {
    Linear(u64),
    Xyz([u64; 3]),
}

impl Size {
    /// Product of all dimensions.
    pub fn total(self) -> u64 {
        match self {
            Size::Linear(x) => x,
            Size::Xyz(sizes) => sizes.iter().product(),
        }
    }
}

/// Result of comparing a file with the simulator.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Counters that were compared.
    pub compared: usize,
    /// Those of them that only the arbitration between warps of a multiprocessor explains.
    pub arbitrated: usize,
    /// Those of launches whose blocks meet, which no address decides: see [`meeting`].
    pub of_meetings: usize,
    /// Those that disagree, a line each.
    pub differences: Vec<String>,
}

/// A committed file, `h200-ncu` for instance, without the launches of kernels that have changed since; `None` while there is none.
///
/// # Errors
/// A file that cannot be read or has another form.
pub fn load(root: &Path, slug: &str, name: &str) -> Result<Option<NcuRecord>> {
    let mut record: Option<NcuRecord> = load_json(&path(root, slug, name))?;
    if let Some(record) = &mut record {
        record.leave_out_stale(&kernels::today(root)?);
    }
    Ok(record)
}

impl NcuRecord {
    fn leave_out_stale(&mut self, now: &Hashes) {
        let is_changed =
            |case: &NcuCase| !kernels::changed(std::slice::from_ref(&case.kernel), &self.kernels, now).is_empty();
        let (stale, fresh): (Vec<_>, Vec<_>) = std::mem::take(&mut self.cases).into_iter().partition(is_changed);
        let names: Vec<&str> = stale.iter().map(|case| case.kernel.as_str()).collect();
        self.stale = (!stale.is_empty()).then(|| kernels::reason(&names, stale.len(), self.commit.as_deref()));
        self.cases = fresh;
    }
}

/// Runs each profiled launch on the simulator and compares the address-exact counters.
///
/// # Errors
/// A kernel that the chapter does not have, or a grid that it would not launch.
pub fn compare(chapter: &Chapter, root: &Path, record: &NcuRecord) -> Result<Comparison> {
    let mut comparison = Comparison::default();
    for (case, counters, pass) in simulate(chapter, root, record)? {
        compare_case(case, &counters, &pass, &mut comparison);
    }
    Ok(comparison)
}

/// The counters of each profiled launch on the simulator, and the launch.
fn simulate<'r>(chapter: &Chapter, root: &Path, record: &'r NcuRecord) -> Result<Vec<(&'r NcuCase, Counters, Pass)>> {
    let session = unchecked(chapter, root)?;
    let launch = |case: &'r NcuCase| {
        let unknown = || Error::Usage(format!("{} has no kernel {}", chapter.slug, case.kernel));
        let (variant, ty) = case.kernel(chapter).ok_or_else(unknown)?;
        let options =
            if variant.chooses_grid { variant.options() } else { LaunchOptions::block(case.block.total() as u32) };
        let plan = session.plan(variant, ty, case.n, options)?;
        let found = (case.kernel.as_str(), case.grid.total());
        let planned = plan.plan.passes.into_iter().nth(case.launch);
        let Some(pass) = planned.filter(|pass| found == (pass.kernel.as_str(), u64::from(pass.grid()))) else {
            let n = case.n;
            return Err(Error::Usage(format!(
                "n = {n}: {found:?} was profiled, and the plan has another launch there"
            )));
        };
        let input = random_for(options.op, ty, case.n as usize, SEED);
        let job = Job { variant, options, input: &input, reference: None, offset: 0 };
        // Later passes of a kernel that is launched again and again are profiled as first passes over fewer elements.
        let report = if case.launch == 0 {
            session.first_launch(job)?
        } else {
            session.launches(job)?.into_iter().nth(case.launch).unwrap_or_default()
        };
        Ok((case, report.counters.unwrap_or_default(), pass))
    };
    // A shape that the GPU compiled for itself is not in the committed PTX.
    let is_committed = |case: &&NcuCase| {
        let has = |(variant, _): (&Variant, Type)| session.has_kernel(variant, &case.kernel);
        !chapter.on_demand || case.kernel(chapter).is_none_or(has)
    };
    record.cases.iter().filter(is_committed).map(launch).collect()
}

/// The rows of [`table`]: what the reader calls it, and Nsight Compute's name.
const ROWS: [(&str, &str); 8] = [
    ("shared-memory load wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"),
    ("of which bank conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"),
    ("shared-memory store wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"),
    ("global-memory load sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
    ("global-memory store sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
    ("global-memory atomic sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum"),
    ("global-memory reduction sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum"),
    ("instructions: SASS on the card, PTX here", INSTRUCTIONS),
];

/// The card's count of its own instructions, which the simulator can only set its own beside.
const INSTRUCTIONS: &str = "smsp__inst_executed.sum";

/// The largest and the smallest launch of each variant, of `i32` or else of its first type, measured beside simulated, as Markdown.
///
/// # Errors
/// Those of [`compare`].
pub fn table(chapter: &Chapter, root: &Path, record: &NcuRecord) -> Result<String> {
    let cases = simulate(chapter, root, record)?;
    let firsts = |variant: &Variant| {
        let shown = variant.types.iter().find(|&&ty| ty == Type::I32).or(variant.types.first());
        let is_own =
            |case: &NcuCase| case.kernel(chapter).is_some_and(|(v, ty)| v.name == variant.name && Some(&ty) == shown);
        let mut own: Vec<_> = cases.iter().filter(|(case, ..)| is_own(case)).collect();
        // Of the launches of one run, the widest.
        own.sort_by_key(|(case, ..)| std::cmp::Reverse((case.n, case.grid.total())));
        own.dedup_by_key(|(case, ..)| case.n);
        own.truncate(2);
        own
    };
    let mut out = String::from("| kernel | n | counter | on the card | simulated |\n|---|--:|---|--:|--:|\n");
    for variant in chapter.variants {
        for (case, counters, _) in firsts(variant) {
            for (plain, key) in ROWS {
                let Some((on_card, here)) = both(case, counters, key) else { continue };
                if on_card != 0.0 || here != 0.0 {
                    let (on_card, here) = (grouped(on_card as u64), grouped(here as u64));
                    let (name, n) = (variant.name, grouped(case.n));
                    out.push_str(&format!("| `{name}` | {n} | {plain} | {on_card} | {here} |\n"));
                }
            }
        }
    }
    let NcuRecord { device, driver, date, .. } = record;
    out.push_str(&format!(
        "\n<small>Each row is one launch, read with Nsight Compute on an {device} (driver {driver}) on {date}.</small>\n"
    ));
    if let Some(stale) = &record.stale {
        out.push_str(&format!("\n<small>Left out: {stale}.</small>\n"));
    }
    Ok(out)
}

/// Counts of the card and the simulator under this name; for instructions, each its own.
fn both(case: &NcuCase, counters: &Counters, key: &str) -> Option<(f64, f64)> {
    let here = if key == INSTRUCTIONS { "ptx_inst_executed" } else { key };
    Some((*case.metrics.get(key)?, (Metric::named(here)?.value)(counters)))
}

impl NcuCase {
    /// The variant and the type that this launch was of.
    fn kernel(&self, chapter: &Chapter) -> Option<(&'static Variant, Type)> {
        let (name, ty) = self.kernel.rsplit_once('_')?;
        let (name, ty) = (self.variant.as_deref().unwrap_or(name), self.ty.as_deref().unwrap_or(ty));
        Some((chapter.variant(name)?, Type::from_name(ty)?))
    }
}

fn compare_case(case: &NcuCase, counters: &Counters, pass: &Pass, comparison: &mut Comparison) {
    for metric in METRICS.iter().filter(|metric| metric.tier == Tier::AddressExact) {
        let Some((measured, simulated)) = both(case, counters, metric.key) else { continue };
        comparison.compared += 1;
        let surplus = measured - simulated;
        if surplus == 0.0 || arbitration(case, counters, metric.key) == Some(surplus) {
            comparison.arbitrated += usize::from(surplus != 0.0);
            continue;
        }
        if meeting(pass, metric.key, surplus) {
            comparison.of_meetings += 1;
            continue;
        }
        comparison
            .differences
            .push(format!("{} n={} {}: measured {measured}, simulated {simulated}", case.kernel, case.n, metric.key));
    }
}

/// Returns whether this counter of a launch whose blocks meet depends on more than addresses. Blocks that wait look as often as time
/// allows. Lanes that have waited clear their slots together here, which is the least that a card counts, and on the card in
/// groups, as their messages came: at most a sector for each block. The atomics of the grid's barrier are generic ones, which
/// pass by shared memory wherever they lead, in the way of other accesses.
fn meeting(pass: &Pass, key: &str, surplus: f64) -> bool {
    let is_shared = |op: &str| [WAVEFRONTS, CONFLICTS].iter().any(|prefix| key.strip_prefix(*prefix) == Some(op));
    let apart = 0.0..=f64::from(pass.grid());
    pass.waits && (key == GLOBAL_LOADS || key == GLOBAL_STORES && apart.contains(&surplus))
        || pass.geometry.cooperative && (is_shared("st.sum") || is_shared("atom.sum"))
}

/// Passes through shared memory that the warps of a multiprocessor took from each other. The hardware counts each as a
/// wavefront and as a conflict. They are few where a multiprocessor has one block, and not the same in two recordings; one
/// warp has none. `None` if this counter can have no such surplus, or if the two counters do not agree about it.
fn arbitration(case: &NcuCase, counters: &Counters, key: &str) -> Option<f64> {
    let op = key.strip_prefix(WAVEFRONTS).or_else(|| key.strip_prefix(CONFLICTS))?;
    let surplus =
        |name: String| -> Option<f64> { Some(case.metrics.get(&name)? - (Metric::named(&name)?.value)(counters)) };
    let (wavefronts, conflicts) = (surplus(format!("{WAVEFRONTS}{op}"))?, surplus(format!("{CONFLICTS}{op}"))?);
    (case.block.total() > WARP && wavefronts == conflicts && wavefronts > 0.0).then_some(wavefronts)
}
