//! Execution: `grid` deals blocks to host threads, `block` schedules the warps of a block, this module runs one split of
//! a warp, `alu`, `memory`, `call` and `sync` execute instructions, `findings` folds what was found.
//!
//! The run loop exists twice, compiled for the baseline and for AVX2, and the machine picks one when it starts.

/// Compiles an `#[inline(always)]` method twice, for the baseline and for AVX2, and gives it a third form that a caller
/// instantiates for the clone it belongs to. Clones are functions of their own: inlined into one run loop they would
/// take the compiler minutes.
macro_rules! two_clones {
    ($(#[$m:meta])* impl $type:ty { $($(#[$doc:meta])* $name:ident, $avx2:ident, $baseline:ident = $inline:ident(&mut self, $($arg:ident : $argtype:ty),*) $(-> $ret:ty)?;)* }) => {
        impl $type {
            $(
                $(#[$doc])*
                #[inline(always)]
                pub(super) fn $name<const AVX2: bool>(&mut self, $($arg: $argtype),*) $(-> $ret)? {
                    #[cfg(target_arch = "x86_64")]
                    if AVX2 {
                        // SAFETY: only code reached from `Machine::run_avx2` instantiates AVX2 = true, and that is
                        // entered only where the processor has these features.
                        return unsafe { self.$avx2($($arg),*) };
                    }
                    self.$baseline($($arg),*)
                }

                #[cfg(target_arch = "x86_64")]
                #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
                fn $avx2(&mut self, $($arg: $argtype),*) $(-> $ret)? {
                    self.$inline($($arg),*)
                }

                #[inline(never)]
                fn $baseline(&mut self, $($arg: $argtype),*) $(-> $ret)? {
                    self.$inline($($arg),*)
                }
            )*
        }
    };
}

mod absent;
mod alu;
mod async_store;
mod atomic;
mod barrier;
mod bind;
mod block;
mod bulk;
mod bulk_store;
mod call;
mod carried;
mod cluster;
mod constants;
mod context;
mod copy;
mod findings;
mod grid;
mod host;
mod issue;
mod log;
mod mbarrier;
mod memory;
mod observe;
mod order;
mod overlap;
mod print;
mod remote;
mod rounds;
mod spin;
mod stack;
mod sync;
mod tally;
mod team;
mod trace;
mod turns;
mod undefined;
mod warp;
mod words;

pub use grid::run;
pub use overlap::{run_devices, run_stream};

use crate::access::Memos;
use crate::code::{Combine, Counted, Inst, NONE, Op};
use crate::fault;
use crate::print::Printed;
use crate::race::Race;
use alu::{exact, store_predicate, store32, store64};
use block::Environment;
use carried::Passing;
use context::{Context, Grid, Watch};
use findings::{Detail, Findings};
use issue::Issue;
use order::GlobalOrder;
use overlap::Before;
use spin::Registers;
use trace::Recorder;
use warp::Warp;

/// Counts of one instruction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) issued: u64,
    pub(crate) threads: u64,
    pub(crate) wavefronts: u64,
    pub(crate) conflicts: u64,
    /// Wavefronts and conflicts of the loads that an atomic makes between its rounds.
    pub(crate) load_wavefronts: u64,
    pub(crate) load_conflicts: u64,
    pub(crate) sectors: u64,
    /// Those of them in other devices' memory, and the lanes' bytes there.
    pub(crate) peer_sectors: u64,
    pub(crate) peer_bytes: u64,
    pub(crate) divergent: u64,
    /// Warp-level accesses to shared, global and local memory.
    pub(crate) requests: [u64; 3],
}

/// Difference between the warps and lanes that execute an instruction and those that execute the one before it. Code without a jump is counted where
/// a warp comes to it and where it leaves it.
#[derive(Debug, Clone, Copy, Default)]
struct Edge {
    issued: u64,
    threads: u64,
}

/// Continuation after an instruction.
enum Next {
    /// The one behind it.
    On,
    /// The one behind it, with these lanes.
    With(u32),
    /// Another one.
    To(u32),
    Stop(Stop),
    /// The one behind it, but from now on some registers hold undefined values: see `undefined.rs`.
    Again,
}

/// Why a split stopped running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// It reached a barrier, waits for lanes, parted, or ended: its warp decides what runs next.
    Blocked,
    /// It used up its turn.
    Turn,
    /// The launch is over.
    Fatal,
}

/// One host thread's view of a launch.
struct Machine<'k> {
    context: &'k Context<'k>,
    /// Counts of each instruction, without its executions, which follow from the edges.
    counts: Vec<Counts>,
    edges: Vec<Edge>,
    memos: Vec<Memos>,
    findings: Findings,
    races: Vec<Race>,
    recorder: Recorder,
    printed: Printed,
    order: Option<Box<GlobalOrder>>,
    /// State of the previous launch, for a wait.
    before: Before,
    /// Number of changes of memory; spinning lanes wait for the next one.
    changes: u64,
    /// Warp-instructions executed.
    spent: u64,
    /// True if many units wait: then the reads of spinning lanes are noted, and these look again when such a value has changed. With few
    /// units they look whenever anything has changed.
    crowded: bool,
    /// Waiting for all lanes of a warp where they meet would have hung: from now on those that wait go ahead at once.
    goes_ahead: bool,
    /// Room for `spin` to remember a warp in.
    registers: Registers,
    /// The instruction that runs now is being recorded.
    recording: bool,
    /// Undefined values on their way from memory and to it.
    passing: Passing,
    #[cfg(target_arch = "x86_64")]
    has_avx2: bool,
}

impl<'k> Machine<'k> {
    fn new(context: &'k Context<'k>) -> Machine<'k> {
        let length = context.code.insts.len();
        Machine {
            context,
            counts: vec![Counts::default(); length],
            edges: vec![Edge::default(); length + 1],
            memos: context.code.insts.iter().map(memos).collect(),
            findings: Findings::default(),
            races: Vec::new(),
            recorder: Recorder::new(context.options.trace),
            printed: Printed::default(),
            order: GlobalOrder::new(context),
            before: Before::Nothing,
            changes: 0,
            spent: 0,
            crowded: false,
            goes_ahead: context.options.schedule.is_seeded(),
            registers: Registers::default(),
            recording: false,
            passing: Passing::default(),
            #[cfg(target_arch = "x86_64")]
            has_avx2: !context.options.portable && has_avx2(),
        }
    }

    /// Runs split `at` of `warp` for at most `turn` instructions.
    fn run(&mut self, env: &mut Environment, warp: &mut Warp, at: usize, turn: u64) -> Stop {
        let began = warp.steps;
        loop {
            if let Some(stop) = self.run_once(env, warp, at, turn - (warp.steps - began)) {
                return stop;
            }
        }
    }

    /// `None` if there are undefined values from now on, so that it must go on with an eye on them.
    fn run_once(&mut self, env: &mut Environment, warp: &mut Warp, at: usize, turn: u64) -> Option<Stop> {
        #[cfg(target_arch = "x86_64")]
        if self.has_avx2 {
            // SAFETY: `has_avx2` says that the processor has the features that the function is compiled for.
            return unsafe { self.run_avx2(env, warp, at, turn) };
        }
        self.run_split::<false>(env, warp, at, turn)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    fn run_avx2(&mut self, env: &mut Environment, warp: &mut Warp, at: usize, turn: u64) -> Option<Stop> {
        self.run_split::<true>(env, warp, at, turn)
    }

    #[inline(always)]
    fn run_split<const AVX2: bool>(
        &mut self,
        env: &mut Environment,
        warp: &mut Warp,
        at: usize,
        turn: u64,
    ) -> Option<Stop> {
        let code = self.context.code;
        let (mut pc, mut mask, meet) = (warp.splits[at].pc, warp.splits[at].mask, warp.splits[at].meet);
        let began = warp.steps;
        let mut left = turn;
        let mut first = pc;
        let recorded = self.recorder.records(env.linear);
        let mut watched = recorded || !warp.undefined.is_empty();
        self.recording = false;
        loop {
            if pc == meet || left == 0 {
                self.passed(first, pc, mask);
                warp.steps = began + (turn - left);
                if pc == meet {
                    warp.end(at);
                    return Some(Stop::Blocked);
                }
                warp.splits[at].pc = pc;
                return Some(self.end_turn(env, warp, pc, mask));
            }
            left -= 1;
            let inst = &code.insts[pc as usize];
            let active = guarded(warp, inst, mask);
            if watched {
                self.follow(warp, at, pc, active);
                self.recording = recorded && self.recorder.begin(env, warp, pc, mask, active);
            }
            let issue = Issue { env: &mut *env, warp: &mut *warp, at, pc, inst, active };
            match self.execute::<AVX2>(issue, mask, began + (turn - left)) {
                Next::On => {}
                Next::To(target) => {
                    self.passed(first, pc + 1, mask);
                    (first, pc) = (target, target);
                    continue;
                }
                Next::With(lanes) => {
                    self.passed(first, pc + 1, mask);
                    (first, mask) = (pc + 1, lanes);
                }
                Next::Stop(stop) => {
                    self.passed(first, pc + 1, mask);
                    warp.steps = began + (turn - left);
                    return Some(stop);
                }
                Next::Again => {
                    self.passed(first, pc + 1, mask);
                    warp.steps = began + (turn - left);
                    if std::mem::take(&mut self.recording) {
                        self.recorder.values(code, warp, inst);
                    }
                    warp.splits[at].pc = pc + 1;
                    return None;
                }
            }
            if watched {
                if std::mem::take(&mut self.recording) {
                    self.recorder.values(code, warp, inst);
                }
                self.unload(env);
                watched = recorded || !warp.undefined.is_empty();
            }
            pc += 1;
        }
    }

    /// Executes one instruction of a split that has the lanes `mask`. `steps` counts the warp's instructions up to this one.
    /// Functions of their own get a copy of the issue, so that its parts can stay in registers where there is none.
    #[inline(always)]
    fn execute<const AVX2: bool>(&mut self, mut issue: Issue<'_>, mask: u32, steps: u64) -> Next {
        let Issue { at, pc, inst, active, .. } = issue;
        match inst.op {
            Op::Alu(alu) => issue.warp.alu::<AVX2>(alu, inst, active),
            Op::Exact { at, .. } => exact(issue.warp, &self.context.code.exact[usize::from(at)], active),
            Op::Branch => return self.branch(issue, mask),
            Op::Load(op) => {
                self.load::<AVX2>(issue.again(), op);
                if !self.passing.unread.is_empty() {
                    return self.mark_read(issue.again());
                }
            }
            Op::Store(op) => self.store::<AVX2>(issue.again(), op),
            Op::Atomic(op) => self.atomic::<AVX2>(issue.again(), op),
            Op::Call | Op::Return | Op::BranchIndexed | Op::Stack(_) if active != 0 => {
                return match self.transfer(issue.again()) {
                    Ok(()) => Next::With(issue.warp.splits[at].mask),
                    Err(stop) => Next::Stop(stop),
                };
            }
            Op::LoadFrame(_) | Op::StoreFrame(_) | Op::LocalAddress => self.frame(issue.warp, at, inst, active),
            Op::Exit => {
                let rest = mask & !active;
                return if leave(issue.warp, at, rest, active) { Next::Stop(Stop::Blocked) } else { Next::With(rest) };
            }
            Op::Trap if active != 0 => {
                let for_want_of_cooperation = !self.context.launch.cooperative && self.context.code.uses_grid_barrier();
                let detail = Detail::Trap { for_want_of_cooperation };
                self.findings.found(&issue.again(), active, fault::Code::Trap, detail);
                return Next::Stop(Stop::Fatal);
            }
            Op::Barrier | Op::BarrierArrive | Op::BarrierReduce(_) | Op::ClusterArrive { .. } | Op::ClusterWait => {
                issue.warp.splits[at].pc = pc;
                if !self.has_barrier(&issue.again()) {
                    return Next::Stop(Stop::Fatal);
                }
                if active != 0 && barrier::meet(issue.again()) {
                    return Next::Stop(Stop::Blocked);
                }
            }
            Op::CopyAsync | Op::CopyBulk | Op::StoreBulk | Op::PrefetchBulk => return self.copy(issue.again()),
            Op::StoreAsync(op) => self.store_async(issue.again(), op),
            Op::CopyCommit | Op::CopyWait | Op::BulkCommit | Op::BulkWait => self.group(issue.again()),
            Op::Mbarrier(op) => {
                if self.mbarrier(issue.again(), op) {
                    issue.warp.splits[at].pc = pc + 1;
                    return Next::Stop(self.end_turn(issue.env, issue.warp, pc, mask));
                }
            }
            Op::LetNextLaunch | Op::WaitForLaunch if active != 0 => return self.between_launches(issue.again()),
            Op::Fence { scope, orders_fences } => self.fence(&mut issue.again(), scope, orders_fences),
            Op::MapShared { .. } | Op::RankOf { .. } => team::address(issue.env, issue.warp, inst, active),
            Op::WarpBarrier
            | Op::Shuffle(_)
            | Op::Vote(_)
            | Op::Match { .. }
            | Op::Redux(_)
            | Op::Elect
            | Op::Matrix { .. }
                if active != 0 =>
            {
                return match self.collective::<AVX2>(issue.again()) {
                    None => Next::Stop(Stop::Blocked),
                    Some(_) if !issue.warp.undefined.is_empty() => Next::Again,
                    Some(lanes) => Next::With(lanes),
                };
            }
            _ => simple::<AVX2>(issue.warp, inst, active, mask, steps),
        }
        Next::On
    }

    #[inline(always)]
    fn branch(&mut self, issue: Issue<'_>, mask: u32) -> Next {
        let Issue { warp, at, pc, inst, active, .. } = issue;
        let target = inst.imm as u32;
        if active == mask {
            return Next::To(target);
        }
        if active == 0 {
            return Next::On;
        }
        self.counts[pc as usize].divergent += 1;
        warp.splits[at].mask = mask;
        warp.part(at, active, target, pc + 1, inst.reconverge);
        Next::Stop(Stop::Blocked)
    }

    /// The lanes `mask` executed the instructions from `first` to the one before `end`.
    #[inline(always)]
    fn passed(&mut self, first: u32, end: u32, mask: u32) {
        let threads = u64::from(mask.count_ones());
        for (at, issued, threads) in [(first, 1, threads), (end, u64::MAX, threads.wrapping_neg())] {
            let edge = &mut self.edges[at as usize];
            edge.issued = edge.issued.wrapping_add(issued);
            edge.threads = edge.threads.wrapping_add(threads);
        }
    }

    /// A turn is over: the launch too, if this warp alone has run longer than a block should. (A block that meets at
    /// barriers for ever never ends a turn; `Block::run` sees that.)
    #[inline(never)]
    fn end_turn(&mut self, env: &mut Environment, warp: &mut Warp, pc: u32, mask: u32) -> Stop {
        let budget = self.context.options.steps_per_block_max;
        if warp.steps < budget {
            return Stop::Turn;
        }
        self.findings.step_budget(env, warp, pc, mask, budget);
        Stop::Fatal
    }

    /// Returns whether lanes of one warp are ordered by `.sync` instructions only.
    fn lanes_apart(&self) -> bool {
        self.context.options.schedule.lanes_apart()
    }
}

/// Memo of the accesses of an instruction.
fn memos(inst: &Inst) -> Memos {
    match inst.op.counted() {
        Counted::Load | Counted::Store | Counted::Atomic | Counted::Copy => Memos::new(),
        _ => Memos::none(),
    }
}

/// The lanes `active` of split `at` exit and leave it with the lanes `rest`. True if that was its end.
#[inline(always)]
fn leave(warp: &mut Warp, at: usize, rest: u32, active: u32) -> bool {
    warp.live &= !active;
    warp.splits[at].mask = rest;
    if rest == 0 {
        warp.end(at);
    }
    rest == 0
}

/// The lanes of `mask` whose guard lets them take part.
#[inline(always)]
fn guarded(warp: &Warp, inst: &Inst, mask: u32) -> u32 {
    if inst.guard.predicate == NONE {
        return mask;
    }
    let p = warp.p[usize::from(inst.guard.predicate)];
    mask & if inst.guard.negated { !p } else { p }
}

/// Moves, selections and predicate logic. `mask` is all lanes of the split, `active` those that take part; `steps` is the time.
#[inline(always)]
fn simple<const AVX2: bool>(warp: &mut Warp, inst: &Inst, active: u32, mask: u32, steps: u64) {
    match inst.op {
        Op::Setp(alu, combine, negated) => {
            warp.alu::<AVX2>(alu, inst, active);
            let compared = warp.compared;
            let other = warp.p.get(usize::from(inst.c)).map_or(0, |&p| if negated { !p } else { p });
            let join = |compared: u32| match combine {
                Combine::None => compared,
                Combine::And => compared & other,
                Combine::Or => compared | other,
                Combine::Xor => compared ^ other,
            };
            store_predicate(warp, inst.d, join(compared), active);
            store_predicate(warp, inst.e, join(!compared), active);
        }
        Op::Mov32 => {
            let row = warp.w[usize::from(inst.a)].0;
            store32(warp, inst.d, &row, active);
        }
        Op::Mov64 => {
            let row = warp.d[usize::from(inst.a)].0;
            store64(warp, inst.d, &row, active);
        }
        Op::Selp32 | Op::Selp64 => select(warp, inst, active),
        Op::PredAnd => store_predicate(warp, inst.d, p(warp, inst.a) & p(warp, inst.b), active),
        Op::PredOr => store_predicate(warp, inst.d, p(warp, inst.a) | p(warp, inst.b), active),
        Op::PredXor => store_predicate(warp, inst.d, p(warp, inst.a) ^ p(warp, inst.b), active),
        Op::PredNot => store_predicate(warp, inst.d, !p(warp, inst.a), active),
        Op::PredMov => store_predicate(warp, inst.d, p(warp, inst.a), active),
        Op::Pack64 | Op::Unpack64 | Op::Pack32 | Op::Unpack32 => repack(warp, inst, active),
        Op::ActiveMask => store32(warp, inst.d, &[mask; 32], active),
        Op::Clock if inst.imm == 1 => store64(warp, inst.d, &[steps; 32], active),
        Op::Clock if inst.imm == 2 => store32(warp, inst.d, &[(steps >> 32) as u32; 32], active),
        Op::Clock => store32(warp, inst.d, &[steps as u32; 32], active),
        _ => {}
    }
}

#[inline(always)]
fn p(warp: &Warp, index: u16) -> u32 {
    warp.p[usize::from(index)]
}

#[inline(always)]
fn select(warp: &mut Warp, inst: &Inst, active: u32) {
    let chosen = p(warp, inst.c);
    if inst.op == Op::Selp64 {
        let (a, b) = (&warp.d[usize::from(inst.a)].0, &warp.d[usize::from(inst.b)].0);
        let mut out = [0; 32];
        for lane in 0..32 {
            out[lane] = if chosen & (1 << lane) != 0 { a[lane] } else { b[lane] };
        }
        store64(warp, inst.d, &out, active);
    } else {
        let (a, b) = (&warp.w[usize::from(inst.a)].0, &warp.w[usize::from(inst.b)].0);
        let mut out = [0; 32];
        for lane in 0..32 {
            out[lane] = if chosen & (1 << lane) != 0 { a[lane] } else { b[lane] };
        }
        store32(warp, inst.d, &out, active);
    }
}

/// Between one register and its two halves.
#[inline(always)]
fn repack(warp: &mut Warp, inst: &Inst, active: u32) {
    match inst.op {
        Op::Pack64 | Op::Pack32 => {
            let (a, b) = (warp.w[usize::from(inst.a)].0, warp.w[usize::from(inst.b)].0);
            if inst.op == Op::Pack64 {
                let out = std::array::from_fn(|lane| u64::from(a[lane]) | u64::from(b[lane]) << 32);
                store64(warp, inst.d, &out, active);
            } else {
                let out = std::array::from_fn(|lane| (a[lane] & 0xffff) | b[lane] << 16);
                store32(warp, inst.d, &out, active);
            }
        }
        Op::Unpack64 => {
            let a = warp.d[usize::from(inst.a)].0;
            store32(warp, inst.d, &a.map(|v| v as u32), active);
            store32(warp, inst.e, &a.map(|v| (v >> 32) as u32), active);
        }
        _ => {
            let a = warp.w[usize::from(inst.a)].0;
            store32(warp, inst.d, &a.map(|v| v & 0xffff), active);
            store32(warp, inst.e, &a.map(|v| v >> 16), active);
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    std::is_x86_feature_detected!("avx2")
        && std::is_x86_feature_detected!("fma")
        && std::is_x86_feature_detected!("bmi1")
        && std::is_x86_feature_detected!("bmi2")
        && std::is_x86_feature_detected!("lzcnt")
        && std::is_x86_feature_detected!("popcnt")
}
