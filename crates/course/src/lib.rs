//! Parts of `cargo course`: the exercises and their judge, the compiler's set-up, what programs write into the
//! repository, and the measuring. The book and the gate, which need mdBook, are in the package `book`, which uses this one.

pub mod bless;
pub mod chromium;
mod cores;
pub mod doctor;
pub mod ensure;
pub mod exercise;
mod faults;
pub mod figures;
pub mod findings;
pub mod headlines;
pub mod instances;
mod instructions;
pub mod launch;
pub mod lessons;
pub mod measure;
mod over_devices;
#[cfg(test)]
mod profiler;
pub mod ptx;
pub mod residency;
mod results;
pub mod rows;
pub mod setup;
pub mod share;
pub mod show;
pub mod tune;
pub mod workspace;
