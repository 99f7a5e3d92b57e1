//! All-reduce over the GPUs of this machine, where there are several. On the simulator `device`'s tests run the same kernels by the same
//! launches.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use half::bf16;
use lab::element::Element;
use reduction::{Error, Exact, Op, Ranks, Reducer, Role, Route, Type};

use crate::exact::Stream;
use crate::trial::on_gpu;

/// Longest arrays that are drawn.
const MOST: usize = 70_000;
/// Bytes whose clearing holds a rank back.
const DELAY_BYTES: usize = 32 << 20;

/// One stream a GPU, if there are several.
fn streams() -> Option<Vec<Arc<CudaStream>>> {
    let count = if on_gpu() { CudaContext::device_count().expect("a driver that counts") } else { 0 };
    if count < 2 {
        println!("skipped: it wants several GPUs, and REDUCTION_ON_GPU");
        return None;
    }
    let stream = |device| CudaContext::new(device).and_then(|context| context.new_stream()).expect("a stream");
    Some((0..count as usize).map(stream).collect())
}

/// An element of any size and sign; now and then a NaN.
fn element<T: Element>(draw: &mut Stream) -> T {
    let bits = draw.next();
    let scale = [1.0, 1e-4, 3e3, f32::NAN][if bits.is_multiple_of(4096) { 3 } else { (bits >> 20) as usize % 3 }];
    T::from_f64((((bits >> 32) as f32 / 4_294_967_296.0 - 0.5) * scale).into())
}

fn to_f32<T: Element>(element: T) -> f32 {
    element.value().to_f64() as f32
}

/// Element by element in the order of ranks, rounded once.
fn expected<T: Element>(op: Op, arrays: &[Vec<T>]) -> Vec<T> {
    let combine = |a: f32, b: f32| match op {
        Op::Sum => a + b,
        _ if a.is_nan() || b.is_nan() => f32::NAN,
        _ => a.max(b),
    };
    let of = |i: usize| arrays.iter().map(|array: &Vec<T>| to_f32(array[i])).reduce(combine).expect("a rank");
    (0..arrays[0].len()).map(|i| T::from_f64(of(i).into())).collect()
}

/// Ranks of one operation and type, with what holds them back.
struct Trial<'a> {
    streams: &'a [Arc<CudaStream>],
    ranks: Ranks,
    delays: Vec<CudaSlice<u8>>,
}

impl Trial<'_> {
    /// One call of a random length, route, place and order of start.
    fn call<T: Element + reduction::Element>(&mut self, draw: &mut Stream) {
        let most = 1 << (1 + draw.below(17));
        let n = draw.below(most).min(MOST);
        let route = Route::ALL.get(draw.below(Route::ALL.len() + 1)).copied();
        // Each rank's array may begin at another place than the others'.
        let (begin, step) = (draw.below(4), draw.below(2));
        let range = |rank: usize| {
            let begin = (begin + step * rank) % 4;
            begin..begin + n
        };
        let op = self.ranks.group().op();
        let values: Vec<Vec<T>> = self.streams.iter().map(|_| (0..n).map(|_| element(draw)).collect()).collect();
        let upload = |(rank, stream): (usize, &Arc<CudaStream>)| {
            let around = vec![T::from_f64(7.0); 4];
            let all = [&around[..range(rank).start], &values[rank], &around].concat();
            stream.clone_htod(&all).expect("memory")
        };
        let mut inputs: Vec<CudaSlice<T>> = self.streams.iter().enumerate().map(upload).collect();
        let mut apart = inputs.clone();
        let late = draw.below(2 * self.streams.len());
        if let Some(delay) = self.delays.get_mut(late) {
            self.streams[late].memset_zeros(delay).expect("a clearing");
        }
        let in_place = draw.below(2) == 0;
        let views: Vec<_> = inputs.iter().enumerate().map(|(rank, input)| input.slice(range(rank))).collect();
        let done = if in_place {
            drop(views);
            let mut outs: Vec<_> =
                inputs.iter_mut().enumerate().map(|(rank, out)| out.slice_mut(range(rank))).collect();
            self.ranks.all_reduce_in_place(route, &mut outs.iter_mut().collect::<Vec<_>>())
        } else {
            let mut outs: Vec<_> = apart.iter_mut().enumerate().map(|(rank, out)| out.slice_mut(range(rank))).collect();
            self.ranks.all_reduce(route, &views.iter().collect::<Vec<_>>(), &mut outs.iter_mut().collect::<Vec<_>>())
        };
        done.expect("operands that are right");
        let expected = expected(op, &values);
        let ty = self.ranks.group().ty();
        let what = format!("{op} of {n} {ty} by {route:?} from {begin} on, {step} more a rank, in place {in_place}");
        for (rank, stream) in self.streams.iter().enumerate() {
            let left = stream.clone_dtoh(&if in_place { &inputs } else { &apart }[rank]).expect("a copy");
            let is_right = |(a, b): (&T, &T)| a.le() == b.le() || to_f32(*a).is_nan() && to_f32(*b).is_nan();
            let right = left[range(rank)].iter().zip(&expected).all(is_right);
            assert!(right, "{what}: rank {rank} has another result");
            let mut around = left[..range(rank).start].iter().chain(&left[range(rank).end..]);
            assert!(around.all(|&x| to_f32(x) == 7.0), "{what}: rank {rank} wrote beside its results");
        }
    }
}

/// `RANKS_CALLS` in the environment is how many calls, by default 400.
#[test]
fn any_array_by_any_route() {
    let Some(streams) = streams() else { return };
    let calls: u64 = std::env::var("RANKS_CALLS").map_or(400, |calls| calls.parse().expect("a number of calls"));
    let trial = |op, ty| Trial {
        streams: &streams,
        ranks: Ranks::new(op, ty, MOST as u64, &streams).expect("GPUs that reach each other"),
        delays: streams.iter().map(|stream| stream.alloc_zeros(DELAY_BYTES).expect("memory")).collect(),
    };
    let mut floats = [Op::Sum, Op::Maximum].map(|op| trial(op, Type::F32));
    let mut halves = [Op::Sum, Op::Maximum].map(|op| trial(op, Type::BF16));
    let mut draw = Stream(14);
    for call in 0..calls as usize {
        match call % 4 {
            at @ (0 | 1) => floats[at].call::<f32>(&mut draw),
            at => halves[at - 2].call::<bf16>(&mut draw),
        }
    }
}

/// A graph of calls may be replayed: they are counted on the devices.
#[test]
fn graphs_are_replayed() {
    let Some(streams) = streams() else { return };
    let mut ranks = Ranks::new(Op::Sum, Type::F32, 1000, &streams).expect("GPUs that reach each other");
    let mut arrays: Vec<CudaSlice<f32>> =
        streams.iter().map(|stream| stream.clone_htod(&vec![1.0; 1000]).expect("memory")).collect();
    for stream in &streams {
        stream.synchronize().expect("nothing went wrong");
        let mode = cudarc::driver::sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: each array is used on its rank's stream alone, or by kernels that wait for each other.
        unsafe { stream.context().disable_event_tracking() };
        stream.begin_capture(mode).expect("a capture");
    }
    for route in Route::ALL {
        ranks.all_reduce_in_place(route, &mut arrays.iter_mut().collect::<Vec<_>>()).expect("operands that are right");
    }
    let end = |stream: &Arc<CudaStream>| {
        let flags = cudarc::driver::sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        stream.end_capture(flags).expect("a capture").expect("a graph")
    };
    let graphs: Vec<_> = streams.iter().map(end).collect();
    for _ in 0..3 {
        graphs.iter().for_each(|graph| graph.launch().expect("a launch"));
    }
    let all = (streams.len() as f32).powi(15);
    for (stream, array) in streams.iter().zip(&arrays) {
        assert_eq!(stream.clone_dtoh(array).expect("a copy"), vec![all; 1000]);
        // SAFETY: as above.
        unsafe { stream.context().enable_event_tracking() };
    }
}

/// The exact sum of an array is the same on one GPU as that of its parts on all, which meet as limbs.
#[test]
fn exact_parts_on_several_gpus() -> Result<(), Box<dyn std::error::Error>> {
    let Some(streams) = streams() else { return Ok(()) };
    let mut draw = Stream(2);
    let finite = |bits: u64| Some(f32::from_bits(bits as u32)).filter(|x| x.is_finite() && x.abs() < 1e30);
    let values: Vec<f32> = (0..1_000_003).map(|_| finite(draw.next()).unwrap_or(1.0)).collect();
    let words = |values: &[f32], rank: usize| -> Result<(Exact, Vec<u32>), Box<dyn std::error::Error>> {
        let (stream, exact) = (&streams[rank], Exact::new(Op::Sum, Type::F32, values.len() as u64).with_limbs());
        let reducer = Reducer::new(stream.context())?.without_compiler();
        let plan = reducer.prepare(exact.reduction(reducer.card())?)?;
        let mut workspace = reducer.workspace(stream)?;
        workspace.reserve(plan.reduction())?;
        let (input, mut out) = (stream.clone_htod(values)?, stream.alloc_zeros::<u32>(exact.words())?);
        plan.call(&mut workspace).input(&input).write(Role::Out, &mut out).run()?;
        Ok((exact, stream.clone_dtoh(&out)?))
    };
    let (exact, of_all) = words(&values, 0)?;
    let whole = exact.read(&of_all)?;
    let parts = values.chunks(values.len().div_ceil(streams.len())).enumerate().rev();
    let mut sum = None;
    for (rank, part) in parts {
        let (exact, words) = words(part, rank)?;
        let part = exact.read(&words)?;
        match &mut sum {
            None => sum = Some(part),
            Some(sum) => sum.merge(&part)?,
        }
    }
    assert_eq!(sum.map(|sum| sum.to_f32().to_bits()), Some(whole.to_f32().to_bits()));
    Ok(())
}

/// A thread a rank, which make the same calls, of which one is refused.
#[test]
fn members_call_from_threads_of_their_own() {
    let Some(streams) = streams() else { return };
    let ranks = Ranks::new(Op::Sum, Type::F32, 5000, &streams).expect("GPUs that reach each other");
    let all = (1..=streams.len()).sum::<usize>() as f32;
    std::thread::scope(|scope| {
        let streams = &streams;
        for (mut member, stream) in ranks.members().into_iter().zip(streams) {
            scope.spawn(move || {
                let rank = member.rank();
                let mut draw = Stream(9);
                for call in 0..200 {
                    let (n, route) = (draw.below(5001), Route::ALL.get(draw.below(6)).copied());
                    let n = if call == 100 { n + rank } else { n };
                    if call == 150 {
                        // An array of another device than its member's, of which the driver must not hear.
                        let other = &streams[(rank + 1) % streams.len()];
                        let mut array = other.alloc_zeros::<f32>(n.max(1)).expect("memory");
                        let refused = member.all_reduce_in_place(route, &mut array).expect_err("another device");
                        assert_eq!(refused, Error::OtherContext { what: "out" });
                        continue;
                    }
                    let mut array = stream.clone_htod(&vec![(rank + 1) as f32; n]).expect("memory");
                    let done = member.all_reduce_in_place(route, &mut array);
                    if call == 100 {
                        assert!(matches!(done, Err(Error::Members { what: "the length", .. })), "{done:?}");
                        continue;
                    }
                    done.expect("the same call by all");
                    assert_eq!(stream.clone_dtoh(&array).expect("a copy"), vec![all; n], "call {call}");
                }
            });
        }
    });
}

#[test]
fn what_cannot_be_is_refused() {
    let Some(streams) = streams() else { return };
    let twice = [Arc::clone(&streams[0]), streams[0].context().new_stream().expect("a stream")];
    let refused = Ranks::new(Op::Sum, Type::F32, 4, &twice).expect_err("one device for two ranks");
    assert_eq!(refused, Error::NoPeerAccess { from: 0, to: 1 });
    let mut ranks = Ranks::new(Op::Sum, Type::F32, 4, &streams[..2]).expect("GPUs that reach each other");
    let array = |rank: usize, n: usize| streams[rank].alloc_zeros::<f32>(n).expect("memory");
    let mut of = |a: &mut CudaSlice<f32>, b: &mut CudaSlice<f32>| {
        ranks.all_reduce_in_place(Route::LowLatency, &mut [a, b]).expect_err("a refusal").to_string()
    };
    assert_eq!(of(&mut array(0, 4), &mut array(1, 3)), "out has 12 bytes, and 16 are read or written");
    assert_eq!(of(&mut array(1, 4), &mut array(0, 4)), "out belongs to another context");
    assert_eq!(of(&mut array(0, 5), &mut array(1, 5)), "elements: 5, and the kernels count up to 4");
    let mut halves =
        [streams[0].alloc_zeros::<bf16>(4).expect("memory"), streams[1].alloc_zeros::<bf16>(4).expect("memory")];
    let [a, b] = &mut halves;
    let refused = ranks.all_reduce_in_place(Route::LowLatency, &mut [a, b]).expect_err("another type");
    assert_eq!(refused.to_string(), "out holds bf16, and the plan has f32 there");
}
