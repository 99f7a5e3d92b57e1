//! Runs of the chapter's program on devices of the simulator: what crosses the links, and what is found in its wrong kernels.

use lab::Value as Number;
use lab::text::grouped;
use serde_json::{Value, json};

use crate::fact::Fact;
use crate::sheet::Sheet;

/// What the chapter's program says on devices of the simulator.
pub struct OverDevices {
    /// Text of a run with its defaults.
    pub text: String,
    /// Text of its racing kernels alone.
    pub racing: String,
    /// JSON of all kernels, on two devices, four and eight.
    pub objects: Vec<Value>,
    /// JSON of the wrong ones under several seeds.
    pub tried: Value,
}

/// Counters of what crosses the links, and their words in the open table.
const BYTES: [(&str, &str); 2] = [("ptx_peer_ld_bytes", "read from peers"), ("ptx_peer_st_bytes", "written to peers")];
const SECTORS: [(&str, &str); 2] =
    [("ptx_peer_ld_sectors", "sectors read from peers"), ("ptx_peer_st_sectors", "sectors written to peers")];
/// Place of the object whose faults the page shows: on four devices.
const SHOWN: usize = 1;

/// The simulator's record of the chapter: `data/sim.json`.
pub fn recorded(runs: &OverDevices) -> String {
    let cases = runs.objects.iter().chain([&runs.tried]).flat_map(runs_of).map(|run| {
        let codes: Vec<&Value> = faults(run).iter().map(|fault| &fault["code"]).collect();
        let counters = run["counters"].as_object().into_iter().flatten();
        let counters: serde_json::Map<String, Value> = counters
            .filter(|(name, _)| name.contains("peer") || ["barriers", "ptx_inst_executed"].contains(&name.as_str()))
            .map(|(name, count)| (name.clone(), count.clone()))
            .collect();
        let mut case = json!({
            "variant": run["variant"], "ranks": run["ranks"], "n": run["n"], "grid": run["grid"], "block": run["block"],
            "calls": run["calls"], "result": run["result"], "wrong": run["wrong"], "judged": run["judged"],
            "faults": codes, "link_bytes": run["link_bytes"], "counters": counters,
        });
        if !run["seeds"].is_null() {
            case["seeds"] = run["seeds"].clone();
        }
        format!("  {case}")
    });
    let (chapter, seed) = (&runs.tried["chapter"], &runs.tried["seed"]);
    let cases: Vec<String> = cases.collect();
    format!("{{\n\"chapter\": {chapter},\n\"seed\": {seed},\n\"cases\": [\n{}\n]\n}}\n", cases.join(",\n"))
}

fn runs_of(object: &Value) -> impl Iterator<Item = &Value> {
    object["runs"].as_array().into_iter().flatten()
}

fn named<'a>(object: &'a Value, variant: &str) -> Option<&'a Value> {
    runs_of(object).find(|run| run["variant"] == variant)
}

fn faults(run: &Value) -> &[Value] {
    run["faults"].as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("–")
}

fn count(value: &Value) -> String {
    value.as_u64().map_or("–".to_owned(), grouped)
}

fn number(value: &Value) -> String {
    value.as_f64().map_or("–".to_owned(), |value| Number::F32(value as f32).to_string())
}

/// Tables and texts, name and contents.
pub(super) fn files(runs: &OverDevices) -> Vec<(String, String)> {
    let found = runs.racing.find("found in ").map_or("", |at| &runs.racing[at..]);
    let found = found.split("\n\ncounters").next().unwrap_or_default();
    let files = [
        ("run.txt", runs.text.clone()),
        ("faults.txt", format!("{}\n", found.split("\n\nwhat holds").next().unwrap_or_default())),
        ("counters.md", counters(runs)),
        ("mistakes.md", mistakes(runs)),
    ];
    files.map(|(name, contents)| (name.to_owned(), contents)).into()
}

/// Bytes that rank 0 moves over its links, by kernel and number of devices.
fn counters(runs: &OverDevices) -> String {
    let Some(first) = runs.objects.first() else { return String::new() };
    let n = runs_of(first).next().map_or_else(String::new, |run| count(&run["n"]));
    let head = [format!("bytes, simulated, n = {n} floats")];
    let ranks = runs.objects.iter().map(|object| {
        let ranks = runs_of(object).next().map_or(0, |run| run["ranks"].as_u64().unwrap_or(0));
        format!("{ranks} ranks")
    });
    let head: Vec<String> = head.into_iter().chain(ranks).collect();
    let rows = |sheet: &mut Sheet, metrics: &[(&str, &str)]| {
        for run in runs_of(first).filter(|run| run["announced"].is_null()) {
            let variant = text(&run["variant"]);
            let cells = |key: &str, from: fn(&Value) -> &Value| -> Vec<String> {
                let all = runs.objects.iter().filter_map(|object| named(object, variant));
                all.map(|run| count(&from(run)[key])).collect()
            };
            for (key, words) in metrics {
                let cells = cells(key, |run| &run["counters"]);
                if cells.iter().any(|cell| cell != "–" && cell != "0") {
                    sheet.row([format!("`{variant}`: {words}")].into_iter().chain(cells));
                }
            }
        }
    };
    let mut open = Sheet::new(1, head.clone());
    rows(&mut open, &BYTES);
    let mut folded = Sheet::new(
        1,
        head.into_iter().enumerate().map(|(i, cell)| if i == 0 { "sectors of 32 bytes".to_owned() } else { cell }),
    );
    rows(&mut folded, &SECTORS);
    let names: Vec<String> = BYTES.iter().chain(&SECTORS).map(|(key, _)| format!("`{key}`")).collect();
    format!(
        "{}\n<details>\n<summary>The same in sectors, and the counters' names</summary>\n\n{}\nThe counters are {}, names of \
         the simulator's own.\n\n</details>\n",
        open.markdown(),
        folded.markdown(),
        names.join(", ")
    )
}

/// The wrong kernels, a column each.
fn mistakes(runs: &OverDevices) -> String {
    let wrong: Vec<(&Value, &Value)> = runs_of(&runs.tried)
        .filter_map(|tried| Some((named(runs.objects.get(SHOWN)?, text(&tried["variant"]))?, tried)))
        .collect();
    let heads = wrong.iter().map(|(run, _)| format!("`{}`", text(&run["variant"])));
    let mut sheet = Sheet::new(1 + wrong.len(), [String::new()].into_iter().chain(heads));
    let mut row = |what: &str, cell: &dyn Fn(&Value, &Value) -> String| {
        sheet.row([what.to_owned()].into_iter().chain(wrong.iter().map(|(run, tried)| cell(run, tried))));
    };
    row("found", &|run, _| match faults(run) {
        [] => "nothing".to_owned(),
        [first, ..] => format!("`{}`", text(&first["code"])),
    });
    row("the first report", &|run, _| faults(run).first().map_or("–", |fault| text(&fault["message"])).to_owned());
    row("wrong elements", &|run, _| format!("{} of {}", count(&run["wrong"]), count(&run["judged"])));
    row("schedules that show it", &|_, tried| {
        format!("{} of {}", count(&tried["seeds"]["found"]), count(&tried["seeds"]["ran"]))
    });
    row("wrong elements under the first of them", &|_, tried| count(&tried["wrong"]));
    sheet.markdown()
}

/// Facts of every kernel on every number of devices, and of what is wrong.
pub(super) fn facts(runs: &OverDevices) -> Vec<Fact> {
    let mut all = Vec::new();
    for run in runs.objects.iter().flat_map(runs_of) {
        let prefix = format!("{}-{}", text(&run["variant"]), count(&run["ranks"]));
        let mut fact = |name: &str, value: String| all.push((format!("{prefix}-{name}"), value));
        for name in ["n", "link_bytes", "rank", "wrong", "judged"] {
            fact(name, count(&run[name]));
        }
        for name in ["result", "expected"] {
            fact(name, number(&run[name]));
        }
        for (key, _) in BYTES.iter().chain(&SECTORS) {
            fact(key, run["counters"][*key].as_u64().map_or("0".to_owned(), grouped));
        }
        fact("message", faults(run).first().map_or("–", |fault| text(&fault["message"])).to_owned());
    }
    for tried in runs_of(&runs.tried) {
        let mut fact = |name: &str, value: String| all.push((format!("{}-{name}", text(&tried["variant"])), value));
        fact("seeds", count(&tried["seeds"]["ran"]));
        fact("seeds-found", count(&tried["seeds"]["found"]));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs() -> OverDevices {
        let run = |variant: &str, ranks: u32, announced: Value, faults: Value| {
            json!({
                "variant": variant, "ranks": ranks, "n": 1024, "announced": announced, "wrong": 3, "judged": 4096, "result": 1.5,
                "link_bytes": 12_288, "faults": faults, "counters": {"ptx_peer_st_bytes": 4104 * ranks, "barriers": 8, "shuffles": 5},
            })
        };
        let race = json!([{"code": "global-race", "message": "reads"}]);
        let object = |ranks| json!({"runs": [run("push", ranks, Value::Null, json!([])), run("racing", ranks, json!("global-race"), race.clone())]});
        let mut tried =
            json!({"chapter": "c", "seed": 1, "runs": [run("racing", 4, json!("global-race"), race.clone())]});
        tried["runs"][0]["seeds"] = json!({"ran": 8, "found": 7});
        let racing = "head\n\nfound in racing\nerror\n\ncounters, simulated\n".to_owned();
        OverDevices { text: "a run\n".to_owned(), racing, objects: vec![object(2), object(4)], tried }
    }

    #[test]
    fn bytes_stand_by_kernel_and_number_of_devices() {
        let counters = counters(&runs());
        assert!(counters.contains("| `push`: written to peers | 8,208 | 16,416 |\n"), "{counters}");
        assert!(!counters.contains("racing") && !counters.contains("read from peers |"), "{counters}");
    }

    #[test]
    fn a_mistake_has_its_report_and_its_schedules() {
        let runs = runs();
        let mistakes = mistakes(&runs);
        for row in ["| found | `global-race` |", "| the first report | reads |", "| 3 of 4,096 |", "| 7 of 8 |"] {
            assert!(mistakes.contains(row), "{row}: {mistakes}");
        }
        let files = files(&runs);
        assert!(files.contains(&("faults.txt".to_owned(), "found in racing\nerror\n".to_owned())), "{files:?}");
        assert!(facts(&runs).contains(&("racing-seeds-found".to_owned(), "7".to_owned())));
    }

    #[test]
    fn the_record_has_a_line_a_run_and_no_more_than_the_page_needs() {
        let text = recorded(&runs());
        let record: Value = serde_json::from_str(&text).unwrap();
        let cases = record["cases"].as_array().unwrap();
        assert_eq!(
            (cases.len(), &cases[4]["seeds"]["found"], &cases[1]["faults"][0]),
            (5, &json!(7), &json!("global-race"))
        );
        assert_eq!(cases[0]["counters"], json!({"ptx_peer_st_bytes": 8208, "barriers": 8}));
    }
}
