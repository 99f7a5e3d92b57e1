//! Headers that CUDA programs include out of habit, and that NVRTC, which compiles the GPU's part alone, does not bring.
//!
//! What they declare for the GPU is built into NVRTC (`printf`, `assert`, `threadIdx`, the functions of `math.h`), or is a handful of
//! types and numbers, which stand in the files beside this one. What they declare for the CPU stays unknown: it could not
//! run here. The files are handed to NVRTC by name, so that nothing depends on what is installed.

const NOTHING: &str = "#pragma once\n";
const CSTDIO: &str = "#pragma once\nnamespace std {\nusing ::printf;\n}\n";
const CSTDINT: &str = include_str!("headers/cstdint.h");
const CLIMITS: &str = include_str!("headers/climits.h");
const CFLOAT: &str = include_str!("headers/cfloat.h");
const CMATH: &str = include_str!("headers/cmath.h");
const CSTDDEF: &str = include_str!("headers/cstddef.h");

/// The header that lessons share, by its name.
const LESSONS: (&str, &str) = ("elements.cuh", include_str!("../../../../kernels/elements.cuh"));

/// Each name that an `#include` may have, and the text that it stands for.
pub(super) const STAND_INS: [(&str, &str); 17] = [
    ("assert.h", NOTHING),
    ("cassert", NOTHING),
    ("cfloat", CFLOAT),
    ("climits", CLIMITS),
    ("cmath", CMATH),
    ("cstddef", CSTDDEF),
    ("cstdint", CSTDINT),
    ("cstdio", CSTDIO),
    ("cuda_runtime.h", NOTHING),
    ("device_launch_parameters.h", NOTHING),
    LESSONS,
    ("float.h", CFLOAT),
    ("limits.h", CLIMITS),
    ("math.h", CMATH),
    ("stddef.h", CSTDDEF),
    ("stdint.h", CSTDINT),
    ("stdio.h", CSTDIO),
];

/// Text of the header of lessons that a line includes, if it does.
pub(crate) fn included(line: &str) -> Option<&'static str> {
    let name = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
    name.get(1..)?.starts_with(LESSONS.0).then_some(LESSONS.1)
}

/// The headers that a kernel may include here, as an `#include` names them: those of the CPU's world, and the lessons' own.
pub fn stand_ins() -> impl Iterator<Item = &'static str> {
    STAND_INS.iter().map(|(name, _)| *name)
}
