//! Declarations: registers get rows, variables get offsets.

use ptx::{Function, Immediate, Initializer, Item, RegisterDecl, Space, Type, Variable};

use super::{Binding, Lower};
use crate::code::{ModuleVariable, SharedVariable};
use crate::memory::{LOCAL_BASE, SHARED_BASE};
use crate::program::LoadError;

/// Which file a register's declared width puts it in: 0 for 32 bits and less, 1 for 64, 2 for predicates.
fn file_of(ty: Type) -> usize {
    match ty.size_bytes() {
        0 => 2,
        8.. => 1,
        _ => 0,
    }
}

/// Registers of a body and its nested scopes, per file.
pub(super) fn count_registers(items: &[Item]) -> [u32; 3] {
    let mut counts = [0u32; 3];
    for item in items {
        match item {
            Item::Register(decl) => {
                let count = &mut counts[file_of(decl.ty)];
                *count = count.saturating_add(decl.count.unwrap_or(1));
            }
            Item::Block(inner) => {
                for (sum, n) in counts.iter_mut().zip(count_registers(inner)) {
                    *sum = sum.saturating_add(n);
                }
            }
            _ => {}
        }
    }
    counts
}

/// The last name inside a mangled one: `_ZZ15unroll_shuffleIiEvPKT_PS0_jE4sums` is `sums` to the reader.
pub(crate) fn last_name(mangled: &str) -> String {
    if !mangled.starts_with("_Z") {
        return mangled.to_owned();
    }
    let bytes = mangled.as_bytes();
    // The last <length><identifier> whose identifier ends the string.
    (2..bytes.len())
        .filter(|&at| bytes[at].is_ascii_digit() && !bytes[at - 1].is_ascii_digit())
        .find_map(|at| {
            let digits: String = mangled[at..].chars().take_while(char::is_ascii_digit).collect();
            let start = at + digits.len();
            let length: usize = digits.parse().ok()?;
            (length > 0 && start + length == mangled.len()).then(|| mangled[start..].to_owned())
        })
        .unwrap_or_else(|| mangled.to_owned())
}

fn size_of(variable: &Variable) -> u64 {
    let element = u64::from(variable.ty.size_bytes().max(1)) * u64::from(variable.vector.max(1));
    variable.dims.iter().fold(element, |bytes, &dim| bytes.saturating_mul(dim))
}

/// `.b8` arrays hide their element: the alignment is the best guess at what reports should count in.
fn element_of(variable: &Variable) -> u32 {
    let declared = variable.ty.size_bytes().max(1);
    if declared == 1 && !variable.dims.is_empty() { variable.align_bytes.clamp(1, 8) } else { declared }
}

impl Lower<'_> {
    pub(super) fn bind_params(&mut self, function: &Function) {
        let mut offset = 0u32;
        for param in &function.params {
            offset = offset.next_multiple_of(param.align_bytes.max(1));
            let bytes = size_of(param) as u32;
            self.scopes[0].names.insert(param.name.clone(), Binding::Param { offset, bytes });
            offset += bytes;
        }
    }

    pub(super) fn bind_register(&mut self, decl: &RegisterDecl) -> Result<(), LoadError> {
        if decl.vector > 1 || decl.ty.size_bytes() > 8 {
            let message = format!("unsupported register declaration of {}", decl.name);
            return Err(self.unsupported(decl.span.line, message));
        }
        let next = match file_of(decl.ty) {
            0 => &mut self.next32,
            1 => &mut self.next64,
            _ => &mut self.next_predicate,
        };
        let first = *next as u16;
        *next += decl.count.unwrap_or(1);
        let binding = match file_of(decl.ty) {
            0 => Binding::Row32(first),
            1 => Binding::Row64(first),
            _ => Binding::Predicate(first),
        };
        let scope = &mut self.scopes[self.scope];
        match decl.count {
            Some(count) => drop(scope.ranges.insert(decl.name.clone(), (count, binding))),
            None => drop(scope.names.insert(decl.name.clone(), binding)),
        }
        Ok(())
    }

    pub(super) fn bind_variable(&mut self, variable: &Variable) -> Result<(), LoadError> {
        let binding = match variable.space {
            Space::Shared => self.shared_variable(variable)?,
            Space::Local => {
                let offset = self.code.local_bytes.next_multiple_of(variable.align_bytes.max(1));
                let end = u64::from(offset) + size_of(variable);
                if end > 512 << 10 {
                    return Err(
                        self.unsupported(variable.span.line, "more than 512 KiB of local memory a thread".into())
                    );
                }
                self.code.local_bytes = end as u32;
                Binding::Local(offset)
            }
            Space::Global | Space::Const => self.module_variable(variable)?,
            Space::Param | Space::Reg => {
                return Err(self.unsupported(variable.span.line, "unsupported parameter variable inside a body".into()));
            }
        };
        self.scopes[self.scope].names.insert(variable.name.clone(), binding);
        Ok(())
    }

    /// Binds a module-scope variable on first use.
    pub(super) fn module_binding(&mut self, name: &str) -> Result<Option<Binding>, LoadError> {
        let Some(variable) = self.module.variables.iter().find(|v| v.name == name) else {
            return Ok(None);
        };
        let binding = match variable.space {
            Space::Shared => self.shared_variable(variable)?,
            Space::Global | Space::Const => self.module_variable(variable)?,
            _ => return Ok(None),
        };
        self.scopes[0].names.insert(name.to_owned(), binding.clone());
        Ok(Some(binding))
    }

    fn shared_variable(&mut self, variable: &Variable) -> Result<Binding, LoadError> {
        let bytes = size_of(variable);
        let align = variable.align_bytes.max(1);
        if bytes == 0 {
            self.code.dynamic_align_bytes = self.code.dynamic_align_bytes.max(align);
            let name = last_name(&variable.name);
            self.code.shared.push(SharedVariable {
                name,
                offset: u32::MAX,
                bytes: 0,
                element_bytes: element_of(variable),
            });
            return Ok(Binding::Dynamic);
        }
        let offset = self.code.shared_bytes.next_multiple_of(align);
        let end = u64::from(offset) + bytes;
        if end > 227 << 10 {
            let message = format!("{end} bytes of static shared memory; a block has at most 227 KiB");
            return Err(self.unsupported(variable.span.line, message));
        }
        self.code.shared_bytes = end as u32;
        let element_bytes = element_of(variable);
        let name = last_name(&variable.name);
        self.code.shared.push(SharedVariable { name, offset, bytes: bytes as u32, element_bytes });
        Ok(Binding::Shared(offset))
    }

    fn module_variable(&mut self, variable: &Variable) -> Result<Binding, LoadError> {
        let mut bytes = vec![0u8; size_of(variable).min(1 << 30) as usize];
        let width = variable.ty.size_bytes().max(1) as usize;
        for (slot, init) in bytes.chunks_exact_mut(width).zip(&variable.init) {
            let Initializer::Value(value) = init else {
                let message =
                    format!("{} is initialised with an address, which the simulator does not place yet", variable.name);
                return Err(self.unsupported(variable.span.line, message));
            };
            let raw = match *value {
                Immediate::Int(v) => v as u64,
                Immediate::F32(v) => u64::from(v),
                Immediate::F64(v) if width == 4 => u64::from((f64::from_bits(v) as f32).to_bits()),
                Immediate::F64(v) => v,
            };
            slot.copy_from_slice(&raw.to_le_bytes()[..width]);
        }
        let index = self.code.variables.len() as u32;
        self.code.variables.push(ModuleVariable {
            name: last_name(&variable.name),
            symbol: variable.name.clone(),
            bytes,
            element_bytes: element_of(variable),
        });
        Ok(Binding::Variable(index))
    }
}

/// Generic address of the start of a state space's window.
pub(super) fn window(space: Space) -> u64 {
    match space {
        Space::Shared => SHARED_BASE,
        Space::Local => LOCAL_BASE,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::last_name;

    #[test]
    fn mangled_names_end_in_the_readers_name() {
        assert_eq!(last_name("_ZZ15unroll_shuffleIiEvPKT_PS0_jE4sums"), "sums");
        assert_eq!(last_name("_ZZ3fooE1a"), "a");
        assert_eq!(last_name("_ZN2ns5tableE"), "_ZN2ns5tableE");
        assert_eq!(last_name("smem"), "smem");
    }
}
