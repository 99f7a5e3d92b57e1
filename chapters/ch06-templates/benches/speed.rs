//! How fast the chapter's kernels are: `cargo bench -p ch06-templates`.

lab::chapter_bench!(ch06_templates::CHAPTER);
