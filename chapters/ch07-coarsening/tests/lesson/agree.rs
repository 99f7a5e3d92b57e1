//! Packs at every alignment, and an order of atomics that does not depend on the machine.

use ch07_coarsening::CHAPTER;
use device::{Choice, KernelSource, SimOptions};
use lab::{LaunchOptions, Result, Session, Type};
use lab::{input::random, session::built_root, trial};

/// Every place that a pack of 16 bytes has for an element, every number of elements around the first packs, and every
/// element on its own: an index that is off by one gives another sum.
#[test]
fn packs_begin_and_end_anywhere() -> Result<()> {
    let (session, variant) = (trial::checked(&CHAPTER)?, trial::variant(&CHAPTER, "vectorised"));
    for ty in [Type::I32, Type::F64] {
        for factor in [8, 16] {
            let options = LaunchOptions { factor: Some(factor), ..LaunchOptions::block(64) };
            for offset in 0..5 {
                for n in (1..=17).chain(500..=520) {
                    trial::right(&session, variant, options, &random(ty, n, 7), offset)?;
                }
            }
        }
    }
    Ok(())
}

/// On a GPU a program cannot choose the order of atomic additions; in the simulator it is the same on every machine.
#[test]
fn the_simulators_order_of_atomics_does_not_depend_on_host_threads() -> Result<()> {
    let numbers = random(Type::F32, 100_003, 1);
    let bits = |threads| -> Result<String> {
        let options = SimOptions { threads, ..SimOptions::default() };
        let source = KernelSource::in_root(&built_root(), CHAPTER.slug);
        let session = Session::open_source(&CHAPTER, source, Choice::Sim, options)?;
        Ok(trial::run(&session, trial::variant(&CHAPTER, "segmented_atomic"), 256, &numbers, 0)?.result.bits())
    };
    let one = bits(1)?;
    for threads in [2, 3, 8] {
        assert_eq!(bits(threads)?, one, "{threads} host threads");
    }
    Ok(())
}
