//! The GPU's half of the operation.

use std::collections::hash_map::{Entry, HashMap};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

use candle_core::cuda::cudarc::driver::CudaSlice;
use candle_core::cuda::{CudaDType, CudaStorageSlice};
use candle_core::{CudaDevice, CudaStorage, Error, Result};
use reduction::{Element, Layout, Matrix, Op, Reducer, Workspace};

/// What outlives a call: kernels and plans of a context, and a workspace for each stream. Each thread has one of its own under the one
/// handle that candle has, cudarc's `per_thread_stream`.
pub struct Gpu {
    reducer: Reducer,
    workspaces: Mutex<HashMap<ThreadId, Workspace>>,
}

impl Gpu {
    pub fn new(device: &CudaDevice) -> Result<Gpu> {
        let reducer = Reducer::new(device.cuda_stream().context()).map_err(Error::wrap)?;
        Ok(Gpu { reducer, workspaces: Mutex::default() })
    }

    /// Softmax of a part of a storage, in rows of `cols` elements.
    pub fn softmax(&self, storage: &CudaStorage, part: Range<usize>, cols: usize) -> Result<CudaStorage> {
        match &storage.slice {
            CudaStorageSlice::F32(slice) => self.softmax_of(slice, &storage.device, part, cols),
            CudaStorageSlice::F16(slice) => self.softmax_of(slice, &storage.device, part, cols),
            CudaStorageSlice::BF16(slice) => self.softmax_of(slice, &storage.device, part, cols),
            _ => candle_core::bail!("softmax-last-dim: the elements are f32, f16 or bf16"),
        }
    }

    fn softmax_of<T: Element + CudaDType>(
        &self,
        slice: &CudaSlice<T>,
        device: &CudaDevice,
        part: Range<usize>,
        cols: usize,
    ) -> Result<CudaStorage> {
        // SAFETY: the call writes every element.
        let mut out = unsafe { device.alloc::<T>(part.len()) }?;
        let call = || {
            let matrix = Matrix::dense((part.len() / cols) as u64, cols as u64);
            let plan = self.reducer.plan(Op::Softmax, T::TYPE, 0, Layout::Rows(matrix))?;
            let mut workspaces = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
            let workspace = match workspaces.entry(thread::current().id()) {
                Entry::Occupied(workspace) => workspace.into_mut(),
                Entry::Vacant(place) => place.insert(self.reducer.workspace(&device.cuda_stream())?),
            };
            workspace.reserve(plan.reduction())?;
            plan.call(workspace).input(&slice.slice(part)).out(&mut out).run()
        };
        call().map_err(Error::wrap)?;
        Ok(CudaStorage::wrap_cuda_slice(out, device.clone()))
    }
}
