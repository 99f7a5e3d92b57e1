//! Many arrays of a program, reduced as one.

use std::sync::Arc;

use ::cudarc::driver::{CudaSlice, CudaStream, DevicePtr};

use super::launch::failed;
use super::{Call, Element, Prepared, Reducer, Workspace};
use crate::error::{Error, Result};
use crate::families::many::Many;
use crate::memory::Memory;
use crate::op::Op;

/// A prepared reduction of many arrays, with the table of their places on the device. The elements may change between calls; arrays
/// that have moved, or that come and go, are gathered again.
#[derive(Debug)]
pub struct Gathered {
    prepared: Prepared,
    table: CudaSlice<u64>,
    places: Vec<Memory>,
}

impl Reducer {
    /// Plans the sum, sum of squares or L2 norm of the elements of many arrays, loads its kernel, and copies a table of their places
    /// to the device, on this stream.
    ///
    /// # Errors
    /// Those of [`Many::reduction`]; [`Error::Capturing`], since the table would have to be allocated; [`Error::OtherContext`];
    /// [`Error::Driver`].
    pub fn gather<T: Element>(
        &self,
        stream: &Arc<CudaStream>,
        op: Op,
        arrays: &[&impl DevicePtr<T>],
    ) -> Result<Gathered> {
        if stream.context() != &self.context {
            return Err(Error::OtherContext { what: "the stream" });
        }
        super::workspace::refuse_capture(stream, "a table would have to be allocated")?;
        let place = |array: &&_| memory(*array, stream);
        let places: Vec<Memory> = arrays.iter().map(place).collect();
        let many = Many::new(op, T::TYPE, arrays.iter().map(|array| array.len() as u64).collect());
        let addresses: Vec<u64> = places.iter().map(|place| place.address).collect();
        let words = many.table(&addresses)?;
        let prepared = self.prepare(many.reduction(&self.card)?)?;
        let table = stream.clone_htod(&words).map_err(|error| failed("copy the table of arrays", error))?;
        Ok(Gathered { prepared, table, places })
    }
}

impl Gathered {
    /// Its plan.
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// Begins a call on the workspace's stream over the arrays that were gathered, in their order. The results are named next.
    pub fn call<'a, T: Element>(&'a self, workspace: &'a mut Workspace, arrays: &[&'a impl DevicePtr<T>]) -> Call<'a> {
        self.prepared.call(workspace).gathered(&self.table, &self.places, arrays)
    }
}

/// The place of an array.
fn memory<T>(array: &impl DevicePtr<T>, stream: &CudaStream) -> Memory {
    let (address, _nothing_reads_yet) = array.device_ptr(stream);
    Memory { address, bytes: array.num_bytes() as u64 }
}
