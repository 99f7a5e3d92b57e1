//! SPEC: one argument of a kernel in words, as `simt run --arg` takes it and as pages keep it.
//!
//! Reading one needs no file: a name of a file is kept, and who has a file system opens it.

mod decimal;
mod values;

use std::path::PathBuf;

pub use values::{Rule, Type, legible};

/// `NAME=TYPE[LEN]:INIT`, `NAME=TYPE:VALUE`, `NAME=bytes[LEN]:INIT`, `NAME=&OTHER` or `NAME=fn:FUNCTION`.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Name in other options.
    pub name: String,
    /// Type of its elements.
    pub ty: Type,
    /// Value or buffer.
    pub kind: Kind,
}

/// Value or buffer that an argument passes.
#[derive(Debug, Clone)]
pub enum Kind {
    /// The address of a buffer of `len` elements.
    Buffer {
        /// Elements.
        len: u64,
        /// Elements before the launch.
        init: Init,
    },
    /// A structure by value.
    Bytes {
        /// Bytes.
        len: u64,
        /// Their bytes.
        init: Init,
    },
    /// A number, or an address that is known when memory has been laid out.
    Scalar(Value),
}

/// A number or an address.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// These little-endian bytes.
    Number(Vec<u8>),
    /// The address of a buffer or of a variable of the PTX, and so many bytes more.
    Address {
        /// Name of the buffer or variable.
        of: String,
        /// Bytes behind its begin.
        more: i64,
    },
    /// The address of a device function.
    Function(String),
}

/// Content of a buffer before the launch.
#[derive(Debug, Clone)]
pub enum Init {
    /// Every element by rule.
    Rule(Rule),
    /// This many bytes of 0; nothing writes the rest.
    Begin(u64),
    /// The bytes of a file, as many as the buffer has.
    File(PathBuf),
    /// The bytes of a file; nothing writes the rest.
    Start(PathBuf),
}

/// Value of `--arg`: an argument, or a value placed in one.
#[derive(Debug, Clone)]
pub enum Argument {
    /// An argument.
    Spec(Spec),
    /// A value that goes into one.
    Put(Put),
}

/// `NAME@OFFSET=&BUFFER`: a value at byte `offset` of a structure or a buffer.
#[derive(Debug, Clone)]
pub struct Put {
    /// Name of the structure or buffer.
    pub into: String,
    /// Bytes from its begin.
    pub offset: u64,
    /// Value placed there.
    pub value: Value,
}

impl Spec {
    /// Bytes of a buffer of `len` elements.
    ///
    /// # Errors
    /// More than a computer can address.
    pub fn size(&self, len: u64) -> Result<usize, String> {
        let bytes = usize::try_from(len).ok().and_then(|len| len.checked_mul(self.ty.bytes()));
        bytes.ok_or_else(|| format!("{}: {len} elements of {} are too many", self.name, self.ty.name()))
    }

    /// Returns the bytes written to the start of a buffer of `len` elements before the launch; `None` where a file holds them.
    ///
    /// # Errors
    /// The content is larger than the buffer or the memory.
    pub fn contents(&self, len: u64, init: &Init) -> Result<Option<Vec<u8>>, String> {
        let bytes = self.size(len)?;
        match init {
            Init::Rule(rule) => {
                let mut probe: Vec<u8> = Vec::new();
                // Asked for and given back, so that a length beyond all memory is an error here and not an abort later.
                probe.try_reserve_exact(bytes).map_err(|_| format!("{}: no room for {bytes} bytes", self.name))?;
                drop(probe);
                Ok(Some(rule.fill(self.ty, len)))
            }
            Init::Begin(written) => {
                let held = usize::try_from(*written).ok().filter(|written| *written <= bytes);
                let held =
                    held.ok_or_else(|| format!("{}: zero({written}) is more than its {bytes} bytes", self.name))?;
                Ok(Some(vec![0; held]))
            }
            Init::File(_) | Init::Start(_) => Ok(None),
        }
    }
}

const SHAPE: &str = "it is NAME=TYPE[LEN]:INIT for a buffer, NAME=TYPE:VALUE for a scalar, NAME=bytes[LEN]:INIT for a structure, \
                     NAME=&BUFFER or NAME=fn:FUNCTION for an address";

impl Argument {
    /// Reads what `--arg` takes; errors say which part is wrong.
    pub fn parse(text: &str) -> Result<Argument, String> {
        let place = text.split_once('=').and_then(|(place, value)| Some((place.split_once('@')?, value)));
        let Some(((into, offset), value)) = place else { return Spec::parse(text).map(Argument::Spec) };
        let offset =
            offset.parse().map_err(|_| format!("`{offset}` is no offset in bytes: NAME@16=&BUFFER is how it reads"))?;
        let value = match address(value)? {
            Some(value) => value,
            None => {
                let wrong = "what goes there is &BUFFER, fn:FUNCTION or TYPE:VALUE";
                let (ty, value) = value.split_once(':').ok_or(wrong)?;
                Value::Number(Type::parse(ty)?.bytes_of(value)?)
            }
        };
        Ok(Argument::Put(Put { into: name(into)?, offset, value }))
    }
}

impl Spec {
    /// Reads a SPEC; errors say which part is wrong.
    pub fn parse(text: &str) -> Result<Spec, String> {
        let no_spec = || match text.ends_with(".ptx") {
            true => format!("{SHAPE}; the PTX file stands before `--arg`"),
            false => SHAPE.to_owned(),
        };
        let (called, rest) = text.split_once('=').ok_or_else(no_spec)?;
        let called = name(called)?;
        if let Some(value) = address(rest)? {
            let ty = Type::Int { bits: 64, signed: false };
            return Ok(Spec { name: called, ty, kind: Kind::Scalar(value) });
        }
        let (ty, value) = rest.split_once(':').ok_or(SHAPE)?;
        let (ty, len) = match ty.split_once('[') {
            None => (ty, None),
            Some((ty, len)) => (ty, Some(len.strip_suffix(']').ok_or("`]` is missing after the length")?)),
        };
        let (ty, kind) = match (ty, len) {
            ("bytes", None) => return Err("a length is missing: a structure of 16 bytes is bytes[16]".to_owned()),
            ("bytes", Some(len)) => {
                let ty = Type::Int { bits: 8, signed: false };
                (ty, Kind::Bytes { len: length(len)?, init: init(ty, value)? })
            }
            (ty, None) => {
                let ty = Type::parse(ty)?;
                (ty, Kind::Scalar(Value::Number(ty.bytes_of(value)?)))
            }
            (ty, Some(len)) => {
                let ty = Type::parse(ty)?;
                (ty, Kind::Buffer { len: length(len)?, init: init(ty, value)? })
            }
        };
        Ok(Spec { name: called, ty, kind })
    }
}

/// A name that other options can refer to.
fn name(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err(format!("a name is missing: {SHAPE}"));
    }
    match text.chars().find(|c| matches!(c, ':' | '@' | '&')) {
        Some(':') => Err(format!("`{text}` has a colon, which `--print NAME:COUNT` could not tell from its own")),
        Some(sign) => Err(format!("`{text}` has a `{sign}`, which no name may have")),
        None => Ok(text.to_owned()),
    }
}

/// `&NAME`, `&NAME+4`, `&NAME-4` or `fn:FUNCTION`; `None` for anything else.
fn address(text: &str) -> Result<Option<Value>, String> {
    if let Some(function) = text.strip_prefix("fn:") {
        return Ok(Some(Value::Function(name(function)?)));
    }
    let Some(of) = text.strip_prefix('&') else { return Ok(None) };
    let sign = of.find(['+', '-']).unwrap_or(of.len());
    let (of, more) = of.split_at(sign);
    let more = match more {
        "" => 0,
        more => more.parse().map_err(|_| format!("`{more}` is no number of bytes: &BUFFER+4 is how it reads"))?,
    };
    Ok(Some(Value::Address { of: name(of)?, more }))
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
            } else if let Some(path) = argument("start") {
                return Ok(Init::Start(path.into()));
            } else {
                let known = "zero, zero(BYTES), iota, const(V), hash8, rand(SEED), file(PATH), start(PATH)";
                return Err(format!("`{text}` is no way to fill a buffer: it is one of {known}"));
            }
        }
    };
    Ok(Init::Rule(rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(text: &str) -> (u64, Init) {
        match Spec::parse(text).unwrap().kind {
            Kind::Buffer { len, init } => (len, init),
            _ => panic!("{text} is no buffer"),
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
        assert!(matches!(spec.kind, Kind::Scalar(Value::Number(bytes)) if bytes == [4, 0, 0, 0]));
        let (_, init) = buffer("in=u8[9]:start(x)");
        assert!(matches!(init, Init::Start(path) if path.as_os_str() == "x"));
        let spec = Spec::parse("s=bytes[24]:zero").unwrap();
        assert!(matches!(spec.kind, Kind::Bytes { len: 24, init: Init::Rule(Rule::Zero) }));
    }

    #[test]
    fn addresses_are_read() {
        for (text, of, more) in [("p=&data", "data", 0), ("p=&data+4", "data", 4), ("p=&data-12", "data", -12)] {
            let Kind::Scalar(value) = Spec::parse(text).unwrap().kind else { panic!("{text}") };
            assert_eq!(value, Value::Address { of: of.into(), more }, "{text}");
        }
        let Ok(Argument::Put(put)) = Argument::parse("s@8=fn:_Z5twicef") else { panic!("a function goes into s") };
        assert_eq!((put.into.as_str(), put.offset, put.value), ("s", 8, Value::Function("_Z5twicef".into())));
        let Ok(Argument::Put(put)) = Argument::parse("s@0=i16:-2") else { panic!("a number goes into s") };
        assert_eq!((put.offset, put.value), (0, Value::Number(vec![0xFE, 0xFF])));
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
            ("s=bytes:zero", "bytes[16]"),
            ("s@=&data", "`` is no offset in bytes"),
            ("s@x=&data", "`x` is no offset in bytes"),
            ("s@-8=&data", "`-8` is no offset in bytes"),
            ("s@8=data", "&BUFFER, fn:FUNCTION or TYPE:VALUE"),
            ("s@8=i32[2]:zero", "no type `i32[2]`"),
            ("s@8=&data+x", "`+x` is no number of bytes"),
            ("p=&", "a name is missing"),
            ("p=fn:", "a name is missing"),
            ("a&b=i32:1", "has a `&`"),
        ] {
            let error = Argument::parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
