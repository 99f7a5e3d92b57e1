//! The simulator takes what ptxas takes and refuses what ptxas refuses, for each spelling of its table of instructions, target
//! and version of PTX. `data/ptxas.tsv` has what ptxas said; `scripts/what_runs.py` asks it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ptx::table::{Needs, TARGETS};
use simt::{LoadError, Program};
use simt_fixtures::spellings::{self, Spelling};

use crate::host;

/// The first version of PTX, times ten, by target that takes a spelling: `sm_90a`.
type Taken = BTreeMap<String, u8>;

/// Record of what ptxas takes.
struct Said {
    /// Each target with the first version that has it at all.
    targets: Taken,
    /// Targets for each spelling in order, by shape and operands.
    shapes: HashMap<(String, String), Vec<Taken>>,
}

fn version(text: &str) -> u8 {
    let (major, minor) = text.split_once('.').expect("a version has a dot");
    major.parse::<u8>().expect("a number") * 10 + minor.parse::<u8>().expect("a number")
}

fn said() -> Said {
    let (mut targets, mut classes, mut shapes) = (Taken::new(), HashMap::new(), HashMap::new());
    let text = host::read("data/ptxas.tsv");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields.as_slice() {
            ["target", name, since] => drop(targets.insert((*name).to_owned(), version(since))),
            ["class", name, taken] => {
                let taken: Taken = taken
                    .split_whitespace()
                    .map(|one| match one.split_once('@') {
                        Some((target, since)) => (target.to_owned(), version(since)),
                        None => (one.to_owned(), targets[one]),
                    })
                    .collect();
                classes.insert((*name).to_owned(), taken);
            }
            [shape, operands, runs] => {
                let each = runs.split(' ').flat_map(|run| {
                    let (class, times) = run.split_once('*').unwrap_or((run, "1"));
                    std::iter::repeat_n(classes[class].clone(), times.parse().expect("a number"))
                });
                shapes.insert(((*shape).to_owned(), (*operands).to_owned()), each.collect());
            }
            other => panic!("{other:?}"),
        }
    }
    Said { targets, shapes }
}

/// Each spelling with what ptxas takes.
fn spellings_and_taken(said: &Said) -> Vec<(Spelling, &Taken)> {
    let mut places = HashMap::<(String, String), usize>::new();
    let mut taken = |spelling: &Spelling| {
        let key = (spelling.of.to_owned(), spelling.operands.to_owned());
        let all = said.shapes.get(&key).unwrap_or_else(|| panic!("{}: run scripts/what_runs.py", spelling.of));
        let place = places.entry(key).or_default();
        *place += 1;
        &all[*place - 1]
    };
    let with = |one: Spelling| (taken(&one), one);
    let all: Vec<(Spelling, &Taken)> =
        spellings::all().into_iter().map(with).map(|(taken, one)| (one, taken)).collect();
    assert!(all.len() > 10_000, "{}", all.len());
    all
}

/// `103` and `a` of `sm_103a`.
fn parts(target: &str) -> (u8, &str) {
    let digits = target.trim_start_matches("sm_").trim_end_matches(['a', 'f']);
    (digits.parse().expect("a number"), &target[3 + digits.len()..])
}

/// Returns whether the rules let a file for `target` have it, whatever its version of PTX.
fn has(needs: Needs, target: &str) -> bool {
    let (number, letter) = parts(target);
    match needs.family {
        true => [100, 103, 107].contains(&number) && !letter.is_empty(),
        false => number >= needs.sm,
    }
}

#[test]
fn rules_are_what_ptxas_says_of_each_spelling() {
    let said = said();
    let mut wrong = Vec::new();
    for (spelling, taken) in spellings_and_taken(&said) {
        for (target, &since) in &said.targets {
            let needs = spelling.needs[usize::from(target != "sm_89")];
            let ours = has(needs, target).then(|| needs.version.max(since));
            // sm_101 became sm_110, and the release that still knows it ends with 8.8.
            let ours = ours.filter(|&version| parts(target).0 != 101 || version <= 88);
            if ours != taken.get(target).copied() {
                wrong.push(format!("{} on {target}: {ours:?}, ptxas {:?}", spelling.line, taken.get(target)));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{} spellings:\n{}", wrong.len(), wrong[..wrong.len().min(60)].join("\n"));
}

#[test]
fn targets_are_those_of_ptxas() {
    let targets = said().targets;
    for (target, &since) in &targets {
        let load = |version: u8| {
            let text = format!(".version {}.{}\n.target {target}\n.entry k() {{ ret; }}", version / 10, version % 10);
            Program::load("k.ptx", &text).map(drop)
        };
        assert!(load(since).is_ok(), "{target}: {:?}", load(since));
        let before = if since.is_multiple_of(10) { since - 10 } else { since - 1 };
        let message = load(before).expect_err(target).to_string();
        assert!(message.contains("write `.version") || message.contains("there is no PTX"), "{message}");
    }
    for (number, _) in TARGETS {
        assert!(targets.contains_key(&format!("sm_{number}")), "{number}");
    }
}

/// The heads of files, each beside the next that has more.
const HEADS: [(&str, &str); 6] =
    [("6.0", "sm_60"), ("6.3", "sm_75"), ("7.4", "sm_86"), ("8.2", "sm_90a"), ("8.8", "sm_103f"), ("9.5", "sm_121a")];

#[test]
fn what_ptxas_refuses_of_a_file_is_refused() {
    let said = said();
    let all = spellings_and_taken(&said);
    for (version_text, target) in HEADS {
        let lines: String = all.iter().map(|(one, _)| format!("{};\n", one.line)).collect();
        let text = spellings::file(version_text, target, &lines);
        let first = text.lines().position(|line| line == all[0].0.line.clone() + ";").expect("it is there") + 1;
        let program = Program::load("k.ptx", &text).unwrap_or_else(|error| panic!("{target}: {error}"));
        let refused: BTreeSet<usize> = problems(&program).iter().map(|&line| line as usize - first).collect();
        let is_taken = |taken: &Taken| taken.get(target).is_some_and(|&since| since <= version(version_text));
        let wrong = |at: &usize| is_taken(all[*at].1) == refused.contains(at);
        let wrong: Vec<&str> = (0..all.len()).filter(wrong).map(|at| all[at].0.line.as_str()).collect();
        assert!(
            wrong.is_empty(),
            "{target}, {version_text}: {} spellings: {:#?}",
            wrong.len(),
            &wrong[..wrong.len().min(40)]
        );
    }
}

/// The lines that keep the kernel from running.
fn problems(program: &Program) -> Vec<u32> {
    let all = program.problems("kernel").expect("the kernel is there");
    let line = |error: &LoadError| match error {
        LoadError::Unsupported { line, .. } => *line,
        other => panic!("{other}"),
    };
    all.iter().map(line).collect()
}
