//! Fast, checked reductions on NVIDIA GPUs.
//!
//! Plans are plain data: an operation, a type, a layout and a [`Card`] give the launches, the reason for them, and the bound of
//! their error.

pub mod bound;
pub mod card;
pub mod element;
pub mod families;
pub mod geometry;
pub mod layout;
pub mod op;
pub mod plan;
pub mod team;
mod text;

pub use card::Card;
pub use element::Type;
pub use geometry::Geometry;
pub use layout::{Layout, Matrix, Segments};
pub use op::Op;
pub use plan::{Arg, Pass, Plan, Problem};
