//! Memory that a run needs, checked before anything is allocated: a sentence at once, not a machine that swaps.

use crate::element::Type;
use crate::error::{Error, Result};
use crate::text::{bytes, grouped};

/// Simulated memory keeps a bit beside each byte: whether it was written at all.
const BYTES_PER_SHADOW_BYTE: u64 = 8;

/// Refuses `n` elements that the host (and the device, if it has memory of its own) cannot hold.
///
/// `more` are the bytes that a run reads and writes beside the input; `device_bytes` is the memory of the GPU, `None` on the simulator.
///
/// # Errors
/// [`Error::Memory`] with what is needed and what there is.
pub fn check(ty: Type, n: u64, more: u64, device_bytes: Option<u64>) -> Result<()> {
    let array = n * ty.bytes();
    let on_device = array.saturating_add(more);
    let refuse = |place, needed: u64, available: u64| {
        let (needed, available) = (bytes(needed), bytes(available));
        Err(Error::Memory { n: grouped(n), ty: ty.name(), needed, place, available, smaller: "a smaller --n" })
    };
    if let Some(available) = device_bytes.filter(|&available| on_device > available) {
        return refuse("device", on_device, available);
    }
    let on_host = if device_bytes.is_some() { array } else { array + on_device + on_device / BYTES_PER_SHADOW_BYTE };
    match available_host_bytes() {
        Some(available) if on_host > available => refuse("host", on_host, available),
        _ => Ok(()),
    }
}

/// Returns the bytes that this process may still allocate, where the system reports it (Linux): the least of free memory, the limit of its
/// control group and the limit of its address space.
fn available_host_bytes() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let number = |path: &str| read(path)?.trim().parse::<u64>().ok();
    let free = read("/proc/meminfo").and_then(|text| field_kib(&text, "MemAvailable:"));
    let group = number("/sys/fs/cgroup/memory.max")
        .map(|limit| limit.saturating_sub(number("/sys/fs/cgroup/memory.current").unwrap_or(0)));
    let space = read("/proc/self/limits").and_then(|text| address_space(&text));
    [free, group, space].into_iter().flatten().min()
}

/// The value of a `Name:   123 kB` line, in bytes.
fn field_kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

/// The soft limit of the line `Max address space`, in bytes; `None` when unlimited.
fn address_space(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("Max address space"))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_linux_writes() {
        let meminfo = "MemTotal:       24600000 kB\nMemAvailable:   1000 kB\n";
        assert_eq!(field_kib(meminfo, "MemAvailable:"), Some(1_024_000));
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax address space         4096000000           unlimited            bytes\n";
        assert_eq!(address_space(limits), Some(4_096_000_000));
        assert_eq!(address_space("Max address space         unlimited            unlimited            bytes\n"), None);
    }

    #[test]
    fn a_small_device_is_full_soon() {
        assert!(check(Type::I32, 1000, 16, Some(5000)).is_ok());
        let message = check(Type::I32, 2000, 16, Some(5000)).expect_err("too much").to_string();
        assert_eq!(
            message,
            "n = 2,000 of i32 needs about 7.8 KiB of device memory and 4.9 KiB is available: take a smaller --n"
        );
    }
}
