//! Candle's kernels, each launched as candle-core 0.11 and candle-nn 0.11 launch it.

use std::ffi::{CString, c_void};

use cudarc::driver::{CudaSlice, result, sys};
use reduction::{Op, Type};

use crate::judge::{EPSILON, Format};
use crate::{Arrays, Bench, Result, Rival, Shape, Shared, Way};

/// The kernels of candle-kernels' `src/reduce.cu`.
pub struct Candle {
    module: sys::CUmodule,
}

impl Candle {
    /// Loads them into the current context from an image of the compiler's.
    pub fn new(image: &[u8]) -> Result<Candle> {
        // SAFETY: an image of the compiler's, whose head says how long it is.
        let module = unsafe { result::module::load_data(image.as_ptr().cast()) }?;
        Ok(Candle { module })
    }
}

impl Rival for Candle {
    fn entrant(&self) -> &'static str {
        "candle"
    }

    fn about(&self) -> String {
        "candle-kernels 0.11.1".to_owned()
    }

    fn ways(&self, bench: &Bench, op: Op, ty: Type, shape: &Shape) -> Result<Vec<Way<'_>>> {
        let (rows, cols) = (shape.rows, shape.cols);
        let per_row = if cols < 1024 { 32 } else { 1024 };
        let (kernel, grid, block) = match op {
            Op::Softmax => ("softmax", rows, (1, 32, 1)),
            Op::RmsNorm => ("rmsnorm", rows, (per_row, 1, 1)),
            Op::LayerNorm => ("layernorm", rows, (per_row, 1, 1)),
            Op::Sum if cols <= 32 => ("fast_sum_small", rows.div_ceil(256), (256, 1, 1)),
            _ => {
                let kernel = if op == Op::Sum {
                    "fast_sum"
                } else if op == Op::Max {
                    "fast_max"
                } else {
                    "fast_argmax"
                };
                (kernel, rows, (cols.min(1024).next_power_of_two() as u32, 1, 1))
            }
        };
        let name = CString::new(format!("{kernel}_{ty}"))?;
        // SAFETY: the module is loaded and stays so.
        let function = unsafe { result::module::get_function(self.module, name) }?;
        let info = bench.stream.clone_htod(&[rows, cols, cols, 1])?;
        let numbers = match op {
            Op::Softmax => vec![cols],
            Op::RmsNorm | Op::LayerNorm => vec![cols, per_row.into(), EPSILON.to_bits().into()],
            _ => vec![rows * cols, cols, 2],
        };
        let format = if op == Op::Argmax { Format::Places(4) } else { Format::Numbers(ty) };
        let kernel = Kernel { function, grid: (grid as u32, 1, 1), block, numbers, info, op };
        let enqueue = move |bench: &Bench, arrays: &Arrays, shared: &Shared| kernel.enqueue(bench, arrays, shared);
        Ok(vec![Way { name: String::new(), format, enqueue: Box::new(enqueue) }])
    }
}

/// A kernel with its launch.
struct Kernel {
    function: sys::CUfunction,
    grid: (u32, u32, u32),
    block: (u32, u32, u32),
    numbers: Vec<u64>,
    /// Dimensions and strides that some take.
    info: CudaSlice<u64>,
    op: Op,
}

impl Kernel {
    fn enqueue(&self, bench: &Bench, arrays: &Arrays, shared: &Shared) -> Result<()> {
        let [input, out, weights] = [&arrays.input, &arrays.out, &shared.weights].map(|array| bench.address(array));
        let info = bench.address(&self.info);
        let args = match self.op {
            Op::Softmax => [&[input, out], self.numbers.as_slice()].concat(),
            Op::RmsNorm => [&[input, out, weights], self.numbers.as_slice()].concat(),
            Op::LayerNorm => [&[input, out, weights, weights], self.numbers.as_slice()].concat(),
            _ => [self.numbers.as_slice(), &[info, input, out]].concat(),
        };
        let mut pointers: Vec<*mut c_void> = args.iter().map(|arg| std::ptr::from_ref(arg).cast_mut().cast()).collect();
        let stream = bench.stream.cu_stream();
        // SAFETY: the parameters of candle's kernel, in order, each of its size or wider; the arrays live until the stream is waited for.
        unsafe { result::launch_kernel(self.function, self.grid, self.block, 0, stream, &mut pointers) }?;
        Ok(())
    }
}
