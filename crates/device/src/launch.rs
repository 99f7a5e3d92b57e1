//! One launch: kernel, geometry and arguments, checked the same way for both kinds of device, and what it reports.

use std::fmt;
use std::time::Duration;

use simt::Parameter;

use crate::{Buffer, Counters, DeviceAddress, Error, Fault, LineCounters, Module, Note};

/// Most threads a block can have on every card so far.
const BLOCK_THREADS_MAX: u64 = 1024;

/// One kernel argument.
pub enum Arg<'a> {
    /// A buffer's address plus an offset in bytes (so that unaligned input can be tried).
    Address(&'a dyn DeviceAddress, u64),
    /// A scalar.
    U32(u32),
    /// A scalar.
    U64(u64),
}

/// Geometry of one launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads a block.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub shared_bytes: u32,
    /// Cooperative launch.
    pub cooperative: bool,
    /// Consecutive blocks that form one cluster; 1 where there are none.
    pub cluster: u32,
    /// True if the launch may start before the one before it in the stream has ended. The kernel then waits for it in its
    /// own code, with `griddepcontrol.wait`, before it touches anything that the other wrote.
    pub overlaps: bool,
}

/// One launch, with its arguments.
pub struct Call<'a> {
    /// Module with the kernel.
    pub module: &'a Module,
    /// Its C name.
    pub kernel: &'a str,
    /// Its geometry.
    pub geometry: Geometry,
    /// Its arguments in order.
    pub args: Vec<Arg<'a>>,
}

/// Report of a launch besides memory. A GPU reports nothing: counters are `None`, faults empty.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Counts in total.
    pub counters: Option<Counters>,
    /// Counts per source line.
    pub lines: Vec<LineCounters>,
    /// Findings.
    pub faults: Vec<Fault>,
    /// Notes on what is no fault but worth a look.
    pub notes: Vec<Note>,
    /// The recorded steps, if the simulator was asked for them.
    pub trace: Option<simt::trace::Trace>,
    /// Output of the kernel's `printf`, on the simulator.
    pub printed: String,
}

/// One thing to time, from its first launch to the end of its last.
pub enum Timed<'a> {
    /// Launches, in order.
    Launches(Vec<Call<'a>>),
    /// The same, after every byte of an array has become 0.
    Cleared(&'a Buffer<u64>, Vec<Call<'a>>),
    /// Code of a library that puts its work into the stream it is given.
    Foreign(&'a Foreign<'a>),
}

/// Puts a library's work into a CUDA stream, whose handle it is given, while that stream captures; `Err` says why not.
pub type Foreign<'a> = dyn Fn(*mut std::ffi::c_void) -> Result<(), String> + 'a;

/// Replays of graphs for their times.
#[derive(Clone, Copy)]
pub struct Replays<'a> {
    /// Replays of each graph that are timed.
    pub count: u32,
    /// Launched before each replay, outside the time: a kernel that reads more than the L2 holds.
    pub flush: Option<&'a Call<'a>>,
    /// Time that the GPU is kept busy before the measurement, so that its clocks have risen.
    pub warm_up: Duration,
    /// Longest time for the timed replays of all graphs. If they would take longer there are fewer, but at least
    /// [`Replays::LEAST`] of each if so many were requested.
    pub patience: Duration,
}

impl<'a> Replays<'a> {
    /// Least number of replays, whatever the time.
    pub const LEAST: u32 = 5;

    /// `count` replays, however long they take, after a warm-up that does for a GPU that was idle.
    pub fn new(count: u32, flush: Option<&'a Call<'a>>) -> Self {
        Replays { count, flush, warm_up: Duration::from_millis(50), patience: Duration::MAX }
    }
}

/// A measured time. All times are per call (a whole reduction, all its launches).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// Median over the replays.
    pub median_us: f64,
    /// Fastest replay.
    pub min_us: f64,
    /// Slowest replay.
    pub max_us: f64,
    /// Replays measured.
    pub replays: u32,
    /// Calls in the captured graph.
    pub calls: u32,
}

/// Times of calls that the host makes one after the other, without a graph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostTiming {
    /// One call, and a wait for its end.
    pub waiting: Timing,
    /// Many calls and one wait, divided by the calls; `None` of calls that wait by themselves.
    pub in_a_row: Option<Timing>,
}

impl Geometry {
    /// Blocks and threads in x alone, no dynamic shared memory.
    pub fn linear(grid: u32, block: u32) -> Geometry {
        Geometry {
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            shared_bytes: 0,
            cooperative: false,
            cluster: 1,
            overlaps: false,
        }
    }

    /// Refuses a launch that no device can run, with a sentence; a driver would only say `CUDA_ERROR_INVALID_VALUE`.
    pub(crate) fn check(&self, kernel: &str) -> Result<(), Error> {
        let threads: u64 = self.block.iter().fold(1, |product, &side| u64::from(side).saturating_mul(product));
        let problem = if self.grid.contains(&0) {
            "a grid has at least one block in each direction".to_string()
        } else if threads == 0 {
            "a block has at least one thread in each direction".to_string()
        } else if threads > BLOCK_THREADS_MAX {
            format!("a block has at most {BLOCK_THREADS_MAX} threads, and this one would have {threads}")
        } else if self.cluster == 0 || !self.grid[0].is_multiple_of(self.cluster) {
            format!("clusters of {} blocks do not divide the {} blocks of the grid", self.cluster, self.grid[0])
        } else {
            return Ok(());
        };
        Err(Error::BadGeometry { kernel: kernel.to_string(), geometry: *self, problem })
    }
}

impl fmt::Display for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [gx, gy, gz] = self.grid;
        let [bx, by, bz] = self.block;
        write!(f, "grid {gx}x{gy}x{gz}, block {bx}x{by}x{bz}")?;
        if self.shared_bytes > 0 {
            write!(f, ", {} bytes of dynamic shared memory", self.shared_bytes)?;
        }
        if self.cooperative {
            write!(f, ", cooperative")?;
        }
        if self.cluster > 1 {
            write!(f, ", clusters of {}", self.cluster)?;
        }
        Ok(())
    }
}

/// An argument as a device takes it: the first `bytes` of `value`, little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Argument {
    pub value: u64,
    pub bytes: usize,
}

/// Lays the arguments of a call out for the kernel's parameters. A driver would read past the end of a list that is too
/// short, so this is also what keeps a wrong call from being undefined behaviour.
pub(crate) fn bind(kernel: &str, parameters: &[Parameter], args: &[Arg<'_>]) -> Result<Vec<Argument>, Error> {
    let bad = |problem| Error::BadArguments { kernel: kernel.to_string(), problem };
    if args.len() != parameters.len() {
        let types: Vec<&str> = parameters.iter().map(|parameter| parameter.ty.as_str()).collect();
        let (takes, given) = (parameters.len(), args.len());
        return Err(bad(format!("it takes {takes} arguments ({}), and {given} were given", types.join(", "))));
    }
    let bound = args.iter().zip(parameters).enumerate().map(|(index, (arg, parameter))| {
        let argument = match *arg {
            Arg::Address(buffer, offset) => Argument { value: buffer.address().wrapping_add(offset), bytes: 8 },
            Arg::U32(value) => Argument { value: value.into(), bytes: 4 },
            Arg::U64(value) => Argument { value, bytes: 8 },
        };
        if argument.bytes == parameter.bytes as usize {
            return Ok(argument);
        }
        Err(bad(format!(
            "argument {} has {} bytes, and the parameter is {}, which has {}",
            index + 1,
            argument.bytes,
            parameter.ty,
            parameter.bytes
        )))
    });
    bound.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct At(u64);
    impl crate::buffer::sealed::Sealed for At {}
    impl DeviceAddress for At {
        fn address(&self) -> u64 {
            self.0
        }
    }

    fn parameters() -> Vec<Parameter> {
        let parameter = |ty: &str, bytes| Parameter { name: String::new(), ty: ty.into(), bytes, align_bytes: bytes };
        vec![parameter("u64", 8), parameter("u32", 4)]
    }

    #[test]
    fn arguments_are_laid_out_as_the_parameters_are() {
        let bound = bind("k", &parameters(), &[Arg::Address(&At(0x1000), 4), Arg::U32(7)]).expect("they fit");
        assert_eq!(bound, [Argument { value: 0x1004, bytes: 8 }, Argument { value: 7, bytes: 4 }]);
    }

    #[test]
    fn too_few_arguments_are_refused_with_the_types() {
        let message = bind("k", &parameters(), &[Arg::U64(1)]).expect_err("one is missing").to_string();
        assert_eq!(message, "k: it takes 2 arguments (u64, u32), and 1 were given");
    }

    #[test]
    fn an_argument_of_another_size_is_refused() {
        let message = bind("k", &parameters(), &[Arg::U64(1), Arg::U64(7)]).expect_err("8 bytes for a u32").to_string();
        assert_eq!(message, "k: argument 2 has 8 bytes, and the parameter is u32, which has 4");
    }

    #[test]
    fn impossible_geometries_say_why() {
        let problem = |grid, block| match (Geometry { grid, block, ..Geometry::linear(1, 1) }).check("k") {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
        assert_eq!(problem([1, 1, 1], [1024, 1, 1]), "");
        assert!(problem([0, 1, 1], [32, 1, 1]).contains("at least one block"));
        assert!(problem([1, 1, 1], [32, 0, 1]).contains("at least one thread"));
        assert!(problem([1, 1, 1], [64, 32, 1]).contains("2048"));
        assert!(problem([1, 1, 1], [u32::MAX; 3]).contains("at most 1024"));
    }
}
