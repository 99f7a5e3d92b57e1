//! Memory beside the operands, of one stream.

use std::sync::Arc;

use ::cudarc::driver::{CudaSlice, CudaStream, DevicePtrMut, DriverError, SyncOnDrop, sys};

use super::launch::failed;
use crate::error::{Error, Result};
use crate::memory::{Memory, Space};
use crate::plan::Protocol;
use crate::reduction::Reduction;

/// State and scratch memory of the reductions of one stream. Calls use it one after the other, as the stream runs them; a program
/// with two streams has two.
#[derive(Debug)]
pub struct Workspace {
    stream: Arc<CudaStream>,
    scratch: Option<CudaSlice<u8>>,
    /// State of each protocol, zero between calls.
    states: Vec<(Protocol, CudaSlice<u64>)>,
}

impl Workspace {
    /// An empty workspace.
    pub(super) fn new(stream: &Arc<CudaStream>) -> Workspace {
        Workspace { stream: Arc::clone(stream), scratch: None, states: Vec::new() }
    }

    /// The stream.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Makes room for a reduction. Nothing happens where there is room; else memory is allocated in stream order, and what was there is
    /// given back in stream order. A graph that was captured with this workspace keeps the addresses that it had: reserve for the
    /// largest reduction before a capture.
    ///
    /// # Errors
    /// [`Error::Capturing`] where something would have to be allocated; [`Error::Driver`].
    pub fn reserve(&mut self, reduction: &Reduction) -> Result<()> {
        let (bytes, words) = (reduction.scratch_bytes() as usize, reduction.plan().state_words as usize);
        let protocol = reduction.plan().protocol;
        let has_scratch = bytes == 0 || self.scratch.as_ref().is_some_and(|scratch| scratch.len() >= bytes);
        let state = self.states.iter().position(|&(of, _)| of == protocol);
        let has_state = words == 0 || state.is_some_and(|at| self.states[at].1.len() >= words);
        if has_scratch && has_state {
            return Ok(());
        }
        refuse_capture(&self.stream, "the workspace would have to grow")?;
        let allocate = |error: DriverError| failed("allocate the workspace", error);
        if !has_scratch {
            self.scratch = None;
            // SAFETY: launches of a plan write what later launches of it read.
            self.scratch = Some(unsafe { self.stream.alloc(bytes) }.map_err(allocate)?);
        }
        if !has_state {
            let zeros = self.stream.alloc_zeros(words).map_err(allocate)?;
            match state {
                Some(at) => self.states[at].1 = zeros,
                None => self.states.push((protocol, zeros)),
            }
        }
        Ok(())
    }

    /// Sets all state to zero, in stream order: what a launch that was cut off may have left.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn reset(&mut self) -> Result<()> {
        let stream = Arc::clone(&self.stream);
        let zero = |(_, state): &mut (Protocol, CudaSlice<u64>)| stream.memset_zeros(state);
        self.states.iter_mut().try_for_each(zero).map_err(|error| failed("clear the workspace", error))
    }

    /// Its stream, and the rest for a call.
    pub(super) fn parts(&mut self) -> (&Arc<CudaStream>, Parts<'_>) {
        (&self.stream, Parts { scratch: &mut self.scratch, states: &mut self.states })
    }
}

/// Memory of a workspace that a call has to itself.
pub(super) struct Parts<'a> {
    scratch: &'a mut Option<CudaSlice<u8>>,
    states: &'a mut Vec<(Protocol, CudaSlice<u64>)>,
}

impl Parts<'_> {
    /// Memory for a reduction, with what records its use.
    pub(super) fn space<'s>(
        &'s mut self,
        reduction: &Reduction,
        stream: &'s CudaStream,
    ) -> (Space, [Option<SyncOnDrop<'s>>; 2]) {
        let protocol = reduction.plan().protocol;
        let (scratch, first) = memory(self.scratch.as_mut(), stream);
        let state = self.states.iter_mut().find(|(of, _)| *of == protocol);
        let (state, second) = memory(state.map(|(_, state)| state), stream);
        (Space { scratch, state }, [first, second])
    }
}

/// Refuses what a stream that is being captured forbids.
pub(super) fn refuse_capture(stream: &CudaStream, what: &str) -> Result<()> {
    let status = stream.capture_status().map_err(|error| failed("ask whether the stream captures", error))?;
    if status == sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE {
        return Ok(());
    }
    Err(Error::Capturing { what: what.to_owned() })
}

fn memory<'s, T>(slice: Option<&'s mut CudaSlice<T>>, stream: &'s CudaStream) -> (Memory, Option<SyncOnDrop<'s>>) {
    let Some(slice) = slice else { return (Memory { address: 0, bytes: 0 }, None) };
    let bytes = slice.num_bytes() as u64;
    let (address, guard) = slice.device_ptr_mut(stream);
    (Memory { address, bytes }, Some(guard))
}
