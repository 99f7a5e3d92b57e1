//! Records of contests that are made up for tests, and a look at the texts that are made of them.

use lab::measurement::Measurement;
use serde_json::{Value, json};

/// A right case of a chapter's contest; `more` are its other fields.
pub(crate) fn case(chapter: &str, entrant: &str, (op, ty): (&str, &str), us: f64, more: Value) -> Value {
    let mut case = json!({ "chapter": chapter, "contest": "alone", "entrant": entrant, "op": op, "type": ty, "cold_us": us,
        "limit_us": 1.5, "ok": true });
    case.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    case
}

/// A record of these cases.
pub(crate) fn record(cases: &[Value]) -> Measurement {
    let record = json!({ "schema": 2, "device": "A GPU", "arch": "sm_80", "date": "2026-01-02T03:04:05Z", "command": "c",
        "method": "m", "cases": cases });
    serde_json::from_value(record).unwrap()
}

/// Fails unless all of these words are in the text.
#[track_caller]
pub(crate) fn has(text: &str, words: &[&str]) {
    words.iter().for_each(|words| assert!(text.contains(words), "no `{words}` in {text}"));
}
