//! `cargo course tune`: times the teams that may hold the rows of a matrix on this machine's GPU, and says how far the plan's own is
//! from the fastest. Shapes of long rows are chosen by what was measured on a few cards; this asks another.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use device::{Device, Graph, KernelSource, Replays, SimOptions, Step, Timed};
use lab::cli::whole;
use lab::clock::{self, Flush};
use lab::element::Element;
use lab::record::load_json;
use lab::search::{Searched, Searches};
use lab::session::Arrays;
use lab::session::built_root;
use lab::{Chapter, LaunchOptions, Matrix, Op, Plan, Planned, Problem, Session, Type, Variant, hardware};
use reduction::families::{norms, softmax};
use reduction::team::Shape;

use crate::measure::bench::POISON;
use crate::measure::matrices::{is_right, numbers, set_second, some_rows};
use crate::measure::task::Task;
use crate::measure::{alone, date, open_gpu};

mod shapes;

/// Options of `cargo course tune`.
#[derive(clap::Args)]
pub struct Options {
    /// Operations over the rows of matrices: of softmax's chapter, and norms forward
    #[arg(required = true, value_name = "OPERATION", value_parser = lab::cli::operations())]
    ops: Vec<Op>,
    /// Types of the elements
    #[arg(long = "type", value_parser = lab::cli::types(), value_delimiter = ',', default_value = "f32")]
    types: Vec<Type>,
    /// Rows and columns of each matrix
    #[arg(long, value_name = "ROWSxCOLUMNS", value_parser = parse_shape, value_delimiter = ',', default_values = SHAPES)]
    shapes: Vec<(u64, u64)>,
    /// File to write; what it holds of this card and commit is kept, and not measured again
    #[arg(long, value_name = "FILE.json")]
    out: Option<PathBuf>,
    /// File that is locked while the GPU measures, for programs that take turns at it
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,
    /// Begins no further shape after so many seconds
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
}

const SHAPES: [&str; 5] = ["16384x4096", "4096x16384", "1024x65536", "256x262144", "8x8388608"];
/// Replays of each team, and of the fastest ones once more, in turns.
const REPLAYS: u32 = 3;
const FINAL_REPLAYS: u32 = 7;
/// Teams of the final.
const FINALISTS: usize = 4;
/// A team that takes longer than the fastest by more than this is not written.
const NEAR: f64 = 1.1;
/// The GPU is busy all the time here, so that its clocks need not rise again.
const WARM_UP: Duration = Duration::from_millis(1);

/// `1024x65536`
fn parse_shape(text: &str) -> std::result::Result<(u64, u64), String> {
    let number = |word: &str| whole::<u64>(&word.replace(',', "")).ok().filter(|n| (1..=1 << 31).contains(n));
    let (rows, cols) = text.split_once(['x', '×']).ok_or("expected rows and columns, such as 1024x65536")?;
    let shape = number(rows).zip(number(cols)).ok_or("expected two whole numbers from 1 on, such as 1024x65536")?;
    if shape.0.saturating_mul(shape.1) > 1 << 32 {
        Err("that is more than 2^32 elements".to_owned())
    } else {
        Ok(shape)
    }
}

/// A chapter's kernels for teams.
struct Family {
    chapter: &'static Chapter,
    shape_for: fn(&reduction::Problem<'_>, Matrix) -> Shape,
    plan_for: fn(&reduction::Problem<'_>, Shape) -> Plan,
    /// Threads of a multiprocessor that take rows in turns, if there are kernels for that.
    resident: Option<u32>,
}

/// The family that has this operation.
fn family(op: Op) -> Result<Family> {
    let has = |chapter: &Chapter| chapter.variants.last().is_some_and(|variant| variant.ops.contains(&op));
    let (softmax_chapter, norms_chapter) = (&ch11_softmax::CHAPTER, &ch12_norms::CHAPTER);
    if has(softmax_chapter) {
        let (shape_for, plan_for) = (softmax::shape_for, softmax::plan_for);
        return Ok(Family { chapter: softmax_chapter, shape_for, plan_for, resident: None });
    }
    if has(norms_chapter) && !op.has_weight_gradients() {
        let (shape_for, plan_for) = (norms::shape_for, norms::plan_for);
        return Ok(Family { chapter: norms_chapter, shape_for, plan_for, resident: Some(norms::PERSISTENT_THREADS) });
    }
    let all = softmax_chapter.variants.iter().chain(norms_chapter.variants).flat_map(|variant| variant.ops);
    let mut known: Vec<&str> = all.filter(|op| !op.has_weight_gradients()).map(|op| op.name()).collect();
    known.sort_unstable();
    known.dedup();
    bail!("{op}: only these operations have teams to choose from: {}", known.join(", "))
}

/// State of a run.
struct Tuner<'o> {
    options: &'o Options,
    flush: Flush,
    record: Searches,
    begin: Instant,
}

/// Runs the verb.
///
/// # Errors
/// No GPU or no compiler, an operation without teams, a file that cannot be written, a shape that could not be timed.
pub fn run(options: &Options) -> Result<()> {
    let families = options.ops.iter().map(|&op| Ok((op, family(op)?))).collect::<Result<Vec<_>>>()?;
    for (op, family) in &families {
        let computes = |ty: &&Type| family.chapter.variants.iter().any(|variant| variant.computes(*op, **ty));
        if let Some(ty) = options.types.iter().find(|ty| !computes(ty)) {
            bail!("--type {ty}: {op} is computed of f32, bf16 and f16");
        }
    }
    let device = Rc::new(open_gpu("tuning")?);
    let source = KernelSource::find(clock::CEILING, &built_root())?;
    if !device.can_compile(&source) {
        bail!("tuning compiles a kernel for each team, and there is no compiler: `cargo course setup` installs it");
    }
    let flush = Flush::new(&device, &source)?;
    let mut record = empty_record(&device, source.root());
    if let Some(out) = &options.out {
        take_in_earlier(&mut record, out)?;
    }
    let mut tuner = Tuner { options, flush, record, begin: Instant::now() };
    let mut failed = Vec::new();
    for (op, family) in &families {
        let own = KernelSource::in_root(source.root(), family.chapter.slug);
        let session = Session::on(family.chapter, own, Rc::clone(&device), SimOptions::default())?;
        for &ty in &options.types {
            let done = match ty {
                Type::F32 => tuner.all::<f32>(&session, family, *op),
                Type::BF16 => tuner.all::<half::bf16>(&session, family, *op),
                Type::F16 => tuner.all::<half::f16>(&session, family, *op),
                _ => continue, // refused above
            };
            failed.extend(done?);
        }
    }
    println!("{}", tuner.record.summary());
    if failed.is_empty() { Ok(()) } else { bail!("{} shapes were not timed:\n{}", failed.len(), failed.join("\n")) }
}

fn empty_record(device: &Device, root: &Path) -> Searches {
    let description = device.description().clone();
    Searches {
        device: description.name,
        driver: description.driver,
        commit: hardware::commit(root),
        date: date(),
        method: method(),
        cases: Vec::new(),
    }
}

fn method() -> String {
    format!(
        "us is a call, cold: each call of a graph has arrays of its own, and before each replay a kernel reads four times the L2. Each \
         team is timed by the median of {REPLAYS} replays; the plan's and the fastest {FINALISTS} twice more, by the median of \
         {FINAL_REPLAYS}, and the smallest counts. Teams that take at most {NEAR} times as long as the fastest are listed. Rows of the \
         fastest one's results are judged."
    )
}

/// Takes over what `out` holds, which must be of the same card and sources.
fn take_in_earlier(record: &mut Searches, out: &Path) -> Result<()> {
    let Some(earlier) = load_json::<Searches>(out)? else { return Ok(()) };
    let of = |record: &Searches| (record.device.clone(), record.driver.clone(), record.commit.clone());
    if of(&earlier) != of(record) {
        bail!("--out: {} is of another card, driver or commit; name another file", out.display());
    }
    record.cases = earlier.cases;
    Ok(())
}

impl Tuner<'_> {
    /// Searches for all shapes of one operation and type. Returns a line for each that failed.
    fn all<T: Element>(&mut self, session: &Session<'_>, family: &Family, op: Op) -> Result<Vec<String>> {
        let is_known = |record: &Searches, (rows, cols)| {
            record.cases.iter().any(|case| case.is_of(op, T::TYPE) && (case.rows, case.cols) == (rows, cols))
        };
        let left: Vec<(u64, u64)> =
            self.options.shapes.iter().copied().filter(|&shape| !is_known(&self.record, shape)).collect();
        let tasks: Vec<Task> = left.iter().map(|&shape| Task::matrix("", op, shape)).collect();
        let Some(most) = tasks.iter().map(Task::read).max() else { return Ok(Vec::new()) };
        if self.is_late() {
            eprintln!("{op} {}: no time was left", T::NAME);
            return Ok(Vec::new());
        }
        let Some(variant) = session.chapter.variants.last() else { return Ok(Vec::new()) };
        let plans: Vec<Vec<Planned>> =
            tasks.iter().map(|task| plans::<T>(session, variant, family, task)).collect::<Result<_>>()?;
        let all = plans.concat();
        eprintln!("{op} {}: compiling {} plans", T::NAME, all.len());
        session.compile_ahead(variant, &all)?;
        let values = numbers::<T>(most);
        let mut failed = Vec::new();
        for (task, plans) in tasks.iter().zip(plans) {
            if self.is_late() {
                eprintln!("{op} {}: no time was left for {} x {}", T::NAME, task.shape().0, task.shape().1);
                continue;
            }
            let search = || self.search::<T>(session, variant, (task, &values), plans);
            match alone(self.options.lock.as_deref(), search) {
                Ok(found) => {
                    println!("{found}");
                    self.record.cases.push(found);
                    self.save()?;
                }
                Err(error) => {
                    let (rows, cols) = task.shape();
                    failed.push(format!("{op} of {}, {rows} x {cols}: {error:#}", T::NAME));
                }
            }
        }
        Ok(failed)
    }

    fn is_late(&self) -> bool {
        self.options.seconds.is_some_and(|seconds| self.begin.elapsed().as_secs() >= seconds)
    }

    fn save(&self) -> Result<()> {
        let Some(out) = &self.options.out else { return Ok(()) };
        let text = format!("{}\n", serde_json::to_string(&self.record)?);
        std::fs::write(out, text).with_context(|| format!("cannot write {}", out.display()))
    }

    /// Times all plans of one task, the first of which is the plan's own.
    fn search<T: Element>(
        &self,
        session: &Session<'_>,
        variant: &Variant,
        (task, values): (&Task, &[T]),
        plans: Vec<Planned>,
    ) -> Result<Searched> {
        let device = session.device();
        let values = &values[..task.read() as usize];
        let original = device.upload("in", values)?;
        let bytes = original.bytes() + plans.first().map_or(0, |plan| plan.more_bytes(T::TYPE, task.n));
        let count = clock::copies(device, bytes);
        let copies = (1..count).map(|_| Ok(device.duplicate(&original)?)).collect::<Result<Vec<_>>>()?;
        let inputs: Vec<_> = std::iter::once(original).chain(copies).collect();
        let flush = self.flush.call();
        let time = |plan: &Planned, replays: u32, is_judged: bool| -> Result<f64> {
            let arrays = inputs.iter().map(|_| Ok(session.arrays::<T>(plan)?)).collect::<Result<Vec<_>>>()?;
            let timed = inputs.iter().zip(&arrays).map(|(input, arrays)| {
                let mut calls = session.calls(variant, plan, (input, 0), arrays)?;
                set_second(&mut calls, plan, input, task);
                Ok(Timed::Launches(calls))
            });
            let timed = timed.collect::<Result<Vec<_>>>()?;
            let replays = Replays { warm_up: WARM_UP, ..Replays::new(replays, Some(&flush)) };
            // What is judged was poison before.
            let judged = arrays.iter().filter(|_| is_judged).filter_map(Arrays::last);
            let before = judged.map(|results| Step::Fill(results, POISON)).collect();
            let graphs = [Graph { calls: timed, before, output: None }];
            let timing = device.replay::<T>(&graphs, &replays)?.into_iter().next().and_then(|replayed| replayed.timing);
            if is_judged && !is_right(device, task, (plan, plan.additions()), &arrays[0], values, &some_rows(task))? {
                bail!("{} is wrong", plan.passes[0].kernel);
            }
            // A simulator has no clock, and judges alone.
            Ok(timing.map_or(0.0, |timing| timing.median_us))
        };
        // A team that this card cannot launch is no candidate.
        let us = |plan: &Planned| time(plan, REPLAYS, false);
        let own = us(plans.first().context("there is no plan")?)?;
        let mut found: Vec<(usize, f64)> =
            (1..plans.len()).filter_map(|i| Some((i, us(&plans[i]).ok()?))).chain([(0, own)]).collect();
        let tried = found.len();
        found.sort_by(|a, b| a.1.total_cmp(&b.1));
        let is_finalist = |place: usize, i: usize| place < FINALISTS || i == 0;
        for _ in 0..2 {
            for (_, (i, us)) in found.iter_mut().enumerate().filter(|(place, (i, _))| is_finalist(*place, *i)) {
                *us = us.min(time(&plans[*i], FINAL_REPLAYS, false)?);
            }
        }
        found.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (best, best_us) = found[0];
        time(&plans[best], 1, true)?;
        let near = found.iter().filter(|(i, us)| *us <= NEAR * best_us || *i == 0);
        let (rows, cols) = task.shape();
        Ok(Searched {
            op: task.op.name().to_owned(),
            ty: T::NAME.to_owned(),
            rows,
            cols,
            tried: tried as u64,
            us: near.map(|&(i, us)| (lab::search::team(&plans[i]), (us * 100.0).round() / 100.0)).collect(),
            chosen: lab::search::team(&plans[0]),
        })
    }
}

/// The plan's own and those of all other teams.
fn plans<T: Element>(session: &Session<'_>, variant: &Variant, family: &Family, task: &Task) -> Result<Vec<Planned>> {
    let (rows, cols) = task.shape();
    let matrix = Matrix::dense(rows, cols);
    let options = LaunchOptions::over(task.op, matrix);
    let own = session.plan(variant, T::TYPE, task.n, options)?;
    let problem = Problem::new(variant, T::TYPE, task.n, options).on(session.device().card(), true);
    let chosen = (family.shape_for)(&problem, matrix);
    let others = shapes::candidates(&problem, matrix, family.resident).into_iter().filter(|shape| *shape != chosen);
    let others: Vec<Planned> =
        others.map(|shape| Planned { plan: (family.plan_for)(&problem, shape), ..own.clone() }).collect();
    Ok(std::iter::once(own).chain(others).collect())
}

#[cfg(test)]
mod tests {
    use device::Choice;

    use super::*;

    #[test]
    fn a_shape_is_two_numbers() {
        assert_eq!(parse_shape("1024x65536"), Ok((1024, 65_536)));
        assert_eq!(parse_shape("1,024×65_536"), Ok((1024, 65_536)));
        for wrong in ["", "x", "0x5", "5x0", "1024", "axb", "-1x5", "65537x65536"] {
            assert!(parse_shape(wrong).is_err(), "{wrong}");
        }
    }

    /// The plan's own team and another, of committed kernels, over 4 rows of 500 floats on the simulator; the other launches so many
    /// blocks of its four.
    fn searched(blocks: u32) -> Result<Searched> {
        let device = Rc::new(Device::open(Choice::Sim, SimOptions::default())?);
        let (root, family) = (built_root(), family(Op::Softmax)?);
        let own = KernelSource::in_root(&root, family.chapter.slug);
        let session = Session::on(family.chapter, own, Rc::clone(&device), SimOptions::default())?;
        let options = Options { ops: vec![], types: vec![], shapes: vec![], out: None, lock: None, seconds: None };
        let flush = Flush::new(&device, &KernelSource::in_root(&root, clock::CEILING))?;
        let tuner = Tuner { options: &options, flush, record: Searches::default(), begin: Instant::now() };
        let (variant, task) = (family.chapter.variants.last().unwrap(), Task::matrix("", Op::Softmax, (4, 500)));
        let planned = session.plan(variant, Type::F32, task.n, task.options())?;
        let problem = Problem::new(variant, Type::F32, task.n, task.options());
        let plan = |block: u32| {
            let shape = Shape::Block { block, vectors: 2 };
            let mut plan = Planned { plan: (family.plan_for)(&problem, shape), ..planned.clone() };
            plan.plan.passes[0].geometry.grid[0] = if block == 256 { blocks } else { 4 };
            plan
        };
        tuner.search::<f32>(&session, variant, (&task, &numbers(task.read())), vec![plan(64), plan(256)])
    }

    #[test]
    fn the_fastest_team_is_judged_row_by_row() {
        let found = searched(4).unwrap();
        assert_eq!((found.tried, found.chosen.as_str(), found.us.len()), (2, "block t64v2", 2));
        let wrong = searched(3).unwrap_err().to_string();
        assert_eq!(wrong, "block_softmax_t256v2_f32 is wrong");
    }

    /// Teams that are not listed took a tenth more than the fastest, or were not tried.
    #[test]
    fn plans_are_near_the_fastest_that_was_found() {
        let team_of = |case: &Searched, card: &'static reduction::Card| {
            let (op, ty) = (Op::from_name(&case.op).unwrap(), Type::from_name(&case.ty).unwrap());
            let (family, matrix) = (family(op).unwrap(), Matrix::dense(case.rows, case.cols));
            let variant = family.chapter.variants.last().unwrap();
            let options = LaunchOptions::over(op, matrix);
            let problem = Problem::new(variant, ty, case.rows * case.cols, options).on(card, true);
            let plan = (family.plan_for)(&problem, (family.shape_for)(&problem, matrix));
            lab::search::team(&Planned { plan, layout: problem.layout(), ..Planned::default() })
        };
        for (name, file) in lab::search::RECORDS {
            let searches: Searches = load_json(&built_root().join(file)).unwrap().unwrap();
            let card = reduction::Card::named().find(|(card, _)| *card == name).unwrap().1;
            let teams = searches.cases.iter().map(|case| (case, team_of(case, card)));
            // On the H100 blocks of powers of two alone were tried.
            let was_tried = |team: &str| name != "h100" || block_of(team).is_none_or(u32::is_power_of_two);
            let (tried, others): (Vec<_>, Vec<_>) = teams.partition(|(_, team)| was_tried(team));
            let over = |(case, team): &(&Searched, String)| {
                case.over_best(team).unwrap_or_else(|| panic!("{team} is not listed; search anew: {case}"))
            };
            let ratios: Vec<f64> = tried.iter().map(over).collect();
            let mean = lab::measurement::geometric_mean(ratios.iter().copied()).unwrap();
            let least = if name == "h100" { 25 } else { 1000 };
            let are_near = mean <= 1.02 && ratios.iter().all(|ratio| *ratio <= 1.1);
            assert!(ratios.len() >= least && others.len() <= 5 && are_near, "{name}: {mean}: {ratios:?}, {others:?}");
        }
    }

    /// Threads of the block of `block t192v3`.
    fn block_of(team: &str) -> Option<u32> {
        let of_block = team.strip_prefix("block t")?;
        of_block.split('v').next()?.parse().ok()
    }

    #[test]
    fn operations_without_teams_are_refused_with_those_that_have_them() {
        assert!(family(Op::Softmax).is_ok() && family(Op::AddRmsNorm).is_ok());
        for op in [Op::Sum, Op::LayerNormBackward] {
            let refused = family(op).err().unwrap().to_string();
            assert!(refused.contains("cross_entropy, ") && !refused.contains("rms_norm_backward"), "{refused}");
        }
    }
}
