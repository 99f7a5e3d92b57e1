//! Runs whatever a text is, with bounded steps and memory. The fuzz targets (`fuzz/`) and the mutation test share it.

use crate::semantics::operands::fnv;
use simt::{
    Arg, Checks, Kernel, Launch, LaunchError, Memory, MemoryError, Options, Program, Schedule, StreamLaunch,
    run_devices, run_stream, trace,
};

/// Most warp-instructions of a block.
const STEPS: u64 = 1024;
/// Most bytes of global memory, with what the text declares.
const MEMORY_BYTES: u64 = 16 << 20;
/// Bytes that a parameter which may be a pointer points to.
const BUFFER_BYTES: u64 = 4096;
/// Parameters longer than this in all are not made up.
const PARAMETER_BYTES: u64 = 4096;
/// Steps recorded in one launch of eight.
const TRACE: trace::Options = trace::Options { first_block: 1, blocks: 2, warps: 0b10, steps_per_block_max: 100 };
/// Kernels of one text that are run.
const KERNELS: usize = 3;

/// Last stage that a text reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reached {
    /// No PTX.
    Nothing,
    /// PTX, of which no kernel could be run.
    Parsed,
    /// At least one kernel was launched.
    Launched,
}

/// Parses `text`, and prints the tree or the error.
pub fn parse(text: &str) -> Reached {
    match ptx::parse("fuzz.ptx", text) {
        Ok(module) => {
            assert!(!module.to_string().is_empty());
            Reached::Parsed
        }
        Err(error) => {
            assert!(error.to_string().starts_with("fuzz.ptx:"), "{error}");
            Reached::Nothing
        }
    }
}

/// A number that follows from a text: its 64-bit FNV-1a hash, the upper half mixed into the lower.
pub fn choice(bytes: &[u8]) -> u64 {
    let hash = fnv(bytes);
    hash ^ hash >> 32
}

/// Loads `text` and launches its first kernels. `choice` decides how: schedule, checks, geometry, stack, trace,
/// cooperative or not, alone or behind itself.
pub fn execute(text: &str, choice: u64) -> Reached {
    let Ok(program) = Program::load("fuzz.ptx", text) else { return Reached::Nothing };
    let mut reached = Reached::Parsed;
    for name in program.kernel_names().into_iter().take(KERNELS) {
        match program.kernel(name) {
            Ok(kernel) => reached = reached.max(launch(&kernel, choice)),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    reached
}

fn launch(kernel: &Kernel, choice: u64) -> Reached {
    let mut memory = Memory::with_limit(MEMORY_BYTES);
    let Ok(args) = arguments(kernel, &mut memory) else { return Reached::Parsed };
    let launch = Launch {
        grid: [[3, 1, 1], [1, 1, 1], [2, 1, 2], [4, 1, 1]][(choice & 3) as usize],
        block: [[40, 1, 1], [32, 1, 1], [8, 3, 2], [64, 1, 1]][(choice >> 2 & 3) as usize],
        shared_bytes: [0, 256][(choice >> 4 & 1) as usize],
        cooperative: choice >> 5 & 3 == 0,
        cluster: (choice >> 7 & 7 == 0).then_some([2, 1, 1]),
        device: 0,
        args,
    };
    let schedule = match choice >> 10 & 3 {
        0 => Schedule::Lockstep,
        1 => Schedule::Independent { seed: Some(choice) },
        _ => Schedule::Independent { seed: None },
    };
    let options = Options {
        schedule,
        checks: if choice >> 12 & 3 == 0 { Checks::NONE } else { Checks::ALL },
        threads: 1,
        steps_per_block_max: STEPS,
        steps_per_launch_max: 8 * STEPS,
        portable: choice >> 14 & 3 == 0,
        stack_bytes: [1024, 32][(choice >> 16 & 1) as usize],
        trace: (choice >> 17 & 7 == 0).then_some(TRACE),
    };
    if choice >> 24 & 7 == 0 {
        return on_two_devices(kernel, &launch, &mut memory, &options);
    }
    // Now and then the kernel follows itself, and overlaps itself.
    let behind = StreamLaunch { kernel, launch: &launch, overlaps: choice >> 20 & 1 == 0 };
    let stream = [behind; 3];
    let launches = [1, 1, 1, 1, 1, 2, 2, 3][(choice >> 21 & 7) as usize];
    reached(run_stream(&stream[..launches], &mut memory, &options), |outcomes| {
        assert_eq!(outcomes.len(), launches);
        for outcome in outcomes {
            let report = simt::report::render_all(&outcome.faults, &|_| None);
            assert_eq!(report.is_empty(), outcome.faults.is_empty(), "{report}");
        }
    })
}

/// Stage of a launch, whose outcome is checked.
fn reached<T>(ran: Result<T, LaunchError>, check: impl Fn(T)) -> Reached {
    match ran {
        Ok(outcome) => {
            check(outcome);
            Reached::Launched
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            Reached::Parsed
        }
    }
}

/// The kernel on two devices at once, over the same buffers, of which one device may have to reach for the other's.
fn on_two_devices(kernel: &Kernel, launch: &Launch, memory: &mut Memory, options: &Options) -> Reached {
    if launch.grid[0] > 1 && memory.map_all_peers(2).is_err() {
        return Reached::Parsed;
    }
    let launches = [0, 1].map(|device| Launch { device, ..launch.clone() });
    let streams = launches.each_ref().map(|launch| vec![StreamLaunch { kernel, launch, overlaps: false }; 2]);
    reached(run_devices(&streams, memory, options), |outcomes| {
        assert_eq!(outcomes.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
    })
}

/// A buffer of numbers for every parameter of eight bytes, small numbers for the others.
fn arguments(kernel: &Kernel, memory: &mut Memory) -> Result<Vec<Arg>, MemoryError> {
    let total: u64 = kernel.parameters().iter().map(|parameter| u64::from(parameter.bytes)).sum();
    if total > PARAMETER_BYTES {
        return Err(MemoryError::OutOfMemory { name: "parameters".to_owned(), bytes: total });
    }
    let contents: Vec<u8> = (0..BUFFER_BYTES).map(|i| if i % 4 == 0 { (i / 4 % 61) as u8 } else { 0 }).collect();
    let mut make = |bytes: u32| match bytes {
        8 => {
            let address = memory.alloc("buffer", BUFFER_BYTES, 4)?;
            memory.write(address, &contents)?;
            Ok(Arg::Address(address))
        }
        bytes => Ok(Arg::Bytes(contents.iter().copied().skip(4 * 40).take(bytes as usize).collect())),
    };
    kernel.parameters().iter().map(|parameter| make(parameter.bytes)).collect()
}
