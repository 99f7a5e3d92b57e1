//! How fast the chapter's kernels are: `cargo bench -p ch04-first-add`.

lab::chapter_bench!(ch04_first_add::CHAPTER);
