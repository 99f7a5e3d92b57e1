//! Reads NumPy's `.npy` files: the one form that a sum needs, little-endian numbers of any shape.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use simt::npy::{HEADER_BYTES_MAX, Header};

use crate::element::{Array, Element, Type};
use crate::error::{Error, Result};
use crate::with_type;

/// An open `.npy` file whose header has been read and believed.
#[derive(Debug)]
pub struct Npy {
    path: PathBuf,
    file: File,
    /// Type of its elements.
    pub ty: Type,
    /// Elements of its shape, in all dimensions together.
    pub len: u64,
    /// Elements in each dimension.
    pub shape: Vec<u64>,
    /// True if its columns lie one behind the other, and not its rows.
    pub is_by_columns: bool,
    data_bytes: u64,
}

impl Npy {
    /// Opens the file and checks everything but the numbers themselves.
    pub fn open(path: &Path) -> Result<Npy> {
        let bad = |problem: String| Error::Npy { path: path.to_owned(), problem };
        let mut file = File::open(path).map_err(Error::file(path, "read"))?;
        let file_bytes = file.metadata().map_err(Error::file(path, "read"))?.len();
        let mut begin = Vec::new();
        (&mut file).take(HEADER_BYTES_MAX as u64).read_to_end(&mut begin).map_err(Error::file(path, "read"))?;
        let header = Header::read(&begin).map_err(bad)?;
        file.seek(SeekFrom::Start(header.bytes as u64)).map_err(Error::file(path, "read"))?;
        let ty = element_type(&header.descr).map_err(bad)?;
        let too_many = || bad(format!("shape {:?} has more elements than 64 bits can count", header.shape));
        let len = header.elements().ok_or_else(too_many)?;
        let data_bytes = file_bytes.saturating_sub(header.bytes as u64);
        let expected = len.checked_mul(ty.bytes());
        match expected {
            Some(expected) if expected == data_bytes => {
                // Of one row or one column both orders are the same.
                let is_by_columns =
                    header.fortran_order && header.shape.iter().filter(|&&count| count != 1).count() > 1;
                Ok(Npy { path: path.to_owned(), file, ty, len, shape: header.shape, is_by_columns, data_bytes })
            }
            Some(expected) if expected < data_bytes => Err(bad(format!(
                "{} bytes follow the {expected} bytes of its {len} elements: a file with more than one array, or damaged",
                data_bytes - expected
            ))),
            _ => Err(bad(format!(
                "truncated: {len} elements of {} need {} bytes and the file holds {data_bytes}",
                numpy_name(ty),
                expected.map_or("too many".to_owned(), |w| w.to_string()),
            ))),
        }
    }

    /// Rows and columns of a matrix, and of an array of more dimensions all its rows; `None` if it is a list or one number.
    pub fn rows(&self) -> Option<(u64, u64)> {
        let (&cols, before) = self.shape.split_last()?;
        (!before.is_empty()).then(|| (before.iter().product(), cols))
    }

    /// Refuses a matrix where a list is needed.
    ///
    /// # Errors
    /// The end of a sentence, which says what is `expected`.
    pub fn check_list(&self, expected: &str) -> std::result::Result<(), String> {
        match self.shape.as_slice() {
            [] | [_] => Ok(()),
            shape => {
                let counts: Vec<String> = shape.iter().map(u64::to_string).collect();
                Err(format!("holds an array of shape ({}), {expected}", counts.join(", ")))
            }
        }
    }

    /// Its first `count` elements in the order of the file. Row order, column order and shape make no difference to a
    /// sum of exact numbers, and every float sum has a bound for its own order.
    pub fn read(mut self, count: u64) -> Result<Array> {
        debug_assert!(count <= self.len && self.len * self.ty.bytes() == self.data_bytes);
        with_type!(self.ty, T => Ok(T::array(self.elements(count)?)))
    }

    fn elements<T: Element>(&mut self, count: u64) -> Result<Vec<T>> {
        let mut values: Vec<T> = Vec::new();
        let exact = usize::try_from(count).ok().filter(|&count| values.try_reserve_exact(count).is_ok());
        let Some(count) = exact else {
            return Err(Error::Npy { path: self.path.clone(), problem: format!("no room for its {count} elements") });
        };
        let mut chunk = vec![0u8; 1 << 16];
        while values.len() < count {
            let bytes = chunk.len().min((count - values.len()) * T::BYTES);
            self.file.read_exact(&mut chunk[..bytes]).map_err(Error::file(&self.path, "read"))?;
            values.extend(chunk[..bytes].chunks_exact(T::BYTES).map(T::from_le));
        }
        Ok(values)
    }
}

/// What NumPy calls the type, with the letters that its files hold: `int32 ('<i4')`.
pub fn numpy_name(ty: Type) -> &'static str {
    match ty {
        Type::I8 => "int8 ('|i1')",
        Type::U8 => "uint8 ('|u1')",
        Type::I16 => "int16 ('<i2')",
        Type::I32 => "int32 ('<i4')",
        Type::U32 => "uint32 ('<u4')",
        Type::I64 => "int64 ('<i8')",
        Type::F16 => "float16 ('<f2')",
        Type::BF16 => "bfloat16, which NumPy has not",
        Type::F32 => "float32 ('<f4')",
        Type::F64 => "float64 ('<f8')",
    }
}

fn element_type(descr: &str) -> std::result::Result<Type, String> {
    let quoted = |ty: Type| numpy_name(ty).split('\'').nth(1);
    if let Some(ty) = Type::ALL.iter().copied().find(|&ty| quoted(ty) == Some(descr)) {
        return Ok(ty);
    }
    match descr {
        _ if descr.starts_with('>') => Err(format!(
            "holds big-endian numbers ('{descr}'): store them little-endian, with array.astype('<{}')",
            &descr[1..]
        )),
        "<u8" | "<u2" | "|b1" => Err(format!(
            "holds '{descr}', a type that no kernel here takes: store its numbers as {}, with array.astype('<i8')",
            numpy_name(Type::I64)
        )),
        _ => Err(format!(
            "holds '{descr}', wanted {}, {} or {}: store it as one of these, with array.astype('<i4') for instance",
            numpy_name(Type::I32),
            numpy_name(Type::F32),
            numpy_name(Type::F64)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// A file as NumPy writes it, version 1.
    fn npy(header: &str, data: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        let padded = format!("{header:<117}\n");
        file.write_all(b"\x93NUMPY\x01\x00").expect("written");
        file.write_all(&(padded.len() as u16).to_le_bytes()).expect("written");
        file.write_all(padded.as_bytes()).expect("written");
        file.write_all(data).expect("written");
        file
    }

    fn header(descr: &str, shape: &str) -> String {
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}")
    }

    fn le(values: &[i32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    fn problem(file: &tempfile::NamedTempFile) -> String {
        Npy::open(file.path()).expect_err("refused").to_string()
    }

    #[test]
    fn reads_what_numpy_writes() {
        let file = npy(&header("<i4", "(3,)"), &le(&[1, -2, 3]));
        let npy = Npy::open(file.path()).expect("a good file");
        assert_eq!((npy.ty, npy.len), (Type::I32, 3));
        assert_eq!(npy.read(3).expect("numbers"), Array::I32(vec![1, -2, 3]));
    }

    #[test]
    fn any_shape_and_either_order_is_a_list_of_numbers() {
        for shape in ["(2, 2)", "(4,)", "(1, 2, 2)"] {
            let file = npy(&header("<i4", shape), &le(&[1, 2, 3, 4]));
            assert_eq!(Npy::open(file.path()).expect("a good file").len, 4);
        }
        let fortran = |shape| header("<i4", shape).replace("False", "True");
        let is_by_columns =
            |shape| Npy::open(npy(&fortran(shape), &le(&[1, 2, 3, 4])).path()).expect("a good file").is_by_columns;
        assert!(is_by_columns("(2, 2)") && !is_by_columns("(4, 1)") && !is_by_columns("(4,)"));
        assert_eq!(Npy::open(npy(&header("<i4", "()"), &le(&[7])).path()).expect("a scalar").len, 1);
        assert_eq!(Npy::open(npy(&header("<i4", "(0,)"), &[]).path()).expect("empty").len, 0);
    }

    #[test]
    fn rows_are_of_the_last_dimension_and_lists_have_none() {
        let open = |shape: &str, count: i32| {
            let values: Vec<i32> = (0..count).collect();
            Npy::open(npy(&header("<i4", shape), &le(&values)).path()).expect("a good file")
        };
        let rows = |shape: &str, count: i32| open(shape, count).rows();
        assert_eq!((rows("(6, 2)", 12), rows("(2, 3, 2)", 12)), (Some((6, 2)), Some((6, 2))));
        assert_eq!((rows("(0, 5)", 0), rows("(5, 0)", 0)), (Some((0, 5)), Some((5, 0))));
        assert_eq!((rows("(12,)", 12), rows("()", 1)), (None, None));
        assert!(open("(12,)", 12).check_list("expected").is_ok() && open("()", 1).check_list("expected").is_ok());
        assert_eq!(
            open("(6, 2)", 12).check_list("expected"),
            Err("holds an array of shape (6, 2), expected".to_owned())
        );
    }

    #[test]
    fn long_arrays_cross_the_chunks() {
        let values: Vec<i32> = (0..40_000).collect();
        let file = npy(&header("<i4", "(40000,)"), &le(&values));
        let npy = Npy::open(file.path()).expect("a good file");
        assert_eq!(npy.read(39_999).expect("numbers"), Array::I32(values[..39_999].to_vec()));
    }

    #[test]
    fn refuses_with_a_reason() {
        let cases = [
            (
                npy(&header("<i4", "(3,)"), &le(&[1, 2])),
                "truncated: 3 elements of int32 ('<i4') need 12 bytes and the file holds 8",
            ),
            (npy(&header("<i4", "(1,)"), &le(&[1, 2])), "4 bytes follow"),
            (npy(&header("<c8", "(1,)"), &[0; 8]), "holds '<c8', wanted int32 ('<i4')"),
            (npy(&header("<u8", "(1,)"), &[0; 8]), "store its numbers as int64 ('<i8'), with array.astype('<i8')"),
            (npy(&header(">f4", "(1,)"), &[0; 4]), "big-endian"),
            (npy("{'descr': '<i4', 'shape': (1,), }", &[0; 4]), "not what NumPy writes"),
            (npy(&header("<i4", "(9999999999, 9999999999)"), &[]), "64 bits"),
        ];
        for (file, expected) in cases {
            let got = problem(&file);
            assert!(got.contains(expected), "{got:?} without {expected:?}");
        }
    }

    #[test]
    fn refuses_what_is_no_npy_at_all() {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        assert!(problem(&file).contains("the header is cut off"));
        file.write_all(b"PK\x03\x04 a zip archive, such as .npz").expect("written");
        assert!(problem(&file).contains("not a .npy file"));
        let missing = Npy::open(Path::new("no/such.npy")).expect_err("missing").to_string();
        assert!(missing.contains("no/such.npy: cannot be read"), "{missing}");
    }
}
