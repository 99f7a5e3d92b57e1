//! Declarations: registers get rows, variables get offsets.

use ptx::{Function, Item, Linkage, RegisterDecl, Space, Type, Variable};

use super::{Binding, Lower};
use crate::code::{RESERVED_SHARED_BYTES, SharedVariable};
use crate::memory::{LOCAL_BASE, LOCAL_BYTES_MAX, PARAM_BASE, SHARED_BASE};
use crate::program::LoadError;

/// Register file for a declared type: 0 for 32 bits and less, 1 for 64, 2 for predicates.
fn file_of(ty: Type) -> usize {
    match ty.size_bytes() {
        0 => 2,
        8.. => 1,
        _ => 0,
    }
}

/// Registers that a function declares, per file, and one more for addresses in its frame.
pub(super) fn count_registers(function: &Function) -> [u32; 3] {
    let mut counts = [0u32; 3];
    for item in function.items() {
        if let Item::Register(decl) = item {
            let count = &mut counts[file_of(decl.ty)];
            *count = count.saturating_add(rows_of(decl));
        }
    }
    let spares = super::spelling::spares(function);
    counts[..2].iter_mut().for_each(|count| *count = count.saturating_add(spares));
    if !function.is_entry {
        counts[1] = counts[1].saturating_add(1);
        for parameter in function.returns.iter().chain(&function.params).filter(|p| p.space == Space::Reg) {
            counts[file_of(parameter.ty)] = counts[file_of(parameter.ty)].saturating_add(1);
        }
    }
    counts
}

/// Rows that a declaration needs.
fn rows_of(decl: &RegisterDecl) -> u32 {
    let each = if decl.ty == Type::B128 { 2 } else { 1 } * u32::from(decl.vector);
    decl.count.unwrap_or(1).saturating_mul(each)
}

/// The last name inside a mangled one: `_ZZ15unroll_shuffleIiEvPKT_PS0_jE4sums` is `sums` to the reader.
pub(crate) fn last_name(mangled: &str) -> String {
    if !mangled.starts_with("_Z") {
        return mangled.to_owned();
    }
    let bytes = mangled.as_bytes();
    // Finds the <length><identifier> that ends the string.
    let mut at = 2;
    while at < bytes.len() {
        let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let start = at + digits;
        // `S0_` and `T1_` stand for what was there before, `Li4E` for a number.
        let counts =
            !matches!(bytes[at - 1], b'S' | b'T') && !(bytes[at - 2] == b'L' && bytes[at - 1].is_ascii_lowercase());
        let length = mangled[at..start].parse().ok().filter(|&length: &usize| length > 0 && counts);
        match length.and_then(|length| Some((length, mangled.get(start..start.checked_add(length)?)?))) {
            Some((length, name)) if is_end(&mangled[start + length..]) => return name.to_owned(),
            Some((length, _)) => at = start + length,
            None => at = start.max(at + 1),
        }
        while at < bytes.len() && !mangled.is_char_boundary(at) {
            at += 1;
        }
    }
    mangled.to_owned()
}

/// Returns whether nothing comes behind a name but the number that tells it from another one of its function: `_$_0`, `_1`.
fn is_end(rest: &str) -> bool {
    let number = rest.strip_prefix("_$_").or_else(|| rest.strip_prefix('_'));
    rest.is_empty() || number.is_some_and(|n| !n.is_empty() && n.bytes().all(|digit| digit.is_ascii_digit()))
}

/// The name of a function inside a mangled one: `_Z4areaP5Shape` is `area` to the reader, `_ZN3geo4areaEv` too.
pub(crate) fn function_name(mangled: &str) -> &str {
    let Some(rest) = mangled.strip_prefix("_Z") else { return mangled };
    let mut name = None;
    let nested = rest.starts_with('N');
    let mut rest = rest.trim_start_matches(['N', 'K', 'L']);
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let Some(length) = rest[..digits].parse().ok().filter(|&length: &usize| length > 0) else { break };
        let Some(part) = rest.get(digits..digits + length) else { break };
        name = Some(part);
        rest = &rest[digits + length..];
        if !nested {
            break;
        }
    }
    name.unwrap_or(mangled)
}

/// Most bytes that the parameters of a kernel take: CUDA's limit since 12.1.
const PARAMETER_BYTES_MAX: u64 = 32_764;

/// Bytes of a variable or a parameter.
pub(crate) fn size_of(variable: &Variable) -> u64 {
    let element = u64::from(variable.ty.size_bytes().max(1)) * u64::from(variable.vector.max(1));
    variable.dims.iter().fold(element, |bytes, &dim| bytes.saturating_mul(dim))
}

/// `.b8` arrays hide their element: the alignment is the best guess at what reports should count in.
pub(super) fn element_of(variable: &Variable) -> u32 {
    let declared = variable.ty.size_bytes().max(1);
    if declared == 1 && !variable.dims.is_empty() { variable.align_bytes.clamp(1, 8) } else { declared }
}

impl Lower<'_> {
    /// Places the parameters of a kernel as a launch does, which has nothing but their sizes and alignments.
    pub(super) fn bind_params(&mut self, function: &Function) -> Result<(), LoadError> {
        let mut end = 0u64;
        for param in &function.params {
            if param.ty == Type::Pred {
                let message = format!("unsupported parameter {}: a predicate has no place in memory", param.name);
                return Err(self.unsupported(param.span.line, message));
            }
            let (offset, bytes) = (end.next_multiple_of(u64::from(param.align_bytes.max(1))), size_of(param));
            end = offset.saturating_add(bytes);
            if end > PARAMETER_BYTES_MAX {
                let message =
                    format!("{} ends past the {PARAMETER_BYTES_MAX} bytes of parameters of a kernel", param.name);
                return Err(self.unsupported(param.span.line, message));
            }
            let binding = Binding::Param { offset: offset as u32, bytes: bytes as u32 };
            self.scopes[0].names.insert(param.name.clone(), binding);
        }
        Ok(())
    }

    pub(super) fn bind_register(&mut self, decl: &RegisterDecl) -> Result<(), LoadError> {
        if decl.vector > 1 {
            return self.bind_vector(decl);
        }
        let next = match file_of(decl.ty) {
            0 => &mut self.next32,
            1 => &mut self.next64,
            _ => &mut self.next_predicate,
        };
        let first = *next as u16;
        *next += rows_of(decl);
        let binding = match file_of(decl.ty) {
            1 if decl.ty == Type::B128 => Binding::Row128(first),
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
            Space::Local => self.local_variable(variable)?,
            Space::Global | Space::Const => {
                // A name of one body may stand in another one too.
                let symbol = format!("{}::{}", self.body.function.name, variable.name);
                let symbol = (0..).map(|n| format!("{symbol}{}", "'".repeat(n)));
                let taken = &self.scopes[0].names;
                let free = symbol.into_iter().find(|symbol| !taken.contains_key(symbol)).unwrap_or_default();
                self.module_variable(variable, &free)?
            }
            Space::Param => {
                let bytes = size_of(variable).min(1 << 30) as u32;
                let offset = self.take_frame(bytes, variable.span.line)?;
                Binding::Frame { offset, bytes }
            }
            Space::Reg => {
                return Err(self.unsupported(variable.span.line, "unsupported variable inside a body".into()));
            }
        };
        let scope = &mut self.scopes[self.scope];
        scope.elements.insert(variable.name.clone(), variable.ty.size_bytes().max(1) * u32::from(variable.vector));
        scope.names.insert(variable.name.clone(), binding);
        Ok(())
    }

    pub(super) fn local_variable(&mut self, variable: &Variable) -> Result<Binding, LoadError> {
        let align = variable.align_bytes.max(1);
        let offset = self.body.local_bytes.checked_next_multiple_of(align).unwrap_or(u32::MAX);
        let end = u64::from(offset) + size_of(variable);
        if end > u64::from(LOCAL_BYTES_MAX) || align > LOCAL_BYTES_MAX {
            return Err(self.unsupported(variable.span.line, "more than 512 KiB of local memory a thread".into()));
        }
        self.body.local_bytes = end as u32;
        self.local_align_bytes = self.local_align_bytes.max(align);
        match self.body.function.is_entry {
            true => Ok(Binding::Local(offset)),
            false => Ok(Binding::FrameLocal(offset)),
        }
    }

    /// Binds a module-scope variable, or a function, on first use.
    pub(super) fn module_binding(&mut self, name: &str) -> Result<Option<Binding>, LoadError> {
        if let Some(binding) = self.scopes[0].names.get(name) {
            return Ok(Some(binding.clone()));
        }
        // A declaration may stand beside its definition.
        let mut same = self.module.variables.iter().filter(|v| v.name == name);
        let first = same.clone().next();
        let Some(variable) = same.find(|v| v.linkage != Linkage::Extern).or(first) else {
            return Ok(self.function_binding(name));
        };
        let binding = match variable.space {
            Space::Shared => self.shared_variable(variable)?,
            Space::Global | Space::Const => self.module_variable(variable, name)?,
            _ => return Ok(None),
        };
        self.scopes[0].names.insert(name.to_owned(), binding.clone());
        Ok(Some(binding))
    }

    /// Keeps the start of shared memory free, as a driver does for its own ends.
    pub(super) fn reserve_shared(&mut self) {
        let bytes = RESERVED_SHARED_BYTES;
        (self.code.shared_bytes, self.code.reserved_bytes) = (bytes, bytes);
        self.code.shared.push(SharedVariable { name: "reserved".to_owned(), offset: 0, bytes, element_bytes: 4 });
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
                element_bytes: variable.ty.size_bytes().max(1),
            });
            return Ok(Binding::Dynamic);
        }
        let offset = self.code.shared_bytes.next_multiple_of(align);
        let end = u64::from(offset) + bytes;
        let own = end - u64::from(self.code.reserved_bytes);
        if own > 227 << 10 {
            let message = format!("{own} bytes of static shared memory; a block has at most 227 KiB");
            return Err(self.unsupported(variable.span.line, message));
        }
        self.code.shared_bytes = end as u32;
        let element_bytes = variable.ty.size_bytes().max(1);
        let name = last_name(&variable.name);
        self.code.shared.push(SharedVariable { name, offset, bytes: bytes as u32, element_bytes });
        Ok(Binding::Shared(offset))
    }
}

/// Generic address of the start of a state space's window; constants have their generic addresses everywhere.
pub(super) fn window(space: Space) -> u64 {
    match space {
        Space::Shared => SHARED_BASE,
        Space::Local => LOCAL_BASE,
        Space::Param => PARAM_BASE,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::{function_name, last_name};

    #[test]
    fn functions_are_named_as_the_reader_does() {
        assert_eq!(function_name("_Z9fibonaccii"), "fibonacci");
        assert_eq!(function_name("_ZN3geo4areaEv"), "area");
        assert_eq!(function_name("_ZNK6Square4areaEv"), "area");
        assert_eq!(function_name("_ZL5helpsv"), "helps");
        assert_eq!(function_name("plain"), "plain");
        assert_eq!(function_name("_Z99x"), "_Z99x");
    }

    #[test]
    fn mangled_names_end_in_the_readers_name() {
        assert_eq!(last_name("_ZZ15unroll_shuffleIiEvPKT_PS0_jE4sums"), "sums");
        assert_eq!(last_name("_ZZ3fooE1a"), "a");
        assert_eq!(last_name("_ZZ7reduce3E1s"), "s");
        assert_eq!(last_name("_ZZ3fooILi7EEvvE1s"), "s");
        assert_eq!(last_name("_ZZ7reduce3IPS0_EvT_E3buf"), "buf");
        assert_eq!(last_name("_ZN2ns5tableE"), "_ZN2ns5tableE");
        assert_eq!(last_name("smem"), "smem");
        assert_eq!(last_name("_ZZ10warp_queueE4base_$_0"), "base");
        assert_eq!(last_name("_ZZ10warp_queueE4base_1"), "base");
    }
}
