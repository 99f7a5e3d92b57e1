//! The one door to a GPU or the simulator: open a device, load a lesson's kernels, move arrays, launch, time.
//!
//! ```text
//! Device::open(choice) -> load(kernels/<slug>.cu) -> upload -> launch -> download
//!                                                       └────> time (GPU only)
//! ```
//!
//! This crate and the library `reduction` alone name cudarc. A missing driver, a missing NVRTC, an old driver, memory that does not suffice and a
//! launch that fails are ordinary errors of one clear sentence; nothing here panics.

mod baseline;
mod buffer;
mod committed;
mod device;
mod error;
mod gpu;
mod kernels;
mod launch;
mod module;
pub mod nvrtc;
mod peers;
mod probe;
mod reduce;
mod replay;
mod scalar;
mod sim;
mod source;
mod stamp;

pub use baseline::{Baseline, BaselineSum, Entry, Operands, Segments};
pub use buffer::{Buffer, DeviceAddress};
pub use committed::{committed_options, compile_committed};
pub use device::{Choice, Description, Device, SimOptions};
pub use error::Error;
pub use launch::{Arg, Call, Foreign, HostTiming, Replays, Report, Timed, Timing};
pub use module::{Module, Origin, Resources};
pub use peers::Peers;
pub use probe::{Driver, Probe, probe};
pub use reduce::{HostOperand, HostOperands, Reductions};
pub use reduction::{Card, Geometry, card};
pub use replay::{Graph, Replayed, Step};
pub use scalar::Scalar;
pub use source::{KernelSource, all_entry_hashes, all_sources, listing};
pub use stamp::{Stamp, code_sha256, entry_hashes, sha256, up_to_date};

pub use simt::counters::{Metric, PEER_METRICS};
pub use simt::{Check, Checks, Code, Counters, Fault, LineCounters, Note, NoteKind, Schedule, Site};
