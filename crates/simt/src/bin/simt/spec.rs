//! SPEC: one argument of the kernel, as the command line gives it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::npy;
use crate::values::{Rule, Type};

/// `NAME=TYPE[LEN]:INIT` or `NAME=TYPE:VALUE`.
#[derive(Debug, Clone)]
pub struct Spec {
    pub name: String,
    pub ty: Type,
    pub kind: Kind,
}

/// What is passed.
#[derive(Debug, Clone)]
pub enum Kind {
    /// The address of a buffer of `len` elements.
    Buffer { len: u64, init: Init },
    /// These little-endian bytes.
    Scalar(Vec<u8>),
}

/// What a buffer holds before the launch.
#[derive(Debug, Clone)]
pub enum Init {
    Rule(Rule),
    /// So many bytes of 0; nothing writes the rest.
    Begin(u64),
    File(PathBuf),
}

impl Spec {
    /// Reads a SPEC; errors say which part is wrong.
    pub fn parse(text: &str) -> Result<Spec, String> {
        let shape = "it is NAME=TYPE[LEN]:INIT for a buffer or NAME=TYPE:VALUE for a scalar";
        let no_spec = || match text.ends_with(".ptx") {
            true => format!("{shape}; the PTX file stands before `--arg`"),
            false => shape.to_owned(),
        };
        let (name, rest) = text.split_once('=').ok_or_else(no_spec)?;
        let (ty, value) = rest.split_once(':').ok_or(shape)?;
        if name.is_empty() {
            return Err(format!("a name is missing: {shape}"));
        }
        if name.contains(':') {
            return Err(format!("`{name}` has a colon, which `--print NAME:COUNT` could not tell from its own"));
        }
        let (ty, len) = match ty.split_once('[') {
            None => (ty, None),
            Some((ty, len)) => (ty, Some(len.strip_suffix(']').ok_or("`]` is missing after the length")?)),
        };
        let ty = Type::parse(ty)?;
        let kind = match len {
            None => Kind::Scalar(ty.bytes_of(value)?),
            Some(len) => Kind::Buffer { len: length(len)?, init: init(ty, value)? },
        };
        Ok(Spec { name: name.into(), ty, kind })
    }
}

/// `1000` or `2^20`.
fn length(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no length: 1000 and 2^20 are");
    match text.split_once('^') {
        None => text.parse().map_err(|_| wrong()),
        Some(("2", power)) => {
            let power = power.parse::<u32>().map_err(|_| wrong())?;
            1_u64.checked_shl(power).ok_or_else(|| format!("2^{power} elements are too many"))
        }
        Some(_) => Err(wrong()),
    }
}

fn init(ty: Type, text: &str) -> Result<Init, String> {
    let argument = |word: &str| text.strip_prefix(word)?.strip_prefix('(')?.strip_suffix(')');
    let rule = match text {
        "zero" => Rule::Zero,
        "iota" => Rule::Iota,
        "hash8" => Rule::Hash8,
        _ => {
            if let Some(value) = argument("const") {
                Rule::Const(ty.bytes_of(value)?)
            } else if let Some(bytes) = argument("zero") {
                return bytes.parse().map(Init::Begin).map_err(|_| format!("`{bytes}` is no number of bytes"));
            } else if let Some(seed) = argument("rand") {
                Rule::Rand(seed.parse().map_err(|_| format!("`{seed}` is no seed: a whole number is"))?)
            } else if let Some(path) = argument("file") {
                return Ok(Init::File(path.into()));
            } else {
                let known = "zero, zero(BYTES), iota, const(V), hash8, rand(SEED), file(PATH)";
                return Err(format!("`{text}` is no way to fill a buffer: it is one of {known}"));
            }
        }
    };
    Ok(Init::Rule(rule))
}

/// What is written into a buffer before the launch, from its begin; at most as many bytes as it has.
pub fn contents(spec: &Spec, len: u64, init: &Init) -> Result<Vec<u8>> {
    let Some(bytes) = usize::try_from(len).ok().and_then(|len| len.checked_mul(spec.ty.bytes())) else {
        bail!("{}: {len} elements of {} are too many", spec.name, spec.ty.name());
    };
    match init {
        Init::Rule(rule) => {
            let mut probe: Vec<u8> = Vec::new();
            // Asked for and given back, so that a length beyond all memory is an error here and not an abort later.
            ensure!(probe.try_reserve_exact(bytes).is_ok(), "{}: no room for {bytes} bytes", spec.name);
            drop(probe);
            Ok(rule.fill(spec.ty, len))
        }
        Init::Begin(written) => {
            let what = || format!("{}: zero({written}) is more than its {bytes} bytes", spec.name);
            let written = usize::try_from(*written).ok().filter(|written| *written <= bytes).with_context(what)?;
            Ok(vec![0; written])
        }
        Init::File(path) => from_file(spec, len, bytes, path),
    }
}

/// The `bytes` bytes of `len` elements that a file holds, bare or as NumPy writes them.
fn from_file(spec: &Spec, len: u64, bytes: usize, path: &Path) -> Result<Vec<u8>> {
    let what = format!("{}: {}", spec.name, path.display());
    let unread = || format!("{what}: the file cannot be read (it is looked for from the current folder)");
    // Opening a pipe waits for whoever writes to it.
    let is_file = std::fs::metadata(path).with_context(unread)?.is_file();
    ensure!(is_file, "{what}: is no regular file: data comes from a file of known length");
    let file = File::open(path).with_context(unread)?;
    let mut held = Vec::new();
    let most = (bytes as u64).saturating_add(npy::HEADER_BYTES_MAX + 1);
    file.take(most).read_to_end(&mut held).with_context(unread)?;
    let data = if npy::is_npy(&held) {
        npy::data(&held, spec.ty, len).map_err(anyhow::Error::msg).with_context(|| what.clone())?
    } else {
        &held
    };
    let (ty, more) = (spec.ty.name(), if held.len() as u64 == most { "at least " } else { "" });
    let held = data.len();
    ensure!(held == bytes, "{what}: holds {more}{held} bytes of data, {len} elements of {ty} need {bytes}");
    Ok(data.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(text: &str) -> (u64, Init) {
        match Spec::parse(text).unwrap().kind {
            Kind::Buffer { len, init } => (len, init),
            Kind::Scalar(_) => panic!("{text} is a scalar"),
        }
    }

    #[test]
    fn every_form_is_read() {
        assert!(matches!(buffer("in=i32[2^20]:rand(7)"), (1_048_576, Init::Rule(Rule::Rand(7)))));
        assert!(matches!(buffer("in=f32[0]:zero"), (0, Init::Rule(Rule::Zero))));
        assert!(matches!(buffer("in=u8[3]:iota"), (3, Init::Rule(Rule::Iota))));
        assert!(matches!(buffer("in=u8[3]:hash8"), (3, Init::Rule(Rule::Hash8))));
        assert!(matches!(buffer("in=u32[3]:zero(5)"), (3, Init::Begin(5))));
        let (_, init) = buffer("in=i8[3]:const(-1)");
        assert!(matches!(init, Init::Rule(Rule::Const(element)) if element == [0xFF]));
        let (_, init) = buffer("in=i8[3]:file(a b:c.npy)");
        assert!(matches!(init, Init::File(path) if path.as_os_str() == "a b:c.npy"));
        let spec = Spec::parse("n=u32:4").unwrap();
        assert!(matches!(spec.kind, Kind::Scalar(bytes) if bytes == [4, 0, 0, 0]));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("in", "NAME=TYPE"),
            ("in=i32", "NAME=TYPE"),
            ("=i32:1", "name is missing"),
            ("k.ptx", "the PTX file stands before"),
            ("a:1=i32:1", "`a:1` has a colon"),
            ("in=i33:1", "no type `i33`"),
            ("in=i32[10:zero", "`]` is missing"),
            ("in=i32[ten]:zero", "is no length"),
            ("in=i32[3^2]:zero", "is no length"),
            ("in=i32[2^64]:zero", "too many"),
            ("in=i32[4]:ones", "no way to fill"),
            ("in=i32[4]:rand(x)", "is no seed"),
            ("in=i32[4]:zero(x)", "is no number of bytes"),
            ("n=u32:-1", "does not fit"),
        ] {
            let error = Spec::parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
