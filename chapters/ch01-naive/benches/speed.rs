//! Speed of the chapter's kernels: `cargo bench -p ch01-naive`.

lab::chapter_bench!(ch01_naive::CHAPTER);
