//! The library's losses as training calls them: a loss a row with its logsumexp saved, and the gradients of the logits from that.
//! `scripts/torch_losses.py` times others at the shapes of what this prints.

use cudarc::driver::CudaSlice;
use half::bf16;
use lab::element::Element;
use reduction::{CrossEntropy, LossReduction, Matrix, Memory, Operands, Prepared, Role, Workspace};
use serde_json::json;

use crate::{BYTES, Bench, CALLS_MAX, Number, REPLAYS, Result, bytes_of, median};

/// Rows and columns, which are vocabularies of language models.
const SHAPES: [(u64, u64); 9] = [
    (4096, 32_000),
    (4096, 128_256),
    (4096, 151_936),
    (2048, 256_000),
    (512, 32_000),
    (512, 128_256),
    (4096, 50_257),
    (512, 50_257),
    (256, 262_144),
];
/// Rows whose logits are drawn; others repeat them.
const DRAWN: u64 = 64;
/// Rows whose results are judged.
const JUDGED: u64 = 8;
/// More than the error of a result that is rounded to 24 bits, relatively, and less than that of a wrong one.
const ERROR_MAX: f64 = 2e-5;

/// Logits and results of one call.
struct Call {
    logits: CudaSlice<u8>,
    losses: CudaSlice<u8>,
    gradients: CudaSlice<u8>,
}

/// What all calls of a shape read, and the logarithms that the last of them has saved.
struct Rows {
    labels: CudaSlice<i64>,
    of_losses: CudaSlice<f32>,
    logsumexp: CudaSlice<f32>,
}

/// Times all shapes and prints a case for each direction.
///
/// # Errors
/// Results that are wrong, or a device that fails.
pub fn time(bench: &Bench) -> Result<()> {
    println!("{}", json!({"device": bench.reducer.context().name()?, "replays": REPLAYS}));
    for (rows, cols) in SHAPES {
        shape::<f32>(bench, rows, cols)?;
        shape::<bf16>(bench, rows, cols)?;
    }
    Ok(())
}

fn shape<T: Number>(bench: &Bench, rows: u64, cols: u64) -> Result<()> {
    let (ty, matrix, stream) = (<T as Element>::TYPE, Matrix::dense(rows, cols), &bench.stream);
    let card = bench.reducer.card();
    let forward = CrossEntropy::forward(ty, matrix).with_reduction(LossReduction::None).with_logsumexp();
    let backward = CrossEntropy::backward(ty, matrix).with_reduction(LossReduction::None).with_logsumexp();
    let plans = [
        bench.reducer.prepare(forward.reduction(card)?)?,
        bench.reducer.prepare(backward.with_gradient_a_row().reduction(card)?)?,
    ];
    let mut workspace = bench.reducer.workspace(stream)?;
    plans.iter().try_for_each(|plan| workspace.reserve(plan.reduction()))?;

    let drawn = rows.min(DRAWN);
    let elements: Vec<T> = lab::input::elements((drawn * cols) as usize, 0);
    let labels: Vec<i64> = (0..rows).map(|row| (row * 7919 % cols) as i64).collect();
    let of_losses: Vec<f32> = (0..rows).map(|row| (row % 7 + 1) as f32 / 8.0).collect();
    let first = stream.clone_htod(bytes_of(&elements))?;
    let bytes = (rows * cols * ty.bytes()) as usize;
    let call = |_| -> Result<Call> {
        let mut logits = stream.alloc_zeros::<u8>(bytes)?;
        for begin in (0..bytes).step_by(first.len()) {
            stream.memcpy_dtod(&first, &mut logits.slice_mut(begin..begin + first.len()))?;
        }
        Ok(Call { logits, losses: stream.alloc_zeros(4 * rows as usize)?, gradients: stream.alloc_zeros(bytes)? })
    };
    let calls = (0..BYTES.div_ceil(bytes as u64).clamp(1, CALLS_MAX)).map(call).collect::<Result<Vec<_>>>()?;
    let rows_of = Rows {
        labels: stream.clone_htod(labels.as_slice())?,
        of_losses: stream.clone_htod(of_losses.as_slice())?,
        logsumexp: stream.alloc_zeros(rows as usize)?,
    };
    for plan in &plans {
        enqueue(bench, plan, &mut workspace, &calls[0], &rows_of)?;
        let graph =
            bench.graph(|| calls.iter().try_for_each(|call| enqueue(bench, plan, &mut workspace, call, &rows_of)))?;
        let times = (0..=REPLAYS).map(|_| bench.time_us(&graph)).collect::<Result<Vec<f64>>>()?;
        // The first replay finds the card idle.
        let us = median(times[1..].to_vec()) / calls.len() as f64;
        let is_backward = plan.reduction().rule(Role::Gradients).is_some();
        let error = error::<T>(bench, &calls[0], is_backward, (&elements, cols), (&labels, &of_losses))?;
        let op = if is_backward { "cross_entropy_backward" } else { "cross_entropy" };
        println!(
            "{}",
            json!({"entrant": "reduction", "op": op, "type": ty.name(), "rows": rows, "cols": cols, "us": us, "error": error})
        );
        eprintln!("{op:22} {ty:4} {rows:5} x {cols:8}: {us:9.2} us, error {error:.1e}");
    }
    Ok(())
}

fn enqueue(bench: &Bench, plan: &Prepared, workspace: &mut Workspace, call: &Call, rows: &Rows) -> Result<()> {
    fn memory<T>(bench: &Bench, array: &CudaSlice<T>) -> Memory {
        Memory { address: bench.address(array), bytes: array.num_bytes() as u64 }
    }
    let is_backward = plan.reduction().rule(Role::Gradients).is_some();
    let mut operands = Operands::default()
        .with(Role::Input, memory(bench, &call.logits))
        .with(Role::Labels, memory(bench, &rows.labels))
        .with(Role::Logsumexp, memory(bench, &rows.logsumexp))
        .with(Role::Out, memory(bench, if is_backward { &call.gradients } else { &call.losses }));
    if is_backward {
        operands.set(Role::Gradients, memory(bench, &rows.of_losses));
    }
    // SAFETY: the arrays live until the stream has been waited for.
    Ok(unsafe { plan.enqueue(workspace, &operands) }?)
}

/// Largest relative error of the first rows' results, from which half a unit of their type is taken.
fn error<T: Number>(
    bench: &Bench,
    call: &Call,
    is_backward: bool,
    (elements, cols): (&[T], u64),
    (labels, of_losses): (&[i64], &[f32]),
) -> Result<f64> {
    let (cols, size) = (cols as usize, size_of::<T>());
    let rows = (elements.len() / cols).min(JUDGED as usize);
    let mut worst = 0.0f64;
    let mut keep = |got: f64, expected: f64, scale: f64, step: f64| {
        let error = (got - expected).abs() / scale - step;
        worst = if error.is_nan() { f64::INFINITY } else { worst.max(error) };
    };
    let results = if is_backward { &call.gradients } else { &call.losses };
    let bytes = bench.stream.clone_dtoh(&results.slice(..if is_backward { rows * cols * size } else { 4 * rows }))?;
    for row in 0..rows {
        let x: Vec<f64> = elements[row * cols..][..cols].iter().map(|x| x.value().to_f64()).collect();
        let label = labels[row] as usize;
        let logsumexp = x.iter().map(|x| x.exp()).sum::<f64>().ln();
        if !is_backward {
            let loss = logsumexp - x[label];
            keep(f32::from_le(&bytes[4 * row..][..4]).into(), loss, loss.abs() + 1.0, 0.0);
            continue;
        }
        let step = if size == 2 { 1.0 / 256.0 } else { 0.0 };
        for (column, x) in x.iter().enumerate() {
            let (share, of_loss) = ((x - logsumexp).exp(), f64::from(of_losses[row]));
            let target = if column == label { 1.0 } else { 0.0 };
            let got = <T as Element>::from_le(&bytes[(row * cols + column) * size..][..size]).value().to_f64();
            keep(got, (share - target) * of_loss, (share + target) * of_loss, step);
        }
    }
    if worst > ERROR_MAX {
        return Err(format!("an error of {worst:.1e}").into());
    }
    Ok(worst)
}
