//! Tests that every chapter has, then this one's own.

mod agree;
mod overlap;
mod page;
mod program;

lab::chapter_tests!(ch08_cooperative::CHAPTER);
