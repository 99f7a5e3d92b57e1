//! One launch: its geometry, its options and its outcome.

mod arguments;
mod error;

pub use crate::exec::{run, run_devices, run_stream};
pub use arguments::Arg;
pub use error::{LaunchError, Misfit};

use crate::{Code, Counters, Fault, LineCounters, Note};

/// Order in which the lanes of a warp run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// Before Volta: the lanes of a warp step together.
    Lockstep,
    /// Volta and later: lanes may run apart, and only `.sync` instructions order them. Without a seed the simulator
    /// keeps lanes together where the program lets it (so counters are those of a converged warp) and judges races
    /// by what orders lanes, not by what happened; with a seed it drives lanes and warps apart at random, and starts
    /// blocks in any order.
    Independent {
        /// Seed of the adversarial scheduler.
        seed: Option<u64>,
    },
    /// Seeded from a line of the source on. Until a warp comes to an instruction of that line its lanes stay together as
    /// without a seed, and warps and blocks take their turns in order; in a kernel without such an instruction they always do.
    IndependentFrom {
        /// Seed of the adversarial scheduler.
        seed: u64,
        /// The line, from 1.
        line: u32,
    },
}

/// A check that can be switched on by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)] // named after the fault codes they report
pub enum Check {
    OutOfBounds,
    Misaligned,
    UninitialisedRead,
    SharedRace,
    BarrierDivergence,
    GlobalRace,
}

impl Schedule {
    /// Returns whether a seed decides what runs next.
    pub(crate) fn is_seeded(self) -> bool {
        matches!(self, Schedule::Independent { seed: Some(_) } | Schedule::IndependentFrom { .. })
    }

    /// Returns whether lanes of one warp are ordered by `.sync` instructions only.
    pub(crate) fn lanes_apart(self) -> bool {
        self != Schedule::Lockstep
    }
}

impl std::fmt::Display for Schedule {
    /// Writes it as `--schedule` takes it: `lockstep`, `independent`, `independent:7`, `independent:7@49`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Schedule::Lockstep => f.write_str("lockstep"),
            Schedule::Independent { seed: None } => f.write_str("independent"),
            Schedule::Independent { seed: Some(seed) } => write!(f, "independent:{seed}"),
            Schedule::IndependentFrom { seed, line } => write!(f, "independent:{seed}@{line}"),
        }
    }
}

impl std::str::FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Schedule, String> {
        match text.split_once(':') {
            None if text == "lockstep" => Ok(Schedule::Lockstep),
            None if text == "independent" => Ok(Schedule::Independent { seed: None }),
            Some(("independent", rest)) => {
                let (seed, line) = match rest.split_once('@') {
                    Some((seed, line)) => (seed, Some(line)),
                    None => (rest, None),
                };
                let seed = seed.parse().map_err(|_| format!("`{seed}` is no seed: a whole number is"))?;
                let Some(line) = line else { return Ok(Schedule::Independent { seed: Some(seed) }) };
                match line.parse() {
                    Ok(line) if line > 0 => Ok(Schedule::IndependentFrom { seed, line }),
                    _ => Err(format!("`{line}` is no line: a whole number from 1 on is")),
                }
            }
            _ => Err("it is lockstep, independent or independent:SEED[@LINE]".to_owned()),
        }
    }
}

impl Check {
    /// Every check, by the code of the faults that it reports.
    pub const ALL: [(Check, Code); 6] = [
        (Check::OutOfBounds, Code::OutOfBounds),
        (Check::Misaligned, Code::Misaligned),
        (Check::UninitialisedRead, Code::UninitialisedRead),
        (Check::SharedRace, Code::SharedRace),
        (Check::BarrierDivergence, Code::BarrierDivergence),
        (Check::GlobalRace, Code::GlobalRace),
    ];
}

/// A set of checks. Out-of-bounds and misaligned accesses are always stopped; the set says what else is paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checks(u32);

impl Checks {
    /// Every check.
    pub const ALL: Checks = Checks(u32::MAX);
    /// None.
    pub const NONE: Checks = Checks(0);

    /// Returns whether `check` is in the set.
    pub const fn has(self, check: Check) -> bool {
        self.0 & (1 << check as u32) != 0
    }

    /// The set with `check` added.
    #[must_use]
    pub const fn with(self, check: Check) -> Checks {
        Checks(self.0 | 1 << check as u32)
    }

    /// Returns whether faults of this code are looked for. Codes without a check of their own always are.
    pub fn looks_for(self, code: Code) -> bool {
        Check::ALL.iter().find(|(_, reports)| *reports == code).is_none_or(|(check, _)| self.has(*check))
    }
}

impl std::str::FromStr for Checks {
    type Err = String;

    /// `all`, `none`, or fault codes with commas between.
    fn from_str(text: &str) -> Result<Checks, String> {
        match text {
            "all" => return Ok(Checks::ALL),
            "none" => return Ok(Checks::NONE),
            _ => {}
        }
        text.split(',').try_fold(Checks::NONE, |set, name| {
            match Check::ALL.iter().find(|(_, code)| code.name() == name.trim()) {
                Some((check, _)) => Ok(set.with(*check)),
                None => {
                    let names = Check::ALL.map(|(_, code)| code.name()).join(", ");
                    Err(format!("no check named `{name}`: it is all, none, or some of {names}"))
                }
            }
        })
    }
}

/// Options of a run.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Order of lanes.
    pub schedule: Schedule,
    /// Checks that are on.
    pub checks: Checks,
    /// Host threads; 0 means one a core. The outcome is the same for any number.
    pub threads: usize,
    /// Most warp-instructions one block may execute before the launch is stopped with `step-budget`.
    pub steps_per_block_max: u64,
    /// Most warp-instructions that all blocks may execute together, likewise.
    pub steps_per_launch_max: u64,
    /// Run the code compiled for any processor even where this one has AVX2: for tests and benchmarks.
    pub portable: bool,
    /// Bytes of stack a thread has for calls whose depth the compiler does not know: recursion and function pointers.
    /// CUDA's `cudaLimitStackSize`, 1024 unless a program asks for another. A call takes the local variables of the
    /// function, and 16 bytes for what it has to keep.
    pub stack_bytes: u32,
    /// Steps to record; none by default.
    pub trace: Option<crate::trace::Options>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            schedule: Schedule::Independent { seed: None },
            checks: Checks::ALL,
            threads: 0,
            steps_per_block_max: 1 << 26,
            // Half a minute or more of work on one core; a sum of 2^29 elements, one a thread, takes a quarter of it.
            steps_per_launch_max: 1 << 32,
            portable: false,
            stack_bytes: 1024,
            trace: None,
        }
    }
}

/// Geometry and arguments. `Launch { grid, block, args, ..Launch::default() }` leaves the rest as most launches have it.
#[derive(Debug, Clone)]
pub struct Launch {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z; at most 1024 in all.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub shared_bytes: u32,
    /// Cooperative launch: all blocks resident, grid sync allowed.
    pub cooperative: bool,
    /// Blocks of a cluster in x, y, z, whole clusters in the grid; `None` leaves it to the kernel, which may be compiled
    /// for some size or none.
    pub cluster: Option<[u32; 3]>,
    /// Device that runs it: its variables and the barrier of its grid lie in that device's memory, and of the others' it reaches
    /// what is mapped ([`crate::Memory::map_peer`]).
    pub device: u32,
    /// One for each parameter, of exactly its size.
    pub args: Vec<Arg>,
}

impl Default for Launch {
    /// One thread without arguments.
    fn default() -> Launch {
        let (grid, block) = ([1; 3], [1; 3]);
        Launch { grid, block, shared_bytes: 0, cooperative: false, cluster: None, device: 0, args: Vec::new() }
    }
}

/// Result of a launch besides memory.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Outcome {
    /// Counts in total.
    pub counters: Counters,
    /// Counts per source line, ordered by file and line.
    pub lines: Vec<LineCounters>,
    /// Findings, in block order, folded.
    pub faults: Vec<Fault>,
    /// Notes on what is no fault but worth a look, in the same order.
    pub notes: Vec<Note>,
    /// The recorded steps, if any were asked for.
    pub trace: Option<crate::trace::Trace>,
    /// Output of `printf`: blocks in grid order, in a block as it ran, in one call lane by lane. At most 1 MiB.
    pub printed: String,
    /// Calls of `printf` whose output did not fit any more.
    pub prints_dropped: u64,
    /// Atomic operations on memory, one for each lane that made one: as many values may have been combined in another order.
    pub atomic_operations: u64,
}

/// One launch of a stream.
#[derive(Debug, Clone, Copy)]
pub struct StreamLaunch<'a> {
    /// Kernel.
    pub kernel: &'a crate::Kernel,
    /// Its geometry and arguments.
    pub launch: &'a Launch,
    /// True if it may begin before the previous launch has ended (`cudaLaunchAttributeProgrammaticStreamSerialization`): as soon as
    /// each block of the previous one has executed `griddepcontrol.launch_dependents` or has ended. Its own `griddepcontrol.wait` then waits
    /// for the end of that launch, and nothing else orders the two. It has no meaning for the first launch.
    pub overlaps: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_read_as_they_are_written() {
        for text in ["lockstep", "independent", "independent:7", "independent:7@49"] {
            assert_eq!(text.parse::<Schedule>().map(|schedule| schedule.to_string()), Ok(text.to_owned()));
        }
        for wrong in [
            "",
            "volta",
            "lockstep:1",
            "independent:",
            "independent:x",
            "independent:-1",
            "independent:@3",
            "independent:1@",
            "independent:1@0",
            "independent@3",
        ] {
            assert!(wrong.parse::<Schedule>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn lists_of_checks() {
        let set: Checks = "shared-race,misaligned".parse().expect("two checks");
        assert!(set.has(Check::SharedRace) && set.has(Check::Misaligned) && !set.has(Check::OutOfBounds));
        assert!(set.looks_for(Code::SharedRace) && !set.looks_for(Code::UninitialisedRead));
        assert!(Checks::NONE.looks_for(Code::Deadlock), "what has no switch is always looked for");
        assert_eq!("all".parse(), Ok(Checks::ALL));
        assert!("races".parse::<Checks>().is_err_and(|message| message.contains("shared-race")));
        for (check, code) in Check::ALL {
            assert!(code.name().parse::<Checks>().is_ok_and(|set| set.has(check)), "{code}");
        }
    }
}
