//! Weight of a page: a reader opens one from a stick or over a slow line, so all that it loads before she touches anything stays
//! below a limit, which the gate holds. After mdBook has written the site, this module makes it smaller: it packs the scripts of
//! the labs into one, leaves those of the search to the first search, and takes out of charts, tables, styles and scripts what
//! does not show.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use course::workspace;
use regex::Captures;

use crate::packed;

/// The scripts of the labs, packed.
pub const LABS: &str = "lab/labs.js";
/// The line of book/theme/lab.js that says whether the scripts of the labs are packed.
const UNPACKED: &str = "const isPacked = false;";

/// Makes the site in `dir` smaller, without a difference to see.
///
/// # Errors
/// A file that cannot be read or written; a theme that does not load its scripts as it should.
pub fn slim(dir: &Path) -> Result<()> {
    // The page that holds the whole book, to print it, is large anyway, and takes as long as all the others.
    for path in named(dir, "", ".html")?.into_iter().filter(|path| !path.ends_with("print.html")) {
        rewrite(&path, page)?;
    }
    for folder in [dir.to_path_buf(), dir.join("css"), dir.join("fonts"), dir.join("book/theme")] {
        for path in named(&folder, "", ".css")? {
            rewrite(&path, style)?;
        }
    }
    for path in named(dir, "book-", ".js")?.into_iter().chain(named(&dir.join("book/theme"), "", ".js")?) {
        rewrite(&path, |text| script(text).unwrap_or_else(|| text.to_owned()))?;
    }
    pack_labs(dir)
}

/// Files of a folder by their beginning and end; a folder that is not there has none.
pub fn named(folder: &Path, start: &str, end: &str) -> Result<Vec<PathBuf>> {
    let names = workspace::names(folder)?.into_iter();
    Ok(names.filter(|name| name.starts_with(start) && name.ends_with(end)).map(|name| folder.join(name)).collect())
}

/// Changes the text of a file.
///
/// # Errors
/// A file that cannot be read or written.
pub fn rewrite(path: &Path, change: impl Fn(&str) -> String) -> Result<()> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    std::fs::write(path, change(&text)).with_context(|| format!("cannot write `{}`", path.display()))
}

pattern!(SEARCH, r#"<script src="((?:elasticlunr|mark|searcher)-[^"]*)">"#);
pattern!(CHART, r"(?s)<svg .*?</svg>");
pattern!(DIGITS, r#"="(\d+\.\d\d)\d+""#);
pattern!(WORDS, r"(?s)(<text [^>]*>)\n([^<]*?)\n(</text>)");
pattern!(LINE, r#"<polyline fill="none"([^>]*) points="([^"]*)" ?(?:/>|></polyline>)\s*"#);
pattern!(FILLED, r#"<path d="([^"]*)" style="fill:([^";]+)" ?(?:/>|></path>)"#);
pattern!(PATH, r#"<path d="([^"]*)""#);
pattern!(STYLED, r#"<path d="([^"]*)" style="([^"]*)" ?(?:/>|></path>)"#);
pattern!(ROW, r"M([\d.]+) ([\d.]+)([hvmz\d. -]+)");
pattern!(ARCS, r#"(?:<path d="M[\d. ]+C[\d. ]+" ?/>\s*){2,}"#);
pattern!(JOINT, r#"" ?/>\s*<path d=""#);
pattern!(BOX, r"M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)h-([\d.]+)z");
pattern!(
    DESCRIBED,
    r#"(?s)^(<svg [^>]*aria-label="[^"]*"[^>]*>.*?)<desc>[^<]*</desc>\s*(?:<style>svg:root[^<]*</style>)?"#
);
pattern!(ICON, r"<!--! Font Awesome [^>]*-->");
pattern!(CELL, r"</t[dh]>(<t[dh]|</tr>)");
pattern!(STARTED, r"(?m)^\s+");
pattern!(REMARK, r"(?s)/\*[^!].*?\*/");

/// A page. Scripts of a type that no browser knows are not loaded; book/theme/search.js loads them when they are needed.
fn page(text: &str) -> String {
    let text = SEARCH.replace_all(text, r#"<script type="text/later" data-src="$1">"#);
    // course.css knows the class.
    let text = text.replace(r#" style="text-align: right""#, " class=end");
    // A cell ends where the next one begins.
    let text = CELL.replace_all(&text, "$1");
    let mut ids = 0;
    let text = CHART.replace_all(&text, |svg: &Captures<'_>| chart(&svg[0], &mut ids));
    // The licence of the icons is said once a page.
    let mut is_said = false;
    unindented(&ICON.replace_all(&text, |icon: &Captures<'_>| {
        if std::mem::replace(&mut is_said, true) { String::new() } else { icon[0].to_owned() }
    }))
}

/// A page without indents and empty lines, but in its listings.
fn unindented(text: &str) -> String {
    let mut is_listing = false;
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        out += if is_listing { line } else { line.trim_start() };
        let (begin, end) = (line.rfind("<pre"), line.rfind("</pre>"));
        is_listing = if begin.is_some() || end.is_some() { begin > end } else { is_listing };
    }
    out
}

/// A chart or figure. Lines that look the same and follow each other, such as the dashes of one, become one path. `ids` counts what
/// has a name on the page.
fn chart(svg: &str, ids: &mut usize) -> String {
    let svg = svg.replace(r#" opacity="1""#, "");
    let svg = DIGITS.replace_all(&svg, r#"="$1""#);
    let svg = WORDS.replace_all(&svg, "$1$2$3");
    // A description that the label repeats is left out, and so are the colours that a file has for itself.
    let svg = DESCRIBED.replace(&svg, "$1");
    let svg =
        FILLED.replace_all(&svg, |path: &Captures<'_>| boxes(&path[1], &path[2]).unwrap_or_else(|| path[0].to_owned()));
    let svg = PATH.replace_all(&svg, |path: &Captures<'_>| {
        relative(&path[1]).map_or_else(|| path[0].to_owned(), |short| path[0].replace(&path[1], &short))
    });
    let svg = STYLED.replace_all(&svg, |path: &Captures<'_>| {
        repeated(&path[1], &path[2], ids).unwrap_or_else(|| path[0].to_owned())
    });
    // Arcs of one group, from lane to lane.
    let svg = ARCS.replace_all(&svg, |arcs: &Captures<'_>| JOINT.replace_all(&arcs[0], "").into_owned());
    let mut out = String::with_capacity(svg.len());
    let (mut at, mut look) = (0, String::new());
    for line in LINE.captures_iter(&svg) {
        let whole = line.get(0).expect("a match is whole");
        let follows = whole.start() == at && !look.is_empty() && look == line[1];
        if !follows {
            end_path(&mut out, &mut look);
            out += &svg[at..whole.start()];
            look = line[1].to_owned();
            out += r#"<path d=""#;
        }
        out += "M";
        out += line[2].trim();
        at = whole.end();
    }
    end_path(&mut out, &mut look);
    out + &svg[at..]
}

/// Filled boxes as lines as thick as they are high, with gaps: a path for each height. Nothing where a path is anything else.
fn boxes(path: &str, colour: &str) -> Option<String> {
    struct Line {
        thick: f64,
        drawn: String,
        row: f64,
        /// Right end of its last box.
        after: f64,
    }
    let mut lines: Vec<Line> = Vec::new();
    let mut end = 0;
    for found in BOX.captures_iter(path) {
        let whole = found.get(0)?;
        let number = |place: usize| found[place].parse::<f64>().ok();
        let (x, y, w, thick) = (number(1)?, number(2)?, number(3)?, number(4)?);
        if whole.start() != end || found[3] != found[5] {
            return None;
        }
        let from = format!("M{x} {}h{w}", rounded(y + thick / 2.0));
        let after = x + w;
        match lines.iter_mut().find(|line| line.thick == thick) {
            None => lines.push(Line { thick, drawn: from, row: y, after }),
            Some(line) => {
                let follows = line.row == y && x > line.after;
                line.drawn += &if follows { format!("m{} 0h{w}", rounded(x - line.after)) } else { from };
                (line.row, line.after) = (y, after);
            }
        }
        end = whole.end();
    }
    let path_of =
        |Line { thick, drawn, .. }| format!(r#"<path d="{drawn}" style="stroke:{colour};stroke-width:{thick}"/>"#);
    (end == path.len()).then(|| lines.into_iter().map(path_of).collect())
}

/// Boxes by their distance from the one before in their row; nothing where a path is anything else.
fn relative(path: &str) -> Option<String> {
    let mut out = String::new();
    let (mut end, mut last) = (0, None);
    for found in BOX.captures_iter(path) {
        let whole = found.get(0)?;
        let (x, y) = (found[1].parse::<f64>().ok()?, found[2].parse::<f64>().ok()?);
        let far = format!("M{} {}", &found[1], &found[2]);
        if whole.start() != end {
            return None;
        }
        match last {
            Some((before, row)) if row == y => out += &format!("m{} 0", rounded(x - before)),
            _ => out += &far,
        }
        out += &whole.as_str()[far.len()..];
        (end, last) = (whole.end(), Some((x, y)));
    }
    (end == path.len()).then_some(out)
}

/// A path whose rows repeat, with each row once and the others as uses of it; nothing where none does.
fn repeated(path: &str, style: &str, ids: &mut usize) -> Option<String> {
    /// Fewer bytes than this are no more than the use that would stand for them.
    const SHORT: usize = 40;
    struct Row<'a> {
        x: &'a str,
        drawn: &'a str,
        /// Where it begins, from the top.
        places: Vec<f64>,
    }
    let mut rows: Vec<Row<'_>> = Vec::new();
    let (mut end, mut rest) = (0, String::new());
    for found in ROW.captures_iter(path) {
        let (whole, y) = (found.get(0)?, found[2].parse::<f64>().ok()?);
        if whole.start() != end {
            return None;
        }
        end = whole.end();
        let (x, drawn) = (found.get(1)?.as_str(), found.get(3)?.as_str());
        match rows.iter_mut().find(|row| (row.x, row.drawn) == (x, drawn)) {
            Some(row) => row.places.push(y),
            None => rows.push(Row { x, drawn, places: vec![y] }),
        }
    }
    let is_repeated = |row: &Row<'_>| row.places.len() > 1 && row.drawn.len() > SHORT;
    if end != path.len() || !rows.iter().any(is_repeated) {
        return None;
    }
    let mut out = String::new();
    for row in &rows {
        let Row { x, drawn, places } = row;
        if !is_repeated(row) {
            places.iter().for_each(|y| rest += &format!("M{x} {y}{drawn}"));
            continue;
        }
        *ids += 1;
        out += &format!(r#"<path id="_{ids}" d="M{x} {}{drawn}" style="{style}"/>"#, places[0]);
        for y in &places[1..] {
            out += &format!("<use href=\"#_{ids}\" y=\"{}\"/>", rounded(y - places[0]));
        }
    }
    if !rest.is_empty() {
        out += &format!(r#"<path d="{rest}" style="{style}"/>"#);
    }
    Some(out)
}

fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

fn end_path(out: &mut String, look: &mut String) {
    if !look.is_empty() {
        *out += &format!("\" fill=\"none\"{look}/>\n");
        look.clear();
    }
}

/// A style sheet without remarks and indents; a remark that begins with `!` stays.
fn style(text: &str) -> String {
    STARTED.replace_all(&REMARK.replace_all(text, ""), "").into_owned()
}

/// A script without indents and lines of remarks; nothing where a text of the script itself goes over several lines.
fn script(text: &str) -> Option<String> {
    let is_text = |line: &str| line.matches('`').count() % 2 == 1;
    if text.lines().any(is_text) {
        return None;
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    Some(lines.fold(String::with_capacity(text.len()), |all, line| all + line + "\n"))
}

/// Packs the scripts of the labs, which book/theme/lab.js names in their order, into one; those that one page takes alone are slimmed.
fn pack_labs(dir: &Path) -> Result<()> {
    let Some(starter) = named(&dir.join("book/theme"), "lab-", ".js")?.pop() else { return Ok(()) };
    let text = std::fs::read_to_string(&starter)?;
    ensure!(text.contains(UNPACKED), "book/theme/lab.js: no `{UNPACKED}` says that its scripts may be packed");
    let slimmed = |path: &Path| -> Result<String> {
        let part = std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        Ok(script(&part).unwrap_or(part))
    };
    let mut all = String::new();
    for path in scripts_of(&text, "parts", dir)? {
        all += &slimmed(&path)?;
        std::fs::remove_file(&path).with_context(|| format!("cannot remove `{}`", path.display()))?;
    }
    for path in scripts_of(&text, "alone", dir)? {
        std::fs::write(&path, slimmed(&path)?).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    std::fs::write(dir.join(LABS), format!("reductionLab.scripts(\"{}\");\n", packed(all)?))?;
    std::fs::write(&starter, text.replace(UNPACKED, "const isPacked = true;"))?;
    Ok(())
}

/// Paths of the scripts in a list of book/theme/lab.js.
fn scripts_of(starter: &str, list: &str, dir: &Path) -> Result<Vec<PathBuf>> {
    let names = starter.split_once(&format!("const {list} = [")).and_then(|(_, rest)| rest.split_once(']'));
    let (names, _) =
        names.with_context(|| format!("book/theme/lab.js: no `const {list} = [` names scripts of the labs"))?;
    Ok(names.split('"').skip(1).step_by(2).map(|name| dir.join(format!("lab/{name}.js"))).collect())
}

/// Text as gzip in base64. What was packed last is kept, of a few languages: under `--serve` it is mostly the same again.
fn packed(text: String) -> Result<String> {
    const KEPT: usize = 4;
    static LAST: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, packed)) = last.iter().find(|(of, _)| *of == text) {
        return Ok(packed.clone());
    }
    let packed = packed::packed(text.as_bytes(), crate::figures::ROUNDS)?;
    last.insert(0, (text, packed.clone()));
    last.truncate(KEPT);
    Ok(packed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indents_stay_in_listings_alone() {
        let text = "<p>\n\n  a\n <pre><code>\n  b\n\n</code></pre>\n  <pre>c</pre>\n  d\n";
        assert_eq!(unindented(text), "<p>\na\n<pre><code>\n  b\n\n</code></pre>\n<pre>c</pre>\nd\n");
    }

    #[test]
    fn lines_of_one_look_become_one_path_and_others_stay_apart() {
        let line =
            |look: &str, points: &str| format!(r#"<polyline fill="none" opacity="1" {look} points="{points} " />"#);
        let svg = format!(
            "<svg a>\n{}\n{}\n{}\n<circle/></svg>",
            line("x", "1,2 3,4"),
            line("x", "5,6 7,8"),
            line("y", "9,9 1,1")
        );
        assert_eq!(
            chart(&svg, &mut 0),
            "<svg a>\n<path d=\"M1,2 3,4M5,6 7,8\" fill=\"none\" x/>\n<path d=\"M9,9 1,1\" fill=\"none\" y/>\n<circle/></svg>"
        );
        assert_eq!(
            chart("<svg><text font-size=\"10.48387\">\n0.5\n</text></svg>", &mut 0),
            "<svg><text font-size=\"10.48\">0.5</text></svg>"
        );
    }

    #[test]
    fn boxes_become_lines_as_thick_as_they_are_high_and_others_stay() {
        let path = |d: &str| format!("<svg a><path d=\"{d}\" style=\"fill:red\" /></svg>");
        let chart = |svg: &str| chart(svg, &mut 0);
        assert_eq!(
            chart(&path("M1.5 16h18.5v7h-18.5zM21 16h18.5v7h-18.5zM1.5 24h2v7h-2z")),
            "<svg a><path d=\"M1.5 19.5h18.5m1 0h18.5M1.5 27.5h2\" style=\"stroke:red;stroke-width:7\"/></svg>"
        );
        for other in ["M1 2h3v4h-3zL1 2", "M1 2h3v4h-2z", "M1 2l3 4"] {
            assert_eq!(chart(&path(other)), path(other));
        }
        assert_eq!(
            chart(&path("M1 2h3v4h-3zM5 2h3v6h-3zM9 2h3v4h-3z")),
            "<svg a><path d=\"M1 4h3m5 0h3\" style=\"stroke:red;stroke-width:4\"/><path d=\"M5 5h3\" style=\"stroke:red;stroke-width:6\"/></svg>"
        );
        let frames = |d: &str| path(d).replace("fill:red", "fill:none;stroke:red");
        assert_eq!(
            chart(&frames("M75 16.5h17v6h-17zM94.5 16.5h17v7h-17zM75 24.5h17v6h-17z")),
            frames("M75 16.5h17v6h-17zm19.5 0h17v7h-17zM75 24.5h17v6h-17z")
        );
        assert_eq!(
            chart(r#"<svg><path d="M1 2C3 4 5 6 7 8" /><path d="M2 3C4 5 6 7 8 9" /><path d="M1 2L3 4" /></svg>"#),
            r#"<svg><path d="M1 2C3 4 5 6 7 8M2 3C4 5 6 7 8 9" /><path d="M1 2L3 4" /></svg>"#
        );
    }

    #[test]
    fn rows_that_repeat_are_written_once() {
        let row = "h18.5v12h-18.5zm19.5 0h18.5v12h-18.5zm19.5 0h18.5v12h-18.5z";
        let mut ids = 3;
        assert_eq!(
            repeated(&format!("M1.5 2{row}M1.5 15.5{row}M2 3{row}M4 5h6"), "x", &mut ids).as_deref(),
            Some(&*format!(
                r##"<path id="_4" d="M1.5 2{row}" style="x"/><use href="#_4" y="13.5"/><path d="M2 3{row}M4 5h6" style="x"/>"##
            ))
        );
        assert_eq!(ids, 4);
        for other in [format!("M1 2{row}M3 2{row}"), format!("M1 2{row}L5 6M1 3{row}"), "M1 2h3M1 4h3".to_owned()] {
            assert_eq!(repeated(&other, "x", &mut ids), None, "{other}");
        }
    }

    #[test]
    fn a_page_keeps_its_words_and_waits_with_the_search() {
        let text = "<script src=\"mark-1.min.js\"></script><script src=\"book-2.js\"></script>\n<pre>  a  b</pre><tr><td style=\"text-align: right\">1</td><td>2</td></tr>";
        assert_eq!(
            page(text),
            "<script type=\"text/later\" data-src=\"mark-1.min.js\"></script><script src=\"book-2.js\"></script>\n<pre>  a  b</pre><tr><td class=end>1<td>2</tr>"
        );
    }

    #[test]
    fn scripts_lose_remarks_alone() {
        assert_eq!(
            script("// a\n    const b = \"// c\"; // d\n\n  e();\n").as_deref(),
            Some("const b = \"// c\"; // d\ne();\n")
        );
        assert_eq!(script("const a = `\n  // b`;\n"), None);
        assert_eq!(style("/* a */\na {\n  b: c;\n}\n/*! licence */\n"), "a {\nb: c;\n}\n/*! licence */\n");
    }
}
