//! The reference of instructions says what is so: every spelling in it is taken, and every one that it leaves out is
//! refused.

use ptx::table::shapes;
use simt::instructions::{REFUSED, left_out};
use simt::{LoadError, Program};
use simt_fixtures::spellings::{self, operands};

/// A PTX file with one kernel that has these lines.
fn file(lines: &str) -> String {
    spellings::file("8.8", "sm_100a", lines)
}

#[test]
fn a_mnemonic_without_its_modifiers_is_taken_or_refused() {
    for spec in ptx::table::SPECS {
        for operands in ["", " label", " %r1", " [%d1]", " %r1, %r2", " %r1, [%d1]", " %r1, %r2, %r3"] {
            if let Ok(program) = Program::load("k.ptx", &file(&format!("    {}{operands};", spec.mnemonic))) {
                let refused = program.kernel("kernel").err().map(|error| error.to_string());
                assert!(refused.is_none_or(|message| message.starts_with("k.ptx:")), "{}{operands}", spec.mnemonic);
            }
        }
    }
}

#[test]
fn what_the_reference_leaves_out_is_refused() {
    let refused = |line: &str| {
        let program = Program::load("reference.ptx", &file(line)).map_err(|error| error.to_string());
        let program = program.unwrap_or_else(|error| panic!("{line}: the parser should know it: {error}"));
        match program.kernel("kernel") {
            Err(LoadError::Unsupported { message, .. }) => message,
            other => panic!("{line}: {:?}", other.map(|kernel| kernel.name().to_owned())),
        }
    };
    let mut mnemonics = 0;
    for spec in left_out() {
        mnemonics += 1;
        let operands: Vec<String> = (0..spec.operands_min).map(|i| format!("%r{}", i % 8)).collect();
        let line = format!("{} {}", spec.mnemonic, operands.join(", ")).trim_end().to_owned() + ";";
        assert_eq!(refused(&line), format!("unsupported instruction {}", spec.mnemonic));
    }
    assert!(mnemonics > 20, "{mnemonics}");
    for (form, _) in REFUSED {
        let (opcode, written) = form.split_once(' ').unwrap_or((form, ""));
        let mnemonic = opcode.split('.').next().unwrap_or("");
        assert!(!shapes(mnemonic).is_empty(), "{opcode}: no form of it is run, so it stands among those left out");
        let message = refused(&format!("{opcode} {};", operands(written, opcode)));
        assert!(message.contains(opcode), "{message}");
    }
}
