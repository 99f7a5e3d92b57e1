//! The number of host threads changes nothing: the same launch under the same schedule leaves the same memory, counters,
//! faults, trace and printed text, bit for bit, with 1 to 8 of them.
//!
//! The kernels are those where it could: blocks that wait for each other, take tickets and locks, add floats in the order
//! in which they come, meet at a barrier of the grid, form clusters, print, race, or end the launch in its middle.

use simt::{Kernel, Launch, Memory, Options, Outcome, Schedule};

use crate::host;

const SCHEDULES: [Schedule; 6] = [
    Schedule::Lockstep,
    Schedule::Independent { seed: None },
    Schedule::Independent { seed: Some(1) },
    Schedule::Independent { seed: Some(2) },
    Schedule::Independent { seed: Some(77) },
    Schedule::IndependentFrom { seed: 7, line: 9 },
];

/// Argument of a launch: the contents of a buffer of four-byte elements before it, or a scalar.
#[derive(Clone, Copy)]
enum Arg {
    /// Only so many elements are written before the launch, of as many.
    Written(u32, u32),
    Zeros(u32),
    Hashed(u32),
    Number(u32),
}

use Arg::{Hashed, Number, Written, Zeros};

/// One launch of a kernel of the tests' folder.
struct Case {
    file: &'static str,
    kernel: &'static str,
    grid: u32,
    block: u32,
    cooperative: bool,
    cluster: Option<[u32; 3]>,
    shared_bytes: u32,
    args: &'static [Arg],
    /// True if there are faults to be found.
    is_faulty: bool,
}

const fn case(file: &'static str, kernel: &'static str, grid: u32, block: u32, args: &'static [Arg]) -> Case {
    Case { file, kernel, grid, block, cooperative: false, cluster: None, shared_bytes: 0, args, is_faulty: false }
}

const fn faulty(file: &'static str, kernel: &'static str, grid: u32, block: u32, args: &'static [Arg]) -> Case {
    Case { is_faulty: true, ..case(file, kernel, grid, block, args) }
}

const CASES: [Case; 14] = [
    case("gpu/flag_chain.ptx", "flag_chain", 40, 32, &[Zeros(201), Zeros(201)]),
    case("gpu/locks_between_blocks.ptx", "locks_between_blocks", 24, 32, &[Zeros(1), Zeros(2), Zeros(2)]),
    case(
        "gpu/last_block_ticket.ptx",
        "last_block_ticket",
        150,
        64,
        &[Hashed(30_000), Zeros(150), Zeros(1), Zeros(2), Number(29_999)],
    ),
    Case { cooperative: true, ..case("gpu/grid_sync.ptx", "grid_sync", 3, 96, &[Hashed(288), Zeros(288), Zeros(4)]) },
    Case {
        cluster: Some([4, 1, 1]),
        shared_bytes: 256,
        ..case("gpu/cluster_histogram.ptx", "cluster_histogram", 8, 128, &[Hashed(8192), Zeros(256)])
    },
    case("gpu/look_back.ptx", "look_back", 60, 64, &[Hashed(3840), Zeros(3840), Zeros(120)]),
    case("gpu/print_lanes.ptx", "print_lanes", 60, 64, &[Zeros(3840)]),
    faulty("fail/global-race/neighbours_element.ptx", "smooth", 60, 32, &[Hashed(1921)]),
    faulty(
        "fail/global-race/last_block_without_fence.ptx",
        "last_block",
        20,
        32,
        &[Hashed(640), Zeros(20), Zeros(1), Zeros(1)],
    ),
    faulty("fail/shared-race/missing_syncthreads.ptx", "block_sum", 60, 128, &[Hashed(128), Zeros(1)]),
    faulty("fail/out-of-bounds/grid_rounded_up.ptx", "add_one", 60, 64, &[Hashed(1500)]),
    faulty("pass/structure_there_and_back.ptx", "holes", 60, 32, &[Written(0, 7680), Zeros(1920)]),
    faulty("fail/uninitialised-read/result_that_is_a_copy.ptx", "copy", 60, 32, &[Written(12, 32), Zeros(32)]),
    case(IN_ORDER, "in_order", 60, 64, &[Zeros(1), Zeros(1), Zeros(3840)]),
];

/// Not a file: [`IN_ORDER_PTX`].
const IN_ORDER: &str = "in_order";

/// Adds 1 / (i + 1) to a float, whose last bits tell in which order, and writes i where its ticket says.
const IN_ORDER_PTX: &str = r"
.version 8.0
.target sm_80
.address_size 64
.visible .entry in_order(.param .u64 sum, .param .u64 ticket, .param .u64 places)
{
    .reg .b32 %i, %block, %t;
    .reg .f32 %x;
    .reg .b64 %sum, %ticket, %places, %bytes;
    mov.u32 %i, %tid.x;
    mov.u32 %block, %ctaid.x;
    mad.lo.s32 %i, %block, 64, %i;
    cvt.rn.f32.u32 %x, %i;
    add.f32 %x, %x, 0f3f800000;
    rcp.rn.f32 %x, %x;
    ld.param.u64 %sum, [sum];
    red.global.add.f32 [%sum], %x;
    ld.param.u64 %ticket, [ticket];
    atom.global.add.u32 %t, [%ticket], 1;
    ld.param.u64 %places, [places];
    mul.wide.u32 %bytes, %t, 4;
    add.u64 %places, %places, %bytes;
    st.global.u32 [%places], %i;
    ret;
}
";

impl Case {
    fn load(&self) -> Kernel {
        let text = if self.file == IN_ORDER { IN_ORDER_PTX.to_owned() } else { host::read(self.file) };
        host::kernel(self.file, &text, self.kernel)
    }

    /// The outcome, and what the buffers hold.
    fn run(&self, kernel: &Kernel, schedule: Schedule, threads: usize) -> (Outcome, Vec<Vec<u32>>) {
        let mut memory = Memory::new();
        let mut buffers = Vec::new();
        let mut args = Vec::new();
        for (place, &arg) in self.args.iter().enumerate() {
            let name = format!("buffer{place}");
            let (address, len) = match arg {
                Number(value) => {
                    args.push(value.into());
                    continue;
                }
                Written(n, all) => {
                    let address = memory.alloc(&name, 4 * u64::from(all), 4).expect("room for it");
                    memory.write(address, &vec![0; 4 * n as usize]).expect("the buffer is as long");
                    (address, all)
                }
                Zeros(n) => (host::buffer(&mut memory, &name, &vec![0; n as usize]), n),
                Hashed(n) => (host::buffer(&mut memory, &name, &(0..n).map(host::hash8).collect::<Vec<_>>()), n),
            };
            args.push(simt::Arg::Address(address));
            buffers.push((address, len));
        }
        let launch = Launch {
            grid: [self.grid, 1, 1],
            block: [self.block, 1, 1],
            shared_bytes: self.shared_bytes,
            cooperative: self.cooperative,
            cluster: self.cluster,
            device: 0,
            args,
        };
        let trace = Some(simt::trace::Options { blocks: 20, steps_per_block_max: 60, ..Default::default() });
        let options = Options { schedule, threads, trace, ..Options::default() };
        let outcome = simt::run(kernel, &mut memory, &launch, &options).expect("a launch that can start");
        let left = buffers.iter().map(|&(address, len)| host::words(&memory, address, len as usize)).collect();
        (outcome, left)
    }
}

#[test]
fn host_threads_change_nothing() {
    for case in &CASES {
        let kernel = case.load();
        for schedule in SCHEDULES {
            let (one, left) = case.run(&kernel, schedule, 1);
            let what = format!("{} under {schedule}", case.kernel);
            // Lanes in lockstep make up for some mistakes.
            assert!(case.is_faulty || one.faults.is_empty(), "{what}: {:?}", one.faults);
            assert!(!case.is_faulty || !one.faults.is_empty() || schedule == Schedule::Lockstep, "{what}: no faults");
            assert!(
                one.trace.as_ref().is_some_and(|trace| trace.steps.len() > 20),
                "{what}: a trace of next to nothing"
            );
            for threads in 2..=8 {
                let (other, other_left) = case.run(&kernel, schedule, threads);
                let what = format!("{what} with {threads} threads");
                assert!(other_left == left, "{what}: memory differs");
                assert_eq!(other.counters, one.counters, "{what}");
                assert_eq!(other.lines, one.lines, "{what}");
                assert_eq!(other.faults, one.faults, "{what}");
                assert!(other.trace == one.trace, "{what}: the trace differs");
                assert_eq!((other.printed, other.prints_dropped), (one.printed.clone(), one.prints_dropped), "{what}");
            }
        }
    }
}

/// Were the order of everything fixed, the test above would have nothing to see.
#[test]
fn the_order_shows_in_what_is_compared() {
    let case = CASES.iter().find(|case| case.file == IN_ORDER).expect("it is in the list");
    let kernel = case.load();
    let left = |schedule| case.run(&kernel, schedule, 1).1;
    let (plain, seeded) = (left(Schedule::Independent { seed: None }), left(Schedule::Independent { seed: Some(1) }));
    assert_ne!(plain[0], seeded[0], "the last bits of the sum");
    assert_ne!(plain[2], seeded[2], "the places");
    assert_eq!(plain[1], seeded[1], "the number of tickets");
}
