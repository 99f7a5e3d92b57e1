//! Bytes as gzip in base64, which a classic script can hold.

use std::collections::HashMap;
use std::io::Read as _;
use std::num::NonZeroU64;
use std::path::Path;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use course::workspace;
use serde_json::Value;

/// Packs bytes as small as some rounds of zopfli make them.
pub fn packed(bytes: &[u8], rounds: NonZeroU64) -> Result<String> {
    let mut gzip = Vec::new();
    let options = zopfli::Options { iteration_count: rounds, ..zopfli::Options::default() };
    zopfli::compress(options, zopfli::Format::Gzip, bytes, &mut gzip)?;
    Ok(STANDARD.encode(gzip))
}

fn unpacked(text: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(STANDARD.decode(text)?.as_slice()).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Packed texts by what they hold, so that only what has changed is packed, which would be most of the time of a check.
#[derive(Default)]
pub struct Known(HashMap<Vec<u8>, String>);

impl Known {
    /// Reads the scripts of labs' data in a folder, with what is packed inside of their JSON.
    pub fn read(folder: &Path) -> Result<Known> {
        let mut known = Known::default();
        for file in workspace::walk(folder)? {
            let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
            // What is no such script is no packing either: the check then says what differs.
            if let Some(packed) = text.rsplit('"').nth(1) {
                known.add(packed);
            }
        }
        Ok(known)
    }

    fn add(&mut self, packed: &str) {
        let Ok(bytes) = unpacked(packed) else { return };
        if let Ok(Value::Object(fields)) = serde_json::from_slice(&bytes) {
            fields.values().filter_map(Value::as_str).for_each(|inner| self.add(inner));
        }
        self.0.insert(bytes, packed.to_owned());
    }

    /// Returns the known packing of the bytes, or packs them.
    pub fn packed(&self, bytes: &[u8], rounds: NonZeroU64) -> Result<String> {
        self.0.get(bytes).map_or_else(|| packed(bytes, rounds), |known| Ok(known.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_script_holds_is_known_and_the_rest_is_packed() {
        let inner = packed(b"inner", NonZeroU64::MIN).unwrap();
        let outer =
            packed(format!(r#"{{"answer":"{inner}","name":"no packing"}}"#).as_bytes(), NonZeroU64::MIN).unwrap();
        let whole = format!("// A\nlab.data(\"a\", \"{outer}\");\n");
        let folder = crate::tree(&[("a.js", &whole), ("b.js", "lab.data(\"b\", \"broken\");\n")]);
        let known = Known::read(folder.path()).unwrap();
        assert_eq!(known.0.len(), 2);
        assert_eq!(known.0[&b"inner"[..]], inner);
        assert_eq!(unpacked(&known.packed(b"other", NonZeroU64::MIN).unwrap()).unwrap(), b"other");
    }
}
