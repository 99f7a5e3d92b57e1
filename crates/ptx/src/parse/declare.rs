//! Declarations: variables, parameters, registers and their initialisers.

use super::{Parser, Result, space_of};
use crate::ast::{Immediate, Initializer, Linkage, PointerInfo, RegisterDecl, Space, Span, Type, Variable};
use crate::lex::Kind;

/// Place of a variable, which decides what may follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    /// Module scope or a body: several names, initialisers, `;` at the end.
    Module,
    /// A parameter list: one name, no initialiser.
    Parameter,
}

/// Specifiers between the state space and the name.
struct Specifiers {
    ty: Type,
    vector: u8,
    align_bytes: Option<u32>,
    pointer: Option<PointerInfo>,
}

impl Parser<'_> {
    /// `.space .align N .type a, b[4] = {..};`: one variable a name.
    pub(super) fn variables(&mut self, linkage: Linkage, place: Where) -> Result<Vec<Variable>> {
        let space = match space_of(self.peek()) {
            Some(space) if self.token.kind == Kind::Dot => space,
            _ => return Err(self.expected("a state space such as `.param`")),
        };
        self.advance()?;
        let specifiers = self.specifiers()?;
        let declarator = |p: &mut Self| p.declarator(space, linkage, &specifiers, place);
        match place {
            Where::Module => self.list(b';', "after the variable", declarator),
            Where::Parameter => Ok(vec![declarator(self)?]),
        }
    }

    fn specifiers(&mut self) -> Result<Specifiers> {
        let (mut ty, mut vector, mut align_bytes, mut pointer) = (None, 1, None, None);
        while self.token.kind == Kind::Dot {
            match self.peek() {
                ".align" => align_bytes = Some(self.alignment()?),
                ".ptr" => pointer = Some(self.pointer()?),
                ".attribute" => self.attribute()?,
                ".v2" => vector = self.advance().map(|_| 2)?,
                ".v4" => vector = self.advance().map(|_| 4)?,
                _ => ty = Some(self.ty()?),
            }
        }
        match ty {
            Some(ty) => Ok(Specifiers { ty, vector, align_bytes, pointer }),
            None => Err(self.expected("a type such as `.b32`")),
        }
    }

    /// A type with its dot.
    pub(super) fn ty(&mut self) -> Result<Type> {
        let word = self.peek();
        if self.token.kind != Kind::Dot {
            return Err(self.expected("a type such as `.b32`"));
        }
        let ty = Type::from_name(&word[1..]).ok_or_else(|| {
            let message = match word {
                ".texref" | ".samplerref" | ".surfref" => format!("unsupported type `{word}`: texture and surface references are not covered"),
                _ => format!("unknown type `{word}`: expected .b8 to .b128, .u8 to .u64, .s8 to .s64, .f16, .f16x2, .bf16, .bf16x2, .f32, .f64 or .pred"),
            };
            self.fail(self.token.span, message)
        })?;
        self.advance()?;
        Ok(ty)
    }

    fn alignment(&mut self) -> Result<u32> {
        self.advance()?;
        let start = self.token.span;
        let bytes = self.unsigned_up_to("an alignment in bytes", 1 << 30)?;
        if !bytes.is_power_of_two() {
            return Err(self.fail(self.since(start), format!("an alignment of {bytes} bytes: expected a power of two")));
        }
        Ok(bytes as u32)
    }

    /// `.ptr .global .align 4`, space and alignment both optional.
    fn pointer(&mut self) -> Result<PointerInfo> {
        self.advance()?;
        let mut pointer = PointerInfo { space: None, align_bytes: None };
        if self.token.kind == Kind::Dot && matches!(space_of(self.peek()), Some(space) if space != Space::Reg) {
            pointer.space = space_of(self.peek());
            self.advance()?;
        }
        if self.at_dot(".align") {
            pointer.align_bytes = Some(self.alignment()?);
        }
        Ok(pointer)
    }

    /// `.attribute(.managed)`: how the driver places a variable; nothing that a kernel sees.
    pub(super) fn attribute(&mut self) -> Result<()> {
        let start = self.advance()?.span;
        self.expect(b'(', "after `.attribute`")?;
        self.nested("the attribute".to_string(), start, |p| {
            let mut depth = 1;
            while depth > 0 {
                match p.token.kind {
                    Kind::Dot | Kind::Word | Kind::Number | Kind::Punct(b',') => {}
                    Kind::Punct(b'(') => depth += 1,
                    Kind::Punct(b')') => depth -= 1,
                    _ => return Err(p.expected("`)` after the attribute")),
                }
                p.advance()?;
            }
            Ok(())
        })
    }

    /// The name, its dimensions and its initialiser.
    fn declarator(&mut self, space: Space, linkage: Linkage, of: &Specifiers, place: Where) -> Result<Variable> {
        let span = self.token.span;
        let name = self.word("the name of the variable")?.to_string();
        let mut dims = self.dimensions()?;
        let mut init = Vec::new();
        if place == Where::Module {
            if self.eat(b'=')? {
                self.initializer(of.ty, &mut init)?;
            }
            self.fit(&mut dims, init.len() as u64, of.vector, linkage, span)?;
        }
        let natural = of.ty.size_bytes().max(1) * u32::from(of.vector);
        Ok(Variable {
            space,
            linkage,
            ty: of.ty,
            vector: of.vector,
            align_bytes: of.align_bytes.unwrap_or(natural),
            name,
            dims,
            init,
            pointer: of.pointer,
            span,
        })
    }

    /// Gives `x[] = {…}` its size, and checks that the values fit.
    fn fit(&self, dims: &mut [u64], values: u64, vector: u8, linkage: Linkage, start: Span) -> Result<()> {
        let fail = |message: String| Err(self.fail(self.since(start), message));
        if dims.iter().skip(1).any(|&size| size == 0) {
            return fail("an array of no elements: only the first size may be left out".to_string());
        }
        let inner = dims.iter().skip(1).product::<u64>().saturating_mul(u64::from(vector));
        match dims.first_mut() {
            Some(outer @ 0) if values > 0 => *outer = values.div_ceil(inner),
            Some(0) if linkage == Linkage::Extern => return Ok(()),
            Some(0) => {
                return fail("an array without a size: expected one, or `.extern`, or an initialiser".to_string());
            }
            _ => {}
        }
        let elements = dims.first().copied().unwrap_or(1).saturating_mul(inner);
        if values > elements {
            return fail(format!("{values} initial values for {elements} elements"));
        }
        Ok(())
    }

    /// `[16][4]`; 0 for a size left out.
    fn dimensions(&mut self) -> Result<Vec<u64>> {
        let start = self.token.span;
        let mut dims: Vec<u64> = Vec::new();
        while self.eat(b'[')? {
            let size = if self.at(b']') { 0 } else { self.unsigned("an array size")? };
            dims.push(size);
            self.expect(b']', "after the array size")?;
        }
        // Room for the largest element, so that sizes in bytes never overflow either.
        let bytes = dims.iter().try_fold(64u64, |bytes, &size| bytes.checked_mul(size.max(1)));
        match bytes {
            Some(bytes) if bytes < 1 << 62 => Ok(dims),
            _ => Err(self.fail(self.since(start), "number out of range: the array does not fit any memory")),
        }
    }

    /// A scalar or `{ … }`, flattened.
    fn initializer(&mut self, ty: Type, init: &mut Vec<Initializer>) -> Result<()> {
        let start = self.token.span;
        if !self.eat(b'{')? {
            init.push(self.initial_value(ty)?);
            return Ok(());
        }
        self.nested("the initialiser".to_string(), start, |p| {
            if p.eat(b'}')? {
                return Ok(());
            }
            p.list(b'}', "after the initial values", |p| p.initializer(ty, init)).map(drop)
        })
    }

    fn initial_value(&mut self, ty: Type) -> Result<Initializer> {
        let start = self.token.span;
        if self.at_constant() {
            let value = self.constant()?;
            let bits = 8 * ty.size_bytes().max(1);
            return match value {
                Immediate::Int(mask) if self.at(b'(') => self.masked_address(start, mask),
                Immediate::Int(integer) if bits < 64 && !(-1 << (bits - 1)..1 << bits).contains(&integer) => {
                    let message = format!("number out of range: {integer} does not fit `.{ty}`");
                    Err(self.fail(self.since(start), message))
                }
                _ => Ok(Initializer::Value(value)),
            };
        }
        self.initial_address(None)
    }

    /// `0xFF00(symbol)`: some bits of an address, in an array whose elements are narrower than one.
    fn masked_address(&mut self, start: Span, mask: i128) -> Result<Initializer> {
        let bits = u64::try_from(mask).ok().filter(|bits| *bits != 0);
        let Some(bits) = bits.filter(|bits| (bits >> bits.trailing_zeros()).wrapping_add(1).count_ones() <= 1) else {
            let message = "the bits taken of an address: expected one run of ones such as 0xFF00".to_string();
            return Err(self.fail(self.since(start), message));
        };
        self.advance()?;
        let address = self.initial_address(Some(bits))?;
        self.expect(b')', "after the address")?;
        Ok(address)
    }

    /// `symbol`, `generic(symbol)`, each perhaps with an offset.
    fn initial_address(&mut self, mask: Option<u64>) -> Result<Initializer> {
        let mut symbol = self.word("an initial value")?;
        let generic = symbol == "generic" && self.eat(b'(')?;
        if generic {
            symbol = self.word("the variable whose address is taken")?;
            self.expect(b')', "after the variable")?;
        }
        Ok(Initializer::Address { symbol: symbol.to_string(), offset: self.offset()?, generic, mask })
    }

    /// `.reg .b32 %r<20>, %x;`
    pub(super) fn registers(&mut self) -> Result<Vec<RegisterDecl>> {
        self.advance()?;
        let specifiers = self.specifiers()?;
        self.list(b';', "after the registers", |p| {
            let span = p.token.span;
            let name = p.word("the name of a register")?.to_string();
            let mut count = None;
            if p.eat(b'<')? {
                count = Some(p.register_count(1 << 24)? as u32);
                p.expect(b'>', "after the number of registers")?;
            }
            Ok(RegisterDecl { ty: specifiers.ty, vector: specifiers.vector, name, count, span })
        })
    }
}
