//! The tables of the results page: the champion beside CUB, awkward inputs, and where the figures come from.

use lab::Type;
use lab::measurement::{
    ABLATION_SIZES, ABLATIONS, CHAMPION, CUB, CUB_NEWER, CUB_UNORDERED, Contest, Measurement, RIVALS, TORCH,
    geometric_mean,
};
use lab::text::day;
use lab::text::{bytes, grouped, listed, per_cent, three_digits};

use crate::lead::called;
use crate::plot::power_of_two;
use crate::sheet::Sheet;

/// Placeholder for a figure that is still missing.
pub(crate) const MISSING: &str = "not measured yet";

/// A figure, or a dash where there is none.
pub(crate) fn cell(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), three_digits)
}

/// A ratio with two decimals, or a dash.
pub(crate) fn ratio(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |ratio| format!("{ratio:.2}"))
}

/// A ratio with two decimals. One near to 1 has a digit more, since two would hide on which side it is.
pub(crate) fn digits(ratio: f64) -> String {
    if (ratio - 1.0).abs() < 0.005 { format!("{ratio:.3}") } else { format!("{ratio:.2}") }
}

/// A paragraph about what was wrong, each thing once; nothing where all was right.
pub(crate) fn wrong(words: &str, things: impl Iterator<Item = String>) -> String {
    let mut once: Vec<String> = Vec::new();
    for thing in things {
        if !once.contains(&thing) {
            once.push(thing);
        }
    }
    if once.is_empty() { String::new() } else { format!("\n{words}: {}.\n", listed(&once)) }
}

/// The types that the champion was measured with.
pub(crate) fn types(record: &Measurement) -> impl Iterator<Item = Type> {
    let measured = |ty: &Type| record.timed(*ty).any(|case| case.name() == CHAMPION);
    [Type::I32, Type::F32, Type::F64].into_iter().filter(measured)
}

/// A size: as a power of two, or with its digits.
pub(crate) fn size(n: u64) -> String {
    if n.is_power_of_two() { power_of_two(n as f64) } else { grouped(n) }
}

/// `alone.md` and `back-to-back.md`: the libraries and the champion at every size of the contest, a table a type.
pub(crate) fn contest(record: &Measurement, contest: Contest) -> String {
    let table = |ty: Type| (contest_sheet(record, contest, ty), ty);
    let tables = types(record).map(table).filter(|(sheet, _)| !sheet.is_empty());
    let tables: Vec<String> = tables.map(|(sheet, ty)| format!("#### `{ty}`\n\n{}", sheet.markdown())).collect();
    if tables.is_empty() { unmeasured("the champion") } else { tables.join("\n") }
}

fn contest_sheet(record: &Measurement, contest: Contest, ty: Type) -> Sheet {
    let rivals =
        [(CUB, "CUB, µs"), (CUB_UNORDERED, "unordered, µs"), (CUB_NEWER, "newer CUB, µs"), (TORCH, "torch, µs")];
    let sizes = record.contest_sizes(contest, ty);
    let is_there = |name: &str| sizes.iter().any(|&n| record.us_in(contest, name, ty, n).is_some());
    let rivals: Vec<(&str, &str)> = rivals.into_iter().filter(|(name, _)| *name == CUB || is_there(name)).collect();
    let head = ["n"].into_iter().chain(rivals.iter().map(|rival| rival.1));
    let mut sheet = Sheet::new(0, head.chain(["champion, µs", "CUB / champion", "of reading and a launch"]));
    for n in sizes {
        let Some(champion_us) = record.us_in(contest, CHAMPION, ty, n) else { continue };
        let mut cells = vec![size(n)];
        cells.extend(rivals.iter().map(|(name, _)| cell(record.us_in(contest, name, ty, n))));
        cells.push(three_digits(champion_us));
        cells.push(ratio(record.ratio(contest, ty, n)));
        cells.push(record.share_of_limit(contest, ty, n).map_or("–".to_owned(), per_cent));
        sheet.row(cells);
    }
    if let Some(mean) = mean_ratio(record, contest, ty) {
        let mut cells = vec![String::new(); rivals.len() + 4];
        cells[0] = "**geometric mean**".to_owned();
        cells[rivals.len() + 2] = format!("**{}**", ratio(Some(mean)));
        sheet.row(cells);
    }
    sheet
}

/// The geometric mean of the faster rival's time over the champion's.
pub(crate) fn mean_ratio(record: &Measurement, contest: Contest, ty: Type) -> Option<f64> {
    geometric_mean(record.ratios(contest, ty).into_iter().map(|(_, ratio)| ratio))
}

/// `rivals.md`: the champion against each library, by contest and type.
pub(crate) fn rivals(record: &Measurement) -> String {
    let words = RIVALS.map(|name| (name, called(record, name)));
    let mut sheet = Sheet::new(3, ["launches", "library", "type", "sizes", "geometric mean", "smallest", "largest"]);
    for (contest, rules) in [(Contest::Alone, "alone"), (Contest::BackToBack, "back to back")] {
        for (library, name) in &words {
            for ty in types(record) {
                let sizes = record.contest_sizes(contest, ty).into_iter();
                let ratios: Vec<f64> = sizes.filter_map(|n| record.ratio_to(library, contest, ty, n)).collect();
                let mean = geometric_mean(ratios.iter().copied());
                let (least, most) =
                    (ratios.iter().copied().min_by(f64::total_cmp), ratios.iter().copied().max_by(f64::total_cmp));
                if !ratios.is_empty() {
                    let count = ratios.len().to_string();
                    sheet.row([rules, name, ty.name(), &count, &ratio(mean), &ratio(least), &ratio(most)]);
                }
            }
        }
    }
    if sheet.is_empty() { unmeasured("the contest") } else { sheet.markdown() }
}

/// `huge.md`: what is larger than 32 bits can count.
pub(crate) fn huge(record: &Measurement) -> String {
    let mut sheet = Sheet::new(3, ["launches", "kernel", "type", "n", "µs", "GB/s", "right"]);
    for case in record.cases.iter().filter(|case| case.n > u64::from(u32::MAX) && case.cold_us.is_some()) {
        let rules = if case.contest == Contest::BackToBack { "back to back" } else { "alone" };
        let right = if case.ok { "yes" } else { "no" };
        let (us, speed) = (cell(case.cold_us), cell(case.gb_per_s()));
        sheet.row([rules, &case.entrant, &case.ty, &size(case.n), &us, &speed, right]);
    }
    if sheet.is_empty() { unmeasured("more than 2³² numbers") } else { sheet.markdown() }
}

/// `ablation.md`: the champion, and what it takes with one of its ideas taken away; with overlap put on at the end.
pub(crate) fn ablation(record: &Measurement) -> String {
    let measured = |ty: Type, n: u64| ABLATIONS.iter().any(|(name, _)| record.cold_us(name, ty, n).is_some());
    let columns: Vec<(Type, u64)> =
        types(record).flat_map(|ty| ABLATION_SIZES.map(|n| (ty, n))).filter(|&(ty, n)| measured(ty, n)).collect();
    if columns.is_empty() {
        return unmeasured("the champion without one of its ideas");
    }
    let head = columns.iter().map(|&(ty, n)| format!("{ty}, {}", size(n)));
    let mut sheet = Sheet::new(1, ["µs".to_owned()].into_iter().chain(head));
    let mut row = |words: &str, contest: Contest, name: &str| {
        let times = columns.iter().map(|&(ty, n)| cell(record.us_in(contest, name, ty, n)));
        sheet.row([words.to_owned()].into_iter().chain(times));
    };
    row("the champion, alone", Contest::Alone, CHAMPION);
    for (name, words) in ABLATIONS {
        row(words, Contest::Alone, name);
    }
    row("the champion, back to back", Contest::BackToBack, CHAMPION);
    row("CUB, alone", Contest::Alone, CUB);
    sheet.markdown()
}

/// `alignment.md`: the champion on misaligned input and ragged sizes.
pub(crate) fn alignment(record: &Measurement) -> String {
    let mut sheet = Sheet::new(1, ["type", "n", "begins", "µs", "GB/s", "aligned, GB/s", "share of the aligned speed"]);
    for (case, plain, share) in record.awkward() {
        let start = match case.offset {
            0 => "aligned".to_owned(),
            1 => "1 element on".to_owned(),
            more => format!("{} elements on", grouped(more)),
        };
        sheet.row([
            case.ty.clone(),
            grouped(case.n),
            start,
            cell(case.cold_us),
            cell(case.gb_per_s()),
            cell(plain.gb_per_s()),
            per_cent(share),
        ]);
    }
    if sheet.is_empty() { unmeasured("misaligned input") } else { sheet.markdown() }
}

/// `provenance.md`: the card, the software, the day, the method; and that the record is stale, if it is.
pub(crate) fn provenance(record: &Measurement, stale: &[String]) -> String {
    let mut out = provenance_sheet(record).markdown();
    // Below the table, where it may wrap; as code, so that two hyphens stay two.
    out.push_str(&format!("\n**Command.** `{}`\n", record.command));
    out.push_str(&format!("\n**Method.** {}\n", sentence(&record.method)));
    if !stale.is_empty() {
        let reasons: String = stale.iter().map(|why| format!("- {why}\n")).collect();
        out.push_str(&format!("\n**This record is stale:**\n\n{reasons}"));
    }
    out
}

/// The card, the software and the day.
pub(crate) fn provenance_sheet(record: &Measurement) -> Sheet {
    let mut sheet = Sheet::new(2, ["what", "as measured"]);
    let mut known = |what: &str, value: Option<String>| {
        if let Some(value) = value {
            sheet.row([what, &value]);
        }
    };
    known("card", Some(format!("{} ({})", record.device, record.arch)));
    known("multiprocessors", record.multiprocessors.map(|count| count.to_string()));
    known("L2 cache", record.l2_bytes.map(bytes));
    known("memory", record.memory_bytes.map(bytes));
    known("driver", record.driver.clone());
    known("CUDA", record.cuda.clone());
    for (name, library) in [("CUB", CUB), ("CUB, newer sources", CUB_NEWER), ("torch", TORCH)] {
        let version = record.libraries.get(library).map(|library| library.version.clone());
        known(name, Some(version.unwrap_or_else(|| "not measured".to_owned())));
    }
    known("launch floor, one block", record.floor_us.map(|floor| format!("{} µs", three_digits(floor.one_block))));
    known("launch floor, full grid", record.floor_us.map(|floor| format!("{} µs", three_digits(floor.full))));
    known("one block, launches overlap", record.floor_us.map(|floor| format!("{} µs", three_digits(floor.overlapped))));
    known("read ceiling", record.read_ceiling_gb_per_s.map(|ceiling| format!("{} GB/s", three_digits(ceiling))));
    known("cases", Some(grouped(record.cases.len() as u64)));
    known("results judged", Some(grouped(record.cases.iter().map(|case| case.judged).sum())));
    known("cases with a wrong result", Some(grouped(record.cases.iter().filter(|case| !case.ok).count() as u64)));
    known("code that was timed", made_by(record));
    known("day", Some(day(&record.date).to_owned()));
    known("commit", record.commit.clone());
    sheet
}

/// Origin of the code that ran, of all chapters alike or of each.
fn made_by(record: &Measurement) -> Option<String> {
    let words = |made: &str| match made {
        "committed" => "the committed PTX".to_owned(),
        made => format!("compiled on the spot by {made}, from the same sources as the committed PTX"),
    };
    let (first_slug, first) = record.code.iter().next()?;
    if record.code.values().all(|made| made == first) {
        return Some(format!("all chapters: {}", words(first)));
    }
    let others = record.code.iter().filter(|(slug, _)| *slug != first_slug);
    Some(others.fold(format!("{first_slug}: {}", words(first)), |text, (slug, made)| {
        format!("{text}; {slug}: {}", words(made))
    }))
}

/// One line about where a chart's figures are from.
pub(crate) fn source_line(record: &Measurement) -> String {
    let driver = record.driver.as_ref().map_or(String::new(), |driver| format!(", driver {driver}"));
    let cuda = record.cuda.as_ref().map_or(String::new(), |cuda| format!(", CUDA {cuda}"));
    format!("measured on an {}{driver}{cuda} on {}", record.device, day(&record.date))
}

/// The card and the day as a sentence, with the libraries that stand beside.
pub(crate) fn source_beside(record: &Measurement, libraries: &[String]) -> String {
    let beside = if libraries.is_empty() { String::new() } else { format!(", beside {}", listed(libraries)) };
    sentence(&format!("{}{beside}", source_line(record)))
}

/// A paragraph about why figures are of other kernels; nothing where they are not.
pub(crate) fn stale_note(stale: &[String]) -> String {
    if stale.is_empty() { String::new() } else { format!("\n**This record is stale:** {}.\n", stale.join("; ")) }
}

/// With a capital and a full stop.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}

pub(crate) fn unmeasured(what: &str) -> String {
    format!("*There is no record of {what} yet: `cargo course measure` makes one on a GPU.*\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::has;
    use lab::measurement::synthetic;

    #[test]
    fn a_contests_table_has_every_size_and_the_mean() {
        let record = synthetic::record();
        let alone = contest(&record, Contest::Alone);
        for ty in ["i32", "f32", "f64"] {
            assert!(alone.contains(&format!("#### `{ty}`\n\n| n |")), "{alone}");
        }
        let row = alone.lines().find(|line| line.starts_with("| 2²⁴ |")).unwrap();
        let us = |name| cell(record.cold_us(name, Type::I32, 1 << 24));
        let libraries = format!("| {} | {} | {} | {} |", us(CUB), us(CUB_UNORDERED), us(CUB_NEWER), us(TORCH));
        assert!(row.contains(&libraries), "{row}");
        let mean = mean_ratio(&record, Contest::Alone, Type::I32).unwrap();
        assert!(alone.contains(&format!("| **geometric mean** |  |  |  |  |  | **{mean:.2}** |  |")), "{alone}");
        for log in lab::measurement::LOGS {
            let row = format!("\n| {} |", power_of_two(f64::from(log).exp2()));
            assert_eq!(alone.matches(&row).count(), 3, "2^{log}");
        }
        let both = contest(&record, Contest::BackToBack);
        assert!(both != alone && !both.contains("torch"), "{both}");
        // Sizes that were drawn stand between the powers.
        let drawn = lab::measurement::random_sizes()[20];
        assert!(alone.contains(&format!("| {} |", grouped(drawn))), "{alone}");
    }

    #[test]
    fn each_library_has_its_lines() {
        let text = rivals(&synthetic::record());
        has(&text, &["| alone | CUB 3.0.1 | f32 | 73 | ", "| alone | CUB 3.6.0 | f64 |"]);
        has(&text, &["| back to back | CUB 3.6.0, any order | i32 |", "| alone | CUB 3.6.0, any order | f64 |"]);
    }

    #[test]
    fn ideas_are_taken_away_one_at_a_time() {
        let mut record = synthetic::record();
        let text = ablation(&record);
        assert!(text.starts_with("| µs | i32, 2¹² | i32, 2¹⁶ | i32, 2²⁰ | i32, 2²⁴ |"), "{text}");
        assert_eq!(text.lines().count(), 2 + 3 + ABLATIONS.len());
        // An entry that is not compiled for a size leaves a dash.
        record.cases.retain(|case| case.entrant != "ticket" || case.n != 1 << 16);
        assert!(ablation(&record).lines().any(|line| line.starts_with("| a ticket") && line.contains("| – |")));
        record.cases.clear();
        assert!(ablation(&record).contains("no record of the champion without"));
    }

    #[test]
    fn more_than_32_bits_have_a_table() {
        let mut record = synthetic::record();
        assert!(huge(&record).contains("no record of more than 2³² numbers"));
        record.cases.iter_mut().find(|case| case.is_plain()).unwrap().n = 1 << 33;
        assert!(huge(&record).contains("| i32 | 2³³ |"), "{}", huge(&record));
    }

    #[test]
    fn without_the_libraries_there_are_dashes() {
        let mut record = synthetic::record();
        record.cases.retain(|case| !lab::measurement::is_library(&case.entrant));
        record.libraries.clear();
        record.floor_us = None;
        let text = contest(&record, Contest::Alone);
        assert!(text.contains("| 2¹⁰ | – | ") && text.contains(" | – | – |") && !text.contains("mean"), "{text}");
        assert!(provenance(&record, &[]).contains("| CUB | not measured |"));
        assert!(rivals(&record).contains("no record of the contest"));
        record.cases.clear();
        assert!(contest(&record, Contest::Alone).contains("no record of the champion"));
        assert!(alignment(&record).contains("no record of misaligned input"));
    }

    #[test]
    fn provenance_says_when_a_record_is_stale() {
        let record = synthetic::record();
        assert!(!provenance(&record, &[]).contains("stale"));
        let text = provenance(&record, &["ch01-naive: measure again".to_owned()]);
        has(
            &text,
            &["**This record is stale:**\n\n- ch01-naive: measure again\n", "**Method.** Made up for a test.\n"],
        );
        has(&text, &["| L2 cache | 60.0 MiB |"]);
        let mut record = record;
        let mut made = |slug: &str, by: &str| {
            record.code.insert(slug.to_owned(), by.to_owned());
            provenance(&record, &[])
        };
        has(&made("a", "NVRTC 13.0 for sm_90"), &["| all chapters: compiled on the spot by NVRTC 13.0 for sm_90"]);
        has(&made("b", "committed"), &["; b: the committed PTX |"]);
    }

    #[test]
    fn awkward_input_is_compared() {
        let text = alignment(&synthetic::record());
        has(&text, &["| i32 | 16,777,216 | 1 element on |", "| f64 | 16,777,219 | aligned |"]);
    }
}
