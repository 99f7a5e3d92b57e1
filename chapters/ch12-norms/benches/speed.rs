//! Speed of the chapter's kernels: `cargo bench -p ch12-norms`.

lab::chapter_bench!(ch12_norms::CHAPTER);
