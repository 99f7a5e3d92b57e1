//! Speed of the chapter's kernels: `cargo bench -p ch06-templates`.

lab::chapter_bench!(ch06_templates::CHAPTER);
