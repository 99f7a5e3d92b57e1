//! The command line, the same in every chapter: what a reader may ask for, and what this chapter can honour of it.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{CommandFactory, FromArgMatches, Parser, ValueEnum};

use crate::element::Type;
use crate::error::{Error, Result};
use crate::layout::Per;
use crate::op::Op;
use crate::plan::{LaunchOptions, refusal};
use crate::text::listed;
use crate::{Chapter, Variant};
use device::{Card, Checks, Choice, Schedule};

/// Options of a chapter's program.
#[derive(Debug, Parser)]
#[command(disable_version_flag = true, allow_negative_numbers = true)]
pub struct Args {
    /// Number of elements: 1000003, 1_000_003 or 2^20 [default: about a second of work on the device]
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    pub n: Option<u64>,
    /// Rows of a matrix, where a kernel has a value for each row or column
    #[arg(long, value_name = "R", value_parser = whole::<u64>, conflicts_with = "n")]
    pub rows: Option<u64>,
    /// Elements of a row; of ragged rows in the mean
    #[arg(long, value_name = "C", value_parser = whole::<u64>, conflicts_with = "n")]
    pub cols: Option<u64>,
    /// Elements from the beginning of a row to that of the next [default: those of a row]
    #[arg(long, value_name = "P", value_parser = whole::<u64>, conflicts_with = "n")]
    pub pitch: Option<u64>,
    /// Rows of any length: uniform, power, giant, empty, or their offsets in a NumPy file (int32 or int64, one more than rows)
    #[arg(long, value_name = "KIND|FILE.npy", conflicts_with_all = ["n", "pitch"])]
    pub offsets: Option<String>,
    /// The label of each row, for cross-entropies (int32 or int64) [default: random]
    #[arg(long, value_name = "FILE.npy")]
    pub labels: Option<PathBuf>,
    /// The gradient of each row's loss, or one for all, for cross-entropy's backward (float32) [default: random]
    #[arg(long, value_name = "FILE.npy")]
    pub gradients: Option<PathBuf>,
    /// Sum this NumPy array instead of random numbers (int8, uint8, int16, int32, uint32, int64, float16, float32 or float64, any shape)
    #[arg(long, value_name = "FILE.npy", conflicts_with = "seed")]
    pub input: Option<PathBuf>,
    /// Threads a block [default: each variant's own]
    #[arg(long, value_name = "B", value_parser = whole::<u32>)]
    pub block: Option<u32>,
    /// Blocks of the widest launch; a kernel that covers n exactly takes only the number that n needs
    #[arg(long, value_name = "G", value_parser = whole::<u32>)]
    pub grid: Option<u32>,
    /// The number that a kernel is tuned by, where it has one [default: its own]
    #[arg(long, value_name = "F", value_parser = whole::<u32>)]
    pub factor: Option<u32>,
    /// Let each launch begin while the one before it ends, for variants that wait in their own code
    #[arg(long)]
    pub overlap: bool,
    /// Type of the elements [default: i32, or that of --input]
    #[arg(long = "type", value_name = "TYPE", value_parser = types())]
    pub ty: Option<Type>,
    /// Device: auto takes a GPU if there is one
    #[arg(long, value_enum, default_value = "auto")]
    pub device: DeviceName,
    /// The card that launches are planned for on the simulator: how many blocks, of how many threads, whether clusters
    /// [default: h200]
    #[arg(long, value_name = "NAME", value_parser = cards(), conflicts_with = "record")]
    pub card: Option<&'static Card>,
    /// Kernel, or several with commas between
    #[arg(long, value_name = "NAME|all", default_value = "all", value_delimiter = ',')]
    pub variant: Vec<String>,
    /// Operation
    #[arg(long, default_value = "sum", value_parser = operations())]
    pub op: Op,
    /// Order in which the simulator runs the lanes of a warp: lockstep (before Volta) or independent[:SEED[@LINE]], apart only from that line of the kernel on [default: independent]
    #[arg(long)]
    pub schedule: Option<Schedule>,
    /// Run each variant under the schedules independent:0 to independent:N-1, until one goes wrong (simulator only)
    /// [default n: 20,011]
    #[arg(long, value_name = "N", value_parser = seeds,
        conflicts_with_all = ["schedule", "trace", "chart", "plan"])]
    pub seeds: Option<u64>,
    /// Checks of the simulator: all, none, or a list such as shared-race,out-of-bounds [default: all]
    #[arg(long, value_name = "all|none|LIST")]
    pub check: Option<Checks>,
    /// Seed of the random numbers [default: 1]
    #[arg(long, value_name = "SEED", value_parser = whole::<u64>)]
    pub seed: Option<u64>,
    /// Print the launches that would take n elements to one value, and run nothing
    #[arg(long)]
    pub plan: bool,
    /// Compare many geometries: elements a thread, blocks, threads, and what else the chapter varies
    #[arg(long, conflicts_with_all = ["input", "block", "grid", "factor", "overlap", "op", "plan", "seeds", "trace", "once"])]
    pub sweep: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// Do not fail where a result cannot be judged, as rounding or overflow explain any; such a result is marked ? either way
    #[arg(long)]
    pub allow_unjudged: bool,
    /// File for the chart [default: target/charts]
    #[arg(long, value_name = "FILE.svg")]
    pub chart: Option<PathBuf>,
    /// Write every step of one variant to this file (simulator only)
    #[arg(long, value_name = "FILE.json")]
    pub trace: Option<PathBuf>,
    /// Run every variant and type at many sizes, or with --sweep every geometry, and write the record of this device
    #[arg(long, value_name = "FILE.json", help_heading = "For maintainers", conflicts_with_all = ["n", "input", "json", "seeds"])]
    pub record: Option<PathBuf>,
    /// Launch each kernel once, in the shapes of the committed PTX, and time nothing: so that a profiler sees what the simulator
    /// runs too
    #[arg(long, help_heading = "For maintainers")]
    pub once: bool,
}

/// Variants of `all` that cannot do what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The option that they cannot honour, as it was typed: `--op max`.
    pub option: String,
    /// Their names.
    pub variants: Vec<&'static str>,
}

impl LeftOut {
    /// Adds a variant to those that cannot honour an option.
    pub fn add(all: &mut Vec<LeftOut>, option: String, variant: &'static str) {
        match all.iter_mut().find(|known| known.option == option) {
            Some(known) => known.variants.push(variant),
            None => all.push(LeftOut { option, variants: vec![variant] }),
        }
    }
}

impl std::fmt::Display for LeftOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "left out for want of {}: {}", self.option, listed(&self.variants))
    }
}

/// `--device`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DeviceName {
    /// The GPU if a driver and a device are there, else the simulator
    Auto,
    /// The GPU
    Gpu,
    /// The simulator
    Sim,
}

impl From<DeviceName> for Choice {
    fn from(name: DeviceName) -> Choice {
        match name {
            DeviceName::Auto => Choice::Auto,
            DeviceName::Gpu => Choice::Gpu,
            DeviceName::Sim => Choice::Sim,
        }
    }
}

impl Args {
    /// Reads the command line. The error is clap's own: help is printed with status 0, a mistake with status 2.
    pub fn parse_for(
        chapter: &Chapter,
        args: impl IntoIterator<Item = std::ffi::OsString>,
    ) -> std::result::Result<Args, clap::Error> {
        let mut variants = String::from("Variants:\n");
        for variant in chapter.variants {
            variants.push_str(&format!(
                "  {:<20} {}\n",
                variant.name,
                crate::text::wrapped(variant.idea, &" ".repeat(23))
            ));
        }
        let command = Args::command()
            .name(chapter.slug)
            .about(chapter.title)
            .after_help(variants)
            .term_width(crate::text::WIDTH)
            .mut_arg("op", |op| op.default_value(chapter.default_kind().0.name()))
            .mut_arg("sweep", |sweep| sweep.hide(chapter.sweep.is_none()));
        Args::from_arg_matches(&command.try_get_matches_from(args)?)
    }

    /// Returns its options for each variant's plan, without rows, labels and gradients, which depend on the input.
    pub fn options(&self) -> LaunchOptions {
        LaunchOptions {
            op: self.op,
            block: self.block,
            grid: self.grid,
            factor: self.factor,
            overlap: self.overlap,
            ..LaunchOptions::default()
        }
    }

    /// The options that are about rows and that were given.
    fn row_option(&self) -> Option<&'static str> {
        let given = [
            ("--rows", self.rows.is_some()),
            ("--cols", self.cols.is_some()),
            ("--pitch", self.pitch.is_some()),
            ("--offsets", self.offsets.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }

    /// The variants that were named, in the order of the lesson; all of them by default.
    ///
    /// # Errors
    /// A name that the chapter does not have; the message lists those it has.
    pub fn variants(&self, chapter: &Chapter) -> Result<Vec<&'static Variant>> {
        if let Some(unknown) = self.variant.iter().find(|&name| name != "all" && chapter.variant(name).is_none()) {
            let names: Vec<&str> = chapter.variants.iter().map(|variant| variant.name).collect();
            return Err(Error::Usage(format!(
                "--variant {unknown}: {} has {} and all",
                chapter.slug,
                names.join(", ")
            )));
        }
        let is_named = |variant: &&Variant| self.variant.iter().any(|name| name == "all" || name == variant.name);
        Ok(chapter.variants.iter().filter(is_named).collect())
    }

    /// Those of `variants` that can do what was asked of elements of this type, and, of the others, a line for each option
    /// that they cannot honour. `all` means those that can; a variant that is named must honour them.
    ///
    /// # Errors
    /// A variant that was named and cannot, or none that can: one sentence that names the option and what would do.
    pub fn able(
        &self,
        variants: &[&'static Variant],
        ty: Type,
        options: &LaunchOptions,
    ) -> Result<(Vec<&'static Variant>, Vec<LeftOut>)> {
        let mut able = Vec::new();
        let mut left_out: Vec<LeftOut> = Vec::new();
        let (mut first, mut with_op, mut with_type) = (None, None, None);
        for &variant in variants {
            let Some((option, why)) = refusal(variant, ty, options) else {
                able.push(variant);
                continue;
            };
            let message = format!("{option}: {why}");
            if self.variant.iter().any(|name| name == variant.name) {
                return Err(Error::Usage(message));
            }
            // Why a variant with this operation cannot says more than that another has no such operation, or not of this type.
            let why = match variant.ops.contains(&options.op) {
                true if variant.computes(options.op, ty) => &mut with_type,
                true => &mut with_op,
                false => &mut first,
            };
            why.get_or_insert(message);
            LeftOut::add(&mut left_out, option, variant.name);
        }
        match with_type.or(with_op).or(first).filter(|_| able.is_empty()) {
            Some(message) => Err(Error::Usage(message)),
            None => Ok((able, left_out)),
        }
    }

    /// Refuses what this chapter cannot do at all, before anything is opened.
    ///
    /// # Errors
    /// One sentence that names the option, what was wrong and what would do.
    pub fn refuse(&self, chapter: &Chapter, variants: &[&'static Variant]) -> Result<()> {
        if !chapter.variants.iter().any(|variant| variant.ops.contains(&self.op)) {
            return Err(Error::Usage(format!(
                "--op {}: the kernels of {} have {}, and no other operation",
                self.op,
                chapter.slug,
                listed(&chapter.ops().iter().map(|op| op.name()).collect::<Vec<_>>())
            )));
        }
        let has_rows = chapter.variants.iter().any(|variant| variant.per != Per::Array);
        if let Some(option) = self.row_option().filter(|_| !has_rows) {
            return Err(Error::Usage(format!(
                "{option}: {} reduces one array to one value; rows are chapter 10's and those after it",
                chapter.slug
            )));
        }
        if self.sweep && chapter.sweep.is_none() {
            return Err(Error::Usage(format!("--sweep: {} has no geometries to compare", chapter.slug)));
        }
        if self.trace.is_some() && variants.len() != 1 {
            return Err(Error::Usage("--trace: a trace is of one kernel, so choose it with --variant NAME".to_owned()));
        }
        Ok(())
    }

    /// Refuses options of the simulator where a GPU runs the kernels.
    ///
    /// # Errors
    /// One sentence that names the option.
    pub fn refuse_on_gpu(&self) -> Result<()> {
        refuse_of_simulator(&[
            ("--trace", self.trace.is_some()),
            ("--schedule", self.schedule.is_some()),
            ("--seeds", self.seeds.is_some()),
            ("--check", self.check.is_some()),
            ("--card", self.card.is_some()),
        ])
    }
}

/// Refuses the first of these options of the simulator that was given.
///
/// # Errors
/// One sentence that names it.
pub fn refuse_of_simulator(given: &[(&str, bool)]) -> Result<()> {
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(Error::Usage(format!(
            "{option} is for the simulator, which --device sim takes: a GPU shows no such thing"
        ))),
        None => Ok(()),
    }
}

/// `1000003`, `1_000_003` or `2^20`, for every option that takes a number.
///
/// # Errors
/// A text that is no whole number, or one that is too large.
pub fn whole<T: TryFrom<u64>>(text: &str) -> std::result::Result<T, String> {
    let wrong = || "expected a whole number, such as 256, 1_000_003 or 2^20".to_owned();
    let too_large = || format!("the number is too large: it must fit into {} bits", 8 * size_of::<T>());
    let digits = |text: &str| {
        let are_digits = text.starts_with(|c: char| c.is_ascii_digit());
        if !are_digits || !text.chars().all(|c| c.is_ascii_digit() || c == '_') {
            return Err(wrong());
        }
        text.replace('_', "").parse::<u64>().map_err(|_| too_large())
    };
    let value = match text.split_once('^') {
        Some((base, exponent)) => {
            let exponent = u32::try_from(digits(exponent)?).map_err(|_| too_large())?;
            digits(base)?.checked_pow(exponent).ok_or_else(too_large)?
        }
        None => digits(text)?,
    };
    T::try_from(value).map_err(|_| too_large())
}

/// The names of the cards that plans know.
fn cards() -> impl TypedValueParser<Value = &'static Card> {
    let of_name = |name: String| Card::named().find(|&(known, _)| known == name).map(|(_, card)| card);
    PossibleValuesParser::new(Card::named().map(|(name, _)| name))
        .try_map(move |name| of_name(name.clone()).ok_or_else(|| format!("no card is called {name}")))
}

/// The operations by name.
pub fn operations() -> impl TypedValueParser<Value = Op> {
    named(Op::ALL, Op::name, Op::about)
}

/// The types of elements by name.
pub fn types() -> impl TypedValueParser<Value = Type> {
    named(Type::ALL, Type::name, Type::about)
}

/// One of `all`, by its name.
pub fn named<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
    about: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let value = move |&item: &T| PossibleValue::new(name(item)).help(about(item).trim_end_matches('.'));
    let find = move |text: &str| all.iter().copied().find(|&item| name(item) == text);
    PossibleValuesParser::new(all.iter().map(value))
        .try_map(move |text| find(&text).ok_or_else(|| format!("nothing is called {text}")))
}

/// Parses the number of seeds: at least one, and few enough to wait for.
///
/// # Errors
/// Another text.
pub fn seeds(text: &str) -> std::result::Result<u64, String> {
    let seeds = whole(text)?;
    if (1..=1 << 32).contains(&seeds) { Ok(seeds) } else { Err("it is a number from 1 to 2^32".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_three_spellings() {
        assert_eq!(whole::<u64>("1000003"), Ok(1_000_003));
        assert_eq!(whole::<u64>("1_000_003"), Ok(1_000_003));
        assert_eq!(whole::<u64>("2^20"), Ok(1 << 20));
        assert_eq!(whole::<u32>("2^8"), Ok(256));
        assert_eq!(whole::<u64>("0"), Ok(0));
        for wrong in ["", "-1", "1e6", "2^", "^3", "+3", "banana", "1.5", "_1"] {
            assert!(whole::<u64>(wrong).unwrap_err().starts_with("expected a whole number"), "{wrong}");
        }
        for large in ["99999999999999999999", "2^64", "2^99999999999"] {
            assert!(whole::<u64>(large).unwrap_err().contains("64 bits"), "{large}");
        }
        assert!(whole::<u32>("2^32").unwrap_err().contains("32 bits"));
        assert_eq!(seeds("2^32"), Ok(1 << 32));
        assert!(seeds("0").is_err() && seeds("2^33").is_err());
    }

    #[test]
    fn every_number_is_refused_in_the_same_words() {
        use clap::error::ErrorKind;
        for option in ["--n", "--block", "--grid", "--factor", "--seeds", "--seed"] {
            let error = Args::try_parse_from(["chapter", option, "banana"]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ValueValidation, "{option}");
            let text = error.to_string();
            assert!(
                text.contains("banana") && text.contains(option) && text.contains("expected a whole number"),
                "{text}"
            );
        }
    }
}
