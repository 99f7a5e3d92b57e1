//! What holds of every chapter, then what is this one's own.

mod input;
mod shapes;

lab::chapter_tests!(ch10_rows::CHAPTER);
