//! Records and runs as the book shows them: tables, charts, facts and the fragments that pages include.
//!
//! ```text
//! SimRecord, GpuRecord, Measurement, NcuRecord -> tables, SVG, facts -> book/src/generated
//! ```

mod accuracy;
mod all_reduce;
mod card;
mod charts;
mod contest_table;
mod fact;
mod facts;
mod kinds;
mod lead;
mod library;
mod loads;
pub mod ncu;
mod operators;
pub mod page;
mod plot;
mod publish;
mod quoted;
mod rows;
mod searches;
mod sheet;
mod simulated;
mod stale;
mod sweep;
mod tables;

#[cfg(test)]
mod made;

pub use all_reduce::{OverDevices, all_reduce, recorded as all_reduce_record};
pub use charts::{charts, stages};
pub use contest_table::{BOOKS, ContestTable, Library, Over, Task};
pub use library::library;
pub use publish::{book, chapter_contest, report};
pub use quoted::{Article, ArticleRow, Quoted, Shmoo};
pub use searches::plans;
