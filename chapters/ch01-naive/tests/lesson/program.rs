//! The program as a reader uses it. What all chapters share of it is tested in chapter 5; here is what is this one's own.

use crate::PROGRAM;

#[test]
fn the_additions_of_the_textbook_case_are_printed() {
    PROGRAM.says(
        &["--n", "1000"],
        &["256 elements in one block of 128 threads", "its 255 additions take 27 warp-instructions", "29.5 %"],
    );
    let other = PROGRAM.run(&["--n", "1000", "--variant", "interleaved_modulo"]);
    assert!(!other.out.contains("29.5 %"), "printed only for a variant that ran:\n{}", other.out);
}

#[test]
fn each_variant_has_its_own_grid() {
    PROGRAM.refuses(&["--n", "4096", "--block", "256", "--grid", "16"], &["simple_global takes 512 elements a block"]);
    assert_eq!(PROGRAM.run(&["--n", "4096", "--grid", "16"]).status, 0, "256 x 1 and 128 x 2 elements a block");
}
