//! What the link does: how long a trip takes, and how many bytes pass in a second.

use cudarc::driver::{CudaFunction, CudaSlice, DevicePtr, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use serde_json::json;

use crate::{Bench, Result, say};

const TRIPS: u32 = 1000;
/// Words of a chase, and bytes from one to the next: more than a line of any cache.
const HOPS: u32 = 2000;
const HOP_BYTES: u64 = 512;
const COPY_BYTES: u64 = 256 << 20;
const COPIES: u32 = 4;

impl Bench {
    /// Trips between ranks 0 and 1, reads that wait for each other, and copies of all ranks to their neighbours at once.
    pub fn link(&mut self) -> Result<()> {
        if self.streams.len() < 2 {
            return Err("a link wants two GPUs".into());
        }
        // Opens the devices to each other.
        let _ranks = reduction::gpu::Ranks::new(reduction::Op::Sum, reduction::Type::F32, 4, &self.streams)?;
        self.trips()?;
        self.chase()?;
        self.copies()
    }

    fn function(&self, rank: usize, name: &str) -> Result<CudaFunction> {
        let context = self.streams[rank].context();
        let (major, minor) = context.compute_capability()?;
        let text = reduction::kernels::ptx(name, (10 * major + minor).unsigned_abs())?;
        Ok(context.load_module(Ptx::from_src(text))?.load_function(name)?)
    }

    fn address<T>(&self, rank: usize, slice: &CudaSlice<T>) -> u64 {
        slice.device_ptr(&self.streams[rank]).0
    }

    fn trips(&self) -> Result<()> {
        let functions = [self.function(0, "peer_trips")?, self.function(1, "peer_trips")?];
        let words = [self.streams[0].alloc_zeros::<u64>(1)?, self.streams[1].alloc_zeros::<u64>(1)?];
        self.wait()?;
        let places = [self.address(0, &words[0]), self.address(1, &words[1])];
        // A graph would begin from the same number again: launched as it is, some thousand trips at a time.
        let mut times = Vec::new();
        for round in 0..11u64 {
            let begin = std::time::Instant::now();
            for rank in [0usize, 1] {
                let (stream, other, number) = (&self.streams[rank], 1 - rank, rank as u32);
                let before = round * 2 * u64::from(TRIPS);
                let mut launch = stream.launch_builder(&functions[rank]);
                launch.arg(&places[rank]).arg(&places[other]).arg(&number).arg(&before).arg(&TRIPS);
                stream.context().bind_to_thread()?;
                // SAFETY: the kernel takes these, and the words are of two devices that reach each other.
                unsafe { launch.launch(ONE) }?;
            }
            self.wait()?;
            times.push(begin.elapsed().as_secs_f64() * 1e6 / f64::from(TRIPS));
        }
        times.sort_by(f64::total_cmp);
        say(
            json!({"link": "trip there and back", "ranks": 2, "us": times[5], "range_us": [times[0], times[10]], "trips": TRIPS}),
        );
        Ok(())
    }

    fn chase(&self) -> Result<()> {
        let function = self.function(0, "peer_chase")?;
        for (home, what) in [(0, "read of its own memory"), (1, "read of a peer's memory")] {
            let words = (u64::from(HOPS) * HOP_BYTES / 8) as usize;
            let mut chain = self.streams[home].alloc_zeros::<u64>(words)?;
            let first = self.address(home, &chain);
            let next = |i: u64| first + (i / (HOP_BYTES / 8) + 1) % u64::from(HOPS) * HOP_BYTES;
            let values: Vec<u64> = (0..words as u64).map(next).collect();
            self.streams[home].context().bind_to_thread()?;
            self.streams[home].memcpy_htod(&values, &mut chain)?;
            let out = self.streams[0].alloc_zeros::<u64>(1)?;
            self.wait()?;
            let (stream, out) = (&self.streams[0], self.address(0, &out));
            stream.context().bind_to_thread()?;
            let mut times = Vec::new();
            for _ in 0..11 {
                let begin = stream.record_event(Some(TIMED))?;
                let mut launch = stream.launch_builder(&function);
                launch.arg(&first).arg(&HOPS).arg(&out);
                // SAFETY: the kernel takes these, and every word of the chain leads to another.
                unsafe { launch.launch(ONE) }?;
                let end = stream.record_event(Some(TIMED))?;
                stream.synchronize()?;
                times.push(f64::from(begin.elapsed_ms(&end)?) * 1e3 / f64::from(HOPS));
            }
            times.sort_by(f64::total_cmp);
            say(json!({"link": what, "ranks": 2, "us": times[5], "range_us": [times[0], times[10]]}));
        }
        Ok(())
    }

    fn copies(&mut self) -> Result<()> {
        let ranks = self.streams.len();
        let functions = (0..ranks).map(|rank| self.function(rank, "peer_copy")).collect::<Result<Vec<_>>>()?;
        let arrays = |_: ()| -> Result<Vec<CudaSlice<u8>>> {
            self.streams.iter().map(|stream| Ok(stream.alloc_zeros::<u8>(COPY_BYTES as usize)?)).collect()
        };
        let (froms, tos) = (arrays(())?, arrays(())?);
        self.wait()?;
        let blocks = self.streams[0]
            .context()
            .attribute(cudarc::driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?
            as u32;
        let packs = COPY_BYTES / 16;
        // Where each rank reads, and where it writes: its own memory, or its neighbour's.
        for (what, reads, writes) in [("pull", 1, 0), ("push", 0, 1), ("own memory", 0, 0)] {
            let mut all = Vec::new();
            for blocks in [blocks, 2 * blocks] {
                let enqueue = || -> Result<()> {
                    for (rank, stream) in self.streams.iter().enumerate() {
                        let at = |off: usize| (rank + off) % ranks;
                        let (from, to) =
                            (self.address(at(reads), &froms[at(reads)]), self.address(at(writes), &tos[at(writes)]));
                        let mut launch = stream.launch_builder(&functions[rank]);
                        launch.arg(&from).arg(&to).arg(&packs);
                        let config =
                            LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (512, 1, 1), shared_mem_bytes: 0 };
                        stream.context().bind_to_thread()?;
                        // SAFETY: the kernel takes these, and both arrays have as many packs.
                        unsafe { launch.launch(config) }?;
                    }
                    Ok(())
                };
                all.push(self.capture(what, COPIES, enqueue)?);
            }
            let [_, us, _] = self.times_us(&all)?.into_iter().min_by(|a, b| a[1].total_cmp(&b[1])).ok_or("no time")?;
            say(
                json!({"link": what, "ranks": ranks, "gb_per_s": COPY_BYTES as f64 / us / 1e3, "us": us, "bytes": COPY_BYTES}),
            );
        }
        Ok(())
    }
}

/// One thread.
const ONE: LaunchConfig = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
const TIMED: cudarc::driver::sys::CUevent_flags = cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
