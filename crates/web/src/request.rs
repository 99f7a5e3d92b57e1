//! Requests of a page.

use serde::Deserialize;

/// PTX, memory, launches, and what to tell of them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Linked, if there are several.
    pub ptx: Vec<File>,
    /// Buffers before the first launch.
    #[serde(default)]
    pub buffers: Vec<Buffer>,
    /// One after the other, on the same memory. Where one of them names a device other than 0, each device has those that name it, one
    /// after the other, and all devices run at once.
    pub launches: Vec<Launch>,
    /// `lockstep`, `independent`, `independent:SEED` or `independent:SEED@LINE`.
    #[serde(default = "independent")]
    pub schedule: String,
    /// `all`, `none`, or fault codes with commas between.
    #[serde(default = "all")]
    pub check: String,
    /// Most warp-instructions that one block may execute.
    pub steps_per_block_max: Option<u64>,
    /// Most warp-instructions that one launch may execute.
    pub steps_per_launch_max: Option<u64>,
    /// Buffers to return: `NAME` or `NAME:COUNT`.
    #[serde(default)]
    pub outputs: Vec<String>,
    /// Launches whose steps are recorded.
    pub trace: Option<Trace>,
    /// Run again under `independent:0` to `independent:SEEDS-1`, and return the results and findings of each.
    #[serde(default)]
    pub seeds: u64,
    /// These seeds part lanes only from that line of the source on: `independent:0@LINE` and so on.
    pub seeds_line: Option<u32>,
}

/// A file of PTX.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Name in messages.
    pub name: String,
    /// PTX.
    pub text: String,
}

/// A buffer: how it is filled, or its first elements one by one.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Buffer {
    /// `NAME=TYPE[LEN]:INIT`, as `simt run --arg` takes it, without files.
    Filled(String),
    /// The same, with elements that replace the first ones, or in the memory of another device.
    Given {
        /// `NAME=TYPE[LEN]:INIT`
        spec: String,
        /// Numbers, each as a person writes it.
        #[serde(default)]
        elements: Vec<serde_json::Number>,
        /// Device in whose memory it lies. Every device reaches the memory of all others.
        #[serde(default)]
        device: u32,
    },
}

/// A launch.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// An entry of the PTX.
    pub kernel: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    #[serde(default)]
    pub shared_bytes: u32,
    /// True if all blocks are resident together.
    #[serde(default)]
    pub cooperative: bool,
    /// Blocks of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// Device that runs it.
    #[serde(default)]
    pub device: u32,
    /// In the order of the parameters: `NAME=&BUFFER`, `NAME=TYPE:VALUE`, or a structure by value, `NAME=bytes[LEN]:INIT`, behind which
    /// `NAME@OFFSET=&BUFFER` and `NAME@OFFSET=TYPE:VALUE` put something into it.
    pub args: Vec<String>,
}

/// Steps to record.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Trace {
    /// Index of the launch, or of the first.
    pub launch: usize,
    /// Launches from there on, all of the same kernel, which run on several devices. Their blocks are numbered through, from launch to
    /// launch.
    pub launches: u64,
    /// The first block, x fastest.
    pub first_block: u64,
    /// Number of blocks from there on.
    pub blocks: u64,
    /// Steps kept of each block.
    pub steps_per_block_max: u64,
}

impl Default for Trace {
    fn default() -> Trace {
        let steps_per_block_max = simt::trace::Options::default().steps_per_block_max;
        Trace { launch: 0, launches: 1, first_block: 0, blocks: 1, steps_per_block_max }
    }
}

fn independent() -> String {
    "independent".to_owned()
}

fn all() -> String {
    "all".to_owned()
}
