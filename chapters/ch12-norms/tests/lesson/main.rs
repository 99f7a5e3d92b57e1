//! Tests that every chapter has, then this one's own.

mod on_demand;
mod order;
mod shapes;
mod special;

lab::chapter_tests!(ch12_norms::CHAPTER);
