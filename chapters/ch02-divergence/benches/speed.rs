//! Speed of the chapter's kernels: `cargo bench -p ch02-divergence`.

lab::chapter_bench!(ch02_divergence::CHAPTER);
