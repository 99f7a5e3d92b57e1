//! The tree back to text, in one canonical layout: parsing what is printed gives the same tree, spans apart.

use std::fmt::{self, Display, Formatter};

use crate::ast::*;

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.version;
        let debug = if self.debug { ", debug" } else { "" };
        writeln!(
            f,
            ".version {major}.{minor}\n.target {}{debug}\n.address_size {}",
            self.target, self.address_size_bits
        )?;
        for source in &self.sources {
            writeln!(f, ".file {} \"{}\"", source.index, source.path)?;
        }
        for variable in &self.variables {
            writeln!(f, "{variable};")?;
        }
        for function in &self.functions {
            writeln!(f, "\n{function}")?;
        }
        for Alias { name, function } in &self.aliases {
            writeln!(f, "\n.alias {name}, {function};")?;
        }
        Ok(())
    }
}

impl Display for Linkage {
    /// The directive and a blank, or nothing.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Linkage::Local => "",
            Linkage::Visible => ".visible ",
            Linkage::Extern => ".extern ",
            Linkage::Weak => ".weak ",
            Linkage::Common => ".common ",
        })
    }
}

impl Display for Space {
    /// The name without a dot: `shared`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Display for Type {
    /// The name without a dot: `f32`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Display for Variable {
    /// The declaration without its `;`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{} .align {} ", self.linkage, self.space, self.align_bytes)?;
        if self.vector > 1 {
            write!(f, ".v{} ", self.vector)?;
        }
        write!(f, ".{} ", self.ty)?;
        if let Some(pointer) = self.pointer {
            f.write_str(".ptr ")?;
            if let Some(space) = pointer.space {
                write!(f, ".{space} ")?;
            }
            if let Some(bytes) = pointer.align_bytes {
                write!(f, ".align {bytes} ")?;
            }
        }
        f.write_str(&self.name)?;
        for &size in &self.dims {
            match size {
                0 => f.write_str("[]")?,
                _ => write!(f, "[{size}]")?,
            }
        }
        match self.init.as_slice() {
            [] => Ok(()),
            [value] if self.dims.is_empty() => write!(f, " = {value}"),
            values => write!(f, " = {{{}}}", Separated(values)),
        }
    }
}

impl Display for Initializer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Initializer::Value(value) => write!(f, "{value}"),
            Initializer::Address { symbol, offset, generic, mask } => {
                if let Some(mask) = mask {
                    write!(f, "{mask:#x}(")?;
                }
                match generic {
                    true => write!(f, "generic({symbol})")?,
                    false => f.write_str(symbol)?,
                }
                if *offset != 0 {
                    write!(f, "+{offset}")?;
                }
                f.write_str(if mask.is_some() { ")" } else { "" })
            }
        }
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{} ", self.linkage, if self.is_entry { ".entry" } else { ".func" })?;
        if !self.returns.is_empty() {
            write!(f, "({}) ", Separated(&self.returns))?;
        }
        write!(f, "{}({})", self.name, Separated(&self.params))?;
        for (name, numbers) in &self.directives {
            write!(f, "\n.{name} {}", Separated(numbers))?;
        }
        match &self.body {
            None => f.write_str(";"),
            Some(items) => {
                f.write_str("\n")?;
                print_block(f, items, 0, &mut None)
            }
        }
    }
}

/// Prints a scope; `loc` is the source line that the text so far has announced.
fn print_block(f: &mut Formatter<'_>, items: &[Item], depth: usize, loc: &mut Option<Loc>) -> fmt::Result {
    let indent = "    ".repeat(depth);
    writeln!(f, "{indent}{{")?;
    for item in items {
        match item {
            Item::Register(register) => writeln!(f, "{indent}    {register};")?,
            Item::Variable(variable) => writeln!(f, "{indent}    {variable};")?,
            Item::Label(name, _) => writeln!(f, "{indent}{name}:")?,
            Item::Instruction(instruction) => {
                if *loc != instruction.loc {
                    *loc = instruction.loc;
                    let Loc { file, line, column } = loc.unwrap_or(Loc { file: 0, line: 0, column: 0 });
                    writeln!(f, "{indent}    .loc {file} {line} {column}")?;
                }
                writeln!(f, "{indent}    {instruction};")?;
            }
            Item::Block(items) => {
                print_block(f, items, depth + 1, loc)?;
                f.write_str("\n")?;
            }
            Item::BranchTargets(name, targets) => {
                writeln!(f, "{indent}{name}: .branchtargets {};", Separated(targets))?;
            }
            Item::CallTargets(name, targets) => writeln!(f, "{indent}{name}: .calltargets {};", Separated(targets))?,
            Item::CallPrototype(prototype) => writeln!(f, "{indent}{prototype};")?,
        }
    }
    write!(f, "{indent}}}")
}

impl Display for Prototype {
    /// The label and the prototype without its `;`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: .callprototype ", self.name)?;
        if !self.returns.is_empty() {
            write!(f, "({}) ", Separated(&self.returns))?;
        }
        write!(f, "_ ({})", Separated(&self.params))?;
        for (name, numbers) in &self.directives {
            write!(f, " .{name} {}", Separated(numbers))?;
        }
        Ok(())
    }
}

impl Display for RegisterDecl {
    /// The declaration without its `;`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(".reg ")?;
        if self.vector > 1 {
            write!(f, ".v{} ", self.vector)?;
        }
        write!(f, ".{} {}", self.ty, self.name)?;
        match self.count {
            Some(count) => write!(f, "<{count}>"),
            None => Ok(()),
        }
    }
}

impl Display for Instruction {
    /// The instruction without its `;`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(guard) = &self.guard {
            write!(f, "@{}{} ", if guard.negated { "!" } else { "" }, guard.register)?;
        }
        f.write_str(&self.opcode)?;
        if self.operands.is_empty() { Ok(()) } else { write!(f, " {}", Separated(&self.operands)) }
    }
}

impl Display for Immediate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Immediate::Int(value) => write!(f, "{value}"),
            Immediate::F32(bits) => write!(f, "0f{bits:08X}"),
            Immediate::F64(bits) => write!(f, "0d{bits:016X}"),
        }
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Name(name) => f.write_str(name),
            Operand::Not(name) => write!(f, "!{name}"),
            Operand::Immediate(value) => write!(f, "{value}"),
            Operand::Address { .. } => {
                f.write_str("[")?;
                print_address(f, self)?;
                f.write_str("]")
            }
            Operand::Vector(elements) => write!(f, "{{{}}}", Separated(elements)),
            Operand::Pair(first, second) => write!(f, "{first}|{second}"),
            Operand::Sink => f.write_str("_"),
            // Coordinates of a texture or tensor stand inside the brackets, behind the address.
            Operand::List(parts) => match parts.split_first() {
                Some((address @ Operand::Address { .. }, rest)) => {
                    f.write_str("[")?;
                    print_address(f, address)?;
                    write!(f, ", {}]", Separated(rest))
                }
                _ => write!(f, "({})", Separated(parts)),
            },
            Operand::Offset(name, offset) => write!(f, "{name}+{offset}"),
            Operand::Index(name, index) => write!(f, "{name}[{index}]"),
        }
    }
}

/// Prints the text between the brackets of an address.
fn print_address(f: &mut Formatter<'_>, operand: &Operand) -> fmt::Result {
    match operand {
        Operand::Address { base: Some(base), offset: 0 } => f.write_str(base),
        Operand::Address { base: Some(base), offset } => write!(f, "{base}+{offset}"),
        Operand::Address { base: None, offset } => write!(f, "{offset}"),
        other => write!(f, "{other}"),
    }
}

/// `a, b, c`
struct Separated<'a, T>(&'a [T]);

impl<T: Display> Display for Separated<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (at, element) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{element}")?;
        }
        Ok(())
    }
}
