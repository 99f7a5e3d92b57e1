//! Reader of as much CUDA C++ as gives the variables of a function: declaration, scope and assignments of each. Code that it
//! does not understand is left out, never guessed.

use super::expression::{Expr, parse};

/// A word of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub text: String,
    pub line: u32,
}

/// A function with a body.
#[derive(Debug)]
pub struct Function {
    pub name: String,
    /// Lines of the body's braces.
    pub first_line: u32,
    pub last_line: u32,
    /// Parameters first, in their order, then variables in the order of their declarations.
    pub variables: Vec<Variable>,
    pub parameters: usize,
    /// Calls in the body: line, function, arguments, and where the call stands.
    pub calls: Vec<Call>,
    /// Expression that it returns, if its body is nothing else.
    pub result: Option<Expr>,
}

#[derive(Debug)]
pub struct Call {
    pub line: u32,
    pub name: String,
    pub arguments: Vec<Option<Expr>>,
    pub at: usize,
}

#[derive(Debug)]
pub struct Variable {
    pub name: String,
    pub ty: Type,
    /// From which word of the body on, up to which, the name means this variable; and the same in lines.
    pub from: usize,
    pub to: usize,
    pub first_line: u32,
    pub last_line: u32,
    pub assignments: Vec<Assignment>,
    /// Its address is taken, or it is a reference: it may change unseen.
    pub is_hidden: bool,
}

/// Type of a declaration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Type {
    /// Bytes of the value, or of what a pointer or array points to; 0 where a template says it.
    pub bytes: u8,
    pub is_signed: bool,
    pub is_pointer: bool,
    pub is_shared: bool,
}

#[derive(Debug)]
pub struct Assignment {
    pub line: u32,
    /// `None` if it is not understood.
    pub value: Option<Expr>,
    pub at: usize,
}

const OPERATORS: [&str; 24] = [
    "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=",
    "|=", "^=", "::", "...", "##",
];
const ASSIGNS: [&str; 11] = ["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="];
const KEYWORDS: [&str; 14] = [
    "return", "if", "else", "for", "while", "do", "switch", "case", "goto", "new", "delete", "using", "break",
    "continue",
];

/// The words of a text, without comments, directives and strings.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let (mut rest, mut line) = (text, 1);
    let mut is_first = true;
    while let Some(c) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = if c == '\n' {
            1
        } else if c.is_whitespace() {
            c.len_utf8()
        } else if rest.starts_with("//") || (c == '#' && is_first) {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if c == '"' || c == '\'' {
            let end = rest[1..].char_indices().scan(false, |escaped, (at, sign)| {
                let ends = sign == c && !*escaped;
                *escaped = sign == '\\' && !*escaped;
                Some((at, ends))
            });
            end.into_iter().find(|(_, ends)| *ends).map_or(rest.len(), |(at, _)| at + 2)
        } else if is_word(c) {
            let is_number = c.is_ascii_digit();
            rest.find(|c| !(is_word(c) || (is_number && c == '.'))).unwrap_or(rest.len())
        } else {
            OPERATORS
                .iter()
                .find(|operator| rest.starts_with(**operator))
                .map_or(c.len_utf8(), |operator| operator.len())
        };
        let (word, after) = rest.split_at(length);
        let is_skipped = c.is_whitespace() || word.starts_with("//") || word.starts_with("/*") || c == '#';
        if !is_skipped {
            found.push(Token { text: word.to_owned(), line });
        }
        is_first = c == '\n' || (is_first && c.is_whitespace());
        line += word.matches('\n').count() as u32;
        rest = after;
    }
    found
}

/// The place of the bracket that closes the one at `open`.
pub fn closing(tokens: &[Token], open: usize) -> Option<usize> {
    let mut depth = 0_i32;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

pub fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Returns every function of a text that has a body.
pub fn functions(text: &str) -> Vec<Function> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    let mut at = 0;
    while at + 1 < tokens.len() {
        let head = is_name(&tokens[at].text) && tokens[at + 1].text == "(";
        let ends = head.then(|| closing(&tokens, at + 1)).flatten();
        let body = ends.and_then(|end| {
            let words =
                tokens[end + 1..].iter().take_while(|token| matches!(token.text.as_str(), "const" | "noexcept"));
            let open = end + 1 + words.count();
            (tokens.get(open)?.text == "{").then(|| closing(&tokens, open).map(|close| (end, open, close)))?
        });
        let Some((end, open, close)) = body else {
            at += 1;
            continue;
        };
        found.push(Body::new(&tokens[open..=close]).function(&tokens[at].text, &tokens[at + 2..end]));
        at = close + 1;
    }
    found
}

/// Splits at commas that are in no bracket.
pub fn split(tokens: &[Token]) -> Vec<&[Token]> {
    let (mut depth, mut from, mut parts) = (0_i32, 0, Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            "," if depth == 0 => {
                parts.push(&tokens[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    if from < tokens.len() {
        parts.push(&tokens[from..]);
    }
    parts
}

/// Returns the type that the words of a declaration name; the last word is the variable's.
fn type_of(words: &[Token], is_array: bool) -> Type {
    let has = |word: &str| words.iter().any(|token| token.text == word);
    let bytes = if has("double") || has("size_t") || has("uint64_t") || has("int64_t") || has("long") {
        8
    } else if has("int") || has("unsigned") || has("float") || has("uint32_t") || has("int32_t") {
        4
    } else {
        0
    };
    let is_signed = (has("int") && !has("unsigned")) || has("int32_t") || has("int64_t");
    let is_narrow = has("short") || has("char") || has("bool");
    Type {
        bytes: if is_narrow { 0 } else { bytes },
        is_signed,
        is_pointer: has("*") || is_array,
        is_shared: has("__shared__"),
    }
}

/// The words of a body, from brace to brace.
struct Body<'t> {
    tokens: &'t [Token],
    variables: Vec<Variable>,
}

impl<'t> Body<'t> {
    fn new(tokens: &'t [Token]) -> Self {
        Body { tokens, variables: Vec::new() }
    }

    fn text(&self, at: usize) -> &'t str {
        self.tokens.get(at).map_or("", |token| &token.text)
    }

    fn function(mut self, name: &str, parameters: &[Token]) -> Function {
        let last = self.tokens.len() - 1;
        for words in split(parameters) {
            let Some(place) = words.iter().rposition(|token| is_name(&token.text)) else { continue };
            let mut ty = type_of(&words[..place], false);
            ty.is_pointer |= words.iter().any(|token| token.text == "[");
            let hidden = words.iter().any(|token| token.text == "&");
            self.declare(&words[place].text, ty, (0, last), hidden);
        }
        let parameters = self.variables.len();
        for at in 0..self.tokens.len() {
            self.declaration(at);
        }
        for at in 0..self.tokens.len() {
            self.assignment(at);
        }
        let calls = (0..last).filter_map(|at| self.call(at)).collect();
        let result = (self.text(1) == "return" && self.text(last - 1) == ";").then(|| parse(&self.tokens[2..last - 1]));
        Function {
            name: name.to_owned(),
            first_line: self.tokens[0].line,
            last_line: self.tokens[last].line,
            result: result.flatten().filter(|_| !self.tokens[2..last - 1].iter().any(|token| token.text == ";")),
            variables: self.variables,
            parameters,
            calls,
        }
    }

    fn declare(&mut self, name: &str, ty: Type, (from, to): (usize, usize), is_hidden: bool) {
        let (first_line, last_line) = (self.tokens[from].line, self.tokens[to].line);
        let name = name.to_owned();
        self.variables.push(Variable { name, ty, from, to, first_line, last_line, assignments: Vec::new(), is_hidden });
    }

    /// Returns whether a statement begins here: behind `;`, a brace, or the bracket of a `for`.
    fn begins(&self, at: usize) -> bool {
        at > 0
            && (matches!(self.text(at - 1), ";" | "{" | "}" | ")" | "else")
                || (self.text(at - 1) == "(" && self.is_for(at)))
    }

    fn is_for(&self, at: usize) -> bool {
        at >= 2 && self.text(at - 1) == "(" && self.text(at - 2) == "for"
    }

    /// A declaration that begins here: words of a type, a name, and `=`, `;`, `[` or `,`.
    fn declaration(&mut self, at: usize) {
        if !self.begins(at) || !is_name(self.text(at)) || KEYWORDS.contains(&self.text(at)) {
            return;
        }
        let mut end = at;
        let mut angles = 0_i32;
        while end < self.tokens.len() {
            match self.text(end) {
                "<" => angles += 1,
                ">" => angles -= 1,
                "*" | "&" | "::" => {}
                "," if angles > 0 => {}
                text if is_name(text) || (angles > 0 && text != ";") => {}
                _ => break,
            }
            end += 1;
        }
        let name = end.saturating_sub(1);
        let is_one = name > at
            && is_name(self.text(name))
            && matches!(self.text(end), "=" | ";" | "[" | ",")
            && self.text(name - 1) != "::";
        if !is_one {
            return;
        }
        let to = self.reach(at);
        let is_reference = self.tokens[at..name].iter().any(|token| token.text == "&");
        let ty = type_of(&self.tokens[at..name], self.text(end) == "[");
        // Several at once, `T a = 1, b = 2;`, are not taken apart: the names are known, and what they hold is not.
        let is_list = self.text(self.end(end)) == ",";
        self.declare(self.text(name), ty, (name, to), is_reference || is_list);
    }

    /// The last word that a declaration's name reaches: of its block, or of the statement of its `for`.
    fn reach(&self, at: usize) -> usize {
        let last = self.tokens.len() - 1;
        if self.is_for(at) {
            let head = closing(self.tokens, at - 1).unwrap_or(last);
            if self.text(head + 1) == "{" {
                return closing(self.tokens, head + 1).unwrap_or(last);
            }
            let mut depth = 0_i32;
            for end in head + 1..last {
                match self.text(end) {
                    "(" | "[" | "{" => depth += 1,
                    ")" | "]" => depth -= 1,
                    "}" => {
                        depth -= 1;
                        if depth == 0 {
                            return end;
                        }
                    }
                    ";" if depth == 0 => return end,
                    _ => {}
                }
            }
            return last;
        }
        let mut depth = 0_i32;
        for end in at..=last {
            match self.text(end) {
                "{" => depth += 1,
                "}" if depth == 0 => return end,
                "}" => depth -= 1,
                _ => {}
            }
        }
        last
    }

    /// The variable that a name means at a place.
    fn variable(&mut self, name: &str, at: usize) -> Option<&mut Variable> {
        let reaches = |one: &&mut Variable| one.name == name && one.from <= at && at <= one.to;
        self.variables.iter_mut().filter(reaches).max_by_key(|one| one.from)
    }

    /// An assignment to the name at this place, or its address.
    fn assignment(&mut self, at: usize) {
        let name = self.text(at);
        if !is_name(name) || at == 0 {
            return;
        }
        let (before, after) = (self.text(at - 1), self.text(at + 1));
        if matches!(before, "." | "->" | "::") {
            return;
        }
        let line = self.tokens[at].line;
        if before == "&" && !is_name(self.text(at - 2)) && !matches!(self.text(at - 2), ")" | "]") {
            if let Some(one) = self.variable(name, at) {
                one.is_hidden |= !one.ty.is_shared;
            }
            return;
        }
        let step = if after == "++" || before == "++" {
            Some("+=")
        } else if after == "--" || before == "--" {
            Some("-=")
        } else {
            None
        };
        let value = if step.is_some() {
            Some(Expr::Number(1, 4))
        } else if ASSIGNS.contains(&after) {
            let end = self.end(at + 2);
            parse(&self.tokens[at + 2..end])
        } else {
            return;
        };
        let operator = step.unwrap_or(after);
        let value = match operator.strip_suffix('=') {
            Some("") | None => value,
            Some(operator) => value.map(|value| Expr::binary(operator, Expr::Name(name.to_owned()), value)),
        };
        let is_written_through = before == "*" && !self.variable(name, at).is_some_and(|one| one.from == at);
        if let Some(one) = self.variable(name, at).filter(|_| !is_written_through) {
            one.assignments.push(Assignment { line, value, at });
        }
    }

    /// Returns the end of the expression that begins at `from`.
    fn end(&self, from: usize) -> usize {
        let mut depth = 0_i32;
        for at in from..self.tokens.len() {
            match self.text(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" if depth == 0 => return at,
                ")" | "]" | "}" => depth -= 1,
                ";" | "," if depth == 0 => return at,
                _ => {}
            }
        }
        self.tokens.len() - 1
    }

    /// A call of a function, with or without arguments for its template.
    fn call(&self, at: usize) -> Option<Call> {
        let name = self.text(at);
        if !is_name(name) || KEYWORDS.contains(&name) {
            return None;
        }
        let mut open = at + 1;
        if self.text(open) == "<" {
            open += 1 + self.tokens[open..].iter().take(24).position(|token| token.text == ">")?;
        }
        if self.text(open) != "(" {
            return None;
        }
        let close = closing(self.tokens, open)?;
        let arguments = split(&self.tokens[open + 1..close]).into_iter().map(parse).collect();
        Some(Call { line: self.tokens[at].line, name: name.to_owned(), arguments, at })
    }
}
