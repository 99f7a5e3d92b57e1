//! The committed engine, run in Node, gives byte for byte what the library gives on this machine: every chapter's kernels, every
//! type and operation, three schedules; outputs, counters, faults, notes and steps.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use course::figures::{self, Case};
use course::lessons::{self, lessons};
use course::{bless, share};
use lab::{KernelSource, LaunchOptions, Op, Type, Variant};
use serde_json::{Value, json};

/// Sources that decide what the engine does with every kernel.
const MAKERS: [&str; 6] =
    ["crates/ptx", "crates/simt", "crates/web", "crates/lab", "crates/course/src/figures", "book/src/lab/engine.js"];
const SCHEDULES: [&str; 3] = ["independent", "lockstep", "independent:5"];
/// Elements, and under how many of the schedules: a ragged last block, and less than a warp, which has little to part.
const SIZES: [(u64, usize); 2] = [(1000, SCHEDULES.len()), (19, 1)];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A chapter's committed kernels, or those of a variant with a file of its own.
struct Kernels {
    name: String,
    text: String,
    index: ptx::Index,
    /// Texts of the kernels that were asked for.
    parts: RefCell<HashMap<Vec<String>, String>>,
}

impl Kernels {
    fn read(root: &Path, slug: &str, variant: &Variant) -> Kernels {
        let source = KernelSource::in_root(root, variant.kernels.unwrap_or(slug));
        let text = source.read_ptx(&source.read_cu().unwrap()).unwrap();
        Kernels { name: source.ptx_name(), index: ptx::Index::new(&text), text, parts: RefCell::default() }
    }

    /// These kernels alone. An empty line for each that is left out would be the most of it: a request is read three times in two
    /// engines.
    fn only(&self, launched: &[&str]) -> String {
        let names = launched.iter().map(|&name| name.to_owned()).collect();
        let cut = || {
            let text = self.index.only(&self.text, launched);
            text.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
        };
        self.parts.borrow_mut().entry(names).or_insert_with(cut).clone()
    }

    /// A request for everything that one case leaves.
    fn request(&self, variant: &Variant, ty: Type, op: Op, n: u64) -> Option<Value> {
        let case = Case::new(variant, ty, n, LaunchOptions { op, ..LaunchOptions::default() })?;
        let launched: Vec<&str> = case.plan.passes.iter().map(|pass| pass.kernel.as_str()).collect();
        let text = self.only(&launched);
        let buffers = case.buffers(ty);
        let name = |buffer: &Value| Some(buffer.as_str()?.split_once('=')?.0.to_owned());
        let outputs: Vec<String> = buffers.iter().filter_map(name).collect();
        Some(json!({
            "ptx": [{ "name": self.name, "text": text }],
            "buffers": buffers, "outputs": outputs, "launches": case.launches(), "schedule": SCHEDULES[0],
            "trace": { "blocks": 2, "steps_per_block_max": 2000 },
        }))
    }
}

fn requests(root: &Path) -> Vec<Value> {
    let mut requests = Vec::new();
    let pieces = lessons::slugs().map(|slug| bless::piece(root, slug)).collect();
    let chosen = share::for_test("chapters whose kernels the engine runs", root, pieces, &MAKERS);
    for lesson in lessons().into_iter().filter(|lesson| chosen.contains(lesson.slug)) {
        // Most variants of a lesson have their kernels in one file.
        let mut files: HashMap<&str, Kernels> = HashMap::new();
        for variant in lesson.variants {
            let before = requests.len();
            let file = variant.kernels.unwrap_or(lesson.slug);
            let kernels = files.entry(file).or_insert_with(|| Kernels::read(root, lesson.slug, variant));
            for (&ty, &op) in variant.types.iter().flat_map(|ty| variant.ops.iter().map(move |op| (ty, op))) {
                for (n, schedules) in SIZES {
                    let Some(request) = kernels.request(variant, ty, op, n) else { continue };
                    requests.extend(SCHEDULES[..schedules].iter().map(|&schedule| {
                        let mut request = request.clone();
                        request["schedule"] = schedule.into();
                        request
                    }));
                }
            }
            assert!(requests.len() > before, "{} {}: nothing to run", lesson.slug, variant.name);
        }
    }
    requests.extend(over_devices(root));
    requests
}

/// Every kernel of several devices, under each schedule, on two ranks and a ragged array.
fn over_devices(root: &Path) -> Vec<Value> {
    let (data, _) = figures::devices::lab(root).unwrap();
    let mut requests = Vec::new();
    for variant in data["variants"].as_array().unwrap() {
        let cases = variant["cases"].as_array().unwrap();
        let case = cases.iter().find(|case| case["n"] == 100 && case["ranks"] == 2).unwrap_or(&cases[0]);
        for schedule in SCHEDULES {
            let mut request = figures::devices::request(&variant["ptx"], case, schedule);
            request["seeds"] = 3.into();
            requests.push(request);
        }
    }
    assert!(requests.len() > 20);
    requests
}

/// Loads the script as a page does, then answers line by line.
const HARNESS: &str = r#"
const fs = require("fs"), zlib = require("zlib");
let packed;
globalThis.reductionLab = { engine: (text) => { packed = text; } };
(0, eval)(fs.readFileSync(process.argv[2], "utf8"));
const engine = new WebAssembly.Instance(new WebAssembly.Module(zlib.gunzipSync(Buffer.from(packed, "base64"))), {}).exports;
for (const line of fs.readFileSync(process.argv[3], "utf8").split("\n").filter(Boolean)) {
    const request = Buffer.from(line), at = engine.alloc(request.length);
    new Uint8Array(engine.memory.buffer, at, request.length).set(request);
    const answer = engine.run(at, request.length);
    engine.free(at, request.length);
    const bytes = new DataView(engine.memory.buffer).getUint32(answer, true);
    fs.appendFileSync(process.argv[4], new Uint8Array(engine.memory.buffer, answer, 4 + bytes));
    engine.free(answer, 4 + bytes);
}
"#;

#[test]
fn the_committed_engine_gives_what_the_library_gives() {
    if Command::new("node").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("skipped: no Node on this machine, which runs the engine: install nodejs");
        return;
    }
    let root = root();
    let requests = requests(&root);
    let script = root.join("book/src/lab/engine.js");
    assert!(script.is_file(), "{} is missing: run `cargo course engine`", script.display());
    let parts = std::thread::available_parallelism().map_or(1, |threads| threads.get());
    let bytes: usize = std::thread::scope(|scope| {
        let part = |(i, part)| {
            let script = &script;
            scope.spawn(move || compare(script, part, i))
        };
        let threads: Vec<_> = requests.chunks(requests.len().div_ceil(parts)).enumerate().map(part).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    println!("{} runs, {bytes} bytes of answers", requests.len());
}

/// Compares the answers to some of the requests, and says how many bytes they have. `part` keeps their files apart.
fn compare(script: &Path, requests: &[Value], part: usize) -> usize {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [harness, lines, answers] =
        ["harness.cjs", "requests", "answers"].map(|name| folder.join(format!("{part}-{name}")));
    std::fs::write(&harness, HARNESS).unwrap();
    std::fs::write(&lines, requests.iter().map(|request| format!("{request}\n")).collect::<String>()).unwrap();
    std::fs::write(&answers, "").unwrap();
    let status = Command::new("node").args([harness.as_path(), script, &lines, &answers]).status().unwrap();
    assert!(status.success(), "Node: {status}");

    let answers = std::fs::read(&answers).unwrap();
    let mut rest = answers.as_slice();
    for request in requests {
        let (bytes, after) = rest.split_first_chunk::<4>().expect("an answer to each request");
        let (answer, after) = after.split_at(u32::from_le_bytes(*bytes) as usize);
        rest = after;
        let native = web::answer(request.to_string().as_bytes());
        let what = format!("{} under {}", request["launches"][0]["kernel"], request["schedule"]);
        // Taking all answers apart would take longer than the runs.
        let begin = String::from_utf8_lossy(&native[4..native.len().min(64)]);
        assert!(!begin.contains("\"error\""), "{what}: {begin}");
        if answer != native {
            assert_eq!(json_of(answer), json_of(&native), "{what}");
            panic!("{what}: the packed steps differ");
        }
    }
    assert!(rest.is_empty(), "an answer without a request");
    answers.len()
}

fn json_of(answer: &[u8]) -> Value {
    let (bytes, rest) = answer.split_first_chunk::<4>().expect("an answer begins with a length");
    serde_json::from_slice(&rest[..u32::from_le_bytes(*bytes) as usize]).expect("JSON")
}

/// Elements that are given one by one reach the kernel, and the passes run on the same memory.
#[test]
fn a_request_gives_the_result_of_its_elements() {
    let root = root();
    let lesson = lessons().into_iter().find(|lesson| lesson.slug == "ch05-unroll").unwrap();
    let variant = lesson.variant("unroll_shuffle").unwrap();
    let mut request = Kernels::read(&root, lesson.slug, variant).request(variant, Type::I32, Op::Sum, 1000).unwrap();
    let digits: Vec<u64> = (0..1000).map(figures::digit).collect();
    request["buffers"][0] = json!({ "spec": "in=i32[1000]:zero", "elements": digits });
    let answer = json_of(&web::answer(request.to_string().as_bytes()));
    assert_eq!(answer["outputs"]["sums1"][0], digits.iter().sum::<u64>());
    assert_eq!(answer["launches"].as_array().unwrap().len(), 2);
}

/// All ranks run at once: their steps are one list in the order of the run, in which each waits for the other.
#[test]
fn ranks_take_turns_and_their_faults_name_devices() {
    let (data, _) = figures::devices::lab(&root()).unwrap();
    let variant = |name: &str| data["variants"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap();
    let ask = |name: &str, schedule: &str| {
        let request = figures::devices::request(&variant(name)["ptx"], &variant(name)["cases"][0], schedule);
        let answer = web::answer(request.to_string().as_bytes());
        let json = json_of(&answer);
        assert_eq!(json["error"], Value::Null, "{name}");
        let words = &answer[(4 + u32::from_le_bytes(*answer.first_chunk().unwrap()) as usize).next_multiple_of(4)..];
        (request, json, words.len() / 4)
    };
    for name in ["one_shot_pull", "one_shot_push", "two_shot_push", "two_shot_direct", "low_latency"] {
        let (request, json, words) = ask(name, "independent");
        let n = request["buffers"][0]["elements"].as_array().unwrap().len();
        let sum = |i: usize| (0..2).map(|rank| request["buffers"][rank]["elements"][i].as_f64().unwrap()).sum::<f64>();
        for out in ["out_0", "out_1"] {
            let sums: Vec<f64> = json["outputs"][out].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
            assert_eq!(sums, (0..n).map(sum).collect::<Vec<_>>(), "{name} {out}");
        }
        let trace = &json["launches"][0]["trace"];
        assert_eq!(trace["grid"], json!([2, 1, 1]));
        assert!(json["launches"][1]["trace"].is_null() && trace["steps"].as_u64().unwrap() < words as u64, "{name}");
        assert!(json["launches"].as_array().unwrap().iter().all(|launch| launch["faults"] == json!([])), "{name}");
    }
    // From the second call on a rank does not wait, under one schedule or another.
    let faults = |seed: u64| {
        let (_, json, _) = ask("reused", &format!("independent:{seed}"));
        let launches = json["launches"].as_array().unwrap();
        launches.iter().flat_map(|launch| launch["faults"].as_array().unwrap().clone()).next()
    };
    let fault = (0..8).find_map(faults).expect("a race under one of eight seeds");
    assert_eq!(fault["code"], "global-race");
    assert_ne!(fault["device"], fault["other"]["device"]);
    assert!(fault["launch"].as_u64() >= Some(2) || fault["other"]["launch"].as_u64() >= Some(2), "{fault}");
    // A schedule that the lab has for a kernel leaves other sums on one rank than on another, or than an orderly run.
    let telling = data["variants"].as_array().unwrap().iter().filter(|one| one["schedule"].is_string());
    for variant in telling {
        let name = variant["name"].as_str().unwrap();
        let outputs = |schedule: &str| ask(name, schedule).1["outputs"].clone();
        assert_ne!(outputs(variant["schedule"].as_str().unwrap()), outputs("lockstep"), "{name}");
    }
}

#[test]
fn a_wrong_request_is_answered_with_its_error() {
    let error_of = |request: &str| json_of(&web::answer(request.as_bytes()))["error"].as_str().unwrap_or("").to_owned();
    assert!(error_of("{").contains("the request"));
    assert!(error_of(r#"{"ptx":[],"launches":[],"shcedule":"x"}"#).contains("shcedule"));
    let ptx = json!([{ "name": "k.ptx", "text": ".version 8.1\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\nret;\n}\n" }]);
    let ask = |buffers: Value, args: Value, more: (&str, Value)| {
        let launch = json!({ "kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": args });
        let mut request = json!({ "ptx": ptx, "buffers": buffers, "launches": [launch] });
        request[more.0] = more.1;
        error_of(&request.to_string())
    };
    let plain = || ("outputs", json!([]));
    assert_eq!(ask(json!(["in=i32[4]:iota"]), json!(["p=&in"]), plain()), "");
    assert!(ask(json!(["in=i32[4]:file(x)"]), json!(["p=&in"]), plain()).contains("no files"));
    assert!(ask(json!(["in=i32[2^40]:zero"]), json!(["p=&in"]), plain()).contains("has room"));
    assert!(ask(json!([]), json!(["p=&in"]), plain()).contains("no buffer is named in"));
    assert!(ask(json!([]), json!([]), plain()).contains("argument"));
    let into = |put: &str| ask(json!(["in=i32[4]:iota"]), json!(["s=bytes[8]:zero", put]), plain());
    assert_eq!(into("s@0=&in"), "");
    assert!(into("s@4=&in").contains("do not fit") && into("t@0=&in").contains("no structure named t"));
    assert!(ask(json!(["in=i32[4]:iota"]), json!(["p=&in"]), ("outputs", json!(["in:5"]))).contains("4 elements"));
    assert!(ask(json!(["in=i32[4]:iota"]), json!(["p=&in"]), ("seeds", json!(1_000_000))).contains("too many"));
    let long = json!([{ "spec": "in=u8[1]:zero", "elements": [256] }]);
    assert!(ask(long, json!(["p=&in"]), plain()).contains("does not fit"));
}
