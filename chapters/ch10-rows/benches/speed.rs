//! Speed of the chapter's kernels: `cargo bench -p ch10-rows`.

lab::chapter_bench!(ch10_rows::CHAPTER);
