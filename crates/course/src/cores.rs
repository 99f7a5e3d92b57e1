//! Work that all cores share.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of threads that run at once.
pub fn count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Results of `of` for each item, in their order.
///
/// # Panics
/// If `of` does.
pub fn each<T: Sync, R: Send>(items: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(i) else { return done };
            done.push((i, of(item)));
        }
    };
    let mut found: Vec<(usize, R)> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..count()).map(|_| scope.spawn(work)).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    found.sort_by_key(|(i, _)| *i);
    found.into_iter().map(|(_, result)| result).collect()
}
