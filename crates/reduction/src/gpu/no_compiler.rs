//! What stands for the compiler where the feature `nvrtc` is off.

use crate::error::Result;

/// A compiler that is not there.
#[derive(Debug)]
pub(super) enum Compiler {}

impl Compiler {
    /// Says why there is none.
    pub(super) fn find(_: u32) -> std::result::Result<(Compiler, Vec<u8>), String> {
        Err("the crate's feature `nvrtc` is off".to_owned())
    }

    /// Cannot be called.
    pub(super) fn compile(&self, _: &str, _: &str, _: &str) -> Result<Vec<u8>> {
        match *self {}
    }
}
