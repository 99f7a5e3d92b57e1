//! Each file of `tests/errors` is refused with exactly the text beside it. `BLESS=1 cargo test -p ptx` writes the texts.

use crate::fixtures;

#[test]
fn each_bad_file_is_refused_with_its_message() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    for (name, path, text) in fixtures::fixtures("errors") {
        let found = match ptx::parse(&format!("{name}.ptx"), &text) {
            Ok(_) => "parsed without an error\n".to_string(),
            Err(error) => format!("{error}\n"),
        };
        let expected = path.with_extension("stderr");
        if bless {
            std::fs::write(&expected, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&expected).unwrap_or_default();
        if found != expected || found.starts_with("parsed") {
            wrong.push(format!("--- {name}: expected\n{expected}--- found\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn binary_data_is_named_as_such() {
    let elf = ptx::parse("k.cubin", "\u{7f}ELF\u{2}\u{1}\u{1}3\0\0\0").unwrap_err();
    assert_eq!((elf.line, elf.column), (1, 1));
    assert!(elf.message.contains("ELF file"), "{elf}");
    let nul = ptx::parse("k.ptx", ".version 8.0\n.target sm_80\n.global\0 .u32 x;").unwrap_err();
    assert_eq!((nul.line, nul.column), (3, 8));
    assert!(nul.message.contains("U+0000"), "{nul}");
    assert!(!nul.to_string().contains('\0'), "the message itself must stay printable");
}

#[test]
fn a_trailing_nul_of_a_c_string_and_a_byte_order_mark_are_no_errors() {
    let text = "\u{feff}.version 8.0\n.target sm_80\n\0";
    assert_eq!(ptx::parse("k.ptx", text).unwrap().version, (8, 0));
}
