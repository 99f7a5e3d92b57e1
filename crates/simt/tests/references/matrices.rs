//! References of the kernels that load and store matrices spread over a warp, element by element.

use super::{Elements, Outputs, hash8};

/// Halves of shared memory of 4 KiB, two a word.
type Halves = Vec<u16>;

pub fn outputs(kernel: &str) -> Option<Outputs> {
    let (stores, layout) = kernel.strip_prefix("matrix_")?.split_once('_')?;
    let place = |lane: u32| match layout {
        "two" => lane * 2,
        "eight" => lane * 8 % 256,
        "one" => 0,
        "any" if stores == "load" => hash8(lane) % 256,
        "any" => lane * 37 % 256,
        _ => lane,
    };
    // In halves, of which a place has eight.
    let rows: Vec<usize> = (0..32).map(|lane| 8 * place(lane) as usize).collect();
    let words = if stores == "load" { loaded(&rows) } else { stored(&rows) };
    Some(vec![("out", Elements::Integers(words.into_iter().map(i64::from).collect()))])
}

/// Row and column of the first and the second element that a lane holds.
fn elements(lane: usize, transposed: bool) -> [(usize, usize); 2] {
    [0, 1].map(|second| {
        let (row, column) = (lane / 4, 2 * (lane % 4) + second);
        if transposed { (column, row) } else { (row, column) }
    })
}

fn loaded(rows: &[usize]) -> Vec<u32> {
    let words = (0..1024u32).map(|i| hash8(i).wrapping_mul(2_654_435_761).wrapping_add(i));
    let shared: Halves = words.flat_map(|word| [word as u16, (word >> 16) as u16]).collect();
    let mut out = Vec::new();
    for (count, transposed) in [(4, false), (2, false), (1, false), (4, true), (2, true), (1, true)] {
        for matrix in 0..count {
            for lane in 0..32 {
                let [low, high] =
                    elements(lane, transposed).map(|(row, column)| u32::from(shared[rows[8 * matrix + row] + column]));
                out.push(low | high << 16);
            }
        }
    }
    out
}

fn stored(rows: &[usize]) -> Vec<u32> {
    let first =
        |i: usize, lane: usize| hash8((32 * i + lane) as u32).wrapping_mul(2_654_435_761).wrapping_add(lane as u32);
    let mut values: Vec<Vec<u32>> = (0..4).map(|i| (0..32).map(|lane| first(i, lane)).collect()).collect();
    let mut shared: Halves = vec![0; 2048];
    let mut out = Vec::new();
    for (count, transposed) in [(4, false), (2, false), (1, false), (4, true), (2, true), (1, true)] {
        for (matrix, values) in values.iter().enumerate().take(count) {
            for (lane, value) in values.iter().enumerate() {
                let [low, high] = elements(lane, transposed);
                shared[rows[8 * matrix + low.0] + low.1] = *value as u16;
                shared[rows[8 * matrix + high.0] + high.1] = (value >> 16) as u16;
            }
        }
        out.extend(shared.chunks(2).map(|pair| u32::from(pair[0]) | u32::from(pair[1]) << 16));
        values.iter_mut().flatten().for_each(|value| *value = value.wrapping_mul(5).wrapping_add(1));
    }
    out
}
