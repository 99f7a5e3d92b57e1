//! The bench that every chapter has: a GPU's time by its own events, and without a GPU the speed of the simulator
//! (warp-instructions a second) and of this machine's CPU.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use device::{Checks, Choice, Schedule, SimOptions};

use crate::{Array, Chapter, Job, LaunchOptions, Result, Session, Type, input};

/// Elements on a GPU, and for the CPU beside it.
const N: usize = 1 << 24;
/// Elements on the simulator: a few milliseconds a run.
const SIMULATED_N: usize = 1 << 16;

/// Writes the `main` of a chapter's bench.
///
/// ```text
/// lab::chapter_bench!(ch05_unroll::CHAPTER);
/// ```
#[macro_export]
macro_rules! chapter_bench {
    ($chapter:path) => {
        fn main() {
            $crate::speed::bench(&$chapter);
        }
    };
}

/// Measures every variant of the chapter; the options are criterion's.
pub fn bench(chapter: &Chapter) {
    let mut criterion = Criterion::default().configure_from_args();
    let measured = measure(&mut criterion, chapter);
    criterion.final_summary();
    if let Err(error) = measured {
        eprintln!("error: {error}");
        std::process::exit(2);
    }
}

fn measure(criterion: &mut Criterion, chapter: &Chapter) -> Result<()> {
    let options = SimOptions {
        schedule: Schedule::Independent { seed: None },
        checks: Checks::NONE,
        threads: 1,
        ..SimOptions::default()
    };
    let session = Session::open(chapter, Choice::Auto, options)?;
    let description = session.device().description();
    println!("{} ({}): {}", description.name, description.arch, description.why);
    if session.device().is_gpu() {
        gpu(criterion, &session)?;
    } else {
        println!("no GPU, so these are the speeds of the simulator (one thread, no checks) and of the CPU");
        simulator(criterion, &session)?;
    }
    cpu(criterion);
    Ok(())
}

fn gpu(criterion: &mut Criterion, session: &Session<'_>) -> Result<()> {
    let array = input::random(Type::I32, N, input::SEED);
    let reference = crate::reference::reference(&array);
    let mut group = criterion.benchmark_group("gpu");
    group.sample_size(10).throughput(Throughput::Bytes(4 * N as u64));
    for variant in session.chapter.variants {
        let job =
            Job { variant, options: LaunchOptions::default(), input: &array, reference: Some(&reference), offset: 0 };
        session.time_cold(job, 1)?; // what cannot run is said here, once
        group.bench_function(BenchmarkId::new(variant.name, N), |bencher| {
            // The events' time of `iterations` reductions that really ran: criterion plans by the real clock.
            bencher.iter_custom(|iterations| {
                let timing = session.time_cold(job, iterations.try_into().unwrap_or(u32::MAX));
                timing.ok().flatten().map_or(Duration::ZERO, |timing| {
                    Duration::from_secs_f64(timing.median_us * 1e-6 * iterations as f64)
                })
            });
        });
    }
    group.finish();
    Ok(())
}

fn simulator(criterion: &mut Criterion, session: &Session<'_>) -> Result<()> {
    let array = input::random(Type::I32, SIMULATED_N, input::SEED);
    let reference = crate::reference::reference(&array);
    let mut group = criterion.benchmark_group("simulator, warp-instructions");
    group.sample_size(10);
    for variant in session.chapter.variants {
        let job =
            Job { variant, options: LaunchOptions::default(), input: &array, reference: Some(&reference), offset: 0 };
        let instructions = session.run(job)?.counters.map_or(0, |counters| counters.inst_executed);
        group.throughput(Throughput::Elements(instructions));
        group.bench_function(BenchmarkId::new(variant.name, SIMULATED_N), |bencher| {
            bencher.iter(|| session.run(job).map(|run| run.result.to_f64()).ok());
        });
    }
    group.finish();
    Ok(())
}

/// The same sum on the CPU: a loop as it is written, and an iterator.
fn cpu(criterion: &mut Criterion) {
    let (Array::I32(ints), Array::F32(floats)) =
        (input::random(Type::I32, N, input::SEED), input::random(Type::F32, N, input::SEED))
    else {
        return;
    };
    let mut group = criterion.benchmark_group("cpu");
    group.sample_size(10).throughput(Throughput::Bytes(4 * N as u64));
    group.bench_function("i32, loop", |bencher| {
        bencher.iter(|| {
            let mut sum = 0i32;
            for &x in black_box(&ints) {
                sum = sum.wrapping_add(x);
            }
            sum
        });
    });
    group.bench_function("i32, iterator", |bencher| {
        bencher.iter(|| black_box(&ints).iter().fold(0i32, |sum, &x| sum.wrapping_add(x)));
    });
    group.bench_function("f32, loop (one addition after the other)", |bencher| {
        bencher.iter(|| {
            let mut sum = 0f32;
            for &x in black_box(&floats) {
                sum += x;
            }
            sum
        });
    });
    group.bench_function("f32, iterator over 16 lanes", |bencher| {
        bencher.iter(|| {
            let mut lanes = [0f32; 16];
            for chunk in black_box(&floats).chunks_exact(16) {
                for (lane, &x) in lanes.iter_mut().zip(chunk) {
                    *lane += x;
                }
            }
            lanes.iter().sum::<f32>()
        });
    });
    group.finish();
}
