//! Several devices of the simulator behind one door.

use device::{Arg, Buffer, Call, Choice, Code, DeviceAddress, Error, Geometry, Module, Peers, SimOptions};

/// Copies a word from where `from` points to, and sets and awaits flags between devices.
const PTX: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
.visible .entry pass_on(.param .align 8 .b8 words[24], .param .u32 mine)\n{\n.reg .pred %p;\n.reg .b32 %r<3>;\n.reg .b64 %a<4>;\n\
ld.param.u64 %a0, [words];\nld.param.u64 %a1, [words+8];\nld.param.u64 %a2, [words+16];\nld.param.u32 %r0, [mine];\n\
setp.ne.u64 %p, %a2, 0;\n@%p trap;\nWAIT:\nld.acquire.sys.global.u32 %r1, [%a0];\nsetp.ne.u32 %p, %r1, %r0;\n@%p bra WAIT;\n\
add.u32 %r1, %r1, 1;\nst.release.sys.global.u32 [%a1], %r1;\nret;\n}\n";

/// The module on each device.
fn modules(peers: &Peers) -> Vec<Module> {
    peers.devices().iter().map(|device| device.load_ptx("pass.ptx", PTX).unwrap()).collect()
}

/// Zeros on each device, so many.
fn words(peers: &Peers, count: usize) -> Vec<Buffer<u32>> {
    peers.devices().iter().map(|device| device.upload("word", &vec![0; count]).unwrap()).collect()
}

/// One thread that waits until the first of these words is a number, and writes the next one to the second.
fn pass_on(module: &Module, words: [u64; 2], number: usize) -> Call<'_> {
    let args = vec![Arg::Words(vec![words[0], words[1], 0]), Arg::U32(number as u32)];
    Call { module, kernel: "pass_on", geometry: Geometry::linear(1, 1), args }
}

#[test]
fn a_word_goes_round_among_devices_that_wait_for_each_other() {
    let peers = Peers::simulated(3, SimOptions::default()).unwrap();
    let (modules, words) = (modules(&peers), words(&peers, 1));
    // Device r waits until its word is r, which device 0 finds at once, and tells the next one.
    let call = |rank: usize| pass_on(&modules[rank], [words[rank].address(), words[(rank + 1) % 3].address()], rank);
    let reports = peers.launch(&[vec![call(0)], vec![call(1)], vec![call(2)]]).unwrap();
    assert!(reports.iter().flatten().all(|report| report.faults.is_empty()), "{reports:?}");
    let left: Vec<u32> =
        peers.devices().iter().zip(&words).flat_map(|(device, word)| device.download(word).unwrap()).collect();
    assert_eq!(left, [3, 1, 2]);

    // One of them alone, through its own door, waits in vain.
    let report = peers.devices()[2].launch(&call(0)).unwrap();
    assert_eq!(report.faults.iter().map(|fault| fault.code).collect::<Vec<_>>(), [Code::Deadlock]);
    assert!(
        peers.launch(&[]).unwrap().is_empty() && peers.launch(&[vec![], vec![]]).unwrap().iter().all(Vec::is_empty)
    );
}

#[test]
fn devices_that_are_not_there_are_refused() {
    let message = Peers::simulated(33, SimOptions::default()).unwrap_err().to_string();
    assert_eq!(message, "33 simulated devices: device 32: a simulation has devices 0 to 31");
    let peers = Peers::simulated(2, SimOptions::default()).unwrap();
    let message = peers.launch(&[vec![], vec![], vec![]]).unwrap_err().to_string();
    assert_eq!(message, "2 simulated devices: launches were given for 3");
}

#[test]
fn devices_are_opened_by_choice() {
    let open = |choice, count| Peers::open(choice, count, SimOptions::default());
    let simulated = open(Choice::Sim, None).unwrap();
    assert_eq!(simulated.devices().len(), 2);
    assert_eq!(simulated.devices()[1].description().why, "--device sim was asked for");
    assert_eq!(open(Choice::Sim, Some(5)).unwrap().devices().len(), 5);
    for choice in [Choice::Sim, Choice::Auto, Choice::Gpu] {
        let message = open(choice, Some(0)).unwrap_err().to_string();
        assert_eq!(message, "0 simulated devices: one at least is needed");
    }
    // More GPUs than any machine has.
    match open(Choice::Gpu, Some(30)) {
        Err(Error::GpuAskedFor { why }) => {
            assert!(matches!(*why, Error::FewGpus { needed: 30, .. } | Error::NoDriver | Error::NoGpu { .. }), "{why}");
        }
        other => panic!("{other:?}"),
    }
    let fallen_back = open(Choice::Auto, Some(30)).unwrap();
    assert!(!fallen_back.are_gpus() && fallen_back.devices().len() == 30);
    assert!(fallen_back.devices()[0].description().why.ends_with("so the simulator runs"));
}

#[test]
fn the_simulator_has_no_time_and_nothing_is_refused_without_one() {
    let peers = Peers::simulated(2, SimOptions::default()).unwrap();
    let modules = modules(&peers);
    let call = |rank: usize| pass_on(&modules[rank], [0; 2], 0);
    assert_eq!(peers.time(&[vec![call(0)], vec![call(1)]], 3).unwrap(), None);
    for (calls, replays) in [(vec![], 3), (vec![vec![call(0)]], 3), (vec![vec![call(0)], vec![]], 3)] {
        assert!(matches!(peers.time(&calls, replays), Err(Error::NothingToTime)));
    }
    assert!(matches!(peers.time(&[vec![call(0)], vec![call(1)]], 0), Err(Error::NothingToTime)));
}

/// On GPUs, where there are several: a flag goes round among them, and its clock runs.
#[test]
fn gpus_wait_for_each_other_too() {
    let peers = match Peers::open(Choice::Gpu, None, SimOptions::default()) {
        Ok(peers) => peers,
        Err(error) => return println!("skipped: {error}"),
    };
    let (modules, once) = (modules(&peers), words(&peers, 1));
    let ranks = once.len();
    let call = |rank: usize| pass_on(&modules[rank], [once[rank].address(), once[(rank + 1) % ranks].address()], rank);
    peers.launch(&(0..ranks).map(|rank| vec![call(rank)]).collect::<Vec<_>>()).unwrap();
    let left = peers.devices().iter().zip(&once).map(|(device, word)| device.download(word).unwrap()[0]);
    let expected = (0..ranks as u32).map(|rank| if rank == 0 { ranks as u32 } else { rank });
    assert_eq!(left.collect::<Vec<_>>(), expected.collect::<Vec<_>>());

    // Each rank finds its own number already, and so may be replayed.
    let words = words(&peers, 2);
    let alone =
        |rank: usize| pass_on(&modules[rank], [words[rank].address(), words[(rank + 1) % ranks].address() + 4], 0);
    let calls: Vec<Vec<Call<'_>>> = (0..ranks).map(|rank| vec![alone(rank), alone(rank)]).collect();
    let timing = peers.time(&calls, 5).unwrap().expect("GPUs have a clock");
    assert!(timing.median_us > 0.0 && (timing.replays, timing.calls) == (5, 2), "{timing:?}");
    let other = |rank: usize| Call { module: &modules[(rank + 1) % ranks], ..call(rank) };
    if ranks > 1 {
        let refused = peers.launch(&(0..ranks).map(|rank| vec![other(rank)]).collect::<Vec<_>>());
        assert!(matches!(refused, Err(Error::OtherDevice { .. })));
    }
}
