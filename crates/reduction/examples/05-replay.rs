//! A plan made for one card and replayed on the simulator, without a GPU: the same kernels in the same order of additions, and so the
//! same bits.

use std::path::Path;

use device::{Choice, Device, HostOperands, Reductions, SimOptions};
use reduction::{Card, Layout, Op, Problem, Reduction, Type};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let elements: Vec<f32> = (0..100_003).map(|i| ((i * 7919) % 10_007) as f32 / 10_007.0).collect();
    let bytes: Vec<u8> = elements.iter().flat_map(|x| x.to_le_bytes()).collect();
    let simulator = Device::open(Choice::Sim, SimOptions::default())?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let reductions = Reductions::new(&simulator, &root)?;
    // ANCHOR: replay
    for (name, card) in Card::named() {
        let problem = Problem::new(Op::Sum, Type::F32, elements.len() as u64, Layout::Array, card);
        let sum = Reduction::new(&problem)?;
        let operands = HostOperands { input: &bytes, ..HostOperands::default() };
        let (result, reports) = reductions.run(&sum, &operands, 1)?;
        let result = f32::from_le_bytes(result.as_slice().try_into()?);
        let faults: usize = reports.iter().map(|report| report.faults.len()).sum();
        println!("{name:8} plan {}: {result} ({:#010x}), {faults} faults", sum.plan_id(), result.to_bits());
    }
    // ANCHOR_END: replay
    Ok(())
}
