//! Changes to a PTX text that leave much of it as it was: bytes, words, numbers and lines.

use ptx::table::{MODIFIERS, SPECS};

/// A small generator of random bits (splitmix64).
pub struct Bits(u64);

impl Bits {
    /// The generator number `seed`.
    pub fn of(seed: u64) -> Bits {
        Bits(seed.wrapping_mul(0xd134_2543_de82_ef95))
    }

    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `end`, which is not zero.
    fn below(&mut self, end: usize) -> usize {
        (self.word() % end as u64) as usize
    }

    fn pick<'t, T>(&mut self, list: &'t [T]) -> Option<&'t T> {
        if list.is_empty() { None } else { list.get(self.below(list.len())) }
    }
}

/// Numbers at which something overflows, is empty, or no longer fits.
#[rustfmt::skip] // a number a line would be thirty lines
const NUMBERS: [&str; 33] = [
    "0", "1", "-1", "2", "3", "4", "5", "7", "8", "15", "16", "17", "31", "32", "33", "63", "64", "65", "127", "255",
    "256", "1024", "4096", "65535", "65536", "2147483647", "-2147483648", "4294967295", "4294967296",
    "9223372036854775807", "18446744073709551615", "0x8000000000000000", "0f7fc00000",
];

/// One of `texts`, changed.
pub fn mutated(texts: &[String], bits: &mut Bits) -> String {
    let text = bits.pick(texts).cloned().unwrap_or_default();
    changed(text, texts, bits)
}

/// `text`, changed in one place, often in a second, seldom in more: few texts stay PTX through many changes. Lines may
/// come from the others in `texts`.
pub fn changed(mut text: String, texts: &[String], bits: &mut Bits) -> String {
    loop {
        text = match bits.below(24) {
            0 => bytes_changed(text, bits),
            1 => cut_short(text, bits),
            2..8 => line_changed(&text, texts, bits),
            _ => word_changed(&text, bits),
        };
        if bits.below(5) < 3 {
            return text;
        }
    }
}

fn bytes_changed(text: String, bits: &mut Bits) -> String {
    let mut bytes = text.into_bytes();
    for _ in 0..1 + bits.below(3) {
        let length = bytes.len();
        if length > 0 {
            let at = bits.below(length);
            bytes[at] ^= 1 << bits.below(7);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn cut_short(mut text: String, bits: &mut Bits) -> String {
    let mut end = bits.below(text.len() + 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    // Perhaps with an end that makes it whole again.
    if bits.below(2) == 0 {
        text.push_str("\n ret;\n}\n");
    }
    text
}

/// A line removed, doubled, exchanged with another, or taken from another text.
fn line_changed(text: &str, texts: &[String], bits: &mut Bits) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() {
        return String::new();
    }
    let at = bits.below(lines.len());
    match bits.below(5) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[at]),
        2 => {
            let other = bits.below(lines.len());
            lines.swap(at, other);
        }
        3 => {
            let line = lines[at];
            let to = bits.below(lines.len());
            lines.insert(to, line);
        }
        _ => {
            let foreign: Vec<&str> = bits.pick(texts).map(|text| text.lines().collect()).unwrap_or_default();
            lines.insert(at, bits.pick(&foreign).copied().unwrap_or(""));
        }
    }
    lines.join("\n")
}

/// Kind of a word; only words of one kind replace each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Register,
    /// With a dot before it: a modifier, a type, a directive.
    Dotted,
    Number,
    Name,
}

/// Start, end and kind of every word.
fn words(text: &str) -> Vec<(usize, usize, Kind)> {
    let is_part = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$' | b'%');
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !is_part(bytes[at]) {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && is_part(bytes[at]) {
            at += 1;
        }
        let kind = match bytes[start] {
            b'%' => Kind::Register,
            c if c.is_ascii_digit() => Kind::Number,
            _ if start > 0 && bytes[start - 1] == b'.' => Kind::Dotted,
            _ => Kind::Name,
        };
        found.push((start, at, kind));
    }
    found
}

/// A register's name without its number. What compilers write keeps registers of a type under one.
fn stem(register: &str) -> &str {
    register.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// A word replaced by another of its kind, mostly one of the same text.
fn word_changed(text: &str, bits: &mut Bits) -> String {
    let words = words(text);
    // Names are the declarations and labels that the rest hangs on, and comments: they are left alone more often.
    let mut picked = bits.pick(&words);
    while picked.is_some_and(|word| word.2 == Kind::Name) && bits.below(4) > 0 {
        picked = bits.pick(&words);
    }
    let Some(&(start, end, kind)) = picked else { return text.to_owned() };
    let mut same: Vec<&str> =
        words.iter().filter(|word| word.2 == kind).map(|&(from, to, _)| &text[from..to]).collect();
    if kind == Kind::Register && bits.below(8) > 0 {
        same.retain(|name| stem(name) == stem(&text[start..end]));
    }
    let known = match kind {
        Kind::Number if bits.below(3) > 0 => bits.pick(&NUMBERS).copied(),
        Kind::Dotted if bits.below(3) == 0 => bits.pick(MODIFIERS).copied(),
        Kind::Name if bits.below(4) == 0 => bits.pick(SPECS).map(|spec| spec.mnemonic),
        _ => None,
    };
    let new = known.or_else(|| bits.pick(&same).copied()).unwrap_or("");
    format!("{}{new}{}", &text[..start], &text[end..])
}
