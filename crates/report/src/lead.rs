//! The tables of the lead: the champion against the fastest of CUB's forms, by kind of size and by band, what its state and
//! its asking ahead are worth, warm, called by the host, and how exact its sums are.

use lab::Type;
use lab::measurement::{
    BANDS, CHAMPION, CUB, CUB_NEWER, CUB_UNORDERED, CUB_WHOLE, Contest, HOST_SIZES, LOGS, Measurement, NOT_AHEAD,
    RIVALS, Sizes, WHOLE, WITH_MEMSET, geometric_mean,
};
use lab::text::{grouped, per_cent};

use crate::sheet::Sheet;
use crate::tables::{cell, mean_ratio, ratio, size, types, unmeasured};

/// Times this close are shown with their ranges.
const CLOSE: f64 = 0.02;
/// Sizes of the table of errors, as powers of two.
const ERROR_LOGS: [u32; 5] = [10, 16, 20, 24, 28];

/// Mean of the ratios of a form of the champion at the selected sizes, and the number of sizes.
fn mean(
    record: &Measurement,
    form: &str,
    (contest, ty): (Contest, Type),
    is_selected: &dyn Fn(u64) -> bool,
) -> Option<(f64, usize)> {
    let ratios = record.ratios_of(form, contest, ty).into_iter().filter(|&(n, _)| is_selected(n));
    let ratios: Vec<f64> = ratios.map(|(_, ratio)| ratio).collect();
    Some((geometric_mean(ratios.iter().copied())?, ratios.len()))
}

fn is_in_band(n: u64, band: usize) -> bool {
    let above = band.checked_sub(1).map_or(0, |before| BANDS[before].0);
    n > above && n <= BANDS[band].0
}

/// `lead-alone.md` and `lead-back-to-back.md`: one table under one rule, weakest form first. What the record lacks is left
/// out, and a sentence says so.
pub(crate) fn lead(record: &Measurement, contest: Contest) -> String {
    let types: Vec<Type> = types(record).filter(|&ty| !record.ratios(contest, ty).is_empty()).collect();
    if types.is_empty() {
        return unmeasured("the champion beside CUB");
    }
    let head = ["CUB / champion".to_owned()].into_iter().chain(types.iter().map(|ty| format!("`{ty}`")));
    let mut sheet = Sheet::new(1, head);
    let mut missing = Vec::new();
    let mut row = |words: String, of: &dyn Fn(Type) -> Option<String>| {
        let cells: Vec<Option<String>> = types.iter().map(|&ty| of(ty)).collect();
        if cells.iter().all(Option::is_none) {
            missing.push(words);
        } else {
            sheet.row([words].into_iter().chain(cells.into_iter().map(|cell| cell.unwrap_or_else(|| "–".to_owned()))));
        }
    };
    let counted = |form: &str, ty: Type, is_selected: &dyn Fn(u64) -> bool| {
        mean(record, form, (contest, ty), is_selected).map(|(mean, count)| format!("{mean:.2} ({count})"))
    };
    for (kind, _, words) in Sizes::ALL {
        row(format!("geometric mean (sizes): {words}"), &|ty| counted(CHAMPION, ty, &|n| kind.has(n)));
    }
    for (band, (_, words)) in BANDS.iter().enumerate() {
        row(format!("all sizes {words}"), &|ty| counted(CHAMPION, ty, &|n| is_in_band(n, band)));
    }
    let at = |(n, ratio): (u64, f64), digits: usize| format!("{ratio:.digits$} at {}", size(n));
    let by_ratio = |a: &(u64, f64), b: &(u64, f64)| a.1.total_cmp(&b.1);
    // Near 1 two digits would hide on which side it is.
    row("smallest".to_owned(), &|ty| record.ratios(contest, ty).into_iter().min_by(by_ratio).map(|least| at(least, 3)));
    row("largest".to_owned(), &|ty| record.ratios(contest, ty).into_iter().max_by(by_ratio).map(|most| at(most, 2)));
    let (form, words) = if contest == Contest::BackToBack {
        (NOT_AHEAD, "all sizes, the champion without asking ahead")
    } else {
        (WITH_MEMSET, "all sizes, the champion with a memset of its state before each launch")
    };
    row(words.to_owned(), &|ty| counted(form, ty, &|_| true));
    let share = |ty, log: u32| record.share_of_limit(contest, ty, 1 << log).map(per_cent);
    for log in [24, 28] {
        row(format!("champion's share of reading and a launch, 2<sup>{log}</sup>"), &|ty| share(ty, log));
    }
    let lacks = if missing.is_empty() {
        String::new()
    } else {
        format!("\nThis record has no figures of: {}. The next one will.\n", missing.join("; "))
    };
    sheet.markdown() + &lacks
}

/// A time with the fastest and the slowest replay.
fn with_range(us: f64, range: Option<[f64; 2]>) -> String {
    let range = range.map_or(String::new(), |[low, high]| format!(" [{}, {}]", digits(low), digits(high)));
    format!("{}{range}", digits(us))
}

/// One digit more than elsewhere, as it is about the last of them.
fn digits(us: f64) -> String {
    if us < 10.0 {
        format!("{us:.3}")
    } else if us < 100.0 {
        format!("{us:.2}")
    } else {
        format!("{us:.1}")
    }
}

/// Name of a library in a cell.
pub(crate) fn called(record: &Measurement, name: &str) -> String {
    let version =
        |name: &str| record.libraries.get(name).map_or(String::new(), |library| format!(" {}", library.version));
    match name {
        CUB_UNORDERED if record.libraries.contains_key(CUB_NEWER) => format!("CUB{}, any order", version(CUB_NEWER)),
        CUB_UNORDERED => format!("CUB{}, any order", version(CUB)),
        name => format!("CUB{}", version(name)),
    }
}

/// `close.md`: where the champion and the fastest rival are within two per cent, both with their ranges.
pub(crate) fn close(record: &Measurement) -> String {
    let head = ["launches", "type", "n", "champion, µs", "fastest rival", "µs", "ratio", "ranges"];
    let mut sheet = Sheet::new(2, head);
    let (mut count, mut meet) = (0, 0);
    for (contest, rules) in [(Contest::Alone, "alone"), (Contest::BackToBack, "back to back")] {
        for ty in types(record) {
            for (n, ratio) in record.ratios(contest, ty).into_iter().filter(|(_, ratio)| (ratio - 1.0).abs() <= CLOSE) {
                let (Some(ours), Some((name, us))) =
                    (record.plain_in(contest, CHAMPION, ty, n), record.rival(contest, ty, n))
                else {
                    continue;
                };
                let theirs = record.plain_in(contest, name, ty, n).and_then(|case| case.range_us);
                let overlap = record.ranges_overlap(contest, ty, n);
                (count, meet) = (count + 1, meet + usize::from(overlap == Some(true)));
                sheet.row([
                    rules.to_owned(),
                    ty.to_string(),
                    size(n),
                    with_range(ours.us().unwrap_or(0.0), ours.range_us),
                    called(record, name),
                    with_range(us, theirs),
                    format!("{ratio:.3}"),
                    overlap.map_or("–", |overlap| if overlap { "overlap" } else { "apart" }).to_owned(),
                ]);
            }
        }
    }
    if sheet.is_empty() {
        return "At no size of this record is the champion within 2 % of the fastest rival.\n".to_owned();
    }
    let sum = format!(
        "At {count} sizes of the two contests the medians are within 2 % of each other. At {meet} of them the ranges of the \
         replays overlap too, so that another run may say the opposite.\n\n"
    );
    sum + &sheet.markdown()
}

/// `warm.md`: the ratios where the L2 holds the input.
pub(crate) fn warm(record: &Measurement) -> String {
    let types: Vec<Type> = types(record).collect();
    let has = |n: u64| types.iter().any(|&ty| record.ratio(Contest::Warm, ty, n).is_some());
    let columns = types
        .iter()
        .flat_map(|ty| [format!("`{ty}`, champion, µs"), "fastest rival, µs".to_owned(), "CUB / champion".to_owned()]);
    let mut sheet = Sheet::new(0, ["n".to_owned()].into_iter().chain(columns));
    for n in LOGS.map(|log| 1u64 << log).filter(|&n| has(n)) {
        let cells = types.iter().flat_map(|&ty| {
            let rival = record.rival_us(Contest::Warm, ty, n);
            let us = record.us_in(Contest::Warm, CHAMPION, ty, n);
            [cell(us), cell(rival), ratio(record.ratio(Contest::Warm, ty, n))]
        });
        sheet.row([size(n)].into_iter().chain(cells));
    }
    if sheet.is_empty() {
        return unmeasured("warm ratios");
    }
    let mut means = vec!["**geometric mean**".to_owned()];
    for &ty in &types {
        means.extend([String::new(), String::new(), ratio(mean_ratio(record, Contest::Warm, ty))]);
    }
    sheet.row(means);
    sheet.markdown()
}

/// `host.md`: calls by the host, outside of any graph.
pub(crate) fn host(record: &Measurement) -> String {
    let columns = [
        (Contest::Host, CHAMPION, "champion, µs"),
        (Contest::Host, CUB, "CUB, µs"),
        (Contest::HostRow, CHAMPION, "in a row: champion"),
        (Contest::HostRow, CUB, "in a row: CUB"),
        (Contest::Host, WHOLE, "whole: champion"),
        (Contest::Host, CUB_WHOLE, "whole: CUB"),
    ];
    let mut sheet = Sheet::new(1, ["type", "n"].into_iter().chain(columns.map(|column| column.2)));
    for ty in types(record) {
        for n in HOST_SIZES {
            let us = columns.map(|(contest, name, _)| record.us_in(contest, name, ty, n));
            if us.iter().any(Option::is_some) {
                sheet.row([ty.to_string(), size(n)].into_iter().chain(us.map(cell)));
            }
        }
    }
    if sheet.is_empty() { unmeasured("calls by the host") } else { sheet.markdown() }
}

/// `errors.md`: how far the sums of floats are from the exact ones.
pub(crate) fn errors(record: &Measurement) -> String {
    let names: Vec<&str> = [CHAMPION].into_iter().chain(RIVALS).collect();
    let error = |name: &str, ty, n| record.plain(name, ty, n).and_then(|case| case.error);
    let head = names.iter().map(|&name| if name == CHAMPION { "champion".to_owned() } else { called(record, name) });
    let mut sheet = Sheet::new(1, ["type".to_owned(), "n".to_owned()].into_iter().chain(head));
    for ty in [Type::F32, Type::F64] {
        for n in ERROR_LOGS.map(|log| 1u64 << log) {
            let errors: Vec<Option<f64>> = names.iter().map(|name| error(name, ty, n)).collect();
            if errors.iter().any(Option::is_some) {
                let text = |error: Option<f64>| error.map_or("–".to_owned(), |error| format!("{error:.1e}"));
                sheet.row([ty.to_string(), size(n)].into_iter().chain(errors.into_iter().map(text)));
            }
        }
    }
    if sheet.is_empty() { unmeasured("how far sums are from the exact ones") } else { sheet.markdown() }
}

/// Sizes, means and ends as single figures, name and text: of the headline and of what stands behind it.
pub(crate) fn facts(record: Option<&Measurement>, ty: Type) -> Vec<(String, Option<String>)> {
    let mut facts = Vec::new();
    let two = |ratio: f64| format!("{ratio:.2}");
    let mean_of = |form: &str, contest, is_selected: &dyn Fn(u64) -> bool| {
        record.and_then(|record| mean(record, form, (contest, ty), is_selected)).map(|(mean, _)| two(mean))
    };
    for (contest, prefix) in [(Contest::Alone, ""), (Contest::BackToBack, "back_to_back-"), (Contest::Warm, "warm-")] {
        let mut fact = |name: String, value: Option<String>| facts.push((format!("{ty}-{prefix}{name}"), value));
        let ratios = record.map(|record| record.ratios(contest, ty)).unwrap_or_default();
        let least = ratios.iter().min_by(|a, b| a.1.total_cmp(&b.1));
        let most = ratios.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        fact("sizes".to_owned(), (!ratios.is_empty()).then(|| grouped(ratios.len() as u64)));
        for (kind, name, _) in Sizes::ALL {
            let name = if kind == Sizes::All { "ratio-mean".to_owned() } else { format!("ratio-mean-{name}") };
            fact(name, mean_of(CHAMPION, contest, &|n| kind.has(n)));
        }
        for (band, name) in ["small", "middle", "large"].into_iter().enumerate() {
            fact(format!("ratio-mean-{name}"), mean_of(CHAMPION, contest, &|n| is_in_band(n, band)));
        }
        // Near 1 two digits would hide on which side it is.
        fact("ratio-min".to_owned(), least.map(|&(_, ratio)| format!("{ratio:.3}")));
        fact("ratio-min-n".to_owned(), least.map(|&(n, _)| grouped(n)));
        fact("ratio-max".to_owned(), most.map(|&(_, ratio)| two(ratio)));
        fact("ratio-max-n".to_owned(), most.map(|&(n, _)| grouped(n)));
    }
    facts.push((format!("{ty}-memset-ratio-mean"), mean_of(WITH_MEMSET, Contest::Alone, &|_| true)));
    facts.push((format!("{ty}-not_ahead-ratio-mean"), mean_of(NOT_AHEAD, Contest::BackToBack, &|_| true)));
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::has;
    use lab::measurement::synthetic;
    use lab::text::three_digits;

    #[test]
    fn the_lead_says_which_sizes_and_leaves_out_what_was_not_measured() {
        let mut record = synthetic::record();
        let alone = lead(&record, Contest::Alone);
        assert!(alone.contains("| geometric mean (sizes): powers of two | ") && alone.contains(" (21) |"), "{alone}");
        assert!(alone.contains("drawn, multiples of 32 or 1,000") && alone.contains(" (10) |"), "{alone}");
        assert!(alone.contains("with a memset") && !alone.contains("has no figures of"), "{alone}");
        assert!(lead(&record, Contest::BackToBack).contains("without asking ahead"));
        // As the record that was made before these sizes and forms were measured.
        let is_new = |n, name: &str| Sizes::Round.has(n) || [WITH_MEMSET, NOT_AHEAD].contains(&name);
        record.cases.retain(|case| !is_new(case.n, &case.entrant));
        let older = lead(&record, Contest::Alone);
        assert!(!older.contains(" (10) |"), "{older}");
        has(&older, &["This record has no figures of: geometric mean (sizes): drawn, multiples"]);
        record.cases.clear();
        assert!(lead(&record, Contest::Alone).contains("no record of the champion beside CUB"));
    }

    #[test]
    fn bands_hold_each_size_once() {
        for n in [1u64 << 10, 1 << 20, (1 << 20) + 1, 1 << 26, (1 << 26) + 1, 1 << 30] {
            assert_eq!((0..BANDS.len()).filter(|&band| is_in_band(n, band)).count(), 1, "{n}");
        }
        assert!(is_in_band(1 << 20, 0) && is_in_band(1 << 26, 1));
    }

    #[test]
    fn close_times_stand_with_their_ranges() {
        let mut record = synthetic::record();
        let text = close(&record);
        assert!(text.contains("| alone | i32 | 2³⁰ | ") && text.contains("overlap |"), "{text}");
        assert!(!text.contains("| 2¹⁰ |"), "{text}");
        record.cases.retain(|case| case.entrant != CUB && case.entrant != CUB_UNORDERED && case.entrant != CUB_NEWER);
        assert!(close(&record).starts_with("At no size"));
    }

    #[test]
    fn warm_host_and_errors_have_rows_where_there_are_figures() {
        let mut record = synthetic::record();
        record.cases.iter_mut().filter(|case| case.contest == Contest::Warm && case.name() == "redux").for_each(
            |case| {
                case.entrant = CUB.to_owned();
            },
        );
        assert!(warm(&record).contains("**geometric mean**"), "{}", warm(&record));
        assert!(host(&record).contains("| i32 | 2¹⁰ | 5.00 | 7.00 | 3.00 | 5.00 | 30.0 | 28.0 |"), "{}", host(&record));
        assert!(errors(&record).contains("| f32 | 2¹⁰ | – | 3.0e-8 | 3.0e-8 | 3.0e-8 |"), "{}", errors(&record));
        record.cases.clear();
        for text in [warm(&record), host(&record), errors(&record)] {
            assert!(text.contains("There is no record of"), "{text}");
        }
    }

    #[test]
    fn facts_are_those_of_the_tables() {
        let record = synthetic::record();
        let facts = facts(Some(&record), Type::F32);
        let value = |name: &str| facts.iter().find(|fact| fact.0 == name).unwrap().1.clone().unwrap();
        assert_eq!(value("f32-sizes"), "73");
        let (mean, _) = mean(&record, CHAMPION, (Contest::Alone, Type::F32), &|n| Sizes::Powers.has(n)).unwrap();
        assert_eq!(value("f32-ratio-mean-powers"), format!("{mean:.2}"));
        assert_eq!(three_digits(mean), value("f32-ratio-mean-powers"));
        assert!(value("f32-memset-ratio-mean") < value("f32-ratio-mean"));
    }
}
