//! Many arrays as one, against the reference of their elements one behind the other.

use device::{HostOperands, Schedule};
use lab::input::random_for;
use lab::op::OnHost as _;
use lab::with_elements;
use reduction::card::{Card, H200};
use reduction::{Error, Many, Op, Role, Type};

use crate::trial::{IN_ORDER, any_order, bytes, judge, run};

const OPS: [Op; 3] = [Op::Sum, Op::Sumsq, Op::L2Norm];
const TYPES: [Type; 4] = [Type::F16, Type::BF16, Type::F32, Type::F64];

/// Arrays of these lengths with gaps between them, so that they begin anywhere: the bits of the result.
fn passes(op: Op, ty: Type, lengths: &[u64], schedule: Schedule, card: &'static Card, times: u32) -> Vec<u8> {
    let gap = |at: usize| at as u64 * 5 % 17;
    let places: Vec<u64> =
        (0..lengths.len()).map(|at| lengths[..at].iter().sum::<u64>() + (0..=at).map(gap).sum::<u64>()).collect();
    let n = places.last().map_or(0, |last| last + lengths[lengths.len() - 1]) as usize;
    with_elements!(random_for(op, ty, n, 7), values => {
        let many = Many::new(op, ty, lengths.to_vec()).within(n as u64);
        let reduction = many.reduction(card).expect("a plan");
        let addresses: Vec<u64> = places.iter().map(|place| place * ty.bytes()).collect();
        let table: Vec<u8> = many.table(&addresses).expect("a table").iter().flat_map(|word| word.to_le_bytes()).collect();
        let (input, others) = (bytes(&values), [(Role::Table, table.as_slice())]);
        let begin = [3 * ty.bytes() as usize, 0, 0];
        let operands = HostOperands { input: &input, others: &others, begin, in_place: false };
        let left = run(&reduction, &operands, schedule, card, times).unwrap_or_else(|error| panic!("{many:?}: {error}"));
        let part = |(&place, &length): (&u64, &u64)| values[place as usize..(place + length) as usize].to_vec();
        let elements = places.iter().zip(lengths).flat_map(part).collect();
        judge(op, elements, op.result(ty, &left), reduction.plan().rounding(), &many);
        left
    })
}

/// Lengths without a vector, of a vector and some, and of several tiles of any type, with nothing between them.
const AWKWARD: [u64; 14] = [0, 1, 31, 0, 0, 33, 4097, 3, 8192, 20_011, 7, 4096, 0, 513];

#[test]
fn arrays_of_any_length_and_place_are_right() {
    let many_small: Vec<u64> = (0..300).map(|at| at * 13 % 47).collect();
    for ty in TYPES {
        for op in OPS {
            for lengths in [&[][..], &[0, 0], &[1], &[5, 0, 2], &[9000], &AWKWARD, &many_small] {
                passes(op, ty, lengths, IN_ORDER, &H200, 1);
            }
        }
    }
}

#[test]
fn blocks_that_take_several_arrays_and_arrays_that_take_several_blocks_are_right() {
    // One multiprocessor has four blocks for all tiles.
    let small = Box::leak(Box::new(H200.clone().with_multiprocessors(1)));
    for lengths in [&AWKWARD[..], &[100_003, 1, 2, 100_003]] {
        let first = passes(Op::L2Norm, Type::F32, lengths, IN_ORDER, small, 3);
        any_order(&first, &lengths, |schedule| passes(Op::L2Norm, Type::F32, lengths, schedule, small, 2));
    }
}

#[test]
fn what_lies_elsewhere_is_refused() {
    let many = Many::new(Op::L2Norm, Type::F32, vec![4, 5]).within(10);
    assert_eq!(many.table(&[0, 20]), Ok(vec![0, 4, 0, 20, 5, 1]));
    assert!(matches!(many.table(&[0, 24]), Err(Error::Length { operand: "input", got: 40, expected: 44 })));
    assert!(matches!(many.table(&[0, u64::MAX - 3]), Err(Error::Length { operand: "input", .. })));
    assert!(matches!(many.table(&[0, 18]), Err(Error::Alignment { operand: "input", address: 18, multiple: 4 })));
    assert!(matches!(many.table(&[0]), Err(Error::Length { operand: "table of arrays", got: 24, expected: 48 })));
    let error = |op, ty| Many::new(op, ty, vec![3]).reduction(&H200).expect_err("no plan");
    assert!(matches!(error(Op::Argmax, Type::F32), Error::NoKernels { layout: "many arrays", .. }));
    assert!(matches!(error(Op::Sum, Type::I32), Error::NoKernels { .. }));
    assert!(matches!(error(Op::L2Norm, Type::I32), Error::Unsupported { .. }));
    for lengths in [vec![u64::MAX; 3], vec![1 << 39, 1 << 39, 1]] {
        let many = Many::new(Op::Sum, Type::F32, lengths);
        assert!(matches!(many.reduction(&H200), Err(Error::TooMany { what: "elements", most: 0x100_0000_0000, .. })));
        assert_eq!(many.table(&[0; 3]).map(|words| words.len()), Ok(9));
    }
}
