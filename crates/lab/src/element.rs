//! Elements as Rust sees them, and arrays of them. What comes out of a reduction is a [`Value`].

use half::{bf16, f16};

pub use crate::value::Value;
pub use reduction::Type;

/// Declares what every element type has in common, from one line for each.
macro_rules! elements {
    ($($variant:ident $rust:ident $value:ident $kind:tt;)*) => {
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
            fn from_le(bytes: &[u8]) -> Self {
                bytes.try_into().map_or(Self::from_random(0), $rust::from_le_bytes)
            }
            fn le(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            conversions!($kind);
        })*
    };
}

/// Conversion of a number, and of 64 random bits, to an element. A float has as many of these as its significand, so that nothing is
/// rounded and 1 is not among them.
macro_rules! conversions {
    (whole) => {
        fn from_f64(number: f64) -> Self {
            number as i64 as Self
        }
        fn from_random(bits: u64) -> Self {
            (bits >> (64 - Self::BITS)) as Self
        }
    };
    // Half of a double is ignored, which may decide a tie.
    (half) => {
        fn from_f64(number: f64) -> Self {
            Self::from_f32(number as f32)
        }
        conversions!(random);
    };
    (real) => {
        fn from_f64(number: f64) -> Self {
            number as Self
        }
        conversions!(random);
    };
    (random) => {
        fn from_random(bits: u64) -> Self {
            let digits = Self::MANTISSA_DIGITS - 1;
            Self::from_f64((bits >> (63 - digits)) as f64 / (1u64 << digits) as f64 - 1.0)
        }
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

elements! {
    I8 i8 I32 whole;
    U8 u8 I32 whole;
    I16 i16 I32 whole;
    I32 i32 I32 whole;
    U32 u32 U32 whole;
    I64 i64 I64 whole;
    F16 f16 F32 half;
    BF16 bf16 F32 half;
    F32 f32 F32 real;
    F64 f64 F64 real;
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

#[cfg(test)]
mod tests {
    use super::*;

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
