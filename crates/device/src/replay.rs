//! Graphs that are replayed in turns: what is done before each replay, what is timed, and what each of them left.

use crate::{Buffer, Call, Error, Scalar, Timed, Timing};

/// Step before a replay, outside of its time.
pub enum Step<'a, T> {
    /// A launch.
    Launch(&'a Call<'a>),
    /// Every byte of an array becomes this one.
    Fill(&'a Buffer<T>, u8),
    /// The first elements of one array become those of another, as many as are asked for.
    Copy {
        /// Read.
        from: &'a Buffer<T>,
        /// Written.
        to: &'a Buffer<T>,
        /// Number of elements.
        elements: usize,
    },
}

/// One graph of [`crate::Device::replay`].
pub struct Graph<'a, T> {
    /// Calls in it, which are timed, in order.
    pub calls: Vec<Timed<'a>>,
    /// Steps before each replay, in order; the flush of [`crate::Replays`] comes after it.
    pub before: Vec<Step<'a, T>>,
    /// Array that the calls write, kept for each replay.
    pub output: Option<&'a Buffer<T>>,
}

/// Times and outputs of one graph's replays.
#[derive(Debug, Clone)]
pub struct Replayed<T> {
    /// `None` on the simulator, which has no clock.
    pub timing: Option<Timing>,
    /// The output after each replay that was timed, in their order; on the simulator of the only one. Empty for a graph
    /// without an output.
    pub outputs: Vec<Vec<T>>,
}

impl<'a, T: Scalar> Graph<'a, T> {
    /// Calls, and nothing else.
    pub fn of(calls: Vec<Timed<'a>>) -> Graph<'a, T> {
        Graph { calls, before: Vec::new(), output: None }
    }
}

impl<T: Scalar> Step<'_, T> {
    /// Refuses a copy beyond the end of an array.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let Step::Copy { from, to, elements } = self else { return Ok(()) };
        for buffer in [from, to] {
            if *elements > buffer.len() {
                let name = buffer.name().to_string();
                return Err(Error::TooLong { name, len: buffer.len(), values: *elements });
            }
        }
        Ok(())
    }
}
