//! The program as a reader uses it. What all chapters share of it is tested in chapter 5; here is what is this one's own.

use crate::PROGRAM;

#[test]
fn the_text_tells_harm_additions_and_the_change() {
    PROGRAM.says(
        &["--n", "1000"],
        &[
            "✗ bitmask",
            "keeps the divergence",
            "✓ strided_index",
            "✓ convergent_global",
            "against ch01-naive's interleaved_modulo",
            "bitmask, 256 elements in one block of 256 threads: its 255 additions take 47 warp-instructions",
            "convergent_global, 256 elements in one block of 128 threads: its 255 additions take 12 warp-instructions",
            "66.4 %",
        ],
    );
    let other = PROGRAM.run(&["--n", "1000", "--variant", "bitmask"]);
    assert!(!other.out.contains("66.4 %"), "printed only for a variant that ran:\n{}", other.out);
}
