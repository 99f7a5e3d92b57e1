//! The crate as its users meet it.

mod fake_driver;
mod launching;
mod loading;
mod peers;
