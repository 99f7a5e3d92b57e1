//! Packed video instructions of one lane: arithmetic on bytes or half words chosen out of two registers, with two or four
//! results side by side, and what becomes of the results.

use super::SOURCES;
use super::compare::Comparison;
use super::integer::Integer;

/// Operation on each pair of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Add,
    Sub,
    Average,
    Difference,
    Min,
    Max,
    Set(Comparison),
}

/// Parts of a register, or of two with the first one low.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parts {
    each: Integer,
    /// The bit that each one starts at.
    at: [u32; 4],
}

impl Parts {
    fn value(&self, registers: u64, which: usize) -> i128 {
        self.each.value(registers >> self.at[which])
    }
}

/// A video instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Video {
    verb: Verb,
    sources: [Parts; 2],
    result: Parts,
    /// Mask of the results that count, a bit each.
    mask: u32,
    saturate: bool,
    /// The results are added to the third source instead of put into it.
    accumulates: bool,
}

impl Video {
    /// The instruction that a canonical opcode of the table spells, with the selectors of destination and sources (without
    /// their dots, empty where there are none). `None` if a selector is not one that the instruction has.
    pub fn from_opcode(opcode: &str, selectors: [&str; 3]) -> Option<Video> {
        let mut words = opcode.split('.');
        let mnemonic = words.next()?;
        let count = mnemonic.chars().next_back()?.to_digit(10).filter(|count| matches!(count, 2 | 4))?;
        let words: Vec<&str> = words.collect();
        let mut signed = words.iter().filter(|word| matches!(**word, "u32" | "s32")).map(|word| *word == "s32");
        let compares = mnemonic.starts_with("vset");
        let result_signed = if compares { false } else { signed.next()? };
        let signs = [signed.next()?, signed.next()?];
        let bits = 32 / count;
        let own: [u32; 4] = std::array::from_fn(|i| i as u32);
        let source = |selector: &str, signed, from: u32| {
            let places = if selector.is_empty() { own.map(|i| i + from) } else { places(selector, count)? };
            Some(Parts { each: Integer { bits, signed }, at: places.map(|i| i * bits) })
        };
        let [d, a, b] = selectors;
        Some(Video {
            verb: verb(mnemonic.trim_end_matches(['2', '4']), &words)?,
            sources: [source(a, signs[0], 0)?, source(b, signs[1], count)?],
            result: Parts { each: Integer { bits, signed: result_signed }, at: own.map(|i| (i % count) * bits) },
            mask: results(d, count)?,
            saturate: words.contains(&"sat"),
            accumulates: words.contains(&"add"),
        })
    }

    /// The result from the sources in order.
    pub fn evaluate(&self, s: &[u64; SOURCES]) -> u64 {
        let registers = (s[0] & 0xffff_ffff) | s[1] << 32;
        let c = s[2] as u32;
        let results = (0..4).filter(|which| self.mask >> which & 1 != 0).map(|which| {
            let (a, b) = (self.sources[0].value(registers, which), self.sources[1].value(registers, which));
            let result = self.verb.of(a, b);
            (which, if self.saturate { self.result.each.clamped(result) } else { result })
        });
        let out = if self.accumulates {
            results.fold(c, |sum, (_, result)| sum.wrapping_add(result as u32))
        } else {
            results.fold(c, |out, (which, result)| {
                let (ones, at) = (self.result.each.mask() as u32, self.result.at[which]);
                out & !(ones << at) | (result as u32 & ones) << at
            })
        };
        u64::from(out)
    }
}

impl Verb {
    /// The result for one pair of parts, as wide as it comes.
    fn of(self, a: i128, b: i128) -> i128 {
        match self {
            Verb::Add => a + b,
            Verb::Sub => a - b,
            Verb::Difference => (a - b).abs(),
            Verb::Min => a.min(b),
            Verb::Max => a.max(b),
            Verb::Average => (a + b + i128::from(a + b >= 0)) >> 1,
            Verb::Set(comparison) => i128::from(comparison.of(a.partial_cmp(&b))),
        }
    }
}

fn verb(mnemonic: &str, words: &[&str]) -> Option<Verb> {
    Some(match mnemonic {
        "vadd" => Verb::Add,
        "vsub" => Verb::Sub,
        "vavrg" => Verb::Average,
        "vabsdiff" => Verb::Difference,
        "vmin" => Verb::Min,
        "vmax" => Verb::Max,
        "vset" => Verb::Set(words.iter().find_map(|word| Comparison::from_word(word))?),
        _ => return None,
    })
}

/// The digits of a selector of `count` parts, the last digit first.
fn digits(selector: &str, count: u32) -> Option<impl Iterator<Item = u32> + '_> {
    let digits = selector.strip_prefix(if count == 2 { 'h' } else { 'b' })?;
    digits.bytes().all(|c| c.is_ascii_digit()).then(|| digits.bytes().rev().map(|c| u32::from(c - b'0')))
}

/// Parses the selector of parts for each of `count` results: `h10`, `b7654`.
fn places(selector: &str, count: u32) -> Option<[u32; 4]> {
    let mut places = [0; 4];
    let named: Vec<u32> = digits(selector, count)?.filter(|&place| place < 2 * count).collect();
    if named.len() != count as usize || selector.len() != named.len() + 1 {
        return None;
    }
    places.iter_mut().zip(named).for_each(|(place, named)| *place = named);
    Some(places)
}

/// The results that count: `h1`, `b20`, digits from high to low; all without a selector.
fn results(selector: &str, count: u32) -> Option<u32> {
    if selector.is_empty() {
        return Some((1 << count) - 1);
    }
    let named: Vec<u32> = digits(selector, count)?.collect();
    let rising = named.windows(2).all(|two| two[0] < two[1]) && named.last().is_some_and(|&last| last < count);
    rising.then(|| named.iter().fold(0, |mask, digit| mask | 1 << digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(opcode: &str, selectors: [&str; 3], sources: [u64; 3]) -> u64 {
        let video = Video::from_opcode(opcode, selectors).unwrap_or_else(|| panic!("{opcode} {selectors:?}"));
        video.evaluate(&[sources[0], sources[1], sources[2], 0, 0])
    }

    #[test]
    fn several_results_stand_side_by_side() {
        assert_eq!(
            of("vabsdiff4.u32.u32.u32.add", ["", "", ""], [0x01ff_0080, 0x0200_00ff, 1000]),
            1000 + 1 + 255 + 127
        );
        assert_eq!(of("vadd2.s32.s32.s32.sat", ["h1", "h10", "h32"], [0x7fff_7fff, 0x0001_0001, 0xabcd]), 0x7fff_abcd);
        assert_eq!(of("vset4.u32.u32.lt", ["", "", "b3210"], [7, 9, 0]), 0);
        assert_eq!(of("vavrg2.s32.s32.s32", ["", "", ""], [0xffff_0001, 0xfffe_0002, 0]), 0xfffe_0002); // -3 and 3 halved
    }

    #[test]
    fn selectors_of_other_instructions_are_none() {
        for (opcode, selectors) in [
            ("vadd.u32.u32.u32", ["", "", ""]),
            ("vadd2.u32.u32.u32", ["", "h41", ""]),
            ("vadd2.u32.u32.u32", ["h01", "", ""]),
            ("vadd4.u32.u32.u32", ["", "b321", ""]),
            ("vadd4.u32.u32.u32", ["b4", "", ""]),
            ("vadd4.u32.u32.u32", ["", "h10", ""]),
        ] {
            assert_eq!(Video::from_opcode(opcode, selectors), None, "{opcode} {selectors:?}");
        }
    }
}
