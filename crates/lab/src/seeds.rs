//! `--seeds N`: the variants under many schedules of the simulator, each until one of them fails without
//! an announcement.

use device::{Choice, Schedule};
use serde_json::json;

use crate::cli::LeftOut;
use crate::element::{Array, Type};
use crate::error::Result;
use crate::input::{self, Source};
use crate::plan::LaunchOptions;
use crate::program::Output;
use crate::reference::reference_of;
use crate::run::{Job, Run};
use crate::session::Session;
use crate::show::{check_lines, findings, not_run_lines};
use crate::status::Status;
use crate::{Variant, cli, json};

/// Elements when the reader gives none: many blocks, the last of them ragged, and quick enough for a hundred schedules.
pub(crate) const N: u64 = 20_011;

/// Result of one variant.
struct Tried {
    /// The run that went wrong, or else that under the last seed.
    run: Run,
    status: Status,
    /// The seed of that run.
    seed: u64,
}

/// Input of all of them.
pub(crate) struct Numbers {
    /// Description of the input.
    pub words: String,
    /// Seed of the random numbers, if they are.
    pub seed: Option<u64>,
    pub input: Array,
}

impl Numbers {
    /// Reads the input.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(crate) fn read(source: Source, args: &cli::Args, ty: Type, n: u64) -> Result<Numbers> {
        let seed = match &source {
            Source::Random { seed } => Some(*seed),
            Source::File(_) => None,
        };
        Ok(Numbers {
            words: input::words(args.input.as_deref(), seed, (ty, args.op), n),
            seed,
            input: source.read(args.op, ty, n)?,
        })
    }
}

/// Runs every variant under the seeds from 0 on, each until it goes wrong, and says which did.
///
/// # Errors
/// Those of [`Session::run`].
pub(crate) fn run(
    session: &Session<'_>,
    (args, launch): (&cli::Args, LaunchOptions),
    (variants, left_out): (&[&'static Variant], &[LeftOut]),
    numbers: &Numbers,
    asked: u64,
) -> Result<Output> {
    let reference = reference_of(args.op, &numbers.input);
    let mut all: Vec<Option<Tried>> = variants.iter().map(|_| None).collect();
    for seed in 0..asked {
        if all.iter().flatten().filter(|tried| tried.status.fails()).count() == variants.len() {
            break;
        }
        session.progress.at(format!("seed {seed} of 0 to {}", asked - 1));
        let options = device::SimOptions { schedule: Schedule::Independent { seed: Some(seed) }, ..session.options };
        let seeded = Session::open_source(session.chapter, session.source.clone(), Choice::Sim, options)?;
        for (&variant, tried) in variants.iter().zip(&mut all) {
            if tried.as_ref().is_some_and(|tried| tried.status.fails()) {
                continue;
            }
            let job = Job { variant, options: launch, input: &numbers.input, reference: Some(&reference), offset: 0 };
            let run = seeded.run(job)?;
            *tried = Some(Tried { status: Status::of(&run, false, options), run, seed });
        }
    }
    let all: Vec<Tried> = all.into_iter().flatten().collect();
    let fails = |status: Status| status.fails() || (status.is_unjudged() && !args.allow_unjudged);
    let status = u8::from(all.iter().any(|tried| fails(tried.status)));
    let text = if args.json {
        object(session, numbers, asked, (&all, left_out))
    } else {
        text(session, numbers, asked, (&all, left_out))
    };
    Ok(Output { text, status })
}

/// The object of a run of the program, with `seeds` beside its runs and in each of them.
fn object(session: &Session<'_>, numbers: &Numbers, asked: u64, (all, left_out): (&[Tried], &[LeftOut])) -> String {
    let runs: Vec<Run> = all.iter().map(|tried| tried.run.clone()).collect();
    let mut object = json::object(session, numbers.seed, &runs, left_out);
    object["seeds"] = asked.into();
    for (place, tried) in all.iter().enumerate() {
        let first = tried
            .status
            .fails()
            .then(|| json!({"seed": tried.seed, "schedule": format!("independent:{}", tried.seed)}));
        object["runs"][place]["seeds"] = json!({"asked": asked, "ran": tried.seed + 1, "first": first});
    }
    format!("{object:#}\n")
}

fn text(session: &Session<'_>, numbers: &Numbers, asked: u64, (all, left_out): (&[Tried], &[LeftOut])) -> String {
    let chapter = session.chapter;
    let mut out = format!("{}: {}\n\ninput    {}\n", chapter.slug, chapter.title, numbers.words);
    out.push_str(&format!("seeds    each variant under independent:0 to independent:{}\n\ncheck\n", asked - 1));
    for Tried { run, status, seed } in all {
        out.push_str(&check_lines(run, *status));
        out.push_str(&match status.fails() {
            true => format!("      first under seed {seed}: --schedule independent:{seed} repeats it\n"),
            false => format!("      judged the same under each of the {asked} seeds; shown is the last\n"),
        });
    }
    out.push_str(&not_run_lines(session, left_out));
    for tried in all.iter().filter(|tried| tried.status.fails() && !tried.run.faults.is_empty()) {
        out.push_str(&format!("\nfound in {} under seed {}\n", tried.run.variant.name, tried.seed));
        out.push_str(&findings(&tried.run.faults, session.source.root()));
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::program::execute;
    use crate::{BlockRule, Chapter, Type, Variant};

    const UNROLLED: Variant = Variant {
        types: &[Type::I32],
        blocks: BlockRule { min: 64, max: 1024, default: 64 },
        ..crate::plan::tests::TWO_A_THREAD
    };

    /// Chapter 5 with its racing kernel as one that is taught as right, so that every seed has an unannounced finding.
    static CHAPTER: Chapter = Chapter {
        slug: "ch05-unroll",
        title: "A chapter with a mistake",
        variants: &[Variant { name: "unroll_volatile", ..UNROLLED }, Variant { name: "unroll_shuffle", ..UNROLLED }],
        ..Chapter::BASE
    };

    fn run(words: &[&str]) -> (u8, String) {
        let words = ["program", "--device", "sim", "--n", "300", "--seeds", "4"].iter().chain(words);
        let output = execute(&CHAPTER, words.map(Into::into)).unwrap_or_else(|_| panic!("it runs"));
        (output.status, output.text)
    }

    #[test]
    fn a_variant_that_goes_wrong_is_named_with_the_first_seed() {
        let (status, text) = run(&[]);
        assert_eq!(status, 1, "{text}");
        for part in [
            "not announced: ",
            "first under seed 0: --schedule independent:0 repeats it",
            "found in unroll_volatile under seed 0",
            "error[shared-race]",
            "judged the same under each of the 4 seeds",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn a_wrong_result_without_a_finding_is_found_under_the_seed_that_gives_it() {
        let (status, text) = run(&["--json", "--check", "none"]);
        let object: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
        let (wrong, right) = (&object["runs"][0], &object["runs"][1]);
        assert_eq!((status, &wrong["ok"], &right["ok"]), (1, &false.into(), &true.into()), "{text}");
        let seed = wrong["seeds"]["first"]["seed"].as_u64().expect("a seed");
        assert_eq!(wrong["seeds"]["first"]["schedule"], format!("independent:{seed}"));
        assert_eq!(wrong["seeds"]["ran"], seed + 1);
        assert_ne!(wrong["result"], wrong["expected"]);
        assert_eq!(right["seeds"], serde_json::json!({"asked": 4, "ran": 4, "first": null}));
        let again =
            ["program", "--device", "sim", "--n", "300", "--json", "--check", "none", "--variant", "unroll_volatile"];
        let schedule = format!("--schedule=independent:{seed}");
        let words = again.iter().copied().chain([schedule.as_str()]).map(Into::into);
        let again = execute(&CHAPTER, words).unwrap_or_else(|_| panic!("it runs"));
        let again: serde_json::Value = serde_json::from_str(&again.text).expect("it is JSON");
        assert_eq!(again["runs"][0]["result"], wrong["result"]);
    }
}
