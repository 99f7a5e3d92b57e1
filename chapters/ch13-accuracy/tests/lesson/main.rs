//! Tests that every chapter has, then this one's own.

lab::chapter_tests!(ch13_accuracy::CHAPTER);
