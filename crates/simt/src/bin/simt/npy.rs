//! NumPy's .npy files: enough of them to fill a buffer.

use crate::values::Type;

const MAGIC: &[u8] = b"\x93NUMPY";

/// No header is longer that describes an array of numbers: NumPy itself refuses to read one of more than 10,000 bytes.
pub const HEADER_BYTES_MAX: u64 = 1 << 16;

pub fn is_npy(file: &[u8]) -> bool {
    file.starts_with(MAGIC)
}

/// The elements, if there are `len` of type `ty` (or fewer, with `at_most`), in one dimension's order.
pub fn data(file: &[u8], ty: Type, len: u64, at_most: bool) -> Result<&[u8], String> {
    let cut = || "the file ends inside its header".to_owned();
    // Version 1 counts the header in 2 bytes, versions 2 and 3 in 4.
    let major = *file.get(MAGIC.len()).ok_or_else(cut)?;
    let start = MAGIC.len() + 2;
    let (length, start) = match (major, file.get(start..)) {
        (1, Some(&[a, b, ..])) => (u32::from(u16::from_le_bytes([a, b])), start + 2),
        (2 | 3, Some(&[a, b, c, d, ..])) => (u32::from_le_bytes([a, b, c, d]), start + 4),
        (1..=3, _) => return Err(cut()),
        _ => return Err(format!("version {major} of the format is unknown")),
    };
    let end = start + length as usize;
    let header = String::from_utf8_lossy(file.get(start..end).ok_or_else(cut)?);
    let found = field(&header, "descr").ok_or("its header names no type")?;
    let found = found.trim_matches(['\'', '"']);
    let wanted = ty.numpy_name().ok_or("NumPy has no bf16: store the raw bytes instead")?;
    // `|` stands for "byte order does not matter", `<` for little-endian.
    if found.trim_start_matches(['<', '|', '=']) != wanted {
        let (name, numpy) = (ty.name(), ty.numpy_dtype());
        return Err(format!(
            "holds elements of type {found}, {name} is asked for: save x.astype('{numpy}'), or ask for the type that it has"
        ));
    }
    if field(&header, "fortran_order") == Some("True") {
        return Err("is stored column by column: save np.ascontiguousarray(x) instead".into());
    }
    let shape = shape(&header).ok_or("its header has no shape")?;
    if shape.is_none_or(|held| held != len && !(at_most && held < len)) {
        let dimensions = header.split_once("'shape'").and_then(|(_, rest)| Some(rest.split_once(')')?.0));
        let dimensions = dimensions.map_or("", |text| text.trim_start_matches([':', ' ']));
        let held = shape.map(|held| format!(": ask for {held}")).unwrap_or_default();
        return Err(format!("its shape is {dimensions}), {len} elements are asked for{held}"));
    }
    Ok(&file[end..])
}

/// How many elements the header says there are; `None` inside if that is no number of elements.
fn shape(header: &str) -> Option<Option<u64>> {
    let inside = header.split_once("'shape'")?.1.trim_start().strip_prefix(':')?.trim_start().strip_prefix('(')?;
    let (inside, _) = inside.split_once(')')?;
    let dimensions = inside.split(',').map(str::trim).filter(|dimension| !dimension.is_empty());
    Some(dimensions.map(|dimension| dimension.parse().ok()).try_fold(1_u64, |all, n| all.checked_mul(n?)))
}

/// The text of one field of the header, which is a Python dictionary.
fn field<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    let after = header.split_once(&format!("'{name}'"))?.1.trim_start().strip_prefix(':')?;
    Some(after.split([',', '}']).next()?.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
        let mut file = [MAGIC, &[version, 0]].concat();
        match version {
            1 => file.extend((header.len() as u16).to_le_bytes()),
            _ => file.extend((header.len() as u32).to_le_bytes()),
        }
        [&file, header.as_bytes(), data].concat()
    }

    #[test]
    fn both_header_lengths_are_read() {
        let header = "{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }";
        let i32s = Type::parse("i32").unwrap();
        for version in [1, 2, 3] {
            assert_eq!(data(&file(version, header, &[1, 0, 0, 0]), i32s, 1, false).unwrap(), [1, 0, 0, 0]);
        }
    }

    #[test]
    fn wrong_files_are_refused() {
        let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }";
        let good = file(1, header, &[0; 8]);
        let f64s = Type::parse("f64").unwrap();
        for length in 0..good.len() - 8 {
            assert!(!is_npy(&good[..length]) || data(&good[..length], f64s, 1, false).is_err(), "cut at {length}");
        }
        assert!(
            data(&good, Type::parse("i32").unwrap(), 1, false)
                .unwrap_err()
                .contains("type <f8, i32 is asked for: save x.astype('int32')")
        );
        let swapped = file(1, &header.replace('<', ">"), &[0; 8]);
        assert!(data(&swapped, f64s, 1, false).unwrap_err().contains(">f8"));
        let columns = file(1, &header.replace("False", "True"), &[0; 8]);
        assert!(data(&columns, f64s, 1, false).unwrap_err().contains("column"));
        for shape in ["(-1,)", "(99999999999999999999,)", "(2,)", "(1, 0)", "(4294967296, 4294967296)"] {
            let other = file(1, &header.replace("(1,)", shape), &[0; 8]);
            assert!(data(&other, f64s, 1, false).unwrap_err().contains(shape), "{shape}");
        }
        assert_eq!(data(&good, f64s, 2, true), Ok(&[0; 8][..]), "one of two");
        assert!(data(&good, f64s, 0, true).is_err());
        for shape in ["()", "(1, 1)"] {
            assert!(data(&file(1, &header.replace("(1,)", shape), &[0; 8]), f64s, 1, false).is_ok(), "{shape}");
        }
    }
}
