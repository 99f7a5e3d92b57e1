//! The element types that chapters reduce, and arrays of them. What comes out of a reduction is a [`Value`].

use std::fmt;

use half::{bf16, f16};

pub use crate::value::Value;

/// Declares what every element type has in common, from one line for each.
macro_rules! elements {
    ($($variant:ident $rust:ident $name:literal $bytes:literal, $value:ident, $roundoff:expr, $about:literal;)*) => {
        /// An element type that chapters reduce.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, clap::ValueEnum, serde::Deserialize)]
        pub enum Type {
            $(#[doc = $about] #[value(name = $name)] #[serde(rename = $name)] $variant,)*
        }

        impl Type {
            /// All of them: bytes first, then integers, then floats.
            pub const ALL: &'static [Type] = &[$(Type::$variant),*];

            /// `i32`, as in `--type` and in the names of kernel entries.
            pub const fn name(self) -> &'static str {
                match self { $(Type::$variant => $name,)* }
            }

            /// Size of one element in bytes.
            pub const fn bytes(self) -> u64 {
                match self { $(Type::$variant => $bytes,)* }
            }

            /// Relative error of one rounded addition in what its sums are held in, at most; 0 for integers, which do not
            /// round. Halves are added up as `float`.
            pub const fn unit_roundoff(self) -> f64 {
                match self { $(Type::$variant => $roundoff,)* }
            }
        }

        /// Numbers to reduce.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)] // the Rust types of these names
        pub enum Array {
            $($variant(Vec<$rust>),)*
        }

        impl Array {
            /// Their type.
            pub fn ty(&self) -> Type {
                match self { $(Array::$variant(_) => Type::$variant,)* }
            }

            /// Number of elements.
            pub fn len(&self) -> usize {
                match self { $(Array::$variant(v) => v.len(),)* }
            }
        }

        $(impl Element for $rust {
            const TYPE: Type = Type::$variant;
            fn value(self) -> Value {
                Value::$value(self.into())
            }
            fn array(values: Vec<Self>) -> Array {
                Array::$variant(values)
            }
            fn slice(array: &Array) -> Option<&[Self]> {
                if let Array::$variant(values) = array { Some(values) } else { None }
            }
            fn from_f64(number: f64) -> Self {
                <$rust as Drawn>::nearest(number)
            }
            fn from_le(bytes: &[u8]) -> Self {
                bytes.try_into().map_or(<$rust as Drawn>::drawn(0), $rust::from_le_bytes)
            }
            fn le(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            fn from_random(bits: u64) -> Self {
                <$rust as Drawn>::drawn(bits)
            }
        })*
    };
}

/// Runs an expression with the elements of an array as a vector of their own type.
#[macro_export]
macro_rules! with_elements {
    ($array:expr, $values:ident => $then:expr) => {
        match $array {
            $crate::Array::I8($values) => $then,
            $crate::Array::U8($values) => $then,
            $crate::Array::I16($values) => $then,
            $crate::Array::I32($values) => $then,
            $crate::Array::U32($values) => $then,
            $crate::Array::I64($values) => $then,
            $crate::Array::F16($values) => $then,
            $crate::Array::BF16($values) => $then,
            $crate::Array::F32($values) => $then,
            $crate::Array::F64($values) => $then,
        }
    };
}

/// Runs an expression with a name for the Rust type of an element type.
#[macro_export]
macro_rules! with_type {
    ($ty:expr, $name:ident => $then:expr) => {
        $crate::with_type!(
            @arms $ty, $name, $then,
            I8 i8, U8 u8, I16 i16, I32 i32, U32 u32, I64 i64, F16 f16, BF16 bf16, F32 f32, F64 f64
        )
    };
    (@arms $ty:expr, $name:ident, $then:expr, $($variant:ident $rust:ident),*) => {
        match $ty {
            $($crate::Type::$variant => {
                type $name = $crate::element::rust::$rust;
                $then
            })*
        }
    };
}

/// The Rust types of all element types, for [`with_type!`].
#[doc(hidden)]
pub mod rust {
    #![allow(non_camel_case_types, missing_docs)]
    pub use half::{bf16, f16};
    pub type i8 = core::primitive::i8;
    pub type u8 = core::primitive::u8;
    pub type i16 = core::primitive::i16;
    pub type i32 = core::primitive::i32;
    pub type u32 = core::primitive::u32;
    pub type i64 = core::primitive::i64;
    pub type f32 = core::primitive::f32;
    pub type f64 = core::primitive::f64;
}

const ROUNDED_F32: f64 = f32::EPSILON as f64 / 2.0;

elements! {
    I8 i8 "i8" 1, I32, 0.0, "8-bit integers; their sums have 64 bits.";
    U8 u8 "u8" 1, I32, 0.0, "8-bit integers without a sign; their sums have 64 bits.";
    I16 i16 "i16" 2, I32, 0.0, "16-bit integers; their sums have 64 bits.";
    I32 i32 "i32" 4, I32, 0.0, "32-bit integers; sums wrap modulo 2^32, on the GPU and in the reference.";
    U32 u32 "u32" 4, U32, 0.0, "32-bit integers without a sign; sums wrap modulo 2^32.";
    I64 i64 "i64" 8, I64, 0.0, "64-bit integers; sums wrap modulo 2^64.";
    F16 f16 "f16" 2, F32, ROUNDED_F32, "IEEE half precision; sums are in single precision.";
    BF16 bf16 "bf16" 2, F32, ROUNDED_F32, "The upper half of single precision; sums are in single precision.";
    F32 f32 "f32" 4, F32, ROUNDED_F32, "IEEE single precision.";
    F64 f64 "f64" 8, F64, f64::EPSILON / 2.0, "IEEE double precision.";
}

impl Type {
    /// The type of that name.
    pub fn from_name(name: &str) -> Option<Type> {
        Type::ALL.iter().copied().find(|ty| ty.name() == name)
    }

    /// Elements of this type whose bytes hold a value of so many: arrays on a device have the type of the input.
    pub const fn holding(self, bytes: u64) -> u64 {
        bytes.div_ceil(self.bytes())
    }

    /// Returns whether its values round.
    pub const fn is_float(self) -> bool {
        self.unit_roundoff() > 0.0
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Array {
    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements from `first` on, `count` of them.
    pub fn part(&self, first: usize, count: usize) -> Array {
        with_elements!(self, values => Element::array(values[first..first + count].to_vec()))
    }
}

/// A type that kernels reduce, as Rust sees it.
pub trait Element: device::Scalar {
    /// Its name and size.
    const TYPE: Type;
    /// Returns a [`Value`] that holds it exactly.
    fn value(self) -> Value;
    /// Returns them as an [`Array`].
    fn array(values: Vec<Self>) -> Array;
    /// The elements of an [`Array`] of this type; none of another.
    fn slice(array: &Array) -> Option<&[Self]>;
    /// The element nearest to a number; an integer is cut to its type.
    fn from_f64(number: f64) -> Self;
    /// From the little-endian bytes of one element; `bytes` is exactly as long.
    fn from_le(bytes: &[u8]) -> Self;
    /// Its little-endian bytes.
    fn le(self) -> Vec<u8>;
    /// From 64 random bits: every integer alike, floats in [-1, 1).
    fn from_random(bits: u64) -> Self;
}

/// Conversion of 64 random bits, and of a number, to an element.
trait Drawn {
    fn drawn(bits: u64) -> Self;
    fn nearest(number: f64) -> Self;
}

macro_rules! drawn_integers {
    ($($type:ident)*) => {$(
        impl Drawn for $type {
            fn drawn(bits: u64) -> Self {
                (bits >> (64 - $type::BITS)) as $type
            }
            fn nearest(number: f64) -> Self {
                number as i64 as $type
            }
        }
    )*};
}

drawn_integers!(i8 u8 i16 i32 u32 i64);

impl Drawn for f32 {
    fn drawn(bits: u64) -> Self {
        (bits >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
    fn nearest(number: f64) -> Self {
        number as f32
    }
}

impl Drawn for f64 {
    fn drawn(bits: u64) -> Self {
        (bits >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
    fn nearest(number: f64) -> Self {
        number
    }
}

// As many bits as their significands have, so that nothing is rounded and 1 is not among them.
impl Drawn for f16 {
    fn drawn(bits: u64) -> Self {
        f16::from_f32((bits >> 53) as f32 / (1u64 << 10) as f32 - 1.0)
    }
    fn nearest(number: f64) -> Self {
        f16::from_f64(number)
    }
}

impl Drawn for bf16 {
    fn drawn(bits: u64) -> Self {
        bf16::from_f32((bits >> 56) as f32 / (1u64 << 7) as f32 - 1.0)
    }
    fn nearest(number: f64) -> Self {
        bf16::from_f64(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_again() {
        for &ty in Type::ALL {
            assert_eq!(Type::from_name(ty.name()), Some(ty));
        }
        assert_eq!((Type::BF16.bytes(), Type::from_name("f8")), (2, None));
    }

    #[test]
    fn random_floats_fill_their_interval() {
        assert_eq!(f32::from_random(0), -1.0);
        assert!(f32::from_random(u64::MAX) < 1.0);
        assert_eq!(f64::from_random(0), -1.0);
        assert!(f64::from_random(u64::MAX) < 1.0);
        assert_eq!((f16::from_random(0).to_f32(), bf16::from_random(0).to_f32()), (-1.0, -1.0));
        assert!(f16::from_random(u64::MAX).to_f32() < 1.0 && bf16::from_random(u64::MAX).to_f32() < 1.0);
    }

    #[test]
    fn a_part_of_an_array_keeps_its_type() {
        assert_eq!(Array::I8(vec![1, 2, 3, 4]).part(1, 2), Array::I8(vec![2, 3]));
    }
}
