//! References of the kernels that call: recursion, pointers to functions, structures by value.

use super::{Elements, Outputs, each, hash8};

pub fn outputs(kernel: &str) -> Option<Outputs> {
    Some(match kernel {
        "fibonacci" => each("out", 288, |i| if i < 280 { fib(i % 11) * 1000 + i } else { 0 }),
        "even_odd" => each("out", 128, |i| if i & 1 != 0 { odd(i % 13, i) } else { even(i % 9, i) }),
        "quicksort" => quicksort(),
        "function_table" => each("out", 288, function_table),
        "fold_with_callback" => each("out", 128, |i| {
            let f = if i.is_multiple_of(3) { nested } else { difference };
            fold(f, i as i32 % 6, i as i32)
        }),
        "virtual_shapes" => virtual_shapes(),
        "matrix_power" => matrix_power(),
        "tree_walk" => tree_walk(),
        "queens" => each("out", 36, queens),
        "together_after_calls" => together_after_calls(),
        "barrier_after_recursion" => {
            each("out", 3, |block| (0..128).map(|t| digits((block * 128 + t) * 97)).sum::<u32>())
        }
        "narrow_parameters" => narrow_parameters(),
        "exit_inside" => each("out", 128, exit_inside),
        "weak_and_forward" => each("out", 64, weak_and_forward),
        _ => return None,
    })
}

fn fib(n: u32) -> u32 {
    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
}

fn even(n: u32, steps: u32) -> u32 {
    if n == 0 { steps * 2 } else { odd(n - 1, steps + 3) ^ 1 }
}

fn odd(n: u32, steps: u32) -> u32 {
    if n == 0 { steps * 2 + 1 } else { even(n - 1, steps + 5) + n }
}

fn quicksort() -> Outputs {
    let mut out = Vec::new();
    for thread in 0..96 {
        let mut part: Vec<i64> = (0..12).map(|k| hash8(thread * 12 + k).into()).collect();
        part.sort_unstable();
        out.extend(part);
    }
    vec![("out", Elements::Integers(out))]
}

fn function_table(i: u32) -> u32 {
    let x = hash8(i);
    (0..5).fold(i, |value, k| {
        let b = x + k;
        match x >> k & 3 {
            0 => value.wrapping_add(b),
            1 => value.wrapping_mul(b | 1),
            2 => (value ^ b).wrapping_mul(2_654_435_761),
            _ => value.rotate_left(3 * (b % 7)),
        }
    })
}

fn difference(a: i32, b: i32) -> i32 {
    a * 3 - b
}

fn nested(a: i32, b: i32) -> i32 {
    if b > 2 { a + b } else { a + fold(difference, b, a & 7) }
}

fn fold(f: fn(i32, i32) -> i32, n: i32, start: i32) -> i32 {
    if n == 0 { start } else { f(fold(f, n - 1, start), n) }
}

fn virtual_shapes() -> Outputs {
    let area = |i: u32| match i % 3 {
        0 => (i * i) as f32 + (i * i) as f32 * 2.0,
        _ => ((i % 7) * 4) as f32 + ((i % 7) * 4) as f32 + 8.0,
    };
    vec![("out", Elements::F32((0..96).map(area).collect()))]
}

type Matrix = [i32; 4];

fn times(a: Matrix, b: Matrix) -> Matrix {
    let entry = |r: usize, c: usize| a[2 * r].wrapping_mul(b[c]).wrapping_add(a[2 * r + 1].wrapping_mul(b[2 + c]));
    [entry(0, 0), entry(0, 1), entry(1, 0), entry(1, 1)]
}

/// Powers by repeated multiplication, which the kernel does not do.
fn matrix_power() -> Outputs {
    let mut out = Vec::new();
    for i in 0..96 {
        let base = [1, i % 3, -1, 2];
        let power = (0..i % 17).fold([1, 0, 0, 1], |product, _| times(product, base));
        out.extend(power.map(i64::from));
    }
    vec![("out", Elements::Integers(out))]
}

fn visit(node: u32, limit: u32, sum: &mut u32, nodes: &mut u32) {
    if node >= 255 || hash8(node).is_multiple_of(limit) {
        return;
    }
    *nodes += 1;
    visit(2 * node + 1, limit, sum, nodes);
    *sum = sum.wrapping_mul(3).wrapping_add(hash8(node));
    visit(2 * node + 2, limit, sum, nodes);
}

fn tree_walk() -> Outputs {
    let mut out = Vec::new();
    for i in 0..128 {
        let (mut sum, mut nodes) = (i, 0);
        visit(i % 5, 3 + i % 11, &mut sum, &mut nodes);
        out.extend([i64::from(sum), i64::from(nodes)]);
    }
    vec![("out", Elements::Integers(out))]
}

/// Solutions of the six queens whose first two stand in these columns, by trying all permutations.
fn queens(i: u32) -> u32 {
    fn extend(rows: &mut Vec<i32>) -> u32 {
        if rows.len() == 6 {
            return 1;
        }
        let mut found = 0;
        for column in 0..6 {
            let row = rows.len() as i32;
            let free = |(r, &c): (usize, &i32)| c != column && (c - column).abs() != row - r as i32;
            if rows.iter().enumerate().all(free) {
                rows.push(column);
                found += extend(rows);
                rows.pop();
            }
        }
        found
    }
    let (a, b) = ((i / 6) as i32, (i % 6) as i32);
    if (a - b).abs() < 2 { 0 } else { extend(&mut vec![a, b]) }
}

fn climb(n: u32, x: u32) -> u32 {
    if n == 0 { x } else { climb(n - 1, x * 3 + n) + 1 }
}

fn together_after_calls() -> Outputs {
    let (mut out, mut votes) = (Vec::new(), Vec::new());
    for warp in 0..2u32 {
        let first: Vec<u32> =
            (0..32).map(|lane| if lane < 20 { climb(lane % 7, warp * 32 + lane) } else { warp * 32 + lane }).collect();
        let other = |lane: usize| first[lane ^ 5];
        let mask = (0..32).fold(0u32, |mask, lane| mask | u32::from(other(lane) > first[lane]) << lane);
        let value: Vec<u32> = (0..32)
            .map(|lane| first[lane] + if lane % 2 != 0 { climb(lane as u32 % 4, other(lane)) } else { 0 })
            .collect();
        out.extend((0..32).map(|lane| i64::from(value[lane] + value[(lane + 1) % 32])));
        votes.extend([i64::from(mask); 32]);
    }
    vec![("out", Elements::Integers(out)), ("votes", Elements::Integers(votes))]
}

fn digits(n: u32) -> u32 {
    if n < 3 { n } else { digits(n / 3) + n % 3 }
}

fn narrow_parameters() -> Outputs {
    let (mut out, mut reals) = (Vec::new(), Vec::new());
    for i in 0..96i32 {
        let wide = i64::from(i) * 3 - 40;
        let (a, b, c) = ((wide * 7) as i8, ((i - 30) * 1000) as u16, wide & 2 != 0);
        let rest = [i as i16, -i as i16, (i * 300) as i16];
        let tag = (i as i8).wrapping_add(a);
        let blended: Vec<i16> = (0..3).map(|k| (i32::from(rest[2 - k]) - i32::from(b)) as i16).collect();
        let value = f64::from(i) * 1.5 * 0.5 + f64::from(b) * 3.0;
        let negated = (-i32::from((i * 5) as i8) - 1) as i8;
        let (low, high) = (i as u8, (i * 9) as u8);
        let packed = if c { u16::from(high) << 8 | u16::from(low) } else { u16::from(low) << 8 | u16::from(high) };
        let small = i64::from(tag) * 3 + i64::from(blended[i as usize % 3]);
        out.push(i64::from(negated) * 1_000_000_007 + i64::from(packed) + small);
        reals.push(value + f64::from(i));
    }
    vec![("out", Elements::Integers(out)), ("reals", Elements::F64(reals))]
}

fn exit_inside(i: u32) -> u32 {
    let mut x = i;
    for k in 0..12 {
        if (x + k).is_multiple_of(19) {
            return 10_000 + x;
        }
        x = (x * 5 + k) % 1000;
    }
    x
}

fn weak_and_forward(i: u32) -> u32 {
    let later = |x: u32, by: u32| x.wrapping_mul(by).wrapping_add(by / 2);
    fn chain(n: u32, x: u32) -> u32 {
        if n == 0 { x.wrapping_add(3) } else { chain(n - 1, x.wrapping_mul(n).wrapping_add(1)) ^ x }
    }
    let v = if i % 2 == 1 { chain(5, i) } else { chain(3, later(i, 11)) };
    let single = (i as f32 * 0.5).max(3.0) as u32;
    let long = (i64::from(i) - 9).max(-2) as u32;
    v.max(later(v, i)).wrapping_add(single).wrapping_add(long)
}
