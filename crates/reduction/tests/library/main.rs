//! The library's suite, on the simulator with its checks on: every call is judged against a reference with a bound, and no launch has a
//! fault.

mod families;
mod properties;
mod refusals;
mod trial;
