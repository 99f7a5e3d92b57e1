//! Results of operations as values of the host.

pub use reduction::Op;
pub use reduction::op::{Number, Outcome};

use crate::element::{Element, Type, Value};

/// Values of an operation, from the bytes that a device has.
pub trait OnHost: Copy {
    /// The result whose bytes these are, little-endian as on the device; `None` if they are too few.
    fn result(self, ty: Type, bytes: &[u8]) -> Option<Value>;
    /// The result of a row whose bytes these are, likewise.
    fn row_result(self, ty: Type, bytes: &[u8]) -> Option<Value>;
    /// Result of a reduction of nothing.
    fn identity(self, ty: Type) -> Value;

    /// The result that these elements hold, as they come from a device; `None` if they are too few.
    fn result_in<T: Element>(self, elements: &[T]) -> Option<Value> {
        let bytes: Vec<u8> = elements.iter().flat_map(|&element| element.le()).collect();
        self.result(T::TYPE, &bytes)
    }
}

impl OnHost for Op {
    fn result(self, ty: Type, bytes: &[u8]) -> Option<Value> {
        match self.outcome(ty) {
            Outcome::Number(kind) => number(kind, bytes),
            Outcome::Found(kind) => {
                let index = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
                Some(Value::At { index, value: number(kind, bytes.get(8..)?)?.to_f64() })
            }
            Outcome::Two(kind) => {
                let second = number(kind, bytes.get(kind.bytes() as usize..)?)?;
                Some(Value::Two(number(kind, bytes)?.to_f64(), second.to_f64()))
            }
        }
    }

    fn row_result(self, ty: Type, bytes: &[u8]) -> Option<Value> {
        let Outcome::Found(kind) = self.outcome(ty) else { return self.result(ty, bytes) };
        let index = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
        let index = if index == u32::MAX { Value::NOWHERE } else { index.into() };
        Some(Value::At { index, value: number(kind, bytes.get(4..)?)?.to_f64() })
    }

    fn identity(self, ty: Type) -> Value {
        self.result(ty, &self.identity_bytes(ty)).unwrap_or(Value::zero(ty))
    }
}

fn number(kind: Number, bytes: &[u8]) -> Option<Value> {
    let bytes = bytes.get(..kind.bytes() as usize)?;
    Some(match kind {
        Number::I32 => Value::I32(i32::from_le_bytes(bytes.try_into().ok()?)),
        Number::U32 => Value::U32(u32::from_le_bytes(bytes.try_into().ok()?)),
        Number::I64 => Value::I64(i64::from_le_bytes(bytes.try_into().ok()?)),
        Number::F32 => Value::F32(f32::from_le_bytes(bytes.try_into().ok()?)),
        Number::F64 => Value::F64(f64::from_le_bytes(bytes.try_into().ok()?)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_command_line() {
        for &op in Op::ALL {
            assert_eq!(Op::from_name(op.name()), Some(op));
        }
    }

    #[test]
    fn every_identity_is_a_result() {
        for &op in Op::ALL {
            for &ty in Type::ALL.iter().filter(|&&ty| op.refusal(ty).is_none()) {
                let (identity, bytes) = (op.identity(ty), vec![0; op.result_bytes(ty) as usize]);
                let result = op.result(ty, &bytes).expect("enough bytes");
                assert_eq!(std::mem::discriminant(&identity), std::mem::discriminant(&result), "{op} of {ty}");
                assert!(op.result(ty, &bytes[..3]).is_none());
            }
        }
    }
}
