//! Speed of the chapter's kernels: `cargo bench -p ch09-operators`.

lab::chapter_bench!(ch09_operators::CHAPTER);
