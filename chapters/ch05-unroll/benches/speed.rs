//! Speed of the chapter's kernels: `cargo bench -p ch05-unroll`.

lab::chapter_bench!(ch05_unroll::CHAPTER);
