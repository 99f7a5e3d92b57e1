//! Tests that every chapter has, then this one's own.

mod agree;
mod input;

lab::chapter_tests!(ch09_operators::CHAPTER);
