//! How fast the chapter's kernels are: `cargo bench -p ch07-coarsening`.

lab::chapter_bench!(ch07_coarsening::CHAPTER);
