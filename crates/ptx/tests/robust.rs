//! Whatever the text, parsing ends with a tree or an error, and never with a panic.

use crate::fixtures;

use proptest::prelude::*;

/// Parses and, as the case may be, prints the tree or the error.
fn survives(text: &str) {
    match ptx::parse("fuzz.ptx", text) {
        Ok(module) => assert!(!module.to_string().is_empty()),
        Err(error) => assert!(error.to_string().starts_with("fuzz.ptx:"), "{error}"),
    }
}

/// The fixtures' texts, none so long that a case takes long.
fn texts() -> Vec<String> {
    let found = fixtures::fixtures("parse").into_iter().chain(fixtures::fixtures("errors"));
    found.map(|(_, _, text)| text).filter(|text| text.len() < 20_000).collect()
}

/// A line of `text`, to stand for a change in its middle rather than in its comments.
fn line_of(text: &str, at: prop::sample::Index) -> (usize, usize) {
    let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let start = *at.get(&starts);
    (start, text[start..].find('\n').map_or(text.len(), |length| start + length))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_file_cut_anywhere(text in prop::sample::select(texts()), at in any::<prop::sample::Index>()) {
        let mut end = at.index(text.len() + 1);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        survives(&text[..end]);
    }

    #[test]
    fn bytes_changed(
        text in prop::sample::select(texts()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = text.into_bytes();
        for (at, byte) in changes {
            let length = bytes.len();
            if length > 0 {
                bytes[at.index(length)] = byte;
            }
        }
        survives(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn a_line_replaced_by_tokens(
        text in prop::sample::select(texts()),
        at in any::<prop::sample::Index>(),
        tokens in prop::collection::vec(
            prop::sample::select(vec![
                "{", "}", "(", ")", "[", "]", ",", ";", ":", "|", "!", "@", "-", "+", "<<", "%r1", "_", ".reg", ".b32",
                ".align", ".ptr", "18446744073709551615", "9223372036854775808", "0", "1.5", "0f3F800000", "\"", "/*",
                "call", "add", ".s32", "x", "=", ".global", ".loc", ".entry", ".func", "<", ">", "~", "*", "/", "%",
            ]),
            1..24,
        ),
    ) {
        let (start, end) = line_of(&text, at);
        survives(&format!("{}{}{}", &text[..start], tokens.join(" "), &text[end..]));
    }

    #[test]
    fn any_text(text in any::<String>()) {
        survives(&text);
        survives(&format!(".version 8.0\n.target sm_80\n{text}"));
        survives(&format!(".version 8.0\n.target sm_80\n.entry k() {{ {text} }}"));
    }
}

#[test]
fn nesting_without_end_is_an_error() {
    for (open, close) in [("{", "}"), ("(", ")"), ("-", ""), ("~", ""), ("1+(", ")")] {
        let value = open.repeat(100_000) + "1" + &close.repeat(100_000);
        survives(&format!(".version 8.0\n.target sm_80\n.global .u32 x = {value};"));
        survives(&format!(".version 8.0\n.target sm_80\n.entry k() {{ {value} }}"));
        survives(&format!(".version 8.0\n.target sm_80\n.entry k() {{ mov.u32 %r1, {value}; }}"));
        survives(&format!(".version 8.0\n.target sm_80\n.section .debug_x {value}"));
        survives(&format!(".version 8.0\n.target sm_80\n.global .attribute{value} .u32 x;"));
    }
}
