//! What the simulator knows, for people: every instruction that it runs with its modifiers and types, and every one that it
//! refuses. Arithmetic comes from the table that lowering itself reads; the rest from [`FORMS`], which a test holds to what
//! lowering takes.

mod forms;

use std::fmt::Write;

use ptx::table::{ARITHMETIC, SPECS, Shape, Spec};

pub use forms::{FORMS, Form, REFUSED, SPECIAL_REGISTERS};

/// The parts of the reference, in their order, with the mnemonics that belong there and are no arithmetic.
const PARTS: [(&str, &[&str]); 5] = [
    ("Memory", &["ld", "ldu", "st", "cp", "mov", "cvta", "isspacep", "mapa", "getctarank"]),
    ("Atomics and fences", &["atom", "red", "membar", "fence"]),
    ("Lanes, warps, blocks", &["activemask", "bar", "barrier", "elect", "match", "mbarrier", "redux", "shfl", "vote"]),
    ("Control", &["bra", "brx", "call", "alloca", "stacksave", "stackrestore", "exit", "ret", "trap", "brkpt"]),
    (
        "Hints and time",
        &[
            "applypriority",
            "createpolicy",
            "discard",
            "griddepcontrol",
            "nanosleep",
            "pmevent",
            "prefetch",
            "prefetchu",
        ],
    ),
];

/// The instructions of PTX of which the simulator runs no form.
pub fn left_out() -> impl Iterator<Item = &'static Spec> {
    SPECS.iter().filter(|spec| shapes(spec.mnemonic).next().is_none() && forms_of(spec.mnemonic).next().is_none())
}

fn shapes(mnemonic: &str) -> impl Iterator<Item = &'static Shape> {
    ARITHMETIC.iter().filter(move |shape| shape.mnemonic() == mnemonic)
}

fn forms_of(mnemonic: &str) -> impl Iterator<Item = &'static Form> {
    FORMS.iter().filter(move |form| form.mnemonic() == mnemonic)
}

/// The whole reference in Markdown, from headings of the second level on.
pub fn markdown() -> String {
    let arithmetic: usize = ARITHMETIC.iter().map(|shape| shape.opcodes().len()).sum();
    let mut page = format!(
        "## Arithmetic\n\n{} instructions in {} spellings. In the simulator each of them gives what an H200 gave, bit for bit, \
         for 128 rows of operands or more; `.approx` and `.full` have [a section of their own](#approximate-instructions).\n",
        SPECS.iter().filter(|spec| shapes(spec.mnemonic).next().is_some()).count(),
        grouped(arithmetic),
    );
    for spec in SPECS.iter().filter(|spec| shapes(spec.mnemonic).next().is_some()) {
        let operands = |shape: &Shape| shape.operands.replace(',', ", ").replace('=', " = ");
        let lines = shapes(spec.mnemonic).map(|shape| (shape.pattern, operands(shape), since(shape)));
        // `and`, `or`, `xor`, `not` also take predicates.
        let forms = forms_of(spec.mnemonic).map(|form| (form.pattern, form.operands.to_owned(), String::new()));
        entry(&mut page, spec, lines.chain(forms));
    }
    for (title, mnemonics) in PARTS {
        let _ = write!(page, "\n## {title}\n");
        for spec in mnemonics.iter().filter_map(|mnemonic| ptx::table::lookup(mnemonic)) {
            let lines = forms_of(spec.mnemonic).map(|form| (form.pattern, form.operands.to_owned(), String::new()));
            entry(&mut page, spec, lines);
        }
    }
    let _ = write!(page, "\n## Special registers\n\n");
    let names: Vec<String> = SPECIAL_REGISTERS.iter().map(|name| format!("`{name}`")).collect();
    let _ = writeln!(page, "{}.", names.join(", "));
    refused(&mut page);
    page
}

/// One instruction: what it does, where the manual has it, and its spellings.
fn entry(page: &mut String, spec: &Spec, lines: impl Iterator<Item = (&'static str, String, String)>) {
    let _ = write!(page, "\n### `{}`\n\n{} (manual {})\n\n```text\n", spec.mnemonic, spec.summary, spec.section);
    let lines: Vec<_> = lines.collect();
    let width = lines.iter().map(|(pattern, ..)| pattern.len()).filter(|&width| width <= 60).max().unwrap_or(0);
    for (pattern, operands, since) in lines {
        let _ = writeln!(page, "{}", format!("{:width$}  {operands}{since}", pattern.replace('+', ".")).trim_end());
    }
    page.push_str("```\n");
}

/// The target that a shape needs, where it is newer than the oldest.
fn since(shape: &Shape) -> String {
    if shape.sm > 80 { format!("   (sm_{})", shape.sm) } else { String::new() }
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

    #[test]
    fn every_instruction_stands_in_the_reference_once() {
        let page = markdown();
        for spec in SPECS {
            let runs = page.matches(&format!("\n### `{}`\n", spec.mnemonic)).count();
            let lacks = page.matches(&format!("\n| `{}` | {} |\n", spec.mnemonic, spec.summary)).count();
            assert_eq!(runs + lacks, 1, "{}: {runs} sections, {lacks} lines among those left out", spec.mnemonic);
        }
        for form in FORMS {
            assert!(page.contains(form.pattern), "{}: in no part", form.pattern);
        }
    }
}
