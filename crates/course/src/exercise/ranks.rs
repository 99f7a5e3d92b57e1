//! Kernels that run on several ranks at once, each on a device of its own, and wait for each other: their launches on the
//! simulator, and the cases that they are tried with.
//!
//! Such a kernel takes what [`SIGNATURE`] says, where `Ranks` and `Flags` hold an address on each of up to eight ranks. It is
//! launched [`CALLS`] times on each rank, always with the same arrays, and no rank waits for another one but in the kernel.
//! Between the calls another kernel of the rank writes its `in` and reads its `out`, as a program would: so a peer that reads
//! too early, or a result that is not whole when its kernel ends, shows.

use anyhow::Result;
use device::{Arg, Buffer, Call, DeviceAddress, Fault, Geometry, Module, Peers, Report, SimOptions};
use lab::Value;
use lab::element::Element;
use lab::input::split_mix;
use reduction::RANKS_MAX;

use super::case::{Case, schedules};
use super::write::Exercise;

/// Calls in a row: the first half of the staging array is used again in the third.
pub(super) const CALLS: u32 = 3;
/// Name of the kernel that hands numbers over, as findings show it.
pub(super) const BETWEEN: &str = "between-calls.cu";
/// Copies words of 32 bits within the memory of a rank, by a block of 128 threads.
const HAND_OVER: &str = r#"
.version 7.0
.target sm_80
.address_size 64
.file 1 "between-calls.cu"
.visible .entry hand_over(.param .u64 from, .param .u64 to, .param .u32 words)
{
    .reg .pred %p;
    .reg .b32 %i, %word, %words;
    .reg .b64 %from, %to, %at;
    ld.param.u64 %from, [from];
    ld.param.u64 %to, [to];
    ld.param.u32 %words, [words];
    mov.u32 %i, %tid.x;
$next:
    setp.ge.u32 %p, %i, %words;
    @%p bra $done;
    mul.wide.u32 %at, %i, 4;
    add.s64 %at, %from, %at;
    .loc 1 1 0
    ld.global.u32 %word, [%at];
    sub.s64 %at, %at, %from;
    add.s64 %at, %to, %at;
    st.global.u32 [%at], %word;
    add.u32 %i, %i, 128;
    bra $next;
$done:
    ret;
}
"#;
/// Bytes of each parameter.
pub(super) const PARAMETERS: [u32; 8] = [64, 64, 64, 64, 4, 4, 4, 4];
/// The parameters in words.
pub(super) const SIGNATURE: &str = "Ranks in, Ranks out, Ranks stage, Flags flags, unsigned int rank, unsigned int ranks, \
                                    unsigned int n, unsigned int call";
/// Random orders that are tried besides the two schedules without a seed.
const SEEDS: u64 = 4;
/// Sizes that floats are drawn in: sums of such numbers are rounded, and differ by their order.
const SIZES: [f64; 3] = [1.0, 1e-4, 3e3];

/// A kernel, and the launches to make of it.
pub(super) struct Job<'a> {
    /// Its module, of any simulated device.
    pub(super) module: &'a Module,
    /// Its name.
    pub(super) kernel: &'a str,
    /// Blocks of each launch.
    pub(super) grid: u32,
    /// Threads of each block.
    pub(super) block: u32,
    /// Ranks.
    pub(super) ranks: u32,
    /// Elements of each array.
    pub(super) n: u64,
}

/// One element of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Number of the call, from 1 on.
    pub call: u32,
    /// Rank that has it.
    pub rank: u32,
    /// Its index.
    pub index: u64,
}

impl Place {
    /// `in element 7 of rank 2, in its first call`
    pub(super) fn words(self) -> String {
        let Place { call, rank, index } = self;
        let call = ["first", "second", "third"].get(call as usize - 1).copied().unwrap_or("last");
        format!("in element {index} of rank {rank}, in its {call} call")
    }
}

/// Outcome of all calls.
#[derive(Debug)]
pub struct Ran {
    /// The first element that is wrong; `None` if all are right.
    pub place: Option<Place>,
    /// Its value, or else that of the first element of all.
    pub result: Value,
    /// The sum in the order of ranks.
    pub expected: Value,
    /// Reports by rank and call.
    pub reports: Vec<Vec<Report>>,
    /// Findings of the kernels between the calls.
    pub between: Vec<Fault>,
}

/// Makes all calls on all ranks at once. `element` is the number of a call, from 0 on, a rank and an index.
///
/// # Errors
/// A launch that cannot start, or memory that does not suffice.
pub(super) fn run<T: Element>(job: &Job<'_>, options: SimOptions, element: impl Fn(u32, u32, u64) -> T) -> Result<Ran> {
    let Job { ranks, n, grid, .. } = *job;
    let peers = Peers::simulated(ranks, options)?;
    let zeros = |name, words| upload(&peers, name, |_| vec![T::from_f64(0.0); words as usize]);
    let numbers = |call| upload(&peers, "numbers", |rank| (0..n).map(|i| element(call, rank, i)).collect::<Vec<T>>());
    let numbers = (0..CALLS).map(numbers).collect::<Result<Vec<_>>>()?;
    let results = (0..CALLS).map(|_| zeros("results", n)).collect::<Result<Vec<_>>>()?;
    let (input, out, stage) = (zeros("in", n)?, zeros("out", n)?, zeros("stage", 2 * (n + u64::from(RANKS_MAX)))?);
    let flags = upload(&peers, "flags", |_| vec![0u32; (RANKS_MAX * grid) as usize])?;
    let hand_over = peers.devices()[0].load_ptx(BETWEEN, HAND_OVER)?;

    let kernel = |call: u32, rank: u32| {
        let arrays = [addresses(&input), addresses(&out), addresses(&stage), addresses(&flags)];
        let numbers = [rank, ranks, n as u32, call + 1].map(Arg::U32);
        let args = arrays.map(Arg::Words).into_iter().chain(numbers).collect();
        Call { module: job.module, kernel: job.kernel, geometry: Geometry::linear(grid, job.block), args }
    };
    let handed = |from: &Buffer<T>, to: &Buffer<T>| {
        let args = vec![Arg::U64(from.address()), Arg::U64(to.address()), Arg::U32(n as u32)];
        Call { module: &hand_over, kernel: "hand_over", geometry: Geometry::linear(1, 128), args }
    };
    let of_call = |(call, rank): (u32, u32)| {
        let (at, number) = (rank as usize, call as usize);
        [handed(&numbers[number][at], &input[at]), kernel(call, rank), handed(&out[at], &results[number][at])]
    };
    let of_rank = |rank| (0..CALLS).flat_map(|call| of_call((call, rank))).collect();
    let launched = peers.launch(&(0..ranks).map(of_rank).collect::<Vec<Vec<Call<'_>>>>())?;

    let expected = |call, i| (1..ranks).fold(element(call, 0, i), |sum, rank| added(sum, element(call, rank, i)));
    let wrong = first_wrong(&peers, &results, expected)?;
    let place = wrong.map(|(place, _)| place);
    let (call, index) = place.map_or((0, 0), |place| (place.call - 1, place.index));
    let expected = if n > 0 { expected(call, index).value() } else { Value::zero(T::TYPE) };
    let result = wrong.map_or(expected, |(_, result)| result.value());
    let (reports, between) = apart(launched);
    Ok(Ran { place, result, expected, reports, between })
}

/// Place of the first result that is not the expected one, and what is there.
fn first_wrong<T: Element>(
    peers: &Peers,
    results: &[Vec<Buffer<T>>],
    expected: impl Fn(u32, u64) -> T,
) -> Result<Option<(Place, T)>> {
    for (call, results) in (0..).zip(results) {
        for ((rank, device), result) in (0..).zip(peers.devices()).zip(results) {
            let left = device.download(result)?;
            let wrong = (0..).zip(left).find(|&(i, result)| result.le() != expected(call, i).le());
            if let Some((index, result)) = wrong {
                return Ok(Some((Place { call: call + 1, rank, index }, result)));
            }
        }
    }
    Ok(None)
}

/// The reports of the kernel by rank and call, and the findings of what ran before and behind it.
fn apart(launched: Vec<Vec<Report>>) -> (Vec<Vec<Report>>, Vec<Fault>) {
    let mut between = Vec::new();
    let mut of_rank = |launched: Vec<Report>| {
        let mut calls = Vec::new();
        for (at, report) in launched.into_iter().enumerate() {
            if at % 3 == 1 {
                calls.push(report);
            } else {
                simt::fault::fold(&mut between, report.faults);
            }
        }
        calls
    };
    (launched.into_iter().map(&mut of_rank).collect(), between)
}

/// Numbers that all calls take on so many ranks.
pub(super) fn numbers(ranks: u32, n: u64) -> u64 {
    u64::from(CALLS * ranks) * n
}

/// A random number of a case, of any sign.
pub(super) fn random<T: Element>(call: u32, rank: u32, i: u64) -> T {
    let bits = split_mix(u64::from(call << 8 | rank), i);
    let element = T::from_random(bits);
    let scale = SIZES[(bits % 3) as usize];
    if T::TYPE.is_float() { T::from_f64(element.value().to_f64() * scale) } else { element }
}

/// The sum of two, which wraps or is rounded.
fn added<T: Element>(a: T, b: T) -> T {
    T::from_f64(match (a.value(), b.value()) {
        (Value::I32(a), Value::I32(b)) => a.wrapping_add(b).into(),
        (a, b) => (a.to_f64() as f32 + b.to_f64() as f32).into(),
    })
}

/// An array on each rank.
fn upload<T: device::Scalar>(peers: &Peers, name: &str, values: impl Fn(u32) -> Vec<T>) -> Result<Vec<Buffer<T>>> {
    let each = (0..).zip(peers.devices());
    each.map(|(rank, device)| Ok(device.upload(name, &values(rank))?)).collect()
}

/// The words of a `Ranks`.
fn addresses<T: device::Scalar>(buffers: &[Buffer<T>]) -> Vec<u64> {
    let addresses = buffers.iter().map(Buffer::address).chain(std::iter::repeat(0));
    addresses.take(RANKS_MAX as usize).collect()
}

/// Every number of ranks, block, type and size, small ones first, and nothing to add last.
pub(super) fn sums(exercise: &Exercise) -> Vec<Case> {
    let mut cases = Vec::new();
    for &block in &exercise.blocks {
        let full = exercise.elements_per_block(block);
        for n in [1, 3, 31, 33, full, full + 1, 2 * full + 33, 0] {
            cases.extend(each(exercise, n, block));
        }
    }
    cases.sort_by_key(|case| (case.n == 0, case.n, case.ranks, case.block));
    cases
}

/// A few elements, and several blocks of them, under other schedules.
pub(super) fn scheduled(exercise: &Exercise) -> Vec<Case> {
    let mut cases = Vec::new();
    for &block in &exercise.blocks {
        for n in [5, exercise.elements_per_block(block) + 33] {
            let each = each(exercise, n, block);
            cases.extend(each.flat_map(|case| schedules(SEEDS).map(move |schedule| Case { schedule, ..case })));
        }
    }
    cases
}

/// A case for each number of ranks and type.
fn each(exercise: &Exercise, n: u64, block: u32) -> impl Iterator<Item = Case> {
    let of_ranks = move |&ranks| exercise.types.iter().map(move |&ty| on(ranks, Case::new(ty, n, block)));
    exercise.ranks.iter().flat_map(of_ranks)
}

/// The case on so many ranks.
pub(super) fn on(ranks: u32, case: Case) -> Case {
    Case { ranks: Some(ranks), ..case }
}

#[cfg(test)]
mod tests {
    use crate::exercise::asked::Asked;
    use crate::exercise::{catalogue, judge, report};
    use crate::lessons::OVER_DEVICES;
    use crate::workspace;

    /// Words of the judge about a committed kernel of an exercise.
    fn said(id: &str, kernel: &str) -> String {
        let (exercise, text, ptx) = catalogue::committed(id, kernel);
        let verdict = judge::judge(&exercise, "my.cu", &ptx).unwrap();
        let said = report::verdict(&verdict, &workspace::root().unwrap(), "my.cu", &text);
        said.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_verdict_names_the_ranks_the_call_and_the_element() {
        for (id, kernel, words) in [
            ("meet-twice", "wrong/meet-twice-one-word", "fails first at n = 65 on 2 ranks, 64 threads a block, i32"),
            ("meet-twice", "wrong/meet-twice-equal", "error[deadlock]: waits in a loop for flags[1] of device 0"),
            (
                "meet-twice",
                "wrong/meet-twice-rank-zero",
                "rank 0 counts 12,096 in a call, allowed at most 256, at n = 1,000",
            ),
            ("two-shots", "wrong/two-shots-rounded-down", "in element 0 of rank 0, in its first call: 0 where "),
            ("two-shots", "wrong/two-shots-own-first", " is right, the sum in the order of ranks"),
            ("two-shots", "wrong/two-shots-one-meeting", "error[global-race]: reads out["),
            ("two-shots", "wrong/two-shots-one-warp", "on rank 0 warp 1 of block 0 loads 0 bytes, not 1,024"),
        ] {
            let said = said(id, kernel);
            assert!(said.contains(words), "{kernel}: {words}: {said}");
        }
    }

    #[test]
    fn a_number_over_ranks_is_that_of_one_call() {
        let root = workspace::root().unwrap();
        let asked = |text: &str| toml::from_str::<Asked>(text).unwrap();
        let run = asked("variant = 'one_shot_push'\nn = 64\nranks = 3\ntype = 'f32'\nasks = 'ptx_peer_st_bytes'");
        run.check().unwrap();
        assert_eq!(
            run.count(OVER_DEVICES, &root).unwrap(),
            2 * (64 * 4 + 8),
            "the array and a flag to each of two peers"
        );
        let command = "cargo run --release -p ch14-all-reduce -- --device sim --ranks 3 --n 64 --variant one_shot_push";
        assert_eq!(run.command(OVER_DEVICES).as_deref(), Some(command));
        let line = Asked { line: Some("[slot + i] = own;".to_owned()), ..run.clone() };
        assert_eq!(line.count(OVER_DEVICES, &root).unwrap(), 2 * 64 * 4);
        let result = "variant = 'two_shot_push'\nn = 1\nranks = 3\ntype = 'f32'\ninput = [4, 5, 6]\nasks = 'result'";
        assert_eq!(asked(result).count(OVER_DEVICES, &root).unwrap(), 15);
        let refused = |run: &Asked, slug: &str| format!("{:#}", run.count(slug, &root).unwrap_err());
        assert!(refused(&run, "ch01-naive").contains("ch01-naive runs on one device: leave ranks out"));
        let unknown = Asked { variant: "three_shots".to_owned(), ..run.clone() };
        assert!(refused(&unknown, OVER_DEVICES).contains("ch14-all-reduce has no kernel `three_shots`"));
        let many = Asked { n: Some(2), asks: "result".to_owned(), ..run.clone() };
        assert!(refused(&many, OVER_DEVICES).contains("ask for the result of one element"));
        for wrong in [Asked { ranks: Some(9), ..run.clone() }, Asked { block: Some(32), ..run }] {
            assert!(wrong.check().unwrap_err().to_string().contains("ranks"));
        }
    }

    const SMALL: &str = r#"
        [[exercise]]
        kind = "write"
        id = "meet"
        title = "t"
        question = "q"
        hints = ["h"]
        blocks = [64]
        types = ["f32"]
        ranks = [2, 3]

        [[exercise.goal]]
        name = "few"
        say = "s"
        counters = ["ptx_peer_st_bytes"]
        at_most = 8
        n = 5

        [[exercise]]
        kind = "choose"
        id = "which"
        title = "t"
        question = "q"
        hints = ["h"]
        kernel = "__global__ void sum(Ranks in) { ____ }"
        n = [8]
        block = 32
        ranks = [2]
        option = [{ code = ["a"], gives = "right", why = "w" }, { code = ["b"], gives = "deadlock", why = "w" }]
    "#;

    #[test]
    fn what_is_impossible_is_named() {
        let items = catalogue::parse(SMALL, "c").unwrap();
        assert!(items.iter().all(|item| item.is_on_ranks() && !item.has_lab()));
        let one =
            crate::exercise::scene::of(&workspace::root().unwrap(), &items[0]).err().map(|error| error.to_string());
        assert!(one.unwrap_or_default().contains("shows one device, and this runs on several"));
        catalogue::refuses(
            SMALL,
            &[
                ("ranks = [2, 3]", "ranks = [1, 3]", "meet: ranks are 2 to 8"),
                ("\"f32\"", "\"f64\"", "meet: ranks add i32 or f32"),
                ("ranks = [2, 3]", "ranks = [2, 3]\nlaunches = \"twice\"", "leave launches, state_words"),
                ("        n = 5\n", "", "over ranks give n"),
                ("n = 5", "n = 5\nranks = 9", "goal few: ranks are 2 to 8"),
                ("ranks = [2]", "ranks = [9]", "which: ranks are 2 to 8"),
                ("ranks = [2]", "ranks = [2]\nadds = true", "leave shapes, adds"),
                ("ranks = [2]", "ranks = [2]\ninput = [1, 2, 3]", "`input` has too few numbers"),
            ],
        );
        let alone = SMALL.replace("ranks = [2, 3]", "").replace("n = 5", "n = 5\nranks = 2");
        let error = format!("{:#}", catalogue::parse(&alone, "c").unwrap_err());
        assert!(error.contains("a goal with ranks, and the exercise has none"), "{error}");
    }
}
