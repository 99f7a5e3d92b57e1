//! How fast the chapter's kernels are: `cargo bench -p ch08-cooperative`.

lab::chapter_bench!(ch08_cooperative::CHAPTER);
