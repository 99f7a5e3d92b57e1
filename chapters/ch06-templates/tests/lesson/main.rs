//! Tests that every chapter has, then this one's own.

mod agree;
mod page;
mod program;

lab::chapter_tests!(ch06_templates::CHAPTER);
