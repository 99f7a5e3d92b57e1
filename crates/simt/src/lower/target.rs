//! Checks that an assembler makes first: the target and the version of PTX have the instructions, and the constants fit.

use ptx::table::{NO_TARGET, Needs, needs};
use ptx::{Function, Instruction, Module, Operand, Space};

use super::variables::size_of;
use super::{Binding, Lower};
use crate::program::LoadError;

/// Bytes of constants that a file may declare.
const CONST_BYTES_MAX: u64 = 64 << 10;

/// Numbers of the targets of the family that has `redux` of floats, with a letter behind.
const FAMILY: [u32; 3] = [100, 103, 107];

/// The number in `.target sm_90a`.
fn number(target: &str) -> Option<u32> {
    target.strip_prefix("sm_")?.trim_end_matches(|c: char| c.is_ascii_lowercase()).parse().ok()
}

/// Clause that says what to write in the head of `module` so that it has `needs`; `None` if it has. Targets before sm_50 are not
/// told apart.
fn lacks(module: &Module, needs: Needs) -> Option<String> {
    let (target, has) = (&module.target, number(&module.target)?);
    let (major, minor) = module.version;
    let version = major.saturating_mul(10).saturating_add(minor);
    let mut clauses = Vec::new();
    if needs.sm == NO_TARGET {
        return Some("is no PTX: no target has it with these words".to_owned());
    }
    if needs.family && !(FAMILY.contains(&has) && target.ends_with(['a', 'f'])) {
        let sm = needs.sm;
        clauses.push(format!(".target sm_{sm}a (or sm_{sm}f, sm_103a, sm_107a and the like), not {target}"));
    } else if has < u32::from(needs.sm) && has >= 50 {
        clauses.push(format!(".target sm_{} or higher, not {target}", needs.sm));
    }
    if version < needs.version {
        clauses.push(format!(".version {}.{} or higher, not {major}.{minor}", needs.version / 10, needs.version % 10));
    }
    (!clauses.is_empty()).then(|| format!("needs {}", clauses.join(", and ")))
}

/// Returns whether an instruction of `mbarrier` has an order without a scope, or the other way round.
fn is_half_ordered(inst: &Instruction) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| inst.has(word));
    inst.spec.mnemonic == "mbarrier" && has(&["release", "acquire", "relaxed"]) != has(&["cta", "cluster"])
}

impl Lower<'_> {
    /// Returns whether the file is for targets whose warps go together.
    pub(super) fn is_before_volta(&self) -> bool {
        number(&self.module.target).is_some_and(|number| number < 70)
    }

    /// Refuses an instruction that the file's target or its version of PTX does not have.
    pub(super) fn check_target(&mut self, inst: &Instruction) -> Result<(), LoadError> {
        let opcode = &inst.opcode;
        if is_half_ordered(inst) {
            let message = format!("{opcode} is no PTX: an order and a scope stand together, as in `.release.cta`");
            return self.refuse(inst, message);
        }
        if super::spelling::is_without_sync(inst) && !self.is_before_volta() && self.module.version >= (6, 4) {
            return self.refuse(inst, without_sync(inst, &self.module.target));
        }
        let (count, target) = (format!("#{}", inst.operands.len()), format!("#{}", self.module.target));
        let mut words: Vec<&str> = inst.modifiers.iter().map(String::as_str).collect();
        words.extend(inst.operands.iter().filter_map(|operand| match operand {
            Operand::Name(name) if name.starts_with('%') => Some(name.as_str()),
            _ => None,
        }));
        words.extend([count.as_str(), target.as_str()]);
        if inst.spec.mnemonic == "cp"
            && let Some(Operand::Name(name)) = inst.operands.last()
            && let Some(Binding::Predicate(_)) = self.binding(name)?
        {
            words.push("#pred");
        }
        let needs = needs(inst.spec.mnemonic, &words);
        let instead =
            if needs.family { " (elsewhere: shfl.sync.bfly and an operation of two values, five times)" } else { "" };
        match lacks(self.module, needs) {
            Some(lacks) => self.refuse(inst, format!("{opcode} {lacks}{instead}")),
            None => Ok(()),
        }
    }

    /// Refuses a function whose directives the file's target or its version of PTX does not have.
    pub(super) fn check_directives(&self, function: &Function) -> Result<(), LoadError> {
        let lacking = function.directives.iter().find_map(|(name, _)| {
            let directive = format!(".{name}");
            lacks(self.module, needs(&directive, &[])).map(|lacks| format!("{directive} {lacks}"))
        });
        lacking.map_or(Ok(()), |message| Err(self.unsupported(function.span.line, message)))
    }

    /// Refuses constants that do not fit where a GPU has them.
    pub(super) fn check_constants(&self, module: &Module) -> Result<(), LoadError> {
        let mut end = 0u64;
        for variable in module.variables.iter().filter(|variable| variable.space == Space::Const) {
            end = end.next_multiple_of(u64::from(variable.align_bytes.max(1))).saturating_add(size_of(variable));
            if end > CONST_BYTES_MAX {
                let message = format!("{end} bytes of constants; a file has at most 64 KiB");
                return Err(self.unsupported(variable.span.line, message));
            }
        }
        Ok(())
    }
}

/// Message for `shfl` or `vote` without `.sync`, with the spelling to write.
fn without_sync(inst: &Instruction, target: &str) -> String {
    let (mnemonic, words) = (inst.spec.mnemonic, inst.modifiers.join("."));
    let cuda = match (mnemonic, inst.modifiers.first().map(String::as_str)) {
        ("shfl", Some("bfly")) => "__shfl_xor_sync".to_owned(),
        ("shfl", Some("idx")) => "__shfl_sync".to_owned(),
        ("shfl", Some(way)) => format!("__shfl_{way}_sync"),
        ("vote", Some("ballot")) => "__ballot_sync".to_owned(),
        (_, Some(way)) => format!("__{way}_sync"),
        (_, None) => format!("__{mnemonic}_sync"),
    };
    format!(
        "{} is gone from PTX 6.4 on for sm_70 and newer, and the file is for {target}: write {mnemonic}.sync.{words}, with the mask of \
         the lanes that take part as its last operand; in CUDA C++ {cuda}, with the mask first",
        inst.opcode
    )
}
