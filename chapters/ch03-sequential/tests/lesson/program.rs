//! The program as a reader uses it. What all chapters share of it is tested in chapter 5; here is what is this one's own.

use crate::PROGRAM;

#[test]
fn the_text_tells_additions_and_the_change() {
    PROGRAM.says(
        &["--n", "1000"],
        &[
            "✓ sequential",
            "against ch02-divergence's strided_index",
            "256 elements in one block of 256 threads: the 255 additions take 12 warp-instructions",
            "66.4 %",
        ],
    );
}
