//! Judges a kernel of an exercise: sums, of an array or of each row of a matrix, at the sizes where kernels go wrong,
//! unaligned input, extreme values, other schedules, then the tree and the goals, and at last matrices of more rows and
//! columns than 16 bits count. It stops at the first thing that is not right, and tries small cases first, so that what it
//! shows is the smallest case that fails.

use std::collections::BTreeSet;

use anyhow::Result;
use lab::{Array, Op, Type};

use super::bench::{Answer, Bench};
use super::case::{Case, schedules};
use super::fill::Fill;
use super::write::{Exercise, Goal, Launches, OTHER_TREE, Tree, WRONG_SUM};
use super::{goals, matrices, ranks, rows};

/// Random schedules that are tried besides the two without a seed.
const SEEDS: u64 = 8;
/// A case of more elements than this is shown as it is: making it smaller, or taking its sum apart into what each element
/// contributes, takes a run for each element.
const LOOKED_INTO_MAX: u64 = 1100;
/// Elements by which inputs are shifted.
const OFFSETS: [usize; 3] = [1, 2, 3];
/// Shifted arrays of up to so many elements end before, at or just behind the first aligned one.
const SHORT_MAX: u64 = 5;
/// A prime, and powers of two with their neighbours, besides the sizes around a warp and a block.
const LONG_SIZES: [u64; 7] = [1009, 1023, 1024, 1025, 4095, 4097, 10_007];
/// Elements among which a thread finds the same one several times.
const TIES_SIZE: u64 = 10_007;
/// Once, more elements than 16 bits count, even in packs of four.
const HUGE_SIZE: u64 = 300_007;
/// Its block, if the exercise has it.
const HUGE_BLOCK: u32 = 256;

/// Verdict on a kernel.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Stages that were tried, in order.
    pub stages: Vec<Stage>,
    /// The first thing that was not right; `None` for a solution.
    pub failure: Option<Failure>,
    /// Warnings of the compiler.
    pub warnings: String,
}

/// One kind of trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// `right results`
    pub name: &'static str,
    /// Description for the reader.
    pub what: String,
    /// Cases that were right.
    pub passed: usize,
    /// Cases there are.
    pub cases: usize,
}

/// Why a kernel is no solution.
#[derive(Debug)]
pub enum Failure {
    /// It cannot run at all: what the compiler or the loader says.
    NoKernel(String),
    /// A wrong result or a fault.
    Case {
        /// The case.
        case: Case,
        /// Its outcome.
        answer: Box<Answer>,
        /// Elements that are missing or counted twice, if that could be found out.
        contributions: Option<String>,
    },
    /// A right sum of other pairs than those that are to be kept.
    Tree {
        /// The case.
        case: Case,
        /// Result of the kernel.
        result: f32,
        /// Result of the tree.
        expected: f32,
    },
    /// Something else was counted than the goal allows.
    Goal {
        /// The goal.
        goal: Box<Goal>,
        /// The run that was counted.
        case: Case,
        /// Value of the counter.
        counted: u64,
        /// The source line that most of it comes from, and its part.
        most: Option<(u32, u64)>,
        /// For goals that are not about a count: the thread or warp that does the work of another one.
        who: Option<String>,
    },
}

impl Failure {
    /// Names that `exercises.toml` may give it: the codes of faults, `wrong-sum`, a goal's name. Empty for a kernel that does not
    /// compile.
    pub fn reasons(&self) -> Vec<&str> {
        match self {
            Failure::NoKernel(_) => Vec::new(),
            Failure::Case { answer, .. } => {
                let mut reasons: Vec<&str> = answer.report.faults.iter().map(|fault| fault.code.name()).collect();
                reasons.dedup();
                reasons.extend((!answer.verdict.right).then_some(WRONG_SUM));
                reasons
            }
            Failure::Tree { .. } => vec![OTHER_TREE],
            Failure::Goal { goal, .. } => vec![&goal.name],
        }
    }
}

/// Judges compiled code; `name` is what messages call it.
///
/// # Errors
/// A simulator that cannot go on, which says nothing about the kernel.
pub fn judge(exercise: &Exercise, name: &str, ptx: &str) -> Result<Verdict> {
    let mut stages = stages(exercise);
    let bench = match Bench::new(exercise, &format!("PTX of {name}"), ptx) {
        Ok(bench) => bench,
        Err(why) => {
            let failure = Some(Failure::NoKernel(why));
            return Ok(Verdict { stages: names(stages), failure, ..Verdict::default() });
        }
    };
    let mut failure = None;
    for (stage, cases) in &mut stages {
        failure = failed(exercise, &bench, cases, stage)?;
        if failure.is_some() {
            break;
        }
    }
    let mut stages = names(stages);
    let cases = exercise.goals.len() + usize::from(exercise.tree.is_some());
    let mut goals_stage = Stage { name: "goals", what: said(exercise), passed: 0, cases };
    if let (None, Some(tree)) = (&failure, exercise.tree) {
        failure = other_tree(exercise, &bench, tree, &mut goals_stage)?;
    }
    if failure.is_none() {
        failure = goals::missed(exercise, &bench, &mut goals_stage)?;
    }
    // Last, since they take as long as all others together.
    let (mut large, cases) = large(exercise);
    if failure.is_none() {
        failure = failed(exercise, &bench, &cases, &mut large)?;
    }
    stages.extend([goals_stage, large].into_iter().filter(|stage| stage.cases > 0));
    Ok(Verdict { stages, failure, warnings: String::new() })
}

/// The first case of a stage that is not right, made smaller.
fn failed(exercise: &Exercise, bench: &Bench<'_>, cases: &[Case], stage: &mut Stage) -> Result<Option<Failure>> {
    for &case in cases {
        let answer = bench.ask(case)?;
        if !answer.is_right() {
            return smallest(exercise, bench, case, answer).map(Some);
        }
        stage.passed += 1;
    }
    Ok(None)
}

fn names(stages: Vec<(Stage, Vec<Case>)>) -> Vec<Stage> {
    stages.into_iter().map(|(stage, _)| stage).collect()
}

fn said(exercise: &Exercise) -> String {
    let tree = exercise.tree.map(|Tree::Neighbours| "the pairs are neighbours, as in chapter 1");
    tree.into_iter().chain(exercise.goals.iter().map(|goal| goal.say.as_str())).collect::<Vec<_>>().join("; ")
}

/// One stage with its cases.
fn stage(name: &'static str, what: String, cases: Vec<Case>) -> (Stage, Vec<Case>) {
    (Stage { name, what, passed: 0, cases: cases.len() }, cases)
}

fn listed(numbers: &[u32]) -> String {
    lab::text::listed(&numbers.iter().map(u32::to_string).collect::<Vec<_>>())
}

fn types(exercise: &Exercise) -> String {
    lab::text::listed(&exercise.types.iter().map(|ty| ty.name()).collect::<Vec<_>>())
}

/// The stages of a kernel that runs on several ranks at once.
fn stages_on_ranks(exercise: &Exercise) -> Vec<(Stage, Vec<Case>)> {
    let sums = ranks::sums(exercise);
    let what = format!(
        "{}, {} ranks, blocks of {}, n up to {}, {} calls in a row, nothing out of order",
        types(exercise),
        listed(&exercise.ranks),
        listed(&exercise.blocks),
        lab::text::grouped(sums.iter().map(|case| case.n).max().unwrap_or(0)),
        ranks::CALLS
    );
    let orders = "lanes in lockstep, and ranks, blocks and lanes in random orders".to_owned();
    vec![stage("right results", what, sums), stage("schedules", orders, ranks::scheduled(exercise))]
}

/// The stages before the goals, with their cases.
fn stages(exercise: &Exercise) -> Vec<(Stage, Vec<Case>)> {
    if !exercise.ranks.is_empty() {
        return stages_on_ranks(exercise);
    }
    let is_of_rows = exercise.lanes_per_row.is_some();
    let sums = if is_of_rows { matrices::all(exercise) } else { sums(exercise) };
    let shifted = shifted(exercise);
    // A kernel that looks for an element may find another under another schedule, where there are several as good.
    let (fill, ties) = if exercise.finds() { (Fill::Ties, ", and few different ones") } else { (Fill::Random, "") };
    let has_floats = exercise.types.iter().any(|ty| ty.is_float());
    let extremes = match exercise.op {
        Op::Meanvar => "numbers far from 0 and near each other, of every size, and one that stands out",
        op if op.is_exponential() => {
            "the smallest and the largest numbers of the type, some whose powers of e are no doubles, many that are little beside the largest"
        }
        _ if has_floats => {
            "the smallest and the largest numbers of the type, floats of every size, and one that stands out"
        }
        _ => "the smallest and the largest numbers of the type, and one that stands out",
    };
    let scheduled: Vec<Case> =
        schedules(SEEDS).flat_map(|schedule| few(exercise).map(move |case| Case { schedule, fill, ..case })).collect();
    let largest = sums.iter().max_by_key(|case| case.n).map(|largest| match largest.matrix {
        Some(matrix) => format!("matrices of up to {}", rows::described(matrix)),
        None => format!("n up to {}", lab::text::grouped(largest.n)),
    });
    vec![
        stage(
            "right results",
            format!(
                "{}, blocks of {}, {}, nothing out of order{}",
                types(exercise),
                listed(&exercise.blocks),
                largest.unwrap_or_default(),
                if exercise.launches == Launches::Twice { ", in two launches with one workspace" } else { "" }
            ),
            sums,
        ),
        stage("unaligned input", "arrays that begin 1, 2 or 3 elements further on, and short ones".to_owned(), shifted),
        stage("extreme values", format!("negative ones alone, {extremes}{ties}"), extreme(exercise)),
        stage("schedules", format!("lanes in lockstep, and apart in {SEEDS} random orders"), scheduled),
    ]
}

/// Every size, block and type, small ones first.
fn sums(exercise: &Exercise) -> Vec<Case> {
    let mut cases = Vec::new();
    for &block in &exercise.blocks {
        for n in sizes(exercise, block) {
            cases.extend(exercise.types.iter().map(|&ty| Case::new(ty, n, block)));
        }
    }
    cases.sort_by_key(|case| (case.n, case.block));
    let block = exercise.blocks.iter().copied().find(|&block| block == HUGE_BLOCK).or(exercise.blocks.last().copied());
    let huge = exercise.types.first().zip(block).map(|(&ty, block)| Case::new(ty, HUGE_SIZE, block));
    // A grid that is limited may be limited to another number than to the exercise's.
    cases.extend(huge.map(|case| Case { grid_max: exercise.grid_max.map(|max| max.div_ceil(2) + 1), ..case }));
    cases
}

/// Arrays that begin further on: short ones, which end before the first aligned element, by the smallest block, and then
/// those of `few`.
fn shifted(exercise: &Exercise) -> Vec<Case> {
    let smallest = exercise.blocks.iter().copied().min().unwrap_or(1);
    let of = if exercise.lanes_per_row.is_some() { matrices::short } else { Case::new };
    let short = |n: u64| exercise.types.iter().map(move |&ty| of(ty, n, smallest));
    let cases = (1..=SHORT_MAX).flat_map(short).chain(few(exercise));
    cases.flat_map(|case| OFFSETS.map(|offset| Case { offset, ..case })).collect()
}

/// Arrays of nothing but the smallest or the largest number, so short that most threads have no element, and longer.
fn extreme(exercise: &Exercise) -> Vec<Case> {
    let mut fills = vec![Fill::MinusThree, Fill::Negative];
    // Infinite numbers have no mean.
    fills.extend(if exercise.op == Op::Meanvar { &[Fill::Far][..] } else { &[Fill::Lowest, Fill::Highest] });
    fills.extend(exercise.finds().then_some(Fill::Ties));
    fills.extend(exercise.op.is_exponential().then_some(Fill::Steep));
    let filled = |case: Case| fills.clone().into_iter().map(move |fill| Case { fill, ..case });
    let mut cases: Vec<Case> =
        few(exercise).map(Case::with_one_element).chain(few(exercise)).flat_map(filled).collect();
    // Numbers that differ among themselves, over arrays of many blocks, or long rows: there one bound of a kernel's own shows.
    let uneven = uneven(exercise.op);
    let long = matrices::long(exercise).into_iter().chain(few(exercise));
    if exercise.op == Op::Meanvar {
        cases.extend(matrices::narrow(exercise).into_iter().map(|case| Case { fill: Fill::Far, ..case }));
    }
    if exercise.finds() {
        cases.extend(few(exercise).map(|case| Case { n: TIES_SIZE, fill: Fill::MinusThree, ..case }));
    }
    cases.extend(long.flat_map(|case| uneven.clone().into_iter().map(move |fill| Case { fill, ..case })));
    cases.retain(|case| case.fill.is_of(case.ty));
    cases
}

/// Numbers of one size or of many, and one of them apart from the others.
fn uneven(op: Op) -> Vec<Fill> {
    let mut fills = vec![Fill::Scale(-6), Fill::Scale(6), Fill::Spread, Fill::FirstFar, Fill::LastFar];
    if op.is_exponential() {
        fills.extend([Fill::Below(2), Fill::BelowLast(5), Fill::Below(13), Fill::BelowLast(13)]);
        fills.push(Fill::MinusInfinities);
    }
    let compares = matches!(op, Op::Min | Op::Max | Op::Argmin | Op::Argmax);
    fills.extend((compares || op.is_exponential()).then_some(Fill::OneInfinite));
    fills.extend(compares.then_some(Fill::Close));
    fills
}

/// More rows, and longer ones, than 16 bits count. An array has its own case among the sums.
fn large(exercise: &Exercise) -> (Stage, Vec<Case>) {
    let mut cases = matrices::large(exercise);
    let longest = cases.last().copied();
    let fills: &[Fill] = match exercise.op {
        Op::Meanvar => &[Fill::FirstFar],
        op if op.is_exponential() => &[Fill::Below(15)],
        _ => &[],
    };
    cases.extend(longest.iter().flat_map(|&case| fills.iter().map(move |&fill| Case { fill, ..case })));
    stage("large matrices", "more rows than 16 bits count, and more columns".to_owned(), cases)
}

/// None, one, around a warp, around the threads of a block and the elements it takes, a prime, powers of two and their
/// neighbours.
fn sizes(exercise: &Exercise, block: u32) -> BTreeSet<u64> {
    let around = |n: u64| [n - 1, n, n + 1];
    let per_block = exercise.elements_per_block(block);
    let mut sizes: BTreeSet<u64> =
        [32, u64::from(block), per_block, 2 * per_block].into_iter().flat_map(around).collect();
    sizes.extend(LONG_SIZES);
    sizes.insert(1);
    sizes.remove(&0);
    // A sum of nothing takes no launch where kernels are launched until one value is left.
    if exercise.launches != Launches::UntilOne {
        sizes.insert(0);
    }
    sizes
}

/// Two blocks, the second nearly empty, of every size and type.
fn few(exercise: &Exercise) -> impl Iterator<Item = Case> {
    let of = |&block: &u32| {
        let n = exercise.elements_per_block(block) + 33;
        exercise.types.iter().map(move |&ty| Case::new(ty, n, block))
    };
    let cases: Vec<Case> = match exercise.lanes_per_row {
        Some(_) => matrices::few(exercise),
        None => exercise.blocks.iter().flat_map(of).collect(),
    };
    cases.into_iter()
}

/// The block size at which the sum of floats rounds otherwise than the tree's does.
fn other_tree(exercise: &Exercise, bench: &Bench<'_>, tree: Tree, stage: &mut Stage) -> Result<Option<Failure>> {
    let of_block = |&block: &u32| {
        let case = Case::new(Type::F32, exercise.elements_per_block(block), block);
        [Fill::Random, Fill::Spread, Fill::FirstFar].map(|fill| Case { fill, ..case })
    };
    for case in exercise.blocks.iter().flat_map(of_block) {
        let Array::F32(values) = case.numbers(exercise.op) else { return Ok(None) };
        let expected = tree.sum(&values);
        let answer = bench.ask_with(case, &Array::F32(values))?;
        if !answer.is_right() {
            return smallest(exercise, bench, case, answer).map(Some);
        }
        let result = answer.result.to_f64() as f32;
        if result.to_bits() != expected.to_bits() {
            return Ok(Some(Failure::Tree { case, result, expected }));
        }
    }
    stage.passed += 1;
    Ok(None)
}

/// The failure with the fewest elements, at the block, type and schedule where one was found.
pub(super) fn smallest(exercise: &Exercise, bench: &Bench<'_>, found: Case, answer: Answer) -> Result<Failure> {
    let (mut case, mut answer) = (found, answer);
    let smaller: Vec<Case> = match found.matrix {
        _ if found.n > LOOKED_INTO_MAX => Vec::new(),
        None => (1..found.n).map(|n| Case { n, ..found }).collect(),
        Some(matrix) => (1..matrix.rows).map(|rows| found.over(rows, matrix.cols)).collect(),
    };
    (case, answer) = first_that_fails(bench, smaller)?.unwrap_or((case, answer));
    if let Some(matrix) = case.matrix.filter(|_| case.n <= LOOKED_INTO_MAX) {
        let shorter = (1..matrix.cols).map(|cols| case.over(matrix.rows, cols)).collect();
        (case, answer) = first_that_fails(bench, shorter)?.unwrap_or((case, answer));
    }
    let contributions = contributions(exercise, bench, case, &answer)?;
    Ok(Failure::Case { case, answer: Box::new(answer), contributions })
}

fn first_that_fails(bench: &Bench<'_>, cases: Vec<Case>) -> Result<Option<(Case, Answer)>> {
    for case in cases {
        let answer = bench.ask(case)?;
        if !answer.is_right() {
            return Ok(Some((case, answer)));
        }
    }
    Ok(None)
}

/// Contribution of each element to a wrong sum of i32: with all others 0 and this one 1, the result is how often it is
/// counted. `None` where faults say enough, where there are too many elements, or where that does not explain the result.
fn contributions(exercise: &Exercise, bench: &Bench<'_>, case: Case, answer: &Answer) -> Result<Option<String>> {
    let case = Case { ty: Type::I32, fill: Fill::Random, ..case };
    let is_sum = exercise.op == Op::Sum && exercise.types.contains(&case.ty) && case.ranks.is_none();
    if !is_sum || !answer.report.faults.is_empty() || case.n > LOOKED_INTO_MAX || case.n == 0 {
        return Ok(None);
    }
    let mut counts = Vec::new();
    for i in 0..case.n as usize {
        let mut one_hot = vec![0; case.n as usize];
        one_hot[i] = 1;
        let alone = bench.ask_with(case, &Array::I32(one_hot))?;
        if !alone.report.faults.is_empty() {
            return Ok(None);
        }
        let result = answer.row.map_or(Some(alone.result), |row| alone.of_rows.get(row as usize).copied());
        counts.push(result.map_or(0, |result| result.to_f64() as i64));
    }
    Ok(match answer.row.zip(case.matrix) {
        Some((row, matrix)) => described_row(&counts, row as usize, matrix.cols as usize),
        None => described(&counts, "element"),
    })
}

/// The same of a row's sum: `columns 8 to 15 are missing; elements of row 1 are in it`; `None` if it has its own elements, once each,
/// and no others.
fn described_row(counts: &[i64], row: usize, cols: usize) -> Option<String> {
    let own = described(&counts[row * cols..(row + 1) * cols], "column");
    let of_others = counts.chunks(cols).enumerate().filter(|(at, counts)| *at != row && counts.iter().any(|&n| n != 0));
    let others: Vec<String> = of_others.map(|(at, _)| at.to_string()).collect();
    let s = if others.len() == 1 { "" } else { "s" };
    let foreign = match others.len() {
        0 => None,
        1..=3 => Some(format!("elements of row{s} {} are in it", lab::text::listed(&others))),
        more => Some(format!("elements of {more} other rows are in it")),
    };
    let parts: Vec<String> = own.into_iter().chain(foreign).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// `elements 32 to 63 are missing; element 0 is counted twice`; `None` if each is counted once.
fn described(counts: &[i64], what: &str) -> Option<String> {
    let mut runs: Vec<(usize, usize, i64)> = Vec::new();
    for (i, &count) in counts.iter().enumerate() {
        match runs.last_mut() {
            Some((_, last, known)) if *known == count => *last = i,
            _ => runs.push((i, i, count)),
        }
    }
    runs.retain(|&(_, _, count)| count != 1);
    let shown = runs.iter().take(3).map(|&(first, last, count)| {
        let (elements, are) = if first == last {
            (format!("{what} {first}"), "is")
        } else {
            (format!("{what}s {first} to {last}"), "are")
        };
        match count {
            0 => format!("{elements} {are} missing"),
            2 => format!("{elements} {are} counted twice"),
            more if more > 2 => format!("{elements} {are} counted {more} times"),
            _ => format!("{elements} {are} counted wrongly"),
        }
    });
    let mut text = shown.collect::<Vec<_>>().join("; ");
    if runs.len() > 3 {
        let wrong = counts.iter().filter(|&&count| count != 1).count();
        text.push_str(&format!("; and so on, {wrong} of {} {what}s", counts.len()));
    }
    (!runs.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contributions_are_described_in_ranges() {
        assert_eq!(described(&[1, 1], "element"), None);
        for (counts, text) in [
            (&[1, 0, 0][..], "elements 1 to 2 are missing"),
            (&[2, 1, 3], "element 0 is counted twice; element 2 is counted 3 times"),
            (
                &[0, 1, 0, 1, 0, 1, 0, 1],
                "element 0 is missing; element 2 is missing; element 4 is missing; and so on, 4 of 8 elements",
            ),
            (&[-1], "element 0 is counted wrongly"),
        ] {
            assert_eq!(described(counts, "element").unwrap(), text);
        }
    }

    #[test]
    fn a_row_has_its_own_elements_and_no_others() {
        assert_eq!(described_row(&[0, 0, 1, 1], 1, 2), None);
        assert_eq!(described_row(&[0, 0, 1, 0], 1, 2).unwrap(), "column 1 is missing");
        let text = described_row(&[0, 1, 0, 0, 1, 1], 1, 2).unwrap();
        assert_eq!(text, "columns 0 to 1 are missing; elements of rows 0 and 2 are in it");
        assert_eq!(described_row(&[1, 1], 0, 1).unwrap(), "elements of row 1 are in it");
        assert_eq!(described_row(&[1; 5], 0, 1).unwrap(), "elements of 4 other rows are in it");
    }
}
