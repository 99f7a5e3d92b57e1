//! Properties of plans and layouts.

use proptest::prelude::*;
use reduction::card::{Card, H200};
use reduction::{Layout, Matrix, Op, Problem, Reduction, Type};

use crate::exact::cases;
use crate::trial::Trial;

fn op() -> impl Strategy<Value = Op> {
    prop::sample::select(Op::ALL)
}

fn ty() -> impl Strategy<Value = Type> {
    prop::sample::select(Type::ALL)
}

fn any_card() -> impl Strategy<Value = &'static Card> {
    prop::sample::select(Card::named().map(|(_, card)| card).collect::<Vec<_>>())
}

/// A number of any magnitude up to 2^33.
fn size() -> impl Strategy<Value = u64> {
    (0..33u32, any::<u64>()).prop_map(|(shift, bits)| bits >> 31 >> shift)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    /// Whatever is asked for is planned or refused, and a plan names kernels that there are.
    #[test]
    fn every_problem_is_planned_or_refused(
        op in op(), ty in ty(), rows in size(), cols in size(), gap in 0..9u64, kind in 0..3usize, card in any_card(),
    ) {
        let matrix = Matrix { rows, cols, pitch: cols + gap };
        let layout = [Layout::Array, Layout::Rows(matrix), Layout::Columns(matrix)][kind];
        let n = matrix.span().unwrap_or(u64::MAX);
        if let Ok(reduction) = Reduction::new(&Problem::new(op, ty, n, layout, card)) {
            for pass in &reduction.plan().passes {
                prop_assert!(reduction::kernels::ptx(&pass.kernel, card.compute_capability).is_ok(), "{}", pass.kernel);
                prop_assert!(pass.geometry.refusal().is_none());
            }
        }
    }

    /// The same problem has one name, and another one another.
    #[test]
    fn a_plan_has_one_name(n in 1..1u64 << 30) {
        let id = |n| Reduction::new(&Problem::new(Op::Sum, Type::F32, n, Layout::Array, &H200)).expect("a plan").plan_id();
        prop_assert_eq!(id(n), id(n));
        prop_assert_ne!(id(n), id(n + 1));
    }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn any_layout_is_right(
        rows in 0..40u64, cols in 0..300u64, gap in 0..5u64, begin in prop::array::uniform3(0..4u64), seed in any::<u64>(),
    ) {
        let matrix = Matrix { rows, cols, pitch: cols + gap };
        let schedule = device::Schedule::Independent { seed: Some(seed) };
        let with = |trial: Trial| Trial { begin, schedule, ..trial };
        with(Trial::rows(Op::Meanvar, Type::F32, matrix)).passes();
        with(Trial::columns(Op::Argmax, Type::BF16, matrix)).passes();
        with(Trial::rows(Op::Softmax, Type::BF16, matrix)).passes();
        with(Trial::rows(Op::LayerNorm, Type::F32, matrix)).passes();
    }
}
