//! Speed of the chapter's kernels: `cargo bench -p ch07-coarsening`.

lab::chapter_bench!(ch07_coarsening::CHAPTER);
