//! The simulator as WebAssembly: bytes in, bytes out, no framework. It is the engine of the figures that run in the pages.
//!
//! A page calls `alloc(bytes)`, writes a request there as JSON ([`request::Request`]), calls `run(address, bytes)` and reads the
//! answer at the address that it gets; `free(address, bytes)` gives either back. Numbers are little-endian:
//!
//! ```text
//! answer    bytes u32 (of all that follows) · json_bytes u32 · JSON, filled up to a multiple of 4 · words u32...
//! ```
//!
//! The JSON is `{"version", "launches", "outputs", "buffers"}` or `{"version", "error"}`; [`outcome`] lists the keys. The words are
//! the steps of the trace, as [`steps`] packs them. The same function, [`answer`], runs on the host: a test holds one to the other.

pub mod outcome;
pub mod request;
pub mod steps;

mod bind;
mod devices;
#[cfg(target_arch = "wasm32")]
mod exports;

/// Version of the request, of the answer and of the packed steps. It grows whenever one of them changes its meaning.
pub const VERSION: u32 = 2;

/// Runs a request, JSON as UTF-8, and gives the answer without its first word: JSON and packed steps. What is wrong with a
/// request, or with its PTX, is reported in the answer.
pub fn answer(request: &[u8]) -> Vec<u8> {
    let mut words = Vec::new();
    let json = match outcome::of(request, &mut words) {
        Ok(json) => json,
        Err(error) => {
            words.clear();
            serde_json::json!({ "version": VERSION, "error": error })
        }
    };
    let mut text = json.to_string().into_bytes();
    let json_bytes = text.len() as u32;
    text.resize(text.len().next_multiple_of(4), b' ');
    let mut bytes = Vec::with_capacity(4 + text.len() + 4 * words.len());
    bytes.extend(json_bytes.to_le_bytes());
    bytes.extend(text);
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    bytes
}
