//! The reference of instructions says what is so: every spelling in it is taken, and every one that it leaves out is
//! refused.

use ptx::table::{OTHERS, shapes};
use simt::instructions::{REFUSED, SPECIAL_REGISTERS, left_out};
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

/// The operands of a shape with registers for its types; `T` is the last type of `opcode`.
fn operands(shape: &str, opcode: &str) -> String {
    let file = |kind: &str| match kind {
        "pred" => Some("%p"),
        "b128" => Some("%q"),
        "b64" | "u64" | "s64" | "f64" => Some("%d"),
        "b16" | "u16" | "s16" | "f16" | "bf16" | "b8" | "u8" | "s8" => Some("%h"),
        "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" => Some("%r"),
        _ => None,
    };
    let of_type = file(opcode.rsplit('.').next().unwrap_or("")).unwrap_or("%r");
    let shape = shape.strip_suffix('=').unwrap_or(shape).replace('=', ",");
    let mut used = 0;
    let words = shape.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let text: String = words
        .map(|word| {
            let name = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            let Some(file) = file(name).or((name == "T").then_some(of_type)) else { return word.to_owned() };
            used += 1;
            word.replace(name, &format!("{file}{}", (used - 1) % 8))
        })
        .collect();
    match text.contains("function,") {
        // The word stands for a function with a parameter where there is one, and parameters for scalars.
        true => text.replace("function", "passes").replace("(argument)", "(in)").replace("(result)", "(out)"),
        false => text.replace("(argument)", "(in)").replace("(result)", "(out)"),
    }
}

#[test]
fn what_the_reference_lists_is_taken() {
    let (mut spellings, mut refused) = (0, Vec::new());
    for shape in OTHERS {
        let line = |opcode: &String| {
            let operands = operands(shape.operands, opcode);
            format!("    {opcode} {operands}").trim_end().to_owned() + ";\n"
        };
        let all = shape.opcodes();
        spellings += all.len();
        // A function of its own for each hundred keeps the kernels small.
        for some in all.chunks(100) {
            let text = file(&some.iter().map(line).collect::<String>());
            let kernel = Program::load("reference.ptx", &text).and_then(|program| program.kernel("kernel").map(drop));
            refused.extend(kernel.err().map(|error| format!("{}: {error}", shape.pattern)));
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
        assert!(!shapes(mnemonic).is_empty(), "{opcode}: no form of it is run, so it stands among those left out");
        let message = refused(&format!("{opcode} {};", operands(written, opcode)));
        assert!(message.contains(opcode), "{message}");
    }
}
