//! The program of a chapter: command line to exit status.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use device::{Checks, Choice, Schedule, SimOptions};

use crate::chapter::Note;
use crate::cli::{Args, LeftOut};
use crate::element::{Array, Type};
use crate::error::{Error, Result};
use crate::input::{self, SEED, Source};
use crate::layout::{Layout, Per};
use crate::plan::{LaunchOptions, Planned};
use crate::progress::Progress;
use crate::reference::reference_of;
use crate::run::{Job, Run};
use crate::session::Session;
use crate::shape::Have;
use crate::show::Shown;
use crate::status::Status;
use crate::sweep::{self, Numbers, Sweep};
use crate::targets::Targets;
use crate::text::grouped;
use crate::{Chapter, Variant, chart, hardware, json, record, seeds, shape, show, smaller};

/// Elements of a run on a GPU when the reader gives none: 64 MiB of i32, more than any L2.
const GPU_N: u64 = 1 << 24;

/// The program of a chapter: reads the command line, runs, verifies, prints. Its exit status is the process's: 0 if
/// every variant came out as the lesson says, 1 if not, 2 for what could not be run.
pub fn main(chapter: &Chapter) -> ExitCode {
    finish(execute(chapter, std::env::args_os()))
}

/// Prints what a program made, and returns its exit status: its own, or 2 for what could not be run.
pub fn finish(ended: std::result::Result<Output, Stop>) -> ExitCode {
    match ended {
        Ok(output) => printed(print(&output.text), output.status),
        Err(Stop::Clap(error)) => printed(error.print(), error.exit_code().clamp(0, 255) as u8),
        Err(Stop::Error(error)) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn print(text: &str) -> std::io::Result<()> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

/// Exit status after printing: 2 where not all of the text could be written. A reader that went away (`| head`) is no error.
fn printed(result: std::io::Result<()>, status: u8) -> ExitCode {
    match result {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            use std::io::Write;
            // Standard error may be full too; the status is left to say it.
            let _ = writeln!(
                std::io::stderr(),
                "error: standard output cannot be written, so this run is cut short: {error}"
            );
            ExitCode::from(2)
        }
        _ => ExitCode::from(status),
    }
}

/// Output of the program, and its exit status.
pub struct Output {
    /// What goes to standard output.
    pub text: String,
    /// 0, or 1 where something came out other than the lesson says.
    pub status: u8,
}

/// Why the program ends before it has run anything.
#[derive(Debug)]
pub enum Stop {
    /// A command line that is refused, or `--help`.
    Clap(clap::Error),
    /// What could not be run, and why.
    Error(Error),
}

impl<E: Into<Error>> From<E> for Stop {
    fn from(error: E) -> Stop {
        Stop::Error(error.into())
    }
}

/// Runs the program with this command line.
pub(crate) fn execute(
    chapter: &Chapter,
    command: impl IntoIterator<Item = OsString>,
) -> std::result::Result<Output, Stop> {
    let args = Args::parse_for(chapter, command).map_err(Stop::Clap)?;
    let variants = args.variants(chapter)?;
    args.refuse(chapter, &variants)?;
    let input = match &args.input {
        Some(path) => {
            let is_of_rows = chapter.variants.iter().any(|variant| variant.per != Per::Array);
            Some(input::open(path, args.ty, (&chapter.types(), is_of_rows), args.n, args.op)?)
        }
        None => None,
    };
    refuse_n(args.n, &variants)?;
    let ty = input.as_ref().map(|input| input.ty).or(args.ty).unwrap_or(chapter.default_kind().1);
    let have = input.as_ref().map(|input| Have { n: input.n, rows: input.rows });
    let rows = shape::rows(&args, have, if args.seeds.is_some() { seeds::N } else { record::full(chapter) })?;
    let size = rows.and_then(|(rows, n)| Layout::new(Per::Row, Some(rows), n).size());
    let targets = Targets::read((args.labels.as_deref(), args.gradients.as_deref()), args.op, size)?;
    let options = LaunchOptions { rows: rows.map(|(rows, _)| rows), targets, ..args.options() };
    let (able, left_out) = args.able(&variants, ty, &options)?;
    let sim_options = SimOptions {
        schedule: args.schedule.unwrap_or(Schedule::Independent { seed: None }),
        checks: args.check.unwrap_or(Checks::ALL),
        trace: args.trace.as_ref().map(|_| simt::trace::Options::default()),
        card: args.card,
        ..SimOptions::default()
    };
    let mut session = Session::open(chapter, Choice::from(args.device), sim_options)?;
    if session.device().is_gpu() {
        args.refuse_on_gpu()?;
    } else if args.once {
        return Err(
            Error::Usage("--once is for a profiler on a GPU: the simulator always launches once".to_owned()).into()
        );
    }
    if args.once {
        session.take_committed()?;
    }
    if let Some(file) = &args.record {
        return Ok(make_record(&mut session, file, args.sweep)?);
    }
    let default_n = match args.seeds {
        Some(_) => seeds::N,
        None if session.device().is_gpu() => GPU_N,
        None => record::full(chapter),
    };
    if let Some(sweep) = chapter.sweep.filter(|_| args.sweep) {
        let numbers = Numbers { ty, n: args.n.unwrap_or(default_n), seed: args.seed.unwrap_or(SEED) };
        return Ok(run_sweep(&mut session, &args, &sweep, &able, numbers)?);
    }
    let (source, n) = input.map_or_else(
        || (Source::Random { seed: args.seed.unwrap_or(SEED) }, args.n.unwrap_or(default_n)),
        |input| (input.source, input.n),
    );
    let n = rows.map_or(n, |(_, n)| n);
    Ok(run(&mut session, (&args, options), (&able, &left_out), source, (ty, n))?)
}

/// Runs the variants over one input and says how they came out.
fn run(
    session: &mut Session<'_>,
    (args, options): (&Args, LaunchOptions),
    (variants, left_out): (&[&'static Variant], &[LeftOut]),
    source: Source,
    (ty, n): (Type, u64),
) -> Result<Output> {
    let variants: Vec<&'static Variant> =
        variants.iter().copied().filter(|variant| session.unsupported(variant).is_none()).collect();
    let plans = plans(session, (args, options), &variants, ty, n)?;
    if args.plan {
        return Ok(Output { text: show::plans(session, (&variants, left_out), &plans, args.json), status: 0 });
    }
    session.progress = Progress::new(if args.seeds.is_some() { 0 } else { 2 + 2 * variants.len() as u64 });
    session.progress.at("reading the input".to_owned());
    let numbers = seeds::Numbers::read(source, args, ty, n)?;
    if let Some(asked) = args.seeds {
        return seeds::run(session, (args, options), (&variants, left_out), &numbers, asked);
    }
    let seeds::Numbers { mut words, seed, input } = numbers;
    if let Some(rows) = options.rows {
        words.push_str(&format!(", as {rows}"));
    }
    let runs = run_all(session, (args, options), &variants, &input)?;
    if let Some(path) = &args.trace {
        write_trace(path, &runs)?;
    }
    let notes = if args.json { Vec::new() } else { notes(session)? };
    session.progress = Progress::hidden();
    let chart = draw(session, args, &runs)?;
    let shown = Shown { session, input: words, runs: &runs, left_out, notes: &notes, chart: chart.as_deref() };
    let fails = |status: &Status| status.fails() || (status.is_unjudged() && !args.allow_unjudged);
    let status = u8::from(shown.statuses().iter().any(fails));
    if args.json {
        return Ok(Output { text: format!("{:#}\n", json::object(session, seed, &runs, left_out)), status });
    }
    let mut text = shown.text()?;
    if let Some(seed) = seed {
        let judged: Vec<_> = runs.iter().zip(shown.statuses()).collect();
        text.push_str(&smaller::text(session, &judged, seed)?);
    }
    Ok(Output { text, status })
}

/// Runs the geometries of a sweep over random numbers and says what they cost.
fn run_sweep(
    session: &mut Session<'_>,
    args: &Args,
    sweep: &Sweep,
    variants: &[&'static Variant],
    numbers: Numbers,
) -> Result<Output> {
    let Numbers { ty, n, seed } = numbers;
    if n == 0 {
        return Err(Error::Usage("--n 0: without elements there is no geometry to compare".to_owned()));
    }
    session.check_memory(ty, n, &Planned::default())?;
    session.progress = Progress::new(0);
    let points = sweep::run(sweep, session, &numbers, variants)?;
    session.progress = Progress::hidden();
    let title = format!("{}, {ty}", session.device().description().name);
    let chart = save_chart(session, args, "-sweep", sweep::svg(&title, &points)?)?;
    let status = u8::from(points.iter().any(|point| !point.right));
    if args.json {
        return Ok(Output { text: format!("{:#}\n", sweep::object(session, seed, &points)), status });
    }
    let words = input::words(None, Some(seed), (ty, args.op), n);
    let mut text = sweep::text(session, &points, &(sweep.conclusions)(&points), &words);
    if let Some(chart) = chart {
        text.push_str(&format!("\nchart    {}\n", chart.display()));
    }
    Ok(Output { text, status })
}

/// The launches of each variant, after making sure that they can be made as asked for, and fit in memory.
fn plans(
    session: &Session<'_>,
    (args, options): (&Args, LaunchOptions),
    variants: &[&'static Variant],
    ty: Type,
    n: u64,
) -> Result<Vec<Planned>> {
    let plan = |variant: &&'static Variant| {
        let plan = session.plan(variant, ty, n, options)?;
        if !args.plan {
            session.check_memory(ty, n, &plan)?;
        }
        Ok(plan)
    };
    variants.iter().map(plan).collect()
}

/// Refuses what none of the variants could take, before an input of that size is made.
fn refuse_n(n: Option<u64>, variants: &[&'static Variant]) -> Result<()> {
    let n_max = variants.iter().map(|variant| variant.n_max).max().unwrap_or(0);
    match n.filter(|&n| n > n_max) {
        Some(n) => Err(Error::Usage(format!("--n {}: a run has at most {} elements", grouped(n), grouped(n_max)))),
        None => Ok(()),
    }
}

fn run_all(
    session: &Session<'_>,
    (args, options): (&Args, LaunchOptions),
    variants: &[&'static Variant],
    input: &Array,
) -> Result<Vec<Run>> {
    session.progress.at("adding up the reference".to_owned());
    let reference = reference_of(args.op, input);
    session.progress.step();
    let mut runs = Vec::new();
    for &variant in variants {
        let job = Job { variant, options, input, reference: Some(&reference), offset: 0 };
        let mut run = session.run(job)?;
        session.progress.step();
        if !args.once {
            run.time = session.time(job)?;
        }
        session.progress.step();
        runs.push(run);
    }
    Ok(runs)
}

/// Remarks of the chapter, from runs on the simulator whatever the device.
///
/// # Errors
/// A run that fails.
pub fn notes(session: &Session<'_>) -> Result<Vec<Note>> {
    let Some(notes) = session.chapter.notes else { return Ok(Vec::new()) };
    if session.device().is_gpu() {
        let simulator = Session::open_source(session.chapter, session.source.clone(), Choice::Sim, record::OPTIONS)?;
        return notes(&simulator);
    }
    notes(session)
}

/// Draws the chart where the reader wants it, or beside what cargo builds if the program runs in its source tree.
fn draw(session: &Session<'_>, args: &Args, runs: &[Run]) -> Result<Option<PathBuf>> {
    let svg = chart::svg(session.chapter, &session.device().description().name, runs)?;
    save_chart(session, args, "", svg)
}

fn save_chart(session: &Session<'_>, args: &Args, what: &str, svg: Option<String>) -> Result<Option<PathBuf>> {
    let kind = session.device().description().kind;
    let by_default = || {
        let name = format!("{}{what}-{kind}.svg", session.chapter.slug);
        session.source.root().join("target").join("charts").join(name)
    };
    let path = args.chart.clone().or_else(|| (!args.json && !args.once).then(by_default));
    let (Some(path), Some(svg)) = (path, svg) else { return Ok(None) };
    match record::write(&path, &svg) {
        Ok(()) => Ok(Some(short(&path))),
        // A source tree that may not be written into is only an error if the reader named a place in it.
        Err(Error::File { source, .. }) if args.chart.is_none() && is_read_only(&source) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_read_only(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), NotFound | PermissionDenied | ReadOnlyFilesystem)
}

/// Writes the steps of the first block of the first launch, as `simt run --trace` does.
fn write_trace(path: &Path, runs: &[Run]) -> Result<()> {
    let Some(trace) = runs.iter().find_map(|run| run.trace.as_ref()) else {
        return Err(Error::Usage("--trace: there is nothing to record, as nothing was launched".to_owned()));
    };
    record::write(path, &serde_json::json!(trace).to_string())
}

/// A path below the current directory, without it.
fn short(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok().and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    here.unwrap_or_else(|| path.to_owned())
}

fn make_record(session: &mut Session<'_>, file: &Path, is_sweep: bool) -> Result<Output> {
    if !session.device().is_gpu() {
        return Err(Error::Usage("--record is for a GPU: cargo course bless makes the simulator's record".to_owned()));
    }
    session.progress = Progress::new(0);
    session.is_as_committed = true;
    // Without its folder, which would be a path of this machine and says nothing to others.
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    let chapter = session.chapter;
    let what = if is_sweep { " --sweep" } else { "" };
    let command = format!("cargo run --release -p {} -- --device gpu{what} --record {name}", chapter.slug);
    let made = match chapter.sweep.filter(|_| is_sweep) {
        Some(sweep) => hardware::record_sweep(session, &sweep, command, file)?,
        None => hardware::record(session, command, file)?,
    };
    let is_right = |name: &str| chapter.variant(name).is_none_or(|variant| variant.announced.is_none());
    let cases = made.cases.iter().map(|case| (case.ok, &case.variant));
    let all: Vec<_> = cases.chain(made.sweep.iter().map(|point| (point.right, &point.variant))).collect();
    let wrong = all.iter().filter(|(right, variant)| !right && is_right(variant)).count();
    let text = format!("{} cases on {}, {wrong} wrong and not announced: {}\n", all.len(), made.device, file.display());
    Ok(Output { text, status: u8::from(wrong > 0) })
}
