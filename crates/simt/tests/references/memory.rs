//! References of the kernels about memory: local arrays, tables, addresses, shared memory, inline assembly.

use super::{Elements, Outputs, each, hash8};

pub fn outputs(kernel: &str) -> Option<Outputs> {
    Some(match kernel {
        "local_histogram" => each("out", 128, local_histogram),
        "constant_tables" => constant_tables(),
        "linked_list" => each("out", 64, linked_list),
        "static_and_dynamic_shared" => each("out", 128, static_and_dynamic_shared),
        "inline_scopes" => each("out", 64, inline_scopes),
        "grid_of_three" => each("out", 540, grid_of_three),
        "pointer_parameters" => each("out", 128, pointer_parameters),
        _ => return None,
    })
}

fn local_histogram(i: u32) -> u32 {
    let mut bins = [0u8; 16];
    let mut sums: [u16; 16] = std::array::from_fn(|k| (k * 4000) as u16);
    for k in 0..16 {
        let x = hash8(i * 16 + k);
        let (bin, sum) = (&mut bins[(x & 15) as usize], &mut sums[(x >> 4 & 15) as usize]);
        *bin = bin.wrapping_add(17);
        *sum = sum.wrapping_add((x * 257) as u16);
    }
    (0..16).fold(0u32, |hash, k| {
        let next = hash.wrapping_mul(31).wrapping_add(u32::from(bins[k]).wrapping_mul(65_536));
        next.wrapping_add(u32::from(sums[15 - k]))
    })
}

fn constant_tables() -> Outputs {
    let weights = [[0.5f32, -1.25, 3.0, 1e-3], [-8.0, 0.0625, 0.0, 0.0]];
    let shorts = [-1i64, 32_767, -32_768, 12, -300];
    let bytes = [-128i64, 127, -1, 0, 5, 0];
    let squares = [0i64, 1, 4, 9, 16, 25, 0, 0, 0, 0];
    // The shifts round towards minus infinity: -5e9 / 2^40 is -1 and 2^62 / 2^40 is 2^22.
    let longs = [-1i64, 1 << 22];
    let (mut out, mut codes) = (Vec::new(), Vec::new());
    for i in 0..96usize {
        let double = if i % 3 == 1 { 2.5 } else { -0.1f64 };
        out.push((double as f32).mul_add(i as f32, weights[i & 1][i % 4]));
        codes.push(shorts[i % 5] * 3 + bytes[i % 6] + squares[i % 10] + longs[i & 1] + 7);
    }
    vec![("out", Elements::F32(out)), ("codes", Elements::Integers(codes))]
}

fn linked_list(i: u32) -> i32 {
    let (last, even, odd, first) = ((10, -1), (-20, 2), (30, 3), (-40, -4));
    let path: &[(i32, i32)] = match i % 4 {
        0 => &[first, odd, last],
        1 | 3 => &[odd, last],
        _ => &[even, last],
    };
    let places = (1..).zip(path);
    let sum: i32 = places.map(|(k, (value, step))| value * (k + i as i32) + step).sum();
    let middle = [7, -10, 5][i as usize % 3];
    let word = ["one", "twenty", "three hundred"][i as usize % 3];
    let letters = word.bytes().fold(0i32, |sum, letter| sum.wrapping_mul(7).wrapping_add(letter.into()));
    sum * 1000 + middle + letters % 997
}

fn static_and_dynamic_shared(i: u32) -> u32 {
    let (block, t) = (i / 64, i % 64);
    let x = |t: u32| hash8(block * 64 + t);
    let low = |t: u32| x(t) * 3 % 256;
    let dynamic = |t: u32| x(63 - t) + (63 - t);
    let value = |t: u32| dynamic((t + 5) % 64) + low(t * 7 % 64);
    value((t + 9) % 64) + (t ^ 3) * 2
}

fn inline_scopes(i: u32) -> u32 {
    let twist = |x: u32, y: u32| {
        let (sum, triple) = (x.wrapping_add(y), x.wrapping_mul(3));
        sum.wrapping_add(if sum > 40 { triple ^ 0x5a } else { triple })
    };
    (0..3).fold(i, |v, k| {
        let wide = u64::from(v) * 0x9e37_79b9;
        twist(wide as u32 ^ (wide >> 32) as u32, i + k)
    })
}

fn grid_of_three(at: u32) -> u32 {
    let (block, thread) = (at / 45, at % 45);
    let (bx, by, bz) = (block % 2, block / 2 % 3, block / 6);
    let (x, y, z) = (thread % 5, thread / 5 % 3, thread / 15);
    at * 7 + x * 100 + y * 10 + z + bz * 1000 + (by ^ bx)
}

fn pointer_parameters(i: u32) -> i32 {
    let t = i as i32 % 64;
    let block = i as i32 / 64 * 64;
    let at = |which: i32, k: i32| match which {
        0 => i as i32 / 8 + k,
        1 => (block + t % 61 + k) * 2,
        2 => [t, t * t, -t, 7][k as usize],
        3 => [100, -200, 300, -400][k as usize],
        _ => 1 + k,
    };
    let terms = 1 + t % 3;
    let sum = |which: i32| (0..terms).map(|k| at(which, k)).sum::<i32>();
    let total = (0..3).fold(0, |total, k| total * 3 + sum((t + k) % 5));
    total * 10 + 3 * terms
}
