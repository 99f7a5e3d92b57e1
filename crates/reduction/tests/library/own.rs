//! Operators of the caller's own: over awkward sizes, against references of the host, and what is refused.

use device::HostOperands;
use lab::element::Element;
use reduction::card::H200;
use reduction::{Error, Operator, Type};

use crate::trial::{IN_ORDER, any_order, bytes, can_compile, run};

const GCD: &str = "struct Gcd {
    using In = int;
    using Value = unsigned int;
    static __device__ Value identity() { return 0; }
    static __device__ Value lift(In x, unsigned int) { return x < 0 ? 0 - x : x; }
    static __device__ Value combine(Value a, Value b) {
        while (b != 0) {
            Value rest = a % b;
            a = b;
            b = rest;
        }
        return a;
    }
};
";

/// The logarithm of the sum of all e^x of halves, with the largest x and the sum beside it; and how many there were.
const LOG_SUM_EXP: &str = "struct State { double largest, sum; };
struct LogSumExp {
    using In = bf16;
    using Value = State;
    static __device__ Value identity() { return {-1e300, 0}; }
    static __device__ Value lift(In x, unsigned int) { return {widen(x), 1}; }
    static __device__ Value combine(Value a, Value b) {
        double largest = fmax(a.largest, b.largest);
        return {largest, a.sum * exp(a.largest - largest) + b.sum * exp(b.largest - largest)};
    }
};
struct Result { double all; unsigned int n, unused; };
__device__ Result finish(LogSumExp, State state, unsigned int n) { return {state.largest + log(state.sum), n, 0}; }
";

/// Sizes of one block of each number of threads, and of many that meet.
const SIZES: [u64; 8] = [0, 1, 31, 33, 1500, 7000, 16_001, 40_003];

/// Its results over these elements, in one schedule or in many, which are the same.
fn results<T: Element>(operator: &Operator, elements: &[T], begin: usize, in_any_order: bool) -> Vec<u8> {
    let reduction = operator.reduction(elements.len() as u64, &H200).expect("a plan");
    let input = bytes(elements);
    let operands = HostOperands { input: &input, begin: [begin * T::BYTES, 0, 0], ..HostOperands::default() };
    let once = |schedule| {
        let left = run(&reduction, &operands, schedule, &H200, 2);
        left.unwrap_or_else(|error| panic!("{}: {error}", operator.name))
    };
    let first = once(IN_ORDER);
    if in_any_order {
        any_order(&first, &operator.name, once);
    }
    first
}

fn gcd(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[test]
fn whole_numbers_have_one_result() {
    if !can_compile() {
        return;
    }
    let operator = Operator::new::<i32, u32>("Gcd", GCD, 4);
    for n in SIZES {
        let elements: Vec<i32> = (0..n as i32).map(|i| (i % 97 - 40) * 2310).collect();
        let expected = elements.iter().fold(0, |all, x| gcd(all, x.unsigned_abs()));
        assert_eq!(results(&operator, &elements, n as usize % 4, n == 40_003), expected.to_le_bytes(), "{n}");
    }
}

#[test]
fn values_of_many_words_and_results_of_another_type_are_right() {
    if !can_compile() {
        return;
    }
    // The result is a structure of this file, which only a plan made by hand can name.
    let mut operator = Operator::new::<half::bf16, u64>("LogSumExp", LOG_SUM_EXP, 16);
    (operator.result, operator.result_bytes) = ("a structure", 16);
    for n in SIZES {
        let elements: Vec<half::bf16> = (0..n).map(|i| half::bf16::from_f32((i * 37 % 1001) as f32 - 500.0)).collect();
        let left = results(&operator, &elements, 3, n == 7000);
        let (all, count) = left.split_at(8);
        assert_eq!(count, [&(n as u32).to_le_bytes()[..], &[0; 4]].concat(), "{n}");
        let all = f64::from_le_bytes(all.try_into().expect("eight bytes"));
        let largest = elements.iter().map(|x| x.to_f64()).fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = elements.iter().map(|x| (x.to_f64() - largest).exp()).sum();
        if n == 0 {
            assert_eq!(all, f64::NEG_INFINITY);
            continue;
        }
        // Each combination rounds a few times, and an exponential errs by a unit or two.
        let rounding = operator.reduction(n, &H200).expect("a plan").plan().additions() as f64 * 6.0 * f64::EPSILON;
        let bound = rounding + 4.0 * f64::EPSILON * (largest.abs() + sum.ln());
        assert!((all - (largest + sum.ln())).abs() <= bound, "{n}: {all}, off by more than {bound:e}");
    }
}

#[test]
fn a_plan_tells_operators_apart() {
    let id = |cuda: &'static str| {
        Operator::new::<i32, u32>("Gcd", cuda, 4).reduction(100_003, &H200).expect("a plan").plan_id()
    };
    assert_eq!(id(GCD), id(GCD));
    assert_ne!(id(GCD), id("struct Gcd {};"));
}

#[test]
fn what_is_no_operator_is_refused() {
    let refused =
        |name, bytes, n| Operator::new::<i32, u32>(name, GCD, bytes).reduction(n, &H200).expect_err("refused");
    for name in ["", "3x", "a b", "Größe", "Gcd>", "a::b"] {
        assert!(matches!(refused(name, 4, 9), Error::Operator { problem: "its name is no identifier of C++", .. }));
    }
    for bytes in [0, 2, 6, 52] {
        assert!(matches!(refused("Gcd", bytes, 9), Error::Operator { .. }), "{bytes}");
    }
    assert!(matches!(refused("Gcd", 4, 1 << 32), Error::TooMany { what: "elements", .. }));
}

#[test]
fn what_the_compiler_says_has_the_lines_of_the_text() {
    if !can_compile() {
        return;
    }
    let said = |operator: &Operator| {
        let reduction = operator.reduction(9, &H200).expect("a plan");
        let operands = HostOperands { input: &[0; 36], ..HostOperands::default() };
        run(&reduction, &operands, IN_ORDER, &H200, 1).expect_err("it does not compile")
    };
    let contains = |said: String, expected: &str| assert!(said.contains(expected), "{said}");
    let misspelt = GCD.replace("x < 0", "y < 0");
    contains(said(&Operator::new::<i32, u32>("Gcd", misspelt, 4)), "Gcd(5): error: identifier \"y\" is undefined");
    contains(said(&Operator::new::<i32, u32>("Gcd", GCD, 8)), "a value of Gcd has 8 bytes for Rust");
    contains(said(&Operator::new::<i32, u64>("Gcd", GCD, 4)), "a result of Gcd is u64 for Rust");
    contains(said(&Operator::new::<f32, u32>("Gcd", GCD, 4)), "the elements of Gcd are f32 for Rust, which is float");
    assert_eq!(Operator::new::<i64, u32>("Gcd", GCD, 4).ty, Type::I64);
}
