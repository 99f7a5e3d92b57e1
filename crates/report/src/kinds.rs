//! How far the sums of a chapter's kernels are off for several kinds of data, and what each kernel does for an element: runs on the
//! simulator, a table and a chart.

use std::path::Path;

use lab::figure::{FONT, INK, TITLE_HEIGHT, WIDTH, drawing, drawn, text};
use lab::input::{SEED, split_mix};
use lab::reference::{exact::rounded_once, reference_of};
use lab::run::Job;
use lab::text::{grouped, three_digits};
use lab::{Array, Chapter, Error, LaunchOptions, Op, Result, Type};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::plot::{power, rule};
use crate::sheet::Sheet;
use crate::simulated::unchecked;

/// Elements of each input.
const N: usize = 1 << 16;
/// The counter of what each thread does, of the record's longest input, where what a block does once is little.
const INSTRUCTIONS: &str = "thread_inst_executed";
/// Numbers that come and go.
const LARGE: f32 = (1u64 << 30) as f32;

/// A kind of data.
struct Kind {
    name: &'static str,
    /// Numbers of this kind, from 64 random bits each.
    make: fn(&mut [f32], &dyn Fn(usize) -> u64),
}

const KINDS: [Kind; 6] = [
    Kind { name: "from 0 to 1", make: |x, bits| fill(x, |i| unit(bits(i))) },
    Kind { name: "from −1 to 1", make: |x, bits| fill(x, |i| 2.0 * unit(bits(i)) - 1.0) },
    Kind { name: "from 1,000 to 1,001", make: |x, bits| fill(x, |i| 1000.0 + unit(bits(i))) },
    Kind { name: "2⁻⁴⁰ to 2⁴⁰, either sign", make: |x, bits| fill(x, |i| any(bits(i))) },
    Kind {
        name: "from 0 to 1, and 2³⁰ comes and goes",
        make: |x, bits| {
            fill(x, |i| unit(bits(i)));
            let third = x.len() / 3;
            (x[third], x[2 * third]) = (LARGE, -LARGE);
        },
    },
    Kind {
        name: "pairs that cancel, and a 1",
        make: |x, bits| {
            fill(x, |i| any(bits(i)));
            let half = x.len() / 2;
            // An odd step comes by every place of a power of two.
            let partner = |i: usize| half + 12_345 * i % half;
            for i in 0..half {
                x[partner(i)] = -x[i];
            }
            (x[0], x[partner(0)]) = (1.0, 0.0);
        },
    },
];

fn fill(x: &mut [f32], number: impl Fn(usize) -> f32) {
    x.iter_mut().enumerate().for_each(|(i, x)| *x = number(i));
}

/// A multiple of 2⁻²⁴ below 1.
fn unit(bits: u64) -> f32 {
    (bits >> 40) as f32 / (1u64 << 24) as f32
}

/// A number of any sign and of a magnitude that is drawn first.
fn any(bits: u64) -> f32 {
    let sign = if bits & 1 == 0 { 1.0 } else { -1.0 };
    sign * (1.0 + unit(bits)) * 2f32.powi((bits >> 1) as u8 as i32 % 81 - 40)
}

/// One kernel.
struct Row {
    name: &'static str,
    /// Last places of an f32 by which each kind's sum is off.
    places: Vec<f64>,
    /// PTX instructions for each element, counted for each thread.
    instructions: f64,
}

/// `kinds.md` and `kinds.svg` of a chapter on sums of f32.
///
/// # Errors
/// Kernels that do not run, a sum that is farther off than its bound, a chart that cannot be drawn.
pub fn kinds(chapter: &Chapter, root: &Path) -> Result<Vec<(String, String)>> {
    let session = unchecked(chapter, root)?;
    let inputs = KINDS.map(|kind| {
        let mut numbers = vec![0.0; N];
        (kind.make)(&mut numbers, &|i| split_mix(SEED, i as u64));
        let input = Array::F32(numbers);
        let (usual, right) = (reference_of(Op::Sum, &input), rounded_once(Op::Sum, &input));
        (kind.name, input, usual, right.map_or(f64::NAN, |right| right.expected.to_f64()))
    });
    let record = lab::record::load(root, chapter.slug)?;
    let rows = session.variants_for(Type::F32).map(|variant| {
        let case = record.as_ref().and_then(|record| record.case(variant.name, Type::F32, lab::record::N));
        let counted = case.and_then(|case| case.counters.get(INSTRUCTIONS));
        let counted =
            counted.ok_or_else(|| Error::Usage(format!("no record has {INSTRUCTIONS} of {}", variant.name)))?;
        let instructions = *counted as f64 / lab::record::N as f64;
        let mut row = Row { name: variant.name, places: Vec::new(), instructions };
        for (kind, input, usual, right) in &inputs {
            let job = Job { variant, options: LaunchOptions::default(), input, reference: Some(usual), offset: 0 };
            let run = session.run(job)?;
            if !run.verdict.right {
                return Err(Error::Usage(format!("{}, {kind}: {} is wrong", variant.name, run.result)));
            }
            row.places.push(places(run.result.to_f64(), *right));
        }
        Ok(row)
    });
    let rows = rows.collect::<Result<Vec<Row>>>()?;
    Ok(vec![("kinds.md".to_owned(), table(&rows)), ("kinds.svg".to_owned(), chart(&rows)?)])
}

/// Distance from the nearest float, in its last places.
fn places(result: f64, right: f64) -> f64 {
    let last = 2f64.powi(((right.abs() as f32).to_bits() >> 23).max(1) as i32 - 127 - 23);
    (result - right).abs() / last
}

/// Rows are kinds, columns kernels.
fn table(rows: &[Row]) -> String {
    let head =
        std::iter::once("simulated, n = 65,536".to_owned()).chain(rows.iter().map(|row| format!("`{}`", row.name)));
    let mut sheet = Sheet::new(1, head);
    for (i, kind) in KINDS.iter().enumerate() {
        let cells = rows.iter().map(|row| magnitude(row.places[i]));
        sheet.row(std::iter::once(kind.name.to_owned()).chain(cells));
    }
    let cells = rows.iter().map(|row| three_digits(row.instructions));
    sheet.row(std::iter::once(format!("PTX instructions for an element of {}", grouped(lab::record::N))).chain(cells));
    sheet.markdown()
}

/// `12`, or `3·10⁹`.
fn magnitude(places: f64) -> String {
    if places < 1e5 {
        return grouped(places.round() as u64);
    }
    power(10, places.log10().round())
}

/// Height of the axis, and room beside it.
const HEIGHT: i32 = 260;
const LEFT: i32 = 60;
const RIGHT: i32 = WIDTH - 90;
/// Powers of ten between two marks of the axis.
const STEP: usize = 4;

/// Each kernel at its instructions for an element, as high as it is off for the worst kind; what is never off stands on the floor.
fn chart(rows: &[Row]) -> Result<String> {
    let title = "Error against cost";
    let worst = |row: &Row| row.places.iter().copied().fold(0.0, f64::max);
    let decades = |places: f64| if places < 1.0 { -1.0 } else { places.log10() };
    let top = rows.iter().map(|row| decades(worst(row))).fold(1.0, f64::max).ceil() + 1.0;
    let most = rows.iter().map(|row| row.instructions).fold(1.0, f64::max);
    let x = |instructions: f64| LEFT + (f64::from(RIGHT - LEFT) * instructions / most) as i32;
    let foot = TITLE_HEIGHT + 24 + HEIGHT;
    let y = |power: f64| foot - (f64::from(HEIGHT) * (power + 1.0) / (top + 1.0)) as i32;
    let lines: Vec<String> = rows
        .iter()
        .map(|row| {
            format!(
                "{}: {} last places, {} instructions.",
                row.name,
                magnitude(worst(row)),
                three_digits(row.instructions)
            )
        })
        .collect();
    drawing(title, &lines.join(" "), foot + 46, |ground| {
        text(ground, "last places off, at worst", (0, TITLE_HEIGHT + 8), FONT - 2, HPos::Left)?;
        text(ground, "0", (LEFT - 8, foot), FONT - 2, HPos::Right)?;
        rule(ground, &[(LEFT, foot), (RIGHT, foot)], 1.0)?;
        for mark in (0..=top as usize).step_by(STEP) {
            let at = y(mark as f64);
            let label = if mark == 0 { "1".to_owned() } else { power(10, mark as f64) };
            text(ground, &label, (LEFT - 8, at), FONT - 2, HPos::Right)?;
            rule(ground, &[(LEFT, at), (RIGHT, at)], 0.18)?;
        }
        for instructions in (0..=most as usize).step_by(10) {
            text(ground, &instructions.to_string(), (x(instructions as f64), foot + 14), FONT - 2, HPos::Center)?;
        }
        let below = "PTX instructions for an element, simulated";
        text(ground, below, ((LEFT + RIGHT) / 2, foot + 33), FONT - 2, HPos::Center)?;
        let mut labels: Vec<((i32, i32), String)> = Vec::new();
        for row in rows {
            let at = (x(row.instructions), y(decades(worst(row))));
            drawn(ground.draw(&Circle::new(at, 4, INK.filled())))?;
            // Kernels that stand in one place share a label.
            match labels.iter_mut().find(|(other, _)| (other.0 - at.0).abs() < 8 && other.1 == at.1) {
                Some((_, label)) => *label += &format!(", {}", row.name),
                None => labels.push((at, row.name.to_owned())),
            }
        }
        for ((x, y), label) in labels {
            text(ground, &label, (x, y - 14), FONT - 2, HPos::Center)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_in_last_places_of_the_nearest_float() {
        let off = |result: f32, right: f32| places(result.into(), right.into());
        assert_eq!(off(1.0, 1.0), 0.0);
        assert_eq!(off(1.0 + 2.0 * f32::EPSILON, 1.0), 2.0);
        assert_eq!(off(f32::from_bits(3), 0.0), 3.0);
        assert_eq!([magnitude(0.0), magnitude(12.0), magnitude(2e9)], ["0", "12", "10⁹"]);
    }

    #[test]
    fn pairs_cancel_but_for_a_one() {
        let mut numbers = vec![0.0; N];
        (KINDS[5].make)(&mut numbers, &|i| split_mix(SEED, i as u64));
        let right = rounded_once(Op::Sum, &Array::F32(numbers)).unwrap();
        assert_eq!(right.expected.to_f64(), 1.0);
    }
}
