//! Small kernels that must run clean (`pass/`) or be found guilty of exactly what they say (`fail/<code>/`), through the
//! real command.
//!
//! A fixture is a PTX file. Its head says how to run it:
//!
//! ```text
//! //@ kernel=NAME grid=1 block=64 args="in=i32[64]:iota out=i32[1]:zero"    and shared=BYTES, steps=N
//! //@ schedule=lockstep independent      the schedules to run under; without this line all of SCHEDULES
//! //@ out NAME: 1 2 3                     what the buffer holds afterwards
//! //@ count METRIC: 12                    what a counter says afterwards (not under a seed, which drives lanes apart)
//! ```
//!
//! A guilty line carries `//~ ERROR[code]`: in the PTX, or in the `.cu` file beside it where the PTX has line information. A line
//! of which a note is made carries `//~ NOTE[kind]`.
//! The report that people see lies beside a failing fixture as `NAME.stderr`; `BLESS=1 cargo test -p simt-tests fixtures`
//! writes it anew.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use simt::Code;
use simt_fixtures::request;

use crate::host;

const SCHEDULES: [&str; 3] = ["lockstep", "independent", "independent:7"];

/// Notes of fixtures that have a record by the hash of their PTX, which a mark would change, or whose PTX names its source otherwise.
const UNMARKED_NOTES: [(&str, &str, u64); 4] = [
    ("exited-threads", "pass/early_return.cu", 7),
    ("exited-threads", "pass/barriers_in_functions.ptx", 13),
    ("exited-threads", "pass/barriers_in_functions.ptx", 15),
    ("exited-threads", "pass/ended_threads_do_not_hold_up_a_barrier.ptx", 21),
];

/// `fault code, file, line`, as annotations and reports both give it.
type Guilty = BTreeSet<(String, String, u64)>;

struct Fixture {
    /// Its path from the folder of the tests on.
    file: PathBuf,
    arguments: Vec<String>,
    schedules: Vec<String>,
    outputs: BTreeMap<String, String>,
    counts: BTreeMap<String, f64>,
    guilty: Guilty,
    notes: Guilty,
}

impl Fixture {
    fn read(file: &Path) -> Fixture {
        let text = host::read(file);
        let mut fixture = Fixture {
            file: file.to_owned(),
            arguments: Vec::new(),
            schedules: Vec::new(),
            outputs: BTreeMap::new(),
            counts: BTreeMap::new(),
            guilty: marked_lines("ERROR", file, &text),
            notes: marked_lines("NOTE", file, &text),
        };
        for line in text.lines().filter_map(|line| line.strip_prefix("//@ ")) {
            fixture.directive(line);
        }
        let source = file.with_extension("cu");
        if let Ok(text) = std::fs::read_to_string(host::folder().join(&source)) {
            // NVRTC names the source by its file name alone.
            let name = Path::new(source.file_name().unwrap());
            fixture.guilty.extend(marked_lines("ERROR", name, &text));
            fixture.notes.extend(marked_lines("NOTE", name, &text));
        }
        let unmarked = UNMARKED_NOTES.iter().filter(|(_, name, _)| Path::new(name).with_extension("ptx") == file);
        fixture.notes.extend(unmarked.map(|&(kind, name, line)| (kind.to_owned(), name.to_owned(), line)));
        if fixture.schedules.is_empty() {
            fixture.schedules = SCHEDULES.map(str::to_owned).to_vec();
        }
        fixture
    }

    fn directive(&mut self, line: &str) {
        let name = self.file.display();
        if let Some(rest) = line.strip_prefix("out ") {
            let (buffer, values) = rest.split_once(':').unwrap_or_else(|| panic!("{name}: {line}"));
            self.outputs.insert(buffer.trim().into(), values.trim().into());
        } else if let Some(rest) = line.strip_prefix("count ") {
            let (metric, value) = rest.split_once(": ").unwrap_or_else(|| panic!("{name}: {line}"));
            self.counts.insert(metric.trim().into(), value.trim().parse().unwrap());
        } else if let Some(rest) = line.strip_prefix("schedule=") {
            self.schedules = rest.split_whitespace().map(str::to_owned).collect();
        } else {
            self.arguments.extend(request::settings(line).unwrap_or_default());
        }
    }

    fn command(&self, schedule: &str) -> Command {
        let mut command = host::simt();
        command.arg("run").arg(&self.file).args(&self.arguments).args(["--schedule", schedule]);
        command
    }

    /// Runs the fixture; the JSON object and the exit status.
    fn run(&self, schedule: &str) -> (Value, Option<i32>) {
        host::object(self.command(schedule).args(self.outputs.keys().flat_map(|buffer| ["--print", buffer])))
    }

    /// Checks what the run must have left, whether faults were found or not.
    fn check_results(&self, object: &Value, schedule: &str, what: &str) {
        for (buffer, expected) in &self.outputs {
            let values: Vec<String> =
                object["outputs"][buffer].as_array().unwrap().iter().map(|v| v.to_string().replace('"', "")).collect();
            assert_eq!(values.join(" "), *expected, "{what}: {buffer}");
        }
        for (metric, expected) in self.counts.iter().filter(|_| !schedule.contains(':')) {
            assert_eq!(object["counters"][metric].as_f64(), Some(*expected), "{what}: {metric}");
        }
    }
}

/// Lines with `//~ MARK[code]`.
fn marked_lines(mark: &str, file: &Path, text: &str) -> Guilty {
    let mut guilty = Guilty::new();
    for (number, line) in text.lines().enumerate() {
        for marked in line.split(&format!("//~ {mark}[")).skip(1) {
            let (code, _) = marked.split_once(']').unwrap_or_else(|| panic!("{}:{}", file.display(), number + 1));
            let is_code = mark == "NOTE" || Code::named(code).is_some();
            assert!(is_code, "{}:{}: no code {code}", file.display(), number + 1);
            guilty.insert((code.into(), file.display().to_string(), number as u64 + 1));
        }
    }
    guilty
}

/// Findings of one list of the object, by the key that holds their kind.
fn listed(object: &Value, list: &str, kind: &str) -> Guilty {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let found = object.get(list).and_then(Value::as_array).into_iter().flatten();
    found.map(|one| (text(&one[kind]), text(&one["file"]), one["line"].as_u64().unwrap())).collect()
}

/// The reports in the command's text, without what stands around them.
fn report(fixture: &Fixture) -> String {
    let output = fixture.command(&fixture.schedules[0]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let start = text.find("error[").unwrap_or_else(|| panic!("{}: no report", fixture.file.display()));
    let end = text.find("\n\nnote[").unwrap_or_else(|| text.trim_end().rfind("\n\n").unwrap());
    format!("{}\n", &text[start..end])
}

#[test]
fn clean_kernels_run_clean() {
    let files = host::files("pass", "ptx");
    assert!(!files.is_empty(), "no fixtures in tests/pass");
    for file in files {
        let fixture = Fixture::read(&file);
        assert!(!fixture.outputs.is_empty(), "{}: a passing fixture must say what comes out", file.display());
        for schedule in &fixture.schedules {
            let what = format!("{} under {schedule}", file.display());
            let (object, status) = fixture.run(schedule);
            assert_eq!(object["faults"], Value::Array(Vec::new()), "{what}");
            let mut noted = listed(&object, "notes", "kind");
            if schedule.contains(':') {
                // Blocks that come in another order may write what another has written.
                noted.retain(|note| note.0 != "equal-writes" || fixture.notes.contains(note));
            }
            assert_eq!(noted, fixture.notes, "{what}");
            assert_eq!(status, Some(0), "{what}");
            fixture.check_results(&object, schedule, &what);
        }
    }
}

#[test]
fn guilty_kernels_are_found_guilty_of_what_they_say_and_no_more() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut fixtures = 0;
    for code in Code::ALL {
        let folder = Path::new("fail").join(code.name());
        let files = host::files(&folder, "ptx");
        assert!(!files.is_empty(), "no fixtures in tests/{}", folder.display());
        for file in files {
            let fixture = Fixture::read(&file);
            assert!(fixture.guilty.iter().any(|(name, ..)| name == code.name()), "{}: not annotated", file.display());
            for schedule in &fixture.schedules {
                let what = format!("{} under {schedule}", file.display());
                let (object, status) = fixture.run(schedule);
                assert_eq!(listed(&object, "faults", "code"), fixture.guilty, "{what}");
                assert_eq!(status, Some(1), "{what}");
                fixture.check_results(&object, schedule, &what);
            }
            check_report(&fixture, bless);
            fixtures += 1;
        }
    }
    println!("{fixtures} failing fixtures");
}

fn check_report(fixture: &Fixture, bless: bool) {
    let path = host::folder().join(fixture.file.with_extension("stderr"));
    let report = report(fixture);
    if bless {
        std::fs::write(&path, &report).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(report, expected, "{}: BLESS=1 writes it anew", path.display());
}

#[test]
fn every_folder_of_failures_is_named_after_a_code() {
    for path in host::entries("fail") {
        let name = path.file_name().unwrap().to_string_lossy();
        assert!(Code::named(&name).is_some(), "tests/fail/{name}: no such code");
    }
}
