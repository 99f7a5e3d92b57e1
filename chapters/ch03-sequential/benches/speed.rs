//! Speed of the chapter's kernels: `cargo bench -p ch03-sequential`.

lab::chapter_bench!(ch03_sequential::CHAPTER);
