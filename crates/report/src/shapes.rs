//! Rows and columns that the chapters on rows are measured at.

use lab::input;

/// Rows and columns of the shapes that every operator is measured at.
const SHAPES: [(u64, u64); 16] = [
    (4_194_304, 16),
    (1_048_576, 64),
    (262_144, 256),
    (65_536, 1024),
    (16_384, 4096),
    (4096, 16_384),
    (1024, 65_536),
    (256, 262_144),
    (32, 2_097_152),
    (8, 8_388_608),
    (4096, 4096),
    (1024, 1024),
    (128, 32_768),
    (2048, 128_256),
    (4, 4096),
    (1, 50_257),
];
/// Shapes drawn at random, and what they are drawn by.
const DRAWN: u64 = 40;
/// Elements of those, as logarithms: from, up to.
const DRAWN_LOGS: (u64, u64) = (10, 26);

/// Rows and columns of the shapes that every operator is measured at.
pub fn shapes() -> Vec<(u64, u64)> {
    SHAPES.to_vec()
}

/// Rows and columns of shapes drawn at random, for sums: every power of two of elements alike, and of these every power of two
/// of rows. `scripts/torch_rows.py` draws the same.
pub fn random_shapes() -> Vec<(u64, u64)> {
    let within = |log: u64, i: u64| (1 << log) + input::split_mix(DRAWN, i) % (1 << log);
    let shape = |i: u64| {
        let log = DRAWN_LOGS.0 + input::split_mix(DRAWN, 4 * i) % (DRAWN_LOGS.1 - DRAWN_LOGS.0);
        let n = within(log, 4 * i + 1);
        let rows = within(input::split_mix(DRAWN, 4 * i + 2) % log, 4 * i + 3);
        let cols = n.div_ceil(rows);
        (rows, if rows * cols > 1 << DRAWN_LOGS.1 { n / rows } else { cols })
    };
    (0..DRAWN).map(shape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_that_are_drawn_are_the_same_for_ever() {
        let drawn = random_shapes();
        assert_eq!(drawn.len(), 40);
        assert!(drawn.iter().all(|(rows, cols)| (1 << 10..=1 << 26).contains(&(rows * cols))), "{drawn:?}");
        assert_eq!(drawn[..3], [(515, 14), (2762, 3), (2235, 25854)]);
    }
}
