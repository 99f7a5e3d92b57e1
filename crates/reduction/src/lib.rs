//! Reductions of arrays, rows and columns on NVIDIA GPUs, for programs that hold their data through cudarc.
//!
#![doc = include_str!("../README.md")]

pub mod bound;
pub mod card;
pub mod element;
mod error;
mod exact_sum;
/// Families of kernels, with shapes that the course's chapters and tuning set by hand: no part of the public interface.
#[doc(hidden)]
pub mod families;
pub mod geometry;
#[cfg(feature = "cudarc")]
pub mod gpu;
mod group;
#[cfg(feature = "cudarc")]
pub mod kernels;
pub mod layout;
mod memory;
pub mod op;
pub mod plan;
mod reduction;
mod results;
mod setters;
/// Teams that hold a row, likewise no part of it.
#[doc(hidden)]
pub mod team;
mod text;

pub use card::Card;
pub use element::Type;
pub use error::{Error, Result};
pub use exact_sum::ExactSum;
pub use families::exact::Exact;
pub use families::loss::{CrossEntropy, LossReduction};
pub use families::many::Many;
pub use families::masked::{Causal, Softmax};
pub use families::normalise::Norm;
pub use families::own::Operator;
pub use families::quantised::{Code, QuantisedNorm};
pub use geometry::Geometry;
#[cfg(feature = "cudarc")]
pub use gpu::{Call, Element, Gathered, Member, Prepared, Ranks, Reducer, Value, Workspace, is_available};
pub use group::{Group, GroupCall, RANKS_MAX, RankLaunch, Room, Route, Share};
pub use layout::{Axis, Layout, Matrix, Segments};
pub use memory::{Memory, Operands, Role, Rule, Space};
pub use op::Op;
pub use plan::{Arg, Determinism, Pass, Plan, Problem};
pub use reduction::{Queue, Reduction};
pub use results::{Found, FoundInRow, Two};
