//! Speed of the chapter's kernels: `cargo bench -p ch04-first-add`.

lab::chapter_bench!(ch04_first_add::CHAPTER);
