//! Result of a reduction: a number, the place of an element, or two numbers.

use std::fmt;

use simt::spec::legible;

use crate::element::Type;

/// One result.
#[derive(Debug, Clone, Copy)]
pub enum Value {
    /// 32 bits with a sign.
    I32(i32),
    /// 32 bits without one.
    U32(u32),
    /// 64 bits with a sign.
    I64(i64),
    /// IEEE single precision.
    F32(f32),
    /// IEEE double precision.
    F64(f64),
    /// An element and its index, which is [`Value::NOWHERE`] where there is none.
    At {
        /// Index.
        index: u64,
        /// The element.
        value: f64,
    },
    /// Two numbers: the smallest and the largest element, or mean and variance.
    Two(f64, f64),
}

impl Value {
    /// The index of no element.
    pub const NOWHERE: u64 = u64::MAX;

    /// Sum of nothing.
    pub const fn zero(ty: Type) -> Value {
        Value::whole(ty, 0)
    }

    /// A small whole number as what a sum of elements of this type is held in.
    pub(crate) const fn whole(ty: Type, whole: i32) -> Value {
        match ty {
            Type::I8 | Type::U8 | Type::I16 | Type::I64 => Value::I64(whole as i64),
            Type::I32 => Value::I32(whole),
            Type::U32 => Value::U32(whole as u32),
            Type::F16 | Type::BF16 | Type::F32 => Value::F32(whole as f32),
            Type::F64 => Value::F64(whole as f64),
        }
    }

    /// The nearest double; exact for all numbers of 32 bits. Of an element that was found, where it is; of two numbers the first.
    pub fn to_f64(self) -> f64 {
        match self {
            Value::I32(v) => f64::from(v),
            Value::U32(v) => f64::from(v),
            Value::I64(v) => v as f64,
            Value::F32(v) => f64::from(v),
            Value::F64(v) | Value::Two(v, _) => v,
            Value::At { index, .. } => index as f64,
        }
    }

    /// Its bytes, little-endian.
    pub fn le_bytes(self) -> Vec<u8> {
        match self {
            Value::I32(v) => v.to_le_bytes().to_vec(),
            Value::U32(v) => v.to_le_bytes().to_vec(),
            Value::I64(v) => v.to_le_bytes().to_vec(),
            Value::F32(v) => v.to_le_bytes().to_vec(),
            Value::F64(v) => v.to_le_bytes().to_vec(),
            Value::At { index, value } => [index.to_le_bytes(), value.to_le_bytes()].concat(),
            Value::Two(a, b) => [a.to_le_bytes(), b.to_le_bytes()].concat(),
        }
    }

    /// The bits, `0x3f800000`: how records keep results, so that a comparison is exact.
    pub fn bits(self) -> String {
        match self {
            Value::I32(v) => format!("{:#010x}", v as u32),
            Value::U32(v) => format!("{v:#010x}"),
            Value::I64(v) => format!("{:#018x}", v as u64),
            Value::F32(v) => format!("{:#010x}", v.to_bits()),
            Value::F64(v) => format!("{:#018x}", v.to_bits()),
            Value::At { index, value } => format!("{:#018x} at {index}", value.to_bits()),
            Value::Two(a, b) => format!("{:#018x} {:#018x}", a.to_bits(), b.to_bits()),
        }
    }

    /// Reads the text of [`Value::bits`] for elements of this type; `None` for any other text.
    pub fn from_bits(ty: Type, text: &str) -> Option<Value> {
        let number = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
        if let Some((value, index)) = text.split_once(" at ") {
            return Some(Value::At { index: index.parse().ok()?, value: f64::from_bits(number(value)?) });
        }
        if let Some((a, b)) = text.split_once(' ') {
            return Some(Value::Two(f64::from_bits(number(a)?), f64::from_bits(number(b)?)));
        }
        let bits = number(text)?;
        let word = || u32::try_from(bits).ok();
        Some(match Value::zero(ty) {
            Value::I32(_) => Value::I32(word()? as i32),
            Value::U32(_) => Value::U32(word()?),
            Value::F32(_) => Value::F32(f32::from_bits(word()?)),
            Value::F64(_) => Value::F64(f64::from_bits(bits)),
            _ => Value::I64(bits as i64),
        })
    }

    /// A JSON number with the fewest digits that read back as the same value; infinities and NaN as strings.
    pub fn json(self) -> serde_json::Value {
        match self {
            Value::I32(v) => v.into(),
            Value::U32(v) => v.into(),
            Value::I64(v) => v.into(),
            // The shortest digits of the f32, not those of the f64 next to it.
            Value::F32(v) => json_number(v.to_string().parse().unwrap_or(f64::from(v))),
            Value::F64(v) => json_number(v),
            Value::At { index, value } => {
                let index = if index == Value::NOWHERE { serde_json::Value::Null } else { index.into() };
                serde_json::json!({"index": index, "value": shortest(value).json()})
            }
            Value::Two(a, b) => vec![shortest(a).json(), shortest(b).json()].into(),
        }
    }
}

/// A number that a double holds, as the type with the fewest digits.
fn shortest(v: f64) -> Value {
    if f64::from(v as f32) == v { Value::F32(v as f32) } else { Value::F64(v) }
}

/// A JSON number, or a string (`"NaN"`, `"inf"`) for what JSON cannot write.
pub fn json_number(v: f64) -> serde_json::Value {
    serde_json::Number::from_f64(v).map_or_else(|| v.to_string().into(), serde_json::Value::Number)
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Value::I32(v) => v.fmt(f),
            Value::U32(v) => v.fmt(f),
            Value::I64(v) => v.fmt(f),
            Value::F32(v) if f.precision().is_none() => f.pad(&legible(v)),
            Value::F64(v) if f.precision().is_none() => f.pad(&legible(v)),
            Value::F32(v) => v.fmt(f),
            Value::F64(v) => v.fmt(f),
            Value::At { index: Value::NOWHERE, .. } => f.write_str("nowhere"),
            Value::At { index, value } => write!(f, "{} at {index}", shortest(value)),
            Value::Two(a, b) => write!(f, "{} and {}", shortest(a), shortest(b)),
        }
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
        let found = Value::At { index: 3, value: 0.1f32.into() };
        assert_eq!(found.json().to_string(), r#"{"index":3,"value":0.1}"#);
        assert_eq!(found.to_string(), "0.1 at 3");
        assert_eq!(Value::F64(1e200).to_string(), "1e200");
        assert_eq!(Value::F32(f32::from_bits(1)).to_string(), "1e-45");
    }

    #[test]
    fn bits_tell_zeros_apart() {
        assert_eq!(Value::F32(0.0).bits(), "0x00000000");
        assert_eq!(Value::F32(-0.0).bits(), "0x80000000");
        assert_eq!(Value::I32(-1).bits(), "0xffffffff");
    }

    #[test]
    fn bits_read_back() {
        let values = [
            (Type::I32, Value::I32(-7)),
            (Type::U32, Value::U32(7)),
            (Type::I8, Value::I64(-7)),
            (Type::BF16, Value::F32(-0.1)),
            (Type::F64, Value::F64(f64::MIN_POSITIVE)),
            (Type::I32, Value::At { index: 7, value: -3.0 }),
            (Type::F32, Value::At { index: Value::NOWHERE, value: f64::INFINITY }),
            (Type::F32, Value::Two(0.5, -0.0)),
        ];
        for (ty, value) in values {
            let read = Value::from_bits(ty, &value.bits()).expect("what was written");
            assert_eq!(read.bits(), value.bits());
        }
        assert!(Value::from_bits(Type::F32, "0x123456789").is_none() && Value::from_bits(Type::I32, "12").is_none());
    }
}
