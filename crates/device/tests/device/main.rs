//! The crate as its users meet it.

mod all_reduce;
mod fake_driver;
mod launching;
mod loading;
mod peers;
