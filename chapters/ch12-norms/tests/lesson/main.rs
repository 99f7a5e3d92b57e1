//! What holds of every chapter, then what is this one's own.

mod on_demand;
mod order;
mod shapes;
mod special;

lab::chapter_tests!(ch12_norms::CHAPTER);
