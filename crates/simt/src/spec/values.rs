//! Element types of buffers and scalars: text to bytes, bytes to JSON, and the ways to fill a buffer.

use half::{bf16, f16};
use serde_json::{Number, Value};

use super::decimal;

/// An element type of a SPEC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Bits, and whether it is signed.
    Int {
        /// 8, 16, 32 or 64.
        bits: u32,
        /// Two's complement.
        signed: bool,
    },
    /// Half precision.
    F16,
    /// The upper half of an `f32`.
    Bf16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

/// Every type and its name.
const TYPES: [(&str, Type); 12] = [
    ("u8", Type::Int { bits: 8, signed: false }),
    ("u16", Type::Int { bits: 16, signed: false }),
    ("u32", Type::Int { bits: 32, signed: false }),
    ("u64", Type::Int { bits: 64, signed: false }),
    ("i8", Type::Int { bits: 8, signed: true }),
    ("i16", Type::Int { bits: 16, signed: true }),
    ("i32", Type::Int { bits: 32, signed: true }),
    ("i64", Type::Int { bits: 64, signed: true }),
    ("f16", Type::F16),
    ("bf16", Type::Bf16),
    ("f32", Type::F32),
    ("f64", Type::F64),
];

impl Type {
    /// Reads a name such as `u32`. Errors list the names there are.
    pub fn parse(name: &str) -> Result<Type, String> {
        let found = TYPES.iter().find(|(known, _)| *known == name);
        found.map(|(_, ty)| *ty).ok_or_else(|| {
            let known: Vec<&str> = TYPES.iter().map(|(known, _)| *known).collect();
            format!("no type `{name}`: it is one of {}", known.join(" "))
        })
    }

    /// Its name: `u32`.
    pub fn name(self) -> &'static str {
        TYPES.iter().find(|(_, ty)| *ty == self).map_or("?", |(name, _)| name)
    }

    /// Bytes of an element.
    pub fn bytes(self) -> usize {
        match self {
            Type::Int { bits, .. } => bits as usize / 8,
            Type::F16 | Type::Bf16 => 2,
            Type::F32 => 4,
            Type::F64 => 8,
        }
    }

    /// Returns NumPy's code for it, without the byte order; bf16 has none.
    pub fn numpy_name(self) -> Option<String> {
        Some(match self {
            Type::Int { bits, signed } => format!("{}{}", if signed { 'i' } else { 'u' }, bits / 8),
            Type::Bf16 => return None,
            float => format!("f{}", float.bytes()),
        })
    }

    /// Returns its name in NumPy's `astype`; bf16 has none.
    pub fn numpy_dtype(self) -> String {
        match self {
            Type::Int { bits, signed } => format!("{}int{bits}", if signed { "" } else { "u" }),
            float => format!("float{}", 8 * float.bytes()),
        }
    }

    /// A value as written by a person, in little-endian bytes.
    pub fn bytes_of(self, text: &str) -> Result<Vec<u8>, String> {
        match self {
            Type::Int { bits, signed } => {
                let wrong = || format!("`{text}` is no {}", self.name());
                let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
                let (digits, radix) = digits.strip_prefix("0x").map_or((digits, 10), |hex| (hex, 16));
                // A sign of its own would be a second one.
                let value = Some(digits).filter(|digits| digits.chars().all(|digit| digit.is_digit(radix)));
                let value = value.and_then(|digits| i128::from_str_radix(digits, radix).ok()).ok_or_else(wrong)?;
                let value = if negative { -value } else { value };
                let (low, high) = if signed { (-(1_i128 << (bits - 1)), 1 << (bits - 1)) } else { (0, 1_i128 << bits) };
                if !(low..high).contains(&value) {
                    return Err(format!("{text} does not fit {}, which goes from {low} to {}", self.name(), high - 1));
                }
                Ok(value.to_le_bytes()[..self.bytes()].to_vec())
            }
            _ => {
                let value = text.parse::<f64>().map_err(|_| format!("`{text}` is no {}", self.name()))?;
                let bytes = match self {
                    Type::F32 => text.parse::<f32>().unwrap_or(value as f32).to_le_bytes().to_vec(),
                    Type::F16 | Type::Bf16 => self.encode_f64(decimal::exact(text, value)),
                    _ => self.encode_f64(value),
                };
                // A word for infinity has no digit.
                if self.float(&bytes).is_infinite() && text.contains(|c: char| c.is_ascii_digit()) {
                    return Err(format!("{text} does not fit {}: the largest is {:e}", self.name(), self.largest()));
                }
                Ok(bytes)
            }
        }
    }

    /// The largest finite float of the type.
    fn largest(self) -> f64 {
        match self {
            Type::F16 => f16::MAX.to_f64(),
            Type::Bf16 => bf16::MAX.to_f64(),
            Type::F32 => f32::MAX.into(),
            _ => f64::MAX,
        }
    }

    /// A whole number as this type: integers wrap, floats round.
    fn encode_u64(self, number: u64) -> Vec<u8> {
        match self {
            Type::Int { .. } => number.to_le_bytes()[..self.bytes()].to_vec(),
            // Each float rounds once, from the integer itself.
            Type::F32 => (number as f32).to_le_bytes().to_vec(),
            _ => self.encode_f64(number as f64),
        }
    }

    fn encode_f64(self, value: f64) -> Vec<u8> {
        match self {
            Type::F16 => f16::from_f32(decimal::odd(value)).to_le_bytes().to_vec(),
            Type::Bf16 => bf16::from_f32(decimal::odd(value)).to_le_bytes().to_vec(),
            Type::F32 => (value as f32).to_le_bytes().to_vec(),
            Type::F64 => value.to_le_bytes().to_vec(),
            Type::Int { .. } => (value as i64).to_le_bytes()[..self.bytes()].to_vec(),
        }
    }

    /// One output of splitmix64 as this type; see the help text of `rand`.
    fn encode_random(self, output: u64) -> Vec<u8> {
        let Some(precision) = self.precision() else {
            return (output >> (64 - 8 * self.bytes())).to_le_bytes()[..self.bytes()].to_vec();
        };
        // Both steps are exact: k has as many bits as the type's significand.
        let k = (output >> (64 - precision)) as f64;
        self.encode_f64(k / (1_u64 << (precision - 1)) as f64 - 1.0)
    }

    /// An element as JSON: a number, or "NaN", "inf", "-inf", which JSON has no numbers for.
    pub fn json(self, bytes: &[u8]) -> Value {
        match self {
            Type::Int { signed, .. } => {
                let negative = signed && bytes.last().is_some_and(|&top| top & 0x80 != 0);
                let mut all = [if negative { 0xFF } else { 0 }; 8];
                all[..bytes.len()].copy_from_slice(bytes);
                if signed { i64::from_le_bytes(all).into() } else { u64::from_le_bytes(all).into() }
            }
            _ => {
                let value = self.float(bytes);
                match Number::from_f64(value) {
                    Some(number) => Value::Number(number),
                    None if value.is_nan() => "NaN".into(),
                    None => if value > 0.0 { "inf" } else { "-inf" }.into(),
                }
            }
        }
    }

    /// An element as people read it: as few digits as tell the value apart from its neighbours.
    pub fn display(self, bytes: &[u8]) -> String {
        match self {
            Type::Int { .. } => self.json(bytes).to_string(),
            Type::F64 => legible(self.float(bytes)),
            _ => legible(self.float(bytes) as f32),
        }
    }

    /// Half the distance between 1 and the next larger number: the largest error of rounding, relative to the result. `None` for
    /// integers, which are exact.
    pub fn roundoff(self) -> Option<f64> {
        self.precision().map(|precision| 0.5_f64.powi(precision))
    }

    /// Bits of a float's significand.
    fn precision(self) -> Option<i32> {
        match self {
            Type::Int { .. } => None,
            Type::Bf16 => Some(8),
            Type::F16 => Some(11),
            Type::F32 => Some(24),
            Type::F64 => Some(53),
        }
    }

    /// The value of a float.
    pub fn float(self, bytes: &[u8]) -> f64 {
        match (self, bytes) {
            (Type::F16, &[a, b]) => f16::from_le_bytes([a, b]).to_f64(),
            (Type::Bf16, &[a, b]) => bf16::from_le_bytes([a, b]).to_f64(),
            (Type::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]).into(),
            (_, bytes) => <[u8; 8]>::try_from(bytes).map_or(f64::NAN, f64::from_le_bytes),
        }
    }
}

/// The fewest digits that tell a float apart from its neighbours, with an exponent where zeros would fill the line: `1e200`.
pub fn legible<T: Into<f64> + Copy + std::fmt::Display + std::fmt::LowerExp>(value: T) -> String {
    match value.into().abs() {
        0.0 | 1e-5..1e16 => value.to_string(),
        _ => format!("{value:e}"),
    }
}

/// Rule that fills a buffer.
#[derive(Debug, Clone, PartialEq)]
pub enum Rule {
    /// 0.
    Zero,
    /// Its own index.
    Iota,
    /// This element, everywhere.
    Const(Vec<u8>),
    /// Element i is (i * 2654435761 mod 2^32) >> 24.
    Hash8,
    /// splitmix64 from this seed: integers any value, floats in [-1, 1).
    Rand(u64),
}

impl Rule {
    /// The bytes of a buffer of `len` elements.
    pub fn fill(&self, ty: Type, len: u64) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len as usize * ty.bytes());
        for i in 0..len {
            match self {
                Rule::Zero => bytes.extend(std::iter::repeat_n(0, ty.bytes())),
                Rule::Iota => bytes.extend(ty.encode_u64(i)),
                Rule::Const(element) => bytes.extend(element),
                Rule::Hash8 => bytes.extend(ty.encode_u64(u64::from((i as u32).wrapping_mul(2_654_435_761) >> 24))),
                Rule::Rand(seed) => bytes.extend(ty.encode_random(splitmix64(*seed, i))),
            }
        }
        bytes
    }
}

/// Output `i` (from 0) of splitmix64 with initial state `seed`.
fn splitmix64(seed: u64, i: u64) -> u64 {
    let mut z = seed.wrapping_add(i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ty(name: &str) -> Type {
        Type::parse(name).unwrap()
    }

    fn shown(rule: &Rule, name: &str, len: u64) -> Vec<String> {
        let bytes = rule.fill(ty(name), len);
        bytes.chunks(ty(name).bytes()).map(|element| ty(name).display(element)).collect()
    }

    #[test]
    fn splitmix64_gives_the_published_sequence() {
        let outputs: Vec<u64> = (0..3).map(|i| splitmix64(1_234_567, i)).collect();
        assert_eq!(outputs, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn hash8_is_a_byte_in_every_type() {
        assert_eq!(shown(&Rule::Hash8, "u32", 4), ["0", "158", "60", "218"]);
        assert_eq!(shown(&Rule::Hash8, "f16", 4), ["0", "158", "60", "218"]);
        assert_eq!(shown(&Rule::Hash8, "i8", 2), ["0", "-98"]);
    }

    #[test]
    fn random_floats_lie_in_their_range() {
        for (name, _) in TYPES.iter().filter(|(name, _)| name.contains('f')) {
            let values: Vec<f64> = shown(&Rule::Rand(7), name, 1000).iter().map(|v| v.parse().unwrap()).collect();
            assert!(values.iter().all(|v| (-1.0..1.0).contains(v)), "{name}");
            assert!(values.iter().any(|v| *v < -0.9) && values.iter().any(|v| *v > 0.9), "{name}");
        }
        assert_ne!(shown(&Rule::Rand(1), "u64", 1), shown(&Rule::Rand(2), "u64", 1));
    }

    #[test]
    fn numbers_outside_json_become_words() {
        let json = |text: &str| ty("f32").json(&ty("f32").bytes_of(text).unwrap());
        assert_eq!([json("nan"), json("inf"), json("-inf")], ["NaN", "inf", "-inf"].map(Value::from));
        assert_eq!(json("0.5").to_string(), "0.5");
        assert_eq!(ty("i64").json(&ty("i64").bytes_of("-3").unwrap()).to_string(), "-3");
        assert_eq!(ty("u64").json(&[0xFF; 8]).to_string(), u64::MAX.to_string());
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        assert!(ty("u8").bytes_of("256").unwrap_err().contains("does not fit"));
        assert!(ty("u8").bytes_of("-1").unwrap_err().contains("does not fit"));
        assert!(ty("i32").bytes_of("1.5").unwrap_err().contains("is no i32"));
        assert_eq!(ty("i8").bytes_of("-128").unwrap(), [0x80]);
        assert_eq!(ty("u32").bytes_of("0xff").unwrap(), [0xFF, 0, 0, 0]);
        for twice in ["--5", "-0x-5", "0x+5", "+5", "-+5"] {
            assert!(ty("i32").bytes_of(twice).unwrap_err().contains("is no i32"), "{twice}");
        }
        for (name, text) in [("f16", "65520"), ("bf16", "3.4e38"), ("f32", "1e400"), ("f64", "-1e400")] {
            assert!(ty(name).bytes_of(text).unwrap_err().contains("does not fit"), "{name} {text}");
        }
        assert_eq!(ty("f16").bytes_of("65519.99").unwrap(), f16::MAX.to_le_bytes());
    }

    #[test]
    fn large_and_tiny_floats_have_an_exponent() {
        let display = |name: &str, text: &str| ty(name).display(&ty(name).bytes_of(text).unwrap());
        for text in ["1e200", "5e-324", "-1.5e16", "0.00001", "123456", "0"] {
            assert_eq!(display("f64", text), text);
        }
        assert_eq!(display("f32", "1e-45"), "1e-45");
        assert_eq!(display("f64", "inf"), "inf");
    }

    /// A double between a text and a half may lie where two halves are as near, though the text does not.
    #[test]
    fn a_float_is_the_one_nearest_to_the_text() {
        let shown = |name: &str, text: &str| ty(name).display(&ty(name).bytes_of(text).unwrap());
        for (name, text, nearest) in [
            ("bf16", "1.0039062500000002220446e0", "1.0078125"),
            ("bf16", "1.00390625000000000000000000001", "1.0078125"),
            ("bf16", "0.0100390624999999999999999999999E2", "1"),
            ("bf16", "1.00390625", "1"),
            ("f16", "1.00048828125000022204", "1.0009766"),
            ("f16", "-1.00048828125000000000000000000000000000001", "-1.0009766"),
            ("f16", "-1.000488281249999999999999999999999999999", "-1"),
            ("f16", "1.00146484375", "1.0019531"),
            ("f32", "1.00000005960464477539062500000000001", "1.0000001"),
        ] {
            assert_eq!(shown(name, text), nearest, "{name} {text}");
        }
    }
}
