//! One launch: kernel, geometry and arguments, checked the same way for both kinds of device, and what it reports.

use std::time::Duration;

use simt::Parameter;

use crate::{Buffer, Counters, DeviceAddress, Error, Fault, Geometry, LineCounters, Module, Note};

/// One kernel argument.
pub enum Arg<'a> {
    /// A buffer's address plus an offset in bytes (so that unaligned input can be tried).
    Address(&'a dyn DeviceAddress, u64),
    /// A scalar.
    U32(u32),
    /// A scalar.
    U64(u64),
    /// A structure by value of 64-bit words, such as addresses.
    Words(Vec<u64>),
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

/// An argument as a device takes it: the first `bytes` of the words, little-endian.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Argument {
    pub words: Vec<u64>,
    pub bytes: usize,
}

impl Argument {
    fn of(value: u64, bytes: usize) -> Argument {
        Argument { words: vec![value], bytes }
    }

    /// Its bytes as a kernel finds them.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).take(self.bytes).collect()
    }
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
        let argument = match arg {
            Arg::Address(buffer, offset) => Argument::of(buffer.address().wrapping_add(*offset), 8),
            Arg::U32(value) => Argument::of((*value).into(), 4),
            Arg::U64(value) => Argument::of(*value, 8),
            Arg::Words(words) => Argument { words: words.clone(), bytes: 8 * words.len() },
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
        assert_eq!(bound, [Argument::of(0x1004, 8), Argument::of(7, 4)]);
        let structure = [Parameter { name: String::new(), ty: "b8[24]".into(), bytes: 24, align_bytes: 8 }];
        let bound = bind("k", &structure, &[Arg::Words(vec![0x1000, 0, 0x3008])]).expect("three words");
        assert_eq!(bound, [Argument { words: vec![0x1000, 0, 0x3008], bytes: 24 }]);
        assert!(bind("k", &structure, &[Arg::Words(vec![0x1000, 0])]).is_err());
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
}
