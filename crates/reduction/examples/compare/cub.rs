//! CUB, by the C functions of `scripts/cub_baseline.cu`, `cub_operators.cu` and `cub_rows.cu`: each of its forms in each version that is here.

use std::path::Path;

use cudarc::driver::CudaSlice;
use device::{Baseline, Entry};
use reduction::{Op, Type};

use crate::judge::Format;
use crate::{Arrays, Bench, Result, Rival, Shape, Shared, Way};

/// CUB in one version or several.
pub struct Cub<'l> {
    libraries: &'l [Baseline],
}

/// Opens libraries of `scripts/cub_library.sh --library`.
pub fn open(paths: &[&str]) -> Result<Vec<Baseline>> {
    Ok(paths.iter().map(|path| Baseline::open(Path::new(path))).collect::<std::result::Result<_, _>>()?)
}

impl<'l> Cub<'l> {
    pub fn new(libraries: &'l [Baseline]) -> Cub<'l> {
        Cub { libraries }
    }
}

impl Rival for Cub<'_> {
    fn entrant(&self) -> &'static str {
        "cub"
    }

    fn about(&self) -> String {
        let versions: Vec<&str> = self.libraries.iter().map(Baseline::version).collect();
        format!("CUB {}", versions.join(" and "))
    }

    fn ways(&self, bench: &Bench, op: Op, ty: Type, shape: &Shape) -> Result<Vec<Way<'_>>> {
        let operands = device::Operands {
            n: shape.n().try_into()?,
            segments: shape.rows.try_into()?,
            length: shape.cols.try_into()?,
            ..device::Operands::default()
        };
        let forms: &[&str] = match shape.layout()? {
            reduction::Layout::Array => &["baseline"],
            reduction::Layout::Ragged(_) => &["segments_offsets"],
            _ => &["segments_fixed", "segments_offsets"],
        };
        let mut ways = Vec::new();
        let (mut missing, several) = (Vec::new(), self.libraries.len() > 1);
        for library in self.libraries {
            for form in forms {
                // The largest element is found in the elements' own type too.
                for (prefix, own) in [("", false), ("own_", true)] {
                    let entry = match library.entry(&format!("cub_{form}_{prefix}{op}_{ty}")) {
                        Ok(entry) => entry,
                        Err(error) => {
                            missing.push(error.to_string());
                            continue;
                        }
                    };
                    let bytes = entry.temp_bytes(&operands)?;
                    let format = match op {
                        Op::Argmax if shape.rows == 1 => Format::Places(16),
                        // The index of a row's and its element are as long each, or padded to be.
                        Op::Argmax => Format::Places(8),
                        _ if own => Format::Numbers(ty),
                        _ => Format::library(op, ty, 0),
                    };
                    let mut words = vec![form.trim_start_matches("segments_")];
                    words.retain(|&word| word != "baseline");
                    words.extend(own.then_some("own type"));
                    words.extend(several.then_some(library.version()));
                    let temp = bench.stream.alloc_zeros(bytes.max(1))?;
                    let enqueue = move |bench: &Bench, arrays: &Arrays, shared: &Shared| {
                        enqueue(bench, entry, (&temp, bytes), operands, (arrays, shared))
                    };
                    ways.push(Way { name: words.join(", "), format, enqueue: Box::new(enqueue) });
                }
            }
        }
        if ways.is_empty() { Err(missing.join("; ").into()) } else { Ok(ways) }
    }
}

/// Puts a call of one of CUB's functions, with so many bytes of its storage, into the stream.
fn enqueue(
    bench: &Bench,
    entry: Entry<'_>,
    (temp, bytes): (&CudaSlice<u8>, usize),
    counts: device::Operands,
    (arrays, shared): (&Arrays, &Shared),
) -> Result<()> {
    let operands = device::Operands {
        input: bench.address(&arrays.input),
        out: bench.address(&arrays.out),
        offsets: bench.address(&shared.offsets),
        ..counts
    };
    let (temp, stream) = (bench.address(temp), bench.stream.cu_stream());
    // SAFETY: storage as the library asked for it; input, offsets and results are as long as the shape says.
    Ok(unsafe { entry.enqueue((temp, bytes), &operands, stream.cast()) }?)
}
