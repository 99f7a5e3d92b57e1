//! Reference of instructions, for people: every instruction that it runs with its modifiers and types, and every one that it
//! refuses. It is the table that the parser and lowering read; a test holds it to what lowering takes.

mod refused;

use std::fmt::Write;

use ptx::table::{ARITHMETIC, Part, SPECS, Shape, Spec, shapes};

pub use refused::{REFUSED, SPECIAL_REGISTERS};

/// The parts of the reference behind arithmetic, in their order.
const PARTS: [(&str, Part); 5] = [
    ("Memory", Part::Memory),
    ("Atomics and fences", Part::Ordering),
    ("Lanes, warps, blocks", Part::Together),
    ("Control", Part::Control),
    ("Hints and time", Part::Hints),
];

/// The instructions of PTX of which the simulator runs no form.
pub fn left_out() -> impl Iterator<Item = &'static Spec> {
    SPECS.iter().filter(|spec| shapes(spec.mnemonic).is_empty())
}

/// The instructions of a part of which it runs some.
fn run_of(part: Part) -> impl Iterator<Item = &'static Spec> {
    SPECS.iter().filter(move |spec| spec.part == part && !shapes(spec.mnemonic).is_empty())
}

/// The whole reference in Markdown, from headings of the second level on.
pub fn markdown() -> String {
    let arithmetic: usize = ARITHMETIC.iter().map(|shape| shape.opcodes().len()).sum();
    let mut page = format!(
        "## Arithmetic\n\n{} instructions in {} spellings. In the simulator each of them gives what an H200 gave, bit for bit, \
         for 128 rows of operands or more, but for those of sm_100, which follow their definition: there was no such card to hold them against. `.approx` and `.full` have [a section of their own](#approximate-instructions).\n",
        run_of(Part::Arithmetic).count(),
        grouped(arithmetic),
    );
    run_of(Part::Arithmetic).for_each(|spec| entry(&mut page, spec));
    for (title, part) in PARTS {
        let _ = write!(page, "\n## {title}\n");
        run_of(part).for_each(|spec| entry(&mut page, spec));
    }
    let _ = write!(page, "\n## Special registers\n\n");
    let names: Vec<String> = SPECIAL_REGISTERS.iter().map(|name| format!("`{name}`")).collect();
    let _ = writeln!(page, "{}.", names.join(", "));
    refused(&mut page);
    page
}

/// One instruction: what it does, where the manual has it, and its spellings.
fn entry(page: &mut String, spec: &Spec) {
    let _ = write!(page, "\n### `{}`\n\n{} (manual {})\n\n```text\n", spec.mnemonic, spec.summary, spec.section);
    let widths = shapes(spec.mnemonic).iter().map(|shape| shape.pattern.len()).filter(|&width| width <= 60);
    let width = widths.max().unwrap_or(0);
    for shape in shapes(spec.mnemonic) {
        let operands = shape.operands.replace(',', ", ").replace('=', " = ");
        let line = format!("{:width$}  {operands}{}", shape.pattern.replace('+', "."), since(shape));
        let _ = writeln!(page, "{}", line.trim_end());
    }
    page.push_str("```\n");
}

/// The target that a shape needs, where it is newer than the oldest.
fn since(shape: &Shape) -> String {
    let needs =
        shape.opcodes().iter().map(|opcode| shape.needs(opcode, "")).min_by_key(|needs| needs.sm).unwrap_or_default();
    let letter = if needs.family { "a" } else { "" };
    match needs.sm {
        ..=80 => String::new(),
        81..=90 => format!("   (sm_{})", needs.sm),
        newer => format!("   (sm_{newer}{letter}, not held against hardware)"),
    }
}

fn refused(page: &mut String) {
    page.push_str(
        "\n## Left out\n\nA kernel that uses one of these is refused before it runs, with the line: \
         [`unsupported-instruction`](faults.md#unsupported-instruction). Other kernels of the same file run.\n\n\
         | instruction | what it does |\n|---|---|\n",
    );
    for spec in left_out() {
        let _ = writeln!(page, "| `{}` | {} |", spec.mnemonic, spec.summary);
    }
    page.push_str(
        "\nAnd of instructions that the simulator runs, these forms:\n\n| form | what it does |\n|---|---|\n",
    );
    for (form, what) in REFUSED {
        let _ = writeln!(page, "| `{}` | {what} |", form.split(' ').next().unwrap_or(form));
    }
}

/// `2,345`
fn grouped(n: usize) -> String {
    crate::counters::grouped(n as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx::table::OTHERS;

    #[test]
    fn every_instruction_stands_in_the_reference_once() {
        let page = markdown();
        for spec in SPECS {
            let runs = page.matches(&format!("\n### `{}`\n", spec.mnemonic)).count();
            let refused = page.matches(&format!("\n| `{}` | {} |\n", spec.mnemonic, spec.summary)).count();
            assert_eq!(runs + refused, 1, "{}: {runs} sections, {refused} lines among those left out", spec.mnemonic);
        }
        for shape in OTHERS {
            assert!(page.contains(&shape.pattern.replace('+', ".")), "{}: in no part", shape.pattern);
        }
    }
}
