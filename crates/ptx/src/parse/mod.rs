//! Recursive descent over the tokens: this file holds the parser's state and the module's own directives.

mod constant;
mod declare;
mod function;
mod instruction;

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::{Alias, Linkage, Loc, Module, Space, Span};
use crate::lex::{Fail, Kind, Lexer, Token};
use crate::table::{TARGETS, VERSION_NEWEST, is_version};
use crate::{VERSION_FLOOR, floor};
use declare::Where;

type Result<T> = std::result::Result<T, Fail>;

/// Blocks and parentheses may nest this deep: far beyond what compilers emit, far below what the stack holds.
const DEPTH_MAX: usize = 64;

/// Calls that a line was inlined through: a chain longer than this is cut.
const CALLERS_MAX: usize = 64;

/// Something opened by `{` or `(` and not yet closed, for the message when the file ends inside it.
struct Open {
    what: String,
    line: u32,
}

/// The state: the next token, and what is open around it.
pub(crate) struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    /// The next token, not yet taken.
    token: Token,
    /// One past the last byte of the token taken last.
    previous_end: u32,
    /// The line of the CUDA source that the instructions now parsed belong to.
    loc: Option<Loc>,
    /// The lines that it was inlined at, innermost first.
    callers: Arc<[Loc]>,
    /// Call site of each inlined line of this function so far.
    inlined: HashMap<Loc, Loc>,
    /// Functions and variables of the module that are defined, with their places.
    defined: HashMap<String, u32>,
    /// Constructs around the next token, outermost first.
    open: Vec<Open>,
    /// Fewest and most operands of the opcodes so far.
    operand_counts: HashMap<String, (u8, u8)>,
    /// `.version`, once it has been read.
    version: Option<(u8, u8)>,
}

/// Parses a whole file.
pub(crate) fn module(file: &str, text: &str) -> Result<Module> {
    let mut parser = Parser {
        text,
        lexer: Lexer::new(text),
        token: Token { kind: Kind::End, span: Span::default() },
        previous_end: 0,
        loc: None,
        callers: Arc::default(),
        inlined: HashMap::new(),
        defined: HashMap::new(),
        open: Vec::new(),
        operand_counts: HashMap::new(),
        version: None,
    };
    let module = parser.advance().and_then(|_| parser.header(file));
    module.map_err(|fail| parser.before_the_floor(parser.cut_off(fail)))
}

impl<'a> Parser<'a> {
    // ---- tokens ----

    /// Takes the next token.
    fn advance(&mut self) -> Result<Token> {
        let taken = self.token;
        self.token = self.lexer.next()?;
        self.previous_end = taken.span.end;
        Ok(taken)
    }

    fn text_of(&self, token: Token) -> &'a str {
        &self.text[token.span.start as usize..token.span.end as usize]
    }

    /// Text of the next token.
    fn peek(&self) -> &'a str {
        self.text_of(self.token)
    }

    fn at(&self, punct: u8) -> bool {
        self.token.kind == Kind::Punct(punct)
    }

    fn at_dot(&self, word: &str) -> bool {
        self.token.kind == Kind::Dot && self.peek() == word
    }

    fn eat(&mut self, punct: u8) -> Result<bool> {
        let there = self.at(punct);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    fn expect(&mut self, punct: u8, after: &str) -> Result<Token> {
        if self.at(punct) {
            return self.advance();
        }
        Err(self.expected(&format!("`{}` {after}", punct as char)))
    }

    /// One element or more with commas between, and behind them the sign that closes the list.
    fn list<T>(&mut self, close: u8, after: &str, mut element: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut elements = vec![element(self)?];
        while self.eat(b',')? {
            elements.push(element(self)?);
        }
        self.expect(close, after)?;
        Ok(elements)
    }

    /// Takes a word, `what` it is meant to be.
    fn word(&mut self, what: &str) -> Result<&'a str> {
        if self.token.kind != Kind::Word {
            return Err(self.expected(what));
        }
        let token = self.advance()?;
        Ok(self.text_of(token))
    }

    /// Everything from `start` to the last token taken.
    fn since(&self, start: Span) -> Span {
        Span { end: self.previous_end.max(start.start), ..start }
    }

    // ---- failures ----

    fn fail(&self, span: Span, message: impl Into<String>) -> Fail {
        Fail { span, message: message.into() }
    }

    /// `expected X, found Y`.
    fn expected(&self, what: &str) -> Fail {
        self.fail(self.token.span, format!("expected {what}, found {}", self.found()))
    }

    /// The next token as messages name it.
    fn found(&self) -> String {
        match self.token.kind {
            Kind::End => "the end of the file".to_string(),
            _ => format!("`{}`", shortened(self.peek())),
        }
    }

    /// A failure on the file's last word may be that of a file cut short: says what is left open.
    fn cut_off(&self, mut fail: Fail) -> Fail {
        if (fail.span.end as usize) < self.text.trim_end().len() {
            return fail;
        }
        if let Some(inner) = self.open.last() {
            fail.message.push_str(&format!("; the file ends inside {}, begun on line {}", inner.what, inner.line));
        }
        if let [outer, .., _] = self.open.as_slice() {
            fail.message.push_str(&format!(", inside {}, begun on line {}", outer.what, outer.line));
        }
        fail
    }

    /// A failure in a file older than what is covered may be its age's: says so.
    fn before_the_floor(&self, mut fail: Fail) -> Fail {
        if let Some((major, minor)) = self.version.filter(|version| *version < VERSION_FLOOR) {
            fail.message.push_str(&floor(major, minor));
        }
        fail
    }

    /// Runs `parse` one level deeper, within the limit.
    fn nested<T>(&mut self, what: String, span: Span, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.open.len() == DEPTH_MAX {
            return Err(self.fail(span, format!("nested more than {DEPTH_MAX} deep")));
        }
        self.open.push(Open { what, line: span.line });
        let result = parse(self)?;
        self.open.pop();
        Ok(result)
    }

    // ---- the file ----

    /// `.version`, then `.target` and the rest.
    fn header(&mut self, file: &str) -> Result<Module> {
        if self.token.kind == Kind::End {
            return Err(self.fail(self.token.span, "the file holds no PTX: expected `.version`"));
        }
        if !self.at_dot(".version") {
            return Err(self.expected("`.version` before anything else"));
        }
        self.advance()?;
        let (file, version) = (file.to_string(), self.version()?);
        let mut module = Module { file, version, address_size_bits: 32, ..Module::default() };
        if !self.at_dot(".target") {
            return Err(self.expected("`.target` after `.version`"));
        }
        while self.token.kind != Kind::End {
            self.top_level(&mut module)?;
        }
        Ok(module)
    }

    fn version(&mut self) -> Result<(u8, u8)> {
        let what = "a version number such as `8.0`";
        if self.token.kind != Kind::Number {
            return Err(self.expected(what));
        }
        let parts =
            self.peek().split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        let version = parts.ok_or_else(|| self.expected(what))?;
        if !is_version(version) {
            let ((major, minor), newest) = (version, VERSION_NEWEST);
            let message =
                format!("there is no PTX {major}.{minor} known here: the newest is {}.{}", newest.0, newest.1);
            return Err(self.fail(self.token.span, message));
        }
        self.advance()?;
        self.version = Some(version);
        Ok(version)
    }

    /// One directive, variable or function of the module.
    fn top_level(&mut self, module: &mut Module) -> Result<()> {
        if self.token.kind != Kind::Dot {
            return Err(self.expected("a directive such as `.global` or `.entry`"));
        }
        match self.peek() {
            ".target" => self.target(module)?,
            ".address_size" => self.address_size(module)?,
            ".file" => self.source_file(module)?,
            ".section" => self.section()?,
            ".pragma" => self.pragma()?,
            ".loc" => self.loc_directive()?,
            ".alias" => self.alias(module)?,
            _ => self.symbol(module)?,
        }
        Ok(())
    }

    fn target(&mut self, module: &mut Module) -> Result<()> {
        self.advance()?;
        let start = self.token.span;
        let target = self.word("a target such as `sm_80`")?;
        let numbered =
            target.strip_prefix("sm_").is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()));
        if !numbered && module.target.is_empty() {
            return Err(self.fail(start, format!("`{target}` is no target: expected one such as `sm_80`")));
        }
        if module.target.is_empty() {
            if let Some(message) = refusal_of_target(target, module.version) {
                return Err(self.fail(start, message));
            }
            module.target = target.to_string();
        }
        while self.eat(b',')? {
            module.debug |= self.word("another target such as `debug`")? == "debug";
        }
        Ok(())
    }

    fn address_size(&mut self, module: &mut Module) -> Result<()> {
        self.advance()?;
        let at = self.token.span;
        module.address_size_bits = match self.unsigned("32 or 64")? {
            32 => 32,
            64 => 64,
            other => return Err(self.fail(at, format!("an address size of {other} bits: expected 32 or 64"))),
        };
        Ok(())
    }

    /// `.file 1 "path"`, and perhaps its time stamp and size.
    fn source_file(&mut self, module: &mut Module) -> Result<()> {
        self.advance()?;
        let index = self.unsigned_up_to("a file number", u64::from(u32::MAX))? as u32;
        let path = self.string("the path of a source file in quotes")?;
        while self.eat(b',')? {
            self.unsigned("a time stamp or a size")?;
        }
        module.sources.push(crate::ast::SourceFile { index, path: path.to_string() });
        Ok(())
    }

    /// A string's text without its quotes, as written.
    fn string(&mut self, what: &str) -> Result<&'a str> {
        if self.token.kind != Kind::Text {
            return Err(self.expected(what));
        }
        let token = self.advance()?;
        let text = self.text_of(token);
        Ok(&text[1..text.len() - 1])
    }

    /// `.section .debug_info { … }`: debug information, nothing that executes.
    fn section(&mut self) -> Result<()> {
        let start = self.advance()?.span;
        let name = self.peek();
        if !matches!(self.token.kind, Kind::Dot | Kind::Word) {
            return Err(self.expected("the name of a section"));
        }
        self.advance()?;
        self.expect(b'{', "to open the section")?;
        self.nested(format!("the section {name}"), start, |p| {
            let mut depth = 1;
            while depth > 0 {
                match p.token.kind {
                    Kind::End => return Err(p.expected("`}`")),
                    Kind::Punct(b'{') => depth += 1,
                    Kind::Punct(b'}') => depth -= 1,
                    _ => {}
                }
                p.advance()?;
            }
            Ok(())
        })
    }

    /// `.pragma "nounroll";`: advice to ptxas.
    fn pragma(&mut self) -> Result<()> {
        self.advance()?;
        self.string("the pragma in quotes")?;
        while self.eat(b',')? {
            self.string("another pragma in quotes")?;
        }
        self.expect(b';', "after the pragma").map(drop)
    }

    /// `.alias other, function;`: a second name.
    fn alias(&mut self, module: &mut Module) -> Result<()> {
        self.advance()?;
        let name = self.word("the alias")?.to_string();
        self.expect(b',', "between the alias and its function")?;
        let function = self.word("the function it stands for")?.to_string();
        self.expect(b';', "after the alias")?;
        module.aliases.push(Alias { name, function });
        Ok(())
    }

    /// `.loc file line column`, and perhaps where that line was inlined at.
    fn loc_directive(&mut self) -> Result<()> {
        self.advance()?;
        let limit = u64::from(u32::MAX);
        let file = self.unsigned_up_to("a file number", limit)? as u32;
        let line = self.unsigned_up_to("a line number", limit)? as u32;
        let column = self.unsigned_up_to("a column number", limit)? as u32;
        let loc = Loc { file, line, column };
        let mut caller = None;
        while self.eat(b',')? {
            match self.word("`function_name` or `inlined_at`")? {
                "function_name" => {
                    self.advance()?;
                    if self.eat(b'+')? {
                        self.unsigned("an offset")?;
                    }
                }
                "inlined_at" => {
                    let mut number = |what| Ok(self.unsigned_up_to(what, limit)? as u32);
                    caller = Some(Loc {
                        file: number("a file number")?,
                        line: number("a line number")?,
                        column: number("a column number")?,
                    });
                }
                other => {
                    return Err(
                        self.expected(&format!("`function_name` or `inlined_at` instead of `{other}` before this"))
                    );
                }
            }
        }
        self.at_line(loc, caller);
        Ok(())
    }

    /// Sets the line of the next instructions: `loc`, inlined at `caller`. If the caller was inlined too, an earlier `.loc` says where.
    fn at_line(&mut self, loc: Loc, caller: Option<Loc>) {
        self.loc = (loc.line != 0).then_some(loc);
        match caller {
            Some(caller) => self.inlined.insert(loc, caller),
            None => self.inlined.remove(&loc),
        };
        // Real chains are short; a made-up one may go in a circle.
        let chain = std::iter::successors(caller, |line| self.inlined.get(line).copied());
        self.callers = chain.take(CALLERS_MAX).collect();
    }

    /// Clears the line of the next instructions and the call sites so far.
    fn no_line(&mut self) {
        self.loc = None;
        self.callers = Arc::default();
        self.inlined.clear();
    }

    /// Notes a function or a variable of the module, of which there is one with a name.
    fn define(&mut self, name: &str, span: Span) -> Result<()> {
        match self.defined.insert(name.to_string(), span.line) {
            None => Ok(()),
            Some(line) => Err(self.fail(span, format!("`{name}` is defined twice in this file: first on line {line}"))),
        }
    }

    /// A variable or a function, with its linkage.
    fn symbol(&mut self, module: &mut Module) -> Result<()> {
        let start = self.token.span;
        let mut linkage = Linkage::Local;
        while let Some(found) = linkage_of(self.peek()) {
            linkage = found;
            self.advance()?;
        }
        match self.peek() {
            ".entry" | ".func" => {
                let function = self.function(linkage)?;
                if function.body.is_some() {
                    self.define(&function.name, function.span)?;
                }
                module.functions.push(function);
            }
            word => match space_of(word).filter(|space| !matches!(space, Space::Reg | Space::Param | Space::Local)) {
                Some(_) => {
                    for variable in self.variables(linkage, Where::Module)? {
                        if variable.linkage != Linkage::Extern {
                            self.define(&variable.name, variable.span)?;
                        }
                        module.variables.push(variable);
                    }
                }
                None if self.token.kind == Kind::Dot && start.start == self.token.span.start => {
                    return Err(self.fail(start, format!("unknown directive `{word}`: expected a variable (`.global`, `.const`, `.shared`), `.entry`, `.func`, `.file`, `.section` or `.pragma`")));
                }
                None => return Err(self.expected("`.entry`, `.func`, `.global`, `.const` or `.shared`")),
            },
        }
        Ok(())
    }
}

/// A token as messages show it: not longer than a line.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

fn linkage_of(word: &str) -> Option<Linkage> {
    Some(match word {
        ".visible" => Linkage::Visible,
        ".extern" => Linkage::Extern,
        ".weak" => Linkage::Weak,
        ".common" => Linkage::Common,
        _ => return None,
    })
}

fn space_of(word: &str) -> Option<Space> {
    const SPACES: [Space; 6] = [Space::Reg, Space::Param, Space::Const, Space::Global, Space::Local, Space::Shared];
    SPACES.into_iter().find(|space| word.strip_prefix('.') == Some(space.name()))
}

/// Why a file of that version of PTX cannot be for `target`, if so. Targets before sm_50 are taken as they come.
fn refusal_of_target(target: &str, version: (u8, u8)) -> Option<String> {
    let number = target.trim_start_matches("sm_").trim_end_matches(['a', 'f']);
    let letter = target.trim_start_matches("sm_").strip_prefix(number)?;
    let known = TARGETS.iter().find(|(sm, _)| sm.to_string() == number);
    let has_letter = |&(sm, _): &(u8, u8)| sm >= 100 || sm == 90 && letter == "a";
    match known.filter(|target| letter.is_empty() || letter.len() == 1 && has_letter(target)) {
        None if number.parse::<u8>().is_ok_and(|sm| sm < 50) && letter.is_empty() => None,
        None => {
            let newest = TARGETS.iter().map(|&(sm, _)| sm).max().unwrap_or_default();
            Some(format!("there is no target `{target}` known here: the newest is sm_{newest}"))
        }
        Some(&(sm, plain)) => {
            let from = match (letter, sm) {
                ("f", _) => plain.max(88),
                ("a", 90) => 80,
                _ => plain,
            };
            let (major, minor) = version;
            (version < (from / 10, from % 10)).then(|| {
                format!(
                    "PTX {major}.{minor} has no target {target}: write `.version {}.{}` or higher",
                    from / 10,
                    from % 10
                )
            })
        }
    }
}
