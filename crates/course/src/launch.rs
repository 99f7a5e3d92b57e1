//! `cargo course run`: a kernel file of the reader's own, compiled by NVRTC and run in the simulator.
//!
//! It takes and prints the same as `simt run`; only the compiler stands before it. So its statuses are those of
//! `simt`: 0 for a clean run, 1 for faults, 2 for a command line or a file that it can do nothing with.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Parser};
use device::committed_options;
use device::nvrtc::{self, Nvrtc};
use simt::Program;
use simt::command::command_line::{Command, CommandLine, Request, SPEC_HELP};

use crate::workspace;

/// Options of `cargo course run`: those of `simt run`, with a `.cu` in the place of PTX.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    request: Request,
}

/// Text below the options in `cargo course run --help`.
pub const AFTER_HELP: &str = SPEC_HELP;

/// The name of the kernel on the command line, as this verb has it.
pub fn kernel(kernel: clap::Arg) -> clap::Arg {
    kernel.help("Kernel to run, by its name in the file")
}

/// The place of the file on the command line, as this verb has it.
pub fn file(files: clap::Arg) -> clap::Arg {
    files.help("The CUDA C++ file with the kernel").value_name("FILE.cu").num_args(1)
}

/// Runs the verb; its exit status.
pub fn run(options: &Options) -> ExitCode {
    let request = &options.request;
    simt::command::to_standard_output(|out| {
        let (text, program) = compile(&request.files[0])?;
        simt::command::run_program(request, &program, &|name| entry(&program, &text, name), out)
    })
}

/// The runs that the page "Your first kernel" shows, each as the kernel's file, the status that it ends with, and the options after
/// the file.
const SHOWN: [(&str, u8, &str); 3] = [
    ("hello", 0, "--kernel hello --grid 2 --block 4"),
    ("fill", 1, "--kernel fill_a --grid 2 --block 32 --arg numbers=i32[40]:zero n=i32:40"),
    (
        "twice",
        0,
        "--kernel twice --grid 4 --block 256 --arg in=i32[1000]:iota out=i32[1000]:zero n=i32:1000 --print out:5",
    ),
];

/// Output of `cargo course run` for the kernels of the page "Your first kernel", from their committed PTX: file names in the
/// generated folder, and texts. The time that the run took on this computer is left out, since it is never the same.
pub fn fragments(root: &Path) -> Result<Vec<(String, String)>> {
    let of = |(name, expected, options): (&str, u8, &str)| -> Result<(String, String)> {
        let (cu, ptx) = (format!("{name}.cu"), root.join("book/src/first-kernel").join(name).with_extension("ptx"));
        let text = std::fs::read_to_string(&ptx).with_context(|| format!("cannot read `{}`", ptx.display()))?;
        let words = ["simt", "run", &cu].into_iter().chain(options.split(' '));
        let (status, printed) = ran(words, &Program::load(&cu, &text)?, "")?;
        ensure!(status == expected, "{cu}: `cargo course run` ends with {status}, and the page says {expected}");
        Ok((format!("first-kernel/{name}.txt"), for_page(&printed)))
    };
    SHOWN.into_iter().map(of).collect()
}

/// Status and output of `simt run` with these words, for a program with this source.
fn ran<'w>(words: impl Iterator<Item = &'w str>, program: &Program, text: &str) -> Result<(u8, String)> {
    let Command::Run(request) = CommandLine::try_parse_from(words)?.command else { bail!("no run") };
    let mut out = Vec::new();
    let (status, written) =
        simt::command::run_program(&request, program, &|name| entry(program, text, name), &mut out)?;
    written?;
    Ok((status, String::from_utf8(out)?))
}

/// Most columns of a listing that a page shows without cutting it.
const COLUMNS_MAX: usize = 76;

/// Output of a run without the time that it took, and with the meanings of counters on lines of their own if the page is too narrow.
fn for_page(printed: &str) -> String {
    let is_wide = printed.lines().any(|line| line.len() > COLUMNS_MAX);
    let line = |line: &str| match (line.split_once(" in "), line.trim_end().rsplit_once("  ")) {
        (Some((head, _)), _) if line.starts_with("simulated") => format!("{head}\n"),
        // A value, two spaces, a name, and behind at least two spaces what it means.
        (_, Some((counter, meaning))) if is_wide && counter.trim().contains("  ") => {
            format!("{}\n          {meaning}\n", counter.trim_end())
        }
        _ => format!("{line}\n"),
    };
    printed.lines().map(line).collect()
}

/// The text of the file, and what NVRTC makes of it. Warnings go to stderr.
fn compile(file: &Path) -> Result<(String, Program)> {
    let name = file.display().to_string();
    let is_ptx = file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ptx"));
    ensure!(
        !is_ptx,
        "{name}: this is PTX, which needs no compiler: `cargo run --release -p simt -- run {name} …` runs it"
    );
    let bytes = std::fs::read(file)
        .with_context(|| format!("{name}: the file cannot be read (it is looked for from the current folder)"))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let nvrtc = Nvrtc::find(&workspace::root()?).map_err(|_| {
        anyhow::anyhow!(
            "{name}: there is no NVRTC, NVIDIA's compiler, on this machine: `cargo course setup` installs it (Linux and Windows on x86-64)"
        )
    })?;
    match nvrtc.compile_with_warnings(&name, &text, &committed_options(&text)) {
        Ok((ptx, warnings)) => {
            if !warnings.is_empty() {
                eprintln!("{warnings}\n");
            }
            let program = Program::load(&format!("the PTX of {name}"), &ptx)?;
            Ok((text, program))
        }
        Err(device::Error::Compile { log, .. }) => bail!("{name} does not compile\n\n{}", explained(&log, &text)),
        Err(error) => Err(error.into()),
    }
}

/// The kernel of the program that the reader calls `name`.
///
/// A kernel that is not `extern "C"` has another name in the PTX, `_Z5hellov` for `hello`, which tells its parameters too.
fn entry(program: &Program, text: &str, name: &str) -> Result<String> {
    let kernels: Vec<&str> = program.kernel_names();
    let is_called = |kernel: &&&str| **kernel == name || source_name(kernel) == name;
    match kernels.iter().filter(is_called).collect::<Vec<_>>().as_slice() {
        [kernel] => return Ok((**kernel).to_owned()),
        [] => {}
        several => {
            let names: Vec<String> = several.iter().map(|kernel| (**kernel).to_owned()).collect();
            bail!(
                "--kernel {name}: there are several of that name, with other parameters: name one of {}",
                names.join(", ")
            )
        }
    }
    let mut names: Vec<String> = kernels.iter().map(|kernel| source_name(kernel)).collect();
    names.dedup();
    let there = match names.as_slice() {
        [] => "the file has none that the compiler made code for".to_owned(),
        names => format!("the file has {}", names.join(", ")),
    };
    let advice = if text.contains("template") {
        ". A template has no code until it is used: call it from an `extern \"C\" __global__` function, one for each instance"
    } else if names.is_empty() {
        ". A kernel is a function that returns void, with `__global__` before it"
    } else {
        ""
    };
    bail!("--kernel {name}: no kernel has that name, {there}{advice}")
}

/// `hello` for `_Z5hellov`, `my::sum` for `_ZN2my3sumEPi`; a name that is not made so is its own.
fn source_name(kernel: &str) -> String {
    let Some(mut rest) = kernel.strip_prefix("_Z") else { return kernel.to_owned() };
    let is_nested = rest.starts_with('N');
    rest = rest.strip_prefix('N').unwrap_or(rest);
    let mut names = Vec::new();
    loop {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let length = rest[..digits].parse::<usize>().ok();
        let Some(name) = length.and_then(|length| rest[digits..].get(..length)) else { break };
        rest = &rest[digits + name.len()..];
        // A namespace without a name is called after the file.
        if !name.starts_with("_GLOBAL__N_") {
            names.push(name);
        }
        if !is_nested {
            break;
        }
    }
    if names.is_empty() { kernel.to_owned() } else { names.join("::") }
}

/// Functions of a warp as they were before Volta.
const OLD_WARP_FUNCTIONS: [&str; 7] =
    ["__shfl", "__shfl_up", "__shfl_down", "__shfl_xor", "__any", "__all", "__ballot"];

/// Folders of headers that come with a CUDA toolkit alone.
const TOOLKIT_HEADERS: [&str; 5] = ["cub/", "thrust/", "cuda/", "nv/", "cooperative_groups"];

/// Advice for a header that the compiler did not find.
fn unknown_header(log: &str) -> String {
    let header = log.split("open source file \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
    if TOOLKIT_HEADERS.iter().any(|folder| header.starts_with(folder)) {
        return format!(
            "\n\n<{header}> comes with the CUDA toolkit, which the compiler here does without. Where a toolkit is, `nvcc -ptx` compiles the \
             file, and `simt run` runs the PTX; without one, write the step by hand, as the chapters do: atomicAdd, the __shfl functions and \
             __syncthreads need no header."
        );
    }
    let known: Vec<&str> = nvrtc::stand_ins().filter(|name| name.starts_with('c')).collect();
    format!(
        "\n\nOnly the GPU's part of a file is compiled here. Of the headers that are not CUDA's own it knows {}; `printf`, `assert` and \
         the functions of math.h need none. What else the CPU's part includes may stand between `#ifndef __CUDACC_RTC__` and `#endif`.",
        known.join(", ")
    )
}

/// The compiler's log, followed by an explanation for a reader whose file compiles under nvcc.
fn explained(log: &str, text: &str) -> String {
    let is_host = log.contains("host functions are not allowed") || log.contains("without execution space annotations");
    let mut said = log.to_owned();
    if log.contains("cannot open source file") || log.contains("could not open source file") {
        said += &unknown_header(log);
    }
    if let Some(old) = OLD_WARP_FUNCTIONS.iter().find(|old| log.contains(&format!("identifier \"{old}\" is undefined")))
    {
        said += &format!(
            "\n\n{old} is gone since CUDA 9 on sm_70 and newer: write {old}_sync, whose first argument is the mask of the lanes that take \
             part, 0xffffffff for a whole warp."
        );
    }
    if text.contains("main") && (is_host || log.contains("<<<") || log.contains("main")) {
        said += "\n\nThe `main` of a CUDA program runs on the CPU: it allocates, copies and launches. Here the options of this command do that \
                 (--grid, --block, --arg), and only the GPU's part is compiled. To keep both in one file, put `main` and all else that is \
                 the CPU's between `#ifndef __CUDACC_RTC__` and `#endif`: nvcc compiles it, this command leaves it out.";
    } else if is_host {
        said += "\n\nA function that a kernel calls needs `__device__` before it, a kernel itself `__global__`: without either it is a function of \
                 the CPU, which is not compiled here.";
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_cpp_are_read() {
        let mangled = ["_Z5hellov", "_Z6twice_PKiPii", "plain", "_Zx", "_Z9k", "_ZN2ns1kEv", "_ZN2my1tIiEEvPT_"];
        let names = mangled.map(source_name);
        assert_eq!(names, ["hello", "twice_", "plain", "_Zx", "_Z9k", "ns::k", "my::t"]);
        assert_eq!(source_name("_ZN5outer12_GLOBAL__N_15innerEv"), "outer::inner");
    }

    #[test]
    fn a_run_fits_the_page() {
        let narrow =
            "hi  there\n\nsimulated 9 warp instructions in 0.3 ms of this computer's time\n\n    9  ptx_a  short\n";
        assert_eq!(for_page(narrow), "hi  there\n\nsimulated 9 warp instructions\n\n    9  ptx_a  short\n");
        let wide = format!("kernel    k of k.cu\n    9  ptx_a    {}\n", "long ".repeat(20).trim());
        assert_eq!(
            for_page(&wide),
            format!("kernel    k of k.cu\n    9  ptx_a\n          {}\n", "long ".repeat(20).trim())
        );
    }

    #[test]
    fn an_operator_of_ones_own_runs_on_the_machine() {
        let root = workspace::root().unwrap();
        if Nvrtc::find(&root).is_err() {
            eprintln!("skipped: there is no NVRTC, `cargo course setup` installs it");
            return;
        }
        let (text, program) = compile(&root.join("chapters/ch09-operators/own/two_largest.cu")).unwrap();
        // Sizes with and without whole vectors; numbers below 0, which a missing element must not beat.
        for (n, init, expected) in [
            (30_000, "iota", "[29999, 29998]"),
            (3_001, "const(-7)", "[-7, -7]"),
            (1, "const(-7)", "[-7, -2147483648]"),
        ] {
            let args = [format!("in=i32[{n}]:{init}"), format!("n=u32:{n}")];
            let words = ["simt", "run", "two_largest.cu", "--kernel", "two_largest", "--grid", "4", "--block", "256"];
            let arguments = ["--arg", &args[0], "out=i32[2]:zero", &args[1], "state=u64[16]:zero", "--print", "out"];
            let (status, printed) = ran(words.into_iter().chain(arguments), &program, &text).unwrap();
            assert_eq!(status, 0, "{printed}");
            assert!(printed.contains(&format!("out = {expected}")), "n = {n}: {printed}");
        }
    }
}
