//! The element types that chapters sum, single values of them and arrays of them.

use std::fmt;

/// An element type that chapters sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Type {
    /// 32-bit integers; sums wrap modulo 2^32, on the GPU and in the reference.
    I32,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
}

impl Type {
    /// `i32`, as in `--type` and in the names of kernel entries.
    pub const fn name(self) -> &'static str {
        match self {
            Type::I32 => "i32",
            Type::F32 => "f32",
            Type::F64 => "f64",
        }
    }

    /// Size of one element in bytes.
    pub const fn bytes(self) -> u64 {
        match self {
            Type::I32 | Type::F32 => 4,
            Type::F64 => 8,
        }
    }

    /// Relative error of one rounded addition, at most; 0 for integers, which do not round.
    pub const fn unit_roundoff(self) -> f64 {
        match self {
            Type::I32 => 0.0,
            Type::F32 => f32::EPSILON as f64 / 2.0,
            Type::F64 => f64::EPSILON / 2.0,
        }
    }

    /// The type of that name.
    pub fn from_name(name: &str) -> Option<Type> {
        [Type::I32, Type::F32, Type::F64].into_iter().find(|ty| ty.name() == name)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One value.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)] // the Rust types of these names
pub enum Value {
    I32(i32),
    F32(f32),
    F64(f64),
}

impl Value {
    /// What a sum of nothing is.
    pub const fn zero(ty: Type) -> Value {
        match ty {
            Type::I32 => Value::I32(0),
            Type::F32 => Value::F32(0.0),
            Type::F64 => Value::F64(0.0),
        }
    }

    /// The nearest double; exact for every i32 and f32.
    pub fn to_f64(self) -> f64 {
        match self {
            Value::I32(v) => f64::from(v),
            Value::F32(v) => f64::from(v),
            Value::F64(v) => v,
        }
    }

    /// Its bytes, little-endian.
    pub fn le_bytes(self) -> Vec<u8> {
        match self {
            Value::I32(v) => v.to_le_bytes().to_vec(),
            Value::F32(v) => v.to_le_bytes().to_vec(),
            Value::F64(v) => v.to_le_bytes().to_vec(),
        }
    }

    /// The bits, `0x3f800000`: how records keep results, so that a comparison is exact.
    pub fn bits(self) -> String {
        match self {
            Value::I32(v) => format!("{:#010x}", v as u32),
            Value::F32(v) => format!("{:#010x}", v.to_bits()),
            Value::F64(v) => format!("{:#018x}", v.to_bits()),
        }
    }

    /// What [`Value::bits`] wrote; `None` for any other text.
    pub fn from_bits(ty: Type, text: &str) -> Option<Value> {
        let bits = u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()?;
        Some(match ty {
            Type::I32 => Value::I32(u32::try_from(bits).ok()? as i32),
            Type::F32 => Value::F32(f32::from_bits(u32::try_from(bits).ok()?)),
            Type::F64 => Value::F64(f64::from_bits(bits)),
        })
    }

    /// A JSON number with the fewest digits that read back as the same value; infinities and NaN as strings.
    pub fn json(self) -> serde_json::Value {
        match self {
            Value::I32(v) => v.into(),
            // The shortest digits of the f32, not those of the f64 next to it.
            Value::F32(v) => json_number(v.to_string().parse().unwrap_or(f64::from(v))),
            Value::F64(v) => json_number(v),
        }
    }
}

/// A JSON number, or a string (`"NaN"`, `"inf"`) for what JSON cannot write.
pub(crate) fn json_number(v: f64) -> serde_json::Value {
    serde_json::Number::from_f64(v).map_or_else(|| v.to_string().into(), serde_json::Value::Number)
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::I32(v) => v.fmt(f),
            Value::F32(v) => v.fmt(f),
            Value::F64(v) => v.fmt(f),
        }
    }
}

/// Numbers to sum.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // the Rust types of these names
pub enum Array {
    I32(Vec<i32>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Array {
    /// Their type.
    pub fn ty(&self) -> Type {
        match self {
            Array::I32(_) => Type::I32,
            Array::F32(_) => Type::F32,
            Array::F64(_) => Type::F64,
        }
    }

    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Array::I32(v) => v.len(),
            Array::F32(v) => v.len(),
            Array::F64(v) => v.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A type that kernels sum, as Rust sees it.
pub trait Element: device::Scalar {
    /// Its name and size.
    const TYPE: Type;
    /// As a [`Value`].
    fn value(self) -> Value;
    /// As an [`Array`].
    fn array(values: Vec<Self>) -> Array;
    /// From the little-endian bytes of one element; `bytes` is exactly as long.
    fn from_le(bytes: &[u8]) -> Self;
    /// From 64 random bits: every i32 alike, floats in [-1, 1).
    fn from_random(bits: u64) -> Self;
}

impl Element for i32 {
    const TYPE: Type = Type::I32;
    fn value(self) -> Value {
        Value::I32(self)
    }
    fn array(values: Vec<Self>) -> Array {
        Array::I32(values)
    }
    fn from_le(bytes: &[u8]) -> Self {
        bytes.try_into().map_or(0, i32::from_le_bytes)
    }
    fn from_random(bits: u64) -> Self {
        (bits >> 32) as i32
    }
}

impl Element for f32 {
    const TYPE: Type = Type::F32;
    fn value(self) -> Value {
        Value::F32(self)
    }
    fn array(values: Vec<Self>) -> Array {
        Array::F32(values)
    }
    fn from_le(bytes: &[u8]) -> Self {
        bytes.try_into().map_or(0.0, f32::from_le_bytes)
    }
    fn from_random(bits: u64) -> Self {
        (bits >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

impl Element for f64 {
    const TYPE: Type = Type::F64;
    fn value(self) -> Value {
        Value::F64(self)
    }
    fn array(values: Vec<Self>) -> Array {
        Array::F64(values)
    }
    fn from_le(bytes: &[u8]) -> Self {
        bytes.try_into().map_or(0.0, f64::from_le_bytes)
    }
    fn from_random(bits: u64) -> Self {
        (bits >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_the_digits_that_matter() {
        assert_eq!(Value::F32(0.1).json().to_string(), "0.1");
        assert_eq!(Value::F64(0.1f32.into()).json().to_string(), "0.10000000149011612");
        assert_eq!(Value::I32(-7).json().to_string(), "-7");
        assert_eq!(Value::F32(f32::NAN).json().to_string(), "\"NaN\"");
        assert_eq!(Value::F64(f64::NEG_INFINITY).json().to_string(), "\"-inf\"");
    }

    #[test]
    fn bits_tell_zeros_apart() {
        assert_eq!(Value::F32(0.0).bits(), "0x00000000");
        assert_eq!(Value::F32(-0.0).bits(), "0x80000000");
        assert_eq!(Value::I32(-1).bits(), "0xffffffff");
    }

    #[test]
    fn bits_read_back() {
        for value in [Value::I32(-7), Value::F32(-0.1), Value::F64(f64::MIN_POSITIVE)] {
            let ty = match value {
                Value::I32(_) => Type::I32,
                Value::F32(_) => Type::F32,
                Value::F64(_) => Type::F64,
            };
            let read = Value::from_bits(ty, &value.bits()).expect("what was written");
            assert_eq!(read.bits(), value.bits());
        }
        assert!(Value::from_bits(Type::F32, "0x123456789").is_none() && Value::from_bits(Type::I32, "12").is_none());
    }

    #[test]
    fn random_floats_fill_their_interval() {
        assert_eq!(f32::from_random(0), -1.0);
        assert!(f32::from_random(u64::MAX) < 1.0);
        assert_eq!(f64::from_random(0), -1.0);
        assert!(f64::from_random(u64::MAX) < 1.0);
    }
}
