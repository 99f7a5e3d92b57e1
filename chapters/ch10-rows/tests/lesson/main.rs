//! Tests that every chapter has, then this one's own.

mod input;
mod shapes;

lab::chapter_tests!(ch10_rows::CHAPTER);
