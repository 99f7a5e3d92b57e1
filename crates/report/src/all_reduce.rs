//! The library's all-reduce beside NCCL and torch: the record of `scripts/gpu_all_reduce.sh`, and what a page shows of it.

use std::path::Path;

use lab::measurement::geometric_mean;
use lab::text::{day, three_digits};
use lab::{Error, Result};
use serde::Deserialize;

use crate::fact::facts_text;
use crate::sheet::Sheet;

/// The record that the page shows, from the root on.
const RECORD: &str = "measurements/library/h200-all-reduce.json";

/// Returns whether a case is of another library.
fn is_other(case: &Case) -> bool {
    ["nccl", "torch"].iter().any(|name| case.entrant.starts_with(name))
}

/// Size whose share of the link's bandwidth is a fact.
const SHARE_BYTES: u64 = 256 << 20;

#[derive(Debug, Deserialize)]
struct Record {
    device: String,
    driver: String,
    date: String,
    /// NCCL's version as it counts: 22809 for 2.28.9.
    nccl: u32,
    torch: String,
    link: Vec<Link>,
    scalar: Vec<Scalar>,
    cases: Vec<Case>,
}

/// A measurement of the link.
#[derive(Debug, Deserialize)]
struct Link {
    link: String,
    ranks: u32,
    us: f64,
    gb_per_s: Option<f64>,
}

/// The sum of an array that is spread over the ranks, or of the parts alone.
#[derive(Debug, Deserialize)]
struct Scalar {
    entrant: String,
    n: u64,
    ranks: u32,
    us: f64,
}

/// One size by one entrant.
#[derive(Debug, Deserialize)]
struct Case {
    entrant: String,
    op: String,
    #[serde(rename = "type")]
    ty: String,
    bytes: u64,
    ranks: u32,
    us: f64,
    /// Whether the library takes this route by itself.
    #[serde(default)]
    chosen: bool,
    /// Judged elements that are wrong.
    wrong: u64,
}

/// One size: the library's own choice (where that was not measured, the fastest that was), the fastest of its routes, and the others.
struct Size<'a> {
    bytes: u64,
    chosen: &'a Case,
    fastest: &'a Case,
    others: Vec<&'a Case>,
}

impl Size<'_> {
    /// Time of the fastest other over that of the library's choice.
    fn ratio(&self) -> Option<f64> {
        self.others.iter().map(|case| case.us).min_by(f64::total_cmp).map(|us| us / self.chosen.us)
    }

    fn cell(&self, entrants: &[&str]) -> String {
        let of = self.others.iter().filter(|case| entrants.contains(&case.entrant.as_str()));
        of.map(|case| case.us).min_by(f64::total_cmp).map_or("–".to_owned(), three_digits)
    }
}

impl Record {
    /// Sizes of a type on so many ranks, added up, from the smallest on.
    fn sizes(&self, op: &str, ty: &str, ranks: u32) -> Vec<Size<'_>> {
        let of = |case: &&Case| case.op == op && case.ty == ty && case.ranks == ranks && case.wrong == 0;
        let cases: Vec<&Case> = self.cases.iter().filter(of).collect();
        let mut all: Vec<u64> = cases.iter().map(|case| case.bytes).collect();
        all.sort_unstable();
        all.dedup();
        let size = |bytes: u64| {
            let here: Vec<&Case> = cases.iter().copied().filter(|case| case.bytes == bytes).collect();
            let (others, ours): (Vec<&Case>, Vec<&Case>) = here.iter().partition(|case| is_other(case));
            let fastest = *ours.iter().min_by(|a, b| a.us.total_cmp(&b.us))?;
            let chosen = ours.iter().find(|case| case.chosen).unwrap_or(&fastest);
            Some(Size { bytes, chosen, fastest, others })
        };
        all.into_iter().filter_map(size).collect()
    }

    fn link(&self, what: &str, ranks: u32) -> Option<&Link> {
        self.link.iter().find(|link| link.link == what && link.ranks == ranks)
    }

    /// Microseconds that a sum over the ranks takes longer than that of a part, at most.
    fn scalar_us(&self, ranks: u32) -> f64 {
        let us = |entrant: &str, n| {
            let of = |case: &&Scalar| case.entrant == entrant && case.n == n && case.ranks == ranks;
            self.scalar.iter().find(of).map_or(f64::NAN, |case| case.us)
        };
        self.scalar.iter().map(|case| us("whole", case.n) - us("parts", case.n)).fold(0.0, f64::max)
    }
}

/// The files of `book/src/generated/all-reduce/`, name and text.
///
/// # Errors
/// A record that cannot be read.
pub fn all_reduce(root: &Path) -> Result<Vec<(String, String)>> {
    let path = root.join(RECORD);
    let text = std::fs::read_to_string(&path).map_err(Error::file(&path, "read"))?;
    let refused = |problem: String| Error::Record { path: path.clone(), problem };
    let record: Record = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
    if let Some(case) = record.cases.iter().find(|case| case.wrong > 0 && !is_other(case)) {
        return Err(refused(format!("{} of {} bytes on {} devices is wrong", case.entrant, case.bytes, case.ranks)));
    }
    let mut files = vec![("facts.md".to_owned(), facts_text(&facts(&record)))];
    for (name, ty, ranks) in [("f32", "f32", 2), ("bf16", "bf16", 2), ("f32-on-four", "f32", 4)] {
        files.push((format!("{name}.md"), table(&record.sizes("sum", ty, ranks))));
    }
    Ok(files)
}

/// A size that is a power of two, with a space that no line is broken at: `64 KiB`.
fn whole(bytes: u64) -> String {
    let unit = bytes.ilog2() / 10;
    let name = ["B", "KiB", "MiB", "GiB"][unit.min(3) as usize];
    format!("{}\u{a0}{name}", bytes >> (10 * unit.min(3)))
}

/// A row for each size, by the route that the library takes.
fn table(sizes: &[Size<'_>]) -> String {
    let mut sheet =
        Sheet::new(2, ["bytes", "route", "µs", "NCCL", "torch, one shot", "torch, two shots", "best other, over ours"]);
    for size in sizes {
        sheet.row([
            whole(size.bytes),
            format!("`{}`", size.chosen.entrant),
            three_digits(size.chosen.us),
            size.cell(&["nccl", "torch_nccl"]),
            size.cell(&["torch_one_shot"]),
            size.cell(&["torch_two_shot"]),
            size.ratio().map_or("–".to_owned(), |ratio| format!("{ratio:.2}")),
        ]);
    }
    sheet.markdown()
}

fn facts(record: &Record) -> Vec<(String, String)> {
    let Record { device, driver, date, nccl, torch, .. } = record;
    let nccl = format!("{}.{}.{}", nccl / 10_000, nccl / 100 % 100, nccl % 100);
    let torch = torch.split('+').next().unwrap_or_default();
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let mut all = vec![
        fact("source", format!("{device}, driver {driver}, NCCL {nccl}, torch {torch}, {}", day(date))),
        fact("scalar-us", format!("{:.1}", record.scalar_us(2))),
    ];
    for (name, link) in
        [("trip", "trip there and back"), ("own", "read of its own memory"), ("peer", "read of a peer's memory")]
    {
        let us = record.link(link, 2).map_or(f64::NAN, |link| link.us);
        all.push(fact(&format!("{name}-us"), three_digits(us)));
    }
    let push = record.link("push", 2).and_then(|link| link.gb_per_s).unwrap_or(f64::NAN);
    all.push(fact("push-gb-per-s", format!("{push:.0}")));
    for (name, ty, ranks) in [("f32", "f32", 2), ("bf16", "bf16", 2), ("f32-on-four", "f32", 4)] {
        let sizes = record.sizes("sum", ty, ranks);
        let ratios: Vec<(f64, &Size<'_>)> = sizes.iter().filter_map(|size| Some((size.ratio()?, size))).collect();
        if let Some((least, size)) = ratios.iter().min_by(|a, b| a.0.total_cmp(&b.0)) {
            all.push(fact(&format!("{name}-least"), format!("{least:.2}")));
            all.push(fact(&format!("{name}-least-at"), whole(size.bytes)));
        }
        let mean = geometric_mean(ratios.iter().map(|pair| pair.0)).unwrap_or(f64::NAN);
        all.push(fact(&format!("{name}-mean"), format!("{mean:.2}")));
        let at = sizes.iter().find(|size| size.bytes == SHARE_BYTES);
        // Two shots take so many times a message's bytes over the links of each rank.
        let times = 2.0 * f64::from(ranks - 1) / f64::from(ranks);
        let share = at.map_or(f64::NAN, |size| times * size.bytes as f64 / size.chosen.us / 1e3 / push);
        all.push(fact(&format!("{name}-share"), format!("{share:.2}")));
    }
    let regrets = regrets(record);
    let mean = geometric_mean(regrets.iter().copied()).unwrap_or(f64::NAN);
    all.push(fact("regret-mean", format!("{mean:.2}")));
    all.push(fact("regret-most", format!("{:.2}", regrets.iter().copied().fold(f64::NAN, f64::max))));
    all
}

/// Time of the route that the library takes over that of the fastest, for each sum of each type on each number of ranks where it had a
/// choice.
fn regrets(record: &Record) -> Vec<f64> {
    let sizes = |ty| [2, 4].into_iter().flat_map(move |ranks| record.sizes("sum", ty, ranks));
    let all = ["f32", "bf16"].into_iter().flat_map(sizes).filter(|size| size.chosen.chosen);
    all.map(|size| size.chosen.us / size.fastest.us).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(entrant: &str, bytes: u64, us: f64, chosen: bool) -> Case {
        let (op, ty) = ("sum".to_owned(), "f32".to_owned());
        Case { entrant: entrant.to_owned(), op, ty, bytes, ranks: 2, us, chosen, wrong: 0 }
    }

    #[test]
    fn the_route_that_is_taken_stands_beside_the_fastest_other() {
        let cases = vec![
            case("one_shot_push", 4096, 3.0, true),
            case("low_latency", 4096, 2.0, false),
            case("nccl", 4096, 6.0, false),
            case("torch_nccl", 4096, 20.0, false),
            case("torch_two_shot", 4096, 4.5, false),
            Case { wrong: 1, ..case("torch_one_shot", 4096, 1.0, false) },
            Case { ranks: 4, ..case("nccl", 1024, 1.0, false) },
        ];
        let (device, driver, date, torch) = Default::default();
        let scalar = |entrant: &str, us| Scalar { entrant: entrant.to_owned(), n: 8, ranks: 2, us };
        let link = vec![Link { link: "push".to_owned(), ranks: 2, us: 1.0, gb_per_s: Some(2.0) }];
        let scalar = vec![scalar("parts", 3.0), scalar("whole", 5.5)];
        let record = Record { device, driver, date, nccl: 22_809, torch, link, scalar, cases };
        let table = table(&record.sizes("sum", "f32", 2));
        assert!(table.contains("| `one_shot_push` | 3.00 | 6.00 | – | 4.50 | 1.50 |"), "{table}");
        let facts = facts(&record);
        for (name, value) in
            [("f32-least", "1.50"), ("regret-most", "1.50"), ("scalar-us", "2.5"), ("push-gb-per-s", "2")]
        {
            assert!(facts.contains(&(name.to_owned(), value.to_owned())), "{name}: {facts:?}");
        }
        assert!(facts[0].1.contains("NCCL 2.28.9"), "{facts:?}");
    }
}
