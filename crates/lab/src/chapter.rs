//! A chapter as plain data: what its program runs and shows. Tests, `bless` and the measuring program read the same
//! lesson that `main` runs.

use crate::element::Type;
use crate::error::Result;
use crate::session::Session;

/// A chapter.
#[derive(Debug, Clone, Copy)]
pub struct Chapter {
    /// `ch05-unroll`: kernels, PTX, page and generated files have this name.
    pub slug: &'static str,
    /// `Unroll the last warp`
    pub title: &'static str,
    /// What this chapter is compared with: another chapter's slug and its variant, `("ch04-first-add", "first_add")`.
    pub before: Option<(&'static str, &'static str)>,
    /// Its kernels in the order of the lesson.
    pub variants: &'static [Variant],
    /// Mistakes that the page shows, each a small wrong kernel of its own.
    pub mistakes: &'static [Mistake],
    /// What this chapter, and no other, says after its tables. The session it is given runs the simulator.
    pub notes: Option<Notes>,
}

/// One kernel of a chapter and how it is launched.
#[derive(Debug, Clone, Copy)]
pub struct Variant {
    /// `unroll_shuffle`; its entries are `unroll_shuffle_i32`, `unroll_shuffle_f32`.
    pub name: &'static str,
    /// What it does, one sentence.
    pub idea: &'static str,
    /// What holds it back, one sentence.
    pub limit: &'static str,
    /// Element types it is compiled for.
    pub types: &'static [Type],
    /// What the lesson promises to go wrong, for a ✗ variant: a fault's code.
    pub announced: Option<device::Code>,
    /// What is bad about a ✗ variant whose sum is right: one clause. None for a kernel that is taught as good.
    pub harm: Option<&'static str>,
    /// Block sizes it is right for.
    pub blocks: BlockRule,
    /// Elements one block takes in one pass, for a block of this many threads.
    pub elements_per_block: fn(block: u32) -> u64,
    /// Additions on the longest path from an element to a block's result: what the error bound counts.
    pub depth: fn(block: u32) -> u64,
    /// Whether it sums in place and destroys its input.
    pub in_place: bool,
}

/// Block sizes that a kernel documents: powers of two in a range.
#[derive(Debug, Clone, Copy)]
pub struct BlockRule {
    /// Smallest.
    pub min: u32,
    /// Largest.
    pub max: u32,
    /// Taken when the reader gives none.
    pub default: u32,
}

/// A wrong kernel that a page shows: `chapters/<slug>/tests/mistakes/<name>.cu` with its PTX beside it.
#[derive(Debug, Clone, Copy)]
pub struct Mistake {
    /// The kernel in place of the right one: names, geometry and types as in a lesson.
    pub variant: Variant,
    /// What is wrong with it, one sentence.
    pub mistake: &'static str,
}

/// Runs something small on the simulator and tells what came out.
pub type Notes = fn(&Session<'_>) -> Result<Vec<Note>>;

/// Something a chapter says of itself, from a run and not from memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The variant it is about; it is shown when that one ran.
    pub variant: &'static str,
    /// A line for the terminal; may be empty.
    pub text: String,
    /// Facts for the page: anchor and value.
    pub facts: Vec<(String, String)>,
}

impl Chapter {
    /// The variant of that name.
    pub fn variant(&self, name: &str) -> Option<&'static Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }

    /// Types that every one of its variants is compiled for.
    pub fn types(&self) -> Vec<Type> {
        let of_all = |ty: &Type| self.variants.iter().all(|variant| variant.types.contains(ty));
        [Type::I32, Type::F32, Type::F64].into_iter().filter(of_all).collect()
    }
}

impl Variant {
    /// The entry of the PTX that sums this type.
    pub fn entry(&self, ty: Type) -> String {
        format!("{}_{ty}", self.name)
    }
}
