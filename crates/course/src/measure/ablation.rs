//! The champion with one of its ideas taken away: by another grid, or by kernels that lack one thing and are otherwise it.

use anyhow::Result;
use lab::element::Element;
use lab::measurement::CHAMPION;
use lab::plan::{Arg, Planned};
use lab::{LaunchOptions, Session, Variant};

use super::bench::Entrant;

/// A rule that anybody would begin with: four blocks of this many threads a multiprocessor, two loads of each thread on their
/// way, fewer blocks where there is less to do.
const PLAIN: (u32, u32, u64) = (256, 2, 4);

/// Entrants of [`lab::measurement::ABLATIONS`] that can be measured for this size: kernels that are not compiled for the champion's
/// shape are left out, and so is a meeting of blocks where there is one.
///
/// # Errors
/// Memory that does not suffice.
pub fn entrants<'s, T: Element>(
    session: &'s Session<'static>,
    variant: &'static Variant,
    n: u64,
) -> Result<Vec<Entrant<'s, T>>> {
    let tuned = session.plan(variant, T::TYPE, n, LaunchOptions::default())?;
    let mut entrants = Vec::new();
    if let Ok(entrant) = Entrant::ours(session, variant, plain::<T>(session, n), n) {
        entrants.push(entrant.named("plain_grid"));
    }
    let meets = tuned.grid() > 1;
    let meeting = |stem| meets.then(|| renamed(&tuned, stem));
    let others =
        [("narrow", Some(renamed(&tuned, "narrow"))), ("ticket", meeting("ticket")), ("fences", meeting("fences"))];
    let last = session.plan(variant, T::TYPE, u64::from(tuned.grid()), LaunchOptions::default())?;
    let two = ("two_launches", meets.then(|| two_launches(&tuned, &last)));
    let more = [
        ("hintless", Some(renamed(&tuned, "hintless"))),
        ("shuffles", meeting("shuffles")),
        ("lone_word", meeting("lone_word")),
    ];
    for (name, plan) in others.into_iter().chain([two]).chain(more) {
        let Some(plan) = plan else { continue };
        if plan.passes.iter().all(|pass| session.has_kernel(variant, &pass.kernel)) {
            entrants.push(Entrant::planned(session, variant, LaunchOptions::default(), plan)?.named(name));
        }
    }
    Ok(entrants)
}

fn plain<T: Element>(session: &Session<'_>, n: u64) -> LaunchOptions {
    let (block, factor, blocks) = PLAIN;
    let multiprocessors = u64::from(session.device().card().multiprocessors);
    let of_block = u64::from(block * factor) * 16 / T::BYTES as u64;
    let grid = n.div_ceil(of_block).clamp(1, blocks * multiprocessors) as u32;
    LaunchOptions { block: Some(block), factor: Some(factor), grid: Some(grid), ..LaunchOptions::default() }
}

/// The plan with another kernel in each launch: `ticket_t512u2_i32` for `single_pass_t512u2_i32`.
fn renamed(plan: &Planned, stem: &str) -> Planned {
    let mut plan = plan.clone();
    for pass in &mut plan.passes {
        pass.kernel = pass.kernel.replacen(CHAMPION, stem, 1);
    }
    plan
}

/// The plan without what the champion asks for before it waits for the launch before: the last argument of its kernels.
pub fn not_ahead(mut plan: Planned) -> Planned {
    for pass in &mut plan.passes {
        if let Some(Arg::U32(ahead)) = pass.args.last_mut() {
            *ahead = 0;
        }
    }
    plan
}

/// Blocks that leave their sums, and the champion itself over those.
fn two_launches(tuned: &Planned, last: &Planned) -> Planned {
    let mut plan = renamed(tuned, "partial");
    let second = |arg: &Arg| match *arg {
        Arg::Input => Arg::Sums(0),
        Arg::Sums(_) => Arg::Sums(1),
        other => other,
    };
    for pass in &last.passes {
        plan.passes.push(pass.clone().with_args(pass.args.iter().map(second).collect()));
    }
    plan.sums = vec![u64::from(tuned.grid()), 1];
    plan.state_words = plan.state_words.max(last.state_words);
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::{Pass, Plan};

    #[test]
    fn a_second_launch_reads_what_the_first_left() {
        let plan = |kernel: &str, grid, n| {
            let args = vec![Arg::Input, Arg::Sums(0), Arg::U64(n), Arg::State];
            let pass = Pass::new(kernel.to_owned(), grid, 512, args).with_elements(n);
            Planned::from(Plan::new(vec![pass], vec![1]).with_state_words(4 * grid))
        };
        let (tuned, last) = (plan("single_pass_t512u2_i32", 7, 1 << 16), plan("single_pass_block_t32u8_i32", 1, 7));
        let two = two_launches(&tuned, &last);
        let kernels: Vec<&str> = two.passes.iter().map(|pass| pass.kernel.as_str()).collect();
        assert_eq!(kernels, ["partial_t512u2_i32", "single_pass_block_t32u8_i32"]);
        assert_eq!(two.passes[1].args, [Arg::Sums(0), Arg::Sums(1), Arg::U64(7), Arg::State]);
        assert_eq!((two.passes[1].grid(), two.passes[1].elements, two.plan.sums), (1, 7, vec![7, 1]));
        assert_eq!(renamed(&tuned, "ticket").passes[0].kernel, "ticket_t512u2_i32");
    }
}
