//! The crate as its users meet it.

mod all_reduce;
mod fake_driver;
mod fake_peers;
mod launching;
mod loading;
mod peers;

use std::path::Path;

use device::{Choice, Device, SimOptions};

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn sim() -> Device {
    Device::open(Choice::Sim, SimOptions::default()).expect("the simulator opens anywhere")
}
