//! Pages made from a record: the generated part of the book's results page, and a report of a reader's own card.

use std::path::Path;

use lab::figure::escaped;
use lab::measurement::{CHAMPION, Contest, LOGS, Measurement};
use lab::text::{per_cent, three_digits};
use lab::{Chapter, Result, Type};

use crate::accuracy::accuracy;
use crate::charts::{charts, stages};
use crate::contest_table::{BOOKS, ContestTable, Over};
use crate::fact::facts_text;
use crate::kinds::kinds;
use crate::loads::loads;
use crate::operators::operators;
use crate::plot::power_of_two;
use crate::quoted::{Quoted, grid_sweep};
use crate::rows::rows;
use crate::sheet::Sheet;
use crate::stale::marked;
use crate::tables::{
    ablation, alignment, contest, huge, provenance, provenance_sheet, ratio, rivals, sentence, source_line, unmeasured,
};
use crate::{card, facts, lead};

/// Sizes at which a reader's card stands beside the book's, as powers of two.
const SIDE_BY_SIDE: [u32; 6] = [10, 16, 20, 24, 28, 30];

/// The files of `book/src/generated/results/`, name and text. The names are the same whether there is a record or not.
///
/// # Errors
/// A record or quoted file that cannot be read, a chart that cannot be drawn.
pub fn book(root: &Path, lessons: &[&Chapter]) -> Result<Vec<(String, String)>> {
    marked(root, BOOKS, |record, stale| book_of(record, stale, root, lessons))
}

fn book_of(
    record: Option<&Measurement>,
    stale: &[String],
    root: &Path,
    lessons: &[&Chapter],
) -> Result<Vec<(String, String)>> {
    let quoted = Quoted::load(root)?;
    let mut files = charts(record, lessons)?;
    files.push(("stages.svg".to_owned(), stages(record, lessons, root)?));
    // Most tables of nothing say that there is no record.
    let nothing = Measurement::default();
    let any = record.unwrap_or(&nothing);
    let texts = [
        ("alone.md", contest(any, Contest::Alone)),
        ("back-to-back.md", contest(any, Contest::BackToBack)),
        ("lead-alone.md", lead::lead(any, Contest::Alone)),
        ("lead-back-to-back.md", lead::lead(any, Contest::BackToBack)),
        ("close.md", record.map_or_else(|| unmeasured("the champion beside CUB"), lead::close)),
        ("warm.md", lead::warm(any)),
        ("host.md", lead::host(any)),
        ("errors.md", lead::errors(any)),
        ("rivals.md", rivals(any)),
        ("ablation.md", ablation(any)),
        ("huge.md", huge(any)),
        ("latencies.md", card::latencies(any)),
        ("proofs.md", card::proofs(any)),
        ("alignment.md", alignment(any)),
        ("provenance.md", record.map_or_else(|| unmeasured("an H200"), |record| provenance(record, stale))),
        ("ladder-a100.md", quoted.ladder(record)),
        ("minus-one.md", quoted.minus_one(record)),
        ("few-blocks.md", quoted.few_blocks()),
        ("grid-sweep.md", grid_sweep(any)),
    ];
    files.extend(texts.map(|(name, text)| (name.to_owned(), text)));
    let mut facts = facts::facts(record, lessons);
    facts.extend(quoted.facts());
    files.push(("facts.md".to_owned(), facts_text(&facts)));
    Ok(files)
}

/// The files of `book/src/generated/<slug>/` that come from the record of a chapter's own contest, name and text. The names are
/// the same whether there is a record or not.
///
/// # Errors
/// A record that cannot be read.
pub fn chapter_contest(table: &ContestTable, chapter: &Chapter, root: &Path) -> Result<Vec<(String, String)>> {
    let mut files = match table.over {
        Over::Arrays if table.beside.is_empty() => operators(table, root)?,
        Over::Arrays => [accuracy(table, root)?, kinds(chapter, root)?].concat(),
        _ => rows(table, root)?,
    };
    if !table.loads.is_empty() {
        files.extend(loads(root, &table.loads)?);
    }
    Ok(files)
}

/// A reader's own results: the charts as SVG and `index.html`, which shows them beside the book's where the book has a
/// record. Name and text of each file.
///
/// # Errors
/// [`lab::Error::Chart`].
pub fn report(yours: &Measurement, books: Option<&Measurement>, lessons: &[&Chapter]) -> Result<Vec<(String, String)>> {
    let mut files = charts(Some(yours), lessons)?;
    let of_book = match books {
        Some(books) => charts(Some(books), lessons)?,
        None => Vec::new(),
    };
    let mut page = String::from(HEAD);
    page.push_str(&format!(
        "<h1>{}</h1>\n<p>{}</p>\n",
        escaped(&yours.device),
        escaped(&sentence(&source_line(yours)))
    ));
    page.push_str(&format!("<p>{}</p>\n", escaped(&sentence(&yours.method))));
    page.push_str("<h2>The champion on your card</h2>\n");
    for ty in [Type::I32, Type::F32, Type::F64] {
        let sheet = side_by_side(yours, books, ty);
        if !sheet.is_empty() {
            page.push_str(&format!("<h3>{ty}</h3>\n{}", sheet.html()));
        }
    }
    for (name, svg) in &files {
        let theirs = of_book.iter().find(|(of_book, _)| of_book == name).map(|(_, svg)| svg.as_str());
        page.push_str("<div class=\"pair\">\n");
        page.push_str(&format!("<figure>\n{svg}<figcaption>Your card</figcaption>\n</figure>\n"));
        if let (Some(svg), Some(books)) = (theirs, books) {
            let caption = escaped(&format!("The book's card: {}", source_line(books)));
            page.push_str(&format!("<figure>\n{svg}<figcaption>{caption}</figcaption>\n</figure>\n"));
        }
        page.push_str("</div>\n");
    }
    page.push_str(&format!(
        "<h2>Where the figures come from</h2>\n{}<p><code>{}</code></p>\n</main>\n</html>\n",
        provenance_sheet(yours).html(),
        escaped(&yours.command)
    ));
    files.push(("index.html".to_owned(), page));
    Ok(files)
}

/// The champion at some sizes: time, speed, per cent of the card's own ceiling and limit, and the same of the book's card.
fn side_by_side(yours: &Measurement, books: Option<&Measurement>, ty: Type) -> Sheet {
    let own = ["n", "µs", "GB/s", "of your read ceiling", "of reading and a launch", "CUB / champion"];
    let theirs = ["book's, µs", "of its read ceiling", "its CUB / champion"];
    let mut sheet = Sheet::new(0, own.into_iter().chain(theirs.into_iter().filter(|_| books.is_some())));
    let of_ceiling = |record: &Measurement, n: u64| {
        let gb_per_s = record.plain(CHAMPION, ty, n)?.gb_per_s()?;
        Some(per_cent(gb_per_s / record.read_ceiling_gb_per_s?))
    };
    let dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    for log in SIDE_BY_SIDE.into_iter().filter(|log| LOGS.contains(log)) {
        let n = 1u64 << log;
        let Some(us) = yours.cold_us(CHAMPION, ty, n) else { continue };
        let mut cells = vec![
            power_of_two(n as f64),
            three_digits(us),
            dash(yours.plain(CHAMPION, ty, n).and_then(|case| case.gb_per_s()).map(three_digits)),
            dash(of_ceiling(yours, n)),
            dash(yours.share_of_limit(Contest::Alone, ty, n).map(per_cent)),
            ratio(yours.ratio(Contest::Alone, ty, n)),
        ];
        if let Some(books) = books {
            cells.push(dash(books.cold_us(CHAMPION, ty, n).map(three_digits)));
            cells.push(dash(of_ceiling(books, n)));
            cells.push(ratio(books.ratio(Contest::Alone, ty, n)));
        }
        sheet.row(cells);
    }
    sheet
}

/// Head of `index.html`, which needs no other file.
const HEAD: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<title>Reduction on your card</title>
<style>
:root { color-scheme: light dark; }
body { margin: 0; font: 16px/1.5 sans-serif; color: #1b1f24; background: #fff; }
main { max-width: 60rem; margin: 0 auto; padding: 1rem; }
figure { margin: 0; flex: 1 1 20rem; max-width: 29rem; }
figcaption { font-size: 0.9em; opacity: 0.9; }
.pair { display: flex; flex-wrap: wrap; gap: 2rem; margin: 2rem 0; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
td, th { padding: 0.25rem 0.7rem; border-bottom: 1px solid #8888; text-align: left; vertical-align: bottom; }
.figure { text-align: right; }
@media (prefers-color-scheme: dark) { body { color: #e6e6e6; background: #15181c; } }
@media print { .pair { break-inside: avoid; } }
</style>
<main>
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::has;
    use lab::measurement::{self, save, synthetic};
    use lab::record;

    /// A checkout with what others measured, and no record.
    fn checkout() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../measurements");
        for name in ["quoted/a100-article.json", "cuda-samples-shmoo-int-h200.txt", "cuda-samples-shmoo-float-h200.txt"]
        {
            let text = std::fs::read_to_string(here.join(name)).unwrap();
            record::write(&dir.path().join("measurements").join(name), &text).unwrap();
        }
        dir
    }

    #[test]
    fn the_book_has_the_same_files_before_and_after_a_measurement() {
        let dir = checkout();
        let before = book(dir.path(), &synthetic::LESSONS).unwrap();
        // Of a kernel that this checkout has no longer.
        let mut record = synthetic::record();
        record.kernels.insert("gone_i32".to_owned(), "0".to_owned());
        let of_first = record.cases.iter_mut().find(|case| case.chapter.as_deref() == Some("ch01-naive"));
        of_first.unwrap().kernels = vec!["gone_i32".to_owned()];
        save(&record, &measurement::path(dir.path(), BOOKS)).unwrap();
        let after = book(dir.path(), &synthetic::LESSONS).unwrap();
        let names = |files: &[(String, String)]| files.iter().map(|file| file.0.clone()).collect::<Vec<_>>();
        assert_eq!(names(&before), names(&after));
        let text = |files: &[(String, String)], name: &str| files.iter().find(|file| file.0 == name).unwrap().1.clone();
        assert!(text(&before, "alone.md").contains("no record of the champion"));
        assert!(text(&before, "facts.md").contains("<!-- ANCHOR: i32-ratio-mean -->\nnot measured yet\n"));
        assert!(text(&after, "alone.md").contains("#### `f64`"));
        let provenance = text(&after, "provenance.md");
        assert!(provenance.contains("**This record is stale:**\n\n- ch01-naive: 1 row has times of"), "{provenance}");
        assert!(provenance.contains("before `gone_i32` changed"), "{provenance}");
        let anchors = |text: String| text.lines().filter(|line| line.contains("ANCHOR:")).map(str::to_owned).collect();
        let (before, after): (Vec<String>, Vec<String>) =
            (anchors(text(&before, "facts.md")), anchors(text(&after, "facts.md")));
        assert_eq!(before, after);
    }

    #[test]
    fn a_missing_or_broken_source_is_named() {
        let dir = checkout();
        let path = dir.path().join("measurements/cuda-samples-shmoo-int-h200.txt");
        record::write(&path, "nothing\n").unwrap();
        let message = book(dir.path(), &synthetic::LESSONS).unwrap_err().to_string();
        assert!(message.contains("cuda-samples-shmoo-int-h200.txt: not a record"), "{message}");
    }

    #[test]
    fn a_readers_card_stands_beside_the_books() {
        let mut yours = synthetic::record();
        yours.device = "A <small> GPU".to_owned();
        yours.read_ceiling_gb_per_s = Some(4540.0 * 2.0);
        let books = synthetic::record();
        let page = |books| report(&yours, books, &synthetic::LESSONS).unwrap().pop().unwrap();
        let (name, both) = page(Some(&books));
        assert_eq!(name, "index.html");
        has(&both, &["<h1>A &lt;small&gt; GPU</h1>", "The book's card: measured on", "of its read ceiling"]);
        let row = both.lines().find(|line| line.contains("<td class=\"figure\">2³⁰</td>")).unwrap();
        assert!(row.contains("50.0 %"), "half of a ceiling that is twice as high: {row}");
        let (_, alone) = page(None);
        assert!(!alone.contains("book's card:") && alone.matches("<svg").count() * 2 == both.matches("<svg").count());
        assert_eq!(both.matches("http://www.w3.org").count(), both.matches("http://").count());
    }
}
