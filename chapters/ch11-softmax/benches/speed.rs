//! How fast the chapter's kernels are: `cargo bench -p ch11-softmax`.

lab::chapter_bench!(ch11_softmax::CHAPTER);
