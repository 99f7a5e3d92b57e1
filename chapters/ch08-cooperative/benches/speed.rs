//! Speed of the chapter's kernels: `cargo bench -p ch08-cooperative`.

lab::chapter_bench!(ch08_cooperative::CHAPTER);
