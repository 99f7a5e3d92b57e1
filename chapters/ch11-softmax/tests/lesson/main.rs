//! Tests that every chapter has, then this one's own.

mod input;
mod shapes;
mod special;
mod staged;

lab::chapter_tests!(ch11_softmax::CHAPTER);
