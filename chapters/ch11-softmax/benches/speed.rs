//! Speed of the chapter's kernels: `cargo bench -p ch11-softmax`.

lab::chapter_bench!(ch11_softmax::CHAPTER);
