//! Code that the simulator's tests share with programs that run the same fixtures elsewhere: the recorders on a GPU
//! (`crates/device/examples`), and the fuzz targets (`fuzz/`). The fixtures themselves lie in `crates/simt/tests`.

#![allow(missing_docs, reason = "for this repository's tests; names and heads of modules say what there is")]

pub mod harness;
pub mod mutate;
pub mod request;
pub mod semantics;
pub mod spellings;
