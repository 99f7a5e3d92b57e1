//! Types of elements.

use std::fmt;

/// Declares the element types, from a line for each.
macro_rules! types {
    ($($variant:ident $name:literal $cuda:literal $bytes:literal, $roundoff:expr, $about:literal;)*) => {
        /// Type of the elements of an array on a device.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
        pub enum Type {
            $(#[doc = $about] #[cfg_attr(feature = "serde", serde(rename = $name))] $variant,)*
        }

        impl Type {
            /// All of them: bytes first, then integers, then floats.
            pub const ALL: &'static [Type] = &[$(Type::$variant),*];

            /// `i32`, as in `--type` and in the names of kernel entries.
            pub const fn name(self) -> &'static str {
                match self { $(Type::$variant => $name,)* }
            }

            /// `int`, as in the kernels' files.
            pub const fn cuda(self) -> &'static str {
                match self { $(Type::$variant => $cuda,)* }
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

            /// What it is, a sentence.
            pub const fn about(self) -> &'static str {
                match self { $(Type::$variant => $about,)* }
            }
        }
    };
}

const ROUNDED_F32: f64 = f32::EPSILON as f64 / 2.0;

types! {
    I8 "i8" "signed char" 1, 0.0, "8-bit integers; their sums have 64 bits.";
    U8 "u8" "unsigned char" 1, 0.0, "8-bit integers without a sign; their sums have 64 bits.";
    I16 "i16" "short" 2, 0.0, "16-bit integers; their sums have 64 bits.";
    I32 "i32" "int" 4, 0.0, "32-bit integers; sums wrap modulo 2^32, on the GPU and in the reference.";
    U32 "u32" "unsigned int" 4, 0.0, "32-bit integers without a sign; sums wrap modulo 2^32.";
    I64 "i64" "long long" 8, 0.0, "64-bit integers; sums wrap modulo 2^64.";
    F16 "f16" "f16" 2, ROUNDED_F32, "IEEE half precision; sums are in single precision.";
    BF16 "bf16" "bf16" 2, ROUNDED_F32, "The upper half of single precision; sums are in single precision.";
    F32 "f32" "float" 4, ROUNDED_F32, "IEEE single precision.";
    F64 "f64" "double" 8, f64::EPSILON / 2.0, "IEEE double precision.";
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
}
