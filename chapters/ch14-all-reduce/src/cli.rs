//! The command line, and what this chapter refuses of it.

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser};
use device::{Checks, Schedule};
use lab::cli::{DeviceName, named, refuse_of_simulator, seeds, whole};
use lab::text::{WIDTH, wrapped};
use lab::{Error, Result};
use reduction::{Op, RANKS_MAX, Type};

use crate::{SLUG, TITLE, VARIANTS, Variant};

/// Options of the program. Those of the other chapters have the same names and meanings.
#[derive(Debug, Parser)]
#[command(disable_version_flag = true)]
pub(crate) struct Args {
    /// Number of devices, 1 to 8 [default: all GPUs if there are several, else two simulated devices]
    #[arg(long, value_name = "R", value_parser = ranks)]
    pub ranks: Option<u32>,
    /// Number of elements of each device's array: 4096 or 2^12 [default: 4,096 on the simulator, 2^18 on GPUs]
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    pub n: Option<u64>,
    /// Type of the elements
    #[arg(long = "type", value_name = "TYPE", default_value = "f32",
        value_parser = named(&[Type::F32, Type::BF16], Type::name, Type::about))]
    pub ty: Type,
    /// Operation
    #[arg(long, default_value = "sum", value_parser = named(&[Op::Sum, Op::Maximum], Op::name, Op::about))]
    pub op: Op,
    /// Kernel, or several with commas between
    #[arg(long, value_name = "NAME|all", default_value = "all", value_delimiter = ',')]
    pub variant: Vec<String>,
    /// Devices: auto takes GPUs if there are enough
    #[arg(long, value_enum, default_value = "auto")]
    pub device: DeviceName,
    /// Order in which the simulator runs devices, blocks and lanes: lockstep (before Volta) or independent[:SEED] [default:
    /// independent, under which every wrong kernel shows]
    #[arg(long)]
    pub schedule: Option<Schedule>,
    /// Run each variant under the schedules independent:0 to independent:N-1 (simulator only)
    #[arg(long, value_name = "N", value_parser = seeds, conflicts_with = "schedule")]
    pub seeds: Option<u64>,
    /// Checks of the simulator: all, none, or a list such as global-race,out-of-bounds [default: all]
    #[arg(long, value_name = "all|none|LIST")]
    pub check: Option<Checks>,
    /// Seed of the random numbers
    #[arg(long, value_name = "SEED", default_value = "1", value_parser = whole::<u64>)]
    pub seed: u64,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

impl Args {
    /// Reads the command line. The error is clap's own: help, or a mistake.
    pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> std::result::Result<Args, clap::Error> {
        let line = |variant: &Variant| format!("  {:<16} {}\n", variant.name, wrapped(variant.idea, &" ".repeat(19)));
        let variants: String = VARIANTS.iter().map(line).collect();
        let command =
            Args::command().name(SLUG).about(TITLE).after_help(format!("Variants:\n{variants}")).term_width(WIDTH);
        Args::from_arg_matches(&command.try_get_matches_from(args)?)
    }

    /// The variants that were named, in the order of the lesson, and whether each was named by itself.
    ///
    /// # Errors
    /// A name that there is not; the message lists those that there are.
    pub(crate) fn variants(&self) -> Result<Vec<(&'static Variant, bool)>> {
        let is_known = |name: &str| name == "all" || VARIANTS.iter().any(|variant| variant.name == name);
        if let Some(unknown) = self.variant.iter().find(|name| !is_known(name)) {
            let names: Vec<&str> = VARIANTS.iter().map(|variant| variant.name).collect();
            return Err(Error::Usage(format!("--variant {unknown}: {SLUG} has {} and all", names.join(", "))));
        }
        let has_all = self.variant.iter().any(|name| name == "all");
        let is_named = |variant: &Variant| self.variant.iter().any(|name| name == variant.name);
        let each = VARIANTS.iter().map(|variant| (variant, is_named(variant)));
        Ok(each.filter(|(_, is_named)| has_all || *is_named).collect())
    }

    /// Refuses options of the simulator where GPUs run the kernels.
    ///
    /// # Errors
    /// One sentence that names the option.
    pub(crate) fn refuse_on_gpus(&self) -> Result<()> {
        refuse_of_simulator(&[
            ("--schedule", self.schedule.is_some()),
            ("--seeds", self.seeds.is_some()),
            ("--check", self.check.is_some()),
        ])
    }
}

/// Parses the number of devices.
fn ranks(text: &str) -> std::result::Result<u32, String> {
    let count = whole::<u32>(text)?;
    if (1..=RANKS_MAX).contains(&count) {
        return Ok(count);
    }
    Err(format!("the kernels add up the arrays of 1 to {RANKS_MAX} devices"))
}
