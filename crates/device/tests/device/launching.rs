//! Launches on whatever is here: the simulator always, and a GPU where there is one. Both must give the same numbers.

use device::{
    Arg, Buffer, Call, Choice, Code, Device, Error, Geometry, Graph, KernelSource, Module, Replays, Report, SimOptions,
    Step, Timed,
};

use crate::{repository, sim};

const BLOCK: u32 = 128;

/// The simulator and, where there is one, the GPU; where there is none the reason is printed.
fn devices() -> Vec<Device> {
    let mut devices = vec![sim()];
    match Device::open(Choice::Gpu, SimOptions::default()) {
        Ok(gpu) => devices.push(gpu),
        Err(error) => println!("the GPU's half is skipped: {error}"),
    }
    devices
}

fn naive(device: &Device) -> Module {
    device.load(&KernelSource::in_root(repository(), "ch01-naive")).expect("the lesson loads")
}

fn values(n: u32) -> Vec<i32> {
    (0..n).map(|i| i.wrapping_mul(2_654_435_761) as i32).collect()
}

fn sums_of(values: &[i32]) -> Vec<i32> {
    values.chunks(BLOCK as usize).map(|block| block.iter().fold(0, |sum: i32, x| sum.wrapping_add(*x))).collect()
}

fn interleaved<'a>(module: &'a Module, input: &'a Buffer<i32>, skip: u32, sums: &'a Buffer<i32>, n: u32) -> Call<'a> {
    let args = vec![Arg::Address(input, 4 * u64::from(skip)), Arg::Address(sums, 0), Arg::U32(n)];
    let geometry = Geometry::linear(n.div_ceil(BLOCK), BLOCK);
    Call { module, kernel: "interleaved_modulo_i32", geometry, args }
}

#[test]
fn sums_are_right_on_every_device_at_aligned_and_unaligned_addresses() {
    for device in devices() {
        let module = naive(&device);
        let values = values(10_007);
        let input = device.upload("input", &values).expect("room");
        for (skip, n) in [(0, 10_007), (0, 1), (0, BLOCK), (1, 1000), (3, BLOCK + 1)] {
            let sums = device.alloc("sums", n.div_ceil(BLOCK) as usize).expect("room");
            let report = device.launch(&interleaved(&module, &input, skip, &sums, n)).expect("it runs");
            assert_eq!(report.faults, []);
            assert_eq!(report.counters.is_some(), !device.is_gpu());
            let (begin, end) = (skip as usize, (skip + n) as usize);
            assert_eq!(
                device.download(&sums).expect("a copy"),
                sums_of(&values[begin..end]),
                "{n} numbers from {skip}"
            );
        }
    }
}

#[test]
fn a_module_says_what_it_is() {
    for device in devices() {
        let module = naive(&device);
        assert!(module.kernels().contains(&"simple_global_f32"), "{:?}", module.kernels());
        assert_eq!(module.parameters("interleaved_modulo_i32").expect("it is there").len(), 3);
        let resources = module.resources("interleaved_modulo_i32").expect("it is there");
        assert_eq!(resources.is_some(), device.is_gpu());
        if let Some(resources) = resources {
            assert!(resources.registers > 0 && resources.shared_bytes == 4096, "{resources:?}");
        }
        assert!(matches!(module.resources("absent"), Err(Error::Load(_))));
    }
}

#[test]
fn wrong_calls_are_refused_before_they_start() {
    for device in devices() {
        let module = naive(&device);
        let (input, sums) = (device.upload("input", &[1i32; 4]).expect("room"), device.alloc("sums", 1).expect("room"));
        let launch = |change: &dyn Fn(&mut Call<'_>)| {
            let mut call = interleaved(&module, &input, 0, &sums, 4);
            change(&mut call);
            device.launch(&call).expect_err("a wrong call").to_string()
        };
        assert!(launch(&|call| call.args.truncate(2)).contains("takes 3 arguments"));
        assert!(launch(&|call| call.args[2] = Arg::U64(4)).contains("argument 3 has 8 bytes"));
        assert!(launch(&|call| call.geometry.block[0] = 0).contains("at least one thread"));
        assert!(launch(&|call| call.geometry.block[0] = 2048).contains("at most 1024 threads"));
        assert!(launch(&|call| call.kernel = "absent").contains("no kernel named absent"));
    }
}

#[test]
fn the_simulator_finds_what_a_gpu_may_not() {
    let device = sim();
    let module = naive(&device);
    let sums = device.alloc("sums", 1).expect("room");
    let short = device.upload("input", &[1i32; 100]).expect("room");
    let Report { faults, .. } = device.launch(&interleaved(&module, &short, 0, &sums, BLOCK)).expect("it starts");
    assert!(faults.iter().any(|fault| fault.code == Code::OutOfBounds), "{faults:?}");
    assert!(faults[0].message.contains("input"), "{faults:?}");
    assert_eq!(faults[0].site.file, "kernels/ch01-naive.cu");

    let unwritten = device.alloc::<i32>("input", BLOCK as usize).expect("room");
    let Report { faults, .. } = device.launch(&interleaved(&module, &unwritten, 0, &sums, BLOCK)).expect("it starts");
    assert!(faults.iter().any(|fault| fault.code == Code::UninitialisedRead), "{faults:?}");
}

/// Two warps store the same word to one place, which nothing orders.
const EQUAL_WRITES: &str = ".version 7.0\n.target sm_80\n.address_size 64\n\
    .visible .entry equal_writes(.param .u64 out) {\n\
    .reg .b64 %rd<2>;\n.reg .b32 %r<2>;\n\
    ld.param.u64 %rd1, [out];\nmov.u32 %r1, 7;\nst.global.u32 [%rd1], %r1;\nret;\n}\n";

#[test]
fn what_is_no_fault_and_worth_a_look_is_handed_on() {
    let device = sim();
    let module = device.load_ptx("equal-writes", EQUAL_WRITES).expect("it loads");
    let out = device.upload("out", &[0i32]).expect("room");
    let (geometry, args) = (Geometry::linear(2, 32), vec![Arg::Address(&out, 0)]);
    let call = Call { module: &module, kernel: "equal_writes", geometry, args };
    let report = device.launch(&call).expect("it runs");
    assert_eq!(report.faults, []);
    let notes: Vec<(&str, Option<&str>)> =
        report.notes.iter().map(|note| (note.kind.name(), note.variable.as_deref())).collect();
    assert_eq!(notes, [("equal-writes", Some("out"))]);
    assert_eq!(device.download(&out).expect("a copy"), [7]);
}

#[test]
fn arrays_are_given_back() {
    let device = sim();
    let module = naive(&device);
    let sums = device.alloc("sums", 1).expect("room");
    let gone = {
        let input = device.upload("input", &[1i32; 4]).expect("room");
        assert_eq!((input.name(), input.len(), input.bytes(), input.is_empty()), ("input", 4, 16, false));
        device::DeviceAddress::address(&input)
    };
    let mut call = interleaved(&module, &sums, 0, &sums, 4);
    call.args[0] = Arg::U64(gone);
    let report = device.launch(&call).expect("it starts");
    assert!(report.faults.iter().any(|fault| fault.code == Code::OutOfBounds), "{:?}", report.faults);
}

#[test]
fn arrays_come_back_as_they_went() {
    for device in devices() {
        let mut array = device.upload("doubles", &[1.5f64, -0.0, 3.0]).expect("room");
        device.write(&mut array, &[f64::INFINITY]).expect("one fits");
        assert_eq!(device.download(&array).expect("a copy"), [f64::INFINITY, -0.0, 3.0]);
        let message = device.write(&mut array, &[0.0; 4]).expect_err("four do not").to_string();
        assert_eq!(message, "doubles has room for 3, and 4 were to be copied");
        let empty = device.upload::<u8>("empty", &[]).expect("room for nothing");
        assert!(device.download(&empty).expect("nothing").is_empty());
    }
}

#[test]
fn an_array_that_no_memory_holds_is_an_error() {
    for device in devices() {
        let error = device.alloc::<f64>("huge", usize::MAX / 16).expect_err("no such memory");
        assert!(matches!(error, Error::OutOfMemory { .. } | Error::HostOutOfMemory { .. }), "{error}");
        assert!(error.to_string().starts_with("huge: no room"), "{error}");
    }
}

#[test]
fn the_simulator_never_gives_a_time_and_a_gpu_does() {
    for device in devices() {
        let module = naive(&device);
        let input = device.upload("input", &values(10_000)).expect("room");
        let sums = device.alloc("sums", 10_000usize.div_ceil(BLOCK as usize)).expect("room");
        let calls = vec![
            Timed::Launches(vec![interleaved(&module, &input, 0, &sums, 10_000)]),
            Timed::Launches(vec![interleaved(&module, &input, 0, &sums, 10_000)]),
        ];
        let timing = device.time(&calls, None, 9).expect("it runs");
        assert_eq!(timing.is_some(), device.is_gpu());
        if let Some(timing) = timing {
            assert_eq!((timing.replays, timing.calls), (9, 2));
            assert!(timing.min_us > 0.1 && timing.median_us < 1000.0, "{timing:?}");
            assert!(timing.min_us <= timing.median_us && timing.median_us <= timing.max_us, "{timing:?}");
        }
    }
}

#[test]
fn what_each_replay_left_is_kept_and_was_poisoned_and_restored_before() {
    for device in devices() {
        let (module, numbers) = (naive(&device), values(1000));
        let input = device.upload("input", &numbers).expect("room");
        let wrong = device.upload("wrong", &vec![7; 1000]).expect("room");
        let sums = device.alloc("sums", 8 + 1).expect("room");
        let graph = || Graph {
            calls: vec![Timed::Launches(vec![interleaved(&module, &wrong, 0, &sums, 1000)])],
            before: vec![Step::Fill(&sums, 0xff), Step::Copy { from: &input, to: &wrong, elements: 1000 }],
            output: Some(&sums),
        };
        let replayed = device.replay(&[graph(), graph()], &Replays::new(5, None)).expect("it runs");
        let mut expected = sums_of(&numbers);
        expected.push(-1); // never written
        for graph in &replayed {
            assert_eq!(graph.timing.is_some(), device.is_gpu());
            assert_eq!(graph.outputs.len(), if device.is_gpu() { 5 } else { 1 });
            assert!(graph.outputs.iter().all(|output| *output == expected), "{:?}", graph.outputs);
        }
        let too_long = Step::Copy { from: &input, to: &sums, elements: 10 };
        let error = device.replay(&[Graph { before: vec![too_long], ..graph() }], &Replays::new(5, None));
        assert_eq!(error.expect_err("nine fit").to_string(), "sums has room for 9, and 10 were to be copied");
        let nothing = device.replay(&[Graph::<i32>::of(Vec::new())], &Replays::new(5, None));
        assert!(matches!(nothing, Err(Error::NothingToTime)));
    }
}

#[test]
fn descriptions_say_what_was_taken_and_why() {
    let description = sim().description().clone();
    assert_eq!((description.kind, description.name.as_str()), ("sim", "simulator"));
    assert_eq!(description.why, "--device sim was asked for");
    assert_eq!((description.driver, description.memory_bytes), (None, None));

    let auto = Device::open(Choice::Auto, SimOptions::default()).expect("auto always opens");
    match Device::open(Choice::Gpu, SimOptions::default()) {
        Ok(gpu) => {
            assert!(auto.is_gpu() && gpu.is_gpu());
            assert!(gpu.description().arch.starts_with("sm_"), "{:?}", gpu.description());
            assert!(gpu.description().multiprocessors.is_some_and(|count| count > 0), "{:?}", gpu.description());
        }
        Err(error) => {
            let why = &auto.description().why;
            assert!(!auto.is_gpu() && why.ends_with(", so the simulator runs"), "{why}");
            assert!(error.to_string().starts_with("--device gpu cannot be had: "), "{error}");
            if matches!(&error, Error::GpuAskedFor { why } if matches!(**why, Error::NoDriver)) {
                assert_eq!(why, "no NVIDIA driver here (libcuda.so.1 was not found), so the simulator runs");
            }
        }
    }
}

#[test]
fn a_probe_opens_nothing_and_agrees_with_opening() {
    let probe = device::probe(repository());
    assert_eq!(probe.devices.is_ok(), Device::open(Choice::Gpu, SimOptions::default()).is_ok());
    if let Err(error) = &probe.driver {
        assert!(probe.devices.is_err(), "{error}");
    }
}

/// A kernel that a chapter's page shows beside its lesson.
fn aside_source(chapter: &str, name: &str) -> KernelSource {
    let folder = repository().join("chapters").join(chapter).join("asides");
    let file = |extension: &str| folder.join(format!("{name}.{extension}"));
    KernelSource { slug: name.to_owned(), cu: file("cu"), ptx: file("ptx") }
}

/// Returns its output for one launch whose blocks take `per_thread` elements a thread.
fn aside(device: &Device, chapter: &str, name: &str, per_thread: u32, shared_bytes: u32, n: u32) -> Vec<i32> {
    let module = device.load(&aside_source(chapter, name)).expect("the aside loads");
    let input = device.upload("input", &values(n)).expect("room");
    let blocks = n.div_ceil(BLOCK * per_thread);
    let sums = device.alloc("sums", blocks as usize).expect("room");
    let kernel = format!("{name}_i32");
    let geometry = Geometry::linear(blocks, BLOCK).with_shared_bytes(shared_bytes);
    let call = Call { kernel: &kernel, geometry, ..interleaved(&module, &input, 0, &sums, n) };
    assert_eq!(device.launch(&call).expect("it runs").faults, [], "{name}, {n} elements");
    device.download(&sums).expect("the sums")
}

#[test]
fn asides_of_the_pages_sum_their_slices() {
    for device in devices() {
        for (chapter, name, per_thread, shared_bytes) in
            [("ch03-sequential", "dynamic_shared", 1, 4 * BLOCK), ("ch05-unroll", "tile", 2, 0)]
        {
            for n in [1, 31, BLOCK - 1, BLOCK, 2 * BLOCK + 1, 10_007] {
                let slice = (BLOCK * per_thread) as usize;
                let sum = |slice: &[i32]| slice.iter().fold(0, |sum: i32, x| sum.wrapping_add(*x));
                let expected: Vec<i32> = values(n).chunks(slice).map(sum).collect();
                assert_eq!(
                    aside(&device, chapter, name, per_thread, shared_bytes, n),
                    expected,
                    "{name}, {n} elements"
                );
            }
        }
    }
}

#[test]
fn dynamic_shared_memory_that_was_not_requested_is_out_of_bounds() {
    let device = sim();
    let module = device.load(&aside_source("ch03-sequential", "dynamic_shared")).expect("the aside loads");
    let input = device.upload("input", &values(BLOCK)).expect("room");
    let sums = device.alloc::<i32>("sums", 1).expect("room");
    let call = Call { kernel: "dynamic_shared_i32", ..interleaved(&module, &input, 0, &sums, BLOCK) };
    let faults = device.launch(&call).expect("the simulator goes on").faults;
    assert_eq!(faults.first().map(|fault| fault.code), Some(Code::OutOfBounds));
}

/// `produce` lets the next launch begin, takes its time, and writes; `copy` waits, and copies what
/// it wrote.
const OVERLAPPING: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry produce(.param .u64 x, .param .u64 y)
{
    .reg .pred %early;
    .reg .b32 %i;
    .reg .b64 %x, %bytes, %start, %now;
    griddepcontrol.launch_dependents;
    mov.u64 %start, %clock64;
AGAIN:
    mov.u64 %now, %clock64;
    sub.u64 %now, %now, %start;
    setp.lt.u64 %early, %now, 5000;
    @%early bra AGAIN;
    mov.u32 %i, %tid.x;
    ld.param.u64 %x, [x];
    mul.wide.u32 %bytes, %i, 4;
    add.u64 %x, %x, %bytes;
    add.u32 %i, %i, 1;
    st.global.u32 [%x], %i;
    ret;
}
.visible .entry copy(.param .u64 x, .param .u64 y)
{
    .reg .b32 %i, %value;
    .reg .b64 %x, %y, %bytes;
    griddepcontrol.wait;
    mov.u32 %i, %tid.x;
    ld.param.u64 %x, [x];
    ld.param.u64 %y, [y];
    mul.wide.u32 %bytes, %i, 4;
    add.u64 %x, %x, %bytes;
    add.u64 %y, %y, %bytes;
    ld.global.u32 %value, [%x];
    st.global.u32 [%y], %value;
    ret;
}
";

/// 64 zeros in each of two arrays.
fn two_arrays(device: &Device) -> [Buffer<u32>; 2] {
    ["x", "y"].map(|name| device.upload(name, &[0u32; 64]).expect("room"))
}

/// A launch of one of the two kernels, which may begin before the one before it has ended.
fn overlapping<'a>(module: &'a Module, kernel: &'a str, [x, y]: &'a [Buffer<u32>; 2]) -> Call<'a> {
    let (geometry, args) = (Geometry::linear(1, 64), vec![Arg::Address(x, 0), Arg::Address(y, 0)]);
    Call { module, kernel, geometry: geometry.with_overlaps(kernel == "copy"), args }
}

#[test]
fn launches_that_overlap_and_wait_are_right_on_every_device() {
    for device in devices() {
        if device.compute_capability().is_some_and(|has| has < 90) {
            println!("skipped on {}: launches overlap from compute capability 9.0 on", device.description().name);
            continue;
        }
        let module = device.load_ptx("overlapping", OVERLAPPING).expect("PTX");
        let arrays = two_arrays(&device);
        let calls = ["produce", "copy"].map(|kernel| overlapping(&module, kernel, &arrays));
        let reports = device.launch_all(&calls).expect("they run");
        assert_eq!(device.download(&arrays[1]).expect("a copy"), (1..=64).collect::<Vec<u32>>());
        assert_eq!(reports.len(), 2, "a report for each");
        assert!(reports.iter().all(|report| report.faults.is_empty()), "{:?}", reports[1].faults);
        assert!(reports.iter().all(|report| report.counters.is_some() != device.is_gpu()));
    }
}

/// Each launch has its own faults and counters, and the one without a wait is reported.
#[test]
fn a_wait_that_is_missing_is_a_fault_of_the_launch_that_lacks_it() {
    let device = sim();
    let module = device.load_ptx("hasty", &OVERLAPPING.replace("griddepcontrol.wait;", "")).expect("PTX");
    let older = OVERLAPPING.replace("griddepcontrol.wait;", "").replace("griddepcontrol.launch_dependents;", "");
    let older = device.load_ptx("older", &older.replace("sm_90", "sm_80")).expect("PTX");
    let arrays = two_arrays(&device);
    let codes = |module, overlaps: bool| -> Vec<Vec<Code>> {
        let mut calls = ["produce", "copy"].map(|kernel| overlapping(module, kernel, &arrays));
        calls[1].geometry.overlaps = overlaps;
        let reports = device.launch_all(&calls).expect("they run");
        reports.iter().map(|report| report.faults.iter().map(|fault| fault.code).collect()).collect()
    };
    assert_eq!(codes(&module, true), [vec![], vec![Code::GlobalRace]]);
    assert_eq!(codes(&module, false), [vec![], vec![]]);
    assert_eq!(codes(&older, true), [vec![], vec![]], "code for older targets does not overlap");
}

#[test]
fn a_launch_of_several_that_cannot_start_is_named_with_its_geometry() {
    let device = sim();
    let module = device.load_ptx("overlapping", OVERLAPPING).expect("PTX");
    let arrays = two_arrays(&device);
    let mut calls = ["produce", "copy"].map(|kernel| overlapping(&module, kernel, &arrays));
    calls[1].geometry.shared_bytes = 1 << 20;
    let said = device.launch_all(&calls).expect_err("too much shared memory").to_string();
    assert!(said.starts_with("copy cannot be simulated as") && said.contains("1048576 bytes"), "{said}");
}
