//! The lab of the chapter over several devices: its kernels for sums of floats, on two ranks and on four, each a device of the simulator
//! with one block. Launches are a group's, as in the chapter's program, with fewer threads, so that a reader can see each of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use ch14_all_reduce::{Announced, VARIANTS, Variant};
use device::KernelSource;
use device::card::H200;
use lab::{Op, Type};
use reduction::{Group, Memory, RankLaunch, Share};
use serde_json::{Value, json};

use super::{BLOCKS_MAX, digit, lesson_part, names, only};
use crate::lessons::OVER_DEVICES;

/// Numbers of ranks that the lab offers.
const RANKS: [u32; 2] = [2, 4];
/// Elements of each rank's array, and the threads of its block; 100 is no multiple of what threads or ranks take.
const SIZES: [(u64, u32); 6] = [(32, 32), (64, 32), (100, 32), (128, 32), (128, 64), (256, 64)];
/// Calls that show a kernel which is wrong from the second call on; any other shows what it does in one.
const CALLS: u64 = 2;
/// Elements where each has eight digits, and ranks: the sums of two are the same in either order.
const ROUNDED: (u64, u32, u32) = (8, 32, 4);
/// Element of rank 0 where sums are rounded, and those of all others: floats from here on are even.
const LARGE: [u64; 2] = [1 << 24, 1];
/// Schedules under which a wrong kernel leaves a wrong sum: such a kernel opens with its own.
const TELLING: [(&str, &str); 3] =
    [("reused", "independent:0"), ("overwritten", "independent:3"), ("arrival", "independent:1")];
/// First view: variant, elements, threads, ranks, and a schedule under which a rank waits while its peer has written and has not said so.
const OPENING: (&str, u64, u32, u32, &str) = ("one_shot_push", 32, 32, 2, "independent:25");

/// The data of the lab, and the request of its opening.
///
/// # Errors
/// A file that cannot be read, a call that the group refuses.
pub fn lab(root: &Path) -> Result<(Value, Value)> {
    let lesson = KernelSource::in_root(root, OVER_DEVICES);
    let (source, ptx_name) = (lesson.cu_name(), lesson.ptx_name());
    let text = lesson.read_cu()?.replace("\r\n", "\n");
    let whole = lesson.read_ptx(&text).map_err(|why| anyhow!("{source}: {why}"))?;
    let mut variants = Vec::new();
    for variant in VARIANTS {
        let cases = cases(variant)?;
        let kernel = variant.kernel(&cases.first().context("no case")?.group);
        let kernels = BTreeSet::from([kernel.as_str()]);
        let ptx = only(&whole, &kernels);
        let names = names(&ptx_name, &ptx, &kernels, &source, &text)?;
        let telling = TELLING.iter().find(|(name, _)| *name == variant.name).map(|(_, schedule)| schedule);
        variants.push(json!({
            "name": variant.name, "schedule": telling, "type": Type::F32.name(), "op": Op::Sum.name(), "idea": variant.idea, "limit": variant.limit,
            "source": source, "announced": variant.announced.map(Announced::name), "names": names, "others": [], "resident": null,
            "ptx": { "name": ptx_name, "text": ptx },
            "cases": cases.iter().map(|case| case.json(&kernel)).collect::<Result<Vec<_>>>()?,
        }));
    }
    let (name, n, block, ranks, schedule) = OPENING;
    let opened = variants.iter().find(|variant| variant["name"] == name).context("the opening's variant")?;
    let is_opened = |case: &&Value| case["n"] == n && case["block"] == block && case["ranks"] == ranks;
    let case = opened["cases"].as_array().into_iter().flatten().find(is_opened).context("the opening's case")?;
    let request = request(&opened["ptx"], case, schedule);
    let data = json!({
        "slug": OVER_DEVICES, "title": ch14_all_reduce::TITLE, "before": null, "variants": variants,
        "files": BTreeMap::from([(source.as_str(), lesson_part(&text))]),
        "opening": { "variant": name, "n": n, "block": block, "grid": null, "ranks": ranks, "schedule": schedule,
            "grain": "blocks", "at": "waits" },
    });
    Ok((data, request))
}

/// The page's request for one case: the steps of all its launches are recorded.
pub fn request(ptx: &Value, case: &Value, schedule: &str) -> Value {
    let mut buffers = case["buffers"].clone();
    let n = case["n"].as_u64().unwrap_or(0);
    let results = case["results"].as_array().map_or(0, Vec::len);
    for (at, buffer) in buffers.as_array_mut().into_iter().flatten().take(results).enumerate() {
        let element = |i: u64| case["elements"][(at as u64 * n + i) as usize].as_u64();
        let first = at as u64 * n;
        let elements: Vec<u64> = (0..n).map(|i| element(i).unwrap_or_else(|| digit(first + i))).collect();
        buffer["elements"] = elements.into();
    }
    let launches = case["launches"].as_array().map_or(0, Vec::len);
    json!({
        "ptx": [ptx], "buffers": buffers, "launches": case["launches"], "schedule": schedule, "outputs": case["results"],
        "trace": { "launch": case["shown"], "launches": launches, "blocks": BLOCKS_MAX },
    })
}

/// Calls of one variant on so many ranks.
struct Case {
    variant: &'static Variant,
    group: Group,
    n: u64,
    block: u32,
    calls: u64,
    rounds: bool,
}

fn cases(variant: &'static Variant) -> Result<Vec<Case>> {
    // A card that holds one block, so that the group launches one.
    let card = H200.clone().with_multiprocessors(1);
    let case = |n: u64, block: u32, ranks: u32| -> Result<Case> {
        let group = Group::new(Op::Sum, Type::F32, n, &vec![&card; ranks as usize])?.with_routes(&[variant.route]);
        let rounds = variant.announced == Some(Announced::OtherBits);
        let calls = if matches!(variant.name, "reused" | "overwritten") { CALLS } else { 1 };
        Ok(Case { variant, group, n, block, calls, rounds })
    };
    if variant.announced == Some(Announced::OtherBits) {
        let (n, block, ranks) = ROUNDED;
        return Ok(vec![case(n, block, ranks)?]);
    }
    RANKS.into_iter().flat_map(|ranks| SIZES.map(|(n, block)| case(n, block, ranks))).collect()
}

/// Memory of the simulator, as buffers of a request that have addresses of their own until they get the simulator's.
#[derive(Default)]
struct Buffers {
    listed: Vec<Value>,
    /// By address.
    names: BTreeMap<u64, String>,
}

impl Buffers {
    fn add(&mut self, name: String, rank: u32, shape: (&str, u64), init: &str) -> Memory {
        let (ty, bytes) = shape;
        let size = if ty == "u64" { 8 } else { 4 };
        self.listed.push(json!({ "spec": format!("{name}={ty}[{}]:{init}", bytes / size), "device": rank }));
        let memory = Memory { address: (self.listed.len() as u64) << 32, bytes };
        self.names.insert(memory.address, name);
        memory
    }

    /// An address as an argument has it.
    fn reference(&self, address: u64) -> Result<String> {
        let (begin, name) = self.names.range(..=address).next_back().context("an address of no buffer")?;
        ensure!(address - begin < 1 << 32, "{address:#x} lies behind {name}");
        Ok(if address == *begin { format!("&{name}") } else { format!("&{name}+{}", address - begin) })
    }
}

impl Case {
    fn json(&self, kernel: &str) -> Result<Value> {
        let Case { variant, group, n, block, calls, rounds } = self;
        let (room, bytes) = (group.room(), n * Type::F32.bytes());
        let all = || (0..*calls).flat_map(|call| (0..group.ranks()).map(move |rank| (call, rank)));
        // One call needs no number in the names of its arrays.
        let of_call = |what: &str, call: u64, rank: u32| match calls {
            1 => format!("{what}_{rank}"),
            _ => format!("{what}_{rank}_{}", call + 1),
        };
        let mut buffers = Buffers::default();
        let mut arrays = |what: &str, init: &str| -> Vec<Memory> {
            let one = |(call, rank)| buffers.add(of_call(what, call, rank), rank, ("f32", bytes), init);
            all().map(one).collect()
        };
        let (inputs, outs) = (arrays("in", "zero"), arrays("out", "zero(0)"));
        let mut of_rank = |what: &str, rank: u32, ty: &str, bytes: u64| match bytes {
            0 => Memory { address: 0, bytes },
            _ => buffers.add(format!("{what}_{rank}"), rank, (ty, bytes), "zero"),
        };
        let mut shares = Vec::new();
        for rank in 0..group.ranks() {
            let mut one = |what: &str, ty: &str, bytes| of_rank(what, rank, ty, bytes);
            shares.push(Share {
                input: Memory { address: 0, bytes: 0 },
                out: Memory { address: 0, bytes: 0 },
                stage: one("stage", "f32", room.stage),
                words: one("words", "u64", room.words),
                flags: one("flags", "u64", room.flags),
                calls: one("calls", "u64", room.calls),
            });
        }
        let call = group.call(variant.route, *n)?;
        let mut launches = Vec::new();
        for (inputs, outs) in inputs.chunks(shares.len()).zip(outs.chunks(shares.len())) {
            for (share, (&input, &out)) in shares.iter_mut().zip(inputs.iter().zip(outs)) {
                (share.input, share.out) = (input, out);
            }
            for (rank, launch) in call.launches(&shares)?.iter().enumerate() {
                launches.push(launch_json(kernel, rank, launch, *block, &buffers)?);
            }
        }
        let results: Vec<String> = all().map(|(call, rank)| of_call("out", call, rank)).collect();
        let mut json = json!({
            "n": n, "block": block, "grid": null, "ranks": group.ranks(), "calls": calls, "shown": 0, "of": "element",
            "buffers": buffers.listed, "launches": launches, "result": format!("{}:{n}", results[0]), "results": results,
        });
        if *rounds {
            let element = |i: u64| LARGE[usize::from(i >= *n)];
            json["elements"] = (0..n * u64::from(group.ranks())).map(element).collect();
        }
        Ok(json)
    }
}

/// A rank's launch as one of a request.
fn launch_json(kernel: &str, rank: usize, launch: &RankLaunch, block: u32, buffers: &Buffers) -> Result<Value> {
    ensure!(launch.geometry.grid[0] == 1, "{kernel}: {} blocks, and the lab shows one", launch.geometry.grid[0]);
    let mut args = vec![format!("a=bytes[{}]:zero", 8 * launch.arrays.len())];
    // Ranks that are not there have no arrays.
    for (at, &address) in launch.arrays.iter().enumerate().filter(|&(_, &address)| address > 0) {
        args.push(format!("a@{}={}", 8 * at, buffers.reference(address)?));
    }
    args.extend(launch.numbers.iter().enumerate().map(|(at, number)| format!("b{at}=u32:{number}")));
    args.push(format!("n=u64:{}", launch.n));
    Ok(json!({ "kernel": kernel, "grid": [1, 1, 1], "block": [block, 1, 1], "device": rank, "args": args }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn each_rank_launches_with_the_arrays_of_all() {
        let (data, request) = lab(&workspace::root().unwrap()).unwrap();
        let launches = request["launches"].as_array().unwrap();
        assert_eq!(launches.len(), 2);
        for (rank, launch) in launches.iter().enumerate() {
            let args: Vec<&str> = launch["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
            let own = format!("b0=u32:{rank}");
            let calls = format!("a@256=&calls_{rank}");
            for arg in ["a=bytes[264]:zero", "a@0=&in_0", "a@8=&in_1", "a@64=&out_0", "a@136=&stage_1", &own, &calls] {
                assert!(args.contains(&arg), "{arg}: {args:?}");
            }
            assert_eq!((&launch["device"], args.len()), (&json!(rank), 1 + 4 * 2 + 1 + 5 + 1));
        }
        assert_eq!(request["buffers"][1]["elements"][0], digit(32), "each rank has numbers of its own");
        assert_eq!(request["trace"]["launches"], 2);
        for variant in data["variants"].as_array().unwrap() {
            let ptx = ptx::Index::new(variant["ptx"]["text"].as_str().unwrap());
            let cases = variant["cases"].as_array().unwrap();
            assert!(!cases.is_empty());
            for case in cases {
                let launches = case["launches"].as_array().unwrap();
                let calls = case["calls"].as_u64().unwrap() * case["ranks"].as_u64().unwrap();
                assert_eq!((launches.len() as u64, case["results"].as_array().unwrap().len() as u64), (calls, calls));
                assert!(
                    launches.iter().all(|launch| ptx.has(launch["kernel"].as_str().unwrap())),
                    "{}",
                    variant["name"]
                );
            }
        }
    }

    #[test]
    fn a_call_has_arrays_of_its_own_and_shares_the_rest() {
        let reused = VARIANTS.iter().find(|variant| variant.name == "reused").unwrap();
        let case = &cases(reused).unwrap()[0];
        let json = case.json("reused_f32").unwrap();
        let args = |launch: usize| json["launches"][launch]["args"].to_string();
        assert!(args(0).contains("a@0=&in_0_1") && args(2).contains("a@0=&in_0_2"), "{json}");
        assert!(args(0).contains("&stage_1\"") && args(2).contains("&stage_1\""), "{json}");
    }
}
