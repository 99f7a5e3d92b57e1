//! The tables of the results page: the champion beside CUB, awkward inputs, and where the figures come from.

use super::sheet::Sheet;
use super::{CHAMPION, LOGS, Measurement, TORCH, geometric_mean};
use crate::compare::day;
use crate::element::Type;
use crate::plot::power_of_two;
use crate::text::{bytes, grouped, per_cent, three_digits};

/// What stands where a figure will be.
pub(crate) const MISSING: &str = "not measured yet";

/// A figure, or a dash where there is none.
fn cell(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), three_digits)
}

/// A ratio with two decimals, or a dash.
pub(crate) fn ratio(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |ratio| format!("{ratio:.2}"))
}

/// The types that the champion was measured with.
fn types(record: &Measurement) -> impl Iterator<Item = Type> {
    let measured = |ty: &Type| record.timed(*ty).any(|case| case.name == CHAMPION);
    [Type::I32, Type::F32, Type::F64].into_iter().filter(measured)
}

/// `champion.md`: CUB, the champion and torch at every size, a table a type, and the geometric mean.
pub(crate) fn champion(record: &Measurement) -> String {
    let table = |ty: Type| format!("### `{ty}`\n\n{}", champion_sheet(record, ty).markdown());
    let tables: Vec<String> = types(record).map(table).collect();
    if tables.is_empty() { unmeasured("the champion") } else { tables.join("\n") }
}

fn champion_sheet(record: &Measurement, ty: Type) -> Sheet {
    let mut sheet = Sheet::new(
        0,
        [
            "n",
            "CUB, us",
            "champion, us",
            "CUB / champion",
            "without overlap, us",
            "CUB / that",
            "torch, us",
            "share of the card's limit",
        ],
    );
    for n in LOGS.map(|log| 1u64 << log) {
        let Some(champion_us) = record.cold_us(CHAMPION, ty, n) else { continue };
        sheet.row([
            power_of_two(n as f64),
            cell(record.cold_us(super::CUB, ty, n)),
            three_digits(champion_us),
            ratio(record.ratio(ty, n)),
            cell(record.without_overlap_us(ty, n)),
            ratio(record.ratio_without_overlap(ty, n)),
            cell(record.cold_us(TORCH, ty, n)),
            record.share_of_limit(ty, n).map_or("–".to_owned(), per_cent),
        ]);
    }
    if let Some(mean) = mean_ratio(record, ty) {
        let alone = geometric_mean(record.ratios_without_overlap(ty));
        let bold = |mean: Option<f64>| format!("**{}**", ratio(mean));
        sheet.row(["**geometric mean**", "", "", &bold(Some(mean)), "", &bold(alone), "", ""]);
    }
    sheet
}

/// The geometric mean of CUB's time over the champion's.
pub(crate) fn mean_ratio(record: &Measurement, ty: Type) -> Option<f64> {
    geometric_mean(record.ratios(ty).into_iter().map(|(_, ratio)| ratio))
}

/// `newer-cub.md`: what is left of the champion's lead against other sources of CUB, in a line a type.
pub(crate) fn against(record: &Measurement) -> String {
    let version = record.cub.as_ref().map_or("CUB".to_owned(), |cub| format!("CUB {}", cub.version));
    let mut sheet = Sheet::new(1, ["type", "sizes", "geometric mean", "smallest", "largest"]);
    for ty in types(record) {
        let ratios: Vec<f64> = record.ratios(ty).into_iter().map(|(_, ratio)| ratio).collect();
        let sizes = ratios.len().to_string();
        let (least, most) =
            (ratios.iter().copied().min_by(f64::total_cmp), ratios.iter().copied().max_by(f64::total_cmp));
        if !ratios.is_empty() {
            sheet.row([ty.to_string(), sizes, ratio(mean_ratio(record, ty)), ratio(least), ratio(most)]);
        }
    }
    if sheet.is_empty() {
        return unmeasured("newer sources of CUB");
    }
    format!("{version}, {}:\n\n{}", source_line(record), sheet.markdown())
}

/// `alignment.md`: the champion on misaligned input and ragged sizes.
pub(crate) fn alignment(record: &Measurement) -> String {
    let mut sheet = Sheet::new(1, ["type", "n", "begins", "us", "GB/s", "aligned, GB/s", "share of the aligned speed"]);
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
    // As code, so that two hyphens stay two.
    let mut out = provenance_sheet(record, "`").markdown();
    out.push_str(&format!("\n**Method.** {}\n", sentence(&record.method)));
    if !stale.is_empty() {
        let reasons: String = stale.iter().map(|why| format!("- {why}\n")).collect();
        out.push_str(&format!("\n**This record is stale:**\n\n{reasons}"));
    }
    out
}

/// `quote` stands before and after what was typed.
pub(crate) fn provenance_sheet(record: &Measurement, quote: &str) -> Sheet {
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
    known("CUB", Some(record.cub.as_ref().map_or("not measured".to_owned(), |cub| cub.version.clone())));
    known("torch", Some(record.torch.as_ref().map_or("not measured".to_owned(), |torch| torch.version.clone())));
    known("launch floor, one block", record.floor_us.map(|floor| format!("{} us", three_digits(floor.one_block))));
    known("launch floor, full grid", record.floor_us.map(|floor| format!("{} us", three_digits(floor.full))));
    known("read ceiling", record.read_ceiling_gb_per_s.map(|ceiling| format!("{} GB/s", three_digits(ceiling))));
    known("cases", Some(grouped(record.cases.len() as u64)));
    known("wrong results", Some(grouped(record.cases.iter().filter(|case| !case.ok).count() as u64)));
    known("day", Some(day(&record.date).to_owned()));
    known("commit", record.commit.clone());
    known("command", Some(format!("{quote}{}{quote}", record.command)));
    sheet
}

/// One line about where a chart's figures are from.
pub(crate) fn source_line(record: &Measurement) -> String {
    let driver = record.driver.as_ref().map_or(String::new(), |driver| format!(", driver {driver}"));
    let cuda = record.cuda.as_ref().map_or(String::new(), |cuda| format!(", CUDA {cuda}"));
    format!("measured on an {}{driver}{cuda} on {}", record.device, day(&record.date))
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
    use crate::measurement::{CUB, synthetic};

    #[test]
    fn the_champions_table_has_every_size_and_the_mean() {
        let record = synthetic::record();
        let text = champion(&record);
        for ty in ["i32", "f32", "f64"] {
            assert!(text.contains(&format!("### `{ty}`\n\n| n |")), "{text}");
        }
        let row = text.lines().find(|line| line.starts_with("| 2²⁴ |")).unwrap();
        let (cub, champion) = (record.cold_us(CUB, Type::I32, 1 << 24), record.cold_us(CHAMPION, Type::I32, 1 << 24));
        assert!(row.contains(&format!("| {} | {} |", cell(cub), cell(champion))), "{row}");
        let mean = mean_ratio(&record, Type::I32).unwrap();
        let alone = geometric_mean(record.ratios_without_overlap(Type::I32)).unwrap();
        assert!(
            alone < mean && text.contains(&format!("| **geometric mean** |  |  | **{mean:.2}** |  | **{alone:.2}** |")),
            "{text}"
        );
        assert_eq!(text.lines().filter(|line| line.starts_with("| 2")).count(), 3 * 21);
    }

    #[test]
    fn without_the_libraries_there_are_dashes() {
        let mut record = synthetic::record();
        record.cases.retain(|case| case.chapter.is_some());
        (record.cub, record.torch, record.floor_us) = (None, None, None);
        let text = champion(&record);
        assert!(text.contains("| 2¹⁰ | – | ") && text.contains(" | – | – |") && !text.contains("mean"), "{text}");
        assert!(provenance(&record, &[]).contains("| CUB | not measured |"));
        assert!(against(&record).contains("no record of newer sources of CUB"));
        record.cases.clear();
        assert!(super::champion(&record).contains("no record of the champion"));
        assert!(alignment(&record).contains("no record of misaligned input"));
    }

    #[test]
    fn newer_sources_of_cub_are_named() {
        let text = against(&synthetic::record());
        assert!(text.starts_with("CUB 3.0.1, measured on ") && text.contains("| f32 | 21 | "), "{text}");
    }

    #[test]
    fn provenance_says_when_a_record_is_stale() {
        let record = synthetic::record();
        assert!(!provenance(&record, &[]).contains("stale"));
        let text = provenance(&record, &["ch01-naive: measure again".to_owned()]);
        assert!(text.contains("**This record is stale:**\n\n- ch01-naive: measure again\n"), "{text}");
        assert!(text.contains("**Method.** Made up for a test.\n"), "{text}");
        assert!(text.contains("| L2 cache | 60.0 MiB |"), "{text}");
    }

    #[test]
    fn awkward_input_is_compared() {
        let text = alignment(&synthetic::record());
        assert!(
            text.contains("| i32 | 16,777,216 | 1 element on |") && text.contains("| f64 | 16,777,219 | aligned |"),
            "{text}"
        );
    }
}
