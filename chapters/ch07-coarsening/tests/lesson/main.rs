//! Tests that every chapter has, then this one's own.

mod agree;
mod page;
mod program;
mod replay;

lab::chapter_tests!(ch07_coarsening::CHAPTER);
