//! Warp-instructions that the simulator executes in a second: `cargo bench -p simt`.
//!
//! The throughput that criterion prints counts PTX instructions, once for each warp that executes one, so `Melem/s`
//! reads as million warp-instructions a second. Counters are part of every run; `no checks` leaves out what has a switch,
//! `all checks` looks for every fault. `alu` and `kernels` run on one host thread and are timed by its processor time, so that other work on
//! the machine does not count; `threads` is timed by the clock on the wall and needs an idle machine.

#![allow(missing_docs)] // criterion's macros write a main without any

use std::hint::black_box;
use std::time::Duration;

use cpu_time::ThreadTime;
use criterion::{BenchmarkId, Criterion, Throughput};
use simt::{Checks, Kernel, Launch, Memory, Options, Program};

/// Elements of the chapters' inputs.
const N: u32 = 1 << 20;

/// Arguments of a kernel, in its order.
#[derive(Clone, Copy)]
enum Arg {
    Input,
    /// An array of so many bytes, zero at first.
    Array(u32),
    Number(u32),
    Wide(u64),
}

#[derive(Clone, Copy)]
struct Case {
    slug: &'static str,
    kernel: &'static str,
    grid: u32,
    args: &'static [Arg],
}

const fn case(slug: &'static str, kernel: &'static str, grid: u32, args: &'static [Arg]) -> Case {
    Case { slug, kernel, grid, args }
}

/// The launches that the chapters make for an input of `N` elements.
const CASES: &[Case] = &[
    case("ch01-naive", "interleaved_modulo_i32", N / 256, &[Arg::Input, Arg::Array(N / 64), Arg::Number(N)]),
    case("ch03-sequential", "sequential_i32", N / 256, &[Arg::Input, Arg::Array(N / 64), Arg::Number(N)]),
    case("ch05-unroll", "unroll_shuffle_i32", N / 512, &[Arg::Input, Arg::Array(N / 128), Arg::Number(N)]),
    case("ch07-coarsening", "vectorised_v16_i32", N / 2048, &[Arg::Input, Arg::Array(N / 512), Arg::Number(N)]),
    case(
        "ch08-cooperative",
        "last_block_i32",
        512,
        &[Arg::Input, Arg::Array(4), Arg::Number(N), Arg::Array(4 * 512), Arg::Array(8)],
    ),
    case(
        "ch08-champion",
        "single_pass_tiles_t256u2_i32",
        512,
        &[Arg::Input, Arg::Array(4), Arg::Wide(N as u64), Arg::Array(64 * 512), Arg::Number(0), Arg::Number(0)],
    ),
];

/// A launch ready to run, with what it runs on.
struct Ready {
    name: String,
    kernel: Kernel,
    memory: Memory,
    launch: Launch,
}

impl Ready {
    fn new(name: &str, ptx: &str, kernel: &str, grid: u32, args: &[Arg]) -> Ready {
        let program = Program::load(name, ptx).unwrap_or_else(|error| panic!("{error}"));
        let mut memory = Memory::new();
        let mut array = |name: &str, bytes: &[u8]| {
            let address = memory.alloc(name, bytes.len() as u64, 4).expect("room for the array");
            memory.write(address, bytes).expect("the array is there");
            simt::Arg::Address(address)
        };
        let input: Vec<u8> = (0..N).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let args = args.iter().map(|arg| match *arg {
            Arg::Input => array("in", &input),
            Arg::Array(bytes) => array("array", &vec![0; bytes as usize]),
            Arg::Number(number) => number.into(),
            Arg::Wide(number) => number.into(),
        });
        let args = args.collect();
        let (grid, block) = ([grid, 1, 1], [256, 1, 1]);
        Ready {
            name: name.to_owned(),
            kernel: program.kernel(kernel).unwrap_or_else(|error| panic!("{error}")),
            memory,
            launch: Launch { grid, block, args, ..Launch::default() },
        }
    }

    fn of(case: &Case) -> Ready {
        let path = format!("{}/../../kernels/ptx/{}.ptx", env!("CARGO_MANIFEST_DIR"), case.slug);
        let ptx = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let name = format!("{}/{}", &case.slug[..4], case.kernel);
        Ready { name, ..Ready::new(&path, &ptx, case.kernel, case.grid, case.args) }
    }

    /// Warp-instructions executed.
    fn run(&mut self, options: &Options) -> u64 {
        let outcome = simt::run(&self.kernel, &mut self.memory, &self.launch, options);
        let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
        assert!(outcome.faults.is_empty(), "{}: {:?}", self.name, outcome.faults);
        outcome.counters.inst_executed
    }
}

fn options(checks: Checks, threads: usize) -> Options {
    Options { checks, threads, ..Options::default() }
}

fn measure(criterion: &mut Criterion, group: &str, id: BenchmarkId, ready: &mut Ready, options: &Options) {
    let mut group = criterion.benchmark_group(group);
    group.throughput(Throughput::Elements(ready.run(options)));
    group.bench_function(id, |bencher| bencher.iter(|| ready.run(options)));
    group.finish();
}

/// The same in processor time of the one thread that runs.
fn measure_core(criterion: &mut Criterion, group: &str, id: BenchmarkId, ready: &mut Ready, checks: Checks) {
    let options = options(checks, 1);
    let mut group = criterion.benchmark_group(group);
    group.throughput(Throughput::Elements(ready.run(&options)));
    group.bench_function(id, |bencher| {
        bencher.iter_custom(|rounds| {
            let start = ThreadTime::now();
            (0..rounds).for_each(|_| {
                black_box(ready.run(&options));
            });
            start.elapsed()
        });
    });
    group.finish();
}

/// Arithmetic without memory: integers and floats, 32 and 64 bits, comparisons and a loop.
fn arithmetic(criterion: &mut Criterion) {
    let mut ready = Ready::new("alu_mix", include_str!("alu_mix.ptx"), "alu_mix", 32, &[Arg::Array(4 << 13)]);
    measure_core(criterion, "alu", BenchmarkId::from_parameter("mix"), &mut ready, Checks::NONE);
}

fn chapters(criterion: &mut Criterion) {
    for case in CASES {
        let mut ready = Ready::of(case);
        for (checks, name) in [(Checks::NONE, "no checks"), (Checks::ALL, "all checks")] {
            let id = BenchmarkId::new(ready.name.clone(), name);
            measure_core(criterion, "kernels", id, &mut ready, checks);
        }
    }
}

/// The same launch on one host thread and on two; blocks that talk to each other take turns on one whatever is asked for.
fn threads(criterion: &mut Criterion) {
    let mut ready = Ready::of(&CASES[2]);
    for (checks, name) in [(Checks::NONE, "no checks"), (Checks::ALL, "all checks")] {
        for threads in [1, 2] {
            measure(criterion, "threads", BenchmarkId::new(name, threads), &mut ready, &options(checks, threads));
        }
    }
}

/// A launch of one block, alone and with other memory allocated: it should not know.
fn launches(criterion: &mut Criterion) {
    for (name, buffers, bytes) in
        [("alone", 0, 0), ("beside 512 MiB", 1, 512 << 20), ("beside 1000 buffers", 1000, 4096)]
    {
        let case = Case { grid: 1, args: &[Arg::Input, Arg::Array(4), Arg::Number(256)], ..CASES[1] };
        let mut ready = Ready::of(&case);
        for _ in 0..buffers {
            ready.memory.alloc("beside", bytes, 4).expect("room beside");
        }
        for (checks, checked) in [(Checks::NONE, "no checks"), (Checks::ALL, "all checks")] {
            measure_core(criterion, "launch", BenchmarkId::new(name, checked), &mut ready, checks);
        }
    }
}

criterion::criterion_group!(
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    targets = arithmetic, chapters, threads, launches
);
criterion::criterion_main!(benches);
