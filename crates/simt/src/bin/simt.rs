//! The `simt` command: runs a kernel of a PTX file on the simulator, lists what a PTX file holds, and what the
//! simulator knows. All of it is in the library's module `command`, which `cargo course run` uses as well.

use std::process::ExitCode;

fn main() -> ExitCode {
    simt::command::main()
}
