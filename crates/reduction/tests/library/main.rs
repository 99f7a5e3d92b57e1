//! The library's suite, on the simulator with its checks on: every call is judged against a reference with a bound, and no launch has a
//! fault. `scripts/gpu_library.sh` runs it on a GPU too.

mod axes;
mod exact;
mod exact_rows;
mod families;
mod gpu;
mod loss;
mod many;
mod masked;
mod normalise;
mod numbers;
mod offsets;
mod own;
mod pieces;
mod properties;
mod quantised;
mod ranks;
mod refusals;
mod trial;
