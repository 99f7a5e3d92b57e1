//! Reductions of the library on a device of this crate: how its whole suite runs without a GPU, and how a plan is replayed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use reduction::{Memory, Operands, Pass, Queue, Reduction, Role, Space};

use crate::{Arg, Buffer, Call, Device, DeviceAddress, Error, KernelSource, Module, Report};

/// Lessons whose kernels the library has.
const LESSONS: [&str; 7] =
    ["ch08-champion", "ch09-operators", "ch10-rows", "ch11-softmax", "ch12-norms", "ch13-accuracy", "ch13-rows"];
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

impl<'a> HostOperands<'a> {
    /// Runs a reduction over each of them by itself, and returns the bytes of the results and those of the other operands. What `run` gets,
    /// and what it says is left, are the results, the input, and the others.
    ///
    /// # Errors
    /// Those of `run`.
    pub fn over<E>(
        &self,
        reduction: &Reduction,
        run: impl FnOnce(&[HostOperand<'_>]) -> Result<Vec<Vec<u8>>, E>,
    ) -> Result<(Vec<u8>, Vec<Vec<u8>>), E> {
        let bytes = reduction.result_bytes() as usize;
        // The input, or bytes that no result has by chance.
        let mut results = if self.in_place { self.input.to_vec() } else { Vec::new() };
        results.resize(results.len().max(bytes), 0xa5);
        let mut left = run(&self.each(&results))?;
        let others = left.split_off(2);
        left[0].truncate(bytes);
        Ok((left.swap_remove(0), others))
    }

    fn each(&self, results: &'a [u8]) -> Vec<HostOperand<'a>> {
        let [input_begin, other_begin, out_begin] = self.begin;
        let over = self.in_place.then_some(Role::Out);
        let mut all = vec![
            HostOperand { begin: out_begin, ..HostOperand::new(Role::Out, results) },
            HostOperand { begin: input_begin, over, ..HostOperand::new(Role::Input, self.input) },
        ];
        all.extend(self.others.iter().map(|&(role, bytes)| {
            let begin = if role == Role::Other { other_begin } else { 0 };
            HostOperand { begin, ..HostOperand::new(role, bytes) }
        }));
        all
    }
}

/// One operand of a reduction as bytes of the host.
#[derive(Debug, Clone, Copy)]
pub struct HostOperand<'a> {
    /// Its part.
    pub role: Role,
    /// What it holds at first.
    pub bytes: &'a [u8],
    /// Bytes that lie between a multiple of 256 and its first one.
    pub begin: usize,
    /// An operand named before it that it lies over, and whose bytes it has at first.
    pub over: Option<Role>,
}

impl<'a> HostOperand<'a> {
    /// An operand apart from all others.
    pub fn new(role: Role, bytes: &'a [u8]) -> HostOperand<'a> {
        HostOperand { role, bytes, begin: 0, over: None }
    }
}

/// The library's kernels, loaded on a device.
#[derive(Debug)]
pub struct Reductions<'d> {
    device: &'d Device,
    root: PathBuf,
    modules: Vec<Rc<Module>>,
    /// Kernels that were compiled on demand, by the line that made each.
    compiled: Rc<RefCell<HashMap<String, Rc<Module>>>>,
}

impl<'d> Reductions<'d> {
    /// Loads the committed kernels of the repository at `root`.
    ///
    /// # Errors
    /// Those of [`Device::load_with`].
    pub fn new(device: &'d Device, root: &Path) -> Result<Reductions<'d>, Error> {
        let load = |slug: &&str| device.load_with(&KernelSource::in_root(root, slug), &[]).map(Rc::new);
        let modules = LESSONS.iter().map(load).collect::<Result<_, _>>()?;
        Ok(Reductions { device, root: root.to_owned(), modules, compiled: Rc::default() })
    }

    /// The same kernels on another device of the same kind: the simulator with other options.
    pub fn on<'e>(&self, device: &'e Device) -> Reductions<'e> {
        let (modules, compiled) = (self.modules.clone(), Rc::clone(&self.compiled));
        Reductions { device, root: self.root.clone(), modules, compiled }
    }

    /// Returns whether plans may have kernels that are compiled on demand: [`Device::can_compile`].
    pub fn can_compile(&self) -> bool {
        self.device.can_compile(&KernelSource::in_root(&self.root, LESSONS[0]))
    }

    /// The module that has the kernel of a launch, compiled if it is not committed.
    fn module(&self, lesson: &str, pass: &Pass) -> Result<Rc<Module>, Error> {
        let is_here = |module: &&Rc<Module>| module.kernels().contains(&pass.kernel.as_str());
        if let Some(module) = self.modules.iter().find(is_here) {
            return Ok(Rc::clone(module));
        }
        let line = pass.line.as_ref().filter(|_| !lesson.is_empty());
        let line = line.ok_or_else(|| reduction::Error::NoKernel { kernel: pass.kernel.clone() })?;
        if let Some(module) = self.compiled.borrow().get(line) {
            return Ok(Rc::clone(module));
        }
        let module = Rc::new(self.device.load_on_demand(&KernelSource::in_root(&self.root, lesson), line)?);
        self.compiled.borrow_mut().insert(line.clone(), Rc::clone(&module));
        Ok(module)
    }

    /// Runs a reduction `times` times in a row over the same operands and the same workspace, and returns the bytes of the last
    /// results with the report of each launch.
    ///
    /// # Errors
    /// [`Error::Reduction`] for what the library refuses; those of [`Device::load_on_demand`] for kernels that are not committed; else
    /// those of [`Device::launch`].
    pub fn run(
        &self,
        reduction: &Reduction,
        operands: &HostOperands<'_>,
        times: u32,
    ) -> Result<(Vec<u8>, Vec<Report>), Error> {
        let mut reports = Vec::new();
        let run = |all: &[HostOperand<'_>]| {
            let left;
            (left, reports) = self.run_any(reduction, all, times)?;
            Ok(left)
        };
        operands.over(reduction, run).map(|(out, _)| (out, reports))
    }

    /// Likewise, with operands of any role, of which one may lie over another. Returns what each of them holds in the end.
    ///
    /// # Errors
    /// Those of [`Reductions::run`].
    pub fn run_any(
        &self,
        reduction: &Reduction,
        operands: &[HostOperand<'_>],
        times: u32,
    ) -> Result<(Vec<Vec<u8>>, Vec<Report>), Error> {
        let mut placed = Vec::new();
        let mut bound = Operands::default();
        for operand in operands {
            let memory = match operand.over {
                Some(role) => Memory { bytes: operand.bytes.len() as u64, ..bound.get(role) },
                None => {
                    placed.push(Placed::new(self.device, operand)?);
                    placed[placed.len() - 1].memory()
                }
            };
            bound.set(operand.role, memory);
        }
        let scratch = self.device.alloc::<u8>("scratch", reduction.scratch_bytes() as usize)?;
        let state = self.device.upload("state", &vec![0u64; reduction.plan().state_words as usize])?;
        let space = Space::new(
            Memory { address: scratch.address(), bytes: scratch.bytes() },
            Memory { address: state.address(), bytes: state.bytes() },
        );
        let mut queue =
            InTurn { reductions: self, lesson: reduction.lesson(), placed: &mut placed, reports: Vec::new() };
        for _ in 0..times {
            // SAFETY: the arrays live until the launches have ended, which are waited for. Offsets that lie are the caller's, and the
            // simulator reports where they lead.
            unsafe { reduction.enqueue(&bound, space, &mut queue) }?;
        }
        let reports = queue.reports;
        let left = operands.iter().map(|operand| {
            let memory = bound.get(operand.role);
            let array = placed.iter().find(|array| array.memory().address == memory.address);
            array.map_or(Ok(Vec::new()), |array| {
                let all = self.device.download(&array.buffer)?;
                Ok(all[array.begin..array.begin + memory.bytes as usize].to_vec())
            })
        });
        Ok((left.collect::<Result<_, Error>>()?, reports))
    }
}

/// An array whose first byte lies some bytes after a multiple of 256.
struct Placed {
    buffer: Buffer<u8>,
    begin: usize,
    len: usize,
}

impl Placed {
    fn new(device: &Device, &HostOperand { role, bytes, begin, .. }: &HostOperand<'_>) -> Result<Placed, Error> {
        let all = [&vec![0xa5; begin % ALIGNED], bytes].concat();
        Ok(Placed { buffer: device.upload(role.name(), &all)?, begin: begin % ALIGNED, len: bytes.len() })
    }

    fn memory(&self) -> Memory {
        Memory { address: self.buffer.address() + self.begin as u64, bytes: self.len as u64 }
    }
}

/// A queue that launches and waits.
struct InTurn<'a, 'd> {
    reductions: &'a Reductions<'d>,
    lesson: &'static str,
    placed: &'a mut [Placed],
    reports: Vec<Report>,
}

impl Queue for InTurn<'_, '_> {
    type Error = Error;

    fn launch(&mut self, pass: &Pass, args: &[u64]) -> Result<(), Error> {
        let module = &*self.reductions.module(self.lesson, pass)?;
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
        let holds = |array: &&mut Placed| array.memory().overlaps(memory);
        let Some(array) = self.placed.iter_mut().find(holds) else { return Ok(()) };
        let mut all = self.reductions.device.download(&array.buffer)?;
        let at = (memory.address - array.buffer.address()) as usize;
        all[at..at + bytes.len()].copy_from_slice(bytes);
        self.reductions.device.write(&mut array.buffer, &all)
    }
}
