//! How fast the chapter's kernels are: `cargo bench -p ch03-sequential`.

lab::chapter_bench!(ch03_sequential::CHAPTER);
