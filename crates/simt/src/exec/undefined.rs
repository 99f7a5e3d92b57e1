//! Values that PTX leaves undefined, followed to their use: a value shuffled from a lane that takes no part, an uninitialised
//! read, a register that nothing has set. Such a value may be carried along and thrown away, which is no fault; a finding is made when
//! something depends on it: an address, the path of a branch, the result of an atomic that other threads see, a result in global
//! memory. `carried` knows where copies of uninitialised values lie, and `lower/unset.rs` which unset registers are worth following: a function
//! begins with their marks, and a block where nothing needs them any more takes them off.
//!
//! Nothing is paid while no register of a warp is marked. With the first mark the run loop is left and entered anew, and from then on looks here
//! at each instruction before it is executed.

use std::collections::BTreeMap;

use super::block::Environment;
use super::carried::{Cargo, Unread};
use super::findings::{Finding, Use};
use super::issue::{Issue, addresses};
use super::warp::Warp;
use super::{Machine, Next};
use crate::code::{Decider, Effect, Function, Inst, MemOp, NONE, Op, Reg, Target, moves, operands};
use crate::lower::live::{reads, writes};
use crate::masks::{filter, lanes};
use crate::memory::{LOCAL_BASE, PARAM_BASE};
use crate::ops::Row;

/// Place of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Home {
    Register(Row, Reg),
    /// A row of the stack of parameters.
    Frame(u32),
    /// A word of local memory.
    Local(u32),
}

/// Origin of undefined values: a finding, once they are used.
#[derive(Debug)]
struct Origin {
    finding: Finding,
    /// Lanes that have not been reported.
    left: u32,
    kind: Kind,
    /// Registers that got the value as it is: to store one of these is to copy it, and to store what was computed from it is a use.
    copies: Registers,
}

/// Kind of an undefined value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The value of a lane that takes no part in a shuffle.
    Shuffled,
    /// An uninitialised read.
    Read,
    /// Likewise, but the finding is about an earlier load, of which this value is a copy: its lanes are not those that have the value
    /// here.
    Copied,
    /// A register that nothing has set; the finding is about the place of its use.
    Unset,
}

impl Kind {
    /// Returns whether its bits count as defined once joined with defined bits, as a partly written word does.
    fn is_partly(self) -> bool {
        self != Kind::Shuffled
    }
}

/// Undefined values of a warp.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// The lanes whose value in a place is undefined, by origin: rising, each with lanes. A sum of a thousand undefined values has a
    /// thousand origins.
    marks: BTreeMap<Home, Vec<Part>>,
    /// Numbers of the registers that may have marks, of whichever file, a bit each: most instructions have none of them.
    numbers: Vec<u64>,
    origins: Vec<Origin>,
    /// Origins of which no mark was left when they were last counted, the first one last.
    free: Vec<usize>,
    /// Number of origins at which they are counted again.
    enough: usize,
}

/// An origin, and lanes.
type Part = (usize, u32);

impl Marks {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    pub(super) fn forget(&mut self) {
        *self = Marks::default();
    }

    /// Returns whether an instruction has nothing to do with any undefined value. False if that is not seen at once.
    #[inline]
    fn is_apart_from(&self, inst: &Inst) -> bool {
        let may_have =
            |reg: Reg| self.numbers.get(usize::from(reg) / 64).is_some_and(|word| word >> (reg % 64) & 1 != 0);
        let are_all = match inst.op {
            // Local memory has marks of its own.
            Op::Load(op) | Op::Store(op) => op.vector == 1 && !matches!(op.target, Target::Local | Target::Generic),
            Op::Exact { .. } => false,
            op => op.is_arithmetic() || op == Op::Branch,
        };
        are_all && ![inst.d, inst.a, inst.b, inst.c, inst.e, inst.guard.predicate].into_iter().any(may_have)
    }

    /// The lanes whose value there is undefined.
    pub(super) fn lanes(&self, home: Home) -> u32 {
        self.parts(home, u32::MAX).fold(0, |all, part| all | part.1)
    }

    /// Returns the undefined part of `within` there, by origin.
    fn parts(&self, home: Home, within: u32) -> impl Iterator<Item = Part> + '_ {
        let all = self.marks.get(&home).into_iter().flatten();
        all.map(move |&(origin, lanes)| (origin, lanes & within)).filter(|part| part.1 != 0)
    }

    /// The lanes `within` get a new value there.
    pub(super) fn clear(&mut self, home: Home, within: u32) {
        self.take_off(home, within, |_| true);
    }

    /// Takes the marks of what nothing has set off the lanes `within`.
    fn outlive(&mut self, home: Home, within: u32) {
        self.take_off(home, within, |origin| origin.kind == Kind::Unset);
    }

    fn take_off(&mut self, home: Home, within: u32, is_meant: fn(&Origin) -> bool) {
        let Some(parts) = self.marks.get_mut(&home) else { return };
        let origins = &self.origins;
        parts.iter_mut().filter(|part| is_meant(&origins[part.0])).for_each(|part| part.1 &= !within);
        parts.retain(|part| part.1 != 0);
        if parts.is_empty() {
            self.marks.remove(&home);
        }
    }

    fn add(&mut self, home: Home, parts: &[Part]) {
        if parts.iter().all(|part| part.1 == 0) {
            return;
        }
        if let Home::Register(_, reg) = home {
            let word = usize::from(reg) / 64;
            if self.numbers.len() <= word {
                self.numbers.resize(word + 1, 0);
            }
            self.numbers[word] |= 1 << (reg % 64);
        }
        let all = self.marks.entry(home).or_default();
        all.extend(parts.iter().filter(|part| part.1 != 0));
        // Stable, since that is fast where both are sorted.
        all.sort();
        all.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 |= if same { next.1 } else { 0 };
            same
        });
    }

    /// A row of the stack of parameters is copied for the lanes `mask`.
    pub(super) fn copy(&mut self, from: Home, to: Home, mask: u32) {
        let parts: Vec<Part> = self.parts(from, mask).collect();
        self.clear(to, mask);
        self.add(to, &parts);
    }

    /// These registers get the values as they are.
    fn copy_to(&mut self, registers: &[(Row, Reg)], parts: &[Part]) {
        for &(origin, _) in parts.iter().filter(|part| part.1 != 0) {
            let copies = &mut self.origins[origin].copies;
            let new = registers.iter().filter(|register| !copies.contains(register)).copied().collect::<Registers>();
            copies.extend(new);
        }
    }

    /// A place for a new origin: that of one of which no mark is left, if there is one.
    fn begin(&mut self, new: Origin) -> usize {
        if self.free.is_empty() && self.origins.len() >= self.enough {
            let mut used = vec![false; self.origins.len()];
            self.marks.values().flatten().for_each(|part| used[part.0] = true);
            self.free = (0..used.len()).rev().filter(|&at| !used[at]).collect();
            self.enough = 2 * (used.len() - self.free.len()) + 8;
        }
        match self.free.pop() {
            Some(at) => {
                self.origins[at] = new;
                at
            }
            None => {
                self.origins.push(new);
                self.origins.len() - 1
            }
        }
    }
}

impl Warp {
    /// The lanes `lanes` of the registers that `registers` names hold an undefined value from now on, for which `finding` says why.
    pub(super) fn mark_undefined(&mut self, registers: &[(Row, Reg)], lanes: u32, finding: Finding, kind: Kind) {
        self.mark(lanes, Origin { finding, left: lanes, kind, copies: registers.to_vec() });
    }

    /// Marks the registers of a function that begins for the lanes `lanes`, as far as a use of them may come before any write.
    #[cold]
    pub(super) fn mark_unset(&mut self, env: &Environment, function: &Function, lanes: u32) {
        for &register in &function.unset {
            self.undefined.clear(Home::Register(register.0, register.1), lanes);
            self.mark_undefined(&[register], lanes, Finding::unset(env, self.index, lanes), Kind::Unset);
        }
    }

    /// The lanes `lanes` will not use the values of these registers any more, as far as nothing has set them.
    pub(super) fn outlive(&mut self, registers: &[(Row, Reg)], lanes: u32) {
        registers.iter().for_each(|&(row, reg)| self.undefined.outlive(Home::Register(row, reg), lanes));
    }

    /// Marks registers like `mark_undefined`, for an uninitialised value that other lanes have read.
    pub(super) fn mark_copied(&mut self, registers: &[(Row, Reg)], lanes: u32, finding: Finding) {
        let left = finding.lanes();
        self.mark(lanes, Origin { finding, left, kind: Kind::Copied, copies: registers.to_vec() });
    }

    fn mark(&mut self, lanes: u32, origin: Origin) {
        let registers = origin.copies.clone();
        let origin = self.undefined.begin(origin);
        for (row, reg) in registers.into_iter().filter(|register| register.1 != NONE) {
            self.undefined.add(Home::Register(row, reg), &[(origin, lanes)]);
        }
    }
}

/// Registers with their file.
type Registers = Vec<(Row, Reg)>;

impl Machine<'_> {
    /// The instruction at `pc` is about to be executed by the lanes `active` of split `at`, which has the lanes `mask`: what it does
    /// with undefined values.
    #[cold]
    pub(super) fn follow(&mut self, warp: &mut Warp, at: usize, pc: u32, active: u32) {
        if warp.undefined.is_empty() {
            return;
        }
        let code = self.context.code;
        let (inst, mask) = (&code.insts[pc as usize], warp.splits[at].mask);
        warp.outlive(code.outlived.at(pc), mask);
        if warp.undefined.is_apart_from(inst) {
            return;
        }
        let guard: Vec<Part> = match inst.guard.predicate {
            NONE => Vec::new(),
            predicate => warp.undefined.parts(Home::Register(Row::P, predicate), mask).collect(),
        };
        let mut sources: Registers = reads(code, inst);
        sources.retain(|&source| source != (Row::P, inst.guard.predicate));
        let results = writes(code, inst);
        match Effect::of(inst) {
            effect @ (Effect::Results | Effect::Joins | Effect::Masks | Effect::Chooses | Effect::Decides(_)) => {
                let mut parts = match effect {
                    Effect::Chooses => chosen(warp, inst, active),
                    Effect::Joins => joined(warp, &sources, active),
                    Effect::Masks => masked(warp, &sources, active),
                    Effect::Decides(decider) => undecided(warp, inst, &sources, decider, active),
                    _ => together(warp, &sources, active),
                };
                // It is undefined whether these execute it.
                parts.extend(guard);
                let copies = if moves(inst.op) { results.as_slice() } else { &[] };
                warp.undefined.copy_to(copies, &parts);
                put(warp, &results, active, &parts);
            }
            Effect::Loads(op) => {
                self.use_undefined(warp, pc, Use::Path, &guard);
                let address = together(warp, &sources, active);
                self.use_undefined(warp, pc, Use::Address, &address);
                let parts = loaded(warp, inst, op, active);
                warp.undefined.copy_to(&results, &parts);
                put(warp, &results, active, &parts);
            }
            Effect::Stores(op) => {
                let address = inst.address();
                let parts = together(warp, &[address], active);
                self.use_undefined(warp, pc, Use::Address, &parts);
                self.use_undefined(warp, pc, Use::Path, &guard);
                sources.retain(|&source| source != address);
                self.store_undefined(warp, pc, op, &sources, active);
            }
            Effect::LoadsFrame(op) => {
                let rows = frame_rows(warp, at, inst, op);
                for (element, result) in results.iter().enumerate().take(usize::from(op.vector)) {
                    let parts: Vec<Part> =
                        rows(element).flat_map(|row| warp.undefined.parts(Home::Frame(row), active)).collect();
                    warp.undefined.copy_to(&[*result], &parts);
                    put(warp, &[*result], active, &parts);
                }
            }
            Effect::StoresFrame(op) => store_frame(warp, at, inst, op, &sources, active),
            Effect::Exchanges => self.use_undefined(warp, pc, Use::Path, &guard),
            Effect::Uses => {
                self.use_undefined(warp, pc, Use::Path, &guard);
                for operand in operands(code, inst).into_iter().filter(|operand| operand.reads_value()) {
                    let parts = together(warp, &[(operand.row, operand.reg)], active);
                    self.use_undefined(warp, pc, Use::of(inst, operand), &parts);
                }
                put(warp, &results, active, &[]);
            }
        }
    }

    /// Marks the registers that a load has filled with uninitialised values.
    #[cold]
    pub(super) fn mark_read(&mut self, issue: Issue<'_>) -> Next {
        let results = writes(self.context.code, issue.inst);
        for Unread { lanes, elements, finding, is_copy } in self.passing.unread.drain(..) {
            let registers: Registers =
                results.iter().enumerate().filter(|(i, _)| elements >> i & 1 != 0).map(|(_, &result)| result).collect();
            let (left, kind) = (finding.lanes(), if is_copy { Kind::Copied } else { Kind::Read });
            issue.warp.mark(lanes, Origin { finding, left, kind, copies: registers });
        }
        Next::Again
    }

    /// Something that instruction `pc` does depends on these values.
    fn use_undefined(&mut self, warp: &mut Warp, pc: u32, how: Use, parts: &[Part]) {
        for &(origin, lanes) in parts.iter().filter(|part| part.1 != 0) {
            let origin = &mut warp.undefined.origins[origin];
            if origin.kind == Kind::Copied {
                if std::mem::take(&mut origin.left) != 0 {
                    self.findings.seen(origin.finding.clone());
                }
                continue;
            }
            let is_new = origin.left == origin.finding.lanes();
            let used = match lanes & origin.left {
                // They have gone to other lanes.
                0 if is_new => origin.left,
                used => used,
            };
            origin.left &= !used;
            match origin.kind {
                _ if used == 0 => {}
                Kind::Unset => self.findings.used(&origin.finding.used_at(pc, how), used),
                _ => self.findings.used(&origin.finding, used),
            }
        }
    }

    /// Moves marks along with a store of `sources` to local memory. A store to other memory is a use, unless it copies an
    /// uninitialised value.
    fn store_undefined(&mut self, warp: &mut Warp, pc: u32, op: MemOp, sources: &[(Row, Reg)], active: u32) {
        let at = addresses(warp, &self.context.code.insts[pc as usize]);
        let local = local_lanes(op.target, &at, active);
        let bytes = u64::from(op.width.bytes);
        for (element, source) in sources.iter().enumerate().take(usize::from(op.vector)) {
            let parts = together(warp, &[*source], active);
            let place = |lane: usize| at[lane].wrapping_add(element as u64 * bytes);
            for lane in lanes(local) {
                let own: Vec<Part> = parts.iter().map(|&(origin, lanes)| (origin, lanes & 1 << lane)).collect();
                for home in words(place(lane), bytes) {
                    if bytes >= 4 {
                        warp.undefined.clear(home, 1 << lane);
                    }
                    warp.undefined.add(home, &own);
                }
            }
            let first = self.passing.cargo.len();
            for (origin, holders) in parts {
                let Origin { kind, copies, .. } = &warp.undefined.origins[origin];
                if !kind.is_partly() || !copies.contains(source) {
                    self.use_undefined(warp, pc, Use::Stored, &[(origin, holders & !local)]);
                    continue;
                }
                let Origin { finding, kind, .. } = &warp.undefined.origins[origin];
                for lane in lanes(holders & !local) {
                    // If several are joined in one value, the first stands for all.
                    if let Some(known) = self.passing.cargo[first..].iter_mut().find(|cargo| cargo.lane == lane) {
                        known.finding.count += 1;
                        continue;
                    }
                    let finding = match kind {
                        Kind::Copied => finding.clone().times(1),
                        Kind::Unset => finding.used_at(pc, Use::Stored).for_lanes(1 << lane),
                        _ => finding.for_lanes(1 << lane),
                    };
                    let (target, address, bytes) = (op.target, place(lane), op.width.bytes.into());
                    self.passing.cargo.push(Cargo { lane, target, address, bytes, finding });
                }
            }
        }
    }

    /// Spreads marks in a vote, match or reduction by the lanes `here`: one undefined source makes all results undefined. The lanes
    /// that an undefined mask names are unknown.
    #[cold]
    pub(super) fn exchange_undefined(&mut self, warp: &mut Warp, pc: u32, here: u32) {
        let code = self.context.code;
        let inst = &code.insts[pc as usize];
        let mask = (Row::W, inst.mask_row());
        let parts = together(warp, &[mask], here);
        self.use_undefined(warp, pc, Use::Other, &parts);
        let sources: Registers = reads(code, inst).into_iter().filter(|source| *source != mask).collect();
        let parts: Vec<Part> = together(warp, &sources, here).into_iter().map(|(origin, _)| (origin, here)).collect();
        put(warp, &writes(code, inst), here, &parts);
    }

    /// A shuffle by the lanes `here`, each from the lane that `from` says.
    #[cold]
    pub(super) fn shuffle_undefined(&mut self, warp: &mut Warp, pc: u32, here: u32, from: &[u32; 32]) {
        let inst = &self.context.code.insts[pc as usize];
        let mask = together(warp, &[(Row::W, inst.f)], here);
        self.use_undefined(warp, pc, Use::Other, &mask);
        let places = together(warp, &[(Row::W, inst.b), (Row::W, inst.c)], here);
        let values = together(warp, &[(Row::W, inst.a)], u32::MAX);
        let brought = values
            .into_iter()
            .map(|(origin, lanes)| (origin, filter(here, |lane| lanes >> (from[lane] & 31) & 1 != 0)));
        let parts: Vec<Part> = brought.chain(places.iter().copied()).collect();
        put(warp, &[(Row::W, inst.d)], here, &parts);
        put(warp, &[(Row::P, inst.e)], here, &places);
    }
}

/// Returns the lanes of `active` with an undefined value in one of these registers, oldest origin first.
fn together(warp: &Warp, sources: &[(Row, Reg)], active: u32) -> Vec<Part> {
    let of = |&(row, reg): &(Row, Reg)| warp.undefined.parts(Home::Register(row, reg), active);
    let mut parts: Vec<Part> = sources.iter().filter(|source| source.1 != NONE).flat_map(of).collect();
    parts.sort_unstable();
    parts
}

/// Returns the lanes of `active` whose value is undefined once the bits of these registers are joined.
fn joined(warp: &Warp, sources: &[(Row, Reg)], active: u32) -> Vec<Part> {
    let lanes_of = |&(row, reg): &(Row, Reg)| warp.undefined.lanes(Home::Register(row, reg));
    let everywhere =
        sources.iter().filter(|source| source.1 != NONE).fold(active, |all, source| all & lanes_of(source));
    let keep = |(origin, lanes): Part| match warp.undefined.origins[origin].kind.is_partly() {
        true => (origin, lanes & everywhere),
        false => (origin, lanes),
    };
    together(warp, sources, active).into_iter().map(keep).collect()
}

/// Returns the lanes of `active` whose value is undefined once these registers are multiplied, or bits of one taken by the other: not
/// those that have a defined 0.
fn masked(warp: &Warp, sources: &[(Row, Reg)], active: u32) -> Vec<Part> {
    let is_zero = |row: Row, reg: Reg, lane: usize| match row {
        Row::W => warp.w[usize::from(reg)].0[lane] == 0,
        Row::D => warp.d[usize::from(reg)].0[lane] == 0,
        Row::P => false,
    };
    let zeros = |&(row, reg): &(Row, Reg)| {
        let defined = active & !warp.undefined.lanes(Home::Register(row, reg));
        filter(defined, |lane| is_zero(row, reg, lane))
    };
    let settled = sources.iter().fold(0, |all, source| all | zeros(source));
    together(warp, sources, active & !settled)
}

/// Returns the lanes of `active` with an undefined result of a `selp`; the source that is not chosen does not matter.
fn chosen(warp: &Warp, inst: &Inst, active: u32) -> Vec<Part> {
    let row = if inst.op == Op::Selp64 { Row::D } else { Row::W };
    let choice = warp.p[usize::from(inst.c)];
    let mut parts = together(warp, &[(row, inst.a)], active & choice);
    parts.extend(together(warp, &[(row, inst.b)], active & !choice));
    parts.extend(together(warp, &[(Row::P, inst.c)], active));
    parts
}

/// Returns the lanes of `active` with an undefined combination of two predicates: not those where a defined one settles it. The
/// first operand of a `setp` is its comparison, which is not made yet.
fn undecided(warp: &Warp, inst: &Inst, sources: &[(Row, Reg)], decider: Decider, active: u32) -> Vec<Part> {
    let settled_by = |reg: Reg, is_negated: bool| {
        let lanes = warp.p[usize::from(reg)];
        let settling = if decider.settles != is_negated { lanes } else { !lanes };
        settling & !warp.undefined.lanes(Home::Register(Row::P, reg))
    };
    let (second, by_first) = match inst.op {
        Op::Setp(..) => (inst.c, 0),
        _ => (inst.b, settled_by(inst.a, false)),
    };
    let is_second = |source: &&(Row, Reg)| **source == (Row::P, second);
    let (seconds, firsts): (Registers, Registers) = sources.iter().copied().partition(|source| is_second(&source));
    let mut parts = together(warp, &firsts, active & !settled_by(second, decider.is_negated));
    parts.extend(together(warp, &seconds, active & !by_first));
    parts
}

/// The lanes `active` of these registers get new values, of which `parts` are undefined.
fn put(warp: &mut Warp, results: &[(Row, Reg)], active: u32, parts: &[Part]) {
    for &(row, reg) in results.iter().filter(|result| result.1 != NONE) {
        warp.undefined.clear(Home::Register(row, reg), active);
        warp.undefined.add(Home::Register(row, reg), parts);
    }
}

/// Returns the lanes that load an undefined value from local memory.
fn loaded(warp: &Warp, inst: &Inst, op: MemOp, active: u32) -> Vec<Part> {
    let at = addresses(warp, inst);
    let bytes = u64::from(op.width.bytes) * u64::from(op.vector);
    let local = local_lanes(op.target, &at, active);
    let of = |lane: usize| words(at[lane], bytes).flat_map(move |home| warp.undefined.parts(home, 1 << lane));
    lanes(local).flat_map(of).collect()
}

/// Returns the lanes of `active` that address local memory.
fn local_lanes(target: Target, at: &[u64; 32], active: u32) -> u32 {
    match target {
        Target::Local => active,
        Target::Generic => filter(active, |lane| (LOCAL_BASE..PARAM_BASE).contains(&at[lane])),
        _ => 0,
    }
}

/// The words of local memory that an access at `at` touches.
fn words(at: u64, bytes: u64) -> impl Iterator<Item = Home> {
    let at = at & (LOCAL_BASE - 1);
    (at / 4..(at + bytes).div_ceil(4)).map(|word| Home::Local(word as u32))
}

/// A store of `sources` to the stack of parameters takes the marks along.
fn store_frame(warp: &mut Warp, at: usize, inst: &Inst, op: MemOp, sources: &[(Row, Reg)], active: u32) {
    let rows = frame_rows(warp, at, inst, op);
    for (element, source) in sources.iter().enumerate().take(usize::from(op.vector)) {
        let parts = together(warp, &[*source], active);
        for row in rows(element) {
            if op.width.bytes >= 4 {
                warp.undefined.clear(Home::Frame(row), active);
            }
            warp.undefined.add(Home::Frame(row), &parts);
        }
    }
}

/// The rows of the stack of parameters that each element of an access has.
fn frame_rows(warp: &Warp, at: usize, inst: &Inst, op: MemOp) -> impl Fn(usize) -> std::ops::Range<u32> + use<> {
    let (frame, first, bytes) = (warp.splits[at].frame, inst.imm as u32, u32::from(op.width.bytes));
    move |element| {
        let byte = first + element as u32 * bytes;
        frame + byte / 4..frame + (byte + bytes).div_ceil(4)
    }
}
