//! Loads, stores and atomics in register code.

use ptx::Space;

/// Memory that an access goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// `.global`
    Global,
    /// `.const`: lies where global memory does, but is read through a cache of its own, so it has no sectors to count.
    Const,
    /// `.param` of the kernel, at an address computed at run time.
    Param,
    /// `.shared`
    Shared,
    /// `.shared::cluster`: of any block of the cluster.
    Cluster,
    /// `.local`
    Local,
    /// No space given: the address decides, lane by lane.
    Generic,
}

/// Conversion between loaded or stored bytes and a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Width {
    /// 1, 2, 4 or 8 bytes an element.
    pub bytes: u8,
    /// Sign-extend on load.
    pub signed: bool,
    /// The destination is a 64-bit row.
    pub wide: bool,
}

/// Threads for which an ordered access is ordered, from few to all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // named after PTX
pub enum Scope {
    Cta,
    Cluster,
    Gpu,
    Sys,
}

/// Promise of an access to other threads. `.mmio` is [`Order::Relaxed`] for all, and so is `.volatile`; only the check
/// for races in shared memory, where `volatile` orders nothing that a kernel should rely on, tells it apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // named after PTX
pub enum Order {
    Weak,
    Volatile,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
}

/// A load or store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemOp {
    /// Destination memory, or source.
    pub target: Target,
    /// Element.
    pub width: Width,
    /// Elements a lane: 1, 2, 4 or 8.
    pub vector: u8,
    /// Its promise,
    pub order: Order,
    /// and to whom.
    pub scope: Scope,
}

impl MemOp {
    /// Bytes a lane.
    pub fn bytes(self) -> u32 {
        u32::from(self.width.bytes) * u32::from(self.vector)
    }
}

/// Operation of an atomic on memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // named after PTX
pub enum AtomicOp {
    Add,
    AddF16,
    AddBf16,
    AddF32,
    AddF32Ftz,
    AddF64,
    MinU,
    MinS,
    MinF16,
    MinBf16,
    MaxU,
    MaxS,
    MaxF16,
    MaxBf16,
    And,
    Or,
    Xor,
    Exch,
    Cas,
    Inc,
    Dec,
}

/// The machine instruction that becomes of an atomic, as far as its counts go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MachineOp {
    /// ATOM, ATOMG, ATOMS: each lane gets what was there.
    Atom,
    /// ATOM once for all lanes of a warp, which have combined their values.
    AtomOfOne,
    /// ATOM once for a warp that is complete; else each lane for itself.
    AtomOfOneInFullWarps,
    /// RED: no lane gets a value back.
    Red,
    /// RED once for all lanes of a warp.
    RedOfOne,
    /// ATOMS.POPC.INC: the lanes of a word are counted, and their number is added in one pass.
    CountLanes,
    /// LDS and ATOMS.CAST.SPIN, a compare-and-swap, round after round until each lane's has succeeded.
    Rounds,
}

impl MachineOp {
    /// Returns whether it is counted as a reduction.
    pub fn is_red(self) -> bool {
        matches!(self, MachineOp::Red | MachineOp::RedOfOne)
    }

    /// The lanes that reach memory, of those that are active, all of which have the same address where one is enough.
    pub fn reaching(self, mask: u32) -> u32 {
        match self {
            MachineOp::AtomOfOneInFullWarps if mask != u32::MAX => mask,
            MachineOp::AtomOfOne | MachineOp::RedOfOne | MachineOp::AtomOfOneInFullWarps => mask & mask.wrapping_neg(),
            MachineOp::Atom | MachineOp::Red | MachineOp::CountLanes | MachineOp::Rounds => mask,
        }
    }
}

/// `atom` or `red`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtomOp {
    /// Global, shared or generic.
    pub target: Target,
    /// Operation.
    pub op: AtomicOp,
    /// Bytes of one element: 2, 4, 8 or 16. A 16-byte operand is two 64-bit rows, one after the other; operations on
    /// halves of 2 bytes work on each half of an element.
    pub bytes: u8,
    /// Elements a lane: 1, 2, 4 or 8. Of more than one, `f` (result) and `c` (operand) index [`Code::vectors`].
    pub vector: u8,
    /// Machine instruction that it becomes.
    pub machine: MachineOp,
    /// Its promise,
    pub order: Order,
    /// and to whom.
    pub scope: Scope,
}

impl Target {
    /// The target of a PTX state space.
    pub fn of(space: Option<Space>) -> Option<Target> {
        Some(match space {
            Some(Space::Global) => Target::Global,
            Some(Space::Const) => Target::Const,
            Some(Space::Shared) => Target::Shared,
            Some(Space::Local) => Target::Local,
            None => Target::Generic,
            Some(Space::Reg | Space::Param) => return None,
        })
    }
}
