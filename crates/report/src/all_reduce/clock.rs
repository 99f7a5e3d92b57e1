//! Times of the library's all-reduce: beside NCCL and torch, by every route, and against the straight lines that were expected.

use std::collections::BTreeSet;

use lab::Result;
use lab::figure::{BLUE, GREEN, INK, VERMILION};
use lab::measurement::geometric_mean;
use lab::text::{bytes, grouped, three_digits};
use plotters::style::RGBColor;
use reduction::Route;

use super::{Record, Size};
use crate::fact::Fact;
use crate::plot::{Line, Look, Mark, Plot};
use crate::sheet::Sheet;
use crate::tables::{cell, ratio};

/// Numbers of GPUs that were measured.
const RANKS: [u32; 2] = [2, 4];
const TYPES: [&str; 2] = ["f32", "bf16"];
/// Size whose share of the link's bandwidth is a fact.
const SHARE_BYTES: u64 = 256 << 20;
/// Routes that the library takes by itself, from the shortest messages to the longest.
const TAKEN: [Route; 3] = [Route::LowLatency, Route::OneShotPush, Route::TwoShotPush];

/// Tables and charts, name and text.
pub(super) fn files(record: &Record) -> Result<Vec<(String, String)>> {
    let mut files = vec![
        ("fit.md".to_owned(), fit()),
        ("crossings.md".to_owned(), crossings(record)),
        ("scalar.md".to_owned(), scalar(record)),
    ];
    for ranks in RANKS {
        for ty in TYPES {
            files.push((format!("clock-{ty}-{ranks}.md"), beside(&record.sizes("sum", ty, ranks))));
        }
        files.push((format!("routes-{ranks}.md"), routes(&record.sizes("sum", "f32", ranks))));
        files.push((format!("clock-{ranks}.svg"), plot(record, ranks).svg_by_decades()?));
    }
    Ok(files)
}

/// A size that is a power of two, with a space that no line is broken at: `64 KiB`.
fn whole(bytes: u64) -> String {
    let unit = bytes.max(1).ilog2() / 10;
    let name = ["B", "KiB", "MiB", "GiB"][unit.min(3) as usize];
    format!("{}\u{a0}{name}", bytes >> (10 * unit.min(3)))
}

/// A row for each size, by the route that the library takes.
fn beside(sizes: &[Size<'_>]) -> String {
    let mut sheet =
        Sheet::new(2, ["bytes", "route", "µs", "NCCL", "torch, one shot", "torch, two shots", "best other, over ours"]);
    for size in sizes {
        sheet.row([
            whole(size.bytes),
            format!("`{}`", size.chosen.entrant),
            three_digits(size.chosen.us),
            cell(size.other_us(&["nccl", "torch_nccl"])),
            cell(size.other_us(&["torch_one_shot"])),
            cell(size.other_us(&["torch_two_shot"])),
            ratio(size.ratio()),
        ]);
    }
    sheet.markdown()
}

/// Microseconds by every route.
fn routes(sizes: &[Size<'_>]) -> String {
    let names = Route::ALL.map(Route::name);
    let heads = names.map(|name| format!("`{name}`"));
    let mut sheet = Sheet::new(1, ["bytes".to_owned()].into_iter().chain(heads));
    for size in sizes {
        sheet.row([whole(size.bytes)].into_iter().chain(names.map(|name| cell(size.us(name)))));
    }
    sheet.markdown()
}

/// What the library expects of each route.
fn fit() -> String {
    let mut sheet = Sheet::new(1, ["route", "α, µs", "β, GB/s", "over the links, 2 ranks", "4 ranks", "8 ranks"]);
    for route in Route::ALL {
        let (delay_us, gb_per_s) = route.delay_and_bandwidth();
        let times = [2, 4, 8].map(|ranks| match per_byte(route, ranks) {
            1.0 => "n".to_owned(),
            times => format!("{times} n"),
        });
        let cells = [format!("`{route}`"), format!("{delay_us:.1}"), format!("{gb_per_s:.0}")];
        sheet.row(cells.into_iter().chain(times));
    }
    sheet.markdown()
}

/// Bytes over the links for each byte of an array.
fn per_byte(route: Route, ranks: u32) -> f64 {
    route.link_bytes(1 << 20, ranks) as f64 / f64::from(1 << 20)
}

/// Bytes from which on a route is expected to be faster than the one before it.
fn predicted(before: Route, after: Route, ranks: u32) -> f64 {
    let [(delay, slow), (longer, fast)] = [before, after].map(|route| {
        let (delay_us, gb_per_s) = route.delay_and_bandwidth();
        (delay_us, per_byte(route, ranks) / (gb_per_s * 1e3))
    });
    (longer - delay) / (slow - fast)
}

/// The two sizes between which the route became faster than the one before it, and where it did if both times lie on straight lines there.
fn measured(sizes: &[Size<'_>], before: Route, after: Route) -> Option<(u64, u64, f64)> {
    let gain = |size: &Size<'_>| Some((size.bytes, size.us(before.name())? - size.us(after.name())?));
    let gains: Vec<(u64, f64)> = sizes.iter().filter_map(gain).collect();
    let pair = gains.windows(2).find(|pair| pair[0].1 < 0.0 && pair[1].1 >= 0.0)?;
    let ((from, loss), (to, gain)) = (pair[0], pair[1]);
    Some((from, to, from as f64 + (to - from) as f64 * loss / (loss - gain)))
}

/// Every two routes that follow each other.
fn pairs() -> impl Iterator<Item = (Route, Route)> {
    TAKEN.into_iter().zip(TAKEN.into_iter().skip(1))
}

fn crossings(record: &Record) -> String {
    let mut sheet = Sheet::new(2, ["GPUs", "from, to", "expected at", "measured at", "between"]);
    for ranks in RANKS {
        let sizes = record.sizes("sum", "f32", ranks);
        for (before, after) in pairs() {
            let found = measured(&sizes, before, after);
            sheet.row([
                ranks.to_string(),
                format!("`{before}`, `{after}`"),
                bytes(predicted(before, after, ranks) as u64),
                found.map_or("–".to_owned(), |(.., at)| bytes(at as u64)),
                found.map_or("–".to_owned(), |(from, to, _)| format!("{} and {}", whole(from), whole(to))),
            ]);
        }
    }
    sheet.markdown()
}

/// The sum of an array that is spread over the GPUs.
fn scalar(record: &Record) -> String {
    let head = ["floats on each GPU", "each its own, µs", "all, on 2 GPUs", "each its own, on 4", "all, on 4 GPUs"];
    let mut sheet = Sheet::new(1, head);
    let sizes: BTreeSet<u64> = record.scalar.iter().map(|case| case.n).collect();
    for n in sizes {
        let us = |entrant, ranks| cell(record.scalar_us(entrant, n, ranks));
        sheet.row([grouped(n), us("parts", 2), us("whole", 2), us("parts", 4), us("whole", 4)]);
    }
    sheet.markdown()
}

/// Most microseconds that a sum over the ranks takes longer than that of a part.
fn longer_us(record: &Record, ranks: u32) -> f64 {
    let longer = |n| Some(record.scalar_us("whole", n, ranks)? - record.scalar_us("parts", n, ranks)?);
    record.scalar.iter().filter_map(|case| longer(case.n)).fold(0.0, f64::max)
}

/// Measured times as marks, the expected ones as dashes.
fn plot(record: &Record, ranks: u32) -> Plot {
    let sizes = record.sizes("sum", "f32", ranks);
    let looks: [(&str, RGBColor, Mark); 3] =
        [("words", GREEN, Mark::Up), ("one shot", BLUE, Mark::Ring), ("two shots", VERMILION, Mark::Square)];
    let mut lines = Vec::new();
    for (route, (label, colour, mark)) in TAKEN.into_iter().zip(looks) {
        let points: Vec<(f64, f64)> =
            sizes.iter().filter_map(|size| Some((size.bytes as f64, size.us(route.name())?))).collect();
        let expected = sizes.iter().filter(|size| size.us(route.name()).is_some());
        let expected = expected.map(|size| (size.bytes as f64, route.predicted_us(size.bytes, ranks))).collect();
        let look = Look { colour, tenths: 10, width: 1, dash: None, mark: Some(mark) };
        lines.push(Line { label: label.to_owned(), name: String::new(), points, look });
        let dashes = Look { dash: Some((6, 4)), mark: None, width: 2, tenths: 6, ..look };
        lines.push(Line { label: String::new(), name: format!("{label}, expected"), points: expected, look: dashes });
    }
    let nccl = sizes.iter().filter_map(|size| Some((size.bytes as f64, size.other_us(&["nccl"])?))).collect();
    let look = Look { colour: INK, tenths: 6, width: 1, dash: Some((2, 3)), mark: Some(Mark::Cross) };
    lines.push(Line { label: "NCCL".to_owned(), name: String::new(), points: nccl, look });
    Plot {
        title: format!("An all-reduce of f32 on {ranks} × {}", record.device),
        y_title: "µs",
        x_title: "bytes of each array",
        x_label: |x| whole(x as u64),
        lines,
    }
}

/// Facts of the record and of what was expected.
pub(super) fn facts(record: &Record) -> Vec<Fact> {
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let mut all = vec![fact("source", record.source())];
    for (name, link) in
        [("trip", "trip there and back"), ("own", "read of its own memory"), ("peer", "read of a peer's memory")]
    {
        let us = record.link(link, 2).map_or(f64::NAN, |link| link.us);
        all.push(fact(&format!("{name}-us"), three_digits(us)));
    }
    for name in ["push", "pull"] {
        all.push(fact(&format!("{name}-gb-per-s"), format!("{:.0}", link_gb_per_s(record, name, 2))));
    }
    for route in Route::ALL {
        let (delay_us, gb_per_s) = route.delay_and_bandwidth();
        all.push(fact(&format!("{route}-delay-us"), format!("{delay_us:.1}")));
        all.push(fact(&format!("{route}-gb-per-s"), format!("{gb_per_s:.0}")));
    }
    for ranks in RANKS {
        all.push(fact(&format!("scalar-us-{ranks}"), format!("{:.1}", longer_us(record, ranks))));
        let sizes = record.sizes("sum", "f32", ranks);
        for (before, after) in pairs() {
            let at = bytes(predicted(before, after, ranks) as u64);
            all.push(fact(&format!("{before}-{after}-{ranks}-expected"), at));
            let at = measured(&sizes, before, after).map_or("–".to_owned(), |(.., at)| bytes(at as u64));
            all.push(fact(&format!("{before}-{after}-{ranks}-measured"), at));
        }
        for ty in TYPES {
            all.extend(beside_facts(record, ty, ranks));
        }
    }
    let regrets = regrets(record);
    let mean = geometric_mean(regrets.iter().copied()).unwrap_or(f64::NAN);
    all.push(fact("regret-mean", format!("{mean:.2}")));
    all.push(fact("regret-most", format!("{:.2}", regrets.iter().copied().fold(f64::NAN, f64::max))));
    all
}

fn link_gb_per_s(record: &Record, what: &str, ranks: u32) -> f64 {
    record.link(what, ranks).and_then(|link| link.gb_per_s).unwrap_or(f64::NAN)
}

/// Facts of the sums of one type on so many GPUs.
fn beside_facts(record: &Record, ty: &str, ranks: u32) -> Vec<Fact> {
    let fact = |name: &str, value: String| (format!("{ty}-{ranks}-{name}"), value);
    let sizes = record.sizes("sum", ty, ranks);
    let ratios: Vec<(f64, &Size<'_>)> = sizes.iter().filter_map(|size| Some((size.ratio()?, size))).collect();
    let mut all = Vec::new();
    for (ratio, size) in &ratios {
        all.push(fact(&format!("ratio-{}", size.bytes), format!("{ratio:.2}")));
    }
    if let Some((least, size)) = ratios.iter().min_by(|a, b| a.0.total_cmp(&b.0)) {
        all.push(fact("least", format!("{least:.2}")));
        all.push(fact("least-at", whole(size.bytes)));
    }
    let mean = geometric_mean(ratios.iter().map(|pair| pair.0)).unwrap_or(f64::NAN);
    all.push(fact("mean", format!("{mean:.2}")));
    let share = sizes.iter().find(|size| size.bytes == SHARE_BYTES).map(|size| {
        per_byte(Route::TwoShotPush, ranks) * size.bytes as f64
            / size.chosen.us
            / 1e3
            / link_gb_per_s(record, "push", ranks)
    });
    all.push(fact("share", ratio(share)));
    all
}

/// Time of the route that the library takes over that of the fastest, for each sum of each type on each number of ranks where it had a
/// choice.
fn regrets(record: &Record) -> Vec<f64> {
    let sizes = |ty| RANKS.into_iter().flat_map(move |ranks| record.sizes("sum", ty, ranks));
    let all = TYPES.into_iter().flat_map(sizes).filter(|size| size.chosen.chosen);
    all.map(|size| size.chosen.us / size.fastest.us).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Case, Link, Scalar};
    use super::*;

    fn case(entrant: &str, bytes: u64, us: f64, chosen: bool) -> Case {
        let (op, ty) = ("sum".to_owned(), "f32".to_owned());
        Case { entrant: entrant.to_owned(), op, ty, bytes, ranks: 2, us, chosen, wrong: 0 }
    }

    fn record(cases: Vec<Case>) -> Record {
        let (device, driver, date, torch) = Default::default();
        let scalar = |entrant: &str, us| Scalar { entrant: entrant.to_owned(), n: 8, ranks: 2, us };
        let link = vec![Link { link: "push".to_owned(), ranks: 2, us: 1.0, gb_per_s: Some(2.0) }];
        let scalar = vec![scalar("parts", 3.0), scalar("whole", 5.5)];
        Record { device, driver, date, nccl: 22_809, torch, link, scalar, cases }
    }

    #[test]
    fn the_route_that_is_taken_stands_beside_the_fastest_other() {
        let record = record(vec![
            case("one_shot_push", 4096, 3.0, true),
            case("low_latency", 4096, 2.0, false),
            case("nccl", 4096, 6.0, false),
            case("torch_nccl", 4096, 20.0, false),
            case("torch_two_shot", 4096, 4.5, false),
            Case { wrong: 1, ..case("torch_one_shot", 4096, 1.0, false) },
            Case { ranks: 4, ..case("nccl", 1024, 1.0, false) },
        ]);
        let table = beside(&record.sizes("sum", "f32", 2));
        assert!(table.contains("| `one_shot_push` | 3.00 | 6.00 | – | 4.50 | 1.50 |"), "{table}");
        let facts = facts(&record);
        for (name, value) in
            [("f32-2-least", "1.50"), ("regret-most", "1.50"), ("scalar-us-2", "2.5"), ("push-gb-per-s", "2")]
        {
            assert!(facts.contains(&(name.to_owned(), value.to_owned())), "{name}: {facts:?}");
        }
        assert!(facts[0].1.contains("NCCL 2.28.9"), "{facts:?}");
        assert!(plot(&record, 2).svg_by_decades().unwrap().contains("one shot"));
    }

    #[test]
    fn a_crossing_lies_where_two_straight_lines_meet() {
        let at = [(1024, 1.0, 3.0), (4096, 5.5, 3.5), (16_384, 16.0, 5.5)];
        let cases = at.into_iter().flat_map(|(bytes, words, one)| {
            [case("low_latency", bytes, words, false), case("one_shot_push", bytes, one, false)]
        });
        let record = record(cases.collect());
        let found = measured(&record.sizes("sum", "f32", 2), Route::LowLatency, Route::OneShotPush);
        // 2 us behind at 1,024 bytes, 2 us ahead at 4,096.
        assert_eq!(found, Some((1024, 4096, 2560.0)));
        for ranks in RANKS {
            for (before, after) in pairs() {
                let at = predicted(before, after, ranks) as u64;
                let us = [before, after].map(|route| route.predicted_us(at, ranks));
                assert!((us[0] - us[1]).abs() < 1e-3, "{before} {after} {us:?}");
            }
        }
    }
}
