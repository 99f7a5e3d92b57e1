//! The whole run: what is measured, in which order, and what becomes of a part that fails.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use device::{Baseline, Device, KernelSource, SimOptions};
use lab::clock::Flush;
use lab::element::Element;
use lab::measurement::{self, MeasuredCase, Measurement};
use lab::plan::MULTIPROCESSORS;
use lab::reference::reference_of_slice;
use lab::{Session, Type, Variant, Wish, record};

use super::bench::{Bench, Input};
use super::pool::Pool;
use super::{Options, limits, open_baseline};
use crate::lessons::lessons;

/// The last word of the course, which is measured against the library.
const CHAMPION: (&str, &str) = ("ch08-cooperative", measurement::CHAMPION);
/// Where blocks and factors are swept.
const SWEEP_N: u64 = 1 << 24;
/// Threads a block of a sweep.
const SWEEP_BLOCKS: [u32; 5] = [64, 128, 256, 512, 1024];
/// Blocks of a sweep: what NVIDIA's sample holds its last kernels to, and what comes on top for each multiprocessor.
const SWEEP_GRID: u32 = 64;
/// Blocks a multiprocessor of a sweep.
const SWEEP_GRID_FACTORS: [u32; 4] = [1, 2, 4, 8];
/// Where the champion reads ragged and shifted inputs.
const RAGGED_N: [u64; 3] = [1 << 24, 1 << 26, 1 << 28];
/// Kernels that destroy their input are measured up to here: each run needs it anew.
const IN_PLACE_N_MAX: u64 = 1 << 26;
/// The input of the largest size takes no more of the device's memory than one part in this many.
const MEMORY_SHARE: u64 = 4;

/// A run and what it has found so far.
pub struct Suite<'o> {
    options: &'o Options,
    bench: Bench,
    sessions: Vec<Session<'static>>,
    baseline: Option<Baseline>,
    /// What is written.
    pub record: Measurement,
    /// Where it is written.
    pub out: PathBuf,
    /// What failed, a line each.
    pub problems: Vec<String>,
    begin: Instant,
}

impl<'o> Suite<'o> {
    /// Loads everything that is to be measured; `source` are the kernels of the flush and the ceiling.
    ///
    /// # Errors
    /// Without these kernels nothing can be measured.
    pub fn new(
        options: &'o Options,
        device: Device,
        source: KernelSource,
        record: Measurement,
        out: PathBuf,
    ) -> Result<Suite<'o>> {
        let device = Rc::new(device);
        let flush = Flush::new(&device, &source)?;
        let bench = Bench { device: Rc::clone(&device), flush, is_quick: options.quick };
        let mut suite = Suite {
            options,
            bench,
            sessions: Vec::new(),
            baseline: None,
            record,
            out,
            problems: Vec::new(),
            begin: Instant::now(),
        };
        for chapter in lessons() {
            if !options.chapters.is_empty() && options.chapters.iter().all(|slug| slug != chapter.slug) {
                continue;
            }
            let source = KernelSource::in_root(source.root(), chapter.slug);
            let session = Session::on(chapter, source, Rc::clone(&device), SimOptions::default());
            if let Some(session) = suite.attempt(chapter.slug, session.map_err(Into::into))? {
                suite.sessions.push(session);
            }
        }
        suite.note_kernels(&source)?;
        if let Some(path) = &options.baseline {
            let baseline = open_baseline(path);
            if let Some((baseline, library)) = suite.attempt("CUB", baseline)? {
                (suite.baseline, suite.record.cub) = (Some(baseline), Some(library));
            }
        }
        Ok(suite)
    }

    /// The hashes of all kernels that are measured, or measured with.
    fn note_kernels(&mut self, source: &KernelSource) -> Result<()> {
        let of_variants = |session: &Session<'static>| {
            let others = session.chapter.variants.iter().filter_map(|variant| variant.kernels);
            std::iter::once(session.chapter.slug).chain(others).collect::<Vec<_>>()
        };
        let slugs = self.sessions.iter().flat_map(of_variants).chain([lab::clock::CEILING]);
        for slug in slugs {
            self.record.ptx_sha256.insert(slug.to_owned(), record::ptx_sha256(source.root(), slug)?);
        }
        Ok(())
    }

    /// Measures everything.
    ///
    /// # Errors
    /// A file that cannot be written, a GPU that no longer answers. Other failures are among the problems.
    pub fn all(&mut self) -> Result<()> {
        let floor = limits::floor(&self.bench);
        self.record.floor_us = self.attempt("launch floor", floor)?.flatten();
        for &ty in &self.options.types {
            match ty {
                Type::I32 => self.typed::<i32>()?,
                Type::F32 => self.typed::<f32>()?,
                Type::F64 => self.typed::<f64>()?,
            }
        }
        self.save()
    }

    fn typed<T: Element>(&mut self) -> Result<()> {
        let sizes = self.sizes_that_fit::<T>();
        let Some(&n_max) = sizes.last() else { return Ok(()) };
        self.say(&format!("{}: making 2^{} numbers", T::NAME, n_max.ilog2()));
        let pool = Pool::<T>::new(&self.bench.device, n_max).with_context(|| format!("{} numbers", T::NAME));
        let Some(mut pool) = self.attempt("input", pool)? else { return Ok(()) };
        if self.record.ceiling.is_empty() {
            let ceiling = limits::ceiling(&self.bench, &pool, n_max);
            self.record.ceiling = self.attempt("read ceiling", ceiling)?.unwrap_or_default();
            let best = self.record.ceiling.iter().map(|point| point.gb_per_s).max_by(f64::total_cmp);
            self.record.read_ceiling_gb_per_s = best;
        }
        for n in sizes {
            self.one_size(&mut pool, n)?;
            self.save()?;
        }
        if !self.options.quick {
            for n in RAGGED_N.into_iter().filter(|&n| n <= n_max) {
                self.ragged(&mut pool, n)?;
            }
            if SWEEP_N <= n_max {
                self.sweeps(&mut pool, SWEEP_N)?;
            }
            self.save()?;
        }
        Ok(())
    }

    /// The sizes asked for whose input leaves room for everything else on the device.
    fn sizes_that_fit<T: Element>(&self) -> Vec<u64> {
        let memory_bytes = self.bench.device.description().memory_bytes.unwrap_or(u64::MAX);
        let (fit, not): (Vec<u64>, Vec<u64>) =
            self.options.sizes().into_iter().partition(|n| n * T::BYTES as u64 <= memory_bytes / MEMORY_SHARE);
        if let Some(first) = not.first() {
            self.say(&format!("{}: 2^{} numbers and more do not fit and are left out", T::NAME, first.ilog2()));
        }
        fit
    }

    /// Every variant at one size, the champion in turns with the library.
    fn one_size<T: Element>(&mut self, pool: &mut Pool<T>, n: u64) -> Result<()> {
        let begin = Instant::now();
        let reference = reference_of_slice(pool.first(n, 0));
        let input = Input { n, offset: 0, reference: &reference };
        let before = self.record.cases.len();
        self.contest(pool, input)?;
        for (session, variant) in self.variants::<T>() {
            if self.is_champion(session, variant) || variant.in_place && n > IN_PLACE_N_MAX {
                continue;
            }
            self.case(pool, (session, variant), (Wish::default(), None), input)?;
        }
        let (cases, seconds) = (self.record.cases.len() - before, begin.elapsed().as_secs_f64());
        let found = |name| self.record.cold_us(name, T::TYPE, n);
        let contest = match (found(CHAMPION.1), found(measurement::CUB)) {
            (Some(ours), Some(cub)) => format!("; {} {ours:.2} us, CUB {cub:.2} us, {:.3}x", CHAMPION.1, cub / ours),
            (Some(ours), None) => format!("; {} {ours:.2} us", CHAMPION.1),
            _ => String::new(),
        };
        self.say(&format!("{} 2^{}: {cases} cases in {seconds:.1} s{contest}", T::NAME, n.ilog2()));
        Ok(())
    }

    /// The variants for this type that the device can run, each with the number of its session.
    fn variants<T: Element>(&self) -> Vec<(usize, &'static Variant)> {
        let of_session = |(i, session): (usize, &Session<'static>)| {
            let variants =
                session.chapter.variants_for(T::TYPE).filter(|variant| session.unsupported(variant).is_none());
            variants.map(|variant| (i, variant)).collect::<Vec<_>>()
        };
        self.sessions.iter().enumerate().flat_map(of_session).collect()
    }

    fn is_champion(&self, session: usize, variant: &Variant) -> bool {
        (self.sessions[session].chapter.slug, variant.name) == CHAMPION
    }

    fn champion<T: Element>(&self) -> Option<(usize, &'static Variant)> {
        self.variants::<T>().into_iter().find(|&(session, variant)| self.is_champion(session, variant))
    }

    /// The champion, in turns with the library if there is one, and once more where its launches may not overlap.
    fn contest<T: Element>(&mut self, pool: &mut Pool<T>, input: Input<'_>) -> Result<()> {
        let Some((session, variant)) = self.champion::<T>() else { return Ok(()) };
        let without_overlap = (Wish::default(), Some(measurement::OVERLAP));
        let Some(baseline) = &self.baseline else {
            self.case(pool, (session, variant), (Wish::default(), None), input)?;
            return self.case(pool, (session, variant), without_overlap, input);
        };
        let cases = || -> Result<[MeasuredCase; 2]> {
            let ours = self.bench.ours::<T>(&self.sessions[session], variant, Wish::default(), input.n)?;
            let theirs = baseline.sum::<T>(&self.bench.device, input.n)?;
            let slices = pool.slices(&self.bench.device, input.n, input.offset);
            self.bench.in_turns(&ours, &theirs, &slices, input)
        };
        let cases = cases();
        let cases = self.attempt(&format!("{} and CUB, {} 2^{}", variant.name, T::NAME, input.n.ilog2()), cases)?;
        for case in cases.into_iter().flatten() {
            self.push(case, false);
        }
        self.case(pool, (session, variant), without_overlap, input)
    }

    /// One variant at one size, with what was swept if anything was.
    fn case<T: Element>(
        &mut self,
        pool: &mut Pool<T>,
        (session, variant): (usize, &'static Variant),
        (wish, swept): (Wish, Option<&'static str>),
        input: Input<'_>,
    ) -> Result<()> {
        let mut measured = || -> Result<Option<MeasuredCase>> {
            let mut ours = self.bench.ours::<T>(&self.sessions[session], variant, wish, input.n)?;
            if swept == Some(measurement::OVERLAP) {
                ours.forgo_overlap();
            }
            if wish.block.is_some_and(|block| ours.plan().block() != Some(block)) {
                return Ok(None); // the plan has no such block
            }
            let device = &self.bench.device;
            let slices = if variant.in_place {
                pool.slices_to_destroy(device, input.n, input.offset)?
            } else {
                pool.slices(device, input.n, input.offset)
            };
            self.bench.alone(&ours, &slices, input).map(Some)
        };
        let measured = measured();
        let what = format!("{} {} n = {} {wish:?}", variant.name, T::NAME, input.n);
        if let Some(mut case) = self.attempt(&what, measured)?.flatten() {
            case.swept = swept.map(str::to_owned);
            self.push(case, variant.announced.is_some());
        }
        Ok(())
    }

    /// The champion around n, where it divides by nothing, and where the input begins between two vectors.
    fn ragged<T: Element>(&mut self, pool: &mut Pool<T>, n: u64) -> Result<()> {
        let Some(champion) = self.champion::<T>() else { return Ok(()) };
        for (n, offset) in [(n - 1, 0), (n + 1, 0), (n, 1), (n, 2), (n, 3)] {
            let reference = reference_of_slice(pool.first(n, offset));
            self.case(pool, champion, (Wish::default(), None), Input { n, offset, reference: &reference })?;
        }
        self.say(&format!("{}: ragged and shifted inputs around {n}", T::NAME));
        Ok(())
    }

    /// Every block size, factor and grid of the variants that have a choice.
    fn sweeps<T: Element>(&mut self, pool: &mut Pool<T>, n: u64) -> Result<()> {
        let reference = reference_of_slice(pool.first(n, 0));
        let input = Input { n, offset: 0, reference: &reference };
        for (session, variant) in self.variants::<T>() {
            for block in SWEEP_BLOCKS.into_iter().filter(|&block| variant.blocks.allows(block)) {
                self.case(pool, (session, variant), (Wish::block(block), Some("block")), input)?;
            }
            for &factor in variant.factors.iter().flat_map(|factors| factors.values) {
                let wish = Wish { factor: Some(factor), ..Wish::default() };
                self.case(pool, (session, variant), (wish, Some("factor")), input)?;
            }
            for grid in self.grids::<T>(session, variant, n) {
                let wish = Wish { grid: Some(grid), ..Wish::default() };
                self.case(pool, (session, variant), (wish, Some("grid")), input)?;
            }
        }
        self.say(&format!("{}: sweeps of blocks, factors and grids", T::NAME));
        Ok(())
    }

    /// The grids of a sweep, for a variant that takes any; none for one whose grid follows from its input.
    fn grids<T: Element>(&self, session: usize, variant: &'static Variant, n: u64) -> Vec<u32> {
        let multiprocessors = self.bench.device.description().multiprocessors.unwrap_or(MULTIPROCESSORS);
        let of_card = SWEEP_GRID_FACTORS.map(|factor| factor * multiprocessors);
        let grids: Vec<u32> = std::iter::once(SWEEP_GRID).chain(of_card).collect();
        let is_taken = |&grid: &u32| {
            let wish = Wish { grid: Some(grid), ..Wish::default() };
            self.sessions[session].plan(variant, T::TYPE, n, wish).is_ok()
        };
        if grids.iter().all(is_taken) { grids } else { Vec::new() }
    }

    /// Takes a case in; one that is wrong, and not announced to be, is a problem.
    fn push(&mut self, case: MeasuredCase, is_announced: bool) {
        if !case.ok && !is_announced {
            self.problems.push(format!("{} {} n = {} offset {}: WRONG", case.name, case.ty, case.n, case.offset));
        }
        self.record.cases.push(case);
    }

    /// What a part gave; nothing, and a line among the problems, if it failed.
    ///
    /// # Errors
    /// A GPU that runs nothing more, as after a kernel that died.
    fn attempt<V>(&mut self, what: &str, outcome: Result<V>) -> Result<Option<V>> {
        let error = match outcome {
            Ok(value) => return Ok(Some(value)),
            Err(error) => error,
        };
        let problem = format!("{what}: {error:#}");
        self.say(&problem);
        self.problems.push(problem);
        if self.bench.device.launch(&self.bench.flush.nothing(1, 32)).is_err() {
            self.save()?;
            bail!("the GPU runs nothing more since {what}: {error:#}; {} has what came before", self.out.display());
        }
        Ok(None)
    }

    fn save(&self) -> Result<()> {
        Ok(measurement::save(&self.record, &self.out)?)
    }

    fn say(&self, what: &str) {
        eprintln!("{:>6.1} s  {what}", self.begin.elapsed().as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use device::{Checks, Choice};
    use lab::session::built_root;

    use super::*;

    /// A run on the simulator, which judges as a GPU does and gives no times.
    fn simulated(options: &Options, out: PathBuf) -> Suite<'_> {
        let sim = SimOptions { checks: Checks::NONE, ..SimOptions::default() };
        let device = Device::open(Choice::Sim, sim).unwrap();
        let source = KernelSource::in_root(&built_root(), lab::clock::CEILING);
        let record = crate::measure::empty_record(&device, source.root());
        Suite::new(options, device, source, record, out).unwrap()
    }

    #[test]
    fn every_variant_is_judged_and_what_fails_costs_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let (out, absent) = (dir.path().join("m/sim.json"), dir.path().join("absent.so"));
        let mut options = Options::of(&["--sizes", "9..10"]);
        options.baseline = Some(absent);
        let mut suite = simulated(&options, out.clone());
        suite.all().unwrap();
        // What the simulator cannot run either is told, like a file that is not there, and the rest is measured.
        let is_known = |problem: &String| problem.contains("absent.so") || problem.contains("unsupported instruction");
        assert!(suite.problems[0].contains("absent.so"), "{:?}", suite.problems);
        assert!(suite.problems.iter().all(is_known), "{:?}", suite.problems);

        let record = measurement::read(&out).unwrap();
        for lesson in lessons() {
            assert!(record.ptx_sha256.contains_key(lesson.slug));
            let everywhere = lesson.variants.iter().filter(|variant| variant.compute_capability == 80);
            for (variant, &ty) in everywhere.flat_map(|v| v.types.iter().map(move |ty| (v, ty))) {
                let case = record.plain(variant.name, ty, 1 << 9).expect(variant.name);
                assert!(case.ok || variant.announced.is_some(), "{case:?}");
                assert_eq!((case.cold_us, case.warm_us, case.chapter.as_deref()), (None, None, Some(lesson.slug)));
            }
        }
        let overlap = record.cases.iter().filter(|case| case.swept.as_deref() == Some(measurement::OVERLAP));
        assert!(overlap.map(|case| case.name.as_str()).eq([CHAMPION.1; 6]), "two sizes of three types");
        assert_eq!(record.stale(&built_root()).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn ragged_shifted_and_swept_cases_say_what_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let options = Options::of(&["--chapters", "ch01-naive,ch08-cooperative"]);
        let mut suite = simulated(&options, dir.path().join("sim.json"));
        let mut pool = Pool::<i32>::new(&suite.bench.device, 1 << 12).unwrap();
        suite.ragged(&mut pool, 1 << 12).unwrap();
        let cases: Vec<(u64, u64)> = suite.record.cases.iter().map(|case| (case.n, case.offset)).collect();
        assert_eq!(cases, [(4095, 0), (4097, 0), (4096, 1), (4096, 2), (4096, 3)]);

        suite.sweeps(&mut pool, 1000).unwrap();
        assert!(suite.problems.iter().all(|problem| problem.starts_with("cluster ")), "{:?}", suite.problems);
        let of = |name: &str, swept: &str| {
            let swept = suite.record.cases.iter().filter(|c| c.name == name && c.swept.as_deref() == Some(swept));
            swept.map(|case| if swept_block(case) { case.block } else { case.factor }.unwrap()).collect::<Vec<u32>>()
        };
        fn swept_block(case: &MeasuredCase) -> bool {
            case.swept.as_deref() == Some("block")
        }
        assert_eq!(of("interleaved_modulo", "block"), [64, 128, 256, 512, 1024]);
        assert_eq!(of("single_pass", "factor"), [2, 4, 8]);
        assert!(suite.record.cases[5..].iter().all(|case| !case.is_plain()));
    }
    #[test]
    fn grids_are_swept_where_a_plan_takes_any() {
        let dir = tempfile::tempdir().unwrap();
        let options = Options::of(&["--chapters", "ch01-naive,ch07-coarsening"]);
        let suite = simulated(&options, dir.path().join("sim.json"));
        let grids = |name: &str| {
            let (session, variant) = suite.variants::<i32>().into_iter().find(|(_, v)| v.name == name).unwrap();
            suite.grids::<i32>(session, variant, SWEEP_N)
        };
        assert_eq!(grids("grid_stride_shuffle"), [64, 132, 264, 528, 1056]);
        assert!(grids("interleaved_modulo").is_empty(), "its grid follows from its input");
    }
}
