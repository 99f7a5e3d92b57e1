//! The same runs through cudarc, and what only a GPU can show.

use std::sync::{Arc, LazyLock};

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, sys};
use device::HostOperand;
use reduction::{Error, FoundInRow, Layout, Matrix, Memory, Op, Operands, Reducer, Reduction, Role, Type};

use crate::trial::on_gpu;

static REDUCER: LazyLock<Reducer> = LazyLock::new(|| {
    let context = CudaContext::new(0).expect("a GPU, as the script promised");
    let reducer = Reducer::new(&context).expect("a card that describes itself");
    let compiles = std::env::var("REDUCTION_ON_GPU").is_ok_and(|wish| wish == "nvrtc");
    assert!(!compiles || reducer.compiles(), "NVRTC was asked for, and the library finds none: {reducer:?}");
    if compiles { reducer } else { reducer.without_compiler() }
});

/// The library's handle: with NVRTC if the script asks for it.
pub fn reducer() -> &'static Reducer {
    &REDUCER
}

fn stream() -> Arc<CudaStream> {
    REDUCER.context().new_stream().expect("a stream")
}

/// A copy of these bytes that begins so many after a multiple of 256.
fn placed(stream: &Arc<CudaStream>, bytes: &[u8], begin: usize) -> (CudaSlice<u8>, Memory) {
    let slice = stream.clone_htod(&[&vec![0xa5; begin + 1], bytes].concat()[1..]).expect("memory");
    let memory = memory(stream, &slice);
    let memory = Memory { address: memory.address + begin as u64, bytes: bytes.len() as u64 };
    (slice, memory)
}

fn memory(stream: &Arc<CudaStream>, slice: &CudaSlice<u8>) -> Memory {
    let (address, _nothing_to_wait_for) = slice.device_ptr(stream);
    Memory { address, bytes: slice.len() as u64 }
}

/// Runs a reduction over operands of any role, of which one may lie over another; what each holds in the end, or what the library says
/// of its kernels.
pub fn run_any(reduction: &Reduction, operands: &[HostOperand<'_>], times: u32) -> Result<Vec<Vec<u8>>, Error> {
    let prepared = REDUCER.prepare(reduction.clone())?;
    let stream = stream();
    let mut workspace = REDUCER.workspace(&stream).expect("the same context");
    workspace.reserve(reduction).expect("memory");
    let mut arrays: Vec<(CudaSlice<u8>, Memory)> = Vec::new();
    let mut bound = Operands::default();
    for operand in operands {
        let memory = match operand.over {
            Some(role) => Memory { bytes: operand.bytes.len() as u64, ..bound.get(role) },
            None => {
                arrays.push(placed(&stream, operand.bytes, operand.begin));
                arrays[arrays.len() - 1].1
            }
        };
        bound.set(operand.role, memory);
    }
    for _ in 0..times {
        // SAFETY: the arrays live until the copies below, which wait for the stream.
        unsafe { prepared.enqueue(&mut workspace, &bound) }.expect("operands that are right");
    }
    let left = operands.iter().map(|operand| {
        let memory = bound.get(operand.role);
        let (slice, at) = arrays.iter().find(|(_, at)| at.address == memory.address).expect("an array of the above");
        let all = stream.clone_dtoh(slice).expect("a copy");
        let begin = (at.address - self::memory(&stream, slice).address) as usize;
        all[begin..begin + memory.bytes as usize].to_vec()
    });
    Ok(left.collect())
}

/// Sums on two streams at once, each with a workspace of its own.
fn on_two_streams() -> Result<(), Box<dyn std::error::Error>> {
    let n = 1 << 22;
    let plan = REDUCER.plan(Op::Sum, Type::I32, n, Layout::Array)?;
    let mut lanes = Vec::new();
    for factor in [1, 3] {
        let stream = stream();
        let input = stream.clone_htod(&(0..n as i32).map(|i| i.wrapping_mul(factor)).collect::<Vec<_>>())?;
        let mut workspace = REDUCER.workspace(&stream)?;
        workspace.reserve(plan.reduction())?;
        lanes.push((stream.alloc_zeros::<i32>(1)?, input, workspace, factor));
    }
    for _ in 0..50 {
        for (out, input, workspace, _) in &mut lanes {
            plan.call(workspace).input(input).out(out).run()?;
        }
    }
    for (out, _, workspace, factor) in &lanes {
        let sum = (0..n as i32).fold(0i32, |sum, i| sum.wrapping_add(i.wrapping_mul(*factor)));
        assert_eq!(workspace.stream().clone_dtoh(out)?, [sum]);
    }
    Ok(())
}

/// A captured graph: nothing may be allocated or loaded meanwhile, and each replay reads what is there then.
fn captured() -> Result<(), Box<dyn std::error::Error>> {
    let context = CudaContext::new(0)?;
    // SAFETY: all work of this context is on the one stream below.
    unsafe { context.disable_event_tracking() };
    let (n, stream, reducer) = (100_003u64, context.new_stream()?, Reducer::new(&context)?);
    let plan = reducer.plan(Op::Sum, Type::F32, n, Layout::Array)?;
    let mut workspace = reducer.workspace(&stream)?;
    let mut input = stream.clone_htod(&vec![1.0f32; n as usize])?;
    let mut out = stream.alloc_zeros::<f32>(1)?;
    stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL)?;
    let early = workspace.reserve(plan.reduction());
    let unloaded = reducer.plan(Op::Prod, Type::F64, 977, Layout::Array);
    let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    let _empty = stream.end_capture(flags)?;
    assert!(matches!(early, Err(Error::Capturing { .. })), "{early:?}");
    assert!(unloaded.is_ok(), "a kernel is loaded without breaking the capture");
    workspace.reserve(plan.reduction())?;
    stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL)?;
    let enqueued = plan.call(&mut workspace).input(&input).out(&mut out).run();
    let graph = stream.end_capture(flags)?.ok_or("an empty graph")?;
    enqueued?;
    for value in [1.0f32, 2.0, -0.5] {
        stream.memcpy_htod(&vec![value; n as usize], &mut input)?;
        graph.launch()?;
        assert_eq!(stream.clone_dtoh(&out)?, [value * n as f32]);
    }
    Ok(())
}

/// Arrays of their own, gathered once: the table holds while they stay, and others are refused.
fn gathered() -> Result<(), Box<dyn std::error::Error>> {
    let stream = stream();
    let arrays = [3, 0, 100_000, 5].map(|n| stream.clone_htod(&vec![0.5f32; n]));
    let arrays = arrays.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut arrays: Vec<&CudaSlice<f32>> = arrays.iter().collect();
    let all = REDUCER.gather(&stream, Op::Sumsq, &arrays)?;
    let mut workspace = REDUCER.workspace(&stream)?;
    workspace.reserve(all.prepared().reduction())?;
    let mut out = stream.alloc_zeros::<f32>(1)?;
    for _ in 0..3 {
        all.call(&mut workspace, &arrays).out(&mut out).run()?;
        assert_eq!(stream.clone_dtoh(&out)?, [100_008.0 / 4.0]);
    }
    arrays.swap(0, 3);
    let error = all.call(&mut workspace, &arrays).out(&mut out).run();
    assert!(matches!(error, Err(Error::Operand { operand: "input", .. })), "{error:?}");
    let error = all.prepared().call(&mut workspace).out(&mut out).run();
    assert!(matches!(error, Err(Error::Operand { operand: "table of arrays", .. })), "{error:?}");
    Ok(())
}

/// More than 2^32 rows, of which all are 0 but some near every edge of 32 bits; then the sum of all their sums.
fn rows_beyond_32_bits() -> Result<(), Box<dyn std::error::Error>> {
    let (stream, rows) = (stream(), (1u64 << 32) + 5);
    let plan = REDUCER.plan(Op::Sum, Type::BF16, 0, Layout::Rows(Matrix::dense(rows, 2)))?;
    let all = REDUCER.plan(Op::Sum, Type::F32, rows, Layout::Array)?;
    let mut workspace = REDUCER.workspace(&stream)?;
    workspace.reserve(plan.reduction())?;
    workspace.reserve(all.reduction())?;
    let mut input = stream.alloc_zeros::<half::bf16>(2 * rows as usize)?;
    let some: Vec<usize> = [0, 1 << 31, (1 << 32) - 1, 1 << 32, rows - 1].map(|row| row as usize).to_vec();
    for (at, &row) in some.iter().enumerate() {
        let elements = [1.0, at as f32].map(half::bf16::from_f32);
        stream.memcpy_htod(&elements, &mut input.slice_mut(2 * row..2 * row + 2))?;
    }
    // SAFETY: the call writes every result.
    let mut sums = unsafe { stream.alloc::<f32>(rows as usize) }?;
    plan.call(&mut workspace).input(&input).out(&mut sums).run()?;
    for (at, &row) in some.iter().enumerate() {
        assert_eq!(stream.clone_dtoh(&sums.slice(row..row + 1))?, [1.0 + at as f32], "row {row}");
    }
    let mut total = stream.alloc_zeros::<f32>(1)?;
    all.call(&mut workspace).input(&sums).out(&mut total).run()?;
    assert_eq!(stream.clone_dtoh(&total)?, [15.0]);
    Ok(())
}

/// More than 2^32 columns, likewise.
fn columns_beyond_32_bits() -> Result<(), Box<dyn std::error::Error>> {
    let (stream, cols) = (stream(), (1u64 << 32) + 5);
    let plan = REDUCER.plan(Op::Max, Type::BF16, 0, Layout::Columns(Matrix::dense(2, cols)))?;
    let mut workspace = REDUCER.workspace(&stream)?;
    workspace.reserve(plan.reduction())?;
    let mut input = stream.alloc_zeros::<half::bf16>(2 * cols as usize)?;
    // SAFETY: the call writes every result.
    let mut out = unsafe { stream.alloc::<f32>(cols as usize) }?;
    let some = [0, (1 << 30) - 1, 1 << 30, (1 << 32) - 1, 1 << 32, cols - 1].map(|col| col as usize);
    for (at, &col) in some.iter().enumerate() {
        let place = at % 2 * cols as usize + col;
        stream.memcpy_htod(&[half::bf16::from_f32(1.0 + at as f32)], &mut input.slice_mut(place..=place))?;
    }
    plan.call(&mut workspace).input(&input).out(&mut out).run()?;
    for (at, &col) in some.iter().enumerate() {
        assert_eq!(stream.clone_dtoh(&out.slice(col..=col))?, [1.0 + at as f32], "column {col}");
    }
    assert_eq!(stream.clone_dtoh(&out.slice(7..8))?, [0.0]);
    Ok(())
}

/// Refusals of operands by their types and by how they are named.
fn refused() -> Result<(), Box<dyn std::error::Error>> {
    let stream = stream();
    let plan = REDUCER.plan(Op::Argmax, Type::F32, 12, Layout::Rows(Matrix::dense(3, 4)))?;
    let mut workspace = REDUCER.workspace(&stream)?;
    workspace.reserve(plan.reduction())?;
    let (floats, doubles) = (stream.alloc_zeros::<f32>(12)?, stream.alloc_zeros::<f64>(12)?);
    let mut indices = stream.alloc_zeros::<u32>(3)?;
    let error = plan.call(&mut workspace).input(&floats).out(&mut indices).run();
    assert!(matches!(error, Err(Error::OperandType { operand: "out", expected: "FoundInRow<f32>", .. })), "{error:?}");
    let error = plan.call(&mut workspace).input(&doubles).run();
    assert!(matches!(error, Err(Error::OperandType { operand: "input", got: "f64", .. })), "{error:?}");
    let found = stream.clone_htod(&[FoundInRow::<f32>::default(); 3])?;
    let error = plan.call(&mut workspace).input(&floats).read(Role::Out, &found).run();
    let written = "is written, and named by `write`";
    assert_eq!(
        error,
        Err(Error::Operand { what: "a call", operand: "out", problem: written }),
        "results are not shared"
    );
    let mut offsets = stream.alloc_zeros::<u32>(2)?;
    let error = plan.call(&mut workspace).input(&floats).write(Role::Offsets, &mut offsets).run();
    assert!(matches!(error, Err(Error::Operand { operand: "offsets", .. })), "{error:?}");
    Ok(())
}

#[test]
fn streams_graphs_and_types_are_as_promised() {
    if !on_gpu() {
        println!("skipped: a GPU is needed, see scripts/gpu_library.sh");
        return;
    }
    for check in [on_two_streams, captured, gathered, refused] {
        check().unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn more_rows_and_columns_than_32_bits_count_are_right() {
    if !on_gpu() {
        println!("skipped: a GPU is needed, see scripts/gpu_library.sh");
        return;
    }
    rows_beyond_32_bits().unwrap_or_else(|error| panic!("{error}"));
    columns_beyond_32_bits().unwrap_or_else(|error| panic!("{error}"));
}
