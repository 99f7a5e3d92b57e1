//! Over awkward inputs: no NaN and no infinity passes for a finite number, and no right result is called wrong.

use lab::reference::reference_of;
use lab::verdict::Expected;
use lab::verify::verify;
use lab::{Op, Type, Value};
use proptest::prelude::*;

use crate::{array, kernels, row};

const FLOATS: [Type; 4] = [Type::F16, Type::BF16, Type::F32, Type::F64];

/// Numbers at the edges of floats, and a few that are not.
fn awkward() -> impl Strategy<Value = f64> {
    let edges = vec![
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        3.0,
        1449.57,
        65504.0,
        300.0,
        6e-8,
        -6.1e-5,
        16_777_216.0,
        -16_777_215.0,
        1e-45,
        1e-42,
        -1e-40,
        1.17e-38,
        1e-30,
        -1e-20,
        1e20,
        1.8e19,
        -2e19,
        1e30,
        -1e38,
        3e38,
        -3e38,
        3.402_823_4e38,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let bits = any::<u32>().prop_map(|bits| f64::from(f32::from_bits(bits)));
    prop_oneof![4 => proptest::sample::select(edges), 2 => -100.0..100.0, 1 => bits, 1 => 0.999..1.001]
}

/// A few of them, or many of one with few others, which a mean or a variance finds hard.
fn rows() -> impl Strategy<Value = Vec<f64>> {
    let nearly = (awkward(), prop::collection::vec(awkward(), 0..2), 1..40usize, any::<bool>()).prop_map(
        |(one, others, count, shifts)| {
            let step = |i: usize| if shifts { one * (1.0 + (i % 3) as f64 * 1.2e-7) } else { one };
            (0..count).map(step).chain(others).collect()
        },
    );
    prop_oneof![2 => prop::collection::vec(awkward(), 0..12), 1 => nearly]
}

fn plain(ty: Type) -> impl Iterator<Item = Op> {
    Op::ALL.iter().copied().filter(move |op| !op.has_bounds() && op.refusal(ty).is_none())
}

/// No infinity and no NaN is right for a finite number, whatever the bound.
fn refuses_what_is_no_number(right: &Expected, largest: f64) -> Result<(), TestCaseError> {
    if right.value.is_finite() && right.value.abs() <= largest {
        for result in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            prop_assert!(!right.judge(result).right, "{result} for {right:?}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn numbers_of_arrays(values in rows(), halves in any::<bool>()) {
        let other: Vec<f64> = values.iter().rev().map(|x| if halves { x / 2.0 } else { *x }).collect();
        for ty in FLOATS {
            for op in plain(ty) {
                let both = if op.arrays() == 2 { [values.clone(), other.clone()].concat() } else { values.clone() };
                let input = array(ty, &both, &[]);
                let reference = reference_of(op, &input);
                let additions = values.len() as u64 + 1;
                let result = if ty == Type::F64 {
                    kernels::fold_f64(op, &values, &other)
                } else {
                    let wide: Vec<f32> = lab::with_elements!(&input, all => {
                        all.iter().map(|&x| lab::element::Element::value(x).to_f64() as f32).collect()
                    });
                    let (x, y) = wide.split_at(values.len());
                    kernels::fold_f32(op, x, y).map(|all| all.into_iter().map(f64::from).collect())
                };
                let value = |all: &[f64]| if all.len() == 2 { Value::Two(all[0], all[1]) } else { Value::F64(all[0]) };
                if let Some(result) = result.filter(|_| !values.is_empty()) {
                    let verdict = verify(value(&result), &reference, additions, ty);
                    prop_assert!(!verdict.is_wrong(), "{op} {ty} {input:?}: {result:?} {verdict:?} {reference:?}");
                }
                let largest = if ty == Type::F64 { f64::MAX } else { f64::from(f32::MAX) };
                for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                    let as_result = match reference.expected {
                        Value::F32(x) if x.is_finite() => Value::F64(bad),
                        Value::F64(x) if x.is_finite() && x.abs() <= largest => Value::F64(bad),
                        Value::Two(x, y) if x.is_finite() && x.abs() <= largest => Value::Two(bad, y),
                        _ => continue,
                    };
                    let verdict = verify(as_result, &reference, additions, ty);
                    prop_assert!(!verdict.right, "{op} {ty} {input:?}: {bad} {reference:?}");
                }
            }
        }
    }

    #[test]
    fn results_of_rows(values in rows(), others in rows()) {
        let other: Vec<f64> = others.iter().copied().chain(values.iter().copied()).take(values.len()).collect();
        for ty in [Type::F16, Type::BF16, Type::F32] {
            for &op in Op::ALL.iter().filter(|op| op.has_bounds()) {
                if values.is_empty() {
                    continue;
                }
                let (first, second) = (array(ty, &values, &[]), array(ty, &other, &[]));
                let wide = |all: &lab::Array| -> Vec<f32> {
                    lab::with_elements!(all, all => {
                        all.iter().map(|&x| lab::element::Element::value(x).to_f64() as f32).collect()
                    })
                };
                let results = kernels::row(op, ty, &wide(&first), &wide(&second));
                let right = row(op, &first, &second, values.len() as u64 + 1);
                prop_assert_eq!(results.len(), right.len());
                for (i, (result, right)) in results.iter().zip(&right).enumerate() {
                    let stored = if op.is_per_element() { kernels::narrowed(ty, *result) } else { *result };
                    let verdict = right.judge(f64::from(stored));
                    prop_assert!(
                        !verdict.is_wrong(),
                        "{op} {ty} {first:?} {second:?}, {i}: {stored} for {right:?}: {verdict:?}"
                    );
                    refuses_what_is_no_number(right, right.largest)?;
                }
            }
        }
    }
}
