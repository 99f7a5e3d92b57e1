//! The number types that arrays on a device hold.

#[cfg(target_endian = "big")]
compile_error!("arrays are copied to the device byte by byte, and devices are little-endian");

/// A number type that kernels sum: `i32`, `i64`, `u32`, `u64`, `f32`, `f64`, … little-endian plain data.
///
/// Sealed: every bit pattern of an implementor must be a value of it, because arrays come back from a device as bytes.
pub trait Scalar: sealed::Plain + Copy + Send + Sync + PartialEq + std::fmt::Debug + 'static {
    /// `i32`
    const NAME: &'static str;
    /// Size in bytes.
    const BYTES: usize;
}

mod sealed {
    /// Types without padding whose every bit pattern is valid.
    pub trait Plain: Copy {
        /// All bytes zero.
        const ZERO: Self;
    }
}

macro_rules! scalars {
    ($($type:ident)*) => {$(
        impl sealed::Plain for $type {
            const ZERO: Self = 0 as $type;
        }
        impl Scalar for $type {
            const NAME: &'static str = stringify!($type);
            const BYTES: usize = size_of::<$type>();
        }
    )*};
}

scalars!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

macro_rules! halves {
    ($($type:ident)*) => {$(
        impl sealed::Plain for half::$type {
            const ZERO: Self = half::$type::ZERO;
        }
        impl Scalar for half::$type {
            const NAME: &'static str = stringify!($type);
            const BYTES: usize = 2;
        }
    )*};
}

halves!(f16 bf16);

/// The bytes of `values`.
pub(crate) fn bytes_of<T: Scalar>(values: &[T]) -> &[u8] {
    // SAFETY: the trait is sealed to primitive numbers and to halves, which are 16 bits and nothing else: none has padding,
    // and any alignment will do for bytes.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// `len` values whose bytes `fill` writes.
pub(crate) fn from_bytes<T: Scalar, E>(len: usize, fill: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<Vec<T>, E> {
    let mut values = vec![T::ZERO; len];
    let bytes = size_of_val(values.as_slice());
    // SAFETY: the slice covers exactly the vector's values, lives no longer than it, and whatever is written into it is
    // a valid value, because the trait is sealed to primitive numbers.
    fill(unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), bytes) })?;
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_the_way_through_bytes() {
        let values = [1.5f64, -0.0, f64::INFINITY];
        let back: Vec<f64> = from_bytes(3, |bytes| {
            bytes.copy_from_slice(bytes_of(&values));
            Ok::<(), ()>(())
        })
        .expect("filled");
        assert_eq!(back.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), values.map(f64::to_bits));
        assert_eq!(bytes_of(&[0x0403_0201i32]), [1, 2, 3, 4]);
        assert_eq!((i64::NAME, i64::BYTES), ("i64", 8));
    }
}
