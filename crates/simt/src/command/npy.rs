//! NumPy's .npy files: enough of them to fill a buffer.

use crate::npy::Header;
use crate::spec::Type;

/// The elements, if there are `len` of type `ty` (or fewer, with `at_most`), in one dimension's order.
pub fn data(file: &[u8], ty: Type, len: u64, at_most: bool) -> Result<&[u8], String> {
    let header = Header::read(file)?;
    let expected = ty.numpy_name().ok_or("NumPy has no bf16: store the raw bytes instead")?;
    // `|` stands for "byte order does not matter", `<` for little-endian.
    if header.descr.trim_start_matches(['<', '|', '=']) != expected {
        let (found, name, numpy) = (&header.descr, ty.name(), ty.numpy_dtype());
        return Err(format!(
            "holds elements of type {found}, {name} is asked for: save x.astype('{numpy}'), or ask for the type that it has"
        ));
    }
    if header.fortran_order {
        return Err("is stored column by column: save np.ascontiguousarray(x) instead".into());
    }
    let held = header.elements();
    if held.is_none_or(|held| held != len && !(at_most && held < len)) {
        let dimensions: Vec<String> = header.shape.iter().map(u64::to_string).collect();
        let dimensions = dimensions.join(", ") + if dimensions.len() == 1 { "," } else { "" };
        let held = held.map(|held| format!(": ask for {held}")).unwrap_or_default();
        return Err(format!("its shape is ({dimensions}), {len} elements are asked for{held}"));
    }
    Ok(&file[header.bytes..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let length = (header.len() as u16).to_le_bytes();
        [b"\x93NUMPY\x01\0", &length[..], header.as_bytes(), data].concat()
    }

    #[test]
    fn wrong_files_are_refused() {
        let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }";
        let good = file(header, &[0; 8]);
        let f64s = Type::parse("f64").unwrap();
        assert!(
            data(&good, Type::parse("i32").unwrap(), 1, false)
                .unwrap_err()
                .contains("type <f8, i32 is asked for: save x.astype('int32')")
        );
        let swapped = file(&header.replace('<', ">"), &[0; 8]);
        assert!(data(&swapped, f64s, 1, false).unwrap_err().contains(">f8"));
        let columns = file(&header.replace("False", "True"), &[0; 8]);
        assert!(data(&columns, f64s, 1, false).unwrap_err().contains("column"));
        for shape in ["(-1,)", "(99999999999999999999,)", "(2,)", "(1, 0)", "(4294967296, 4294967296)"] {
            let other = file(&header.replace("(1,)", shape), &[0; 8]);
            assert!(data(&other, f64s, 1, false).unwrap_err().contains(shape), "{shape}");
        }
        assert_eq!(data(&good, f64s, 2, true), Ok(&[0; 8][..]), "one of two");
        assert!(data(&good, f64s, 0, true).is_err());
        for shape in ["()", "(1, 1)"] {
            assert!(data(&file(&header.replace("(1,)", shape), &[0; 8]), f64s, 1, false).is_ok(), "{shape}");
        }
    }
}
