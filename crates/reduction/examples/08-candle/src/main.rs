//! Softmax of a tensor's last dimension as an operation of candle's, which calls the library on candle's own stream and buffers.
//! Run it with `--features cuda`, which wants a GPU, and nvcc for candle's kernels; without, the host does it. Within this repository
//! `CUDARC_CUDA_VERSION=13000` in front says that nvcc is CUDA 13's: the repository's own setting is an older one.

#[cfg(feature = "cuda")]
mod gpu;

use candle_core::{CpuStorage, CustomOp1, D, DType, Device, Error, Layout, Result, Shape, Tensor, WithDType};

/// The operation, on one device.
struct SoftmaxLastDim {
    #[cfg(feature = "cuda")]
    gpu: Option<gpu::Gpu>,
}

impl SoftmaxLastDim {
    /// An operation with all that outlives its calls.
    #[cfg_attr(not(feature = "cuda"), expect(unused_variables, reason = "the host needs nothing"))]
    fn new(device: &Device) -> Result<SoftmaxLastDim> {
        Ok(SoftmaxLastDim {
            #[cfg(feature = "cuda")]
            gpu: if let Device::Cuda(device) = device { Some(gpu::Gpu::new(device)?) } else { None },
        })
    }

    /// Where the elements begin and end in their storage, and how many a row has.
    fn rows(&self, layout: &Layout) -> Result<(usize, usize, usize)> {
        let elements = layout.contiguous_offsets();
        let (begin, end) = elements.ok_or_else(|| Error::RequiresContiguous { op: self.name() }.bt())?;
        Ok((begin, end, layout.dim(D::Minus1)?.max(1)))
    }
}

impl CustomOp1 for SoftmaxLastDim {
    fn name(&self) -> &'static str {
        "softmax-last-dim"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (begin, end, cols) = self.rows(layout)?;
        let results = match storage {
            CpuStorage::F32(x) => on_host(&x[begin..end], cols),
            CpuStorage::F16(x) => on_host(&x[begin..end], cols),
            CpuStorage::BF16(x) => on_host(&x[begin..end], cols),
            _ => candle_core::bail!("{}: the elements are f32, f16 or bf16", self.name()),
        };
        Ok((results, layout.shape().clone()))
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(
        &self,
        storage: &candle_core::CudaStorage,
        layout: &Layout,
    ) -> Result<(candle_core::CudaStorage, Shape)> {
        let Some(gpu) = &self.gpu else { candle_core::bail!("{} was made for the host", self.name()) };
        let (begin, end, cols) = self.rows(layout)?;
        Ok((gpu.softmax(storage, begin..end, cols)?, layout.shape().clone()))
    }
}

/// The same on the host.
fn on_host<T: WithDType>(elements: &[T], cols: usize) -> CpuStorage {
    let softmax = |row: &[T]| {
        let largest = row.iter().map(|x| x.to_f64()).fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = row.iter().map(|x| (x.to_f64() - largest).exp()).collect();
        let sum: f64 = powers.iter().sum();
        powers.into_iter().map(move |power| T::from_f64(power / sum))
    };
    T::to_cpu_storage_owned(elements.chunks(cols).flat_map(softmax).collect())
}

fn main() -> Result<()> {
    let device = Device::cuda_if_available(0)?;
    let softmax = SoftmaxLastDim::new(&device)?;
    // Numbers for which no result is so small that f16 keeps fewer bits of it.
    let numbers = Tensor::rand(-2f32, 2f32, (9, 64, 500), &device)?;
    // What rounding a result may change, over the result: half a unit of its last place.
    for (ty, rounding) in [(DType::F32, 2f64.powi(-24)), (DType::F16, 2f64.powi(-11)), (DType::BF16, 2f64.powi(-8))] {
        // The elements begin within their storage.
        let x = numbers.to_dtype(ty)?.narrow(0, 1, 8)?;
        let results = x.apply_op1_no_bwd(&softmax)?.to_device(&Device::Cpu)?.to_dtype(DType::F64)?;

        let x = x.to_device(&Device::Cpu)?.to_dtype(DType::F64)?;
        let powers = x.broadcast_sub(&x.max_keepdim(D::Minus1)?)?.exp()?;
        let expected = powers.broadcast_div(&powers.sum_keepdim(D::Minus1)?)?;
        let distances = ((results - &expected)? / &expected)?.abs()?.flatten_all()?.to_vec1::<f64>()?;
        let distance = distances.into_iter().max_by(f64::total_cmp).unwrap_or(f64::NAN);
        println!("{ty:?} on {:?}: {distance:.1e} of a result at most", device.location());

        // The differences, powers, sum and quotient are of f32, whatever the type: eight units of its last place.
        let bound = rounding + 8.0 * f64::from(f32::EPSILON);
        if distance > bound || distance.is_nan() {
            candle_core::bail!("{ty:?}: {distance:.1e} is more than {bound:.1e}");
        }
    }
    Ok(())
}
