//! The little language that the shapes of instructions are written in, and what can be read off it.
//!
//! A shape is an opcode's words with dots between. A word is its alternatives with `|` between; a trailing `?` says that
//! it may be left out, and `+` stands for a dot inside an alternative (`xorsign+abs`). Operands are written
//! `destination = source, source`, without a `=` where there is no destination, each by its type, where `T` is the opcode's
//! last type, `D` its first, `W` an integer of twice the width of `T`, and `count`, `bit`, `offset`, `imm8`, `angle`, `f8x2`
//! are operands whose useful values are few. An address is in brackets, a vector in braces; a number or a word stands for
//! itself or for what it says.

use super::{Needs, needs, shapes};

/// One line of the table: every opcode it covers takes the same operands.
#[derive(Debug, PartialEq, Eq)]
pub struct Shape {
    /// The opcodes: `add.rn|rz|rm|rp?.ftz?.sat?.f32`.
    pub pattern: &'static str,
    /// The operands: `T=T,T`.
    pub operands: &'static str,
    /// File of fixtures that tests it; empty for instructions other than arithmetic.
    pub group: &'static str,
}

/// The kinds of an opcode's operands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operands {
    /// One or two destinations (`p|q`), by type.
    pub destinations: Vec<String>,
    /// The sources by type.
    pub sources: Vec<String>,
}

/// Words that are types, first those of integers.
const TYPES: [&str; 32] = [
    "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "b8", "b16", "b32", "b64", "u16x2", "s16x2", "f16", "f16x2",
    "bf16", "bf16x2", "f32", "f32x2", "f64", "pred", "tf32", "e4m3x2", "e5m2x2", "b128", "b1", "b4", "u4", "s4", "u2",
    "s2",
];

impl Shape {
    /// The opcode's first word.
    pub fn mnemonic(&self) -> &'static str {
        self.pattern.split('.').next().unwrap_or_default()
    }

    /// The words after the mnemonic: alternatives, and whether one may be left out.
    fn words(&self) -> impl Iterator<Item = (std::str::Split<'static, char>, bool)> {
        self.pattern.split('.').skip(1).map(|word| match word.strip_suffix('?') {
            Some(word) => (word.split('|'), true),
            None => (word.split('|'), false),
        })
    }

    /// Every opcode that the shape covers, in the order of its alternatives.
    pub fn opcodes(&self) -> Vec<String> {
        self.words().fold(vec![self.mnemonic().to_string()], |made, (alternatives, optional)| {
            let with = |start: &String, word: &str| format!("{start}.{}", word.replace('+', "."));
            made.iter()
                .flat_map(|start| {
                    let bare = optional.then(|| start.clone());
                    bare.into_iter().chain(alternatives.clone().map(move |word| with(start, word)))
                })
                .collect()
        })
    }

    /// Requirements of an opcode that the shape covers, in a file for `target`.
    pub fn needs(&self, opcode: &str, target: &str) -> Needs {
        let (count, target) = (format!("#{}", self.operand_count()), format!("#{target}"));
        let last = if self.operands.ends_with(",pred") { "#pred" } else { "" };
        let words: Vec<&str> = opcode.split('.').skip(1).chain([&count, &target, last]).collect();
        needs(self.mnemonic(), &words)
    }

    /// The opcode with its words in the shape's order, if the shape covers it. Types stand in order; the assembler
    /// takes the other words in any.
    pub fn canonical(&self, opcode: &str) -> Option<String> {
        let mut left: Vec<&str> = opcode.split('.').collect();
        if left.remove(0) != self.mnemonic() {
            return None;
        }
        let mut spelled = self.mnemonic().to_string();
        for (mut alternatives, optional) in self.words() {
            match alternatives.find(|word| take(&mut left, word)) {
                Some(word) => spelled = format!("{spelled}.{}", word.replace('+', ".")),
                None if optional => {}
                None => return None,
            }
        }
        left.is_empty().then_some(spelled)
    }

    /// Returns whether `word`, a modifier, stands in the shape.
    pub fn has(&self, word: &str) -> bool {
        self.words().any(|(mut alternatives, _)| alternatives.any(|one| one.split('+').any(|part| part == word)))
    }

    /// Returns whether the first operand is written.
    pub fn has_destination(&self) -> bool {
        self.operands.contains('=')
    }

    /// Operands, a pair of destinations counted as one and what is in brackets, braces or parentheses too.
    pub fn operand_count(&self) -> usize {
        let mut depth = 0;
        let mut count = usize::from(!self.operands.is_empty());
        for (at, c) in self.operands.char_indices() {
            match c {
                '[' | '{' | '(' => depth += 1,
                ']' | '}' | ')' => depth -= 1,
                // Behind a `=` may come nothing.
                ',' | '=' if depth == 0 && at + 1 < self.operands.len() => count += 1,
                _ => {}
            }
        }
        count
    }

    /// The operands of an opcode that the shape covers, if it is arithmetic.
    pub fn operands_of(&self, opcode: &str) -> Operands {
        let types: Vec<&str> = opcode.split('.').skip(1).filter(|word| TYPES.contains(word)).collect();
        let (first, last) = (types.first().copied().unwrap_or("b32"), types.last().copied().unwrap_or("b32"));
        let kind = |written: &str| match written {
            "T" => last.to_string(),
            "D" => first.to_string(),
            "W" => wide(last),
            other => other.to_string(),
        };
        let (destinations, sources) = self.operands.split_once('=').unwrap_or((self.operands, ""));
        Operands {
            destinations: destinations.split('|').map(kind).collect(),
            sources: sources.split(',').filter(|written| !written.is_empty()).map(kind).collect(),
        }
    }
}

/// Takes the parts of `word` out of `left`, if all are there; of types only the first that is left.
fn take(left: &mut Vec<&str>, word: &str) -> bool {
    let first_type = left.iter().position(|part| TYPES.contains(part));
    let places: Vec<usize> = word.split('+').filter_map(|part| left.iter().position(|&found| found == part)).collect();
    let whole = places.len() == word.split('+').count();
    if !whole || (TYPES.contains(&word) && first_type != places.first().copied()) {
        return false;
    }
    let kept = left.iter().enumerate().filter(|(at, _)| !places.contains(at)).map(|(_, part)| *part).collect();
    *left = kept;
    true
}

/// Returns whether a word is a type.
pub(super) fn is_type(word: &str) -> bool {
    TYPES.contains(&word)
}

/// The integer of twice the width: `u32` of `u16`.
fn wide(ty: &str) -> String {
    let (sign, bits) = ty.split_at(1);
    bits.parse::<u32>().map_or_else(|_| ty.to_string(), |bits| format!("{sign}{}", bits * 2))
}

/// The shape that covers a whole opcode with so many operands, and the opcode with its words in the shape's order, if it is
/// arithmetic that the table knows.
pub fn arithmetic(opcode: &str, operands: usize) -> Option<(&'static Shape, String)> {
    let mnemonic = opcode.split('.').next().unwrap_or_default();
    let candidates =
        shapes(mnemonic).iter().filter(|shape| !shape.group.is_empty() && shape.operand_count() == operands);
    candidates.filter_map(|shape| Some((*shape, shape.canonical(opcode)?))).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{ARITHMETIC, is_modifier, lookup};

    #[test]
    fn a_shape_covers_what_it_lists_and_nothing_else() {
        let shape = Shape { pattern: "min.ftz?.NaN?.xorsign+abs?.f32|f64", operands: "T=T,T", group: "g" };
        let opcodes = shape.opcodes();
        assert_eq!(opcodes.len(), 16);
        assert!(opcodes.contains(&"min.ftz.xorsign.abs.f32".to_string()));
        assert!(opcodes.iter().all(|opcode| shape.canonical(opcode).as_ref() == Some(opcode)));
        assert_eq!(shape.canonical("min.NaN.ftz.f32").as_deref(), Some("min.ftz.NaN.f32"));
        for wrong in ["min", "min.f16", "min.f3", "min.f322", "min.ftz.ftz.f32", "mine.f32", "min.xorsign.f32"] {
            assert_eq!(shape.canonical(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn operands_are_read_off_the_opcode() {
        let (shape, _) = arithmetic("mad.wide.s16", 4).expect("it is in the table");
        let operands = shape.operands_of("mad.wide.s16");
        assert_eq!(operands.destinations, ["s32"]);
        assert_eq!(operands.sources, ["s16", "s16", "s32"]);
        let (shape, _) = arithmetic("dp4a.u32.s32", 4).expect("it is in the table");
        assert_eq!(shape.operands_of("dp4a.u32.s32").sources, ["u32", "s32", "b32"]);
    }

    #[test]
    fn every_opcode_is_covered_once_by_words_that_the_parser_knows() {
        let mut seen = std::collections::HashSet::new();
        for shape in ARITHMETIC {
            assert!(lookup(shape.mnemonic()).is_some(), "{}", shape.pattern);
            for opcode in shape.opcodes() {
                assert!(opcode.split('.').skip(1).all(is_modifier), "{opcode}");
                let spec = lookup(shape.mnemonic()).expect("checked above");
                let count = (1 + shape.operands_of(&opcode).sources.len()) as u8;
                assert!(spec.operands_min <= count && count <= spec.operands_max, "{opcode}: {count} operands");
                assert!(seen.insert((opcode.clone(), count)), "{opcode} stands twice");
            }
        }
        assert!(seen.len() > 2000, "{}", seen.len());
    }
}
