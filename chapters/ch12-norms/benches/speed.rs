//! How fast the chapter's kernels are: `cargo bench -p ch12-norms`.

lab::chapter_bench!(ch12_norms::CHAPTER);
