//! Tests that every chapter has, then this one's own.

mod lockstep;
mod page;
mod program;
mod replay;

lab::chapter_tests!(ch05_unroll::CHAPTER);
