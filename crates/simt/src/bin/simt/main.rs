//! The `simt` command: runs a kernel of a PTX file on the simulator.
fn main() {}
