//! References and bounds against `numpy.json`, which `scripts/numpy_reference.py` writes.

use lab::reference::reference_of;
use lab::verdict::Verdict;
use lab::verify::verify;
use lab::{Array, Op, Type, Value};
use serde_json::Value as Json;

use crate::{array, row};

fn each<N>(json: &Json, one: impl Fn(Option<&str>) -> N) -> Vec<N> {
    json.as_array().map_or_else(|| vec![one(json.as_str())], |all| all.iter().map(|json| one(json.as_str())).collect())
}

fn numbers(json: &Json) -> Vec<f64> {
    each(json, |text| text.and_then(|text| text.parse().ok()).expect("a number as text"))
}

/// Numbers of integer types in full.
fn wholes(json: &Json) -> Vec<i64> {
    each(json, |text| text.and_then(|text| text.parse().ok()).unwrap_or_default())
}

/// NumPy's answer as a result of the same kind as ours; an index with the element there.
fn result(ours: Value, json: &Json, first: &Array) -> Value {
    let floats = numbers(json);
    match ours {
        Value::I32(_) => Value::I32(wholes(json)[0] as i32),
        Value::U32(_) => Value::U32(wholes(json)[0] as u32),
        Value::I64(_) => Value::I64(wholes(json)[0]),
        Value::F32(_) | Value::F64(_) => Value::F64(floats[0]),
        Value::Two(..) => Value::Two(floats[0], floats[1]),
        Value::At { .. } => {
            let of = |i: usize| lab::with_elements!(first, all => lab::element::Element::value(all[i]).to_f64());
            Value::At { index: floats[0] as u64, value: of(floats[0] as usize) }
        }
    }
}

fn agree(ours: f64, numpy: f64, verdict: &Verdict) -> bool {
    let is_near = (ours - numpy).abs() <= 1e-3 * verdict.error_bound + 1e-12 * numpy.abs();
    // A long double holds what no double does.
    ours == numpy || (ours.is_nan() && numpy.is_nan()) || is_near || verdict.not_judged.is_some()
}

/// Differences of one operation over one input, and how many results of NumPy were judged.
fn compare(op: Op, ty: Type, (first, other): (&Array, &Array), both: &Array, numpy: &Json) -> (Vec<String>, [u32; 2]) {
    let (mut wrong, mut judged) = (Vec::new(), [0, 0]);
    let mut take = |ours: f64, exact: f64, short: f64, verdict: Verdict| {
        judged[usize::from(verdict.not_judged.is_some())] += 1;
        if !agree(ours, exact, &verdict) || verdict.is_wrong() {
            wrong.push(format!("{op} {ty} {first:?}: {ours}, NumPy {exact} and {short} in short: {verdict:?}"));
        }
    };
    let [exact, short] = [&numpy[0], if numpy[1].is_null() { &numpy[0] } else { &numpy[1] }];
    let additions = first.len() as u64 + 2;
    if op.has_bounds() {
        let ours = row(op, first, other, additions);
        let is_narrow = ty.bytes() < 4 && op.is_per_element();
        let stored = |x: f64| if is_narrow { crate::kernels::narrowed(ty, x as f32).into() } else { x };
        for ((ours, exact), short) in ours.iter().zip(numbers(exact)).zip(numbers(short)) {
            take(ours.value, exact, short, ours.judge(stored(short)));
        }
        return (wrong, judged);
    }
    let reference = reference_of(op, both);
    let (exact, short) = (result(reference.expected, exact, first), result(reference.expected, short, first));
    let verdict = verify(short, &reference, additions, ty);
    let class = |value: Value| match value {
        Value::Two(_, second) => second,
        Value::At { value, .. } => value,
        other => other.to_f64(),
    };
    take(reference.expected.to_f64(), exact.to_f64(), short.to_f64(), verdict);
    take(class(reference.expected), class(exact), class(short), verdict);
    (wrong, judged)
}

#[test]
fn references_are_numpys_and_no_result_of_numpy_is_called_wrong() {
    let table: Json = serde_json::from_str(include_str!("../numpy.json")).expect("the table is JSON");
    let (mut wrong, mut judged, mut not_judged) = (Vec::new(), 0, 0);
    for case in table["cases"].as_array().expect("cases") {
        let ty = case["type"].as_str().and_then(Type::from_name).expect("a type");
        let of = |key: &str| array(ty, &numbers(&case[key]), &wholes(&case[key]));
        let both = |a: &str, b: &str| {
            let floats = [numbers(&case[a]), numbers(&case[b])].concat();
            array(ty, &floats, &[wholes(&case[a]), wholes(&case[b])].concat())
        };
        for (name, numpy) in case["results"].as_object().expect("results") {
            let op = Op::from_name(name).expect("an operation");
            if op.refusal(ty).is_some() || numpy[0].is_null() {
                continue;
            }
            let input = if op.arrays() == 2 { both("first", "other") } else { of("first") };
            let (differs, [sure, unsure]) = compare(op, ty, (&of("first"), &of("other")), &input, numpy);
            wrong.extend(differs);
            (judged, not_judged) = (judged + sure, not_judged + unsure);
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(judged > 4000 && not_judged < judged / 10, "{judged} judged, {not_judged} not");
}
