//! What holds of every chapter, then what is this one's own.

mod order;
mod shapes;
mod special;
mod wanted;

lab::chapter_tests!(ch12_norms::CHAPTER);
