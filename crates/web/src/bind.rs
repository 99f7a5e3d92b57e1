//! Words of a request to memory and arguments.

use simt::spec::{Argument, Kind, Put, Spec, Type, Value};
use simt::{Arg, Memory, Program};

use crate::request::Buffer;

/// Most bytes of all buffers together: a page has little more.
const BYTES_MAX: u64 = 1 << 28;

/// A buffer where a launch finds it.
pub struct Placed {
    pub name: String,
    pub ty: Type,
    pub len: u64,
    pub address: u64,
}

impl Placed {
    /// Its first `count` elements, as they are now.
    pub fn elements(&self, memory: &Memory, count: u64) -> Result<Vec<serde_json::Value>, String> {
        let mut bytes = vec![0; count as usize * self.ty.bytes()];
        memory.read(self.address, &mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes.chunks_exact(self.ty.bytes()).map(|element| self.ty.json(element)).collect())
    }
}

/// Lays out memory and fills it.
pub fn place(buffers: &[Buffer]) -> Result<(Memory, Vec<Placed>), String> {
    let mut memory = Memory::with_limit(BYTES_MAX);
    let mut placed: Vec<Placed> = Vec::new();
    for buffer in buffers {
        let (text, given, device) = match buffer {
            Buffer::Filled(spec) => (spec, &[][..], 0),
            Buffer::Given { spec, elements, device } => (spec, &elements[..], *device),
        };
        let spec = spec(text)?;
        let Kind::Buffer { len, init } = &spec.kind else {
            return Err(format!("{text}: it is no buffer, NAME=TYPE[LEN]:INIT is one"));
        };
        if placed.iter().any(|placed| placed.name == spec.name) {
            return Err(format!("two buffers are named {}", spec.name));
        }
        let size = len.checked_mul(spec.ty.bytes() as u64).filter(|&size| size <= BYTES_MAX);
        let size = size.ok_or_else(|| format!("{text}: a page has room for {BYTES_MAX} bytes"))?;
        // Room is asked for before anything is made to fill it.
        let address = memory.alloc_on(device, &spec.name, size, spec.ty.bytes() as u32);
        let address = address.map_err(|error| error.to_string())?;
        let mut bytes = spec.contents(*len, init)?.ok_or_else(|| format!("{}: a page has no files", spec.name))?;
        if given.len() as u64 > *len {
            return Err(format!("{text}: {} elements are given", given.len()));
        }
        for (element, at) in given.iter().zip(bytes.chunks_exact_mut(spec.ty.bytes())) {
            let given = spec.ty.bytes_of(&element.to_string()).map_err(|error| format!("{}: {error}", spec.name))?;
            at.copy_from_slice(&given);
        }
        memory.write(address, &bytes).map_err(|error| error.to_string())?;
        placed.push(Placed { name: spec.name, ty: spec.ty, len: *len, address });
    }
    Ok((memory, placed))
}

fn spec(text: &str) -> Result<Spec, String> {
    match Argument::parse(text).map_err(|error| format!("{text}: {error}"))? {
        Argument::Spec(spec) => Ok(spec),
        Argument::Put(_) => Err(format!("{text}: it is no buffer, and only structures have something put into them")),
    }
}

/// The arguments of a launch.
pub fn arguments(
    texts: &[String],
    program: &Program,
    memory: &mut Memory,
    placed: &[Placed],
) -> Result<Vec<Arg>, String> {
    let mut named: Vec<(String, Arg)> = Vec::new();
    for text in texts {
        match Argument::parse(text).map_err(|error| format!("{text}: {error}"))? {
            Argument::Spec(spec) => {
                let arg = argument(text, &spec, program, memory, placed)?;
                named.push((spec.name, arg));
            }
            Argument::Put(put) => {
                let bytes = match &put.value {
                    Value::Number(bytes) => bytes.clone(),
                    other => address(text, other, program, memory, placed)?.to_le_bytes().to_vec(),
                };
                put_into(text, &put, &bytes, &mut named)?;
            }
        }
    }
    Ok(named.into_iter().map(|(_, arg)| arg).collect())
}

fn argument(text: &str, spec: &Spec, program: &Program, memory: &mut Memory, placed: &[Placed]) -> Result<Arg, String> {
    match &spec.kind {
        Kind::Scalar(Value::Number(bytes)) => Ok(Arg::Bytes(bytes.clone())),
        Kind::Scalar(other) => Ok(Arg::Address(address(text, other, program, memory, placed)?)),
        Kind::Bytes { len, init } => {
            let bytes = spec.contents(*len, init)?.ok_or_else(|| format!("{text}: a page has no files"))?;
            Ok(Arg::Bytes(bytes))
        }
        Kind::Buffer { .. } => {
            Err(format!("{text}: an argument is NAME=&BUFFER, NAME=TYPE:VALUE or NAME=bytes[LEN]:INIT"))
        }
    }
}

/// Puts bytes into the structure that an argument before passes by value.
fn put_into(text: &str, put: &Put, bytes: &[u8], named: &mut [(String, Arg)]) -> Result<(), String> {
    let structure = named.iter_mut().find(|(name, _)| *name == put.into);
    let Some((_, Arg::Bytes(structure))) = structure else {
        return Err(format!("{text}: no structure named {} stands before it, as NAME=bytes[LEN]:INIT", put.into));
    };
    let begin = usize::try_from(put.offset).ok();
    let room = begin.and_then(|begin| structure.get_mut(begin..begin.checked_add(bytes.len())?));
    let Some(room) = room else {
        return Err(format!("{text}: {} bytes do not fit there: {} has {}", bytes.len(), put.into, structure.len()));
    };
    room.copy_from_slice(bytes);
    Ok(())
}

/// The address that is meant.
fn address(
    text: &str,
    value: &Value,
    program: &Program,
    memory: &mut Memory,
    placed: &[Placed],
) -> Result<u64, String> {
    match value {
        Value::Number(_) => Err(format!("{text}: a number is no address")),
        Value::Function(name) => program.function_address(name).map_err(|error| error.to_string()),
        Value::Address { of, more } => {
            let address = match placed.iter().find(|placed| placed.name == *of) {
                Some(placed) => placed.address,
                None => program.variable_address(memory, of).map_err(|_| format!("{text}: no buffer is named {of}"))?,
            };
            Ok(address.wrapping_add_signed(*more))
        }
    }
}
