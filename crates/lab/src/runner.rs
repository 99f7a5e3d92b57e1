//! A plan on a device: its arrays, its launches and what they report. Chapters, exercises and measurements run plans alike.

use device::{Buffer, Call, Device, DeviceAddress, Module, Report};

use crate::element::{Element, Value};
use crate::error::Result;
use crate::layout::Layout;
use crate::op::{OnHost as _, Op};
use crate::plan::{Arg, Pass, Planned};
use crate::verify::{Bounded, Results, Worst};

/// Arrays that a plan's launches write, and its offsets.
pub struct Arrays<T: Element> {
    sums: Vec<Buffer<T>>,
    state: Buffer<u64>,
    /// The second input, of an operation that takes two.
    other: Option<Buffer<T>>,
    /// Bounds of ragged rows.
    offsets: Option<Words>,
    /// A label a row.
    labels: Option<Words>,
    /// A gradient a row, or one.
    gradients: Option<Buffer<f32>>,
    /// A weight a column, and a bias.
    column_inputs: [Option<Buffer<T>>; 2],
}

impl<T: Element> Arrays<T> {
    /// The arrays that a plan writes. They hold the identity of `op` where kernels add to what is there; else nothing that
    /// may be read, so that a read of what was never written shows.
    ///
    /// # Errors
    /// Memory that does not suffice.
    pub fn new(device: &Device, plan: &Planned, op: Option<Op>) -> Result<Arrays<T>> {
        let state = device.upload("state", &vec![0u64; plan.state_words as usize])?;
        let offsets = match plan.layout {
            Layout::Ragged(offsets) => Some(words(device, "offsets", offsets.bits, offsets.all())?),
            _ => None,
        };
        let (labels, gradients) = targets(device, plan)?;
        let column_inputs = column_inputs(device, plan)?;
        Ok(Arrays { sums: sums(device, plan, op)?, state, other: None, offsets, labels, gradients, column_inputs })
    }

    /// With a second input, where there is one. It begins where memory does, whatever the first one's offset is.
    ///
    /// # Errors
    /// Memory that does not suffice.
    pub fn with_other(mut self, device: &Device, other: &[T]) -> Result<Arrays<T>> {
        if !other.is_empty() {
            self.other = Some(device.upload("other", other)?);
        }
        Ok(self)
    }

    /// Sums of their own for another run, and the state as the run before left it.
    ///
    /// # Errors
    /// Memory that does not suffice.
    pub fn again(self, device: &Device, plan: &Planned, op: Option<Op>) -> Result<Arrays<T>> {
        Ok(Arrays { sums: sums(device, plan, op)?, ..self })
    }

    /// The first element of what the pass of this number wrote.
    ///
    /// # Errors
    /// A driver that does not give it.
    pub fn first(&self, device: &Device, pass: usize) -> Result<Option<Value>> {
        Ok(self.of(device, pass)?.first().map(|&value| value.value()))
    }

    /// Returns the output of the pass of this number; nothing if there is no such pass.
    ///
    /// # Errors
    /// A driver that does not give it.
    pub fn of(&self, device: &Device, pass: usize) -> Result<Vec<T>> {
        self.sums.get(pass).map_or(Ok(Vec::new()), |sums| Ok(device.download(sums)?))
    }

    /// Returns the results of a plan's launches, as many values as the layout has; none without launches.
    ///
    /// # Errors
    /// A driver that does not give it.
    pub fn results(&self, device: &Device, op: Op, layout: &Layout) -> Result<Vec<Value>> {
        if *layout == Layout::Array {
            return Ok(self.result(device, op)?.into_iter().collect());
        }
        let Some(last) = self.sums.len().checked_sub(1) else { return Ok(Vec::new()) };
        let bytes: Vec<u8> = self.of(device, last)?.iter().flat_map(|&value| value.le()).collect();
        let rows = bytes.chunks_exact(op.row_bytes(T::TYPE) as usize).take(layout.values() as usize);
        Ok(rows.filter_map(|bytes| op.row_result(T::TYPE, bytes)).collect())
    }

    /// The last array, whole: the results of an operation that has one for each element.
    ///
    /// # Errors
    /// A driver that does not give it.
    pub fn elements(&self, device: &Device) -> Result<Vec<T>> {
        self.sums.last().map_or(Ok(Vec::new()), |last| Ok(device.download(last)?))
    }

    /// Judges these rows of a plan's results.
    ///
    /// # Errors
    /// A driver that does not give it.
    pub fn worst(
        &self,
        device: &Device,
        (op, layout): (Op, &Layout),
        (bounded, rows): (&Bounded<'_, T>, &[u64]),
    ) -> Result<Option<Worst>> {
        Ok(if op.is_per_element() {
            bounded.worst(rows, Results::Elements(&self.elements(device)?))
        } else {
            bounded.worst(rows, Results::Rows(&self.results(device, op, layout)?))
        })
    }

    /// Returns the results of a plan's launches; `None` if there are none.
    ///
    /// # Errors
    /// A driver that does not give it.
    pub fn result(&self, device: &Device, op: Op) -> Result<Option<Value>> {
        let Some(last) = self.sums.len().checked_sub(1) else { return Ok(None) };
        Ok(op.result_in(&self.of(device, last)?))
    }

    /// The array that holds the results; `None` of a plan without launches.
    pub fn last(&self) -> Option<&Buffer<T>> {
        self.sums.last()
    }

    /// State that the launches of a plan hand on, zero before the first.
    pub fn state(&self) -> &Buffer<u64> {
        &self.state
    }

    /// Place of the result, as an argument of the kernel that reads it.
    pub fn result_address(&self) -> device::Arg<'_> {
        // A plan of no launches has no result, and no kernel that reads it.
        self.sums.last().map_or(device::Arg::Address(&self.state, 0), |sums| device::Arg::Address(sums, 0))
    }
}

/// Whole numbers of 32 or 64 bits, in memory.
type Words = Box<dyn DeviceAddress>;

fn words(device: &Device, name: &str, bits: u32, all: impl Iterator<Item = u64>) -> Result<Words> {
    Ok(match bits {
        64 => Box::new(device.upload(name, &all.collect::<Vec<u64>>())?),
        _ => Box::new(device.upload(name, &all.map(|word| word as u32).collect::<Vec<u32>>())?),
    })
}

/// Labels and gradients of a plan whose passes read them.
fn targets(device: &Device, plan: &Planned) -> Result<(Option<Words>, Option<Buffer<f32>>)> {
    let uses = |arg: Arg| plan.passes.iter().any(|pass| pass.args.contains(&arg));
    let (rows, cols) = plan.layout.size().unwrap_or_default();
    let labels = (0..rows).map(|row| plan.targets.label(row, cols) as u64);
    let labels =
        if uses(Arg::Labels) { Some(words(device, "labels", plan.targets.label_bits(), labels)?) } else { None };
    let count = if plan.targets.has_one_gradient() { 1 } else { rows };
    let gradients: Vec<f32> = (0..count).map(|row| plan.targets.gradient(row)).collect();
    let gradients = if uses(Arg::Gradients) { Some(device.upload("gradients", &gradients)?) } else { None };
    Ok((labels, gradients))
}

/// Weights and biases of a plan whose passes read them.
fn column_inputs<T: Element>(device: &Device, plan: &Planned) -> Result<[Option<Buffer<T>>; 2]> {
    let uses = |arg: Arg| plan.passes.iter().any(|pass| pass.args.contains(&arg));
    let cols = plan.layout.size().map_or(0, |size| size.1);
    let upload = |arg: Arg, name: &str, of: &dyn Fn(u64) -> T| -> Result<Option<Buffer<T>>> {
        if !uses(arg) {
            return Ok(None);
        }
        Ok(Some(device.upload(name, &(0..cols).map(of).collect::<Vec<T>>())?))
    };
    let weights = upload(Arg::Weights, "weights", &|col| plan.targets.weight(col))?;
    Ok([weights, upload(Arg::Biases, "biases", &|col| plan.targets.bias(col))?])
}

fn sums<T: Element>(device: &Device, plan: &Planned, op: Option<Op>) -> Result<Vec<Buffer<T>>> {
    let sums = plan.sums.iter().enumerate().map(|(i, &len)| {
        let name = match plan.written {
            "" => format!("sums{}", i + 1),
            name if plan.sums.len() == 1 => name.to_owned(),
            name => format!("{name}{}", i + 1),
        };
        Ok(match op {
            Some(op) => {
                let identity = T::from_le(&op.identity(T::TYPE).le_bytes());
                device.upload(&name, &vec![identity; len as usize])?
            }
            None => device.alloc(&name, len as usize)?,
        })
    });
    sums.collect()
}

/// The input, `offset` elements into its allocation.
///
/// # Errors
/// Memory that does not suffice.
pub fn upload<T: Element>(device: &Device, values: &[T], offset: usize) -> Result<Buffer<T>> {
    if offset == 0 {
        return Ok(device.upload("in", values)?);
    }
    // What lies before the input is data, so that a kernel that reads it gets a wrong sum and not a lucky zero.
    let before = values.iter().copied().cycle().take(offset);
    let shifted: Vec<T> = before.chain(values.iter().copied()).collect();
    Ok(device.upload("in", &shifted)?)
}

/// The launches of a plan over the elements of `input` from `offset` on; `module` says where the kernel of each is.
///
/// # Errors
/// As `module`.
pub fn calls<'a, T: Element>(
    module: &dyn Fn(&Pass) -> Result<&'a Module>,
    plan: &'a Planned,
    (input, offset): (&'a Buffer<T>, usize),
    arrays: &'a Arrays<T>,
) -> Result<Vec<Call<'a>>> {
    let argument = |arg: &Arg| match *arg {
        Arg::Input => device::Arg::Address(input, (offset * T::BYTES) as u64),
        Arg::Other => optional(arrays.other.as_ref().map(|other| other as _)),
        Arg::Offsets => optional(arrays.offsets.as_deref()),
        Arg::Labels => optional(arrays.labels.as_deref()),
        Arg::Gradients => optional(arrays.gradients.as_ref().map(|gradients| gradients as _)),
        Arg::Weights => optional(arrays.column_inputs[0].as_ref().map(|weights| weights as _)),
        Arg::Biases => optional(arrays.column_inputs[1].as_ref().map(|biases| biases as _)),
        Arg::Sums(i) => device::Arg::Address(&arrays.sums[i], 0),
        Arg::State => device::Arg::Address(&arrays.state, 0),
        Arg::U32(number) => device::Arg::U32(number),
        Arg::U64(number) => device::Arg::U64(number),
        // No chapter's variant has operands of other roles.
        _ => device::Arg::U64(0),
    };
    let call = |pass: &'a Pass| {
        let args = pass.args.iter().map(argument).collect();
        Ok(Call { module: module(pass)?, kernel: &pass.kernel, geometry: pass.geometry, args })
    };
    plan.passes.iter().map(call).collect()
}

fn optional(numbers: Option<&dyn DeviceAddress>) -> device::Arg<'_> {
    numbers.map_or(device::Arg::U64(0), |numbers| device::Arg::Address(numbers, 0))
}

/// Adds what one launch reported to what the launches before it did.
pub fn merge(total: &mut Report, launch: Report) {
    if let (Some(total), Some(launch)) = (&mut total.counters, &launch.counters) {
        *total += *launch;
    }
    total.trace = total.trace.take().or(launch.trace);
    total.printed.push_str(&launch.printed);
    for line in launch.lines {
        match total.lines.iter_mut().find(|known| (&known.file, known.line) == (&line.file, line.line)) {
            Some(known) => known.counters += line.counters,
            None => total.lines.push(line),
        }
    }
    total.lines.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    simt::fault::fold(&mut total.faults, launch.faults);
    simt::fault::fold_notes(&mut total.notes, launch.notes);
}
