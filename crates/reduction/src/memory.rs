//! Memory of a device, as numbers: what operands lie where, and what of them is checked before a launch.

use crate::error::{Error, Result};

/// A stretch of memory on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Address of its first byte.
    pub address: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// Declares the roles from a line for each, with its name in messages.
macro_rules! roles {
    ($($role:ident $name:literal $about:literal;)*) => {
        /// Part that an operand has in a reduction.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Role {
            $(#[doc = $about] $role,)*
        }

        impl Role {
            /// All of them.
            pub const ALL: &'static [Role] = &[$(Role::$role),*];

            /// Its name in messages: `second input`.
            pub const fn name(self) -> &'static str {
                match self { $(Role::$role => $name,)* }
            }
        }
    };
}

roles! {
    Input "input" "Elements. Of an operation that goes backward what went forward has left: softmax's results, or a norm's input.";
    Other "second input" "Second input, which lies as the first: the other factor of `dot`, the residual of `add_*_norm`, and the \
        gradient of the results of an operation that goes backward.";
    Out "out" "Results.";
    Offsets "offsets" "Offsets of ragged rows, one more than rows.";
    Labels "labels" "Labels, one a row.";
    Gradients "gradients" "Gradients of the rows' losses: one for all, or one a row.";
    Weights "weights" "Weights of a norm, one a column.";
    Biases "biases" "Biases of a norm that subtracts the mean, one a column.";
    Logsumexp "logsumexp" "Logarithms of the rows' sums of exponentials, one a row.";
    Flag "flag" "A word that wrong labels or offsets set to 1.";
    Mask "mask" "Matrix that is added to the elements.";
    Lengths "lengths" "Lengths of rows, one a row.";
    Sum "sum" "Input and residual added up, which lies as the input.";
    Means "means" "Means of the rows, one a row: written forward, read on the way back.";
    Deviations "reciprocal deviations" "Reciprocal deviations of the rows, one a row: written forward, read on the way back.";
    WeightGradients "gradients of the weights" "Gradients of a norm's weights, one a column.";
    BiasGradients "gradients of the biases" "Gradients of a norm's biases, one a column.";
    Table "table of arrays" "Words that say where arrays lie, see [`crate::Many::table`].";
    Scales "scales" "Scales of results of 8 bits, one a row.";
}

/// What a reduction demands of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rule {
    /// The operand.
    pub role: Role,
    /// Rust's name of what it holds: `f32`, `Found<f32>`.
    pub element: &'static str,
    /// Bytes that the launches touch, from its first one on.
    pub bytes: u64,
    /// Bytes of which its address is a multiple, a power of two.
    pub multiple: u64,
    /// True if the launches write it.
    pub is_written: bool,
    /// Operands that it may lie over, element on element, if it is written; apart from all others.
    pub over: &'static [Role],
}

impl Rule {
    /// An operand that is read.
    pub const fn read(role: Role, element: &'static str, bytes: u64, multiple: u64) -> Rule {
        Rule { role, element, bytes, multiple, is_written: false, over: &[] }
    }

    /// An operand that is written, apart from all others.
    pub const fn written(role: Role, element: &'static str, bytes: u64, multiple: u64) -> Rule {
        Rule { role, element, bytes, multiple, is_written: true, over: &[] }
    }

    /// So many results of so many bytes each, apart from all other operands.
    pub(crate) fn results(element: &'static str, bytes: u64, count: u64) -> Rule {
        // The largest power of two that every result begins at.
        let multiple = 1 << bytes.trailing_zeros().min(4);
        Rule::written(Role::Out, element, bytes * count, multiple)
    }

    /// Checks length and alignment.
    fn check(&self, memory: Memory) -> Result<()> {
        let Rule { role, bytes, multiple, .. } = *self;
        if memory.bytes < bytes {
            return Err(Error::Length { operand: role.name(), got: memory.bytes, expected: bytes });
        }
        if bytes > 0 && !memory.address.is_multiple_of(multiple) {
            return Err(Error::Alignment { operand: role.name(), address: memory.address, multiple });
        }
        Ok(())
    }
}

/// Operands of a reduction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Operands {
    all: [Option<Memory>; Role::ALL.len()],
}

impl Operands {
    /// With this operand.
    pub fn with(mut self, role: Role, memory: Memory) -> Operands {
        self.set(role, memory);
        self
    }

    /// Sets an operand.
    pub fn set(&mut self, role: Role, memory: Memory) {
        self.all[role as usize] = Some(memory);
    }

    /// An operand; address 0 without a byte where there is none.
    pub fn get(&self, role: Role) -> Memory {
        self.all[role as usize].unwrap_or(Memory { address: 0, bytes: 0 })
    }

    /// Checks that all operands are there that the rules name, and no others; that they are long enough and begin where they should, and
    /// that nothing lies over what is written.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub(crate) fn check(&self, what: &'static str, rules: &[Rule], space: Space) -> Result<()> {
        for &role in Role::ALL {
            let operand = role.name();
            match (self.all[role as usize], rules.iter().find(|rule| rule.role == role)) {
                (Some(memory), Some(rule)) => rule.check(memory)?,
                (None, Some(_)) => return Err(Error::Operand { what, operand, problem: "is missing" }),
                (Some(_), None) => return Err(Error::Operand { what, operand, problem: "is not taken" }),
                (None, None) => {}
            }
        }
        let part = |rule: &Rule| Memory { bytes: rule.bytes, ..self.get(rule.role) };
        for written in rules.iter().filter(|rule| rule.is_written) {
            let memory = part(written);
            let may_lie = |other: &Rule| written.over.contains(&other.role) && part(other).address == memory.address;
            let others = rules.iter().filter(|other| other.role != written.role && !may_lie(other));
            if let Some(other) = others.into_iter().find(|other| part(other).overlaps(memory)) {
                return Err(Error::Overlap { written: written.role.name(), operand: other.role.name() });
            }
            if space.scratch.overlaps(memory) || space.state.overlaps(memory) {
                return Err(Error::Overlap { written: written.role.name(), operand: "the workspace" });
            }
        }
        Ok(())
    }
}

impl Memory {
    /// Returns whether both have a byte in common.
    pub fn overlaps(&self, other: Memory) -> bool {
        self.bytes > 0
            && other.bytes > 0
            && self.address < other.address.saturating_add(other.bytes)
            && other.address < self.address.saturating_add(self.bytes)
    }
}

/// Memory beside the operands that launches use. Launches that may run together need one each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Space {
    /// What launches of a plan leave each other, at a multiple of 256 bytes.
    pub scratch: Memory,
    /// State of the plan's protocol, at a multiple of 256 bytes: zero before it is first used by a plan with this protocol, and used by
    /// no other.
    pub state: Memory,
}

impl Space {
    /// Scratch memory and state.
    pub const fn new(scratch: Memory, state: Memory) -> Space {
        Space { scratch, state }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_overlap_where_they_share_a_byte() {
        let at = |address, bytes| Memory { address, bytes };
        assert!(at(0, 8).overlaps(at(7, 1)) && at(7, 1).overlaps(at(0, 8)));
        assert!(!at(0, 8).overlaps(at(8, 8)) && !at(0, 8).overlaps(at(3, 0)));
        assert!(at(u64::MAX - 3, 8).overlaps(at(u64::MAX - 1, 1)), "without an end in 64 bits");
    }
}
