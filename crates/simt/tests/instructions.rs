//! The reference of instructions says what is so: every spelling in it is taken, and every one that it leaves out is
//! refused.

use ptx::table::Shape;
use simt::instructions::{FORMS, Form, REFUSED, SPECIAL_REGISTERS, left_out};
use simt::{LoadError, Program};

/// A PTX file with one kernel that has these lines.
fn file(lines: &str) -> String {
    format!(
        r"
.version 8.6
.target sm_100
.address_size 64
.func function() {{ ret; }}
.func (.param .b32 result) passes(.param .b32 argument) {{ ret; }}
.visible .entry kernel(.param .align 32 .b8 parameter[64])
{{
    .reg .b16 %h<8>;
    .reg .b32 %r<8>;
    .reg .b64 %d<8>;
    .reg .b128 %q<8>;
    .reg .pred %p<8>;
    .param .align 32 .b8 argument[64];
    .param .align 32 .b8 result[64];
    .param .b32 in; .param .b32 out;
targets: .branchtargets label;
prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
{lines}
label:
    ret;
}}
"
    )
}

/// The operands of `form` with registers for its letters; `T` is of the last type of `opcode`.
fn operands(form: &str, opcode: &str) -> String {
    let last = opcode.rsplit('.').next().unwrap_or("");
    let of_type = match last {
        "pred" => "%p",
        "b128" => "%q",
        "b64" | "u64" | "s64" | "f64" => "%d",
        "b16" | "u16" | "s16" | "f16" | "bf16" | "b8" | "u8" | "s8" => "%h",
        _ => "%r",
    };
    let mut text = String::new();
    let mut used = 0;
    for (at, letter) in form.char_indices() {
        let next = form[at + 1..].chars().next();
        let before = form[..at].chars().next_back();
        let alone = [next, before].iter().all(|c| c.is_none_or(|c| !c.is_ascii_alphanumeric()));
        let file = match letter {
            'T' => of_type,
            'R' => "%r",
            'D' => "%d",
            'P' => "%p",
            'H' => "%h",
            _ => "",
        };
        if alone && !file.is_empty() {
            text += &format!("{file}{}", used % 8);
            used += 1;
        } else {
            text.push(letter);
        }
    }
    match text.contains("function, ") {
        // The word stands for a function with a parameter where there is one, and parameters for scalars.
        true => text.replace("function", "passes").replace("(argument)", "(in)").replace("(result)", "(out)"),
        false => text.replace("(argument)", "(in)").replace("(result)", "(out)"),
    }
}

/// Every opcode of a form.
fn opcodes(form: &Form) -> Vec<String> {
    Shape { pattern: form.pattern, operands: "", group: "", sm: 80, version: 80 }.opcodes()
}

#[test]
fn what_the_reference_lists_is_taken() {
    let (mut spellings, mut refused) = (0, Vec::new());
    for form in FORMS {
        let line = |opcode: &String| {
            let operands = operands(form.operands, opcode);
            format!("    {opcode} {operands}").trim_end().to_owned() + ";\n"
        };
        let all = opcodes(form);
        spellings += all.len();
        // A function of its own for each hundred keeps the kernels small.
        for some in all.chunks(100) {
            let text = file(&some.iter().map(line).collect::<String>());
            let kernel = Program::load("reference.ptx", &text).and_then(|program| program.kernel("kernel").map(drop));
            refused.extend(kernel.err().map(|error| format!("{}: {error}", form.pattern)));
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(spellings > 3000, "{spellings}");
}

#[test]
fn special_registers_can_be_read() {
    for name in SPECIAL_REGISTERS {
        let axes: &[&str] = match name.ends_with("id") && !name.contains("lane") {
            true if ["%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid"].contains(name) => &[""],
            true => &[".x", ".y", ".z"],
            false => &[""],
        };
        for axis in axes {
            let line = match *name {
                "%is_explicit_cluster" => format!("mov.pred %p0, {name};"),
                "%clock64" | "%globaltimer" | "%gridid" => format!("mov.u64 %d0, {name};"),
                _ => format!("mov.u32 %r0, {name}{axis};"),
            };
            let kernel =
                Program::load("register.ptx", &file(&line)).and_then(|program| program.kernel("kernel").map(drop));
            assert!(kernel.is_ok(), "{}", kernel.expect_err("it is refused"));
        }
    }
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
        let runs = FORMS.iter().any(|form| form.mnemonic() == mnemonic)
            || ptx::table::ARITHMETIC.iter().any(|shape| shape.mnemonic() == mnemonic);
        assert!(runs, "{opcode}: no form of it is run, so it stands among those left out");
        let message = refused(&format!("{opcode} {};", operands(written, opcode)));
        assert!(message.contains(opcode), "{message}");
    }
}
