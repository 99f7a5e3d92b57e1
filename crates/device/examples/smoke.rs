//! One pass over everything a device does: open, load, upload, launch, verify, time.
//!
//! `cargo run --release -p device --example smoke -- [auto|gpu|sim]`; the binary alone runs too, in a folder that holds
//! `kernels/`.

use std::path::Path;
use std::process::ExitCode;

use device::{Arg, Call, Choice, Device, Error, Geometry, KernelSource, Report, SimOptions, Timed};

const BLOCK: u32 = 256;
const N: u32 = 100_003;

fn main() -> ExitCode {
    let choice = match std::env::args().nth(1).as_deref() {
        None | Some("auto") => Choice::Auto,
        Some("gpu") => Choice::Gpu,
        Some("sim") => Choice::Sim,
        Some(other) => {
            eprintln!("{other}: the device is auto, gpu or sim");
            return ExitCode::from(2);
        }
    };
    match smoke(choice) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn smoke(choice: Choice) -> Result<bool, Error> {
    let device = Device::open(choice, SimOptions::default())?;
    println!("{:#?}", device.description());

    let fallback = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let module = device.load(&KernelSource::find("ch01-naive", fallback)?)?;
    println!("{}: {}, kernels {:?}", module.slug(), module.origin(), module.kernels());
    let kernel = "interleaved_modulo_i32";
    println!("{kernel}: {:?}", module.resources(kernel)?);

    let values: Vec<i32> = (0..N).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as i32 - 100).collect();
    let blocks = N.div_ceil(BLOCK);
    let input = device.upload("input", &values)?;
    let sums = device.alloc::<i32>("sums", blocks as usize)?;
    let call = || Call {
        module: &module,
        kernel,
        geometry: Geometry::linear(blocks, BLOCK),
        args: vec![Arg::Address(&input, 0), Arg::Address(&sums, 0), Arg::U32(N)],
    };
    let Report { counters, faults, .. } = device.launch(&call())?;
    println!("counters {counters:?}\nfaults {faults:?}");

    let expected: Vec<i32> = values.chunks(BLOCK as usize).map(|block| block.iter().sum()).collect();
    let right = device.download(&sums)? == expected;
    println!("{} sums of {N} numbers: {}", expected.len(), if right { "right" } else { "WRONG" });

    let calls: Vec<Timed<'_>> = (0..16).map(|_| Timed::Launches(vec![call()])).collect();
    println!("{:?}", device.time(&calls, None, 15)?);
    Ok(right && faults.is_empty())
}
