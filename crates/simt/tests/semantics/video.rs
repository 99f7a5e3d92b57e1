//! Fixtures of video instructions with selectors: beside or instead of each opcode's plain spelling one that picks parts of its
//! sources and writes only a part of its destination, drawn by the opcode, so that all parts come up among the opcodes.

use ptx::table::Operands;

use super::fixture::Fixture;
use super::operands::{Bits, fnv};

const PARTS: [&str; 6] = [".b0", ".b1", ".b2", ".b3", ".h0", ".h1"];
const MASKS_OF_TWO: [&str; 3] = [".h0", ".h1", ".h10"];
const MASKS_OF_FOUR: [&str; 15] = [
    ".b0", ".b1", ".b10", ".b2", ".b20", ".b21", ".b210", ".b3", ".b30", ".b31", ".b310", ".b32", ".b320", ".b321",
    ".b3210",
];

/// Whether an opcode is also run without selectors. Of the many scalar ones, every second: parts are chosen and merged in
/// one and the same way whatever is computed of them.
pub fn is_run_plain(opcode: &str) -> bool {
    !opcode.starts_with('v') || is_simd(opcode) || fnv(opcode.as_bytes()).is_multiple_of(2)
}

fn is_simd(opcode: &str) -> bool {
    opcode.split('.').next().is_some_and(|mnemonic| mnemonic.ends_with(['2', '4']))
}

/// The spelling of `opcode` with selectors, if it is a video instruction.
pub fn selecting(opcode: &str, operands: &Operands) -> Option<Fixture> {
    let mnemonic = opcode.split('.').next().filter(|mnemonic| mnemonic.starts_with('v'))?;
    let mut bits = Bits::of(opcode);
    let mut of = |list: &[&str]| list[bits.below(list.len() as u64) as usize].to_owned();
    let mut sources = operands.sources.clone();
    let selectors = match mnemonic.as_bytes().last() {
        Some(b'2') => picked(of(&MASKS_OF_TWO), &mut bits, 'h', 2),
        Some(b'4') => picked(of(&MASKS_OF_FOUR), &mut bits, 'b', 4),
        // What a third source is joined with by an operation is not merged into it.
        _ if sources.len() == 3 => [String::new(), of(&PARTS), of(&PARTS)],
        _ => {
            sources.push("b32".to_owned());
            [of(&PARTS), of(&PARTS), of(&PARTS)]
        }
    };
    let (opcode, destinations) = (opcode.to_owned(), operands.destinations.clone());
    Some(Fixture { opcode, immediate: None, selectors, destinations, sources })
}

/// The mask, and for each source a selector that names one of the parts of two registers for each of `count` results. The
/// two differ: an instruction on twice the same value does little.
fn picked(mask: String, bits: &mut Bits, size: char, count: u64) -> [String; 3] {
    let mut selector = || {
        let digits: String = (0..count).map(|_| char::from(b'0' + bits.below(2 * count) as u8)).collect();
        format!(".{size}{digits}")
    };
    let first = selector();
    let mut second = selector();
    while second == first {
        second = selector();
    }
    [mask, first, second]
}
