//! Puts the kernels' PTX into the crate, one text for each kernel, so that a program loads the few that it launches; with the feature
//! `nvrtc` also the CUDA that other shapes are compiled from.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Files of PTX. Of a kernel that several have, the last is for the newest target.
const FILES: [&str; 11] = [
    "ch08-champion.ptx",
    "ch08-champion.compute_90.ptx",
    "ch09-operators.ptx",
    "ch10-rows.ptx",
    "ch11-softmax.ptx",
    "ch11-softmax.compute_90.ptx",
    "ch12-norms.ptx",
    "ch12-norms.compute_90.ptx",
    "ch13-accuracy.ptx",
    "ch13-rows.ptx",
    "ch14-all-reduce.ptx",
];

/// Files of CUDA whose macros make kernels of any shape, and the header that they include.
const LESSONS: [&str; 5] = ["ch09-operators.cu", "ch10-rows.cu", "ch11-softmax.cu", "ch12-norms.cu", "elements.cuh"];

fn main() {
    // A package has the files beside it; a checkout, where links may be files that name their goal, a folder of its own for them.
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the crate is"));
    let folders = [here.join("kernels"), here.join("../../kernels")];
    let folder = folders.iter().find(|folder| folder.is_dir()).expect("a folder of kernels");
    println!("cargo:rerun-if-changed=build.rs");
    let mut table = String::from("&[\n");
    let mut all = String::new();
    for file in FILES {
        let path = folder.join("ptx").join(file);
        println!("cargo:rerun-if-changed={}", path.display());
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for (name, body, target) in entries(&unfolded(&text)) {
            writeln!(table, "    ({name:?}, {target}, {}, {}),", all.len(), body.len()).expect("a string grows");
            all.push_str(&body);
        }
    }
    table.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where to write"));
    write(&out.join("kernels.ptx"), &all);
    write(&out.join("kernels.rs"), &table);
    if env::var_os("CARGO_FEATURE_NVRTC").is_some() {
        let lesson = |file: &&str| format!("    ({file:?}, include_str!({:?})),\n", folder.join(file));
        write(&out.join("lessons.rs"), &format!("&[\n{}]", LESSONS.iter().map(lesson).collect::<String>()));
    }
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// PTX with the lines that it has by their number in a table at its end, where `&` is the entry's name and `#` the next of the numbers
/// behind the row's, and numbers alone are a run of rows above: `ptx::unfold` in the course, which a package of this crate alone has
/// not.
fn unfolded(text: &str) -> String {
    let number = |word: &str| word.strip_prefix('.').is_some_and(|number| number.parse::<u32>().is_ok());
    let is_row = |(word, row): &(&str, &str)| number(word) && !row.starts_with(|first: char| first.is_ascii_digit());
    let row = |line| str::split_once(line, ' ').filter(is_row);
    let mut rows: HashMap<&str, String> = HashMap::new();
    for (word, row) in text.lines().filter_map(row) {
        let run = || row.split(' ').map(|row| rows[row].as_str()).collect::<Vec<_>>().join("\n");
        let lines = if row.split(' ').all(number) { run() } else { row.to_owned() };
        rows.insert(word, lines);
    }
    let mut out = String::with_capacity(text.len() * 4);
    let mut entry = "";
    for line in text.lines().filter(|line| row(line).is_none()) {
        if let Some(rest) = line.strip_prefix(".visible .entry ") {
            entry = rest.split('(').next().unwrap_or_default().trim();
        }
        let mut words = line.split(' ');
        match words.next().and_then(|word| rows.get(word)) {
            None => out += line,
            Some(row) => row.chars().for_each(|sign| match sign {
                '&' => out += entry,
                '#' => out += words.next().unwrap_or_default(),
                _ => out.push(sign),
            }),
        }
        out.push('\n');
    }
    out
}

/// Name, own text and target of each entry. Lines of the source are left out; variables go with the entry that names them, and so do
/// functions, which call no others here.
fn entries(text: &str) -> Vec<(String, String, u32)> {
    let (mut version, mut target) = (String::new(), String::new());
    let mut variables: Vec<(String, String)> = Vec::new();
    let mut functions: Vec<(String, String)> = Vec::new();
    let mut entries: Vec<(String, String)> = Vec::new();
    // Braces that are open; an entry or a function ends with its last one, and one that is only declared with a semicolon.
    let (mut in_body, mut in_function, mut depth) = (false, false, 0);
    for line in text.lines() {
        let word = line.split_whitespace().next().unwrap_or_default();
        if let Some(rest) = line.strip_prefix(".visible .entry ") {
            (in_body, in_function) = (true, false);
            let name = rest.split('(').next().unwrap_or_default().trim().to_owned();
            entries.push((name, format!("{line}\n")));
        } else if let Some(rest) = line.strip_prefix(".func ") {
            (in_body, in_function) = (true, true);
            // Its name stands behind what it returns.
            let rest = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest);
            let name = rest.split('(').next().unwrap_or_default().trim().to_owned();
            functions.push((name, format!("{line}\n")));
        } else if in_body {
            if word != ".loc" && word != "//" && !word.is_empty() {
                let bodies = if in_function { &mut functions } else { &mut entries };
                let (_, body) = bodies.last_mut().expect("it has begun");
                body.push_str(line);
                body.push('\n');
            }
            let before = depth;
            depth = depth + line.matches('{').count() - line.matches('}').count();
            in_body = depth > 0 || (before == 0 && word != ";");
        } else if word == ".version" {
            version = line.to_owned();
        } else if word == ".target" {
            target = line.to_owned();
        } else if matches!(word, ".shared" | ".global" | ".const") || line.starts_with(".extern .shared ") {
            let name =
                line.split(['[', ';', '=']).next().unwrap_or_default().split_whitespace().last().unwrap_or_default();
            variables.push((name.to_owned(), format!("{line}\n")));
        }
    }
    let number = target.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0);
    functions.retain(|(_, body)| body.contains('{'));
    let whole = |(name, body): (String, String)| {
        let called = functions.iter().filter(|(function, _)| body.contains(function.as_str()));
        let body = called.map(|(_, text)| text.as_str()).collect::<String>() + &body;
        let own = variables.iter().filter(|(variable, _)| body.contains(variable.as_str()));
        let own: String = own.map(|(_, line)| line.as_str()).collect();
        (name, format!("{version}\n{target}\n.address_size 64\n{own}{body}"), number)
    };
    entries.into_iter().map(whole).collect()
}
