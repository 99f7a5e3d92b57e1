//! What the book shows of records and runs: tables, charts, facts and the fragments that pages include.
//!
//! ```text
//! SimRecord, GpuRecord, Measurement, NcuRecord -> tables, SVG, facts -> book/src/generated
//! ```

mod card;
mod charts;
mod fact;
mod facts;
mod lead;
mod loads;
pub mod ncu;
mod operators;
pub mod page;
mod plot;
mod publish;
mod quoted;
mod rows;
mod shapes;
mod sheet;
mod sweep;
mod tables;

pub use charts::{charts, stages};
pub use loads::loads;
pub use operators::{OPERATORS, operators};
pub use publish::{BOOKS, book, report};
pub use quoted::{Article, ArticleRow, Quoted, Shmoo};
pub use rows::{NORMS, ROWS, SOFTMAX, norms, rows, softmax};
pub use shapes::{random_shapes, shapes};
