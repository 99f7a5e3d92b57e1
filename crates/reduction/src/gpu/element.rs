//! Rust types of elements, indices and results.

use ::cudarc::driver::DeviceRepr;

use crate::element::Type;
use crate::results::{Found, FoundInRow, Two};

/// A type that an operand holds.
pub trait Value: DeviceRepr {
    /// Its name in the demands of a reduction.
    const NAME: &'static str;
}

/// A type of elements that kernels read.
pub trait Element: Value + Copy {
    /// Its name for plans.
    const TYPE: Type;
}

macro_rules! values {
    ($($rust:ty => $name:literal $($ty:ident)?;)*) => {$(
        impl Value for $rust {
            const NAME: &'static str = $name;
        }

        $(impl Element for $rust {
            const TYPE: Type = Type::$ty;
        })?
    )*};
}

values! {
    i8 => "i8" I8;
    u8 => "u8" U8;
    i16 => "i16" I16;
    i32 => "i32" I32;
    u32 => "u32" U32;
    i64 => "i64" I64;
    u64 => "u64";
    half::f16 => "f16" F16;
    half::bf16 => "bf16" BF16;
    f32 => "f32" F32;
    f64 => "f64" F64;
    Found<i32> => "Found<i32>";
    Found<u32> => "Found<u32>";
    Found<i64> => "Found<i64>";
    Found<f32> => "Found<f32>";
    Found<f64> => "Found<f64>";
    FoundInRow<i32> => "FoundInRow<i32>";
    FoundInRow<f32> => "FoundInRow<f32>";
    Two<i32> => "Two<i32>";
    Two<u32> => "Two<u32>";
    Two<i64> => "Two<i64>";
    Two<f32> => "Two<f32>";
    Two<f64> => "Two<f64>";
}

// SAFETY: structures of plain numbers, `repr(C)`, which a device may fill with any bytes.
unsafe impl<V: DeviceRepr> DeviceRepr for Found<V> {}
// SAFETY: as above.
unsafe impl<V: DeviceRepr> DeviceRepr for FoundInRow<V> {}
// SAFETY: as above.
unsafe impl<V: DeviceRepr> DeviceRepr for Two<V> {}
