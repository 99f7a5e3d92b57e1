//! Tests that every chapter has, then this one's own.

mod input;
mod shapes;
mod special;
mod turns;

lab::chapter_tests!(ch11_softmax::CHAPTER);
