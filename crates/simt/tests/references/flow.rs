//! References of the kernels whose lanes part: switches, loops, jumps, printing.

use super::{Elements, Outputs, each, hash8};

pub fn outputs(kernel: &str) -> Option<Outputs> {
    Some(match kernel {
        "switch_dense" => each("out", 288, switch_dense),
        "interpreter" => each("out", 128, interpreter),
        "collatz" => each("out", 288, |i| if i < 285 { collatz(i + 1) } else { 0 }),
        "break_continue" => each("out", 192, break_continue),
        "early_returns" => early_returns(),
        "nested_divergence" => each("out", 64, nested_divergence),
        "irreducible" => each("out", 128, irreducible),
        "print_lanes" => each("out", 128, |i| if i % 37 == 5 { 8 } else { -7 }),
        _ => return None,
    })
}

fn switch_dense(i: u32) -> u32 {
    let mut value = hash8(i);
    for k in 0..6 {
        let case = value.wrapping_add(k) % 13;
        value = match case {
            0 => value.wrapping_add(17),
            1 => value.wrapping_mul(3),
            2 => (value ^ 0x55).wrapping_sub(9),
            3 => value.wrapping_sub(9),
            4 => value.rotate_left(1),
            5 => value.wrapping_add(i),
            6 => value / 3,
            7 => value.wrapping_mul(value).wrapping_add(1),
            8 => (value | 0x101) & 0xfff0_ffff,
            9 => value & 0xfff0_ffff,
            10 => !value,
            11 => continue,
            _ => value.wrapping_add(12_345),
        };
        value = value.wrapping_add(k);
    }
    value
}

/// The program of `interpreter` as a loop: product by n, plus i, for n from its start down to 1.
fn interpreter(i: u32) -> u32 {
    let product = (1..=i % 9 + 1).rev().fold(1u32, |product, n| product.wrapping_mul(n).wrapping_add(i));
    (product >> 3).wrapping_add(i)
}

fn collatz(start: u32) -> u32 {
    let mut value = start;
    let mut steps = 0;
    while value != 1 {
        value = if value % 2 == 1 { 3 * value + 1 } else { value / 2 };
        steps += 1;
    }
    steps
}

fn break_continue(i: u32) -> u32 {
    let x = hash8(i);
    let mut sum = 0;
    'all: for a in 0..8 {
        if x >> a & 1 != 0 {
            continue;
        }
        let mut b = 0;
        while b * a <= x % 29 {
            if !(a + b + i).is_multiple_of(3) {
                if b > 20 {
                    break;
                }
                sum += a * 10 + b;
                if sum > 2000 {
                    break 'all;
                }
            }
            b += 1;
        }
        if sum % 7 == 5 {
            break;
        }
        sum += 1;
    }
    sum
}

fn classify(x: u32, i: u32) -> u32 {
    if x < 40 {
        return 1;
    }
    let Some(d) = (2..).take_while(|d| d * d <= x).find(|&d| x.is_multiple_of(d)) else {
        return if i & 4 != 0 { x } else { 0 };
    };
    match (0..4).find(|k| (x + k * i) % 11 == 3) {
        _ if d > 5 => d * 100,
        Some(k) => 7 + k,
        None => d,
    }
}

fn early_returns() -> Outputs {
    let kinds: Vec<u32> = (0..192).map(|i| classify(hash8(i), i)).collect();
    let ballot = |warp: &[u32]| warp.iter().rev().fold(0u32, |mask, &kind| mask << 1 | u32::from(kind >= 100));
    let ballots = kinds.chunks(32).map(|warp| ballot(warp).into()).collect();
    let kinds = kinds.iter().map(|&kind| kind.into()).collect();
    vec![("out", Elements::Integers(kinds)), ("ballots", Elements::Integers(ballots))]
}

fn nested_divergence(i: u32) -> u32 {
    let has = |bit: u32| i & bit != 0;
    let mut v = i;
    match (has(1), has(2), has(4)) {
        (true, true, _) => {
            v = (v * 5 + 1) ^ 0x33;
            v = match (has(4), has(8)) {
                (true, _) => v + 100,
                (false, true) => v.wrapping_sub(50),
                (false, false) => v * 7,
            };
            v.wrapping_add(v.count_ones())
        }
        (true, false, _) => v * 5 + 1 + (0..i & 12).map(|k| if has(16) { k } else { 2 * k }).sum::<u32>(),
        (false, _, true) => {
            while v > 10 {
                v = if has(32) { v - 9 } else { v / 2 };
            }
            v
        }
        (false, _, false) => v + if has(8) { 1000 } else { 2000 },
    }
}

/// The jumps of `irreducible` as a machine of states.
fn irreducible(i: u32) -> u32 {
    enum At {
        First,
        Second,
        Third,
    }
    let (mut x, mut count) = (hash8(i), 0u32);
    let mut at = match x & 3 {
        1 | 3 => At::Second,
        2 => At::Third,
        _ => At::First,
    };
    loop {
        at = match at {
            At::First => {
                x = x.wrapping_mul(3).wrapping_add(1);
                count += 1;
                if count > 12 {
                    break;
                }
                At::Second
            }
            At::Second => {
                x ^= i;
                if x.is_multiple_of(5) {
                    At::First
                } else {
                    count += 1;
                    At::Third
                }
            }
            At::Third => {
                x = x.wrapping_add(7);
                if x % 3 == 1 && count < 20 {
                    At::Second
                } else if count < 9 {
                    At::First
                } else {
                    break;
                }
            }
        };
    }
    x.wrapping_mul(100).wrapping_add(count)
}

/// Output of the kernel: warp after warp, each call of a warp's lanes together.
pub fn print_lanes() -> String {
    let mut text = String::new();
    for warp in 0..4u32 {
        let lanes: Vec<u32> = (warp * 32..warp * 32 + 32).filter(|i| i % 37 == 5).collect();
        for i in &lanes {
            let letter = char::from(b'a' + (i % 26) as u8);
            let parity = if i % 2 == 1 { "odd" } else { "even" };
            text += &format!("-{i} {i} {:x}|{i:5}|{i:<5}|{i:05}|{letter}{parity}\n", i * 4096);
        }
        for i in lanes {
            let (quarter, half) = (f64::from(i) * 0.25, f64::from(i) + 0.5);
            let tens = half.log10().floor() as i32;
            let mantissa = half / 10f64.powi(tens);
            // 5e10, 4.2e+11, …: up to six digits, without trailing zeros.
            let large = f64::from(i) * 1e10;
            let exponent = large.log10().floor() as i32;
            let digits = format!("{}", large / 10f64.powi(exponent));
            text += &format!("{quarter:.6} -0.333 {digits}e+{exponent:02} {mantissa:.6}e+{tens:02} 0.1\n");
        }
        if warp == 3 {
            text += "-123456789012345 fedcba9876543210 (nil) 100%\n";
        }
    }
    text
}
