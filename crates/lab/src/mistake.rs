//! Mistakes that pages show: where their kernels are, and how they are run.

use std::path::{Path, PathBuf};

use device::{Choice, KernelSource};

use crate::element::{Array, Type};
use crate::error::Result;
use crate::input::{SEED, random_for};
use crate::record::OPTIONS;
use crate::run::{Job, Run};
use crate::session::Session;
use crate::{Chapter, Mistake, Variant};

/// Returns the kernel file of the chapter's mistake of that name.
pub fn source(chapter: &Chapter, name: &str, root: &Path) -> KernelSource {
    let folder = folder(chapter, root);
    let file = |extension: &str| folder.join(format!("{name}.{extension}"));
    KernelSource { slug: name.to_owned(), cu: file("cu"), ptx: file("ptx") }
}

/// The folder of a chapter that holds the mistakes of its page, each a `.cu` with its PTX.
pub fn folder(chapter: &Chapter, root: &Path) -> PathBuf {
    root.join("chapters").join(chapter.slug).join("tests").join("mistakes")
}

/// Runs a wrong kernel of the page over one full block of i32, or of its first type, for the first operation that it has.
///
/// # Errors
/// A kernel that does not compile or run at all.
pub fn run(chapter: &Chapter, mistake: &'static Mistake, root: &Path) -> Result<Run> {
    let variant = &mistake.variant;
    let source = source(chapter, variant.name, root);
    let session = Session::open_source(chapter, source, Choice::Sim, OPTIONS)?;
    let block = variant.blocks.default;
    run_random(&session, variant, (variant.elements_per_block)(block), variant.offset)
}

/// Runs a variant over `n` random i32, or of its first type where it takes none of those, that begin `offset` elements into
/// their allocation, for the first operation that it has.
pub fn run_random(session: &Session<'_>, variant: &'static Variant, n: u64, offset: usize) -> Result<Run> {
    let options = variant.options();
    let ty = variant.types.iter().copied().find(|&ty| ty == Type::I32).or(variant.types.first().copied());
    let mut input = random_for(options.op, ty.unwrap_or(Type::I32), n as usize, SEED);
    if let Array::F32(values) = &mut input {
        values.iter_mut().for_each(|value| *value += variant.far);
    }
    session.run(Job { variant, options, input: &input, reference: None, offset })
}
