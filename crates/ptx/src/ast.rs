//! The syntax tree: what a PTX file says, nothing of what it means when run.

use std::sync::Arc;

use crate::table::Spec;

/// A range of bytes in the PTX text, and the line it starts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// Line of the first byte, from 1.
    pub line: u32,
}

/// One PTX file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Module {
    /// The name given to [`crate::parse`].
    pub file: String,
    /// `.version major.minor`.
    pub version: (u8, u8),
    /// `.target` as written, first entry: `sm_80`.
    pub target: String,
    /// `debug` stands beside the target: nothing is optimised when the PTX becomes machine code.
    pub debug: bool,
    /// `.address_size`, 32 or 64 bits.
    pub address_size_bits: u8,
    /// `.file` directives: number and path of the source files that `.loc` names.
    pub sources: Vec<SourceFile>,
    /// Module-scope variables: `.global`, `.const`, `.shared`, `.extern .shared`.
    pub variables: Vec<Variable>,
    /// Entries and device functions in file order; declarations without a body included.
    pub functions: Vec<Function>,
    /// `.alias` directives.
    pub aliases: Vec<Alias>,
}

/// `.alias name, function;`: a second name of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    /// The second name.
    pub name: String,
    /// The function that it stands for.
    pub function: String,
}

/// A `.file` directive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// The number that `.loc` uses.
    pub index: u32,
    /// The path as written.
    pub path: String,
}

/// `.visible`, `.extern`, `.weak`, `.common`, or nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)] // named after PTX
pub enum Linkage {
    /// No linkage directive.
    #[default]
    Local,
    Visible,
    Extern,
    Weak,
    Common,
}

/// A state space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // named after PTX
pub enum Space {
    Reg,
    Param,
    Const,
    Global,
    Local,
    Shared,
}

/// A fundamental type of PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // each variant is the PTX type of that name
#[rustfmt::skip]
pub enum Type {
    B8, B16, B32, B64, B128,
    U8, U16, U32, U64,
    S8, S16, S32, S64,
    F16, F16x2, Bf16, Bf16x2, F32, F64,
    Pred,
}

/// A variable or parameter declaration.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// State space.
    pub space: Space,
    /// `.extern`, `.visible`, …
    pub linkage: Linkage,
    /// Element type.
    pub ty: Type,
    /// `.v2`, `.v4`, else 1.
    pub vector: u8,
    /// `.align` in bytes, or the natural alignment of the type (times the vector).
    pub align_bytes: u32,
    /// Its name.
    pub name: String,
    /// Array dimensions, outermost first; empty for a scalar; `[0]` for `.extern x[]`. The size of `x[] = {…}` is that
    /// of its initialiser.
    pub dims: Vec<u64>,
    /// Flattened initialiser; empty when there is none. Missing trailing elements are zero.
    pub init: Vec<Initializer>,
    /// For a kernel parameter: `.ptr` with its space and alignment, if written.
    pub pointer: Option<PointerInfo>,
    /// Place in the text.
    pub span: Span,
}

/// `.ptr .global .align 4` of a kernel parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointerInfo {
    /// The space it points to, if written.
    pub space: Option<Space>,
    /// Alignment of what it points to, in bytes, if written.
    pub align_bytes: Option<u32>,
}

/// One element of an initialiser.
#[derive(Debug, Clone, PartialEq)]
pub enum Initializer {
    /// A number.
    Value(Immediate),
    /// The address of another symbol plus an offset in bytes; `generic` for `generic(x)`.
    Address {
        /// The symbol.
        symbol: String,
        /// Bytes added to its address.
        offset: i64,
        /// Written as `generic(symbol)`.
        generic: bool,
        /// `0xFF00(symbol)`: only these bits of the address, moved down to bit 0.
        mask: Option<u64>,
    },
}

/// An `.entry` or `.func`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Function {
    /// True for `.entry`: a kernel.
    pub is_entry: bool,
    /// `.visible`, `.extern`, `.weak`, or nothing.
    pub linkage: Linkage,
    /// Its name as in the file (mangled for C++).
    pub name: String,
    /// Return parameters of a `.func`.
    pub returns: Vec<Variable>,
    /// Parameters in order.
    pub params: Vec<Variable>,
    /// `.maxntid`, `.reqntid`, `.minnctapersm`, `.maxnreg`, `.noreturn`, …: name without dot, and its numbers.
    pub directives: Vec<(String, Vec<u64>)>,
    /// The body, or `None` for a declaration.
    pub body: Option<Vec<Item>>,
    /// Place of the name in the text.
    pub span: Span,
}

impl Function {
    /// Everything in its body in order, and in the scopes nested there; nothing without a body.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        let mut scopes = vec![self.body.as_deref().unwrap_or_default().iter()];
        std::iter::from_fn(move || {
            loop {
                match scopes.last_mut()?.next() {
                    Some(Item::Block(inner)) => scopes.push(inner.iter()),
                    None => drop(scopes.pop()),
                    item => return item,
                }
            }
        })
    }

    /// Its instructions, likewise.
    pub fn instructions(&self) -> impl Iterator<Item = &Instruction> {
        self.items().filter_map(|item| match item {
            Item::Instruction(instruction) => Some(&**instruction),
            _ => None,
        })
    }
}

/// Item of a body.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// `.reg .b32 %r<20>;` or `.reg .f16 low, high;` (one item a name).
    Register(RegisterDecl),
    /// `.shared`, `.local`, `.param` or `.const` variable of the body.
    Variable(Variable),
    /// `name:`
    Label(String, Span),
    /// An instruction. Boxed to keep the enum small.
    Instruction(Box<Instruction>),
    /// `{ … }`: a nested scope, as inline assembly and calls make them. Its registers and variables are its own.
    Block(Vec<Item>),
    /// `name: .branchtargets a, b, c;`
    BranchTargets(String, Vec<String>),
    /// `name: .calltargets a, b;`
    CallTargets(String, Vec<String>),
    /// `name: .callprototype (…) _ (…);`
    CallPrototype(Box<Prototype>),
}

/// Parameters and return values of the functions that an indirect call may reach.
#[derive(Debug, Clone, PartialEq)]
pub struct Prototype {
    /// Its label.
    pub name: String,
    /// Return parameters.
    pub returns: Vec<Variable>,
    /// Parameters in order.
    pub params: Vec<Variable>,
    /// `.noreturn` and the like, as in [`Function::directives`].
    pub directives: Vec<(String, Vec<u64>)>,
}

/// One register declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterDecl {
    /// Declared type: tells the width only, see the crate's head.
    pub ty: Type,
    /// `.v2`, `.v4`, else 1.
    pub vector: u8,
    /// Name, `%r` for the range `%r<20>`.
    pub name: String,
    /// `Some(20)` for `%r<20>`: declares `%r0` … `%r19`.
    pub count: Option<u32>,
    /// Place in the text.
    pub span: Span,
}

/// A line of the CUDA source, from `.loc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Loc {
    /// Number of the `.file`.
    pub file: u32,
    /// Line, from 1. Instructions under `.loc f 0 c` (made by the compiler, no line) carry no `Loc`.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// `@p` or `@!p`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// The predicate register.
    pub register: String,
    /// Written with `!`.
    pub negated: bool,
}

/// One instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct Instruction {
    /// `@p`, if any.
    pub guard: Option<Guard>,
    /// Its line of the table.
    pub spec: &'static Spec,
    /// The opcode as written: `ld.global.nc.v4.f32`.
    pub opcode: String,
    /// Modifiers after the mnemonic, split at dots: `["global", "nc", "v4", "f32"]`. `::` stays inside a part (`L1::no_allocate`).
    pub modifiers: Vec<String>,
    /// Operands in order; for `call` see [`Operand::List`].
    pub operands: Vec<Operand>,
    /// The CUDA source line (the innermost function's, when inlined), if line information is there.
    pub loc: Option<Loc>,
    /// The lines of the calls that brought `loc` here by inlining, from the innermost outwards; empty without inlining.
    /// `Display` leaves them out: the names that PTX wants beside them lie in a debug section, which is not kept.
    pub callers: Arc<[Loc]>,
    /// Place in the text.
    pub span: Span,
}

impl Instruction {
    /// Returns whether `modifier` is one of the opcode's parts.
    pub fn has(&self, modifier: &str) -> bool {
        self.modifiers.iter().any(|m| m == modifier)
    }

    /// What stands beside the first word of `choices` that is one of the opcode's parts.
    pub fn choose<T: Copy>(&self, choices: &[(&str, T)]) -> Option<T> {
        choices.iter().find(|(word, _)| self.has(word)).map(|&(_, choice)| choice)
    }

    /// The modifiers that are types, in order: one for most, two for `cvt`, `set`, `slct` (destination first).
    pub fn types(&self) -> impl DoubleEndedIterator<Item = Type> + '_ {
        self.modifiers.iter().filter_map(|m| Type::from_name(m))
    }
}

/// A literal. PTX integers are 64 bits wide; `0f…` and `0d…` are bit patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Immediate {
    /// An integer, sign-extended into 128 bits (so `0xFFFFFFFFFFFFFFFF` and `-1` differ).
    Int(i128),
    /// `0f3F800000`: bits of a float.
    F32(u32),
    /// `0d3FF0000000000000` or a decimal such as `1.5`: bits of a double.
    F64(u64),
}

/// An operand.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// A register, special register (`%tid.x`), variable, function or label: which one is for the lowering to know.
    /// (`WARP_SZ` is a number: 32.)
    /// Vector components keep their suffix (`%tid.x`).
    Name(String),
    /// `!%p1`
    Not(String),
    /// A number.
    Immediate(Immediate),
    /// `[base+offset]`
    Address {
        /// A register or a symbol; `None` for an absolute address (`[16]`).
        base: Option<String>,
        /// Bytes added.
        offset: i64,
    },
    /// `{%f1, %f2, _, 0f00000000}`
    Vector(Vec<Operand>),
    /// `%r1|%p1`
    Pair(Box<Operand>, Box<Operand>),
    /// `_`
    Sink,
    /// `(a, b)` of `call`: operands are `[List(returns)?, Name(function), List(args)?, Name(prototype)?]`.
    /// For other instructions `[map, {x, y}]`: an address and the coordinates of a texture or tensor.
    List(Vec<Operand>),
    /// `name+offset` outside brackets, as in `mov.u64 %rd1, table+16`.
    Offset(String, i64),
    /// `name[index]` outside brackets, as in `mov.u64 %rd1, table[2]`: the address of an element.
    Index(String, i64),
}

impl Type {
    /// Size in bytes; 0 for a predicate.
    pub const fn size_bytes(self) -> u32 {
        match self {
            Type::B8 | Type::U8 | Type::S8 => 1,
            Type::B16 | Type::U16 | Type::S16 | Type::F16 | Type::Bf16 => 2,
            Type::B32 | Type::U32 | Type::S32 | Type::F32 | Type::F16x2 | Type::Bf16x2 => 4,
            Type::B64 | Type::U64 | Type::S64 | Type::F64 => 8,
            Type::B128 => 16,
            Type::Pred => 0,
        }
    }

    /// The type of this name without its dot (`s32`).
    pub fn from_name(name: &str) -> Option<Type> {
        TYPES.iter().find(|(_, of)| *of == name).map(|&(ty, _)| ty)
    }

    /// Its name without the dot.
    pub const fn name(self) -> &'static str {
        TYPES[self as usize].1
    }
}

/// The types in the order of the enumeration, and their names.
#[rustfmt::skip]
const TYPES: [(Type, &str); 20] = [
    (Type::B8, "b8"), (Type::B16, "b16"), (Type::B32, "b32"), (Type::B64, "b64"), (Type::B128, "b128"),
    (Type::U8, "u8"), (Type::U16, "u16"), (Type::U32, "u32"), (Type::U64, "u64"),
    (Type::S8, "s8"), (Type::S16, "s16"), (Type::S32, "s32"), (Type::S64, "s64"),
    (Type::F16, "f16"), (Type::F16x2, "f16x2"), (Type::Bf16, "bf16"), (Type::Bf16x2, "bf16x2"),
    (Type::F32, "f32"), (Type::F64, "f64"), (Type::Pred, "pred"),
];

impl Space {
    /// Its name without the dot.
    pub const fn name(self) -> &'static str {
        match self {
            Space::Reg => "reg",
            Space::Param => "param",
            Space::Const => "const",
            Space::Global => "global",
            Space::Local => "local",
            Space::Shared => "shared",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_stand_in_the_order_of_their_names() {
        for (ty, name) in TYPES {
            assert_eq!(ty.name(), name);
            assert_eq!(Type::from_name(name), Some(ty));
        }
        assert_eq!(Type::from_name("f128"), None);
    }
}
