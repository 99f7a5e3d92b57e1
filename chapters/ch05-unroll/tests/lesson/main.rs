//! What holds of every chapter, then what is this one's own.

mod lockstep;
mod page;
mod program;
mod replay;

lab::chapter_tests!(ch05_unroll::CHAPTER);
