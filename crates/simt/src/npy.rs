//! The header of NumPy's `.npy` files, which says what numbers follow it: for the `simt` command and for chapters, which fill
//! memory from such files.
//!
//! The well-kept crates for this format bring a whole parser of Python literals (some twenty crates, one of them a parser
//! generator) for a header of three fixed keys, which is why it is read here. Format: numpy.lib.format, versions 1 to 3.

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Most bytes up to the numbers. No real header comes near this: NumPy itself refuses to read one of more than 10,000 bytes.
pub const HEADER_BYTES_MAX: usize = 1 << 16;

/// Header of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Type and byte order: `<i4`.
    pub descr: String,
    /// True if the first index runs fastest.
    pub fortran_order: bool,
    /// Elements in each dimension.
    pub shape: Vec<u64>,
    /// Bytes of the file before the numbers.
    pub bytes: usize,
}

/// Returns whether a file with this beginning is meant to be one.
pub fn is_npy(file: &[u8]) -> bool {
    file.starts_with(MAGIC)
}

impl Header {
    /// Reads the header of a file; its first [`HEADER_BYTES_MAX`] bytes are enough.
    ///
    /// # Errors
    /// A clause that says what is wrong with it.
    pub fn read(file: &[u8]) -> Result<Header, String> {
        let magic = file.len().min(MAGIC.len());
        if file[..magic] != MAGIC[..magic] {
            return Err("not a .npy file: it does not begin with \\x93NUMPY".to_owned());
        }
        let cut = || "truncated: the header is cut off".to_owned();
        let version = *file.get(MAGIC.len()).ok_or_else(cut)?;
        // Version 1 counts the header in 2 bytes, versions 2 and 3 in 4.
        let (length, begin) = match (version, file.get(MAGIC.len() + 2..)) {
            (1, Some(&[a, b, ..])) => (usize::from(u16::from_le_bytes([a, b])), 10),
            (2 | 3, Some(&[a, b, c, d, ..])) => (u32::from_le_bytes([a, b, c, d]) as usize, 12),
            (1..=3, _) => return Err(cut()),
            _ => return Err(format!("version {version} of the .npy format; versions 1 to 3 are read")),
        };
        let bytes = begin + length;
        if bytes > HEADER_BYTES_MAX {
            return Err(format!("a header of {length} bytes: the file is damaged"));
        }
        let text = std::str::from_utf8(file.get(begin..bytes).ok_or_else(cut)?);
        Header::parse(text.map_err(|_| "the header is not text: the file is damaged")?, bytes)
    }

    /// Elements in all dimensions together; `None` if 64 bits cannot count them.
    pub fn elements(&self) -> Option<u64> {
        self.shape.iter().try_fold(1, |all: u64, &dimension| all.checked_mul(dimension))
    }

    /// Reads `{'descr': '<i4', 'fortran_order': False, 'shape': (3, 4), }`, keys in any order.
    fn parse(text: &str, bytes: usize) -> Result<Header, String> {
        let damaged = || format!("the header is not what NumPy writes: {}", text.trim());
        let mut rest = text.trim().strip_prefix('{').and_then(|t| t.strip_suffix('}')).ok_or_else(damaged)?.trim();
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        while !rest.is_empty() {
            let (key, after) = quoted(rest).ok_or_else(damaged)?;
            let value = after.trim_start().strip_prefix(':').ok_or_else(damaged)?.trim_start();
            let after = match key {
                "descr" if value.starts_with('[') => {
                    return Err("holds records of several fields in place of plain numbers".to_owned());
                }
                "descr" => {
                    let (name, after) = quoted(value).ok_or_else(damaged)?;
                    descr = Some(name.to_owned());
                    after
                }
                "fortran_order" => {
                    let (order, after) = match value.strip_prefix("True") {
                        Some(after) => (true, after),
                        None => (false, value.strip_prefix("False").ok_or_else(damaged)?),
                    };
                    fortran_order = Some(order);
                    after
                }
                "shape" => {
                    let (inside, after) =
                        value.strip_prefix('(').and_then(|v| v.split_once(')')).ok_or_else(damaged)?;
                    shape = Some(dimensions(inside).ok_or_else(damaged)?);
                    after
                }
                _ => return Err(damaged()),
            };
            rest = after.trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        }
        match (descr, fortran_order, shape) {
            (Some(descr), Some(fortran_order), Some(shape)) => Ok(Header { descr, fortran_order, shape, bytes }),
            _ => Err(damaged()),
        }
    }
}

/// The text between quotes at the start, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let of = |quote| text.strip_prefix(quote).and_then(|text: &str| text.split_once(quote));
    of('\'').or_else(|| of('"'))
}

/// `3, 4` or `3,` or nothing.
fn dimensions(text: &str) -> Option<Vec<u64>> {
    let text = text.trim();
    let text = text.strip_suffix(',').unwrap_or(text);
    if text.is_empty() {
        return Some(Vec::new());
    }
    text.split(',').map(|dimension| dimension.trim().trim_end_matches('L').parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(version: u8, header: &str) -> Vec<u8> {
        let mut file = [MAGIC.as_slice(), &[version, 0]].concat();
        match version {
            1 => file.extend((header.len() as u16).to_le_bytes()),
            _ => file.extend((header.len() as u32).to_le_bytes()),
        }
        [&file, header.as_bytes()].concat()
    }

    #[test]
    fn every_version_and_order_of_keys_is_read() {
        let header = "{'shape': (3, 4L), \"descr\": '<i4', 'fortran_order': True}  \n";
        for version in [1, 2, 3] {
            let file = file(version, header);
            let read = Header::read(&[&file[..], &[7; 48]].concat()).unwrap();
            let expected =
                Header { descr: "<i4".to_owned(), fortran_order: true, shape: vec![3, 4], bytes: file.len() };
            assert_eq!((read.elements(), read), (Some(12), expected));
        }
    }

    #[test]
    fn what_is_cut_or_damaged_is_refused() {
        let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }";
        let good = file(1, header);
        for length in 0..good.len() {
            assert!(Header::read(&good[..length]).unwrap_err().contains("cut off"), "cut at {length}");
        }
        let refused = |version, header: &str| Header::read(&file(version, header)).unwrap_err();
        assert!(refused(4, header).contains("version 4"));
        assert!(refused(2, &header.replace("(1", &format!("(1{}", " ".repeat(1 << 16)))).contains("damaged"));
        for (a, b) in [("(1,)", "(-1,)"), ("False", "No"), ("'descr': '<f8', ", ""), ("shape", "form")] {
            assert!(refused(1, &header.replace(a, b)).contains("not what NumPy writes"), "{b}");
        }
        assert!(refused(1, &header.replace("'<f8'", "[('a', '<i4')]")).contains("several fields"));
        assert!(Header::read(b"PK\x03\x04").unwrap_err().contains("not a .npy file"));
        let large = Header::read(&file(1, &header.replace("1,", "9999999999, 9999999999"))).unwrap();
        assert_eq!(large.elements(), None);
    }
}
