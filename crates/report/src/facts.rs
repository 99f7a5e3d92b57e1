//! Single figures of the record that the prose of pages includes. Each has its name whether it was measured or not, so
//! that a page never lacks one.

use lab::measurement::{CHAMPION, CUB, CUB_NEWER, Contest, LATENCIES, LOGS, Measurement, TORCH};
use lab::text::day;
use lab::text::{grouped, per_cent, three_digits};
use lab::{Chapter, Type};

use crate::card::latency;
use crate::fact::Fact;
use crate::lead;
use crate::tables::{MISSING, source_line};

/// Every fact, of a record or of none.
pub(crate) fn facts(record: Option<&Measurement>, lessons: &[&Chapter]) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut fact =
        |name: String, value: Option<String>| facts.push((name, value.unwrap_or_else(|| MISSING.to_owned())));
    type Text = fn(&Measurement) -> Option<String>;
    let texts: [(&str, Text); 16] = [
        ("device", |r| Some(r.device.clone())),
        ("driver", |r| r.driver.clone()),
        ("cuda", |r| r.cuda.clone()),
        ("date", |r| Some(day(&r.date).to_owned())),
        ("commit", |r| r.commit.clone()),
        ("source", |r| Some(source_line(r))),
        ("cub-version", |r| r.libraries.get(CUB).map(|cub| cub.version.clone())),
        ("cub-newer-version", |r| r.libraries.get(CUB_NEWER).map(|cub| cub.version.clone())),
        ("torch-version", |r| r.libraries.get(TORCH).map(|torch| torch.version.clone())),
        ("judged", |r| Some(grouped(r.cases.iter().map(|case| case.judged).sum()))),
        ("floor-one_block-us", |r| r.floor_us.map(|floor| three_digits(floor.one_block))),
        ("floor-full-us", |r| r.floor_us.map(|floor| three_digits(floor.full))),
        ("floor-overlapped-us", |r| r.floor_us.map(|floor| three_digits(floor.overlapped))),
        ("floor-overlapped_full-us", |r| r.floor_us.map(|floor| three_digits(floor.overlapped_full))),
        ("l2-mib", |r| r.l2_bytes.map(|bytes| (bytes >> 20).to_string())),
        ("ceiling-gb_per_s", |r| r.read_ceiling_gb_per_s.map(three_digits)),
    ];
    for (name, text) in texts {
        fact(name.to_owned(), record.and_then(text));
    }
    fact("one_size-n".to_owned(), record.and_then(|r| r.one_size(Type::I32)).map(grouped));
    let rungs = record.map(|record| record.rungs(lessons, Type::I32)).unwrap_or_default();
    fact("first-name".to_owned(), rungs.first().map(|rung| format!("`{}`", rung.name)));
    let first_us = record.and_then(|r| r.cold_us(rungs.first()?.name, Type::I32, r.one_size(Type::I32)?));
    fact("first-us".to_owned(), first_us.map(three_digits));
    let champion_us = record.and_then(|r| r.cold_us(CHAMPION, Type::I32, r.one_size(Type::I32)?));
    fact("champion-us".to_owned(), champion_us.map(three_digits));
    let speed_up = record.and_then(|record| record.speed_up(lessons, Type::I32));
    fact("speed_up".to_owned(), speed_up.map(|times| format!("{times:.1}")));
    for (name, _) in LATENCIES {
        let found = record.and_then(|record| latency(record, name));
        fact(format!("latency-{name}-ns"), found.map(|(ns, _)| three_digits(ns)));
        fact(format!("latency-{name}-cycles"), found.and_then(|(_, cycles)| cycles).map(three_digits));
    }
    facts.extend(littles_law(record));
    for ty in [Type::I32, Type::F32, Type::F64] {
        facts.extend(type_facts(record, ty));
    }
    facts
}

/// TB/s of an H200's memory by its data sheet, by which the pages reckon.
const PEAK_TB_PER_S: f64 = 4.8;
/// Bytes in flight, bandwidth and the measured latency of an idle memory: two of them give the third.
fn littles_law(record: Option<&Measurement>) -> Vec<Fact> {
    let ns = record.and_then(|record| latency(record, "dram_load")).map(|(ns, _)| ns);
    let fact = |name: &str, of: &dyn Fn(f64) -> f64| {
        (format!("in_flight-{name}"), ns.map_or_else(|| MISSING.to_owned(), |ns| three_digits(of(ns))))
    };
    // TB/s times ns are thousands of bytes.
    let needed_kb = |ns: f64| PEAK_TB_PER_S * ns;
    let multiprocessors = f64::from(device::card::H200.multiprocessors);
    let tb_per_s = |kib: f64| move |ns: f64| kib * 1.024 / ns;
    vec![
        fact("needed-mb", &|ns| needed_kb(ns) / 1e3),
        fact("needed-kib_of_each", &|ns| needed_kb(ns) / 1.024 / multiprocessors),
        fact("8_kib_of_each-tb_per_s", &tb_per_s(8.0 * multiprocessors)),
        fact("32_kib_of_each-tb_per_s", &tb_per_s(32.0 * multiprocessors)),
        fact("8_kib_of_128-tb_per_s", &tb_per_s(8.0 * 128.0)),
        fact("128_kib-gb_per_s", &|ns| 1e3 * tb_per_s(128.0)(ns)),
    ]
}

fn type_facts(record: Option<&Measurement>, ty: Type) -> Vec<Fact> {
    let mut facts = Vec::new();
    for (name, value) in lead::facts(record, ty) {
        facts.push((name, value.unwrap_or_else(|| MISSING.to_owned())));
    }
    let mut fact = |name: &str, value: Option<String>| {
        facts.push((format!("{ty}-{name}"), value.unwrap_or_else(|| MISSING.to_owned())));
    };
    let two = |ratio: f64| format!("{ratio:.2}");
    let awkward = record.map(Measurement::awkward).unwrap_or_default();
    let awkward = awkward.iter().filter(|(case, _, _)| case.ty == ty.name()).map(|(_, _, share)| *share);
    fact("awkward-min", awkward.min_by(f64::total_cmp).map(per_cent));
    for log in LOGS {
        let n = 1 << log;
        let us = |contest, name| record.and_then(|record| record.us_in(contest, name, ty, n)).map(three_digits);
        fact(&format!("{log}-champion-us"), us(Contest::Alone, CHAMPION));
        fact(&format!("{log}-cub-us"), us(Contest::Alone, CUB));
        fact(&format!("{log}-torch-us"), us(Contest::Alone, TORCH));
        for (contest, prefix) in [(Contest::Alone, ""), (Contest::BackToBack, "back_to_back-")] {
            fact(&format!("{log}-{prefix}ratio"), record.and_then(|record| record.ratio(contest, ty, n)).map(two));
            let share = record.and_then(|record| record.share_of_limit(contest, ty, n));
            fact(&format!("{log}-{prefix}share"), share.map(per_cent));
        }
        fact(&format!("{log}-back_to_back-champion-us"), us(Contest::BackToBack, CHAMPION));
        fact(&format!("{log}-back_to_back-cub-us"), us(Contest::BackToBack, CUB));
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::measurement::synthetic;

    #[test]
    fn a_fact_has_its_name_before_it_is_measured() {
        let record = synthetic::record();
        let measured = facts(Some(&record), &synthetic::LESSONS);
        let absent = facts(None, &synthetic::LESSONS);
        let names = |facts: &[Fact]| facts.iter().map(|fact| fact.0.clone()).collect::<Vec<_>>();
        assert_eq!(names(&measured), names(&absent));
        assert!(absent.iter().all(|(_, value)| value == MISSING));
        let value = |name: &str| measured.iter().find(|fact| fact.0 == name).unwrap().1.as_str();
        assert_eq!(value("first-name"), "`interleaved_modulo`");
        assert_eq!(value("date"), "2026-01-02");
        assert_eq!((value("i32-sizes"), value("i32-back_to_back-sizes")), ("73", "73"));
        assert_eq!(value("l2-mib"), "60");
        assert_eq!((value("latency-redux_add-ns"), value("latency-launch-ns")), ("14.7", "530"));
        assert_eq!(value("latency-launch-cycles"), MISSING, "the host's business");
        let ns: f64 = value("latency-dram_load-ns").parse().unwrap();
        let needed: f64 = value("in_flight-needed-mb").parse().unwrap();
        assert!((needed - 4.8 * ns / 1e3).abs() < 0.01, "{needed} MB at {ns} ns");
        let each: f64 = value("in_flight-needed-kib_of_each").parse().unwrap();
        assert!((each * 132.0 * 1.024 - 4.8 * ns).abs() < 0.01 * 4.8 * ns, "{each} KiB at {ns} ns");
        let reached: f64 = value("in_flight-8_kib_of_each-tb_per_s").parse().unwrap();
        assert!((reached / 4.8 - 8.0 / each).abs() < 0.01, "{reached} TB/s");
        let times = record.cold_us("interleaved_modulo", Type::I32, 1 << 24).unwrap()
            / record.cold_us(CHAMPION, Type::I32, 1 << 24).unwrap();
        assert_eq!(value("speed_up"), format!("{times:.1}"));
        // Torch was measured at every other size.
        assert_eq!((value("f64-11-torch-us"), value("f64-11-cub-us") == MISSING), (MISSING, false));
        let mut names = names(&measured);
        names.sort();
        names.dedup();
        assert_eq!(names.len(), measured.len());
    }
}
