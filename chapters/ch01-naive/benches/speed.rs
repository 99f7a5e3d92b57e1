//! How fast the chapter's kernels are: `cargo bench -p ch01-naive`.

lab::chapter_bench!(ch01_naive::CHAPTER);
