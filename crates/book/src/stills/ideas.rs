//! Numbers of the small figures at the top of part two's chapters, held to doubles.

use course::workspace;
use lab::reference::exact::rounded_once;
use lab::{Array, Op};
use serde_json::Value;

use super::Scripts;

/// Rows with something to trip over, and rows of all sizes.
fn rows() -> Vec<[f32; 8]> {
    let inf = f32::INFINITY;
    let mixed = |seed: u32| {
        std::array::from_fn(|i| {
            let hash = (seed * 8 + i as u32 + 1).wrapping_mul(2_654_435_761);
            (hash >> 16) as f32 / 4096.0 - 8.0
        })
    };
    let special = [
        [3.0, 1.0, 9.0, 1.0, 5.0, 9.0, 2.0, 6.0],
        [2.0, 1.0, 0.0, 1000.0, -1.0, 1.0, 0.0, 2.0],
        [-inf, 1.0, 0.0, 3.0, -inf, 1.0, 0.0, 2.0],
        [-inf; 8],
        [f32::NAN, 1.0, 0.0, 3.0, 2.0, f32::NAN, 0.0, 2.0],
        [inf, 1.0, 0.0, 3.0, 2.0, 0.5, 0.0, inf],
        [5.0; 8],
        [0.0; 8],
    ];
    special.into_iter().chain((0..40).map(mixed)).collect()
}

/// The numbers of a figure for a row; `options` are the rest of its state.
fn computed(scripts: &Scripts, name: &str, row: &[Option<f32>], options: &str) -> Value {
    let numbers: Vec<String> = row
        .iter()
        .map(|x| match x {
            None => "null".to_owned(),
            Some(x) if x.is_finite() => format!("{x}"),
            Some(x) => format!("{x}").replace("inf", "Infinity"),
        })
        .collect();
    let script = format!(
        "JSON.stringify(reductionLab.idea.subjects.{name}.compute({{ x: [{}], {options} }}), (_, one) => typeof one === \"number\" ? String(one) : one)",
        numbers.join(",")
    );
    serde_json::from_str(&scripts.text(&script, name).unwrap()).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_str().unwrap_or_else(|| panic!("{value} is no number")).parse().unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

/// Equal but for the rounding of a few operations on floats of this size.
#[track_caller]
fn near(found: f64, expected: f64, size: f64) {
    let same = found == expected || (found.is_nan() && expected.is_nan());
    assert!(same || (found - expected).abs() <= 1e-5 * size.max(expected.abs()), "{found}, not {expected}");
}

fn some(row: [f32; 8]) -> [Option<f32>; 8] {
    row.map(Some)
}

#[test]
fn a_softmax_is_that_of_doubles_and_its_halves_merge() {
    let scripts = Scripts::load(&workspace::root().unwrap()).unwrap();
    for row in rows() {
        let x = row.map(f64::from);
        let has_nan = x.iter().any(|x| x.is_nan());
        let max = if has_nan { f64::NAN } else { x.into_iter().fold(f64::NEG_INFINITY, f64::max) };
        let base = if max == f64::NEG_INFINITY { 0.0 } else { max };
        let powers = x.map(|x| (x - base).exp());
        let sum: f64 = powers.iter().sum();
        let found = computed(&scripts, "softmax", &some(row), "plain: false");
        near(number(&found["m"]), max, 0.0);
        for (found, power) in numbers(&found["powers"]).into_iter().zip(powers) {
            near(found, power, 1e-30);
        }
        for (found, power) in numbers(&found["shares"]).into_iter().zip(powers) {
            near(found, power / sum, 1e-30);
        }
        near(number(&found["whole"]["m"]), max, 0.0);
        near(number(&found["whole"]["s"]), sum, 0.0);
        // Without the maximum, a float has no e^89.
        let found = computed(&scripts, "softmax", &some(row), "plain: true");
        for (found, x) in numbers(&found["powers"]).into_iter().zip(x) {
            near(found, if x > 88.8 { f64::INFINITY } else { x.exp() }, 1e-30);
        }
    }
}

#[test]
fn norms_are_those_of_doubles() {
    let scripts = Scripts::load(&workspace::root().unwrap()).unwrap();
    let mean = |x: &[f64; 8]| x.iter().sum::<f64>() / 8.0;
    for (row, bare) in rows().into_iter().flat_map(|row| [(row, false), (row, true)]) {
        let x = row.map(f64::from);
        let epsilon = if bare { 0.0 } else { 1e-5 };
        let mu = mean(&x);
        let variance = mean(&x.map(|x| (x - mu).powi(2)));
        let square = mean(&x.map(|x| x * x));
        let found = computed(&scripts, "norm", &some(row), &format!("bare: {bare}"));
        near(number(&found["mu"]), mu, 10.0);
        near(number(&found["variance"]), variance, 0.1);
        near(number(&found["square"]), square, 0.0);
        for (i, x) in x.into_iter().enumerate() {
            near(numbers(&found["layered"])[i], (x - mu) / (variance + epsilon).sqrt(), 1.0);
            near(numbers(&found["scaled"])[i], x / (square + epsilon).sqrt(), 1.0);
        }
    }
}

#[test]
fn an_exact_sum_is_rounded_once_and_a_plain_one_each_time() {
    let scripts = Scripts::load(&workspace::root().unwrap()).unwrap();
    let all = rows().into_iter().chain([
        [1e8, 1.0, 1.0, 3.0, -1e8, 0.5, 2.0, 0.25],
        [16_777_216.0, 1.0, 1e-45, 0.0, 0.0, 0.0, 0.0, 0.0],
        [f32::MAX, f32::MAX, -f32::MAX, 1.0, -f32::MAX, f32::from_bits(3), 1.0, -2.0],
        [-0.0; 8],
    ]);
    let orders = [("neighbours", [0, 1, 2, 3, 4, 5, 6, 7]), ("backwards", [7, 6, 5, 4, 3, 2, 1, 0])];
    for (row, (order, places)) in all.flat_map(|row| orders.map(|order| (row, order))) {
        let found = computed(&scripts, "accuracy", &some(row), &format!("order: \"{order}\""));
        let right = rounded_once(Op::Sum, &Array::F32(row.to_vec())).unwrap().expected.to_f64();
        let exact = number(&found["exact"]);
        assert!(exact == right || (exact.is_nan() && right.is_nan()), "{row:?}: {exact}, not {right}");
        let plain = places.iter().fold(-0.0, |sum: f32, &i| sum + row[i]);
        near(number(&found["last"]), f64::from(plain), 0.0);
        for (place, &i) in found["places"].as_array().unwrap().iter().zip(&places) {
            let bits = row[i].to_bits();
            if row[i].is_finite() {
                let of = |name: &str| number(&place[name]) as u32;
                assert_eq!((of("slot"), of("shift")), (bits >> 28, bits >> 23 & 31), "{}", row[i]);
            }
        }
    }
}

#[test]
fn an_operator_gives_one_result_in_every_order() {
    let scripts = Scripts::load(&workspace::root().unwrap()).unwrap();
    let all = rows().into_iter().flat_map(|row| {
        let mut gaps = some(row);
        (gaps[0], gaps[5], gaps[7]) = (None, None, None);
        [some(row), gaps, [None; 8]]
    });
    for (row, order) in all.flat_map(|row| ["neighbours", "halves", "backwards"].map(|order| (row, order))) {
        let result = |op: &str| {
            computed(&scripts, "operator", &row, &format!("op: \"{op}\", order: \"{order}\""))["result"].clone()
        };
        let there: Vec<f64> = row.iter().flatten().map(|x| f64::from(*x)).collect();
        let size = there.iter().filter(|x| x.is_finite()).fold(0.0, |most: f64, x| most.max(x.abs()));
        near(number(&result("sum")), there.iter().sum(), 8.0 * size);
        near(number(&result("max")), there.iter().copied().fold(f64::NAN, f64::max), 0.0);
        let has_nan = there.iter().any(|x| x.is_nan());
        let strict = |worst: f64, best: fn(f64, f64) -> f64| {
            if has_nan { f64::NAN } else { there.iter().copied().fold(worst, best) }
        };
        let (least, most) = (strict(f64::INFINITY, f64::min), strict(f64::NEG_INFINITY, f64::max));
        near(number(&result("maximum")), most, 0.0);
        near(number(&result("minmax")["min"]), least, 0.0);
        near(number(&result("minmax")["max"]), most, 0.0);
        let is_it = |x: &Option<f32>| x.is_some_and(|x| if has_nan { x.is_nan() } else { f64::from(x) == most });
        let place = row.iter().position(is_it).map_or(-1.0, |place| place as f64);
        assert_eq!(number(&result("argmax")["place"]), place, "{row:?} {order}");
        if there.iter().all(|x| x.is_finite()) {
            let count = there.len() as f64;
            let mean = there.iter().sum::<f64>() / count.max(1.0);
            let squares: f64 = there.iter().map(|x| (x - mean).powi(2)).sum();
            let found = result("meanvar");
            near(number(&found["count"]), count, 0.0);
            near(number(&found["mean"]), mean, size);
            near(number(&found["squares"]), squares, size * size);
        }
    }
}
