//! References of the kernels with asynchronous copies and barrier objects.

use super::{Outputs, each, hash8};

pub fn outputs(kernel: &str) -> Option<Outputs> {
    Some(match kernel {
        "async_double_buffer" => each("out", 1024, async_double_buffer),
        "async_groups" => each("out", 1440, async_groups),
        "async_pipeline" => each("out", 1024, async_pipeline),
        "async_producer_warp" => each("out", 1536, async_producer_warp),
        "async_strided" => each("out", 256, async_strided),
        "async_bulk" => each("out", 1536, async_bulk),
        "async_barrier_bulk" => each("out", 1024, async_barrier_bulk),
        "cluster_async_stores" => each("out", 4, cluster_async_stores),
        "mbarrier_phases" => each("out", 768, mbarrier_phases),
        _ => return None,
    })
}

fn async_double_buffer(i: u32) -> u32 {
    let (tile, block, t) = (i / 128, i / 64 % 2, i % 64);
    let from = tile * 1024 + block * 512;
    let k = (t * 3 + 1) % 64;
    // Every fifth thread fills up its second eight bytes with zeros, every seventh all of its four.
    let last = if k.is_multiple_of(5) { 0 } else { hash8(from + 4 * k + 3) };
    let one = if k % 7 == 3 { 0 } else { hash8(from + 384 + (k ^ 21)) };
    hash8(from + 4 * k) + 3 * last + 5 * hash8(from + 256 + 127 - 2 * t) + 7 * one
}

fn async_strided(i: u32) -> u32 {
    let (block, t) = (i / 64, i % 64);
    let other = 63 - t;
    hash8(block * 512 + 8 * other) + 1000 * hash8(block * 512 + 8 * other + 4)
}

fn async_bulk(i: u32) -> u32 {
    let (tile, t) = (i / 96, i % 96);
    hash8(tile * 192 + t) * 3 + hash8(tile * 192 + 191 - t)
}

fn async_barrier_bulk(i: u32) -> u32 {
    let (block, k, t) = (i / 512, i / 64 % 8, i % 64);
    let x = |at: u32| hash8(block * 2048 + at);
    x(k * 256 + 4 * (63 - t) + k % 4) * 3 + x(k * 100 + 1 + (t * 5 + 3) % 64)
}

fn async_groups(i: u32) -> u32 {
    let (block, at) = (i / 480, i % 480);
    let length = 480 - block * 10;
    let (piece, t) = (at / 96 * 96, at % 96);
    let size = 96.min(length.saturating_sub(piece));
    if t < size { hash8(block * 480 + piece + size - 1 - t) * 3 + t } else { 0 }
}

fn async_pipeline(i: u32) -> u32 {
    let (tile, t) = (i / 64 % 8, i % 64);
    hash8(i - t + (t * 5 + 7) % 64) + tile * 1000
}

fn cluster_async_stores(warp: u32) -> u32 {
    let mut values = [1u32, 2, 3, 4];
    for turn in 0..16 {
        let sum = values.iter().fold(0u32, |sum, value| sum.wrapping_add(value.wrapping_mul(2).wrapping_add(turn)));
        values = [0, 1, 2, 3].map(|warp| sum.wrapping_add(warp));
    }
    values[warp as usize]
}

fn async_producer_warp(i: u32) -> u32 {
    let u = i % 96;
    hash8(i - u + (u + 32) * 7 % 96) + u + 32
}

fn mbarrier_phases(i: u32) -> u32 {
    let (block, part, t) = (i / 384, i / 96 % 4, i % 96);
    match part {
        0 => (t + 33) % 96 * 3 + block,
        1 => 100 + (100 + 32) + (100 + 64),
        2 => 95 - (t + 50) % 96 + 7,
        _ => 1,
    }
}
