//! Fixtures of packed video instructions with selectors: beside each opcode's plain spelling one that picks parts of its
//! sources and writes only a part of its destination, drawn by the opcode, so that all parts come up among the opcodes.

use ptx::table::Operands;

use super::fixture::Fixture;
use super::operands::Bits;

const MASKS_OF_TWO: [&str; 3] = [".h0", ".h1", ".h10"];
const MASKS_OF_FOUR: [&str; 15] = [
    ".b0", ".b1", ".b10", ".b2", ".b20", ".b21", ".b210", ".b3", ".b30", ".b31", ".b310", ".b32", ".b320", ".b321",
    ".b3210",
];

/// The spelling of `opcode` with selectors, if it is a video instruction.
pub fn selecting(opcode: &str, operands: &Operands) -> Option<Fixture> {
    let mnemonic = opcode.split('.').next().filter(|mnemonic| mnemonic.starts_with('v'))?;
    let mut bits = Bits::of(opcode);
    let mut of = |list: &[&str]| list[bits.below(list.len() as u64) as usize].to_owned();
    let selectors = match mnemonic.as_bytes().last()? {
        b'2' => picked(of(&MASKS_OF_TWO), &mut bits, 'h', 2),
        _ => picked(of(&MASKS_OF_FOUR), &mut bits, 'b', 4),
    };
    let Operands { destinations, sources } = operands.clone();
    Some(Fixture { opcode: opcode.to_owned(), immediate: None, selectors, destinations, sources })
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
