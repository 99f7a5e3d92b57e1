//! Ragged rows whose offsets the plan checks: right ones give what rows give, and wrong ones lead nowhere.

use device::{HostOperands, Schedule};
use lab::input::elements;
use lab::op::OnHost as _;
use reduction::card::H200;
use reduction::{Layout, Op, Problem, Reduction, Role, Segments, Type};

use crate::trial::{IN_ORDER, any_order, bytes, judge, run_all, words};

/// Results, and the flag.
fn run(op: Op, values: &[f32], offsets: &[u64], bits: u32, schedule: Schedule) -> (Reduction, Vec<u8>, u32) {
    let (rows, elements) = (offsets.len() as u64 - 1, values.len() as u64);
    let segments = Segments::new(rows, elements, bits).with_checks();
    let problem = Problem::new(op, Type::F32, elements, Layout::Ragged(segments), &H200);
    let reduction = Reduction::new(&problem).expect("a plan");
    let offsets = words(bits, offsets.iter().copied());
    let (input, others) = (bytes(values), [(Role::Offsets, offsets.as_slice()), (Role::Flag, &[0; 4][..])]);
    let operands = HostOperands { input: &input, others: &others, ..HostOperands::default() };
    let (left, others) = run_all(&reduction, &operands, schedule, &H200, 2).expect("no fault");
    let flag = u32::from_le_bytes(others[1].as_slice().try_into().expect("a word"));
    (reduction, left, flag)
}

fn values(n: u64) -> Vec<f32> {
    elements(n as usize, n)
}

#[test]
fn offsets_that_rise_give_each_row_its_own() {
    let many: Vec<u64> = (0..5000).map(|at| at * 3).collect();
    for offsets in [&[0, 0, 5, 5, 9000, 9001, 9033][..], &[3, 3], &[7, 20], &[0, 40_000], &many] {
        // Elements before the first row and behind the last belong to no row.
        let values = values(offsets[offsets.len() - 1] + 2);
        for (op, bits) in [(Op::Sum, 32), (Op::Argmax, 64), (Op::Meanvar, 32)] {
            let (reduction, left, flag) = run(op, &values, offsets, bits, IN_ORDER);
            assert_eq!(flag, 0);
            for (row, result) in offsets.windows(2).zip(left.chunks_exact(op.row_bytes(Type::F32) as usize)) {
                let part = values[row[0] as usize..row[1] as usize].to_vec();
                judge(op, part, op.row_result(Type::F32, result), reduction.plan().rounding(), &row);
            }
            any_order(&left, &op, |schedule| run(op, &values, offsets, bits, schedule).1);
        }
    }
}

#[test]
fn offsets_that_fall_or_end_too_late_set_the_flag_and_read_nothing() {
    let values = values(9000);
    let mut late = (0..3000u64).collect::<Vec<_>>();
    late[1777] = 4000;
    for offsets in [&[0, 9001][..], &[5, 4], &[0, 100, 99, 9000], &[u64::MAX, 3], &[0, u64::MAX], &[9001, 9001], &late]
    {
        let (_, left, flag) = run(Op::Sum, &values, offsets, 64, IN_ORDER);
        assert_eq!(flag, 1, "{:?}", &offsets[..offsets.len().min(4)]);
        assert!(left.iter().all(|&byte| byte == 0), "sums of nothing");
        let fits = offsets.iter().all(|&offset| offset <= u32::MAX.into());
        assert!(!fits || run(Op::Sum, &values, offsets, 32, IN_ORDER).2 == 1);
    }
}
