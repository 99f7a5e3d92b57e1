//! The keys of a trace as JSON, for readers of the file: documentation that a test compares with what is written.

/// One key of one kind of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The kind of object that has it.
    pub object: &'static str,
    /// The key. Exactly one of the keys of `Values` is there, all keys of the others.
    pub key: &'static str,
    /// The type: `number`, `string`, `null`, a word in quotes, a kind of object; `[32]` for an array of 32, `[]` for any
    /// length; `|` between alternatives. Numbers are whole, not negative and below 2^53.
    pub ty: &'static str,
    /// Meaning.
    pub meaning: &'static str,
}

const fn field(object: &'static str, key: &'static str, ty: &'static str, meaning: &'static str) -> Field {
    Field { object, key, ty, meaning }
}

/// Every key. The outermost object is a `Trace`.
#[rustfmt::skip] // a table reads by columns
pub const SCHEMA: &[Field] = &[
    field("Trace", "version", "number", "of this description: it grows when a key changes its meaning or goes away"),
    field("Trace", "kernel", "string", "name of the kernel"),
    field("Trace", "schedule", "string", "how lanes ran, as `--schedule` takes it"),
    field("Trace", "grid", "number[3]", "blocks in x, y, z"),
    field("Trace", "block", "number[3]", "threads of a block in x, y, z"),
    field("Trace", "code", "Instruction[]", "the instructions that steps name by their place here"),
    field("Trace", "steps", "Step[]", "block by block, each block in the order it ran"),
    field("Trace", "dropped_steps", "number", "steps of the chosen warps that the limit cut off; 0: the trace is whole"),
    field("Trace", "names", "Name[]", "variables of the source in registers, as far as that can be shown; empty without the source"),
    field("Name", "name", "string", "a variable of the source"),
    field("Name", "function", "string", "the function that it is of"),
    field("Name", "calls", "number[]", "lines of the calls that brought that function here by inlining, from the innermost outwards"),
    field("Name", "lines", "number[2]", "first and last line in which the name means this variable"),
    field("Name", "line", "number", "line of the assignment"),
    field("Name", "ptx_line", "number", "line of the PTX: what this instruction leaves is what the variable holds, until the next one of its names runs"),
    field("Name", "register", "string", "the register that it leaves it in"),
    field("Instruction", "opcode", "string", "as in the PTX: `ld.shared.u32`"),
    field("Instruction", "text", "string", "its line of the PTX file"),
    field("Instruction", "ptx_line", "number", "number of that line, from 1"),
    field("Instruction", "file", "string", "source file, empty without line information"),
    field("Instruction", "line", "number", "line of the source file from 1, 0 without line information"),
    field("Instruction", "calls", "number[]", "lines of the calls that brought it there by inlining, from the innermost outwards, where all are in that file"),
    field("Step", "block", "number[3]", "index of the block in x, y, z"),
    field("Step", "block_linear", "number", "the same as one number, x fastest"),
    field("Step", "order", "number", "place among all steps, in the order in which the launch ran: blocks that talk to each other, and those of a cluster, in turns; launches that run together share one count"),
    field("Step", "warp", "number", "warp of the block"),
    field("Step", "pc", "number", "place in `code`"),
    field("Step", "split", "number", "lanes that are at this instruction, bit n for lane n"),
    field("Step", "active", "number", "those of them that the guard lets take part"),
    field("Step", "access", "Access[]", "memory touched, an entry for each space, and for each block of `cluster`; empty if none"),
    field("Step", "values", "Values|null", "what the instruction left in its destination, or stored"),
    field("Access", "space", "\"shared\"|\"global\"|\"local\"|\"cluster\"", "which memory; `cluster` is the shared memory of another block of the cluster"),
    field("Access", "owner", "number|null", "`cluster`: the block whose memory it is, as one number, x fastest"),
    field("Access", "mask", "number", "lanes whose access went ahead"),
    field("Access", "bytes", "number", "bytes a lane"),
    field("Access", "addresses", "number[32]", "address of each lane in that memory in bytes; 0 outside `mask`"),
    field("Access", "banks", "number[32]|null", "shared memory: bank of each lane's first word; 0 outside `mask`"),
    field("Access", "lane_sectors", "number[32]|null", "global memory: sector of each lane's first byte, its address divided by 32; 0 outside `mask`"),
    field("Access", "wavefronts", "number", "shared memory: passes through the banks"),
    field("Access", "conflicts", "number", "shared memory: passes beyond those that the width needs"),
    field("Access", "sectors", "number", "global memory: 32-byte sectors"),
    field("Values", "bits32", "number[32]", "32 bits a lane; 0 for lanes that are not active"),
    field("Values", "bits64", "string[32]", "64 bits a lane in decimal digits, since a number of JavaScript holds 53"),
    field("Values", "predicate", "number", "a bit a lane"),
];
