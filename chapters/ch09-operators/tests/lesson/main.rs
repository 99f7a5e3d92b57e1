//! What holds of every chapter, then what is this one's own.

mod agree;
mod input;

lab::chapter_tests!(ch09_operators::CHAPTER);
