//! The program as a reader uses it. What all chapters share of it is tested in chapter 5; here is what is this one's own.

use crate::PROGRAM;

#[test]
fn the_price_of_the_second_element_is_printed() {
    PROGRAM.says(
        &["--n", "1000"],
        &["one block of 256 threads", "256 elements take 705 warp-instructions and 512 take 737"],
    );
    let other = PROGRAM.run(&["--n", "1000", "--variant", "shared_mem"]);
    assert!(!other.out.contains("an element"), "printed only for a variant that ran:\n{}", other.out);
}

#[test]
fn two_elements_a_thread_take_half_the_blocks() {
    assert_eq!(PROGRAM.run(&["--n", "4096", "--block", "256", "--grid", "8"]).status, 0, "512 elements a block");
    PROGRAM.refuses(&["--n", "4096", "--block", "256", "--grid", "16"], &["needs exactly 8 blocks of 256 threads"]);
}
