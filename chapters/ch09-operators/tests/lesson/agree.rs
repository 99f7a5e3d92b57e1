//! Short cuts for narrow elements against the reference, on every pattern of bits that such an element can have; and ties under
//! many schedules.

use anyhow::Context as _;
use ch09_operators::CHAPTER;
use device::{Checks, Schedule};
use lab::element::rust::{bf16, f16};
use lab::{Array, LaunchOptions, Op, Result, Session, Value, session::built_root, trial};

/// Operators whose result is exact: one element of the input, its place, or a number of elements.
const EXACT: [Op; 8] = [Op::Count, Op::Min, Op::Max, Op::Minimum, Op::Maximum, Op::Argmin, Op::Argmax, Op::Minmax];

/// `count` numbers from `first` on, each once, in no order.
fn scrambled(first: u32, count: u32) -> impl Iterator<Item = u32> {
    (0..count).map(move |i| first + (i.wrapping_mul(2_654_435_761) >> 7) % count)
}

fn simulator(seed: Option<u64>) -> Result<Session<'static>> {
    trial::simulator(&CHAPTER, Schedule::Independent { seed }, Checks::ALL)
}

/// Runs the last rung with every exact operator that takes these elements; says how many runs that were.
fn holds(session: &Session<'static>, input: &Array) -> Result<usize> {
    let reduce = trial::variant(&CHAPTER, "reduce");
    let mut runs = 0;
    for op in EXACT {
        let options = LaunchOptions { op, ..LaunchOptions::default() };
        if !reduce.computes(op, input.ty()) {
            continue;
        }
        trial::right(session, reduce, options, input, 1)?;
        runs += 1;
    }
    Ok(runs)
}

#[test]
fn every_byte() -> Result<()> {
    let session = simulator(None)?;
    let mut runs = 0;
    // All of them, the halves of one sign, and a few.
    for (first, count) in [(0, 256), (0, 128), (128, 128), (250, 6), (0, 3)] {
        let bytes: Vec<u8> = scrambled(first, count).chain(scrambled(first, count)).map(|bits| bits as u8).collect();
        runs += holds(&session, &Array::I8(bytes.iter().map(|byte| byte.cast_signed()).collect()))?;
        runs += holds(&session, &Array::U8(bytes))?;
    }
    assert_eq!(runs, 5 * (3 + 2));
    Ok(())
}

#[test]
fn every_half() -> Result<()> {
    const PIECE: u32 = 1 << 12;
    let session = simulator(None)?;
    let mut runs = 0;
    for first in (0..1 << 16).step_by(PIECE as usize) {
        let bits: Vec<u16> = scrambled(first, PIECE).map(|bits| bits as u16).collect();
        runs += holds(&session, &Array::BF16(bits.iter().copied().map(bf16::from_bits).collect()))?;
        runs += holds(&session, &Array::F16(bits.iter().copied().map(f16::from_bits).collect()))?;
    }
    assert_eq!(runs, 16 * (8 + 4));
    Ok(())
}

#[test]
fn a_tie_is_the_first_under_any_schedule() -> Result<()> {
    // Four of the largest, far apart, in threads and blocks of their own.
    let mut numbers = vec![0; 5003];
    for at in [4999, 3456, 777, 2111] {
        numbers[at] = 9;
    }
    let input = Array::I32(numbers);
    let reduce = trial::variant(&CHAPTER, "reduce");
    for seed in 0..24 {
        let session = simulator(Some(seed))?;
        let options = LaunchOptions { op: Op::Argmax, grid: Some(5), ..LaunchOptions::default() };
        trial::right(&session, reduce, options, &input, 0)?;
    }
    Ok(())
}

/// Returns whether two numbers compare as equal: NumPy does not say which of two zeros is the larger one.
fn is_same(ours: f64, numpys: &str) -> bool {
    let numpys: f64 = numpys.parse().unwrap_or(f64::NAN);
    ours == numpys || ours.is_nan() && numpys.is_nan()
}

/// Results of NumPy for the same arrays: scripts/numpy_rules.py.
#[test]
fn numpys_rules_hold() -> anyhow::Result<()> {
    let path = built_root().join("chapters/ch09-operators/tests/numpy.json");
    let recorded: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let (session, reduce) = (simulator(None)?, trial::variant(&CHAPTER, "reduce"));
    let mut runs = 0;
    for case in recorded["cases"].as_array().context("cases")? {
        let words = case["input"].as_array().context("input")?;
        let numbers: Vec<f64> = words.iter().filter_map(|word| word.as_str()?.parse().ok()).collect();
        assert_eq!(numbers.len(), words.len());
        let narrow = Array::F32(numbers.iter().map(|&number| number as f32).collect());
        for (name, said) in case.as_object().context("case")?.iter().filter(|(name, _)| *name != "input") {
            let op = Op::from_name(name).context("an operator")?;
            for input in [&narrow, &Array::F64(numbers.clone())] {
                let options = LaunchOptions { op, ..LaunchOptions::default() };
                let run = trial::run_with(&session, reduce, options, input, 0)?;
                let is_right = match (run.result, said.as_str()) {
                    (Value::At { index, .. }, None) => index == Value::NOWHERE,
                    (Value::At { index, .. }, Some(said)) => index.to_string() == said,
                    (value, said) => is_same(value.to_f64(), said.context("a number")?),
                };
                assert!(is_right && run.ok(), "{name} of {words:?}: NumPy says {said}, and {:?} came", run.result);
                runs += 1;
            }
        }
    }
    assert!(runs > 1000, "{runs} runs");
    Ok(())
}
