//! A chapter as plain data: what its program runs and shows. Tests, `bless` and the measuring program read the same
//! lesson that `main` runs.

use crate::curve::Sweep;
use crate::element::Type;
use crate::error::Result;
use crate::op::Op;
use crate::run::Simulator;
use crate::variant::Variant;

/// A chapter.
#[derive(Debug, Clone, Copy)]
pub struct Chapter {
    /// `ch05-unroll`: kernels, PTX, page and generated files have this name.
    pub slug: &'static str,
    /// `Unroll the last warp`
    pub title: &'static str,
    /// Variant that this chapter is compared with: another chapter's slug and its variant, `("ch04-first-add", "first_add")`.
    pub before: Option<(&'static str, &'static str)>,
    /// Its kernels in the order of the lesson.
    pub variants: &'static [Variant],
    /// Mistakes that the page shows, each a small wrong kernel of its own.
    pub mistakes: &'static [Mistake],
    /// Remarks of this chapter after its tables.
    pub notes: Option<Notes>,
    /// The geometries that `--sweep` compares.
    pub sweep: Option<Sweep>,
    /// True if it is a step of the ladder from the first sum of an array to the champion.
    pub is_rung: bool,
    /// True if a GPU gets its kernels on demand: each is compiled at its first launch, from the line that its pass has.
    pub on_demand: bool,
}

/// A wrong kernel that a page shows: `chapters/<slug>/tests/mistakes/<name>.cu` with its PTX beside it.
#[derive(Debug, Clone, Copy)]
pub struct Mistake {
    /// The kernel in place of the right one: names, geometry and types as in a lesson.
    pub variant: Variant,
    /// Description of the mistake, one sentence.
    pub mistake: &'static str,
}

/// Runs something small on the simulator and says what came out.
pub type Notes = fn(&dyn Simulator) -> Result<Vec<Note>>;

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
    /// Values that most chapters share, for the rest of a literal: no mistake, no note and no sweep.
    pub const BASE: Chapter = Chapter {
        slug: "",
        title: "",
        before: None,
        variants: &[],
        mistakes: &[],
        notes: None,
        sweep: None,
        is_rung: true,
        on_demand: false,
    };

    /// The variant of that name.
    pub fn variant(&self, name: &str) -> Option<&'static Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }

    /// Types that one of its variants is compiled for.
    pub fn types(&self) -> Vec<Type> {
        let of_one = |ty: &Type| self.variants.iter().any(|variant| variant.types.contains(ty));
        Type::ALL.iter().copied().filter(of_one).collect()
    }

    /// Default operation and type of its program: a sum of i32 where it has that.
    pub fn default_kind(&self) -> (Op, Type) {
        let op = self.variants.first().map_or(Op::Sum, |variant| variant.op());
        let types = self.types();
        let usual = [Type::I32, Type::F32].into_iter().find(|ty| types.contains(ty));
        (op, usual.or(types.first().copied()).unwrap_or(Type::I32))
    }

    /// Operations of its variants, each once.
    pub fn ops(&self) -> Vec<Op> {
        let has = |op: &Op| self.variants.iter().any(|variant| variant.ops.contains(op));
        Op::ALL.iter().copied().filter(has).collect()
    }

    /// The variants that are compiled for this type.
    pub fn variants_for(&self, ty: Type) -> impl Iterator<Item = &'static Variant> {
        self.variants.iter().filter(move |variant| variant.types.contains(&ty))
    }
}
