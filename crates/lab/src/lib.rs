//! Common parts of all chapters: references and error bounds, verification, records, and the program that a chapter's `main`
//! hands its lesson to. The tables and charts of the book are in the crate `report`.
//!
//! ```text
//! Chapter (plain data) + command line -> Plan -> Session -> Run -> text, JSON, chart, records
//! ```

pub mod addition;
pub mod case;
pub mod chapter;
pub mod chart;
pub mod cli;
pub mod clock;
mod compare;
pub mod counts;
pub mod curve;
pub mod element;
mod error;
pub mod figure;
pub mod hardware;
pub mod input;
mod json;
pub mod kernels;
pub mod layout;
pub mod measurement;
pub mod memory;
pub mod mistake;
pub mod npy;
pub mod op;
pub mod plan;
mod program;
pub mod progress;
pub mod record;
pub mod reference;
pub mod run;
pub mod runner;
pub mod search;
mod seeds;
pub mod session;
mod shape;
pub mod show;
mod smaller;
#[cfg(feature = "bench")]
pub mod speed;
pub mod status;
pub mod sweep;
pub mod targets;
pub mod text;
#[cfg(any(test, feature = "trial"))]
pub mod trial;
pub mod value;
pub mod variant;
pub mod verdict;
pub mod verify;

pub use case::Case;
pub use chapter::{Chapter, Mistake, Note};
pub use curve::Sweep;
pub use device::{Card, Code, KernelSource};
pub use element::{Array, Type, Value};
pub use error::{Error, Result};
pub use layout::{Layout, Matrix, Offsets, Per, Ragged, Rows};
pub use op::Op;
pub use plan::{Arg, LaunchOptions, Pass, Plan, Planned, Problem};
pub use program::{Output, Stop, finish, main, notes};
pub use reduction::bound;
pub use run::{Job, Run, Simulator};
pub use session::Session;
pub use targets::Targets;
pub use variant::{BlockRule, Factors, Variant};
