//! Teams that rows of a matrix are given to: lanes, a block, a cluster, many blocks. Plain data, with the reason in words, and
//! the launches by each.

use crate::geometry::capped;
use crate::layout::Matrix;
use crate::plan::{Arg, Pass, Plan, Problem};
use crate::text::grouped;

/// Team that holds or reads a row of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Lanes of a warp hold a row.
    Groups {
        /// Lanes of a row, a power of two up to a warp.
        lanes: u32,
        /// Rows of a group on their way at once.
        rows: u32,
        /// Pieces of a row that a lane holds.
        vectors: u32,
        /// Elements of a piece: those of 16 bytes, or one.
        width: u32,
    },
    /// A block holds a row.
    Block {
        /// Threads.
        block: u32,
        /// Vectors that a thread holds.
        vectors: u32,
    },
    /// The blocks of a cluster hold a row.
    Cluster {
        /// Blocks.
        blocks: u32,
        /// Threads of each.
        block: u32,
        /// Vectors that a thread holds.
        vectors: u32,
    },
    /// A block or the blocks of a cluster hold a row in shared memory.
    Staged {
        /// Blocks.
        blocks: u32,
        /// Threads of each.
        block: u32,
        /// Vectors of a thread.
        vectors: u32,
    },
    /// Clusters take rows in turns. The next rows are on their way to shared memory while one is worked on.
    Persistent(PersistentTeam),
    /// A block reads a row, and where there are results for each element, reads it once more.
    Stream {
        /// Threads.
        block: u32,
        /// Vectors of a thread on their way at once.
        loads: u32,
    },
    /// Many blocks read a part of a row each, and in a second launch once more.
    Parts {
        /// Threads.
        block: u32,
        /// Vectors of a thread on their way at once.
        loads: u32,
        /// Blocks of a row.
        parts: u32,
        /// Elements of a part, whole lines of 128 bytes.
        length: u32,
    },
}

/// Cluster that takes rows in turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PersistentTeam {
    /// Blocks.
    pub blocks: u32,
    /// Threads of each.
    pub block: u32,
    /// Vectors that a thread holds.
    pub vectors: u32,
    /// Rows in shared memory, the one that is worked on among them.
    pub stages: u32,
    /// Threads that a multiprocessor has registers for, as the kernel's launch bounds say.
    pub resident: u32,
}

impl PersistentTeam {
    /// Dynamic shared memory of a block.
    fn shared_bytes(self, problem: &Problem<'_>) -> u32 {
        self.stages * staged_bytes(problem, self.block, self.vectors)
    }

    /// Clusters that the card holds at once.
    pub fn clusters(self, problem: &Problem<'_>) -> u64 {
        let bytes = self.shared_bytes(problem) + self.blocks * MAIL_BYTES + OTHER_BYTES;
        let of_multiprocessor = problem.card.shared_bytes_per_multiprocessor / bytes;
        let of_multiprocessor = of_multiprocessor.min(self.resident / self.block);
        u64::from(problem.card.clusters_of(self.blocks)) * u64::from(of_multiprocessor)
    }
}

/// Shared memory of a block whose threads have so many vectors of each input there.
pub fn staged_bytes(problem: &Problem<'_>, block: u32, vectors: u32) -> u32 {
    vectors * block * 16 * problem.op.arrays() as u32
}

/// Elements of each thread, where all threads of a problem are resident at once.
const OF_WAVE: u64 = 8;
/// Bytes of a row that are worth a block of parts.
const OF_PART_BYTES: u64 = 16 << 10;
/// Bytes of the rows that are read from which on what is read and written is more than an L2 holds.
const LARGE_BYTES: u64 = 32 << 20;
/// Most shared memory that a persistent block has besides its rows: for each block of the cluster what that sends in 64 turns,
/// four numbers each; and barrier objects, the warps' values and what the system keeps.
const MAIL_BYTES: u32 = 64 * 4 * 4;
const OTHER_BYTES: u32 = 3 << 10;

/// Ends of the sentences that say why, where chapters differ.
#[derive(Debug, Clone, Copy)]
pub struct Endings {
    /// Kernel of a team that holds its row.
    pub held: &'static str,
    /// Kernel of a block that goes through its row.
    pub stream: &'static str,
    /// Kernel of blocks that share a row.
    pub parts: &'static str,
}

impl Shape {
    /// Why a row of so many bytes has this team, a sentence.
    pub fn why(&self, bytes: u64, Endings { held, stream, parts: shared }: Endings) -> String {
        let bytes = grouped(bytes);
        match self {
            Shape::Groups { lanes, vectors, width, .. } => format!(
                "a row is {bytes} bytes, which {lanes} lanes hold, {} elements each: read once, without a barrier{held}",
                vectors * width
            ),
            Shape::Block { block, vectors } => format!(
                "a row is {bytes} bytes, more than a warp holds well: {block} threads hold it, {vectors} vectors of 16 bytes each, \
                 and read it once{held}"
            ),
            Shape::Cluster { blocks, block, .. } => format!(
                "a row is {bytes} bytes, more than a block holds well: a cluster of {blocks} blocks of {block} threads holds it, and \
                 reads it once{held}"
            ),
            Shape::Staged { blocks, block, .. } => format!(
                "a row is {bytes} bytes, more than registers hold well: {} holds it in shared memory, and reads it once{held}",
                match blocks {
                    1 => format!("a block of {block} threads"),
                    _ => format!("a cluster of {blocks} blocks of {block} threads"),
                }
            ),
            Shape::Persistent(PersistentTeam { blocks, block, stages, .. }) => format!(
                "a row is {bytes} bytes, more than a block holds well: clusters of {blocks} blocks of {block} threads take rows in \
                 turns, with {} on its way while they work on one{held}",
                if *stages > 2 { format!("{} rows", stages - 1) } else { "a row".to_owned() }
            ),
            Shape::Stream { block, .. } => format!("a row is {bytes} bytes: {block} threads go through it{stream}"),
            Shape::Parts { parts, length, .. } => format!(
                "a row is {bytes} bytes, and there are too few rows to keep the card busy otherwise: {parts} blocks share one out, \
                 up to {} elements each{shared}",
                grouped(u64::from(*length))
            ),
        }
    }
}

/// Roundings on the longest path from the elements of a row to its result.
#[derive(Debug, Clone, Copy)]
pub struct Roundings {
    /// Those of a round's elements, so many, by a thread that goes through its row.
    pub round: fn(u64) -> u64,
    /// Those of the elements that a thread holds, so many.
    pub held: fn(u64) -> u64,
    /// Those of the values of so many lanes.
    pub lanes: fn(u32) -> u64,
    /// Those of the values of a block with so many threads.
    pub block: fn(u64) -> u64,
    /// Those of the values of so many blocks of a cluster.
    pub cluster: fn(u32) -> u64,
    /// Those of one value that is merged with another.
    pub merge: u64,
}

/// A chapter's kernels for teams, with what all of them are given.
#[derive(Debug)]
pub struct Kernels<'p> {
    /// The problem.
    pub problem: &'p Problem<'p>,
    /// The operation and the type as the macros of the kernels' file take them.
    pub instance: String,
    /// What stands before the operation in the kernels' names.
    pub kind: &'static str,
    /// Arguments of every kernel; the third is the array of results.
    pub args: Vec<Arg>,
    /// Elements of that array.
    pub results: u64,
    /// The macro that makes both kernels of parts.
    pub parts_macro: &'static str,
    /// Bytes that a part leaves for the second launch.
    pub part_bytes: u64,
    /// Roundings of a sum.
    pub roundings: Roundings,
    /// Clusters that take rows in turns, of so many that the card holds.
    pub in_turns: fn(&Problem<'_>, u64) -> u64,
}

impl Kernels<'_> {
    /// The line that makes a kernel by a macro of the file, where the committed PTX may not have it.
    pub fn line(&self, name: &str, numbers: &str) -> String {
        let comma = if numbers.is_empty() { "" } else { ", " };
        format!("{name}({}{comma}{numbers})", self.instance)
    }

    /// A launch over all elements of `block_softmax_t256v8_f32`, for the name `block` and the shape `t256v8`.
    pub fn pass(&self, name: &str, shape: &str, line: String, grid: u64, block: u64) -> Pass {
        let (op, ty, matrix) = (self.problem.op, self.problem.ty, self.problem.matrix());
        let shape = if shape.is_empty() { String::new() } else { format!("_{shape}") };
        Pass {
            line: Some(line),
            elements: matrix.rows * matrix.cols,
            ..Pass::new(format!("{name}_{}{op}{shape}_{ty}", self.kind), grid, block, self.args.clone())
        }
    }

    /// One launch, which leaves the results.
    pub fn one(&self, pass: Pass, additions: u64) -> Plan {
        Plan { passes: vec![Pass { additions, ..pass }], sums: vec![self.results], ..Plan::default() }
    }

    /// Roundings of a thread that takes elements in rounds of `loads` vectors, each merged with what was there.
    pub fn running(&self, elements: u64, block: u32, loads: u32) -> u64 {
        let of_round = u64::from(loads) * self.problem.per_vector();
        let rounds = elements.div_ceil(u64::from(block) * of_round) + 1;
        (self.roundings.round)(of_round) + self.roundings.merge * rounds
    }

    /// Roundings of a block's or a cluster's threads that hold so many vectors each.
    pub fn held(&self, blocks: u32, block: u32, vectors: u32) -> u64 {
        let Roundings { held, block: of_block, cluster, .. } = self.roundings;
        let of_cluster = if blocks > 1 { cluster(blocks) } else { 0 };
        held(u64::from(vectors) * self.problem.per_vector()) + of_block(block.into()) + of_cluster
    }

    /// A launch of as many clusters as the card holds, by this macro.
    pub fn persistent(&self, name: &str, team: PersistentTeam) -> Pass {
        let PersistentTeam { blocks, block, vectors, stages, .. } = team;
        let teams = team.clusters(self.problem).min(self.problem.matrix().rows).max(1);
        let teams = (self.in_turns)(self.problem, teams);
        let line = self.line(name, &format!("{blocks}, {block}, {vectors}, {stages}"));
        let shape = format!("c{blocks}t{block}v{vectors}s{stages}");
        let mut pass = self.pass("persistent", &shape, line, teams * u64::from(blocks), block.into());
        (pass.geometry.cluster, pass.geometry.shared_bytes) = (blocks, team.shared_bytes(self.problem));
        pass
    }

    /// A launch of a cluster for each row, so many blocks and threads of each with so many vectors, by the kernel of this name and its
    /// macro.
    fn clusters(&self, (name, by): (&str, &str), (blocks, block, vectors): (u32, u32, u32), shared_bytes: u32) -> Plan {
        let line = self.line(by, &format!("{blocks}, {block}, {vectors}"));
        let grid = self.problem.matrix().rows * u64::from(blocks);
        let mut pass = self.pass(name, &format!("c{blocks}t{block}v{vectors}"), line, grid, block.into());
        (pass.geometry.cluster, pass.geometry.shared_bytes) = (blocks, shared_bytes);
        self.one(pass, self.held(blocks, block, vectors))
    }

    /// Roundings of a group of lanes that hold so many elements each.
    pub fn grouped(&self, lanes: u32, elements: u32) -> u64 {
        (self.roundings.held)(elements.into()) + (self.roundings.lanes)(lanes)
    }

    /// The launches of this shape, where each row has its results from its own elements.
    pub fn plan(&self, shape: Shape) -> Plan {
        let Matrix { rows, cols, .. } = self.problem.matrix();
        let of_block = self.roundings.block;
        match shape {
            Shape::Groups { lanes, rows: together, vectors, width } => {
                let rows_of_block = 256 / u64::from(lanes) * u64::from(together);
                let name = format!("l{lanes}r{together}v{vectors}w{width}");
                let line = self.line("GROUPS", &format!("{lanes}, {together}, {vectors}, {width}"));
                let pass = self.pass("groups", &name, line, rows.div_ceil(rows_of_block), 256);
                self.one(pass, self.grouped(lanes, vectors * width))
            }
            Shape::Block { block, vectors } => {
                let line = self.line("BLOCK", &format!("{block}, {vectors}"));
                let pass = self.pass("block", &format!("t{block}v{vectors}"), line, rows, block.into());
                self.one(pass, self.held(1, block, vectors))
            }
            Shape::Cluster { blocks, block, vectors } => {
                self.clusters(("cluster", "CLUSTER"), (blocks, block, vectors), 0)
            }
            Shape::Staged { blocks, block, vectors } => {
                let shared_bytes = staged_bytes(self.problem, block, vectors);
                self.clusters(("staged", "STAGED"), (blocks, block, vectors), shared_bytes)
            }
            Shape::Persistent(team) => {
                let PersistentTeam { blocks, block, vectors, .. } = team;
                self.one(self.persistent("PERSISTENT", team), self.held(blocks, block, vectors))
            }
            Shape::Stream { block, loads } => {
                let line = self.line("TWO", &format!("{block}, {loads}"));
                let pass = self.pass("two_passes", &format!("t{block}u{loads}"), line, rows, block.into());
                self.one(pass, self.running(cols, block, loads) + of_block(block.into()))
            }
            Shape::Parts { block, loads, parts, length } => {
                let grid = rows * u64::from(parts);
                let launch = |name: &str, grid: u64, additions: u64| {
                    let line = self.line(self.parts_macro, &format!("{block}, {loads}"));
                    let mut pass = self.pass(name, &format!("t{block}u{loads}"), line, grid, block.into());
                    pass.args[2] = Arg::Sums(1);
                    pass.args.extend([Arg::U32(parts), Arg::U32(length), Arg::Sums(0)]);
                    Pass { additions: additions + of_block(block.into()), ..pass }
                };
                let second_grid = if self.problem.op.is_per_element() { grid } else { rows };
                let merges = self.roundings.merge * u64::from(parts.div_ceil(block));
                Plan {
                    passes: vec![
                        launch("parts", grid, self.running(length.into(), block, loads)),
                        launch("whole", second_grid, merges),
                    ],
                    sums: vec![self.problem.ty.holding(self.part_bytes * grid), self.results],
                    ..Plan::default()
                }
            }
        }
    }
}

/// Returns whether the card holds a whole problem at once, or has more than two multiprocessors for each row.
pub fn is_few(problem: &Problem<'_>, matrix: Matrix) -> bool {
    let multiprocessors = u64::from(problem.card.multiprocessors);
    2 * matrix.rows < multiprocessors || matrix.rows * matrix.cols <= threads(problem) * OF_WAVE
}

/// Returns whether there is a multiprocessor for each row: then it gets as many threads as it has vectors, or half as many.
pub fn is_spare(problem: &Problem<'_>, matrix: Matrix) -> bool {
    matrix.rows <= u64::from(problem.card.multiprocessors)
}

/// Returns whether the blocks of its rows are there in a few waves, which end unevenly: fewer than eight rows for each multiprocessor.
pub fn is_of_few_waves(problem: &Problem<'_>, matrix: Matrix) -> bool {
    matrix.rows < 8 * u64::from(problem.card.multiprocessors)
}

/// Returns whether there are fewer than two rows for each multiprocessor.
pub(crate) fn is_short(problem: &Problem<'_>, matrix: Matrix) -> bool {
    matrix.rows < 2 * u64::from(problem.card.multiprocessors)
}

/// Returns whether a kernel may tell the L2 that rows are read and written, and more than it holds.
pub fn is_large(problem: &Problem<'_>, matrix: Matrix) -> bool {
    let bytes = matrix.rows.saturating_mul(matrix.pitch).saturating_mul(problem.ty.bytes());
    problem.on_demand && problem.op.is_per_element() && bytes >= LARGE_BYTES
}

/// Threads that the card holds at a time.
pub fn threads(problem: &Problem<'_>) -> u64 {
    u64::from(problem.card.multiprocessors) * u64::from(problem.card.threads_per_multiprocessor)
}

/// The team for this problem, of those whose kernels the committed PTX has: among them these blocks, from few vectors to many.
pub fn committed(problem: &Problem<'_>, matrix: Matrix, blocks: &[HoldingBlock]) -> Shape {
    let width = problem.per_vector() as u32;
    let vectors = matrix.cols.div_ceil(problem.per_vector());
    // Where rows are many, blocks of different rows hide each other's trips to memory, and none waits for a cluster.
    let is_many = !is_short(problem, matrix);
    let block = blocks.iter().find(|&&(block, each)| vectors <= u64::from(block * each));
    match vectors {
        0..=16 => Shape::Groups { lanes: 8, rows: 1, vectors: 2, width },
        17..=64 => Shape::Groups { lanes: 32, rows: 1, vectors: 2, width },
        65..=4096 => match block {
            Some(&(block, vectors)) if is_many || vectors == 2 => Shape::Block { block, vectors },
            _ if is_many => stream(problem, 256),
            _ if problem.card.clusters_of(8) > 0 => Shape::Cluster { blocks: 8, block: 256, vectors: 2 },
            _ => parts(problem, matrix, (256, 2), 256),
        },
        _ => parts(problem, matrix, (256, 2), 256),
    }
}

/// A block of 256 threads that holds its row, with at most so many elements a thread; two passes for a longer one.
pub fn held_by_block(problem: &Problem<'_>, matrix: Matrix, most: u64) -> Shape {
    let per = problem.per_vector();
    match matrix.cols.div_ceil(per).div_ceil(256).max(1) {
        1..=2 if !problem.on_demand => Shape::Block { block: 256, vectors: 2 },
        each if problem.on_demand && each * per <= most => Shape::Block { block: 256, vectors: each as u32 },
        _ => stream(problem, 256),
    }
}

/// Threads of a block that holds a row, and vectors of each.
pub type HoldingBlock = (u32, u32);
/// Blocks, threads of each, and how many elements of a row each thread may hold.
pub type Team = (u64, u64, u64);

/// Blocks that hold a row of few, in the order in which they are tried: if nothing comes after it to hide the trip to memory, a row has
/// as many threads as it has work for, few vectors each.
pub const FEW: &[Team] = &[
    (1, 64, 8),
    (1, 128, 8),
    (1, 256, 8),
    (1, 384, 8),
    (1, 512, 8),
    (1, 640, 8),
    (1, 768, 8),
    (1, 896, 8),
    (1, 1024, 8),
];

/// The first of these teams that holds a row.
pub fn first_to_hold(problem: &Problem<'_>, matrix: Matrix, teams: impl IntoIterator<Item = Team>) -> Option<Shape> {
    teams.into_iter().find_map(|team| {
        let (blocks, block, vectors) = sized(problem, matrix, team)?;
        let held =
            if blocks == 1 { Shape::Block { block, vectors } } else { Shape::Cluster { blocks, block, vectors } };
        (problem.card.clusters_of(blocks) > 0).then_some(held)
    })
}

/// The first of these teams that holds a row in shared memory, with how many elements each thread may have.
pub fn first_to_stage(problem: &Problem<'_>, matrix: Matrix, teams: impl IntoIterator<Item = Team>) -> Option<Shape> {
    teams.into_iter().find_map(|team| {
        let (blocks, block, vectors) = sized(problem, matrix, team)?;
        has_room(problem, (blocks, block, vectors)).then_some(Shape::Staged { blocks, block, vectors })
    })
}

/// Returns whether such blocks, so many threads each with so many vectors, may have what they hold in shared memory.
pub fn has_room(problem: &Problem<'_>, (blocks, block, vectors): (u32, u32, u32)) -> bool {
    problem.card.clusters_of(blocks) > 0
        && staged_bytes(problem, block, vectors) + OTHER_BYTES <= problem.card.shared_bytes_per_block
}

/// Blocks of this team, threads of each, and vectors of a row for each thread; `None` if these are more elements than it may have.
fn sized(problem: &Problem<'_>, matrix: Matrix, (blocks, block, most): Team) -> Option<(u32, u32, u32)> {
    let per = problem.per_vector();
    let vectors = matrix.cols.div_ceil(per).div_ceil(blocks * block);
    (vectors * per <= most).then_some((blocks as u32, block as u32, vectors as u32))
}

/// The first of these clusters that holds a row, with how many elements a thread may hold and the stages, if each has `rows` to take;
/// none for rows of at most `shortest` elements. `resident`: threads of a multiprocessor.
pub fn first_to_take_turns(
    problem: &Problem<'_>,
    matrix: Matrix,
    (shortest, teams): (u64, &[(Team, u32)]),
    (rows, resident): (u64, u32),
) -> Option<Shape> {
    let mut teams = teams.iter().filter(|_| matrix.cols > shortest);
    let team = teams.find_map(|&(team, stages)| {
        let (blocks, block, vectors) = sized(problem, matrix, team)?;
        Some(PersistentTeam { blocks, block, vectors, stages, resident })
    })?;
    let clusters = team.clusters(problem);
    (clusters > 0 && matrix.rows >= rows * clusters).then_some(Shape::Persistent(team))
}

/// Returns whether rows are whole vectors of 16 bytes, and begin at one.
pub(crate) fn is_whole(problem: &Problem<'_>, matrix: Matrix) -> bool {
    let per = problem.per_vector();
    matrix.cols.is_multiple_of(per) && matrix.pitch.is_multiple_of(per)
}

/// Groups of lanes that hold single elements, for rows that are not whole vectors or do not begin at one: so many rows at once, about
/// so many elements a lane, for rows of at most so many.
pub fn lanes_of_elements(problem: &Problem<'_>, matrix: Matrix, (rows, each, most): (u32, u64, u64)) -> Option<Shape> {
    let lanes = (matrix.cols.next_power_of_two() / each).clamp(1, 32);
    let vectors = matrix.cols.div_ceil(lanes).max(1) as u32;
    let shape = Shape::Groups { lanes: lanes as u32, rows, vectors, width: 1 };
    (!is_whole(problem, matrix) && matrix.cols <= most).then_some(shape)
}

/// Two passes by blocks of so many threads.
pub fn stream(problem: &Problem<'_>, block: u32) -> Shape {
    Shape::Stream { block, loads: if problem.on_demand { 4 } else { 2 } }
}

/// Parts of the rows for as many blocks as are resident at once, each in the place of `room` threads; one block a row where that
/// gives each multiprocessor several.
pub fn parts(problem: &Problem<'_>, matrix: Matrix, (block, loads): (u32, u32), room: u32) -> Shape {
    let resident = threads(problem) / u64::from(room);
    let worth = (matrix.cols * problem.ty.bytes()).div_ceil(OF_PART_BYTES).max(1);
    let parts = (resident / matrix.rows.max(1)).clamp(1, worth);
    if parts == 1 {
        return Shape::Stream { block, loads };
    }
    let (parts, length) = whole_lines(problem, matrix, parts);
    Shape::Parts { block, loads, parts, length }
}

/// Parts of a row, about so many, and the elements of each: whole lines of 128 bytes.
pub(crate) fn whole_lines(problem: &Problem<'_>, matrix: Matrix, parts: u64) -> (u32, u32) {
    let length = matrix.cols.div_ceil(parts).next_multiple_of(128 / problem.ty.bytes());
    (capped(matrix.cols.div_ceil(length)), capped(length))
}
