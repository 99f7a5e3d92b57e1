//! Reductions of the library on a device of this crate: how its whole suite runs without a GPU, and how a plan is replayed.

use std::path::Path;
use std::rc::Rc;

use reduction::{Memory, Operands, Pass, Queue, Reduction, Role, Space};

use crate::{Arg, Buffer, Call, Device, DeviceAddress, Error, KernelSource, Module, Report};

/// Lessons whose kernels the library has.
const LESSONS: [&str; 5] = ["ch08-champion", "ch09-operators", "ch10-rows", "ch11-softmax", "ch12-norms"];
/// What every array begins at a multiple of, but for the bytes that a caller asks for.
const ALIGNED: usize = 256;

/// Operands of a reduction as bytes of the host.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostOperands<'a> {
    /// Elements.
    pub input: &'a [u8],
    /// All other operands that are read.
    pub others: &'a [(Role, &'a [u8])],
    /// Bytes that lie between a multiple of 256 and the first element of input, second input and results.
    pub begin: [usize; 3],
    /// True if the results are written over the input.
    pub in_place: bool,
}

/// Bytes of the results, those of the other operands, and the report of each launch.
pub type Left = (Vec<u8>, Vec<Vec<u8>>, Vec<Report>);

/// The library's kernels, loaded on a device.
#[derive(Debug)]
pub struct Reductions<'d> {
    device: &'d Device,
    modules: Rc<Vec<Module>>,
}

impl<'d> Reductions<'d> {
    /// Loads the committed kernels of the repository at `root`.
    ///
    /// # Errors
    /// Those of [`Device::load_with`].
    pub fn new(device: &'d Device, root: &Path) -> Result<Reductions<'d>, Error> {
        let load = |slug: &&str| device.load_with(&KernelSource::in_root(root, slug), &[]);
        Ok(Reductions { device, modules: Rc::new(LESSONS.iter().map(load).collect::<Result<_, _>>()?) })
    }

    /// The same kernels on another device of the same kind: the simulator with other options.
    pub fn on<'e>(&self, device: &'e Device) -> Reductions<'e> {
        Reductions { device, modules: Rc::clone(&self.modules) }
    }

    /// Runs a reduction `times` times in a row over the same operands and the same workspace, and returns the bytes of the last
    /// results with the report of each launch.
    ///
    /// # Errors
    /// [`Error::Reduction`] for what the library refuses; else those of [`Device::launch`].
    pub fn run(
        &self,
        reduction: &Reduction,
        operands: &HostOperands<'_>,
        times: u32,
    ) -> Result<(Vec<u8>, Vec<Report>), Error> {
        self.run_all(reduction, operands, times).map(|(out, _, reports)| (out, reports))
    }

    /// The same with what the launches left in each other operand, in their order.
    ///
    /// # Errors
    /// Those of [`Reductions::run`].
    pub fn run_all(&self, reduction: &Reduction, operands: &HostOperands<'_>, times: u32) -> Result<Left, Error> {
        let bytes = reduction.result_bytes() as usize;
        let [input_begin, other_begin, out_begin] = operands.begin;
        let len = if operands.in_place { bytes.max(operands.input.len()) } else { bytes };
        let mut out = Placed::new(self.device, "out", &vec![0xa5; len], out_begin)?;
        if operands.in_place {
            out = Placed::new(
                self.device,
                "out",
                &[operands.input, &vec![0xa5; len - operands.input.len()]].concat(),
                out_begin,
            )?;
        }
        let input = match operands.in_place {
            true => None,
            false => Some(Placed::new(self.device, "input", operands.input, input_begin)?),
        };
        let place = |&(role, bytes): &(Role, &[u8])| {
            let begin = if role == Role::Other { other_begin } else { 0 };
            Ok((role, Placed::new(self.device, role.name(), bytes, begin)?))
        };
        let others = operands.others.iter().map(place).collect::<Result<Vec<_>, Error>>()?;
        let scratch = self.device.alloc::<u8>("scratch", reduction.scratch_bytes() as usize)?;
        let state = self.device.upload("state", &vec![0u64; reduction.plan().state_words as usize])?;
        let mut bound = Operands::default().with(Role::Out, Memory { bytes: bytes as u64, ..out.memory() });
        let input =
            input.as_ref().map_or(Memory { bytes: operands.input.len() as u64, ..out.memory() }, Placed::memory);
        bound.set(Role::Input, input);
        for (role, placed) in &others {
            bound.set(*role, placed.memory());
        }
        let space = Space {
            scratch: Memory { address: scratch.address(), bytes: scratch.bytes() },
            state: Memory { address: state.address(), bytes: state.bytes() },
        };
        let mut queue = InTurn { reductions: self, out: &mut out, reports: Vec::new() };
        for _ in 0..times {
            // SAFETY: the arrays live until the launches have ended, which are waited for. Offsets that lie are the caller's, and the
            // simulator reports where they lead.
            unsafe { reduction.enqueue(&bound, space, &mut queue) }?;
        }
        let reports = queue.reports;
        let left = |placed: &Placed, bytes: usize| {
            let all = self.device.download(&placed.buffer)?;
            Ok(all[placed.begin..placed.begin + bytes].to_vec())
        };
        let others = others.iter().map(|(_, placed)| left(placed, placed.len)).collect::<Result<_, Error>>()?;
        Ok((left(&out, bytes)?, others, reports))
    }
}

/// An array whose first byte lies some bytes after a multiple of 256.
struct Placed {
    buffer: Buffer<u8>,
    begin: usize,
    len: usize,
}

impl Placed {
    fn new(device: &Device, name: &str, bytes: &[u8], begin: usize) -> Result<Placed, Error> {
        let all = [&vec![0xa5; begin % ALIGNED], bytes].concat();
        Ok(Placed { buffer: device.upload(name, &all)?, begin: begin % ALIGNED, len: bytes.len() })
    }

    fn memory(&self) -> Memory {
        Memory { address: self.buffer.address() + self.begin as u64, bytes: self.len as u64 }
    }
}

/// A queue that launches and waits.
struct InTurn<'a, 'd> {
    reductions: &'a Reductions<'d>,
    out: &'a mut Placed,
    reports: Vec<Report>,
}

impl Queue for InTurn<'_, '_> {
    type Error = Error;

    fn launch(&mut self, pass: &Pass, args: &[u64]) -> Result<(), Error> {
        let modules = &self.reductions.modules;
        let module = modules.iter().find(|module| module.kernels().contains(&pass.kernel.as_str()));
        let module = module.ok_or_else(|| reduction::Error::NoKernel { kernel: pass.kernel.clone() })?;
        let arg = |(arg, &number): (&reduction::Arg, &u64)| match arg {
            reduction::Arg::U32(_) => Arg::U32(number as u32),
            _ => Arg::U64(number),
        };
        let args = pass.args.iter().zip(args).map(arg).collect();
        let call = Call { module, kernel: &pass.kernel, geometry: pass.geometry, args };
        self.reports.push(self.reductions.device.launch(&call)?);
        Ok(())
    }

    fn write(&mut self, memory: Memory, bytes: &[u8]) -> Result<(), Error> {
        let mut all = self.reductions.device.download(&self.out.buffer)?;
        let at = (memory.address - self.out.buffer.address()) as usize;
        all[at..at + bytes.len()].copy_from_slice(bytes);
        self.reductions.device.write(&mut self.out.buffer, &all)
    }
}
