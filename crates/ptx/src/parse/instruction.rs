//! Instructions: guard, opcode, operands, and their check against the table.

use super::{Parser, Result};
use crate::ast::{Guard, Immediate, Instruction, Operand, Span};
use crate::lex::Kind;
use crate::table::{self, Spec};

impl<'a> Parser<'a> {
    /// `@p add …` or `@!p add …`.
    pub(super) fn guarded(&mut self) -> Result<Instruction> {
        let start = self.advance()?.span;
        let negated = self.eat(b'!')?;
        let register = self.name("a predicate register after `@`")?;
        let mnemonic = self.word("an instruction after the guard")?;
        self.instruction(Some(Guard { register, negated }), mnemonic, start)
    }

    /// Parses the rest of an instruction after its mnemonic, up to the `;`.
    pub(super) fn instruction(&mut self, guard: Option<Guard>, mnemonic: &'a str, start: Span) -> Result<Instruction> {
        let at = Span { start: self.previous_end - mnemonic.len() as u32, end: self.previous_end, ..start };
        let spec = table::lookup(mnemonic)
            .ok_or_else(|| self.fail(at, format!("unknown instruction `{}`", super::shortened(mnemonic))))?;
        let mut opcode = mnemonic.to_string();
        let mut modifiers = Vec::new();
        while self.token.kind == Kind::Dot {
            let word = self.peek();
            if !table::is_modifier(&word[1..]) {
                return Err(self
                    .fail(self.token.span, format!("unknown modifier `{}` of `{mnemonic}`", super::shortened(word))));
            }
            opcode.push_str(word);
            modifiers.push(word[1..].to_string());
            self.advance()?;
        }
        let opcode_end = self.previous_end;
        let operands = self.operands(mnemonic == "call")?;
        if !self.eat(b';')? {
            return Err(self.expected("`,` or `;` after the operands"));
        }
        let opcode_span = Span { end: opcode_end, ..at };
        self.check(spec, &opcode, &operands, opcode_span)?;
        Ok(Instruction {
            guard,
            spec,
            opcode,
            modifiers,
            operands,
            loc: self.loc,
            callers: self.callers.clone(),
            span: self.since(start),
        })
    }

    fn operands(&mut self, call: bool) -> Result<Vec<Operand>> {
        let mut operands = Vec::new();
        if self.at(b';') {
            return Ok(operands);
        }
        loop {
            operands.push(if call && self.at(b'(') { self.call_list()? } else { self.operand()? });
            if !self.eat(b',')? {
                return Ok(operands);
            }
        }
    }

    /// A count that the table allows, and for `call` the right shape.
    fn check(&mut self, spec: &Spec, opcode: &str, operands: &[Operand], at: Span) -> Result<()> {
        // A file says the same few hundred opcodes again and again.
        let (least, most) = match self.operand_counts.get(opcode) {
            Some(&counts) => counts,
            None => {
                let counts = table::operand_counts(spec, opcode);
                self.operand_counts.insert(opcode.to_owned(), counts);
                counts
            }
        };
        let found = operands.len();
        if found < usize::from(least) || found > usize::from(most) {
            let expected = match (least, most) {
                (1, 1) => "1 operand".to_string(),
                (a, b) if a == b => format!("{a} operands"),
                (a, b) => format!("{a} to {b} operands"),
            };
            return Err(self.fail(at, format!("`{opcode}` takes {expected}, found {found}")));
        }
        if spec.mnemonic == "call" && !call_shape(operands) {
            return Err(self.fail(
                at,
                "a call reads `call (results), function, (arguments), prototype`, all but the function optional",
            ));
        }
        Ok(())
    }

    /// `(a, b)` of a call.
    fn call_list(&mut self) -> Result<Operand> {
        self.advance()?;
        if self.eat(b')')? {
            return Ok(Operand::List(Vec::new()));
        }
        Ok(Operand::List(self.list(b')', "after the arguments", |p| p.scalar("an argument"))?))
    }

    fn operand(&mut self) -> Result<Operand> {
        match self.token.kind {
            Kind::Punct(b'[') => self.address(),
            Kind::Punct(b'{') => {
                let first = self.vector()?;
                self.paired(first)
            }
            Kind::Punct(b'!') => {
                let start = self.token;
                self.advance()?;
                if self.at_constant() {
                    return Ok(Operand::Immediate(self.negation(start)?));
                }
                Ok(Operand::Not(self.name("a predicate register after `!`")?))
            }
            _ => {
                let first = self.scalar("an operand")?;
                self.paired(first)
            }
        }
    }

    /// `first`, or `first|second` where the `|` follows.
    fn paired(&mut self, first: Operand) -> Result<Operand> {
        if !matches!(first, Operand::Name(_) | Operand::Sink | Operand::Vector(_)) || !self.eat(b'|')? {
            return Ok(first);
        }
        let second = match self.name("a register after `|`")? {
            name if name == "_" => Operand::Sink,
            name => Operand::Name(name),
        };
        Ok(Operand::Pair(Box::new(first), Box::new(second)))
    }

    /// A register or symbol, its component included (`%tid.x`).
    fn name(&mut self, what: &str) -> Result<String> {
        let mut name = self.word(what)?.to_string();
        if self.token.kind == Kind::Dot {
            name.push_str(self.peek());
            self.advance()?;
        }
        Ok(name)
    }

    /// A name, a name with an offset or an index, a number or `_`.
    fn scalar(&mut self, what: &str) -> Result<Operand> {
        if self.at_constant() {
            return Ok(Operand::Immediate(self.constant()?));
        }
        let name = self.name(what)?;
        if name == "_" {
            return Ok(Operand::Sink);
        }
        if self.at(b'+') || self.at(b'-') {
            return Ok(Operand::Offset(name, self.offset()?));
        }
        if self.eat(b'[')? {
            let index = self.unsigned_up_to("the index of an element", 1 << 40)? as i64;
            self.expect(b']', "after the index")?;
            return Ok(Operand::Index(name, index));
        }
        Ok(Operand::Name(name))
    }

    /// `{a, b, _, 0}`
    fn vector(&mut self) -> Result<Operand> {
        self.advance()?;
        let elements = self.list(b'}', "after the elements of the vector", |p| p.scalar("an element of the vector"))?;
        Ok(Operand::Vector(elements))
    }

    /// `[a]`, `[a+4]`, `[16]`; `[map, {x, y}]` of texture and tensor instructions becomes a list.
    fn address(&mut self) -> Result<Operand> {
        self.advance()?;
        let address = self.plain_address()?;
        if !self.at(b',') {
            self.expect(b']', "after the address")?;
            // Promises that the address is unified; changes nothing of what the instruction does.
            if self.at_dot(".unified") {
                self.advance()?;
            }
            return Ok(address);
        }
        let mut parts = vec![address];
        while self.eat(b',')? {
            parts.push(if self.at(b'{') { self.vector()? } else { self.scalar("a sampler or coordinates")? });
        }
        self.expect(b']', "after the coordinates")?;
        Ok(Operand::List(parts))
    }

    fn plain_address(&mut self) -> Result<Operand> {
        let start = self.token.span;
        if self.at_constant() {
            let value = match self.constant()? {
                Immediate::Int(value) => {
                    i64::try_from(value).or_else(|_| u64::try_from(value).map(|value| value as i64)).ok()
                }
                _ => None,
            };
            let offset = value.ok_or_else(|| self.fail(self.since(start), "a float where an address is expected"))?;
            return Ok(Operand::Address { base: None, offset });
        }
        let base = self.name("an address: a register, a symbol or a number")?;
        Ok(Operand::Address { base: Some(base), offset: self.offset()? })
    }
}

/// `[List]? Name [List]? [Name]?`
fn call_shape(operands: &[Operand]) -> bool {
    let mut rest = operands;
    if let [Operand::List(_), tail @ ..] = rest {
        rest = tail;
    }
    let [Operand::Name(_), tail @ ..] = rest else {
        return false;
    };
    matches!(tail, [] | [Operand::List(_)] | [Operand::Name(_)] | [Operand::List(_), Operand::Name(_)])
}
