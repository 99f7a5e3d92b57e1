//! How fast the chapter's kernels are: `cargo bench -p ch05-unroll`.

lab::chapter_bench!(ch05_unroll::CHAPTER);
