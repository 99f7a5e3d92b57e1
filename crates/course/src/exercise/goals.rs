//! Goals of an exercise, held against a kernel: each at the sizes of its file, for every type, and wherever else its limit
//! follows from them. A kernel that changes its ways with the type, the block or the number of blocks is found there.

use anyhow::Result;
use device::Code;
use lab::text::grouped;
use lab::{Matrix, Type};

use super::bench::Bench;
use super::case::Case;
use super::judge::{Failure, Stage, smallest};
use super::ranks::Ran;
use super::write::{Exercise, Goal};
use super::{matrices, share};

/// Full blocks of the run that shows what a kernel does where there are several.
const SEVERAL: u64 = 5;
/// Threads of a warp: only blocks of whole warps have an equal share for each.
const WARP: u32 = 32;

/// The first goal that is missed, at any of its sizes.
pub(super) fn missed(exercise: &Exercise, bench: &Bench<'_>, stage: &mut Stage) -> Result<Option<Failure>> {
    for goal in &exercise.goals {
        let runs = runs(exercise, goal);
        let of_each_type = runs.iter().flat_map(|run| exercise.types.iter().map(move |&ty| (run.clone(), ty)));
        // A kernel with another way for floats, or for several blocks, is found by one of the two.
        let last = exercise.types.last().copied();
        let over_several =
            runs.iter().filter_map(|run| over_several_blocks(exercise, bench, run)).zip(last.into_iter().cycle());
        for (run, ty) in of_each_type.chain(over_several) {
            let failure = missed_at(exercise, bench, &run, ty)?;
            if failure.is_some() {
                return Ok(failure);
            }
        }
        stage.passed += 1;
    }
    Ok(None)
}

/// Returns whether a goal is counted over one full block of an array.
fn is_one_block(goal: &Goal) -> bool {
    goal.n.is_none() && goal.rows.is_none()
}

/// The runs that the file names, and those of the exercise's other blocks where the limit is the same for each.
fn runs(exercise: &Exercise, goal: &Goal) -> Vec<Goal> {
    let mut runs: Vec<Goal> = goal.runs().collect();
    if is_one_block(goal) && (goal.at_most == Some(0) || goal.each_warp.is_some()) {
        let is_new = |block: u32| runs.iter().all(|run| run.block != block || !is_one_block(run));
        let is_shared = |block: u32| goal.each_warp.is_none() || block.is_multiple_of(WARP);
        let others = exercise.blocks.iter().copied().filter(|&block| is_new(block) && is_shared(block));
        let others: Vec<Goal> = others.map(|block| Goal { block, also: Vec::new(), ..goal.clone() }).collect();
        runs.extend(others);
    }
    runs
}

/// A goal of one full block, held against several: each launched block may count as much as one does, and each full one has to.
fn over_several_blocks(exercise: &Exercise, bench: &Bench<'_>, goal: &Goal) -> Option<Goal> {
    let is_limited = goal.each_warp.or(goal.at_most).or(goal.at_least).is_some();
    if !is_one_block(goal) || !is_limited || exercise.grid_max.is_some() {
        return None;
    }
    let n = SEVERAL * exercise.elements_per_block(goal.block);
    let plan = bench.plan(Case::new(exercise.types.first().copied()?, n, goal.block));
    let blocks: u64 = plan.passes.iter().map(|pass| u64::from(pass.grid())).sum();
    let (at_most, at_least) = (goal.at_most.map(|most| most * blocks), goal.at_least.map(|least| least * SEVERAL));
    Some(Goal { n: Some(n), at_most, at_least, ..goal.clone() })
}

/// Failure that misses a goal at one of its sizes.
fn missed_at(exercise: &Exercise, bench: &Bench<'_>, goal: &Goal, ty: Type) -> Result<Option<Failure>> {
    let n = goal.n.unwrap_or(exercise.elements_per_block(goal.block));
    let plain = match goal.matrix()? {
        Some(Matrix { rows, cols, .. }) => matrices::case(ty, (rows, cols), goal.block),
        None => Case::new(ty, n, goal.block),
    };
    let ranks = goal.ranks.or(exercise.ranks.iter().copied().max());
    let case = Case { offset: goal.offset, keeps_out: goal.keeps_out, ranks, ..plain };
    let is_traced = goal.each_warp.is_some() || goal.first_threads || goal.fenced;
    let answer = if is_traced { bench.ask_traced(case)? } else { bench.ask(case)? };
    if !answer.is_right() {
        return smallest(exercise, bench, case, answer).map(Some);
    }
    let missed = if let Some(ran) = &answer.ranks {
        missed_on_a_rank(goal, ran).map(|(counted, who)| (counted, None, Some(who)))
    } else if let Some(trace) = &answer.report.trace {
        let who = match goal.each_warp {
            Some(bytes) => share::looks_on(trace, bytes),
            None if goal.fenced => share::unfenced(trace),
            None => share::stranger(trace, n),
        };
        who.map(|who| (0, None, Some(who)))
    } else if let Some(steps) = goal.each_block {
        let faults = bench.ask_within(case, steps)?.report.faults;
        faults.iter().any(|fault| fault.code == Code::StepBudget).then_some((steps, None, None))
    } else {
        let counted = answer.report.counters.as_ref().map_or(0, |counters| goal.counted(counters));
        let is_over = goal.at_most.is_some_and(|most| counted > most);
        let parts = answer.report.lines.iter().map(|line| (line.line, goal.counted(&line.counters)));
        let most = parts.filter(|_| is_over).max_by_key(|&(_, part)| part);
        (is_over || goal.at_least.is_some_and(|least| counted < least)).then_some((counted, most, None))
    };
    Ok(missed.map(|(counted, most, who)| Failure::Goal { goal: Box::new(goal.clone()), case, counted, most, who }))
}

/// Count of the first rank that misses a goal in one of its calls, and what it does there.
fn missed_on_a_rank(goal: &Goal, ran: &Ran) -> Option<(u64, String)> {
    let first_calls = (0..).zip(&ran.reports).filter_map(|(rank, calls)| Some((rank, calls.first()?.trace.as_ref()?)));
    if let Some(bytes) = goal.each_warp {
        let looks_on = |(rank, trace): (u32, &_)| Some((rank, share::looks_on(trace, bytes)?));
        return first_calls.filter_map(looks_on).map(|(rank, who)| (0, format!("on rank {rank} {who}"))).next();
    }
    let counts = (0..).zip(&ran.reports).flat_map(|(rank, calls): (u32, _)| calls.iter().map(move |call| (rank, call)));
    for (rank, report) in counts {
        let counted = report.counters.as_ref().map_or(0, |counters| goal.counted(counters));
        let limit = match (goal.at_most, goal.at_least) {
            (Some(most), _) if counted > most => format!("at most {}", grouped(most)),
            (_, Some(least)) if counted < least => format!("at least {}", grouped(least)),
            _ => continue,
        };
        return Some((counted, format!("rank {rank} counts {} in a call, allowed {limit}", grouped(counted))));
    }
    None
}
