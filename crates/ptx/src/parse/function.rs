//! Functions: head, performance directives, and the statements of the body.

use std::collections::HashMap;

use super::declare::Where;
use super::{Parser, Result, linkage_of, space_of};
use crate::ast::{Function, Item, Linkage, Prototype, Space, Span, Variable};
use crate::lex::Kind;

/// Directives between a function's parameters and its body, with the numbers they take.
const DIRECTIVES: &[&str] = &[
    ".maxntid",
    ".reqntid",
    ".minnctapersm",
    ".maxnctapersm",
    ".maxnreg",
    ".noreturn",
    ".explicitcluster",
    ".reqnctapercluster",
    ".maxclusterrank",
    ".blocksareclusters",
    ".abi_preserve",
    ".abi_preserve_control",
    ".unique",
];

/// The labels of one scope and the lines they stand on.
type Labels<'a> = HashMap<&'a str, u32>;

/// The registers and variables of one scope and the lines they stand on.
#[derive(Debug, Default)]
struct Declared {
    names: HashMap<String, u32>,
    /// Number of registers and line, by base name. `%r<20>` declares `%r0` to `%r19`.
    ranges: HashMap<String, (u32, u32)>,
}

impl Declared {
    /// The line of what has this name.
    fn line_of(&self, name: &str) -> Option<u32> {
        let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let index = name[base.len()..].parse::<u32>().ok();
        let of_range = || self.ranges.get(base).filter(|(count, _)| index.is_some_and(|index| index < *count));
        self.names.get(name).copied().or_else(|| of_range().map(|&(_, line)| line))
    }

    /// Adds one; the line of what has the name already.
    fn add(&mut self, name: &str, count: Option<u32>, line: u32) -> Option<u32> {
        let earlier = match count {
            None => self.line_of(name),
            Some(_) => self.ranges.get(name).map(|&(_, line)| line),
        };
        match count {
            None => drop(self.names.insert(name.to_string(), line)),
            Some(count) => drop(self.ranges.insert(name.to_string(), (count, line))),
        }
        earlier
    }
}

impl<'a> Parser<'a> {
    /// `.entry` or `.func`, its linkage already taken.
    pub(super) fn function(&mut self, linkage: Linkage) -> Result<Function> {
        let is_entry = self.peek() == ".entry";
        self.advance()?;
        self.no_line();
        while self.at_dot(".attribute") {
            self.attribute()?;
        }
        let returns = if self.at(b'(') && !is_entry { self.parameters()? } else { Vec::new() };
        let span = self.token.span;
        let name = self.word("the name of the function")?;
        let params = if self.at(b'(') { self.parameters()? } else { Vec::new() };
        let directives = self.directives()?;
        let body = if self.eat(b';')? {
            None
        } else {
            let brace = self.token.span;
            if !self.at(b'{') {
                return Err(self.expected("`{` to open the body, `;` or a directive such as `.maxntid`"));
            }
            let body = self.block(format!("the body of `{name}`"), brace)?;
            self.check_names(&body, returns.iter().chain(&params))?;
            Some(body)
        };
        self.no_line();
        Ok(Function { is_entry, linkage, name: name.to_string(), returns, params, directives, body, span })
    }

    /// Refuses a scope where two things have one name; `outer` are the parameters of a function's outermost.
    fn check_names<'v>(&self, items: &[Item], outer: impl Iterator<Item = &'v Variable>) -> Result<()> {
        let mut declared = Declared::default();
        outer.filter(|variable| variable.name != "_").for_each(|variable| {
            declared.add(&variable.name, None, variable.span.line);
        });
        for item in items {
            let (name, count, span) = match item {
                Item::Register(decl) => (&decl.name, decl.count, decl.span),
                Item::Variable(variable) if variable.linkage != Linkage::Extern => {
                    (&variable.name, None, variable.span)
                }
                Item::Block(inner) => {
                    self.check_names(inner, std::iter::empty())?;
                    continue;
                }
                _ => continue,
            };
            if let Some(line) = declared.add(name, count, span.line) {
                return Err(self.fail(span, format!("`{name}` is declared twice in this scope: first on line {line}")));
            }
        }
        Ok(())
    }

    /// `(.param .u64 a, .param .b32 b)`
    fn parameters(&mut self) -> Result<Vec<Variable>> {
        let start = self.expect(b'(', "to open the parameters")?.span;
        self.nested("the parameter list".to_string(), start, |p| {
            if p.eat(b')')? {
                return Ok(Vec::new());
            }
            let parameters = p.list(b')', "after the parameters", |p| {
                if !matches!(space_of(p.peek()), Some(Space::Param | Space::Reg)) {
                    return Err(p.expected("a parameter: `.param` or `.reg`"));
                }
                p.variables(Linkage::Local, Where::Parameter)
            })?;
            Ok(parameters.into_iter().flatten().collect())
        })
    }

    fn directives(&mut self) -> Result<Vec<(String, Vec<u64>)>> {
        let mut directives = Vec::new();
        while self.token.kind == Kind::Dot {
            let word = self.peek();
            if word == ".pragma" {
                self.pragma()?;
                continue;
            }
            if !DIRECTIVES.contains(&word) {
                return Err(self.fail(
                    self.token.span,
                    format!("unknown directive `{word}`: expected `{{` or a directive such as `.maxntid`"),
                ));
            }
            self.advance()?;
            let mut numbers = Vec::new();
            if self.at_constant() {
                numbers.push(self.unsigned("a number")?);
                while self.eat(b',')? {
                    numbers.push(self.unsigned("another number")?);
                }
            }
            directives.push((word[1..].to_string(), numbers));
        }
        Ok(directives)
    }

    /// `{ … }`: a body or a scope within one.
    fn block(&mut self, what: String, span: Span) -> Result<Vec<Item>> {
        self.nested(what, span, |p| {
            p.advance()?;
            let mut items = Vec::new();
            let mut labels = Labels::new();
            while !p.eat(b'}')? {
                p.statement(&mut items, &mut labels)?;
            }
            Ok(items)
        })
    }

    fn statement(&mut self, items: &mut Vec<Item>, labels: &mut Labels<'a>) -> Result<()> {
        match self.token.kind {
            Kind::Word => self.label_or_instruction(items, labels),
            Kind::Punct(b'@') => {
                let instruction = self.guarded()?;
                items.push(Item::Instruction(Box::new(instruction)));
                Ok(())
            }
            Kind::Punct(b'{') => {
                let block = self.block("the scope".to_string(), self.token.span)?;
                items.push(Item::Block(block));
                Ok(())
            }
            Kind::Punct(b';') => self.advance().map(drop),
            Kind::Dot => self.body_directive(items),
            _ => Err(self.expected("an instruction, a label, a declaration or `}`")),
        }
    }

    fn body_directive(&mut self, items: &mut Vec<Item>) -> Result<()> {
        match self.peek() {
            ".reg" => items.extend(self.registers()?.into_iter().map(Item::Register)),
            ".loc" => self.loc_directive()?,
            ".pragma" => self.pragma()?,
            ".section" => self.section()?,
            word => {
                let linkage = linkage_of(word);
                if linkage.is_some() {
                    self.advance()?;
                } else if space_of(word).is_none() {
                    return Err(self.fail(
                        self.token.span,
                        format!("unknown directive `{word}`: expected `.reg`, `.param`, `.local`, `.shared`, `.const`, `.global`, `.loc` or `.pragma`"),
                    ));
                }
                let variables = self.variables(linkage.unwrap_or(Linkage::Local), Where::Module)?;
                items.extend(variables.into_iter().map(Item::Variable));
            }
        }
        Ok(())
    }

    fn label_or_instruction(&mut self, items: &mut Vec<Item>, labels: &mut Labels<'a>) -> Result<()> {
        let start = self.token.span;
        let word = self.word("an instruction")?;
        if !self.eat(b':')? {
            let instruction = self.instruction(None, word, start)?;
            items.push(Item::Instruction(Box::new(instruction)));
            return Ok(());
        }
        if let Some(line) = labels.insert(word, start.line) {
            return Err(
                self.fail(start, format!("the label `{word}` stands twice in this scope: first on line {line}"))
            );
        }
        let item = match self.peek() {
            ".branchtargets" => Item::BranchTargets(word.to_string(), self.names_after_directive()?),
            ".calltargets" => Item::CallTargets(word.to_string(), self.names_after_directive()?),
            ".callprototype" => Item::CallPrototype(Box::new(self.call_prototype(word)?)),
            _ => Item::Label(word.to_string(), start),
        };
        items.push(item);
        Ok(())
    }

    /// `.branchtargets a, b, c;`
    fn names_after_directive(&mut self) -> Result<Vec<String>> {
        self.advance()?;
        self.list(b';', "after the names", |p| Ok(p.word("a name")?.to_string()))
    }

    /// `.callprototype (.param .b32 _) _ (.param .b64 _);`
    fn call_prototype(&mut self, name: &str) -> Result<Prototype> {
        self.advance()?;
        let returns = if self.at(b'(') { self.parameters()? } else { Vec::new() };
        self.word("`_`")?;
        let params = if self.at(b'(') { self.parameters()? } else { Vec::new() };
        let directives = self.directives()?;
        self.expect(b';', "after the prototype")?;
        Ok(Prototype { name: name.to_string(), returns, params, directives })
    }
}
