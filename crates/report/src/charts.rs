//! The charts of the results page and of the introduction.

use std::path::Path;

use lab::figure::{self, BLUE, Bar, FONT, GREEN, INK, Panel, Place, TITLE_HEIGHT, VERMILION, WIDTH};
use lab::measurement::{CHAMPION, CUB, Contest, MeasuredCase, Measurement, Rung, TORCH};
use lab::measurement::{is_library, is_taught_as_wrong, number};
use lab::record::{self, SimCase};
use lab::text::{grouped, per_cent, three_digits};
use lab::{Chapter, Result, Type};
use plotters::style::RGBColor;
use plotters::style::text_anchor::HPos;

use crate::plot::{Line, Look, MARKS, Mark, Plot, power_of_two};
use crate::tables::MISSING;

const CHAMPIONS_LOOK: Look = Look { colour: VERMILION, tenths: 10, width: 3, dash: None, mark: Some(Mark::Disc) };
const CUBS_LOOK: Look = Look { colour: BLUE, tenths: 10, width: 2, dash: Some((7, 4)), mark: Some(Mark::Square) };
const TORCHS_LOOK: Look = Look { colour: GREEN, tenths: 10, width: 2, dash: Some((3, 3)), mark: Some(Mark::Up) };
const CEILINGS_LOOK: Look = Look { colour: INK, tenths: 10, width: 1, dash: Some((2, 3)), mark: None };

/// Every chart of a record, name and SVG: placeholders where there is none.
///
/// # Errors
/// [`lab::Error::Chart`].
pub fn charts(record: Option<&Measurement>, lessons: &[&Chapter]) -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    type Draw = fn(&Measurement, &[&Chapter]) -> Result<String>;
    let all: [(&str, &str, Draw); 9] = [
        ("bandwidth-i32.svg", "Cold bandwidth, i32", |record, lessons| bandwidth(record, lessons, Type::I32).svg()),
        ("bandwidth-f32.svg", "Cold bandwidth, f32", |record, lessons| bandwidth(record, lessons, Type::F32).svg()),
        ("bandwidth-f64.svg", "Cold bandwidth, f64", |record, lessons| bandwidth(record, lessons, Type::F64).svg()),
        ("ratio.svg", "CUB / champion", |record, _| ratio(record, Contest::Alone).svg()),
        ("ratio-back-to-back.svg", "CUB / champion, back to back", |record, _| {
            ratio(record, Contest::BackToBack).svg()
        }),
        ("warm.svg", "Warm bandwidth", |record, lessons| warm(record, lessons).svg()),
        ("blocks.svg", "Block sizes", |record, lessons| blocks(record, lessons).svg()),
        ("ladder.svg", "Every kernel", ladder),
        ("introduction.svg", "From naive to champion", introduction),
    ];
    for (name, title, draw) in all {
        let svg = match record {
            Some(record) => draw(record, lessons)?,
            None => figure::placeholder(title, MISSING)?,
        };
        files.push((name.to_owned(), svg));
    }
    Ok(files)
}

/// The line of a kernel of the course: the champion stands out, the others differ by their marks and their numbers.
fn rungs_line(index: usize, rung: &Rung<'_>, points: Vec<(f64, f64)>) -> Line {
    if rung.is_champion() {
        return Line { label: "champion".to_owned(), name: rung.name.to_owned(), points, look: CHAMPIONS_LOOK };
    }
    let look = Look { colour: INK, tenths: 6, width: 1, dash: None, mark: Some(MARKS[index % MARKS.len()]) };
    Line { label: rung.number().to_owned(), name: rung.name.to_owned(), points, look }
}

/// Points in the order of a line.
fn ascending(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = points.collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// The lines of the course's kernels and of the libraries.
fn lines(record: &Measurement, lessons: &[&Chapter], ty: Type, contest: Contest) -> Vec<Line> {
    let points = |name: &str| -> Vec<(f64, f64)> {
        let cases = record.cases.iter().filter(|case| case.is_plain_in(contest) && case.name() == name);
        let cases = cases.filter(|case| case.ty == ty.name() && case.n.is_power_of_two());
        ascending(cases.filter_map(|case| Some((case.n as f64, case.gb_per_s()?))))
    };
    let mut lines: Vec<Line> =
        record.rungs(lessons, ty).iter().enumerate().map(|(i, rung)| rungs_line(i, rung, points(rung.name))).collect();
    let libraries = [(CUB, "CUB", CUBS_LOOK), (TORCH, "torch", TORCHS_LOOK)];
    lines.extend(libraries.map(|(name, label, look)| Line {
        label: label.to_owned(),
        name: record.libraries.get(name).map_or(String::new(), |library| library.version.clone()),
        points: points(name),
        look,
    }));
    lines
}

fn bandwidth(record: &Measurement, lessons: &[&Chapter], ty: Type) -> Plot {
    let mut lines = lines(record, lessons, ty, Contest::Alone);
    let ceiling = record.ceiling.iter().map(|point| ((point.bytes / ty.bytes()) as f64, point.gb_per_s));
    let points = ascending(ceiling.filter(|point| point.0 >= 1.0));
    let (label, name) = ("ceiling".to_owned(), "reading only".to_owned());
    lines.push(Line { label, name, points, look: CEILINGS_LOOK });
    Plot::over_elements(format!("Cold bandwidth, {ty}, {}", record.device), "GB/s of input", lines)
}

/// Speed of the champion over CUB's, a line a type.
fn ratio(record: &Measurement, contest: Contest) -> Plot {
    let looks = [CHAMPIONS_LOOK, CUBS_LOOK, TORCHS_LOOK];
    let line = |(ty, look): (Type, Look)| {
        let points = record.ratios(contest, ty).into_iter().map(|(n, ratio)| (n as f64, ratio));
        Line { label: ty.to_string(), name: String::new(), points: points.collect(), look }
    };
    let mut lines: Vec<Line> = [Type::I32, Type::F32, Type::F64].into_iter().zip(looks).map(line).collect();
    // CUB against itself, over the sizes that the others have.
    let mut sizes: Vec<f64> = lines.iter().flat_map(|line| &line.points).map(|point| point.0).collect();
    sizes.sort_by(f64::total_cmp);
    let points = [sizes.first(), sizes.last()].into_iter().flatten().map(|&x| (x, 1.0)).collect();
    lines.push(Line { label: "CUB".to_owned(), name: "= 1".to_owned(), points, look: CEILINGS_LOOK });
    let rules = if contest == Contest::BackToBack { "both overlapping" } else { "each launch alone" };
    let title = format!("Champion against CUB, {rules}, {}", record.device);
    Plot::over_elements(title, "times as fast as CUB", lines)
}

fn warm(record: &Measurement, lessons: &[&Chapter]) -> Plot {
    let lines = lines(record, lessons, Type::I32, Contest::Warm);
    Plot::over_elements(format!("Warm bandwidth, i32, {}", record.device), "GB/s of input", lines)
}

/// The best kernel of each chapter at the block sizes that were tried.
fn blocks(record: &Measurement, lessons: &[&Chapter]) -> Plot {
    let swept = || {
        let is_swept = |case: &&MeasuredCase| case.swept.as_deref() == Some("block") && case.offset == 0;
        record.cases.iter().filter(is_swept).filter(|case| case.ty == Type::I32.name())
    };
    let n = swept().map(|case| case.n).max().unwrap_or(0);
    let points = |name: &str| -> Vec<(f64, f64)> {
        let cases = swept().filter(|case| case.n == n && case.name() == name);
        ascending(cases.filter_map(|case| Some((f64::from(case.block?), case.gb_per_s()?))))
    };
    let rungs = record.rungs(lessons, Type::I32);
    Plot {
        title: format!("Block sizes, i32, n = {}", grouped(n)),
        y_title: "GB/s of input, cold",
        x_title: "threads a block",
        x_label: |x| format!("{x:.0}"),
        lines: rungs.iter().enumerate().map(|(i, rung)| rungs_line(i, rung, points(rung.name))).collect(),
    }
}

/// One bar for each kernel and library at one size.
fn ladder(record: &Measurement, lessons: &[&Chapter]) -> Result<String> {
    let Some(n) = record.one_size(Type::I32) else { return figure::placeholder("Every kernel", MISSING) };
    let mut cases: Vec<&MeasuredCase> = record.timed(Type::I32).filter(|case| case.n == n).collect();
    // As the lessons have them; the library and torch after them.
    let place = |case: &&MeasuredCase| {
        let lesson = lessons.iter().position(|lesson| Some(lesson.slug) == case.chapter.as_deref());
        let variants = lesson.map_or(&[][..], |at| lessons[at].variants);
        let library = is_library(case.name());
        (library, case.chapter.clone(), variants.iter().position(|variant| variant.name == case.name()))
    };
    cases.sort_by_key(place);
    let bar = |case: &&MeasuredCase| {
        let slug = case.chapter.as_deref().unwrap_or_default();
        let is_wrong = !case.ok || is_taught_as_wrong(lessons, slug, case.name());
        let mark = if is_wrong { "✗ " } else { "" };
        let (name, colour) = match case.name() {
            CUB => ("CUB".to_owned(), GREEN),
            TORCH => ("torch".to_owned(), GREEN),
            CHAMPION => (format!("{} {CHAMPION}", number(slug)), VERMILION),
            name => (format!("{mark}{} {name}", number(slug)), BLUE),
        };
        let us = case.cold_us.unwrap_or_default();
        Bar { name, value: us, label: three_digits(us), colour }
    };
    let mut bars: Vec<Bar> = cases.iter().map(bar).collect();
    if let Some(us) = record.limit_us(Contest::Alone, Type::I32, n) {
        bars.push(Bar { name: "reading and a launch".to_owned(), value: us, label: three_digits(us), colour: INK });
    }
    let panel = Panel { title: "time in µs, cold median (less is better)".to_owned(), bars, full: None };
    figure::bars(&format!("{}, n = {}", record.device, grouped(n)), &[panel])
}

/// A row of the introduction's chart: a line of words, and a bar below it.
const STRIP_HEIGHT: i32 = 40;

/// The best kernel of each chapter, CUB, and what the card allows: few words, wide bars.
fn introduction(record: &Measurement, lessons: &[&Chapter]) -> Result<String> {
    let title = "From naive to champion";
    let Some(n) = record.one_size(Type::I32) else { return figure::placeholder(title, MISSING) };
    let mut strips: Vec<(String, f64, RGBColor)> = Vec::new();
    for rung in record.rungs(lessons, Type::I32) {
        let lesson = lessons.iter().find(|lesson| lesson.slug == rung.slug).map_or(rung.name, |lesson| lesson.title);
        let (words, colour) = match rung.is_champion() {
            true => (format!("{}. {lesson}: the champion", rung.number()), VERMILION),
            false => (format!("{}. {lesson}", rung.number()), BLUE),
        };
        strips.extend(record.cold_us(rung.name, Type::I32, n).map(|us| (words, us, colour)));
    }
    strips.extend(record.cold_us(CUB, Type::I32, n).map(|us| ("CUB, NVIDIA's library".to_owned(), us, GREEN)));
    strips.extend(record.limit_us(Contest::Alone, Type::I32, n).map(|us| ("Reading and a launch".to_owned(), us, INK)));
    let longest = strips.iter().map(|strip| strip.1).fold(0.0, f64::max);
    let times: Vec<String> = strips.iter().map(|(words, us, _)| format!("{words} {} µs.", three_digits(*us))).collect();
    let title = format!("{title}: µs for {} numbers", grouped(n));
    let height = TITLE_HEIGHT + 8 + STRIP_HEIGHT * strips.len() as i32;
    figure::drawing(&title, &times.join(" "), height, |ground| {
        for (i, (words, us, colour)) in strips.iter().enumerate() {
            let top = TITLE_HEIGHT + 8 + STRIP_HEIGHT * i as i32;
            let end = (f64::from(WIDTH) * us / longest).round() as i32;
            figure::text(ground, words, (0, top + 9), FONT, HPos::Left)?;
            figure::text(ground, &three_digits(*us), (WIDTH, top + 9), FONT, HPos::Right)?;
            figure::block(ground, (0, top + 18), (end, top + 33), *colour)?;
        }
        Ok(())
    })
}

/// `stages.svg`: what the simulator counts for the best kernel of each chapter, as small multiples.
///
/// # Errors
/// A chapter's record that cannot be read, [`lab::Error::Chart`].
pub fn stages(record: Option<&Measurement>, lessons: &[&Chapter], root: &Path) -> Result<String> {
    let mut stages: Vec<(&str, SimCase)> = Vec::new();
    for (i, lesson) in lessons.iter().enumerate().filter(|(_, lesson)| lesson.is_rung) {
        let Some(sim) = record::load(root, lesson.slug)? else { continue };
        let rungs = record.map(|record| record.rungs(lessons, Type::I32)).unwrap_or_default();
        let measured = rungs.iter().find(|rung| rung.slug == lesson.slug).map(|rung| rung.name);
        // Without a clock, the kernel that the next chapter builds on; of the last chapter, its last right one.
        let next = lessons.get(i + 1).and_then(|next| next.before).filter(|before| before.0 == lesson.slug);
        let right = lesson.variants.iter().rev().filter(|v| !is_taught_as_wrong(lessons, lesson.slug, v.name));
        let names = measured.into_iter().chain(next.map(|before| before.1)).chain(right.map(|variant| variant.name));
        let case = names.filter_map(|name| sim.case(name, Type::I32, record::N)).next();
        stages.extend(case.map(|case| (lesson.slug, case.clone())));
    }
    if stages.is_empty() {
        return figure::placeholder("Counters, simulated", "no chapter has a record of the simulator");
    }
    draw_stages(&stages)
}

/// Titles and counts of the panels, those of a pair added up.
const COUNTED: [(&str, &[&str]); 5] = [
    ("warp instructions", &["inst_executed"]),
    ("barrier arrivals", &["barriers"]),
    ("shared wavefronts", &["shared_ld_wavefronts", "shared_st_wavefronts"]),
    ("bank conflicts", &["shared_ld_conflicts", "shared_st_conflicts"]),
    ("global sectors", &["global_ld_sectors", "global_st_sectors", "global_atom_sectors", "global_red_sectors"]),
];

fn draw_stages(stages: &[(&str, SimCase)]) -> Result<String> {
    let count = |case: &SimCase, name: &str| case.counters.get(name).copied().unwrap_or(0);
    let panel = |title: &str, full: Option<f64>, figure: &dyn Fn(&SimCase) -> (f64, String)| {
        let bar = |(slug, case): &(&str, SimCase)| {
            let (value, label) = figure(case);
            let colour = if case.variant == CHAMPION { VERMILION } else { BLUE };
            Bar { name: number(slug).to_owned(), value, label, colour }
        };
        Panel { title: title.to_owned(), bars: stages.iter().map(bar).collect(), full }
    };
    let mut panels = vec![panel("lane efficiency", Some(1.0), &|case| {
        let share = lab::counts::share(count(case, "thread_inst_executed"), count(case, "inst_executed"));
        (share, per_cent(share))
    })];
    panels.extend(COUNTED.map(|(title, names)| {
        panel(title, None, &|case| {
            let total: u64 = names.iter().map(|name| count(case, name)).sum();
            let per_1000 = 1000.0 * total as f64 / case.n as f64;
            (per_1000, three_digits(per_1000))
        })
    }));
    let title = format!("Simulated counts per 1,000 elements, n = {}", power_of_two(record::N as f64));
    let names: Vec<String> = stages.iter().map(|(slug, case)| format!("{} {}", number(slug), case.variant)).collect();
    let description = format!("{}. {}", names.join(", "), figure::description(&panels));
    let (rows, line, width) = (names.len() as i32 + 1, 18, WIDTH / 2);
    let panel_height = figure::panel_height(&panels[0]);
    let key_top = TITLE_HEIGHT + 3 * panel_height;
    figure::drawing(&title, &description, key_top + line * rows / 2 + 6, |ground| {
        for (i, panel) in panels.iter().enumerate() {
            let i = i as i32;
            let place = Place { left: width * (i % 2), top: TITLE_HEIGHT + panel_height * (i / 2), width: width - 8 };
            figure::draw_panel(ground, panel, place)?;
        }
        for (i, name) in names.iter().enumerate() {
            let (column, row) = (i as i32 / (rows / 2), i as i32 % (rows / 2));
            figure::text(ground, name, (width * column, key_top + line * row + line / 2), FONT - 1, HPos::Left)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::has;
    use lab::measurement::synthetic;

    fn drawn(record: Option<&Measurement>) -> Vec<(String, String)> {
        charts(record, &synthetic::LESSONS).unwrap()
    }

    #[test]
    fn the_files_are_the_same_before_anything_is_measured() {
        let record = synthetic::record();
        let names = |files: &[(String, String)]| files.iter().map(|file| file.0.clone()).collect::<Vec<_>>();
        let (measured, absent) = (drawn(Some(&record)), drawn(None));
        assert_eq!(names(&measured), names(&absent));
        assert!(absent.iter().all(|(_, svg)| svg.contains(MISSING)));
        for (name, svg) in &measured {
            assert!(!svg.contains(MISSING) && !svg.contains("NaN") && !svg.contains("inf"), "{name}: {svg}");
            assert!(svg.contains("<desc>") && !svg.contains("\n\n") && svg.contains("currentColor"), "{name}");
        }
    }

    #[test]
    fn every_line_is_named_at_its_end_and_told() {
        let record = synthetic::record();
        let files = drawn(Some(&record));
        let svg = |name: &str| files.iter().find(|file| file.0 == name).unwrap().1.as_str();
        for label in ["1", "7", "champion", "CUB", "torch", "ceiling"] {
            assert!(svg("bandwidth-f64.svg").contains(&format!("\n{label}\n</text>")), "{label}");
        }
        assert!(svg("bandwidth-i32.svg").contains("champion (single_pass): from "));
        assert!(svg("ladder.svg").contains("✗ 5 unroll_volatile"));
        // No title is known for chapter 8 here.
        has(svg("introduction.svg"), &["8. single_pass: the champion", "5. Unroll the last warp"]);
        assert!(svg("blocks.svg").contains("1024"));
    }

    #[test]
    fn a_record_of_little_is_drawn_as_far_as_it_goes() {
        let mut record = synthetic::record();
        record.cases.retain(|case| case.name() == "sequential" && case.n == 1024);
        (record.ceiling, record.l2_bytes) = (Vec::new(), None);
        record.libraries.clear();
        for (name, svg) in drawn(Some(&record)) {
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}: {svg}");
        }
        record.cases.clear();
        assert!(drawn(Some(&record)).iter().all(|(_, svg)| svg.contains(MISSING)));
    }
}
