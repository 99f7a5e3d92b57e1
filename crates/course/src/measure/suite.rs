//! The whole run: what is measured, in which order, and what becomes of a part that fails.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use device::{Device, KernelSource, Module, SimOptions};
use lab::clock::{CEILING, Flush};
use lab::element::Element;
use lab::measurement::{
    self, ABLATIONS, CHAMPION, Contest, ENTRANT, HOST_SIZES, MeasuredCase, Measurement, NOT_AHEAD, WITH_MEMSET,
};
use lab::{LaunchOptions, Op, Per, Session, Type, Variant, kernels};
use report::ContestTable;

use super::arrays;
use super::bench::{Bench, Entrant, Input, Slices, State};
use super::libraries::{CONTEST, Libraries};
use super::matrices::KERNELS as COPYING;
use super::pool::Pool;
use super::{LATENCIES, Options, PARTS, PROOFS, TIMES, ablation, alone, host, huge, latencies, limits, proofs};
use crate::lessons::lessons;

/// Size at which blocks and factors are swept.
const SWEEP_N: u64 = 1 << 24;
/// Threads a block of a sweep.
const SWEEP_BLOCKS: [u32; 5] = [64, 128, 256, 512, 1024];
/// Blocks of a sweep: what NVIDIA's sample holds its last kernels to, and what comes on top for each multiprocessor.
const SWEEP_GRID: u32 = 64;
/// Blocks a multiprocessor of a sweep.
const SWEEP_GRID_FACTORS: [u32; 4] = [1, 2, 4, 8];
/// Sizes at which the champion reads ragged and shifted inputs.
const RAGGED_N: [u64; 3] = [1 << 24, 1 << 26, 1 << 28];
/// Kernels that destroy their input are measured up to here: each replay needs it anew.
const IN_PLACE_N_MAX: u64 = 1 << 26;
/// The input of the largest size takes no more of the device's memory than one part in this many.
const MEMORY_SHARE: u64 = 4;

/// A run and what it has found so far.
pub struct Suite<'o> {
    options: &'o Options,
    pub(super) bench: Bench,
    pub(super) sessions: Vec<Session<'static>>,
    libraries: Libraries,
    /// The contests of single chapters.
    tables: Vec<ContestTable>,
    /// Parts that there was no time for.
    left_out: Vec<String>,
    /// Contest, entrant and type of failures, which are not tried again.
    failed: Vec<(Contest, String, &'static str)>,
    /// The record.
    pub record: Measurement,
    /// File that it is written to.
    pub out: PathBuf,
    /// Failures, a line each.
    pub problems: Vec<String>,
    begin: Instant,
}

/// Cases of a group, and what failed in it: contest and entrant, and why.
type Group = (Vec<MeasuredCase>, Vec<(Contest, String, String)>);

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
        let tables = ContestTable::all(source.root())?;
        let is_known = |part: &str| PARTS.contains(&part) || tables.iter().any(|of| of.name == part);
        if let Some(name) = options.parts.iter().find(|part| !is_known(part)) {
            let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
            bail!("--parts {name}: there is no such part; there are latencies, proofs, times, {}", names.join(", "));
        }
        let (libraries, problems) = Libraries::open(options);
        let mut suite = Suite {
            options,
            bench,
            sessions: Vec::new(),
            libraries,
            tables,
            left_out: Vec::new(),
            failed: Vec::new(),
            record,
            out,
            problems,
            begin: Instant::now(),
        };
        for chapter in lessons() {
            if !options.chapters.is_empty() && options.chapters.iter().all(|slug| slug != chapter.slug) {
                continue;
            }
            let source = KernelSource::in_root(source.root(), chapter.slug);
            let session = Session::on(chapter, source, Rc::clone(&device), SimOptions::default());
            if let Some(session) = suite.attempt(chapter.slug, session.map_err(Into::into))? {
                let made = session.origins().map(|(slug, origin)| (slug.to_owned(), origin));
                suite.record.code.extend(made);
                suite.sessions.push(session);
            }
        }
        suite.note_kernels(&source)?;
        suite.record.libraries.extend(suite.libraries.versions());
        Ok(suite)
    }

    /// The hashes of all kernels that are measured, or measured with.
    fn note_kernels(&mut self, source: &KernelSource) -> Result<()> {
        let of_variants = |session: &Session<'static>| {
            let others = session.chapter.variants.iter().filter_map(|variant| variant.kernels);
            std::iter::once(session.chapter.slug).chain(others).collect::<Vec<_>>()
        };
        let own = [CEILING, latencies::KERNELS, proofs::KERNELS, COPYING];
        for slug in self.sessions.iter().flat_map(of_variants).chain(own) {
            self.record.kernels.extend(kernels::file_hashes(source.root(), slug)?);
        }
        Ok(())
    }

    /// Measures everything.
    ///
    /// # Errors
    /// A file that cannot be written, a GPU that no longer answers. Other failures are among the problems.
    pub fn all(&mut self, source: &KernelSource) -> Result<()> {
        self.card(source)?;
        if self.options.has(TIMES) {
            for &ty in self.options.types_of_sums() {
                match ty {
                    Type::I32 => self.typed::<i32>()?,
                    Type::F32 => self.typed::<f32>()?,
                    Type::F64 => self.typed::<f64>()?,
                    _ => self.say(&format!("{ty}: chapters up to {CONTEST} have no such type")),
                }
            }
            self.more_than_32_bits(source)?;
        }
        for table in self.tables.clone() {
            if self.options.has(&table.name) {
                self.contest(&table, source)?;
            }
        }
        self.save()
    }

    /// Measures the card's own times, and tries proofs on it.
    fn card(&mut self, source: &KernelSource) -> Result<()> {
        let load = |slug| Ok(self.bench.device.load(&KernelSource::in_root(source.root(), slug))?);
        let module: Result<Module> = load(latencies::KERNELS);
        let Some(module) = self.attempt("latencies", module)? else { return Ok(()) };
        let floor = self.alone(|| limits::floor(&self.bench, &module));
        self.record.floor_us = self.attempt("launch floor", floor)?.flatten();
        if self.options.has(LATENCIES) {
            let found = latencies::all(&self.bench, &module);
            self.record.latencies = self.attempt("latencies", found)?.unwrap_or_default();
            self.say(&format!("{} latencies", self.record.latencies.len()));
        }
        if self.options.has(PROOFS) {
            let Some(session) = self.session(CONTEST) else { return Ok(()) };
            let Some(variant) = session.chapter.variant(CHAMPION) else { return Ok(()) };
            let found = proofs::all(&self.bench, session, variant, source);
            self.record.proofs = self.attempt("proofs", found)?.unwrap_or_default();
            let judged: u64 = self.record.proofs.iter().map(|proof| proof.judged).sum();
            let wrong: u64 = self.record.proofs.iter().map(|proof| proof.wrong).sum();
            self.say(&format!("{judged} reductions between other kernels, {wrong} wrong"));
            if wrong > 0 {
                self.problems.push(format!("{wrong} of {judged} reductions between other kernels: WRONG"));
            }
        }
        self.save()
    }

    fn typed<T: Element>(&mut self) -> Result<()> {
        let sizes = self.sizes_that_fit::<T>();
        let Some(&n_max) = sizes.last() else { return Ok(()) };
        self.say(&format!("{}: making {n_max} numbers", T::NAME));
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
        for n in HOST_SIZES.into_iter().filter(|&n| n <= n_max && n >= 1 << self.options.sizes.start()) {
            self.by_the_host(&pool, n)?;
        }
        if !self.options.quick {
            for n in RAGGED_N.into_iter().filter(|&n| n <= n_max) {
                self.ragged(&pool, n)?;
            }
            // One type tells what there is to tell of shapes.
            if SWEEP_N <= n_max && T::TYPE == Type::I32 {
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
            self.say(&format!("{}: {first} numbers and more do not fit and are left out", T::NAME));
        }
        fit
    }

    /// Everything at one size, in turns: the contests at every size, all variants at powers of two.
    fn one_size<T: Element>(&mut self, pool: &mut Pool<T>, n: u64) -> Result<()> {
        let begin = Instant::now();
        if n <= IN_PLACE_N_MAX {
            pool.make_scratch(&self.bench.device, n, 0)?;
        }
        let group = self.measured(pool, n, &|suite| {
            let mut entrants = suite.contestants::<T>(n)?;
            if n.is_power_of_two() {
                entrants.extend(suite.others::<T>(n)?);
            }
            Ok(entrants)
        });
        let what = format!("{} {n}", T::NAME);
        let (cases, failed) = self.attempt(&what, group)?.unwrap_or_default();
        let count = cases.len();
        self.take(cases, None);
        self.note_failed::<T>(n, failed)?;
        let summary = |contest, rules: &str| {
            let ours = self.record.us_in(contest, CHAMPION, T::TYPE, n)?;
            let ratio = self.record.ratio(contest, T::TYPE, n);
            Some(format!("; {rules} {ours:.2} us{}", ratio.map_or(String::new(), |ratio| format!(" {ratio:.3}x"))))
        };
        let contests = [summary(Contest::Alone, "alone"), summary(Contest::BackToBack, "back to back")];
        let contests: String = contests.into_iter().flatten().collect();
        self.say(&format!("{what}: {count} cases in {:.1} s{contests}", begin.elapsed().as_secs_f64()));
        Ok(())
    }

    /// Replays what `entrants` makes, cold, and warm where the L2 holds a power of two.
    fn measured<T: Element>(
        &self,
        pool: &Pool<T>,
        n: u64,
        entrants: &dyn for<'s> Fn(&'s Suite<'o>) -> Result<Vec<Entrant<'s, T>>>,
    ) -> Result<Group> {
        let device = &self.bench.device;
        let cold = pool.slices(device, n, 0);
        let (to_destroy, restore) = pool.slices_to_destroy(device, n, 0);
        let slices = Slices { cold: &cold, to_destroy: &to_destroy, restore };
        let references = pool.references(&cold, n);
        let input = Input::new(n, &references);
        let is_kept = |entrant: &Entrant<'_, T>| {
            let failed = |f: &&(Contest, String, &str)| {
                (f.0, f.1.as_str(), f.2) == (entrant.contest, entrant.name.as_str(), T::NAME)
            };
            !self.failed.iter().any(|f| failed(&f))
        };
        let entrants: Vec<_> = entrants(self)?.into_iter().filter(is_kept).collect();
        if entrants.is_empty() {
            return Ok(Group::default());
        }
        let exact = arrays::exact_references(&entrants, pool, Op::Sum, &cold, n);
        let input = Input { exact: &exact, ..input };
        let (mut cases, failed, entrants) = self.without_failures(entrants, slices, input)?;
        if n.is_power_of_two() && self.bench.stays_warm(n * T::BYTES as u64) {
            let is_warm = |entrant: &Entrant<'_, T>| {
                let is_whole = ABLATIONS.iter().all(|(name, _)| *name != entrant.name) && entrant.name != WITH_MEMSET;
                entrant.contest == Contest::Alone && is_whole && !entrant.destroys()
            };
            let warm: Vec<_> = entrants.into_iter().filter(is_warm).collect();
            if !warm.is_empty() {
                cases.extend(self.bench.warm(&warm, slices, input)?);
            }
        }
        Ok((cases, failed))
    }

    /// The cases of those that can be measured; where the group fails, each is tried by itself first.
    #[allow(clippy::type_complexity)] // what Group is, and who is left
    fn without_failures<'s, T: Element>(
        &self,
        entrants: Vec<Entrant<'s, T>>,
        slices: Slices<'_, '_, T>,
        input: Input<'_>,
    ) -> Result<(Vec<MeasuredCase>, Vec<(Contest, String, String)>, Vec<Entrant<'s, T>>)> {
        let error = match self.bench.contest(&entrants, slices, input) {
            Ok(cases) => return Ok((cases, Vec::new(), entrants)),
            Err(error) => error,
        };
        let (mut kept, mut failed) = (Vec::new(), Vec::new());
        for entrant in entrants {
            match self.bench.contest(std::slice::from_ref(&entrant), slices, input) {
                Ok(_) => kept.push(entrant),
                Err(error) => failed.push((entrant.contest, entrant.name, format!("{error:#}"))),
            }
        }
        if failed.is_empty() || kept.is_empty() {
            return Err(error);
        }
        let cases = self.bench.contest(&kept, slices, input)?;
        Ok((cases, failed, kept))
    }

    /// Notes failures as problems; they are not tried at the next size.
    fn note_failed<T: Element>(&mut self, n: u64, failed: Vec<(Contest, String, String)>) -> Result<()> {
        for (contest, name, why) in failed {
            self.attempt::<()>(&format!("{name} {contest:?} {} n = {n}", T::NAME), Err(anyhow::anyhow!(why)))?;
            self.failed.push((contest, name, T::NAME));
        }
        Ok(())
    }

    /// The variants for this type that the device can run and that reduce an array to one value, each with its session.
    fn variants<T: Element>(&self) -> Vec<(&Session<'static>, &'static Variant)> {
        let of_session = |session| {
            let variants = Session::variants_for(session, T::TYPE).filter(|variant| variant.per == Per::Array);
            variants.map(|variant| (session, variant)).collect::<Vec<_>>()
        };
        self.sessions.iter().flat_map(of_session).collect()
    }

    fn champion<T: Element>(&self) -> Option<(&Session<'static>, &'static Variant)> {
        self.variants::<T>()
            .into_iter()
            .find(|(session, variant)| (session.chapter.slug, variant.name) == (CONTEST, CHAMPION))
    }

    /// The champion and the libraries, by the rules of both contests; at some sizes the champion without one of its ideas.
    fn contestants<T: Element>(&self, n: u64) -> Result<Vec<Entrant<'_, T>>> {
        let Some((session, variant)) = self.champion::<T>() else { return Ok(Vec::new()) };
        let mut entrants = Vec::new();
        for contest in [Contest::Alone, Contest::BackToBack] {
            let overlap = contest == Contest::BackToBack;
            if !overlap || variant.overlaps {
                let options = LaunchOptions { overlap, ..LaunchOptions::default() };
                entrants.push(Entrant::ours(session, variant, options, n)?.named(ENTRANT));
                entrants.push(if overlap {
                    let plan = ablation::not_ahead(session.plan(variant, T::TYPE, n, options)?);
                    Entrant::planned(session, variant, options, plan)?.named(NOT_AHEAD)
                } else {
                    Entrant::ours(session, variant, options, n)?.with_state(State::Cleared).named(WITH_MEMSET)
                });
            }
            entrants.extend(self.libraries.entrants::<T>(&self.bench.device, contest, n)?);
        }
        if measurement::ABLATION_SIZES.contains(&n) && T::TYPE != Type::F64 {
            entrants.extend(ablation::entrants::<T>(session, variant, n)?);
        }
        Ok(entrants)
    }

    /// Every other variant, alone.
    fn others<T: Element>(&self, n: u64) -> Result<Vec<Entrant<'_, T>>> {
        let is_other = |(session, variant): &(&Session<'static>, &Variant)| {
            (session.chapter.slug, variant.name) != (CONTEST, CHAMPION) && (!variant.in_place || n <= IN_PLACE_N_MAX)
        };
        let others = self.variants::<T>().into_iter().filter(is_other);
        others.map(|(session, variant)| Entrant::ours(session, variant, LaunchOptions::default(), n)).collect()
    }

    /// The champion around n, where it divides by nothing, and where the input begins between two vectors.
    fn ragged<T: Element>(&mut self, pool: &Pool<T>, n: u64) -> Result<()> {
        for (n, offset) in [(n - 1, 0), (n + 1, 0), (n, 1), (n, 2), (n, 3)] {
            let measured = || -> Result<Vec<MeasuredCase>> {
                let Some((session, variant)) = self.champion::<T>() else { return Ok(Vec::new()) };
                let cold = pool.slices(&self.bench.device, n, offset);
                let references = pool.references(&cold, n);
                let entrant = Entrant::ours(session, variant, LaunchOptions::default(), n)?.named(ENTRANT);
                self.bench.contest(&[entrant], Slices::kept(&cold), Input { offset, ..Input::new(n, &references) })
            };
            let measured = measured();
            let cases = self.attempt(&format!("{CHAMPION} {} n = {n} offset {offset}", T::NAME), measured)?;
            self.take(cases.unwrap_or_default(), None);
        }
        self.say(&format!("{}: ragged and shifted inputs around {n}", T::NAME));
        Ok(())
    }

    /// The champion and the library as a program calls them that has no graph.
    fn by_the_host<T: Element>(&mut self, pool: &Pool<T>, n: u64) -> Result<()> {
        let measured = || -> Result<Vec<MeasuredCase>> {
            let Some(ours) = self.champion::<T>() else { return Ok(Vec::new()) };
            let cold = pool.slices(&self.bench.device, n, 0);
            let cold = &cold[..cold.len().min(1)];
            let references = pool.references(cold, n);
            let (slices, input) = (Slices::kept(cold), Input::new(n, &references));
            let entrants = host::entrants::<T>(&self.bench, ours, &self.libraries, n)?;
            let cases = entrants.iter().map(|entrant| self.bench.host(entrant, slices, input));
            Ok(cases.collect::<Result<Vec<_>>>()?.concat())
        };
        let measured = measured();
        let cases = self.attempt(&format!("calls by the host, {} n = {n}", T::NAME), measured)?;
        self.take(cases.unwrap_or_default(), None);
        Ok(())
    }

    /// Every block size, factor and grid of the variants that have a choice.
    fn sweeps<T: Element>(&mut self, pool: &mut Pool<T>, n: u64) -> Result<()> {
        pool.make_scratch(&self.bench.device, n, 0)?;
        for (session, variant) in self.variants::<T>().into_iter().map(|(s, v)| (s.chapter.slug, v)).collect::<Vec<_>>()
        {
            let blocks =
                SWEEP_BLOCKS.into_iter().filter(|&block| variant.blocks.allows(block)).map(LaunchOptions::block);
            let factors = variant.factors.iter().flat_map(|factors| factors.values);
            let factors = factors.map(|&factor| LaunchOptions { factor: Some(factor), ..LaunchOptions::default() });
            let grids = self.grids::<T>(session, variant, n).into_iter();
            let grids = grids.map(|grid| LaunchOptions { grid: Some(grid), ..LaunchOptions::default() });
            self.sweep(pool, (session, variant), (blocks.collect(), "block"), n)?;
            self.sweep(pool, (session, variant), (factors.collect(), "factor"), n)?;
            self.sweep(pool, (session, variant), (grids.collect(), "grid"), n)?;
        }
        self.say(&format!("{}: sweeps of blocks, factors and grids", T::NAME));
        Ok(())
    }

    /// One variant by several options, in turns.
    fn sweep<T: Element>(
        &mut self,
        pool: &Pool<T>,
        (slug, variant): (&str, &'static Variant),
        (options, swept): (Vec<LaunchOptions>, &str),
        n: u64,
    ) -> Result<()> {
        let group = self.measured(pool, n, &|suite| {
            let Some(session) = suite.session(slug) else { return Ok(Vec::new()) };
            let mut entrants = Vec::new();
            for &options in &options {
                let entrant = Entrant::ours(session, variant, options, n)?;
                // A plan may have no such block.
                if options.block.is_none_or(|block| entrant.plan().and_then(|plan| plan.block()) == Some(block)) {
                    let is_champion = (slug, variant.name) == (CONTEST, CHAMPION);
                    entrants.push(if is_champion { entrant.named(ENTRANT) } else { entrant });
                }
            }
            Ok(entrants)
        });
        let what = format!("{} {} {swept}s", variant.name, T::NAME);
        let (mut cases, failed) = self.attempt(&what, group)?.unwrap_or_default();
        cases.retain(|case| case.contest == Contest::Alone);
        self.take(cases, Some(swept));
        self.problems.extend(failed.into_iter().map(|(_, name, why)| format!("{name} {swept}: {why}")));
        Ok(())
    }

    /// The grids of a sweep, for a variant that takes any; none for one whose grid follows from its input.
    fn grids<T: Element>(&self, slug: &str, variant: &'static Variant, n: u64) -> Vec<u32> {
        let multiprocessors = self.bench.device.card().multiprocessors;
        let of_card = SWEEP_GRID_FACTORS.map(|factor| factor * multiprocessors);
        let grids: Vec<u32> = std::iter::once(SWEEP_GRID).chain(of_card).collect();
        let Some(session) = self.session(slug) else { return Vec::new() };
        let is_taken = |&grid: &u32| {
            let options = LaunchOptions { grid: Some(grid), ..LaunchOptions::default() };
            session.plan(variant, T::TYPE, n, options).is_ok()
        };
        if grids.iter().all(is_taken) { grids } else { Vec::new() }
    }

    /// More numbers than 32 bits can count, in one call.
    fn more_than_32_bits(&mut self, source: &KernelSource) -> Result<()> {
        if self.options.quick || !self.options.types_of_sums().contains(&Type::F32) || *self.options.sizes.end() < 30 {
            return Ok(());
        }
        let Some((session, variant)) = self.champion::<f32>() else { return Ok(()) };
        if variant.n_max < huge::N {
            self.say(&format!("{CHAMPION} takes {} numbers: {} are left out", variant.n_max, huge::N));
            return Ok(());
        }
        let cases = huge::all(&self.bench, session, variant, &self.libraries, (huge::N, huge::PERIOD), source);
        let cases = self.attempt("2^33 numbers", cases)?.unwrap_or_default();
        self.say(&format!("f32 2^33: {} cases", cases.len()));
        self.take(cases, None);
        Ok(())
    }

    /// The contest of a chapter that has one of its own.
    #[cfg(test)]
    fn table(&self, slug: &str) -> Option<&ContestTable> {
        self.tables.iter().find(|table| table.chapter == slug)
    }

    /// Session of a chapter that is measured.
    fn session(&self, slug: &str) -> Option<&Session<'static>> {
        self.sessions.iter().find(|session| session.chapter.slug == slug)
    }

    /// Takes cases in; one that is wrong, and not announced to be, is a problem.
    fn take(&mut self, cases: Vec<MeasuredCase>, swept: Option<&str>) {
        for mut case in cases {
            case.swept = swept.map(str::to_owned);
            if !case.ok && !self.is_announced(case.name()) {
                let MeasuredCase { contest, entrant, offset, .. } = &case;
                let (op, ty, n) = (case.op(), &case.ty, case.n);
                self.problems.push(format!("{entrant} {contest:?} {op} {ty} n = {n} offset {offset}: WRONG"));
            }
            self.record.cases.push(case);
        }
    }

    /// Does something on the GPU by the lock of the options.
    pub(super) fn alone<V>(&self, work: impl FnOnce() -> Result<V>) -> Result<V> {
        alone(self.options.lock.as_deref(), work)
    }

    fn is_announced(&self, name: &str) -> bool {
        let variant = self.sessions.iter().find_map(|session| session.chapter.variant(name));
        variant.is_some_and(|variant| variant.announced.is_some())
    }

    /// Result of a part; if it failed, `None`, and a line among the problems.
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

    /// Writes the record, each case with its limit, which is known by now if it ever will be.
    fn save(&mut self) -> Result<()> {
        for i in 0..self.record.cases.len() {
            let limit_us = self.record.limit_of(&self.record.cases[i]);
            self.record.cases[i].limit_us = limit_us;
        }
        Ok(measurement::save(&self.record, &self.out)?)
    }

    fn say(&self, what: &str) {
        eprintln!("{:>6.1} s  {what}", self.begin.elapsed().as_secs_f64());
    }
}

mod contests;
#[cfg(test)]
mod tests;
