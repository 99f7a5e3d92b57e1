//! Every spelling of the table of instructions as a line of PTX, and a file that such lines assemble in. The test
//! `instructions` has the simulator take them, and `scripts/what_runs.py` asks ptxas which targets have them.

use ptx::table::{ARITHMETIC, Needs, OTHERS, needs};
use simt::instructions::SPECIAL_REGISTERS;

/// Instruction in one of its spellings, or one that reads a special register.
pub struct Spelling {
    /// Pattern of the shape, or name of the register.
    pub of: &'static str,
    /// Operands of the shape.
    pub operands: &'static str,
    /// Instruction with operands, without its semicolon.
    pub line: String,
    /// Requirements in a file for sm_89, and in one for any other target.
    pub needs: [Needs; 2],
}

/// Every spelling, in the order of the table, then the special registers.
pub fn all() -> Vec<Spelling> {
    let shapes = ARITHMETIC.iter().chain(OTHERS).flat_map(|shape| {
        shape.opcodes().into_iter().map(move |opcode| Spelling {
            of: shape.pattern,
            operands: shape.operands,
            line: format!("{opcode} {}", operands(shape.operands, &opcode)).trim_end().to_owned(),
            needs: [shape.needs(&opcode, "sm_89"), shape.needs(&opcode, "")],
        })
    });
    let registers = SPECIAL_REGISTERS.iter().map(|&name| Spelling {
        of: name,
        operands: "",
        line: read(name),
        needs: [needs("mov", &[name]); 2],
    });
    shapes.chain(registers).collect()
}

/// Instruction that reads a special register.
pub fn read(name: &str) -> String {
    let has_axes =
        name.ends_with("id") && !["%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid"].contains(&name);
    match name {
        "%is_explicit_cluster" => format!("mov.pred %p0, {name}"),
        "%clock64" | "%globaltimer" | "%gridid" => format!("mov.u64 %d0, {name}"),
        _ if has_axes => format!("mov.u32 %r0, {name}.x"),
        _ => format!("mov.u32 %r0, {name}"),
    }
}

/// PTX file with one kernel that has these lines.
pub fn file(version: &str, target: &str, lines: &str) -> String {
    format!(
        r"
.version {version}
.target {target}
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

/// Operands of a shape with registers for its types.
pub fn operands(shape: &str, opcode: &str) -> String {
    let types: Vec<&str> = opcode.split('.').skip(1).filter(|word| file_of(word).is_some()).collect();
    let (first, last) = (types.first().copied().unwrap_or("b32"), types.last().copied().unwrap_or("b32"));
    let shape = shape.strip_suffix('=').unwrap_or(shape).replace('=', ",");
    let mut used = 0;
    let words = shape.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let text: String = words
        .map(|word| {
            let name = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            let register = match name {
                "T" => file_of(last),
                "D" => file_of(first),
                "W" if last.ends_with("16") => Some("%r"),
                "W" => Some("%d"),
                "imm8" => return word.replace(name, "0x1b"),
                _ => file_of(name),
            };
            let Some(file) = register else { return word.to_owned() };
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

/// Registers that hold a type.
fn file_of(kind: &str) -> Option<&'static str> {
    match kind {
        "pred" => Some("%p"),
        "b128" => Some("%q"),
        "b64" | "u64" | "s64" | "f64" | "f32x2" => Some("%d"),
        "b16" | "u16" | "s16" | "f16" | "bf16" | "f8x2" | "e4m3x2" | "e5m2x2" => Some("%h"),
        "b8" | "u8" | "s8" | "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" | "u16x2" | "s16x2" | "u8x4"
        | "tf32" | "count" | "bit" | "offset" | "angle" => Some("%r"),
        _ => None,
    }
}
