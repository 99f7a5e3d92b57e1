//! The champion with one of its ideas taken away: by another grid, or by kernels that lack one thing and are otherwise it.

use anyhow::Result;
use lab::element::Element;
use lab::measurement::CHAMPION;
use lab::plan::{MULTIPROCESSORS, Pass, Plan, Slot};
use lab::{Session, Variant, Wish};

use super::bench::Entrant;

/// A rule that anybody would begin with: two blocks of this many threads a multiprocessor, two loads of each thread on their
/// way, fewer blocks where there is less to do.
const PLAIN: (u32, u32, u64) = (512, 2, 2);

/// What can be measured of [`lab::measurement::ABLATIONS`] for this size: kernels that are not compiled for the champion's
/// shape are left out, and so is a meeting of blocks where there is one.
///
/// # Errors
/// Memory that does not suffice.
pub fn entrants<'s, T: Element>(
    session: &'s Session<'static>,
    variant: &'static Variant,
    n: u64,
) -> Result<Vec<Entrant<'s, T>>> {
    let tuned = session.plan(variant, T::TYPE, n, Wish::default())?;
    let mut entrants = Vec::new();
    if let Ok(entrant) = Entrant::ours(session, variant, plain::<T>(session, n), n) {
        entrants.push(entrant.named("plain_grid"));
    }
    let meets = tuned.grid() > 1;
    let others = [("narrow", Some(renamed(&tuned, "narrow"))), ("ticket", meets.then(|| renamed(&tuned, "ticket")))];
    let two = ("two_launches", meets.then(|| two_launches(&tuned)));
    for (name, plan) in others.into_iter().chain([two]) {
        let Some(plan) = plan else { continue };
        if plan.passes.iter().all(|pass| session.has_kernel(variant, &pass.kernel)) {
            entrants.push(Entrant::of_plan(session, variant, Wish::default(), plan)?.named(name));
        }
    }
    Ok(entrants)
}

fn plain<T: Element>(session: &Session<'_>, n: u64) -> Wish {
    let (block, factor, blocks) = PLAIN;
    let multiprocessors = u64::from(session.device().description().multiprocessors.unwrap_or(MULTIPROCESSORS));
    let of_block = u64::from(block * factor) * 16 / T::BYTES as u64;
    let grid = n.div_ceil(of_block).clamp(1, blocks * multiprocessors) as u32;
    Wish { block: Some(block), factor: Some(factor), grid: Some(grid), ..Wish::default() }
}

/// The same launches of another kernel: `ticket_t512u2_i32` for `single_pass_t512u2_i32`.
fn renamed(plan: &Plan, stem: &str) -> Plan {
    let mut plan = plan.clone();
    for pass in &mut plan.passes {
        pass.kernel = pass.kernel.replacen(CHAMPION, stem, 1);
    }
    plan
}

/// Blocks that leave their sums, and the champion's own kernel over those in one block.
fn two_launches(tuned: &Plan) -> Plan {
    let mut plan = renamed(tuned, "partial");
    let Some(first) = tuned.passes.first() else { return plan };
    let grid = u64::from(first.grid);
    let second = |slot: &Slot| match *slot {
        Slot::Input => Slot::Sums(0),
        Slot::Sums(_) => Slot::Sums(1),
        other => other,
    };
    let args = first.args.iter().map(second).collect();
    plan.passes.push(Pass { grid: 1, elements: grid, args, ..first.clone() });
    plan.sums = vec![grid, 1];
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_launch_reads_what_the_first_left() {
        let args = vec![Slot::Input, Slot::Sums(0), Slot::Elements64, Slot::State];
        let pass = Pass::new(format!("{CHAMPION}_t512u2_i32"), 7, 512, 1 << 16, 20, args);
        let tuned = Plan { passes: vec![pass], sums: vec![1], state_words: 16 };
        let two = two_launches(&tuned);
        let kernels: Vec<&str> = two.passes.iter().map(|pass| pass.kernel.as_str()).collect();
        assert_eq!(kernels, ["partial_t512u2_i32", "single_pass_t512u2_i32"]);
        assert_eq!(two.passes[1].args, [Slot::Sums(0), Slot::Sums(1), Slot::Elements64, Slot::State]);
        assert_eq!((two.passes[1].grid, two.passes[1].elements, two.sums), (1, 7, vec![7, 1]));
        assert_eq!(renamed(&tuned, "ticket").passes[0].kernel, "ticket_t512u2_i32");
    }
}
