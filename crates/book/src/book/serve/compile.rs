//! Compilation of text from a page: NVRTC runs in a process of its own, which is this program with another verb, so that a text
//! that takes the compiler too long, or breaks it, costs that process and not the server. Nothing else is ever run.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use anyhow::{Context, Result};
use device::committed_options;
use device::nvrtc::Nvrtc;
use hyper::StatusCode;
use serde::{Deserialize, Serialize};

use super::http::Answer;

/// Name of the text in messages and line information.
pub const NAME: &str = "edited.cu";
/// The verb that compiles.
pub const VERB: &str = "compile-for-page";
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
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("cannot read the kernel")?;
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

    /// Returns the answer to the page: `{"ptx", "log", "messages"}`, without `ptx` where the compiler refuses.
    pub fn answer(&self, text: &str) -> Answer {
        let _mine = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let ran =
            std::env::current_exe().and_then(|program| limited(Command::new(program).arg(VERB), text, self.limit));
        let (status, sentence) = match ran {
            Ok(Ran::Ended(written)) => match serde_json::from_str(&written) {
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
            Ok(Ran::TooLong) => (
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

/// End of a process.
#[derive(Debug, PartialEq, Eq)]
enum Ran {
    /// It ended by itself, and had written this.
    Ended(String),
    /// It was stopped.
    TooLong,
}

/// Runs a command with this text as its input, for no longer than `limit`.
fn limited(command: &mut Command, text: &str, limit: Duration) -> std::io::Result<Ran> {
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
    let ran = ended.recv_timeout(limit);
    end(&mut child);
    Ok(ran.map_or(Ran::TooLong, |written| Ran::Ended(String::from_utf8_lossy(&written).into_owned())))
}

/// Ends a process and waits for its end, so that none is left behind.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
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
        assert_eq!(ran, Ran::TooLong);
        assert!(began.elapsed() < Duration::from_secs(20));
        let text = "long ".repeat(100_000);
        assert_eq!(limited(&mut Command::new("cat"), &text, Duration::from_secs(20)).unwrap(), Ran::Ended(text));
        assert!(limited(&mut Command::new("/no/such/program"), "", Duration::from_secs(1)).is_err());
    }
}
