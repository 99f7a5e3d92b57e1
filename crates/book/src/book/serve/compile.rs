//! Compilation of text from a page: NVRTC runs in a process of its own, which is this program with another verb, so that a text
//! that takes the compiler too long, or breaks it, costs that process and not the server. Nothing else is ever run.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use anyhow::{Context, Result};
use course::residency;
use device::committed_options;
use device::nvrtc::Nvrtc;
use hyper::StatusCode;
use object::read::elf::ElfFile64;
use object::{Endianness, Object as _, ObjectSection as _, ObjectSymbol as _, SymbolIndex};
use serde::{Deserialize, Serialize};

use super::http::Answer;

/// Name of the text in messages and line information.
pub const NAME: &str = "edited.cu";
/// The verb that compiles.
pub const VERB: &str = "compile-for-page";
/// The verb that asks ptxas, which NVRTC has inside, for registers.
pub const RESOURCES_VERB: &str = "resources-for-page";
/// Block sizes of the labs.
const BLOCKS: [u32; 6] = [32, 64, 128, 256, 512, 1024];
/// Section with a record for each kernel: format, attribute, bytes that follow, then the symbol and its value.
const INFO: &str = ".nv.info";
/// Format of a record with bytes behind its head of four; the others are the head alone.
const SIZED: u8 = 4;
/// Attribute of the record that has a kernel's registers.
const REGISTERS: u8 = 0x2f;
/// Bytes before a block's own shared variables that sm_90 keeps for the system, and that ptxas does not count.
const RESERVED_BYTES: u64 = 1024;
/// Most bytes of PTX that a page gets.
const PTX_BYTES_MAX: usize = 16 << 20;

/// Result of a compilation.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// PTX, and what the compiler warned of.
    Compiled { ptx: String, log: String },
    /// The compiler refuses the text, in these words.
    Refused { log: String },
    /// There is no compiler.
    Missing { why: String },
}

/// A line that the compiler says something about.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// From 1.
    pub line: u32,
    /// `error` or `warning`
    pub severity: &'static str,
    /// Text of the message.
    pub message: String,
}

/// The verb: reads the text from standard input, and writes the outcome to standard output.
pub fn run(root: &Path) -> Result<()> {
    let text = std::io::read_to_string(std::io::stdin()).context("cannot read the kernel")?;
    serde_json::to_writer(std::io::stdout().lock(), &compile(root, &text)?).context("cannot write the PTX")
}

fn compile(root: &Path, text: &str) -> Result<Outcome> {
    let Ok(nvrtc) = Nvrtc::find(root) else {
        let why = "there is no NVRTC, NVIDIA's compiler, on this machine: `cargo course setup` installs it \
                   (Linux and Windows on x86-64)";
        return Ok(Outcome::Missing { why: why.to_owned() });
    };
    match nvrtc.compile_with_warnings(NAME, text, &committed_options(text)) {
        Ok((ptx, log)) => Ok(Outcome::Compiled { ptx, log }),
        Err(device::Error::Compile { log, .. }) => Ok(Outcome::Refused { log }),
        Err(error) => Err(error.into()),
    }
}

/// The verb: reads the text, and writes what its kernels take of a multiprocessor, as [`course::residency::json`] has it.
pub fn run_resources(root: &Path) -> Result<()> {
    let text = std::io::read_to_string(std::io::stdin()).context("cannot read the kernel")?;
    let nvrtc = Nvrtc::find(root)?;
    let code = nvrtc.compile_for(residency::CARD.compute_capability, NAME, &text)?;
    let footprints = footprints(&code.cubin)?;
    let kernels = footprints.iter().map(|(name, of)| (name.as_str(), (*of, BTreeSet::from(BLOCKS)))).collect();
    let json = residency::json(&nvrtc.name(), &kernels);
    serde_json::to_writer(std::io::stdout().lock(), &json).context("cannot write the registers")
}

/// Registers of a thread and static shared memory of a block, by kernel, from machine code of sm_90.
fn footprints(cubin: &[u8]) -> Result<BTreeMap<String, [u32; 2]>> {
    let file = ElfFile64::<Endianness>::parse(cubin).context("the machine code is no ELF file")?;
    let info = file.section_by_name(INFO).context("the machine code has no records")?;
    let mut all = BTreeMap::new();
    let mut rest = info.data()?;
    while let [format, attribute, low, high, after @ ..] = rest {
        let bytes = if *format == SIZED { usize::from(u16::from_le_bytes([*low, *high])) } else { 0 };
        let (record, next) = after.split_at_checked(bytes).context("a record is cut off")?;
        rest = next;
        let Some((symbol, value)) = record.split_first_chunk::<4>() else { continue };
        let Some(value) = value.first_chunk::<4>().filter(|_| *attribute == REGISTERS) else { continue };
        let symbol = file.symbol_by_index(SymbolIndex(u32::from_le_bytes(*symbol) as usize))?;
        all.insert(symbol.name()?.to_owned(), [u32::from_le_bytes(*value), 0]);
    }
    for (kernel, [_, shared_bytes]) in &mut all {
        if let Some(section) = file.section_by_name(&format!(".nv.shared.{kernel}")) {
            *shared_bytes = section.size().saturating_sub(RESERVED_BYTES).try_into()?;
        }
    }
    Ok(all)
}

/// The compiler as the server has it: one text at a time, each for so long.
pub struct Compiler {
    limit: Duration,
    turn: Mutex<()>,
}

impl Compiler {
    /// With a limit for each text.
    pub fn new(limit: Duration) -> Compiler {
        Compiler { limit, turn: Mutex::new(()) }
    }

    /// Returns what the text's kernels take of a multiprocessor; null where ptxas gives nothing in the time that it has.
    pub fn resources(&self, text: &str) -> Answer {
        let written = self.ran(RESOURCES_VERB, text).ok().flatten();
        as_json(&written.and_then(|written| serde_json::from_str(&written).ok()).unwrap_or_default())
    }

    /// Runs a verb of this program over a text. Returns what it wrote; `None` if it was stopped.
    fn ran(&self, verb: &str, text: &str) -> std::io::Result<Option<String>> {
        let _mine = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        limited(Command::new(std::env::current_exe()?).arg(verb), text, self.limit)
    }

    /// Returns the answer to the page: `{"ptx", "log", "messages"}`, without `ptx` where the compiler refuses.
    pub fn answer(&self, text: &str) -> Answer {
        let (status, sentence) = match self.ran(VERB, text) {
            Ok(Some(written)) => match serde_json::from_str(&written) {
                Ok(Outcome::Compiled { ptx, .. }) if ptx.len() > PTX_BYTES_MAX => (
                    StatusCode::UNPROCESSABLE_ENTITY,
                    format!("the PTX has {} bytes, and a page takes at most {PTX_BYTES_MAX}", ptx.len()),
                ),
                Ok(Outcome::Compiled { ptx, log }) => {
                    return as_json(&serde_json::json!({ "ptx": ptx, "messages": messages(&log), "log": log }));
                }
                Ok(Outcome::Refused { log }) => {
                    return as_json(&serde_json::json!({ "messages": messages(&log), "log": log }));
                }
                Ok(Outcome::Missing { why }) => (StatusCode::SERVICE_UNAVAILABLE, why),
                Err(_) => (
                    StatusCode::UNPROCESSABLE_ENTITY,
                    "the compiler broke down over this text: the server's terminal has its last words".to_owned(),
                ),
            },
            Ok(None) => (
                StatusCode::GATEWAY_TIMEOUT,
                format!(
                    "the compiler was stopped: it may take {} s for a text (`--compile-seconds` of `cargo course book --serve`)",
                    self.limit.as_secs_f32()
                ),
            ),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("the compiler cannot be started: {error}")),
        };
        Answer::refusal(status, sentence)
    }
}

fn as_json(json: &serde_json::Value) -> Answer {
    Answer::text("application/json", json.to_string())
}

/// Runs a command with this text as its input, for no longer than `limit`. Returns what it wrote; `None` if it was stopped.
fn limited(command: &mut Command, text: &str, limit: Duration) -> std::io::Result<Option<String>> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (done, ended) = mpsc::channel();
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let text = text.to_owned();
    // Threads of their own: the process may never read, or never write. Both end when it does.
    std::thread::spawn(move || {
        // A process that ends before it has read everything says why by itself.
        let _ = input.map(|mut input| input.write_all(text.as_bytes()));
    });
    std::thread::spawn(move || {
        let mut written = Vec::new();
        let _ = output.map(|mut output| output.read_to_end(&mut written));
        let _ = done.send(written);
    });
    let written = ended.recv_timeout(limit);
    // Its end is waited for, so that no process is left behind.
    let _ = child.kill();
    let _ = child.wait();
    Ok(written.ok().map(|written| String::from_utf8_lossy(&written).into_owned()))
}

/// Parses the compiler's messages about single lines: `edited.cu(12): error: …`, and behind it lines that show the place.
fn messages(log: &str) -> Vec<Message> {
    let mut found = Vec::new();
    for line in log.lines() {
        let Some((line, rest)) = line.strip_prefix(NAME).and_then(|rest| rest.strip_prefix('(')?.split_once("): "))
        else {
            continue;
        };
        let Ok(line) = line.parse() else { continue };
        let Some((kind, message)) = rest.split_once(": ") else { continue };
        let severity = if kind.contains("error") { "error" } else { "warning" };
        found.push(Message { line, severity, message: message.to_owned() });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_and_shared_memory_are_those_of_the_table() {
        let root = course::workspace::root().unwrap();
        let Ok(nvrtc) = Nvrtc::find(&root) else {
            eprintln!("skipped: no NVRTC on this machine");
            return;
        };
        let text = std::fs::read_to_string(root.join("kernels/ch03-sequential.cu")).unwrap();
        let code = nvrtc.compile_for(residency::CARD.compute_capability, NAME, &text).unwrap();
        let found = footprints(&code.cubin).unwrap();
        let table = std::fs::read_to_string(root.join(residency::TABLE)).unwrap();
        let known = residency::parse(&table).unwrap();
        for (kernel, [registers, shared_bytes]) in &found {
            let known = known[&("ch03-sequential", kernel.as_str(), residency::CARD.compute_capability)];
            assert_eq!(*shared_bytes, known[1], "{kernel}");
            // Another release of ptxas may allot a few more or less.
            assert!(registers.abs_diff(known[0]) < 8, "{kernel}: {registers} registers, and {} by the table", known[0]);
        }
        assert_eq!(found.len(), 2);
        assert!(footprints(b"no machine code").is_err());
    }

    #[test]
    fn lines_of_the_log_are_found() {
        let log = "edited.cu(3): error: identifier \"x\" is undefined\n      x = 1;\n      ^\n\n\
                   edited.cu(7): warning #177-D: variable \"y\" was declared but never referenced\n\n\
                   cuda_fp16.h(2): error: elsewhere\n1 error detected in the compilation of \"edited.cu\".\n";
        let message = |line, severity, message: &str| Message { line, severity, message: message.to_owned() };
        let expected = [
            message(3, "error", "identifier \"x\" is undefined"),
            message(7, "warning", "variable \"y\" was declared but never referenced"),
        ];
        assert_eq!(messages(log), expected);
    }

    #[cfg(unix)]
    #[test]
    fn a_process_that_takes_too_long_is_ended() {
        let began = std::time::Instant::now();
        let ran = limited(Command::new("sleep").arg("60"), "", Duration::from_millis(200)).unwrap();
        assert_eq!(ran, None);
        assert!(began.elapsed() < Duration::from_secs(20));
        let text = "long ".repeat(100_000);
        assert_eq!(limited(&mut Command::new("cat"), &text, Duration::from_secs(20)).unwrap(), Some(text));
        assert!(limited(&mut Command::new("/no/such/program"), "", Duration::from_secs(1)).is_err());
    }
}
