//! What a reduction computes: a sum, the smallest or the largest element.

use std::fmt;

use crate::element::{Type, Value};

/// What a kernel computes of its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, clap::ValueEnum)]
pub enum Op {
    /// The sum.
    #[default]
    Sum,
    /// The smallest element.
    Min,
    /// The largest element.
    Max,
}

impl Op {
    /// `sum`, as in `--op`.
    pub const fn name(self) -> &'static str {
        match self {
            Op::Sum => "sum",
            Op::Min => "min",
            Op::Max => "max",
        }
    }

    /// The operation of that name.
    pub fn from_name(name: &str) -> Option<Op> {
        [Op::Sum, Op::Min, Op::Max].into_iter().find(|op| op.name() == name)
    }

    /// What a reduction of nothing is: the value that changes no other.
    pub const fn identity(self, ty: Type) -> Value {
        match (self, ty) {
            (Op::Sum, _) => Value::zero(ty),
            (Op::Min, Type::I32) => Value::I32(i32::MAX),
            (Op::Max, Type::I32) => Value::I32(i32::MIN),
            (Op::Min, Type::F32) => Value::F32(f32::INFINITY),
            (Op::Max, Type::F32) => Value::F32(f32::NEG_INFINITY),
            (Op::Min, Type::F64) => Value::F64(f64::INFINITY),
            (Op::Max, Type::F64) => Value::F64(f64::NEG_INFINITY),
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
