//! Runs of exercises as the lab of the pages takes them: the data of a lab (see `crate::figures`) whose variants are the kernels of the
//! exercise, each with the one case that shows most about it.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use device::{Choice, Device, SimOptions};
use lab::op::OnHost as _;
use lab::op::Outcome;
use lab::{Array, Layout, Op, Planned, Type};
use serde_json::{Value, json};

use super::bench::{Answer, Bench};
use super::case::{Case, TODAYS};
use super::choose::Choose;
use super::copy::{self, Compiled};
use super::fill::Fill;
use super::item::Item;
use super::judge::{self, Failure};
use super::matrices;
use super::predict::Predict;
use super::write::{Exercise, Launches};
use crate::figures;

/// Data of a lab, and a sentence about it.
pub struct Scene {
    /// The data of the lab.
    pub data: Value,
    /// A sentence for the terminal.
    pub caption: String,
}

/// A case as a lab shows it: with its plan and its numbers.
struct Shown<'c> {
    case: Case,
    plan: &'c Planned,
    elements: &'c [i32],
    op: Op,
    /// True if kernels add to what is in the arrays of sums.
    adds: bool,
    /// The plan of a launch before, of all elements, which left the workspace as it is.
    before: Option<&'c Planned>,
    /// The launch to look at.
    launch: usize,
}

impl Shown<'_> {
    /// Data of a case of a lab's variant, with the numbers themselves and the right result.
    fn json(&self) -> Value {
        let Shown { case: Case { offset, n, .. }, plan, elements, op, before, .. } = *self;
        let padding = elements.iter().copied().cycle().take(offset);
        let held: Vec<i32> = padding.chain(elements.iter().copied()).collect();
        let elements = &elements[..n as usize];
        let mut buffers = vec![json!({ "spec": format!("in=i32[{}]:zero", held.len()), "elements": held })];
        // The first word of a place, which is no element, is its index; it has no identity in words either.
        let is_place = !matches!(op.outcome(Type::I32), Outcome::Number(_));
        let fill = match self.adds {
            true if is_place => "zero".to_owned(),
            true => format!("const({})", op.identity(Type::I32)),
            false => "zero(0)".to_owned(),
        };
        // Arrays of the launch before, if they are others.
        let earlier = before.filter(|_| !self.case.keeps_out).map_or(&[][..], |plan| &plan.sums);
        let sums = earlier.iter().chain(&plan.sums).enumerate();
        buffers.extend(sums.map(|(i, len)| json!(format!("sums{i}=i32[{len}]:{fill}"))));
        if plan.state_words > 0 {
            buffers.push(json!(format!("state=u64[{}]:zero", plan.state_words)));
        }
        let first = before.map_or(&[][..], |plan| &plan.passes);
        let mut launches: Vec<Value> = first.iter().map(|pass| self.launch_json(pass, 0)).collect();
        launches.extend(plan.passes.iter().map(|pass| self.launch_json(pass, earlier.len())));
        let last = plan.sums.len().saturating_sub(1);
        if let Layout::Ragged(offsets) = plan.layout {
            buffers.push(figures::offsets(&offsets));
        }
        let block = plan.passes.first().map_or(0, lab::Pass::block);
        let values = match plan.layout {
            Layout::Array if is_place => 1,
            Layout::Array => *plan.sums.get(last).unwrap_or(&1),
            rows => rows.values(),
        };
        let mut case = json!({
            "n": elements.len(), "block": block, "grid": null, "shown": self.launch, "buffers": buffers, "launches": launches,
            "result": format!("sums{}:{values}", earlier.len() + last),
            "elements": elements, "offset": offset, "expected": expected(op, &plan.layout, elements),
        });
        figures::lies(&mut case, &plan.layout);
        if op != Op::Sum {
            case["op"] = op.name().into();
        }
        case
    }

    /// A launch whose input begins further on, and whose arrays are those of another run.
    fn launch_json(&self, pass: &lab::Pass, first: usize) -> Value {
        let mut launch = figures::launch(pass);
        for arg in launch["args"].as_array_mut().into_iter().flatten() {
            let text = arg.as_str().unwrap_or_default();
            if self.case.offset > 0 && text.ends_with("=&in") {
                *arg = format!("{text}+{}", 4 * self.case.offset).into();
            } else if let Some((place, number)) = text.split_once("=&sums") {
                let number = number.parse::<usize>().unwrap_or(0);
                *arg = format!("{place}=&sums{}", number + first).into();
            }
        }
        launch
    }
}

/// The right result: a number, or those of all rows with commas between them, which is how a lab compares them.
fn expected(op: Op, layout: &Layout, elements: &[i32]) -> Value {
    let of = |elements: Vec<i32>| lab::reference::reference_of(op, &Array::I32(elements)).expected.to_f64();
    if *layout == Layout::Array {
        return of(elements.to_vec()).into();
    }
    let rows = (0..layout.values()).map(|row| of(layout.elements(elements, row)).to_string());
    rows.collect::<Vec<_>>().join(",").into()
}

/// One kernel of a lab, with the one case that it has.
fn variant(name: &str, source: &str, ptx: (&str, &str), shown: &Shown<'_>) -> Value {
    let kernels: BTreeSet<&str> = shown.plan.passes.iter().map(|pass| pass.kernel.as_str()).collect();
    json!({
        "name": name, "idea": "", "limit": "", "source": source, "announced": null, "harm": null,
        "ptx": { "name": ptx.0, "text": figures::only(ptx.1, &kernels) }, "cases": [shown.json()], "schedule": shown.case.schedule.to_string(),
    })
}

/// The data of a lab with these kernels; it opens with the first.
fn data(id: &str, title: &str, (source, text): (&str, &str), variants: Vec<Value>) -> Value {
    let text = text.replace("\r\n", "\n");
    let case = &variants[0]["cases"][0];
    let opening = json!({ "variant": variants[0]["name"], "n": case["n"], "block": case["block"], "grid": null,
        "schedule": variants[0]["schedule"] });
    json!({ "slug": format!("show-{id}"), "title": title, "files": { source: text }, "variants": variants, "opening": opening })
}

/// Scene of an exercise: the runs that a question asks about, or the case in which the reader's kernel fails.
///
/// # Errors
/// Kernels that are not there, do not compile or cannot run.
pub fn of(root: &Path, item: &Item) -> Result<Scene> {
    match item {
        _ if item.is_on_ranks() => bail!(
            "{0}: a lab that opens from here shows one device, and this runs on several: `cargo course exercise {0}` says what comes of it",
            item.id()
        ),
        Item::Predict(predict) => predicted(root, predict),
        Item::Choose(choose) => chosen(root, choose),
        Item::Write(exercise) => written(root, exercise),
    }
}

fn predicted(root: &Path, predict: &Predict) -> Result<Scene> {
    let (run, source) = predict.run.shown(&predict.chapter, root)?;
    let Array::I32(elements) = predict.run.input.array(predict.run.ty, run.n) else {
        bail!("{}: the lab shows runs over whole numbers, and this one takes {}", predict.id, predict.run.ty)
    };
    let schedule = predict.run.schedule.as_deref().map_or(Ok(TODAYS), str::parse).map_err(anyhow::Error::msg)?;
    let case = Case { schedule, ..Case::new(run.ty, run.n, run.block) };
    let (plan, op) = (&run.plan, predict.run.op);
    let shown = Shown { case, plan, elements: &elements, op, adds: false, before: None, launch: 0 };
    let text = copy::read(root, &source.cu)?;
    let ptx = source.read_ptx(&text).map_err(|why| anyhow!("{}: {why}", source.cu_name()))?;
    let variant = variant(&predict.run.variant, &source.cu_name(), (&source.ptx_name(), &ptx), &shown);
    let data = data(&predict.id, &predict.title, (&source.cu_name(), &text), vec![variant]);
    Ok(Scene { data, caption: format!("{}: the run that it asks about", predict.id) })
}

fn chosen(root: &Path, choose: &Choose) -> Result<Scene> {
    let source = choose.source(root);
    let Compiled::Ptx(ptx, _) = copy::compile_committed(root, &source)? else {
        bail!("{}: does not compile", source.cu_name());
    };
    let module = Device::open(Choice::Sim, SimOptions::default())?.load_ptx(&source.ptx_name(), &ptx)?;
    let mut variants = Vec::new();
    for (letter, case) in choose.revealing_cases(&module)? {
        let Array::I32(elements) = choose.input.array(choose.ty, case.n) else {
            bail!("{}: the lab shows runs over whole numbers, and this one takes {}", choose.id, choose.ty)
        };
        let plan = &choose.plan(letter, case);
        let Choose { op, adds, .. } = *choose;
        let shown = Shown { case, plan, elements: &elements, op, adds, before: None, launch: 0 };
        variants.push(variant(&letter.to_string(), &source.cu_name(), (&source.ptx_name(), &ptx), &shown));
    }
    let data = data(&choose.id, &choose.title, (&source.cu_name(), &choose.written_out()), variants);
    Ok(Scene { data, caption: format!("{}: what each line does", choose.id) })
}

fn written(root: &Path, exercise: &Exercise) -> Result<Scene> {
    let (id, name) = (&exercise.id, copy::name(exercise));
    if !exercise.has_lab() {
        bail!(
            "{id}: the lab shows runs over whole numbers, and this one takes floats: `cargo course exercise {id}` names the case that fails"
        )
    }
    copy::start(root, exercise)?;
    let text = copy::read(root, &copy::path(root, exercise))?;
    let ptx = match copy::compile(root, exercise, &text)? {
        Compiled::Ptx(ptx, _) => ptx,
        Compiled::Refused(why) => bail!("{name} does not compile, so there is no run to show\n\n{why}"),
    };
    let failure = judge::judge(exercise, &name, &ptx)?.failure;
    kernel_scene(exercise, &name, (&text, &ptx), failure.as_ref())
}

/// Scene of a kernel with this text and its PTX, and of what the judge has found.
fn kernel_scene(
    exercise: &Exercise,
    name: &str,
    (text, ptx): (&str, &str),
    failure: Option<&Failure>,
) -> Result<Scene> {
    let (case, answer, caption) = revealing_case(exercise, name, failure)?;
    let fill = if case.fill.is_of(Type::I32) { case.fill } else { Fill::Random };
    let case = Case { ty: Type::I32, fill, ..case };
    let bench = Bench::new(exercise, name, ptx).map_err(anyhow::Error::msg)?;
    let first = bench.plan(case);
    let answer_n = answer.and_then(|answer| answer.second);
    let second = answer_n.map(|n| bench.plan(Case { n, ..case }));
    let plan = second.as_ref().unwrap_or(&first);
    let elements = elements(&bench, exercise, case, answer.is_some())?;
    let launch = answer.filter(|answer| !answer.report.faults.is_empty()).map_or(0, |answer| answer.launch);
    let shown = Shown {
        case: Case { n: answer_n.unwrap_or(case.n), ..case },
        plan,
        elements: &elements,
        op: exercise.op,
        adds: exercise.launches != Launches::UntilOne,
        before: second.as_ref().map(|_| &first),
        launch: launch + if second.is_some() { first.passes.len() } else { 0 },
    };
    let variant = variant(name, name, (&format!("PTX of {name}"), ptx), &shown);
    Ok(Scene { data: data(&exercise.id, &exercise.title, (name, text), vec![variant]), caption })
}

/// The numbers of a case: digits that a reader can add up, if the kernel fails for them too, else those of the judge.
fn elements(bench: &Bench<'_>, exercise: &Exercise, case: Case, fails: bool) -> Result<Vec<i32>> {
    let digits: Vec<i32> = (0..case.n).map(|i| figures::digit(i) as i32).collect();
    let is_random = case.fill == Fill::Random;
    if is_random && (!fails || !bench.ask_with(case, &Array::I32(digits.clone()))?.is_right()) {
        return Ok(digits);
    }
    match case.numbers(exercise.op) {
        Array::I32(elements) => Ok(elements),
        _ => bail!("{}: no whole numbers", exercise.id),
    }
}

/// The case of a reader's kernel that is worth a look, what came of it if it failed, and a sentence.
fn revealing_case<'f>(
    exercise: &Exercise,
    name: &str,
    failure: Option<&'f Failure>,
) -> Result<(Case, Option<&'f Answer>, String)> {
    let id = &exercise.id;
    Ok(match failure {
        Some(Failure::NoKernel(why)) => bail!("{name} does not load, so there is no run to show\n\n{why}"),
        Some(&Failure::Case { case, ref answer, .. }) => {
            let floats = if case.ty == Type::I32 {
                String::new()
            } else {
                format!(" of {}; the lab shows the same launch over whole numbers", case.ty)
            };
            (case, Some(answer), format!("{id}: the smallest case that fails, {}{floats}", case.size()))
        }
        Some(&Failure::Tree { case, .. }) => {
            (case, None, format!("{id}: the sum is right and not of the same pairs; the lab shows which it adds"))
        }
        Some(Failure::Goal { goal, case, .. }) => {
            (*case, None, format!("{id}: the run that misses a goal: {}", goal.say))
        }
        None => {
            let block = exercise.blocks.iter().copied().find(|&block| block >= 64).unwrap_or(32);
            let case = match exercise.lanes_per_row {
                // Two elements for each thread.
                Some(lanes) => matrices::case(Type::I32, (exercise.rows_per_block(block), 2 * u64::from(lanes)), block),
                None => Case::new(Type::I32, exercise.elements_per_block(block), block),
            };
            (case, None, format!("{id} is solved: nothing fails, and the lab shows a full block of it"))
        }
    })
}

/// The data of the labs of every question that has one, by its id, for the pages.
///
/// # Errors
/// Those of [`of`].
pub fn questions(root: &Path) -> Result<Vec<(String, Value)>> {
    let items = super::catalogue::load_any(root)?;
    let questions = items.iter().filter(|item| item.written().is_none() && item.has_lab());
    let of = |item: &Item| {
        let scene = of(root, item).with_context(|| format!("what there is to see of {}", item.id()))?;
        Ok((item.id().to_owned(), scene.data))
    };
    questions.map(of).collect()
}

/// Scene of the exercise of this name.
///
/// # Errors
/// [`super::BadUsage`] for an exercise that is not there; those of [`of`].
pub fn named(root: &Path, id: &str) -> Result<Scene> {
    let items = super::catalogue::load(root)?;
    let progress = super::Progress::load(root)?;
    of(root, super::one(&items, &progress, id)?)
}

#[cfg(test)]
pub(super) mod tests {
    use device::KernelSource;

    use super::*;
    use crate::exercise::catalogue;
    use crate::exercise::judge::Verdict;
    use crate::workspace;

    /// Runs the case of a kernel as the page does: whether its result is right, and how many faults there are.
    fn run(data: &Value, variant: &Value) -> (bool, usize) {
        let case = &variant["cases"][0];
        let request = json!({
            "ptx": [variant["ptx"]], "buffers": case["buffers"], "launches": case["launches"], "schedule": variant["schedule"],
            "outputs": [case["result"]], "steps_per_block_max": 1 << 20, "trace": { "launch": case["shown"], "blocks": 8 },
        });
        let answer = web::answer(request.to_string().as_bytes());
        let bytes = u32::from_le_bytes(answer[..4].try_into().unwrap()) as usize;
        let reply: Value = serde_json::from_slice(&answer[4..4 + bytes]).unwrap();
        assert!(reply["error"].is_null(), "{} {}: {}", data["slug"], variant["name"], reply["error"]);
        let name = case["result"].as_str().unwrap().split(':').next().unwrap();
        let left = reply["outputs"][name].as_array().unwrap().iter().map(|value| value.as_i64().unwrap() as i32);
        let is_right = match case["op"].as_str() {
            // The page compares them in the same way.
            _ if !case["of"].is_null() => {
                Some(left.map(|row| row.to_string()).collect::<Vec<_>>().join(",").as_str())
                    == case["expected"].as_str()
            }
            Some("max") => left.max().map(f64::from) == case["expected"].as_f64(),
            Some("min") => left.min().map(f64::from) == case["expected"].as_f64(),
            _ => left.reduce(i32::wrapping_add).map(f64::from) == case["expected"].as_f64(),
        };
        let faults =
            reply["launches"].as_array().unwrap().iter().map(|launch| launch["faults"].as_array().unwrap().len());
        let shown = case["shown"].as_u64().unwrap() as usize;
        assert!(reply["launches"][shown]["trace"]["steps"].as_u64() > Some(0), "{}: nothing is recorded", data["slug"]);
        (is_right, faults.sum())
    }

    /// Holds the lab of a judged kernel against the verdict; returns whether it has a run to show.
    pub fn shows(exercise: &Exercise, source: &KernelSource, verdict: &Verdict) -> Result<bool> {
        let fails = match &verdict.failure {
            _ if !exercise.has_lab() => return Ok(false),
            None | Some(Failure::Goal { .. } | Failure::Tree { .. }) => false,
            Some(Failure::Case { case, .. }) if case.ty == Type::I32 => true,
            // A kernel that fails for floats alone may be right for whole numbers; one that does not load has no run.
            Some(Failure::Case { .. } | Failure::NoKernel(_)) => return Ok(false),
        };
        let root = workspace::root()?;
        let (text, ptx, name) = (copy::read(&root, &source.cu)?, copy::read(&root, &source.ptx)?, source.cu_name());
        let scene = kernel_scene(exercise, &name, (&text, &ptx), verdict.failure.as_ref())?;
        let (is_right, faults) = run(&scene.data, &scene.data["variants"][0]);
        let caption = &scene.caption;
        assert_eq!(!is_right || faults > 0, fails, "{name}: right is {is_right}, {faults} faults: {caption}");
        Ok(true)
    }

    #[test]
    fn a_kernel_that_takes_floats_alone_has_no_lab_and_says_so() {
        let root = workspace::root().unwrap();
        let items = catalogue::load(&root).unwrap();
        let item = items.iter().find(|item| item.id() == "row-logsumexp").unwrap();
        let why = of(&root, item).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(!item.has_lab() && why.contains("whole numbers") && why.contains("course exercise"), "{why}");
    }

    #[test]
    fn the_lab_of_a_question_shows_right_and_wrong_lines() {
        let root = workspace::root().unwrap();
        let items = catalogue::load(&root).unwrap();
        for item in items.iter().filter(|item| item.written().is_none() && item.has_lab()) {
            let scene = of(&root, item).unwrap();
            let runs: Vec<bool> = scene.data["variants"]
                .as_array()
                .unwrap()
                .iter()
                .map(|variant| {
                    let (is_right, faults) = run(&scene.data, variant);
                    is_right && faults == 0
                })
                .collect();
            if let Item::Choose(choose) = item {
                let expected: Vec<bool> =
                    choose.options.iter().map(|option| ["right", "more"].contains(&option.gives.as_str())).collect();
                assert_eq!(runs, expected, "{}", item.id());
            }
        }
    }
}
