//! What holds of every chapter, then what is this one's own.

lab::chapter_tests!(ch10_rows::CHAPTER);
