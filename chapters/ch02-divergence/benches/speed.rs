//! How fast the chapter's kernels are: `cargo bench -p ch02-divergence`.

lab::chapter_bench!(ch02_divergence::CHAPTER);
