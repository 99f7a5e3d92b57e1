//! The words for each kind of fault. The reports print them and the book's appendix is generated from them.

use super::{Blame, Code};

/// Explanation of a kind of fault, for a reader who meets it for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Explanation {
    /// The side that is to blame.
    pub blame: Blame,
    /// Reason why this is wrong, one sentence.
    pub why: &'static str,
    /// Advice, one sentence.
    pub remedy: &'static str,
    /// Meaning, one paragraph.
    pub meaning: &'static str,
    /// Faults that the check may fail to find.
    pub may_miss: &'static str,
    /// Whether, and when, the check reports what is no fault.
    pub false_alarms: &'static str,
}

impl Code {
    /// Its explanation.
    pub const fn explanation(self) -> &'static Explanation {
        match self {
            Code::OutOfBounds => &OUT_OF_BOUNDS,
            Code::Misaligned => &MISALIGNED,
            Code::UninitialisedRead => &UNINITIALISED_READ,
            Code::SharedRace => &SHARED_RACE,
            Code::GlobalRace => &GLOBAL_RACE,
            Code::BarrierDivergence => &BARRIER_DIVERGENCE,
            Code::Deadlock => &DEADLOCK,
            Code::InactiveShuffleLane => &INACTIVE_SHUFFLE_LANE,
            Code::MaskMismatch => &MASK_MISMATCH,
            Code::StepBudget => &STEP_BUDGET,
            Code::Trap => &TRAP,
            Code::StackOverflow => &STACK_OVERFLOW,
            Code::UnsupportedInstruction => &UNSUPPORTED_INSTRUCTION,
        }
    }
}

const OUT_OF_BOUNDS: Explanation = Explanation {
    blame: Blame::Kernel,
    why: "the address lies in no buffer and no variable, so a GPU would read or overwrite something else, or stop",
    remedy: "compare the index with the number of elements before the access, as in `if (i < n)`",
    meaning: "A lane read or wrote memory that belongs to nothing. Most often a thread of the last block works past the \
        end of the input, because the grid is rounded up to whole blocks; sometimes an index is computed in 32 bits and wraps. \
        A GPU may return rubbish, corrupt another buffer, or end the program with an illegal memory access.",
    may_miss: "an access that goes past its own variable and lands in a neighbouring one in shared memory, where variables \
        lie side by side; buffers of global memory lie far apart, so there it misses nothing",
    false_alarms: "never",
};

const MISALIGNED: Explanation = Explanation {
    blame: Blame::Kernel,
    why: "an access of 2, 4, 8, 16 or 32 bytes must start at a multiple of its size",
    remedy: "start wide loads at an aligned element, and take the few elements before it one by one",
    meaning: "The address of a load or store is not a multiple of its width. It comes up when a `float*` is cast to `float4*` \
        though it does not start on 16 bytes: a slice of an array, an odd offset. A GPU stops the kernel. Of a bulk prefetch \
        address and size must both be multiples of 16; otherwise PTX leaves open what happens.",
    may_miss: "nothing",
    false_alarms: "never",
};

const UNINITIALISED_READ: Explanation = Explanation {
    blame: Blame::Kernel,
    why: "nothing has written this memory, so what is read is whatever was left there",
    remedy: "write the whole array before reading it, the elements of threads without input too (with 0 for a sum)",
    meaning: "A lane read memory that neither the host nor any thread has written. In a reduction it is mostly the part of \
        the shared array whose threads had no element to load. A barrier object that was never initialised is one too. On a GPU the value is left over from an earlier block, often 0, \
        so the kernel seems to work until it runs beside another one. It is reported once the value is used: as an address, in a branch, by \
        an atomic, where what was computed from it is stored to shared or global memory, or as a result that a block leaves in \
        global memory. A copy of it stays uninitialised: a later use of the copy \
        is reported with the load that brought the value first. A value that is thrown away is no fault. A variable that the compiler keeps in a register is \
        followed likewise: if a path leaves it without a value, and an address, a branch, an atomic, a barrier or a mask then depends on \
        it, that is reported at the place of the use.",
    may_miss: "a read of bytes that an earlier, unrelated write of the same launch filled; in shared and local memory, a value of \
        which some bytes were written, since compilers copy structures whole with the holes in them; a value that is joined with \
        bits that were written, in a register or in an element of the result; a variable without a value, kept in a register, that only \
        reaches a result in memory: compilers leave many such registers unset and throw their values away; a variable that the compiler \
        has given some value because the source gives it none",
    false_alarms: "when a hole in a structure is as large as an element of the buffer that the structure is copied to: give the \
        buffer the type of the largest member, or bytes",
};

const SHARED_RACE: Explanation = Explanation {
    blame: Blame::Kernel,
    why: "nothing orders the two accesses, so either may come first, and the result is unpredictable",
    remedy: "put `__syncthreads()` between them, or `__syncwarp()` if both threads are in one warp",
    meaning: "Two threads touch the same bytes of shared memory, at least one writes, and no barrier lies between. Inside \
        one warp this was harmless before Volta, when the 32 lanes moved together; since then each lane may run by itself, and \
        only `__syncwarp()`, or a barrier of the block, makes one lane's writes visible to another. `volatile` does not help: it \
        keeps the compiler from caching a value, it does not make lanes wait. PTX itself has no race between accesses that are volatile or relaxed on \
        both sides. Data that is passed through them with no barrier or fence between is reported all the same, as in global memory, and so is an update `s[0] = s[0] + 1` \
        of which one may be lost, each with its own line; two such stores of different values are lawful, and a note says that either may come last. \
        A word that a loop or a branch asks about is a flag, and no fault. An asynchronous copy (`memcpy_async`, \
        `__pipeline_memcpy_async`) may write until its thread has waited for it, so for that long every access to its \
        destination is one, its own thread's too; after that it counts as a write of its thread. If a barrier object counts the \
        copy, it is over for threads that have seen the end of the phase, and for those that come after one of them; \
        `__syncthreads()` alone waits for no copy. A bulk copy out of shared memory may read its source until its thread has waited for \
        its group. Threads that write the same value to one place are not reported as a fault, since every order leaves the same value; a note says so. \
        CUDA C++ is stricter: there, two plain writes that nothing orders are a data race whatever the values.",
    may_miss: "a second race on a word that has raced since the last barrier; races that need two lanes to take different \
        paths than they took in this run; races inside a warp under `--schedule lockstep`, which has none by definition; a write to what an asynchronous copy \
        (other than a bulk copy out of shared memory) reads; a fence that is missing between threads and bulk copies \
        (`fence.proxy.async`); a missing fence of the reader where what it reads is read through `volatile`; relaxed or volatile data that a branch \
        asks about before it is used, or that only atomics write",
    false_alarms: "when `volatile` data is read on purpose though it may be out of date, and no branch asks what was read",
};

const GLOBAL_RACE: Explanation = Explanation {
    blame: Blame::Kernel,
    why: "nothing orders the two accesses, so either may come first, and the result is unpredictable",
    remedy: "between blocks: `__threadfence()` before the flag or ticket that says the data is there, and after reading it; or \
        `atomicAdd`, or a second launch; within a block: `__syncthreads()`",
    meaning: "Two threads touch the same bytes of global memory, at least one writes, and nothing orders them. Blocks of one \
        launch are not ordered by themselves: only a flag or counter that one writes after a `__threadfence()` (or with a \
        release) and the other reads (with an acquire, or before a `__threadfence()`), a grid-wide \
        barrier, or the end of the launch orders them. A launch that may begin before the one before it has ended (programmatic dependent launch) \
        is ordered after it by `cudaGridDependencySynchronize()` (`griddepcontrol.wait`) alone: what it touches before that wait is reported, with a site in each launch. The fences may be other threads' than those at the flag, with a barrier of the \
        block between: of two `__threadfence()` one always comes first. A thread that has read the result of an atomic or relaxed store is ordered after it, \
        and in PTX may clear the word with a plain store; CUDA C++ does not go so far, and a note says so. \
        Threads that write the same value to one place are not reported as a fault, and a note says so; in CUDA C++ that is a data race whatever the values. \
        Accesses that are volatile or relaxed on both sides never race in PTX, and `volatile` cures nothing: data that is handed over \
        through them without a fence may arrive after its flag, and of two additions `c[0] = c[0] + 1` one may be lost. Those are reported too, each with its own line. \
        Two such stores of different values are lawful, and either may come last: a note says so. \
        A flag that a loop or a branch asks about may be looked at too early, and is no fault. What a launch has written it may not read through the cache for constant data \
        (`ld.global.nc`, which the compiler makes of `__ldg` and of `const __restrict__` pointers), whatever barriers lie between: that is reported, with its own line. An atomic that is only for one block (`atomicAdd_block`) and a fence \
        that is (`__threadfence_block`) do nothing between blocks.",
    may_miss: "a second race on a word that has raced; races with a third reader of a word; what a launch reads through the cache for constant data (`ld.global.nc`) and writes \
        later; \
        launches whose overlap was not asked for (`--then` with `--overlap`); races that need blocks to come in another \
        order than they did in this run; a missing fence of the reader where what it reads \
        is read through `volatile`; relaxed or volatile data that a branch asks about before it is used, or that only atomics write; a thread that reads back what its own bulk copy writes, and what is read after a bulk copy whose thread \
        waits for the reading of its source only (`wait_group.read`)",
    false_alarms: "when a value that may be out of date is read on purpose: with a plain load (other than as what a compare-and-swap \
        expects), or with a relaxed one whose value no branch asks about",
};

const BARRIER_DIVERGENCE: Explanation = Explanation {
    blame: Blame::Kernel,
    why: "`__syncthreads()` must be reached by every thread of the block, and by all of them at the same place",
    remedy: "move the barrier out of the `if`, and let threads without work go round the loop with the others",
    meaning: "Some threads wait at `__syncthreads()` while others are at another barrier or will never come to one. It \
        happens when the barrier stands inside a condition or a loop that threads leave at different times. A GPU may hang, or go on \
        with data that is not complete. In PTX a barrier is its number: threads may come to barriers 1 to 15 from different \
        instructions, if the lanes of one warp come together, and to a `barrier.sync` that is not `.aligned`, as cooperative groups have it, \
        in any way. Barrier 0 is that of `__syncthreads()`, for which CUDA asks that all threads take the same way to it.",
    may_miss: "threads that reach different barriers in different launches only; the branch must be taken in this run",
    false_alarms: "when hand-written PTX, or a compiler that copied a `__syncthreads()`, lets whole warps meet at different \
        `bar.sync 0`: PTX allows it. Threads that have ended are not waited for: CUDA and PTX ask a barrier of the threads \
        that have not exited, and a card goes on without the others. So a barrier behind an early `return` is a note, though some tools call it an error: \
        what may be missing is what the threads that have gone should have brought",
};

const DEADLOCK: Explanation = Explanation {
    blame: Blame::Kernel,
    why: "every thread that is left waits for another one",
    remedy: "check that each lane named in a `__syncwarp` mask, and each block that a flag waits for, can get there",
    meaning: "Nothing can run any more though threads are left. Lanes wait for lanes that wait for them, or for a warp \
        barrier that its other lanes never reach; a barrier asks for more threads than come; or every thread that still runs \
        goes round in a loop that waits for memory to change, or for a barrier object of which arrivals are missing. On a GPU the kernel hangs until a watchdog or the user ends it.",
    may_miss: "threads that spin on a flag that nothing will set and count, or look at the clock, meanwhile: they end as `step-budget`; \
        a barrier made of a counter, or a wait for a block that has not begun, in a grid that does not fit a card at once: a block that waits here always lets the next one begin, \
        and on a full card it never does. A note says so where no card has room for the blocks that wait \
        together, if their loops do not count or look at the clock and no other launch overlaps; a smaller \
        card may hang with fewer (`--cooperative` refuses a grid that fits no card)",
    false_alarms: "never",
};

const INACTIVE_SHUFFLE_LANE: Explanation = Explanation {
    blame: Blame::Kernel,
    why: "the value of a lane that takes no part in a shuffle is undefined",
    remedy: "let every lane execute the shuffle, those without an element with 0 (for a sum), or use the result only where the lane \
        that it comes from takes part",
    meaning: "A lane reads, through a shuffle, the register of a lane that has ended or is elsewhere. PTX leaves the value \
        undefined; cards often return the lane's last value, so it seems to work. It is reported once the value is used: as an address, \
        in a branch, in what is stored to global or shared memory, at the line of the shuffle that brought it. A value that is thrown away, \
        as in the last steps of some shuffle trees, is no fault.",
    may_miss: "a lane that is active by luck; a value that recursion keeps for later",
    false_alarms: "when the undefined value is stored to memory, and nothing reads it there",
};

const MASK_MISMATCH: Explanation = Explanation {
    blame: Blame::Kernel,
    why: "a lane that executes a `.sync` instruction must be named in its mask, and all lanes named must come to it, with the same mask",
    remedy: "compute the mask from the condition, as in `__ballot_sync(0xffffffff, tid < n)`, before the branch",
    meaning: "A warp-wide instruction carries a mask of the lanes that meet in it. Here a lane executes it without being \
        named, or with another mask than a lane that it names and that executes the instruction beside it, or waits for a lane that it \
        names and that has taken another way. PTX leaves open what happens then; here, as on a card, that lane runs on, and once it has \
        exited nothing waits for it any more. A lane that has left the \
        kernel may be named: it is not waited for. `__activemask()` is no cure: it says who happens to be \
        here, not who should be.",
    may_miss: "a mask that is wrong in a way that this run's branches do not show",
    false_alarms: "never",
};

const STEP_BUDGET: Explanation = Explanation {
    blame: Blame::Either,
    why: "a block, and a launch, has a limit on warp-instructions, so that an endless loop is reported instead of running for ever",
    remedy: "look for a loop whose condition cannot become false; if the work is honest, raise the budget of a block (`--steps N`) or \
        of the launch (`--launch-steps N`)",
    meaning: "Each block may execute a fixed number of warp-instructions, and so may all blocks together: an endless loop is reported instead of running for ever. \
        The usual cause is a loop that waits for a value that is never written, or a counter that overflows. A very large input can also \
        get there.",
    may_miss: "nothing: every loop ends here",
    false_alarms: "when the work is long and the budget small",
};

const TRAP: Explanation = Explanation {
    blame: Blame::Kernel,
    why: "the kernel asked to be stopped",
    remedy: "find the condition that leads to the trap; in cooperative code it means that the launch was not cooperative",
    meaning: "The kernel executed `trap`. Compilers emit it for `__trap()`, for a failed assertion, and for a grid-wide \
        barrier in a launch that is not cooperative. The whole launch ends there.",
    may_miss: "nothing",
    false_alarms: "never",
};

const STACK_OVERFLOW: Explanation = Explanation {
    blame: Blame::Kernel,
    why: "calls went deeper than the stack of a thread is long",
    remedy: "turn the recursion into a loop, bound its depth, or give threads more stack (`cudaLimitStackSize`, here `--stack`)",
    meaning: "Each call of a function takes room on its thread's stack, for its local arrays and for what it must keep until \
        it returns. Where the compiler can tell how deep calls go, the stack is made as large as they need. With recursion, or with \
        pointers to functions, it is as large as `cudaLimitStackSize` says: 1 KiB unless the program asks for more. On a GPU an \
        overflow corrupts memory or stops the kernel.",
    may_miss: "an overflow that only a GPU has: a call counts its local variables and 16 bytes here, and a GPU may keep more there",
    false_alarms: "when the program gives its threads more stack than `--stack` gives them here, or when the compiler inlines \
        calls that the PTX still shows",
};

const UNSUPPORTED_INSTRUCTION: Explanation = Explanation {
    blame: Blame::Simulator,
    why: "the simulator does not know how to execute this instruction",
    remedy: "run the kernel on a GPU, or write the step in plain CUDA C++ that compiles to other instructions",
    meaning: "PTX has many instructions and the simulator executes those that the kernels of this field use. One that is \
        missing is refused when the kernel is loaded, with its file, line and text, and never executed wrongly; where its address \
        alone tells that it is, the launch ends there.",
    may_miss: "nothing: what is not known is not run",
    false_alarms: "never",
};
