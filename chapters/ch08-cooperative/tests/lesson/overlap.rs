//! The champion between a producer that lets it begin early and itself: right and clean on the simulator as it is, and found out
//! without its wait.

use ch08_cooperative::CHAPTER;
use device::{Arg, Call, Checks, Code, Device, Geometry, KernelSource, Module, Schedule};
use lab::element::Element;
use lab::session::built_root;
use lab::{LaunchOptions, Op, Result, Session, trial};

const N: u32 = 9001;
const BLOCK: u32 = 256;

/// Lets the next launch begin, waits for the one before, and writes `first + i` to element i, one a thread.
const PRODUCER: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry produce_TY(.param .u64 to, .param .u32 n, .param .u32 first)
{
    .reg .pred %past;
    .reg .b32 %i, %block, %n, %first;
    .reg .TY %value;
    .reg .b64 %to, %bytes;
    griddepcontrol.launch_dependents;
    griddepcontrol.wait;
    mov.u32 %i, %tid.x;
    mov.u32 %block, %ctaid.x;
    mad.lo.u32 %i, %block, 256, %i;
    ld.param.u32 %n, [n];
    setp.ge.u32 %past, %i, %n;
    @%past ret;
    ld.param.u64 %to, [to];
    ld.param.u32 %first, [first];
    mul.wide.u32 %bytes, %i, 4;
    add.u64 %to, %to, %bytes;
    add.u32 %i, %i, %first;
    CONVERT %value, %i;
    st.global.TY [%to], %value;
    ret;
}
";

/// A producer and the champion, twice, all of which may overlap, with the champion's kernel from `other` if there is one: the
/// results of both rounds, and what was found in each launch.
fn rounds<T: Element>(
    session: &Session<'_>,
    producer: &Module,
    other: Option<&Module>,
) -> Result<(Vec<String>, Vec<Vec<Code>>)> {
    let (device, variant) = (session.device(), trial::variant(&CHAPTER, "single_pass"));
    let options = LaunchOptions { overlap: true, grid: Some(5), ..LaunchOptions::default() };
    let plan = session.plan(variant, T::TYPE, N.into(), options)?;
    let input = device.upload("in", &vec![T::from_le(&[0; 4]); N as usize])?;
    let arrays = [session.arrays::<T>(&plan)?, session.arrays::<T>(&plan)?];
    let kernel = format!("produce_{}", T::TYPE);
    let geometry = Geometry::linear(N.div_ceil(BLOCK), BLOCK).with_overlaps(true);
    let mut calls = Vec::new();
    for (first, arrays) in (1..).zip(&arrays) {
        let args = vec![Arg::Address(&input, 0), Arg::U32(N), Arg::U32(first)];
        calls.push(Call { module: producer, kernel: &kernel, geometry, args });
        for call in session.calls(variant, &plan, (&input, 0), arrays)? {
            assert!(call.geometry.overlaps && call.kernel.contains("overlap"));
            calls.push(Call { module: other.unwrap_or(call.module), ..call });
        }
    }
    let reports = device.launch_all(&calls)?;
    let found = reports.iter().map(|report| report.faults.iter().map(|fault| fault.code).collect()).collect();
    let results =
        arrays.iter().map(|arrays| Ok(session.result(Op::Sum, arrays)?.expect("a result").to_f64().to_string()));
    Ok((results.collect::<Result<_>>()?, found))
}

fn producer(device: &Device, ty: &str, convert: &str) -> Module {
    let text = PRODUCER.replace("TY", ty).replace("CONVERT", convert);
    let text = text.replace(&format!("produce_{ty}"), &format!("produce_{}", ty.replace('u', "i")));
    device.load_ptx("producer", &text).expect("PTX")
}

/// Sum of the numbers from `first` on.
fn sum(first: u64) -> String {
    ((0..u64::from(N)).map(|i| i + first).sum::<u64>() as f64).to_string()
}

#[test]
fn the_champion_waits_for_a_producer_that_lets_it_begin_and_is_found_out_if_it_does_not() -> Result<()> {
    let source = KernelSource::in_root(&built_root(), "ch08-champion");
    let text = source.read_ptx(&source.read_cu()?).expect("committed PTX");
    let right = vec![sum(1), sum(2)];
    let mut early = 0;
    for seed in [None, Some(0), Some(1), Some(2), Some(3), Some(4)] {
        let schedule = Schedule::Independent { seed };
        let session = trial::simulator(&CHAPTER, schedule, Checks::ALL)?;
        let device = session.device();
        let integers = producer(device, "u32", "mov.u32");
        let floats = producer(device, "f32", "cvt.rn.f32.u32");
        let clean = vec![Vec::new(); 4];
        assert_eq!(rounds::<i32>(&session, &integers, None)?, (right.clone(), clean.clone()), "{schedule}");
        assert_eq!(rounds::<f32>(&session, &floats, None)?.1, clean, "{schedule}");

        let careless = device.load_ptx("careless", &text.replace("griddepcontrol.wait;", ""))?;
        let (results, found) = rounds::<i32>(&session, &integers, Some(&careless))?;
        early += u32::from(results != right);
        assert!(found[1].contains(&Code::GlobalRace), "{schedule}: {found:?}");
        assert!(found.iter().flatten().all(|code| *code == Code::GlobalRace), "{schedule}: {found:?}");
        let (_, found) = rounds::<f32>(&session, &floats, Some(&careless))?;
        assert!(found[1].contains(&Code::GlobalRace), "{schedule}: {found:?}");
    }
    assert!(early > 0, "no seed let the champion add up what was not there yet");
    Ok(())
}
