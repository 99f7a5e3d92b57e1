//! Arguments of a kernel: numbers, addresses, structures by value.

/// An argument of a kernel. Its size must be that of the parameter; `Arg::from` makes one of any number.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Arg {
    /// A pointer: what [`crate::Memory::alloc`], [`crate::Program::variable_address`] or [`crate::Program::function_address`] gave,
    /// and so many bytes more.
    Address(u64),
    /// 8 bits without a sign; `bool` too, as 0 or 1.
    U8(u8),
    /// 16 bits without a sign.
    U16(u16),
    /// 32 bits without a sign.
    U32(u32),
    /// 64 bits without a sign.
    U64(u64),
    /// 8 bits with a sign.
    I8(i8),
    /// 16 bits with a sign.
    I16(i16),
    /// 32 bits with a sign.
    I32(i32),
    /// 64 bits with a sign.
    I64(i64),
    /// Half precision.
    F16(half::f16),
    /// The upper half of an `f32`.
    Bf16(half::bf16),
    /// Single precision.
    F32(f32),
    /// Double precision.
    F64(f64),
    /// A structure by value, or any other parameter: its bytes in memory, as CUDA lays them out.
    Bytes(Vec<u8>),
}

impl Arg {
    /// Its bytes as the kernel finds them, appended to `to`.
    pub(crate) fn append(&self, to: &mut Vec<u8>) {
        match self {
            Arg::Address(v) | Arg::U64(v) => to.extend(v.to_le_bytes()),
            Arg::U8(v) => to.extend(v.to_le_bytes()),
            Arg::U16(v) => to.extend(v.to_le_bytes()),
            Arg::U32(v) => to.extend(v.to_le_bytes()),
            Arg::I8(v) => to.extend(v.to_le_bytes()),
            Arg::I16(v) => to.extend(v.to_le_bytes()),
            Arg::I32(v) => to.extend(v.to_le_bytes()),
            Arg::I64(v) => to.extend(v.to_le_bytes()),
            Arg::F16(v) => to.extend(v.to_le_bytes()),
            Arg::Bf16(v) => to.extend(v.to_le_bytes()),
            Arg::F32(v) => to.extend(v.to_le_bytes()),
            Arg::F64(v) => to.extend(v.to_le_bytes()),
            Arg::Bytes(bytes) => to.extend(bytes),
        }
    }

    /// Returns its size in bytes.
    pub fn size_bytes(&self) -> usize {
        match self {
            Arg::U8(_) | Arg::I8(_) => 1,
            Arg::U16(_) | Arg::I16(_) | Arg::F16(_) | Arg::Bf16(_) => 2,
            Arg::U32(_) | Arg::I32(_) | Arg::F32(_) => 4,
            Arg::Address(_) | Arg::U64(_) | Arg::I64(_) | Arg::F64(_) => 8,
            Arg::Bytes(bytes) => bytes.len(),
        }
    }
}

macro_rules! from {
    ($($ty:ty => $variant:ident),*) => {
        $(impl From<$ty> for Arg {
            fn from(value: $ty) -> Arg {
                Arg::$variant(value)
            }
        })*
    };
}

from!(u8 => U8, u16 => U16, u32 => U32, u64 => U64, i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    half::f16 => F16, half::bf16 => Bf16, f32 => F32, f64 => F64, Vec<u8> => Bytes);

impl From<bool> for Arg {
    fn from(value: bool) -> Arg {
        Arg::U8(value.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_as_long_as_they_say() {
        let bytes = |arg: Arg| {
            let mut bytes = Vec::new();
            arg.append(&mut bytes);
            assert_eq!(bytes.len(), arg.size_bytes(), "{arg:?}");
            bytes
        };
        assert_eq!(bytes(Arg::Address(1 << 40)), [0, 0, 0, 0, 0, 1, 0, 0]);
        assert_eq!(bytes(true.into()), [1]);
        assert_eq!(bytes((-2_i16).into()), [0xFE, 0xFF]);
        assert_eq!(bytes(1_u32.into()), [1, 0, 0, 0]);
        assert_eq!(bytes(half::bf16::ONE.into()), [0x80, 0x3F]);
        assert_eq!(bytes(half::f16::ONE.into()), [0, 0x3C]);
        assert_eq!(bytes(1.0_f32.into()), [0, 0, 0x80, 0x3F]);
        assert_eq!(bytes(1.0_f64.into())[6..], [0xF0, 0x3F]);
        assert_eq!(bytes(vec![7, 8, 9].into()), [7, 8, 9]);
    }
}
