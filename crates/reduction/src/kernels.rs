//! The kernels' PTX, compiled into the crate.

use crate::error::{Error, Result};

/// All texts, one behind the other.
static TEXT: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));
/// Name, target, and where the text begins and how long it is.
static TABLE: &[(&str, u32, usize, usize)] = include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// The PTX of a kernel for a device of this compute capability, 90 for 9.0, and nothing else. A driver compiles it in
/// tens of milliseconds, the more lines the longer.
///
/// # Errors
/// [`Error::NoKernel`].
pub fn ptx(kernel: &str, compute_capability: u32) -> Result<&'static str> {
    let fits = |&&(name, target, ..): &&(&str, u32, usize, usize)| name == kernel && target <= compute_capability;
    let found = TABLE.iter().filter(fits).max_by_key(|&&(_, target, ..)| target);
    let &(_, _, at, len) = found.ok_or_else(|| Error::NoKernel { kernel: kernel.to_owned() })?;
    Ok(&TEXT[at..at + len])
}

/// Names of all kernels, each once.
pub fn names() -> impl Iterator<Item = &'static str> {
    let is_first =
        |&(i, &(name, ..)): &(usize, &(&str, u32, usize, usize))| !TABLE[..i].iter().any(|other| other.0 == name);
    TABLE.iter().enumerate().filter(is_first).map(|(_, &(name, ..))| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_alone_in_its_text() {
        for name in names() {
            let text = ptx(name, 120).unwrap();
            assert!(text.starts_with(".version 8.1\n.target sm_"), "{name}");
            assert_eq!(text.matches(".visible .entry ").count(), 1, "{name}");
            assert!(!text.contains(".loc "), "{name}");
            let mut calls = text.lines().filter(|line| line.trim_start().starts_with("call"));
            assert!(calls.next().is_none() || text.contains("\n.func "), "{name} calls what is not there");
        }
    }

    #[test]
    fn clusters_are_for_cards_that_have_them() {
        let target = |capability| ptx("single_pass_tile_t256u8_f32", capability).unwrap().lines().nth(1);
        assert_eq!((target(80), target(90)), (Some(".target sm_80"), Some(".target sm_80")));
        assert!(ptx("cluster_softmax_c8t256v2_f32", 89).is_err());
        assert!(ptx("cluster_softmax_c8t256v2_f32", 90).is_ok());
    }
}
