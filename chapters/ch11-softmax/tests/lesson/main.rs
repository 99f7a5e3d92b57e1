//! What holds of every chapter, then what is this one's own.

mod input;
mod shapes;
mod special;

lab::chapter_tests!(ch11_softmax::CHAPTER);
