//! Tests that every chapter has, then this one's own.

mod page;
mod program;

lab::chapter_tests!(ch03_sequential::CHAPTER);
