//! Speed of the chapter's kernels: `cargo bench -p ch13-accuracy`.

lab::chapter_bench!(ch13_accuracy::CHAPTER);
