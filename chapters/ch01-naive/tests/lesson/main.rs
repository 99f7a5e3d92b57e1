//! What holds of every chapter, then what is this one's own.

mod page;
mod program;

lab::chapter_tests!(ch01_naive::CHAPTER);
