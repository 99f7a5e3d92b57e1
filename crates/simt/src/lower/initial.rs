//! Module variables: their size, their initial bytes, and the addresses among these.

use ptx::{Immediate, Initializer, Linkage, Space, Variable};

use super::graph::function_named;
use super::variables::{element_of, last_name, size_of};
use super::{Binding, Lower};
use crate::code::{ModuleVariable, Relocation, function_address};
use crate::program::LoadError;

/// Largest size of a variable in bytes, that of a buffer.
const VARIABLE_BYTES_MAX: u64 = 1 << 36;

impl Lower<'_> {
    /// Adds a `.global` or `.const` variable; `symbol` names it within the module.
    pub(super) fn module_variable(&mut self, variable: &Variable, symbol: &str) -> Result<Binding, LoadError> {
        let line = variable.span.line;
        let bytes = size_of(variable);
        if variable.linkage == Linkage::Extern {
            let message =
                format!("{} is defined in no PTX file given: name the PTX file that defines it too", variable.name);
            return Err(self.unsupported(line, message));
        }
        if bytes >= VARIABLE_BYTES_MAX {
            return Err(self.unsupported(line, format!("a variable of {bytes} bytes")));
        }
        let index = self.code.variables.len();
        self.code.variables.push(ModuleVariable {
            name: last_name(&variable.name),
            symbol: symbol.to_owned(),
            bytes,
            element_bytes: element_of(variable),
            is_const: variable.space == Space::Const,
            ..ModuleVariable::default()
        });
        // Bound before its initial value is looked at: that may be an address that leads back here.
        self.scopes[0].names.entry(symbol.to_owned()).or_insert(Binding::Variable(index as u32));
        let width = variable.ty.size_bytes().max(1) as usize;
        let mut init = vec![0u8; width * variable.init.len()];
        let mut relocations = Vec::new();
        for (place, value) in variable.init.iter().enumerate() {
            let slot = &mut init[place * width..][..width];
            match value {
                Initializer::Value(value) => number(*value, slot),
                Initializer::Address { symbol, offset, mask, .. } => {
                    let mask = mask.unwrap_or(u64::MAX);
                    let at = (place * width) as u64;
                    let relocation =
                        Relocation { at, bytes: width.min(8) as u8, symbol: symbol.clone(), offset: *offset, mask };
                    if let Some(relocation) = self.address_value(relocation, slot, line)? {
                        relocations.push(relocation);
                    }
                }
            }
        }
        (self.code.variables[index].init, self.code.variables[index].relocations) = (init, relocations);
        Ok(Binding::Variable(index as u32))
    }

    /// An address in an initialiser: a function's is known now, a variable's when it has been placed.
    fn address_value(
        &mut self,
        relocation: Relocation,
        slot: &mut [u8],
        line: u32,
    ) -> Result<Option<Relocation>, LoadError> {
        let whole = relocation.mask == u64::MAX;
        let bits = (relocation.mask >> relocation.mask.trailing_zeros()).count_ones();
        if (whole && relocation.bytes != 8) || (!whole && bits > 8 * u32::from(relocation.bytes)) {
            let message = format!("the address of {} in an element of {} bytes", relocation.symbol, relocation.bytes);
            return Err(self.unsupported(line, message));
        }
        let space = self.module.variables.iter().find(|v| v.name == relocation.symbol).map(|v| v.space);
        match space {
            Some(Space::Global | Space::Const) => {
                self.module_binding(&relocation.symbol)?;
                Ok(Some(relocation))
            }
            Some(_) => {
                let message = format!("the address of {}, which lies in shared memory", relocation.symbol);
                Err(self.unsupported(line, message))
            }
            None => match function_named(self.module, &relocation.symbol) {
                Some(function) => {
                    let value = function_address(function).wrapping_add_signed(relocation.offset);
                    let value = (value & relocation.mask) >> relocation.mask.trailing_zeros();
                    let width = slot.len().min(8);
                    slot[..width].copy_from_slice(&value.to_le_bytes()[..width]);
                    Ok(None)
                }
                None => Err(self.unsupported(line, format!("{} is not declared", relocation.symbol))),
            },
        }
    }
}

/// The bytes of a number as an element as wide as `slot` holds it.
fn number(value: Immediate, slot: &mut [u8]) {
    let width = slot.len();
    let raw = match value {
        Immediate::Int(v) => v,
        Immediate::F32(v) => i128::from(v),
        Immediate::F64(v) if width == 4 => i128::from((f64::from_bits(v) as f32).to_bits()),
        Immediate::F64(v) => i128::from(v),
    };
    slot.copy_from_slice(&raw.to_le_bytes()[..width]);
}
