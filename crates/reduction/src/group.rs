//! All-reduce over several devices of one program: each has an array, and each gets the sum of all of them, or their maximum, element
//! by element. Launches are plain data, one for each rank; chapter 14 explains the kernels.
//!
//! Each device must reach the memory of all others (`cuCtxEnablePeerAccess`), and has a [`Share`] of memory that the ranks use together.
//! In a call, every rank launches what [`GroupCall::launch`] gives for it, on its own device and stream, without waiting for others: the
//! kernels wait for each other, so all must come to run.

use std::fmt;

use crate::card::Card;
use crate::element::Type;
use crate::error::{Error, Result};
use crate::geometry::Geometry;
use crate::memory::Memory;
use crate::op::Op;
use crate::plan::entry_name;

/// Largest number of ranks.
pub const RANKS_MAX: u32 = 8;
/// Bytes of what travels together.
const PACK_BYTES: u64 = 16;
/// Threads a block: as many as the kernels are compiled for.
const BLOCK: u32 = 512;
/// Addresses that a launch takes: four arrays of each rank, and its count of calls.
const ARRAYS: usize = 4 * RANKS_MAX as usize + 1;
/// Bytes of the longest message. Kernels count the packs of a half in 32 bits, of which this leaves most.
const MESSAGE_BYTES_MAX: u64 = (4 << 30) - PACK_BYTES;

/// Way of the data over the links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Route {
    /// Four bytes and the number of the call in each word, pushed to all: one trip, and twice the bytes. For messages of up to 1 MiB.
    LowLatency,
    /// Each rank reads the arrays of all. For messages of up to 16 MiB.
    OneShotPull,
    /// Each rank writes its array to all. For messages of up to 16 MiB.
    OneShotPush,
    /// Each rank writes the parts that others add to them, and its sums to all.
    TwoShotPush,
    /// Each rank reads a part of all arrays where they lie, and writes its sums to the results of all.
    TwoShotDirect,
}

impl Route {
    /// Every route.
    pub const ALL: [Route; 5] =
        [Route::LowLatency, Route::OneShotPull, Route::OneShotPush, Route::TwoShotPush, Route::TwoShotDirect];

    /// Name in kernels: `one_shot_pull`.
    pub const fn name(self) -> &'static str {
        match self {
            Route::LowLatency => "low_latency",
            Route::OneShotPull => "one_shot_pull",
            Route::OneShotPush => "one_shot_push",
            Route::TwoShotPush => "two_shot_push",
            Route::TwoShotDirect => "two_shot_direct",
        }
    }

    /// Bytes of the longest message by this route: longer ones are faster by others, and would want much memory.
    const fn bytes_max(self) -> u64 {
        match self {
            Route::LowLatency => 1 << 20,
            Route::OneShotPull | Route::OneShotPush => 16 << 20,
            Route::TwoShotPush | Route::TwoShotDirect => MESSAGE_BYTES_MAX,
        }
    }

    /// Delay of a call by this route in microseconds, and the bandwidth in GB/s at which its bytes cross the link. Both are fitted to
    /// what two H200 took for 64 KiB to 256 MiB over NVLink 4, by kernels in which each block had a stretch of the array of its own.
    pub const fn delay_and_bandwidth(self) -> (f64, f64) {
        match self {
            Route::LowLatency => (2.4, 280.0),
            Route::OneShotPull => (4.1, 280.0),
            Route::OneShotPush => (3.7, 288.0),
            Route::TwoShotPush => (6.5, 341.0),
            Route::TwoShotDirect => (6.2, 319.0),
        }
    }

    /// Microseconds that a call by this route is expected to take: the delay, and behind it the bytes over the link by its bandwidth.
    pub fn predicted_us(self, bytes: u64, ranks: u32) -> f64 {
        let (delay_us, gb_per_s) = self.delay_and_bandwidth();
        delay_us + self.link_bytes(bytes, ranks) as f64 / (gb_per_s * 1e3)
    }

    /// Bytes that each of so many ranks gets over its links in a call of `bytes` bytes, without flags.
    pub const fn link_bytes(self, bytes: u64, ranks: u32) -> u64 {
        let others = ranks as u64 - 1;
        match self {
            Route::LowLatency => 2 * others * bytes,
            Route::OneShotPull | Route::OneShotPush => others * bytes,
            Route::TwoShotPush | Route::TwoShotDirect => 2 * others * bytes / ranks as u64,
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Devices that reduce together, one rank each.
///
/// Results have the same bits on all ranks, by every route and on every card: elements are added as floats from rank 0 on, and rounded
/// to their type once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    op: Op,
    ty: Type,
    ranks: u32,
    /// Packs of the longest message.
    packs: u64,
    /// In the order of [`Route::ALL`].
    has_route: [bool; Route::ALL.len()],
    /// Blocks that every card holds at once.
    grid_max: u32,
}

/// Bytes of the memory that each rank shares with the others, at a multiple of 256 bytes each. It is zero before the first call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Room {
    /// Arrays and sums that are left for others.
    pub stage: u64,
    /// Words of [`Route::LowLatency`].
    pub words: u64,
    /// Flags.
    pub flags: u64,
    /// Numbers of the calls, which only the rank's own kernels touch.
    pub calls: u64,
}

/// Memory of one rank in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Its array.
    pub input: Memory,
    /// Its results, which may lie over its array.
    pub out: Memory,
    /// Its staging array, see [`Room`].
    pub stage: Memory,
    /// Its words of [`Route::LowLatency`].
    pub words: Memory,
    /// Its flags.
    pub flags: Memory,
    /// Its count of calls.
    pub calls: Memory,
}

/// One call: the same for all ranks, up to their numbers and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupCall {
    group: Group,
    route: Route,
    n: u64,
    geometry: Geometry,
}

/// Launch of one rank: `kernel<<<geometry>>>(arrays, numbers..., n)`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RankLaunch {
    /// Blocks and threads.
    pub geometry: Geometry,
    /// The first argument, a structure by value: the addresses of inputs, results, staging arrays and flags by rank, and of the rank's count of
    /// calls.
    pub arrays: [u64; ARRAYS],
    /// Arguments of 32 bits: rank, ranks, packs of a slot, packs of a half, most blocks of a launch.
    pub numbers: [u32; 5],
    /// The last argument, 64 bits: elements.
    pub n: u64,
}

impl Group {
    /// So many ranks, whose messages have at most `most` elements. `cards` are those of the ranks.
    ///
    /// # Errors
    /// An operation other than `sum` and `maximum` or a type other than `f32` and `bf16`; no rank, or more than [`RANKS_MAX`];
    /// more elements than kernels count.
    pub fn new(op: Op, ty: Type, most: u64, cards: &[&Card]) -> Result<Group> {
        op.check(ty)?;
        if !matches!(op, Op::Sum | Op::Maximum) || !matches!(ty, Type::F32 | Type::BF16) {
            return Err(Error::NoKernels { op, ty, layout: "several devices" });
        }
        let ranks = cards.len() as u32;
        if !(1..=RANKS_MAX).contains(&ranks) {
            return Err(Error::Parameter { what: "the number of ranks", got: ranks.to_string(), range: "1 to 8" });
        }
        let most_bytes = most.checked_mul(ty.bytes()).filter(|&bytes| bytes <= MESSAGE_BYTES_MAX);
        let Some(bytes) = most_bytes else {
            return Err(Error::TooMany { what: "elements", got: most, most: MESSAGE_BYTES_MAX / ty.bytes() });
        };
        let grid_max = cards.iter().map(|card| card.multiprocessors).min().unwrap_or(1).max(1);
        let packs = bytes.div_ceil(PACK_BYTES);
        Ok(Group { op, ty, ranks, packs, has_route: [true; Route::ALL.len()], grid_max })
    }

    /// The same by some routes alone, which may need less memory: pushed arrays take room for each rank, pulled ones for one.
    pub fn with_routes(self, routes: &[Route]) -> Group {
        Group { has_route: Route::ALL.map(|route| routes.contains(&route)), ..self }
    }

    /// Ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Blocks of the largest launch, which every card must hold at once.
    pub fn blocks_max(&self) -> u32 {
        self.grid_max
    }

    /// The operation.
    pub fn op(&self) -> Op {
        self.op
    }

    /// The type of elements.
    pub fn ty(&self) -> Type {
        self.ty
    }

    /// Returns whether calls may take this route.
    pub fn has_route(&self, route: Route) -> bool {
        self.has_route[route as usize]
    }

    /// Packs of the longest message by this route.
    fn packs(&self, route: Route) -> u64 {
        self.packs.min(route.bytes_max() / PACK_BYTES)
    }

    /// Packs of a slot. Words take twice the room, as four bytes travel with an epoch.
    fn slot(&self, route: Route) -> u64 {
        match route {
            _ if !self.has_route(route) => 0,
            Route::LowLatency => 2 * self.packs(route),
            Route::OneShotPull | Route::OneShotPush => self.packs(route),
            Route::TwoShotPush => self.packs(route).div_ceil(self.ranks.into()),
            Route::TwoShotDirect => 0,
        }
    }

    /// Packs of a half. Routes that meet share halves.
    fn half(&self, route: Route) -> u64 {
        let all = |route| u64::from(self.ranks) * self.slot(route);
        match route {
            Route::LowLatency => all(route),
            _ => self.slot(Route::OneShotPull).max(all(Route::OneShotPush)).max(all(Route::TwoShotPush)),
        }
    }

    /// The entry of the PTX by this route.
    pub fn kernel(&self, route: Route) -> String {
        entry_name(route.name(), self.op, "", self.ty)
    }

    /// Memory that each rank shares with the others.
    pub fn room(&self) -> Room {
        let bytes = |route| 2 * PACK_BYTES * self.half(route);
        let [flags, calls] = [RANKS_MAX, 2].map(|each| 8 * u64::from(each * self.grid_max));
        Room { stage: bytes(Route::OneShotPull), words: bytes(Route::LowLatency), flags, calls }
    }

    /// The route for `n` elements that is expected to be the fastest of the group's.
    ///
    /// # Errors
    /// More elements than the group was made for.
    pub fn route(&self, n: u64) -> Result<Route> {
        let bytes = n.saturating_mul(self.ty.bytes());
        let fits = |&route: &Route| self.has_route(route) && bytes <= self.packs(route) * PACK_BYTES;
        let us = |route: &Route| route.predicted_us(bytes, self.ranks);
        let routes = Route::ALL.into_iter().filter(fits);
        let most = Route::ALL.into_iter().filter(|&route| self.has_route(route)).map(|route| self.packs(route)).max();
        let most = most.unwrap_or(0) * PACK_BYTES / self.ty.bytes();
        let too_many = Error::TooMany { what: "elements", got: n, most };
        routes.min_by(|a, b| us(a).total_cmp(&us(b))).ok_or(too_many)
    }

    /// A call of `n` elements. All ranks make the same calls in the same order.
    ///
    /// # Errors
    /// More elements than the group was made for or the route takes, or another route than the group's.
    pub fn call(&self, route: Route, n: u64) -> Result<GroupCall> {
        let (size, most) = (self.ty.bytes(), self.packs(route) * PACK_BYTES / self.ty.bytes());
        if n > most {
            return Err(Error::TooMany { what: "elements", got: n, most });
        }
        if !self.has_route(route) {
            return Err(Error::Parameter { what: "the route", got: route.to_string(), range: "those of the group" });
        }
        // What a thread takes at a time.
        let unit = if route == Route::LowLatency { 4 } else { PACK_BYTES };
        let blocks = (n * size).div_ceil(unit * u64::from(BLOCK)).clamp(1, self.grid_max.into());
        let geometry = Geometry::linear(blocks as u32, BLOCK);
        Ok(GroupCall { group: *self, route, n, geometry })
    }
}

impl GroupCall {
    /// The way of the data.
    pub fn route(&self) -> Route {
        self.route
    }

    /// The entry of the PTX.
    pub fn kernel(&self) -> String {
        self.group.kernel(self.route)
    }

    /// The launch of a rank, with the memory of all ranks in their order.
    ///
    /// # Errors
    /// A rank that is not there, or not as many shares as ranks; memory that is too short, badly aligned, or overlaps results in part.
    pub fn launch(&self, rank: u32, shares: &[Share]) -> Result<RankLaunch> {
        if rank >= self.group.ranks {
            let got = format!("{rank} of {}", shares.len());
            return Err(Error::Parameter { what: "the rank", got, range: "each rank of the group's number of ranks" });
        }
        self.check_all(shares)?;
        Ok(self.checked(rank, shares))
    }

    /// The launches of all ranks, by their memory in their order.
    ///
    /// # Errors
    /// Those of [`GroupCall::launch`].
    pub fn launches(&self, shares: &[Share]) -> Result<Vec<RankLaunch>> {
        self.check_all(shares)?;
        Ok((0..self.group.ranks).map(|rank| self.checked(rank, shares)).collect())
    }

    fn check_all(&self, shares: &[Share]) -> Result<()> {
        if shares.len() as u32 != self.group.ranks {
            let got = shares.len().to_string();
            return Err(Error::Parameter {
                what: "the number of shares",
                got,
                range: "as many as the group has ranks",
            });
        }
        shares.iter().try_for_each(|share| self.check(share))
    }

    /// The launch of a rank by memory that was checked.
    fn checked(&self, rank: u32, shares: &[Share]) -> RankLaunch {
        let GroupCall { group, route, n, .. } = self;
        // Routes that meet share a staging array, and so they count together.
        let has_words = *route == Route::LowLatency;
        let mut arrays = [0; ARRAYS];
        for (at, share) in shares.iter().enumerate() {
            let stage = if has_words { share.words } else { share.stage };
            for (array, memory) in [share.input, share.out, stage, share.flags].into_iter().enumerate() {
                arrays[array * RANKS_MAX as usize + at] = memory.address;
            }
        }
        arrays[ARRAYS - 1] = shares[rank as usize].calls.address + u64::from(has_words) * group.room().calls / 2;
        RankLaunch {
            geometry: self.geometry,
            arrays,
            numbers: [rank, group.ranks, group.slot(*route) as u32, group.half(*route) as u32, group.grid_max],
            n: *n,
        }
    }

    fn check(&self, share: &Share) -> Result<()> {
        let (Room { stage, words, flags, calls }, bytes) = (self.group.room(), self.n * self.group.ty.bytes());
        let Share { input, out, .. } = *share;
        let operands = [
            ("input", input, bytes, self.group.ty.bytes()),
            ("out", out, bytes, self.group.ty.bytes()),
            ("stage", share.stage, stage, 256),
            ("words", share.words, words, 256),
            ("flags", share.flags, flags, 256),
            ("calls", share.calls, calls, 256),
        ];
        for (operand, memory, expected, multiple) in operands {
            if memory.bytes < expected {
                return Err(Error::Length { operand, got: memory.bytes, expected });
            }
            if expected > 0 && !memory.address.is_multiple_of(multiple) {
                return Err(Error::Alignment { operand, address: memory.address, multiple });
            }
        }
        let part = |memory: Memory, bytes| Memory { bytes, ..memory };
        let results = part(out, bytes);
        let of_group = [(share.stage, stage), (share.words, words), (share.flags, flags), (share.calls, calls)]
            .map(|(memory, bytes)| part(memory, bytes));
        if part(input, bytes).overlaps(results) && input.address != out.address {
            return Err(Error::Overlap { written: "out", operand: "input" });
        }
        if of_group.iter().any(|memory| memory.overlaps(results)) {
            return Err(Error::Overlap { written: "out", operand: "memory of the group" });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::H200;

    fn group(op: Op, ty: Type, most: u64, ranks: usize) -> Result<Group> {
        Group::new(op, ty, most, &vec![&H200; ranks])
    }

    fn shares(group: &Group, bytes: u64) -> Vec<Share> {
        let Room { stage, words, flags, calls } = group.room();
        let share = |rank: u64| {
            let at = |place: u64, bytes| Memory { address: rank << 40 | place << 36, bytes };
            Share {
                input: at(1, bytes),
                out: at(2, bytes),
                stage: at(3, stage),
                words: at(4, words),
                flags: at(5, flags),
                calls: at(6, calls),
            }
        };
        (1..=u64::from(group.ranks)).map(share).collect()
    }

    #[test]
    fn each_rank_has_its_launch_with_the_addresses_of_all() {
        let group = group(Op::Maximum, Type::BF16, 1000, 3).unwrap();
        let shares = shares(&group, 2000);
        let call = group.call(Route::TwoShotPush, 1000).unwrap();
        let launch = call.launch(2, &shares).unwrap();
        assert_eq!((call.kernel().as_str(), launch.n), ("two_shot_push_maximum_bf16", 1000));
        assert_eq!(launch.numbers, [2, 3, 42, 3 * 125, 132], "a slot of two shots is a third of one shot's");
        let of = |place: u64| [1, 2, 3, 0, 0, 0, 0, 0].map(|rank| if rank == 0 { 0 } else { rank << 40 | place << 36 });
        let calls = 3 << 40 | 6 << 36;
        assert_eq!(launch.arrays[..], [&[of(1), of(2), of(3), of(5)].concat()[..], &[calls]].concat());
        let call = group.call(Route::LowLatency, 7).unwrap();
        let words = call.launch(0, &shares).unwrap();
        assert_eq!((words.numbers, &words.arrays[16..24]), ([0, 3, 250, 750, 132], &of(4)[..]));
        assert_eq!(words.arrays[32], 1 << 40 | 6 << 36 | (132 * 8), "its calls count apart");
        assert_eq!(call.kernel(), "low_latency_maximum_bf16");
    }

    #[cfg(feature = "cudarc")]
    #[test]
    fn every_call_has_its_kernel() {
        for (route, op) in Route::ALL.into_iter().flat_map(|route| [Op::Sum, Op::Maximum].map(|op| (route, op))) {
            for ty in [Type::F32, Type::BF16] {
                let call = group(op, ty, 9, 2).unwrap().call(route, 9).unwrap();
                assert!(crate::kernels::ptx(&call.kernel(), 80).is_ok(), "{}", call.kernel());
            }
        }
    }

    #[test]
    fn the_grid_is_one_that_every_card_holds_at_once() {
        let few = H200.clone().with_multiprocessors(20);
        let group = Group::new(Op::Sum, Type::F32, 1 << 24, &[&H200, &few]).unwrap();
        let grid = |n: u64| group.call(Route::OneShotPull, n).unwrap().geometry.grid[0];
        assert_eq!([1, 2048, 2049, 1 << 22].map(grid), [1, 1, 2, 20]);
        assert_eq!((group.room().flags, group.room().calls), (20 * 8 * 8, 20 * 2 * 8));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let message = |result: Result<Group>| result.unwrap_err().to_string();
        assert_eq!(message(group(Op::Max, Type::F32, 1, 2)), "max of f32: there are no kernels for several devices");
        assert_eq!(message(group(Op::Sum, Type::F64, 1, 2)), "sum of f64: there are no kernels for several devices");
        assert_eq!(message(group(Op::Sum, Type::F32, 1, 9)), "the number of ranks is 9, and kernels take 1 to 8");
        assert!(message(group(Op::Sum, Type::F32, u64::MAX / 2, 2)).contains("kernels count up to"));
        let group = group(Op::Sum, Type::F32, 100, 2).unwrap();
        let call = |n| group.call(Route::OneShotPull, n);
        assert_eq!(call(101).unwrap_err().to_string(), "elements: 101, and the kernels count up to 100");
        let (call, good) = (call(100).unwrap(), shares(&group, 400));
        assert!(call.launch(2, &good).is_err() && call.launch(0, &good[..1]).is_err());
        let refused = |change: fn(&mut Share)| {
            let mut shares = good.clone();
            change(&mut shares[1]);
            call.launch(0, &shares).unwrap_err().to_string()
        };
        assert_eq!(refused(|share| share.out.bytes = 399), "out has 399 bytes, and 400 are read or written");
        assert!(refused(|share| share.stage.address += 16).starts_with("stage begins at"));
        assert!(refused(|share| share.out.address = share.input.address + 4).starts_with("out overlaps input"));
        assert!(
            refused(|share| share.out.address = share.stage.address).starts_with("out overlaps memory of the group")
        );
        let mut in_place = good.clone();
        in_place[1].out = in_place[1].input;
        assert!(call.launch(0, &in_place).is_ok());
    }

    #[test]
    fn a_group_that_pulls_alone_has_room_for_one_array() {
        let all = group(Op::Sum, Type::F32, 1 << 20, 8).unwrap();
        let [stage, words] = [all.room().stage, all.room().words].map(|bytes| bytes >> 20);
        assert_eq!((stage, words), (2 * 8 * 4, 2 * 2 * 8), "words are for a message of 1 MiB at most");
        let pulls = all.with_routes(&[Route::OneShotPull]);
        assert_eq!((pulls.room().stage >> 20, pulls.room().words), (2 * 4, 0));
        let parts = all.with_routes(&[Route::TwoShotPush]).room().stage;
        assert_eq!(parts, 2 * 8 * (4 << 20) / 8);
        assert_eq!(all.with_routes(&[Route::TwoShotDirect]).room().stage, 0);
        let error = pulls.call(Route::LowLatency, 1).unwrap_err().to_string();
        assert_eq!(error, "the route is low_latency, and kernels take those of the group");
    }

    #[test]
    fn the_route_is_that_of_the_least_expected_time() {
        let group = group(Op::Sum, Type::F32, 1 << 28, 2).unwrap();
        let route = |bytes: u64| group.route(bytes / 4).unwrap();
        assert_eq!([0, 1 << 16, 1 << 20, 1 << 30].map(route), {
            use Route::{LowLatency, OneShotPush, TwoShotPush};
            [LowLatency, LowLatency, OneShotPush, TwoShotPush]
        });
        assert_eq!(group.with_routes(&[Route::TwoShotDirect]).route(1), Ok(Route::TwoShotDirect));
        assert!(group.route((1 << 28) + 1).unwrap_err().to_string().contains("count up to 268435456"));
        let error = group.with_routes(&[Route::LowLatency]).route(1 << 20).unwrap_err().to_string();
        assert_eq!(error, "elements: 1048576, and the kernels count up to 262144");
    }

    #[test]
    fn two_shots_move_less_than_one_from_three_ranks_on() {
        let bytes = |route: Route, ranks| route.link_bytes(4 << 20, ranks) >> 20;
        assert_eq!([Route::OneShotPull, Route::TwoShotDirect].map(|route| bytes(route, 8)), [28, 7]);
        assert_eq!([Route::OneShotPush, Route::TwoShotPush].map(|route| bytes(route, 2)), [4, 4]);
    }
}
