//! Results that the kernels of `tests/gpu` must leave, computed thread by thread on the host: each reference is the kernel's
//! arithmetic in Rust, written anew from its `.cu`.

mod calls;
mod copies;
mod flow;
mod matrices;
mod memory;

use crate::host::hash8;

/// The elements of one buffer.
#[derive(Debug, Clone, PartialEq)]
pub enum Elements {
    /// Elements of any integer type.
    Integers(Vec<i64>),
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
}

/// Results of a kernel: buffers by name.
pub type Outputs = Vec<(&'static str, Elements)>;

/// One output, an integer a thread, of `threads` threads.
fn each<T: Into<i64>>(name: &'static str, threads: u32, value: impl Fn(u32) -> T) -> Outputs {
    vec![(name, Elements::Integers((0..threads).map(|i| value(i).into()).collect()))]
}

/// The reference of a kernel, if it has one.
pub fn outputs(kernel: &str) -> Option<Outputs> {
    let rest = || flow::outputs(kernel).or_else(|| memory::outputs(kernel)).or_else(|| matrices::outputs(kernel));
    calls::outputs(kernel).or_else(|| copies::outputs(kernel)).or_else(rest)
}

/// Output of `print_lanes`, in the order of the default schedule.
pub fn printed(kernel: &str) -> Option<String> {
    (kernel == "print_lanes").then(flow::print_lanes)
}
