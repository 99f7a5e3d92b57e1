//! How fast the chapter's kernels are: `cargo bench -p ch09-operators`.

lab::chapter_bench!(ch10_rows::CHAPTER);
