//! The crate as its users meet it.

mod all_reduce;
mod fake_driver;
mod fake_peers;
mod launching;
mod loading;
mod peers;
