//! Host threads of the simulator; only this module knows them. Without the feature `threads` there
//! is one, as in a browser.

/// Threads that can run at once. The answer is asked for once: it is read from files of the system, which takes as long as
/// a small launch.
#[cfg(feature = "threads")]
pub(super) fn cores() -> usize {
    static CORES: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// One.
#[cfg(not(feature = "threads"))]
pub(super) fn cores() -> usize {
    1
}

/// Runs `work` on each of `workers` threads and returns the results.
#[cfg(feature = "threads")]
pub(super) fn on_threads<T: Send>(workers: usize, work: impl Fn() -> T + Copy + Send) -> Vec<T> {
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        // A worker that panicked takes its panic along: it is a bug of the simulator, not of the kernel.
        handles.into_iter().map(|h| h.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

/// Runs `work` once, which does everything, and returns its result.
#[cfg(not(feature = "threads"))]
pub(super) fn on_threads<T: Send>(_workers: usize, work: impl Fn() -> T + Copy + Send) -> Vec<T> {
    vec![work()]
}
