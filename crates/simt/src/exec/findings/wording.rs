//! Words of findings: accesses by variable and element, with their lines in the source.

use super::{At, Detail, Finding, Use};
use crate::code::{BARRIERS, Inst, Op, SharedVariable};
use crate::counters::grouped;
use crate::exec::issue::Place;
use crate::fault::{Code, Site};
use crate::lower::function_name;
use crate::memory::{CONST_BASE, Memory, element, element_before, element_past};
use crate::program::Kernel;
use crate::race::Hazard;
use crate::report::lanes;

/// Sources of the names in a launch's findings.
pub(in crate::exec) struct Names<'a> {
    pub(in crate::exec) kernel: &'a Kernel,
    /// Kernels of all launches that ran together.
    pub(in crate::exec) kernels: &'a [&'a Kernel],
    pub(in crate::exec) memory: &'a Memory,
    /// Offset of dynamic shared memory, and size of all shared memory of a block, in bytes.
    pub(in crate::exec) dynamic_offset: u32,
    pub(in crate::exec) shared_bytes: u32,
}

/// A place in shared memory.
enum InShared<'a> {
    /// Inside a variable: its name, the offset there, and what is known of its elements.
    Inside(&'a SharedVariable, u32),
    /// A number of bytes past the end of a variable, which has this size.
    Past(&'a SharedVariable, u32, u32),
    /// A number of bytes before a variable.
    Before(&'a SharedVariable, u32),
    Nowhere,
}

impl Names<'_> {
    /// The kernel of the launch that a site belongs to.
    pub(super) fn kernel_of(&self, at: &At) -> &Kernel {
        self.kernels.get(at.launch as usize).unwrap_or(&self.kernel)
    }

    fn variables(&self) -> &[SharedVariable] {
        &self.kernel.code.shared
    }

    /// Whose `address` is: a variable's, or past the end of the one before it.
    fn in_shared(&self, address: u32) -> InShared<'_> {
        let is_dynamic = |v: &&SharedVariable| v.offset == u32::MAX;
        let fixed = self.variables().iter().filter(|v| !is_dynamic(v));
        if let Some(of) = fixed.clone().find(|v| (v.offset..v.offset + v.bytes).contains(&address)) {
            return InShared::Inside(of, address - of.offset);
        }
        let dynamic = self.variables().iter().find(is_dynamic);
        // A small negative number, in 32 bits or in the window of a block of a cluster.
        let before = if address >= 1 << 31 { address.wrapping_neg() } else { (1 << 24) - address.min(1 << 24) };
        if (1..1 << 23).contains(&before) {
            let first = fixed.clone().min_by_key(|v| v.offset).or(dynamic);
            return first.map_or(InShared::Nowhere, |first| InShared::Before(first, before));
        }
        match (dynamic, address.checked_sub(self.dynamic_offset)) {
            (Some(of), Some(at)) if address < self.shared_bytes => InShared::Inside(of, at),
            (Some(of), Some(at)) => {
                let bytes = self.shared_bytes.saturating_sub(self.dynamic_offset);
                InShared::Past(of, bytes, at - bytes.min(at))
            }
            // Past the end of everything: counted from the last variable before it.
            _ => match fixed.filter(|v| v.offset <= address).max_by_key(|v| v.offset) {
                Some(last) => InShared::Past(last, last.bytes, address - last.offset - last.bytes),
                None => InShared::Nowhere,
            },
        }
    }

    /// `sums[16]`, or the byte offset where no variable is. `width` is what an array of bytes counts in: compilers make
    /// one of every array, and keep its alignment only.
    pub(super) fn shared(&self, address: u32, width: u32) -> String {
        let of = |v: &SharedVariable| if v.element_bytes > 1 { v.element_bytes } else { width.max(1) };
        match self.in_shared(address) {
            InShared::Inside(v, at) => element(&v.name, at.into(), of(v)),
            InShared::Past(v, bytes, past) => element_past(&v.name, bytes.into(), past.into(), of(v)),
            InShared::Before(v, before) => element_before(&v.name, before.into(), of(v)),
            InShared::Nowhere => format!("shared memory at byte {address}"),
        }
    }

    /// The name of the variable there.
    fn shared_name(&self, address: u32) -> Option<String> {
        match self.in_shared(address) {
            InShared::Inside(v, _) | InShared::Past(v, ..) | InShared::Before(v, _) => Some(v.name.clone()),
            InShared::Nowhere => None,
        }
    }

    /// Returns whether `address` lies past the end of the dynamic shared memory that the launch gives.
    pub(super) fn is_past_dynamic(&self, address: u32) -> bool {
        matches!(self.in_shared(address), InShared::Past(v, ..) if v.offset == u32::MAX)
    }

    /// Bytes of an element of the access at `at`, where it tells.
    fn width(&self, at: &At) -> Option<u32> {
        match self.kernel_of(at).code.insts.get(at.pc as usize)?.op {
            Op::Load(op) | Op::Store(op) | Op::StoreAsync(op) => Some(op.width.bytes.into()),
            Op::Atomic(op) => Some(op.bytes.into()),
            _ => None,
        }
    }
}

impl Finding {
    /// The variable or buffer that it is about.
    pub(super) fn variable(&self, names: &Names<'_>) -> Option<String> {
        match self.detail {
            Detail::Access { place: Place::Shared, address, .. } => names.shared_name(address as u32),
            Detail::NoObject(address) | Detail::Race { address, .. } => names.shared_name(address),
            Detail::Access { place: Place::Global | Place::Const, address, .. }
            | Detail::GlobalRace { address, .. } => names.memory.name_at(address).map(str::to_owned),
            _ => None,
        }
    }

    /// Element size for an array of bytes in shared memory: the narrower of the two accesses, or a word.
    fn width(&self, names: &Names<'_>) -> u32 {
        [Some(&self.at), self.other.as_ref()].into_iter().flatten().filter_map(|at| names.width(at)).min().unwrap_or(4)
    }

    /// Describes an access to the shared memory of another block of the cluster that cannot be made.
    pub(super) fn cluster_sentence(&self, action: &str) -> String {
        match self.detail {
            Detail::NoBlock { ended: Some([x, y, z]), .. } => {
                format!("{action} shared memory of block ({x},{y},{z}) of its cluster, which has ended")
            }
            Detail::NoBlock { rank, size, ended: None } => {
                format!("{action} shared memory of block {rank} of its cluster, which has {size}")
            }
            Detail::CountedElsewhere { rank, counts } => format!(
                "{action} shared memory of block {rank} of its cluster, and a barrier object of block {counts} is to count the bytes"
            ),
            _ => "copies asynchronously into the shared memory of another block".into(),
        }
    }

    /// Describes the fault of a single access.
    pub(super) fn access_sentence(&self, action: &str, names: &Names<'_>) -> String {
        let shared = |address: u32| names.shared(address, self.width(names));
        let (place, address, bytes) = match self.detail {
            Detail::Access { place, address, bytes } => (place, address, bytes),
            Detail::NoObject(address) => {
                return format!("uses {} as a barrier, which no mbarrier.init has made one", names.shared(address, 8));
            }
            Detail::Granule { bytes, multiple } => {
                return format!("{action} {bytes} bytes: the size is no multiple of {multiple}");
            }
            _ => return String::new(),
        };
        let what = match place {
            Place::Global if self.code == Code::OutOfBounds => names.memory.describe_outside(address),
            Place::Global => names.memory.describe(address),
            Place::Const => match address.wrapping_add(CONST_BASE) {
                other @ ..CONST_BASE => format!("{}, which is no constant", names.memory.describe(other)),
                constant => names.memory.describe(constant),
            },
            Place::Shared => shared(address as u32),
            Place::Local => format!("local memory at byte {address}"),
            Place::Param => format!("the kernel's parameters at byte {address}"),
        };
        match self.code {
            Code::Misaligned => {
                format!("{action} {bytes} bytes at {what}: the address {address:#x} is no multiple of {bytes}")
            }
            Code::UninitialisedRead => format!("reads {what}, which nothing has written"),
            _ if matches!(place, Place::Const | Place::Param) && action != "reads" => {
                format!("{action} {bytes} bytes of {what}, which no kernel may change")
            }
            _ if let Some(peer) = self.unmapped(names) => {
                let own = self.at.device;
                format!("{action} {bytes} bytes of {what}, and device {own} has not mapped the memory of device {peer}")
            }
            _ => match self.past_the_end(names, place, address, bytes) {
                0 => format!("{action} {bytes} bytes outside every allocation: {what}"),
                past => {
                    let name = self.variable(names).unwrap_or_default();
                    let past = grouped(past);
                    format!("{action} {bytes} bytes at {what}, the last {past} of them past the end of {name}")
                }
            },
        }
    }

    /// Number of its last bytes that lie past the end, if it starts inside.
    fn past_the_end(&self, names: &Names<'_>, place: Place, address: u64, bytes: u32) -> u64 {
        let (start, end) = match place {
            Place::Global | Place::Const => match names.memory.buffer(address) {
                Some((buffer, offset)) => (offset, buffer.bytes),
                None => return 0,
            },
            Place::Shared => (address, names.shared_bytes.into()),
            Place::Local | Place::Param => return 0,
        };
        if start < end { (start + u64::from(bytes)).saturating_sub(end) } else { 0 }
    }

    /// Describes the later of two accesses, made while the earlier may not be over.
    pub(super) fn race_sentence(&self, names: &Names<'_>) -> String {
        match &self.detail {
            Detail::Race { hazard, address, owner } => {
                let of_block = owner.map_or(String::new(), |[x, y, z]| format!(" of block ({x},{y},{z})"));
                let what = format!("{}{of_block}", names.shared(*address, self.width(names)));
                let opcode = self.other.and_then(|other| names.kernel_of(&other).code.insts.get(other.pc as usize));
                match opcode.map(|inst| inst.op) {
                    Some(Op::StoreAsync(_)) if matches!(hazard, Hazard::ReadOfCopy | Hazard::WriteOverCopy) => {
                        let action = if *hazard == Hazard::ReadOfCopy { "reads" } else { "writes" };
                        format!("{action} {what} while a store that it did not wait for may still be writing it")
                    }
                    _ => sentence(*hazard, &what, None, None),
                }
            }
            Detail::GlobalRace { hazard, address } => {
                sentence(*hazard, &names.memory.describe(*address), self.other_device(), self.other_launch())
            }
            _ => String::new(),
        }
    }

    /// Position in the stream, relative to this launch, of the launch that made the other access; `None` if it is this one.
    pub(super) fn other_launch(&self) -> Option<i64> {
        let other = self.other.as_ref()?;
        Some(i64::from(other.launch) - i64::from(self.at.launch)).filter(|&apart| apart != 0)
    }

    /// The device that made the other access, if it is another.
    pub(super) fn other_device(&self) -> Option<u32> {
        self.other.as_ref().map(|other| other.device).filter(|&device| device != self.at.device)
    }

    /// The device in whose memory an access lies that this one's has not mapped.
    pub(super) fn unmapped(&self, names: &Names<'_>) -> Option<u32> {
        match self.detail {
            Detail::Access { place: Place::Global, address, bytes } if self.code == Code::OutOfBounds => {
                let (buffer, _) = names.memory.holding(address, bytes.into())?;
                Some(buffer.device).filter(|&device| device != self.at.device)
            }
            _ => None,
        }
    }

    /// Describes the threads at the other site of a wait.
    pub(super) fn absence(&self) -> &'static str {
        match self.detail {
            Detail::Barrier => "waits",
            Detail::Lanes { .. } => "is",
            Detail::Stuck if self.code == Code::BarrierDivergence => "is",
            _ => "",
        }
    }

    /// Describes who waits, and for which threads.
    pub(super) fn wait_sentence(&self, names: &Names<'_>) -> String {
        match &self.detail {
            Detail::TooFew { id, expected, came } => {
                format!("waits at barrier {id} for {expected} threads; {came} have come, and no more will")
            }
            Detail::Cluster => {
                "waits for all threads of the cluster to arrive at its barrier, and some never will".into()
            }
            Detail::Spin(on) => format!("{}, and every thread that is left waits for another", on.sentence(names)),
            Detail::Lanes { named, absent } => {
                let come = if absent.count_ones() == 1 { "does not come" } else { "do not come" };
                format!("waits for the lanes that its mask {named:#010x} names, and {} {come}", lanes(*absent))
            }
            Detail::Exited(1) => "opens without one thread of the block, which has exited".into(),
            Detail::Exited(threads) => {
                format!("opens without {threads} threads of the block, which have exited")
            }
            Detail::NotResident { blocks, threads, shared_bytes } => format!(
                "waits, as all {blocks} blocks that have begun do, for one that has not; no card has room for more than {blocks} at once \
                 (threads a block: {threads}, bytes of shared memory: {shared_bytes})",
                blocks = grouped(*blocks),
                shared_bytes = grouped((*shared_bytes).into())
            ),
            Detail::Barrier => "some threads of the block wait at this barrier, others at another one".into(),
            Detail::Stuck if self.code == Code::BarrierDivergence => {
                "waits at this barrier for threads of the block that will not reach it".into()
            }
            _ => "waits here, and no thread of the block can go on".into(),
        }
    }

    /// Says what depends on a value that nothing has set.
    pub(super) fn unset_sentence(&self, how: Use) -> &'static str {
        match how {
            Use::Address => "accesses an address that depends on a variable that was never set on this path",
            Use::Path => "decides where to go by a variable that was never set on this path",
            Use::Atomic => "updates memory by a value that depends on a variable that was never set on this path",
            Use::Stored => "stores a value that depends on a variable that was never set on this path",
            Use::Other => "depends on a variable that was never set on this path",
        }
    }

    /// Whose budget is used up.
    pub(super) fn budget_sentence(&self) -> String {
        let [x, y, z] = self.at.block;
        match self.detail {
            Detail::LaunchBudget(budget) => format!(
                "the launch has used up its step budget of {} warp-instructions, and block ({x},{y},{z}) is here",
                grouped(budget)
            ),
            Detail::Budget(budget) => format!(
                "block ({x},{y},{z}) has used up its step budget of {} warp-instructions, and is here",
                grouped(budget)
            ),
            _ => String::new(),
        }
    }

    /// Action of a call or an indexed branch, and its fault.
    pub(super) fn control_flow(&self, code: &crate::code::Code) -> (&'static str, String) {
        match &self.detail {
            Detail::Assertion(condition) => ("executes", format!("the assertion `{condition}` failed")),
            Detail::Stack { depth, bytes } => {
                let caller = function_name(&code.function_at(self.at.pc).name);
                if let Some(Inst { op: Op::Stack(_), .. }) = code.insts.get(self.at.pc as usize) {
                    let message =
                        format!("no room for what alloca asks in {caller}, on a thread's stack of {bytes} bytes");
                    return ("executes", message);
                }
                (
                    "calls",
                    format!("no room for this call in {caller}, {depth} deep, on a thread's stack of {bytes} bytes"),
                )
            }
            Detail::Pointer { function: Some(index), .. } => {
                let name = function_name(&code.functions[*index as usize].name);
                ("calls", format!("calls {name} through a pointer of another type"))
            }
            Detail::Pointer { address, .. } => {
                ("calls", format!("calls address {address:#x}, which is no function of this program"))
            }
            Detail::NoBarrier(number) => {
                ("executes", format!("names barrier {number}; a block has barriers 0 to {}", BARRIERS - 1))
            }
            Detail::Label(index) => ("executes", format!("branches to label {index} of a list that has fewer")),
            _ => ("executes", String::new()),
        }
    }
}

/// Sentence about the later of two accesses. `device`: that of the earlier one, if it is another; `apart`: position in the stream of
/// the earlier one's launch, likewise.
fn sentence(hazard: Hazard, what: &str, device: Option<u32>, apart: Option<i64>) -> String {
    let peer = device.map(|device| (format!("device {device}"), format!("the write of device {device}")));
    let (who, whose_write) = match (&peer, apart) {
        (Some((who, whose_write)), _) => (who.as_str(), whose_write.as_str()),
        (_, None) => ("another thread", "another thread's write"),
        (_, Some(-1)) => ("the launch before", "the write of the launch before"),
        (_, Some(1)) => ("the next launch", "the write of the next launch"),
        (_, Some(apart)) if apart < 0 => ("an earlier launch", "the write of an earlier launch"),
        (_, Some(_)) => ("a later launch", "the write of a later launch"),
    };
    match hazard {
        Hazard::ReadAfterWrite => format!("reads {what} while {who} may still be writing it"),
        Hazard::WriteAfterRead => format!("writes {what} while {who} may still be reading it"),
        Hazard::WriteAfterWrite | Hazard::WriteTogether => {
            format!("writes {what} while {who} may also be writing it")
        }
        Hazard::UnfencedRead => format!("reads {what} with nothing to say that {whose_write} has arrived"),
        Hazard::UnfencedWrite => format!("writes {what} with nothing to say that {who} has read it"),
        Hazard::UpdateAfterWrite => {
            format!("reads {what} to put it back changed while {who} writes it: one of the two writes may be lost")
        }
        Hazard::WriteIntoUpdate => {
            format!("writes {what} while {who} has read it and puts it back changed: one of the two writes may be lost")
        }
        Hazard::EitherLast => format!("writes {what}, as {who} does: either may come last"),
        Hazard::StaleCache => {
            format!("reads {what} through the cache for constant data, though this launch has written it")
        }
        Hazard::Observed => format!("touches {what} plainly, behind a strong access of {who}"),
        Hazard::EqualWrites => format!("writes to {what} the value that {who} writes there"),
        Hazard::ReadOfCopy => format!("reads {what} while a copy that it did not wait for may still be writing it"),
        Hazard::WriteUnderCopy => {
            format!("writes {what} while a copy that it did not wait for may still be reading it")
        }
        Hazard::WriteOverCopy => {
            format!("writes {what} while a copy that it did not wait for may still be writing it")
        }
    }
}

/// `several`: there are several devices, so that the site names its own.
pub(super) fn site(kernel: &Kernel, several: bool, at: &At, action: &'static str) -> Site {
    let code = &kernel.code;
    let pc = (at.pc as usize).min(code.debug.len() - 1);
    let debug = &code.debug[pc];
    // The compiler gives no line to what it moves, and little that it adds.
    let start = code.function_at(at.pc).start as usize;
    let (file, ptx_line) = kernel.texts.locate(debug.ptx_line);
    let lined = code.debug[start..=pc].iter().rev().find(|debug| debug.loc.is_some()).unwrap_or(debug);
    let own = lined.site(&kernel.sources, file, ptx_line);
    let is_moved = debug.loc.is_none() && lined.loc.is_some();
    let behind = || (at.pc..code.debug.len() as u32).take_while(|&pc| code.function_at(pc).start as usize == start);
    let next = behind().find_map(|pc| code.debug[pc as usize].loc).map_or(own.line, |loc| loc.line);
    Site {
        between: is_moved.then_some([own.line, next]),
        frames: if is_moved { Vec::new() } else { own.frames },
        launch: at.launch,
        device: several.then_some(at.device),
        ptx_line,
        opcode: debug.opcode.clone(),
        block: at.block,
        warp: at.warp,
        lanes: at.lanes,
        action,
        ..own
    }
}
