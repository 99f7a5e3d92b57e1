//! Arguments of the command line to arguments of the kernel: what each parameter gets, what lies in memory, and which addresses
//! go where.

use std::collections::HashSet;

use crate::{Kernel, Memory, Program};
use anyhow::{Context, Result, bail, ensure};

use super::command_line::{Request, ThenArgument};
use super::contents::contents;
use super::then::Then;
use crate::spec::{Argument, Init, Kind, Put, Spec, Type, Value};

/// Arguments of a launch, checked against the kernel.
pub struct Arguments<'r> {
    program: &'r Program,
    /// One for each parameter of the kernel.
    parameters: Vec<&'r Spec>,
    /// Buffers that no parameter takes.
    loose: Vec<&'r Spec>,
    /// Arguments of each kernel behind `--then`, one for each of its parameters.
    then: Vec<Vec<&'r Spec>>,
    /// Those of them that are new, and no buffers.
    more: Vec<&'r Spec>,
    /// Variables of the PTX that are set.
    variables: Vec<&'r Spec>,
    puts: Vec<&'r Put>,
}

/// A buffer, or a variable of the PTX that was set, where a launch finds it.
pub struct Placed {
    pub name: String,
    pub ty: Type,
    pub len: u64,
    pub address: u64,
}

/// The arguments as the kernel gets them, and what lies in memory.
pub struct Bound {
    pub args: Vec<Vec<u8>>,
    /// Those of each kernel behind `--then`.
    pub then: Vec<Vec<Vec<u8>>>,
    pub placed: Vec<Placed>,
}

/// The functions whose addresses the command line passes.
pub fn functions(request: &Request) -> Vec<&str> {
    let specs = request.args.iter().filter_map(|argument| match argument {
        Argument::Spec(spec) => value(spec),
        Argument::Put(put) => Some(&put.value),
    });
    let then = request.then_args.iter().filter_map(|argument| match argument {
        ThenArgument::New(spec) => value(spec),
        ThenArgument::Put(put) => Some(&put.value),
        ThenArgument::Again(_) => None,
    });
    let variables = request.set.iter().filter_map(value);
    let names = specs.chain(then).chain(variables).filter_map(|value| match value {
        Value::Function(name) => Some(name.as_str()),
        _ => None,
    });
    names.collect()
}

fn value(spec: &Spec) -> Option<&Value> {
    match &spec.kind {
        Kind::Scalar(value) => Some(value),
        _ => None,
    }
}

impl<'r> Arguments<'r> {
    /// Checks that every parameter of `kernel`, and of those behind `--then`, gets what fits it, and that what is named is there.
    pub fn new(
        request: &'r Request,
        program: &'r Program,
        kernel: &Kernel,
        then: &[Then<'_>],
    ) -> Result<Arguments<'r>> {
        let (mut given, mut puts) = (Vec::new(), Vec::new());
        for argument in &request.args {
            match argument {
                Argument::Spec(spec) => given.push(spec),
                Argument::Put(put) => puts.push(put),
            }
        }
        let pointed_to: HashSet<&str> = given
            .iter()
            .filter_map(|spec| value(spec))
            .chain(puts.iter().map(|put| &put.value))
            .filter_map(|value| match value {
                Value::Address { of, .. } => Some(of.as_str()),
                _ => None,
            })
            .collect();
        let mut loose: Vec<&Spec> = request.buffer.iter().collect();
        // A buffer whose address is put somewhere needs no parameter of its own; it has one if there are enough.
        let is_loose =
            |spec: &&Spec| matches!(spec.kind, Kind::Buffer { .. }) && pointed_to.contains(spec.name.as_str());
        let more = given.iter().filter(|spec| is_loose(spec)).count();
        if more > 0 && given.len() - more == kernel.parameters().len() {
            loose.extend(given.extract_if(.., |spec| is_loose(&&**spec)));
        }
        let variables = request.set.iter().collect();
        let (then_lists, more) = (Vec::new(), Vec::new());
        let mut arguments = Arguments { program, parameters: given, loose, then: then_lists, more, variables, puts };
        check_parameters(kernel, &arguments.parameters, !arguments.puts.is_empty())?;
        arguments.then(request, then)?;
        arguments.check_names()?;
        arguments.puts.iter().try_for_each(|put| arguments.check_put(put))?;
        Ok(arguments)
    }

    /// Buffers in the order in which they lie in memory, and the names of everything that is given.
    pub fn names(&self) -> (Vec<&'r Spec>, Vec<&'r str>) {
        let is_buffer = |spec: &&&Spec| matches!(spec.kind, Kind::Buffer { .. });
        let buffers = self.parameters.iter().chain(&self.loose).filter(is_buffer).chain(&self.variables);
        (buffers.copied().collect(), self.named().map(|spec| spec.name.as_str()).collect())
    }

    fn named(&self) -> impl Iterator<Item = &'r Spec> {
        self.parameters.iter().chain(&self.loose).chain(&self.more).chain(&self.variables).copied()
    }

    /// Deals out what `--then-arg` gives: each kernel gets as many as it takes, or, if there are none at all, those of the first.
    fn then(&mut self, request: &'r Request, then: &[Then<'_>]) -> Result<()> {
        let mut given = Vec::new();
        for argument in &request.then_args {
            match argument {
                ThenArgument::Put(put) => self.puts.push(put),
                ThenArgument::New(spec) => {
                    let is_buffer = matches!(spec.kind, Kind::Buffer { .. });
                    if is_buffer { &mut self.loose } else { &mut self.more }.push(spec);
                    given.push(spec);
                }
                ThenArgument::Again(name) => {
                    let Some(known) = self.named().find(|spec| spec.name == *name) else {
                        bail!("--then-arg {name}: no argument or buffer has that name, and a new one is NAME=TYPE…");
                    };
                    given.push(known);
                }
            }
        }
        let needed: usize = then.iter().map(|one| one.kernel.parameters().len()).sum();
        ensure!(
            given.is_empty() || given.len() == needed,
            "--then-arg: {} given, and {needed} needed: {}",
            given.len(),
            then.iter().map(|one| signature(one.kernel)).collect::<Vec<_>>().join(", then ")
        );
        let again = given.is_empty();
        for one in then {
            let own = given.drain(..one.kernel.parameters().len().min(given.len())).collect();
            let list = if again { self.parameters.clone() } else { own };
            check_parameters(one.kernel, &list, false)?;
            self.then.push(list);
        }
        Ok(())
    }

    fn check_names(&self) -> Result<()> {
        let mut seen = HashSet::new();
        for spec in self.named() {
            ensure!(seen.insert(&spec.name), "two arguments are named {}", spec.name);
        }
        for spec in &self.loose {
            ensure!(
                matches!(spec.kind, Kind::Buffer { .. }),
                "--buffer {}: it is no buffer, NAME=TYPE[LEN]:INIT is one",
                spec.name
            );
        }
        for spec in &self.parameters {
            let unwritten = matches!(spec.kind, Kind::Bytes { init: Init::Begin(_) | Init::Start(_), .. });
            ensure!(
                !unwritten,
                "{}: every byte of a structure has a value: zero(BYTES) and start(PATH) fill buffers only",
                spec.name
            );
        }
        for spec in &self.variables {
            let variables = self.program.variables();
            let Some(&(_, bytes)) = variables.iter().find(|(name, _)| *name == spec.name) else {
                let names: Vec<&str> = variables.iter().map(|(name, _)| *name).collect();
                let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                bail!("--set {}: the PTX has no variable of that name, it has {names}", spec.name);
            };
            let given = size(spec);
            ensure!(
                given <= bytes,
                "--set {}: {given} bytes are given, the variable has {bytes}: give fewer elements",
                spec.name
            );
        }
        Ok(())
    }

    fn check_put(&self, put: &Put) -> Result<()> {
        let Put { into, offset, value } = put;
        let Some(spec) = self.named().find(|spec| spec.name == *into) else {
            bail!("{into}@{offset}: no argument is named {into}: give it with --arg {into}=bytes[LEN]:INIT");
        };
        ensure!(
            !matches!(spec.kind, Kind::Scalar(_)),
            "{into}@{offset}: {into} is a scalar; a value goes into a structure or a buffer"
        );
        let (bytes, size) = (if let Value::Number(bytes) = value { bytes.len() as u64 } else { 8 }, size(spec));
        ensure!(
            offset.checked_add(bytes).is_some_and(|end| end <= size),
            "{into}@{offset}: {bytes} bytes from there on end past the {size} bytes of {into}"
        );
        Ok(())
    }

    /// Lays out memory and fills it.
    pub fn place(&self, memory: &mut Memory) -> Result<Bound> {
        let mut placed = Vec::new();
        for spec in self.parameters.iter().chain(&self.loose) {
            let Kind::Buffer { len, init } = &spec.kind else { continue };
            let bytes = contents(spec, *len, init)?;
            // `contents` has made sure that this is no more than there can be.
            let size = len * spec.ty.bytes() as u64;
            let address = memory.alloc(&spec.name, size, spec.ty.bytes() as u32)?;
            memory.write(address, &bytes)?;
            placed.push(Placed { name: spec.name.clone(), ty: spec.ty, len: *len, address });
        }
        for spec in &self.variables {
            let address = self.program.variable_address(memory, &spec.name)?;
            let bytes = self.bytes(spec, memory, &placed)?;
            memory.write(address, &bytes)?;
            placed.push(Placed { name: spec.name.clone(), ty: spec.ty, len: elements(spec), address });
        }
        // Arguments other than buffers, of every launch.
        let mut values = Vec::new();
        for &spec in self.parameters.iter().chain(&self.more) {
            values.push((&spec.name, self.bytes(spec, memory, &placed)?));
        }
        for Put { into, offset, value } in &self.puts {
            let bytes = self.resolve(value, memory, &placed)?;
            if let Some(place) = placed.iter().find(|placed| placed.name == *into) {
                memory.write(place.address + offset, &bytes)?;
            } else if let Some((_, structure)) = values.iter_mut().find(|(name, _)| *name == into) {
                structure[*offset as usize..][..bytes.len()].copy_from_slice(&bytes);
            }
        }
        let mut of = |spec: &&Spec| match values.iter().find(|(name, _)| **name == spec.name) {
            Some((_, bytes)) => Ok(bytes.clone()),
            None => self.bytes(spec, memory, &placed),
        };
        let mut list = |specs: &Vec<&Spec>| specs.iter().map(&mut of).collect::<Result<Vec<_>>>();
        let args = list(&self.parameters)?;
        let then = self.then.iter().map(list).collect::<Result<_>>()?;
        Ok(Bound { args, then, placed })
    }

    /// Largest magnitude of the floats that the launch is given, and the number of elements of their largest buffer.
    pub fn floats(&self) -> Result<(f64, u64)> {
        let (mut largest, mut most) = (0.0_f64, 0);
        let floats = self.named().filter(|spec| spec.ty.roundoff().is_some());
        for spec in floats {
            let bytes = match &spec.kind {
                Kind::Buffer { len, init } => contents(spec, *len, init)?,
                Kind::Scalar(Value::Number(bytes)) => bytes.clone(),
                _ => continue,
            };
            let values = bytes.chunks_exact(spec.ty.bytes()).map(|bytes| spec.ty.float(bytes).abs());
            largest = values.filter(|value| value.is_finite()).fold(largest, f64::max);
            most = most.max(elements(spec));
        }
        Ok((largest, most))
    }

    /// An argument as the kernel gets it.
    fn bytes(&self, spec: &Spec, memory: &mut Memory, placed: &[Placed]) -> Result<Vec<u8>> {
        match &spec.kind {
            Kind::Scalar(value) => self.resolve(value, memory, placed),
            Kind::Bytes { len, init } => contents(spec, *len, init),
            Kind::Buffer { len, init } => match placed.iter().find(|placed| placed.name == spec.name) {
                Some(placed) => Ok(placed.address.to_le_bytes().to_vec()),
                None => contents(spec, *len, init),
            },
        }
    }

    /// The bytes of a number or an address.
    fn resolve(&self, value: &Value, memory: &mut Memory, placed: &[Placed]) -> Result<Vec<u8>> {
        let address = match value {
            Value::Number(bytes) => return Ok(bytes.clone()),
            Value::Function(name) => self.program.function_address(name)?,
            Value::Address { of, more } => match placed.iter().find(|placed| placed.name == *of) {
                Some(placed) => placed.address.wrapping_add_signed(*more),
                None => self
                    .program
                    .variable_address(memory, of)
                    .with_context(|| format!("&{of}: no buffer has that name"))?
                    .wrapping_add_signed(*more),
            },
        };
        Ok(address.to_le_bytes().to_vec())
    }
}

/// A kernel with its parameters.
fn signature(kernel: &Kernel) -> String {
    let parameters: Vec<String> = kernel.parameters().iter().map(|p| format!("{}: {}", p.name, p.ty)).collect();
    format!("{}({})", kernel.name(), parameters.join(", "))
}

/// One argument of the right size for each parameter. `puts`: values are put into some of them.
fn check_parameters(kernel: &Kernel, given: &[&Spec], puts: bool) -> Result<()> {
    let parameters = kernel.parameters();
    if parameters.len() != given.len() {
        let advice = match puts {
            false => "",
            true => "; a buffer that is only pointed to may come with --buffer in place of --arg",
        };
        bail!(
            "{} takes {} arguments, {} given: it is {}{advice}",
            kernel.name(),
            parameters.len(),
            given.len(),
            signature(kernel)
        );
    }
    for (place, (parameter, spec)) in parameters.iter().zip(given).enumerate() {
        let (bytes, what) = match &spec.kind {
            Kind::Buffer { .. } => (8, "a buffer, whose address has 8 bytes".to_owned()),
            Kind::Bytes { len, .. } => (*len, format!("a structure of {len} bytes")),
            Kind::Scalar(Value::Number(value)) => {
                (value.len() as u64, format!("{} of {} bytes", spec.ty.name(), value.len()))
            }
            Kind::Scalar(_) => (8, "an address of 8 bytes".to_owned()),
        };
        ensure!(
            bytes == u64::from(parameter.bytes),
            "argument {} is {what}, but parameter {} of {}, {}, is {} of {} bytes{}",
            spec.name,
            place + 1,
            kernel.name(),
            parameter.name,
            parameter.ty,
            parameter.bytes,
            if parameter.ty.starts_with("b8[") { ": a structure, as bytes[LEN]:INIT" } else { "" },
        );
    }
    Ok(())
}

/// Elements of what a SPEC gives.
pub fn elements(spec: &Spec) -> u64 {
    match spec.kind {
        Kind::Buffer { len, .. } | Kind::Bytes { len, .. } => len,
        Kind::Scalar(_) => 1,
    }
}

/// Bytes of it.
fn size(spec: &Spec) -> u64 {
    elements(spec).saturating_mul(spec.ty.bytes() as u64)
}
