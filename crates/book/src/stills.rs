//! The figures that stand still: each lab's picture for print and for readers without scripts, and the small pictures of the pages.
//! They are drawn from runs, by the scripts that draw the labs (`book/src/lab`) and those beside this file, which QuickJS executes:
//! so there is one drawing code, and neither Node nor a browser is needed.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context as _, Result, anyhow, ensure};
use rquickjs::convert::List;
use rquickjs::{CatchResultExt, Context, Ctx, Exception, Function, Runtime, TypedArray};

use course::{residency, rows, workspace};
use device::KernelSource;

use crate::figures;

/// Folder of the figures, which has nothing else.
pub const FOLDER: &str = "book/src/lab/stills";
/// Scripts of the pages, in the order in which they need each other. Those that build elements are left out.
const OF_LABS: [&str; 15] = [
    "words",
    "run",
    "trace",
    "kinds",
    "origin",
    "beats",
    "between",
    "accesses",
    "faults",
    "does",
    "say",
    "ranks",
    "stage",
    "rank-stage",
    "figure",
];
/// Scripts of the figures with numbers to change.
const OF_IDEAS: [&str; 6] = ["idea", "idea-operator", "idea-rows", "idea-softmax", "idea-norm", "idea-accuracy"];
/// Scripts that only draw still figures.
const OF_STILLS: [&str; 19] = [
    "words",
    "page",
    "pen",
    "runs",
    "lab",
    "tree",
    "rounds",
    "memory",
    "race",
    "seeds",
    "blocks",
    "meet",
    "machine",
    "operators",
    "rows",
    "champion",
    "trips",
    "held",
    "ideas",
];
/// The figure that the README shows, and the style sheet with the colours of all of them.
const ALONE: &str = "hundred-seeds";
const COLOURS: &str = "book/theme/lab.css";
/// Space around it.
const MARGIN: u32 = 16;
/// A page carries all its figures, and may have 600 KB.
const BYTES_MAX: usize = 120_000;

/// Loads the scripts of labs and of still figures, and then evaluates `script` to a text; an error says that it was in `of`.
fn evaluate(root: &Path, script: &str, of: &str) -> Result<String> {
    Scripts::load(root)?.text(script, of)
}

/// Every figure, by the file that pages include, and the README's.
pub fn files(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    let drawn = evaluate(root, "reductionLab.stills()", "a still figure")?;
    let drawn: Vec<(String, String)> = serde_json::from_str(&drawn)?;
    let alone = drawn.iter().find(|(name, _)| name == ALONE).with_context(|| format!("no figure `{ALONE}`"))?;
    let alone = by_itself(&alone.1, &workspace::read(root, COLOURS)?)?;
    let alone = (root.join(FOLDER).join(format!("{ALONE}.svg")), alone);
    for (name, text) in &drawn {
        ensure!(text.len() <= BYTES_MAX, "{FOLDER}/{name}.md: {} bytes are too many: at most {BYTES_MAX}", text.len());
        ensure!(!text.contains("\n\n"), "{FOLDER}/{name}.md: an empty line ends it in a page");
    }
    let pages = drawn.into_iter().map(|(name, text)| (root.join(FOLDER).join(format!("{name}.md")), text));
    Ok(pages.chain([alone]).collect())
}

/// The scripts, all of them run.
struct Scripts {
    context: Context,
    /// The error on this side of a call, which a script only knows as an exception.
    trouble: Rc<RefCell<Option<anyhow::Error>>>,
}

impl Scripts {
    fn load(root: &Path) -> Result<Scripts> {
        let scripts = Scripts { context: Context::full(&Runtime::new()?)?, trouble: Rc::default() };
        scripts.context.with(|ctx| give(&ctx, root, &scripts.trouble))?;
        let run = |name: String| -> Result<()> {
            let text = workspace::read(root, &name)?;
            scripts.text(&format!("{text}\n;\"\""), &name).map(drop)
        };
        run("crates/book/src/stills/start.js".to_owned())?;
        OF_LABS.iter().chain(&OF_IDEAS).try_for_each(|name| run(format!("book/src/lab/{name}.js")))?;
        OF_STILLS.iter().try_for_each(|name| run(format!("crates/book/src/stills/{name}.js")))?;
        Ok(scripts)
    }

    /// The text that an expression gives.
    fn text(&self, script: &str, of: &str) -> Result<String> {
        self.context.with(|ctx| {
            let text = ctx.eval::<String, _>(script).catch(&ctx);
            text.map_err(|error| anyhow!("{of}: {error}{}", cause(&self.trouble)))
        })
    }
}

/// The wide form of a figure as a file of its own, on white with a margin, with the light colours of the pages: it can be read on
/// a dark page too.
fn by_itself(text: &str, colours: &str) -> Result<String> {
    let (wide, _) = text.split_once("</svg>").context("a figure ends with </svg>")?;
    let (head, body) = wide.split_once('>').context("a figure begins with <svg …>")?;
    let (_, size) = head.split_once("viewBox=\"0 0 ").context("a figure has a size")?;
    let (width, rest) = size.split_once(' ').context("a width and a height")?;
    let (height, _) = rest.split_once('"').context("a height")?;
    let (w, h): (u32, u32) = (width.parse()?, height.parse()?);
    let (margin, twice) = (MARGIN, 2 * MARGIN);
    let head = head.replacen(&format!("0 0 {w} {h}"), &format!("-{margin} -{margin} {} {}", w + twice, h + twice), 1);
    let mut pieces = body.split("var(");
    let mut svg = format!("{head} font-family=\"sans-serif\">");
    svg += pieces.next().unwrap_or_default();
    for piece in pieces {
        let (name, rest) = piece.split_once(')').context("var(…) ends")?;
        let value = colours.split_once(&format!("{name}: ")).and_then(|(_, after)| after.split(';').next());
        svg += value.with_context(|| format!("{COLOURS} has no colour `{name}`"))?;
        svg += rest;
    }
    let paper = "</desc>\n<path d=\"M-99-99h9999v9999h-9999z\" fill=\"#fff\"/>";
    Ok(svg.replacen("</desc>", paper, 1) + "</svg>\n")
}

/// Returns the error on this side of a call, which a script only knows as an exception.
fn cause(trouble: &RefCell<Option<anyhow::Error>>) -> String {
    trouble.borrow_mut().take().map(|error| format!(": {error:#}")).unwrap_or_default()
}

/// Functions for the scripts: `labs`, the slugs of the pages that have one, `lesson(slug)`, `readText(path)`, `rowsMap()`, the plan of
/// chapter 10 as JSON, `resident(file, kernel, block)`, what a kernel takes of a multiprocessor as JSON, and `simulate(request)`, which is
/// the JSON and the packed steps.
fn give(ctx: &Ctx<'_>, root: &Path, trouble: &Rc<RefCell<Option<anyhow::Error>>>) -> Result<()> {
    let refuse = {
        let trouble = Rc::clone(trouble);
        move |ctx: &Ctx<'_>, error: anyhow::Error| {
            *trouble.borrow_mut() = Some(error);
            Exception::throw_message(ctx, "no answer")
        }
    };
    let (here, no) = (root.to_path_buf(), refuse.clone());
    let lesson = move |ctx: Ctx<'_>, slug: String| {
        let data = figures::of(&slug, &here).map(|(data, _)| data.to_string());
        data.map_err(|error| no(&ctx, error))
    };
    let (here, no) = (root.to_path_buf(), refuse.clone());
    let read = move |ctx: Ctx<'_>, name: String| workspace::read(&here, name).map_err(|error| no(&ctx, error));
    let (here, no) = (root.to_path_buf(), refuse.clone());
    let resident = move |ctx: Ctx<'_>, file: String, kernel: String, block: u32| {
        let source = KernelSource::in_root(&here, &file).read_cu();
        let kernels = BTreeMap::from([(kernel.as_str(), BTreeSet::from([block]))]);
        let json = source.map_err(Into::into).and_then(|source| residency::committed(&here, &file, &source, &kernels));
        json.map(|json| json.to_string()).map_err(|error| no(&ctx, error))
    };
    let globals = ctx.globals();
    globals.set("labs", figures::slugs())?;
    globals.set("lesson", Function::new(ctx.clone(), lesson)?)?;
    globals.set("readText", Function::new(ctx.clone(), read)?)?;
    globals.set("rowsMap", Function::new(ctx.clone(), || rows::map().to_string())?)?;
    globals.set("resident", Function::new(ctx.clone(), resident)?)?;
    globals.set("simulate", Function::new(ctx.clone(), simulator(refuse))?)?;
    Ok(())
}

type Answer<'js> = List<(String, TypedArray<'js, u32>)>;

fn simulator(
    refuse: impl Fn(&Ctx<'_>, anyhow::Error) -> rquickjs::Error,
) -> impl for<'js> Fn(Ctx<'js>, String) -> rquickjs::Result<Answer<'js>> {
    move |ctx, request| {
        let answer = web::answer(request.as_bytes());
        let (json, words) = parts(&answer).map_err(|error| refuse(&ctx, error))?;
        Ok(List((json, TypedArray::new(ctx, words)?)))
    }
}

/// The JSON of an answer, and its words.
fn parts(answer: &[u8]) -> Result<(String, Vec<u32>)> {
    let json = figures::parse_answer("a still figure", answer)?;
    let (bytes, rest) = answer.split_first_chunk::<4>().context("an answer begins with a length")?;
    let words = rest.get((u32::from_le_bytes(*bytes) as usize).next_multiple_of(4)..).context("the words")?;
    let word = |four: &[u8]| four.try_into().map(u32::from_le_bytes);
    Ok((json.to_string(), words.chunks_exact(4).map(word).collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod ideas;

#[cfg(test)]
mod tests {
    use super::*;
    use course::share;

    #[test]
    fn every_lab_has_its_picture_and_every_figure_its_page() {
        let root = workspace::root().unwrap();
        let mut pages = String::new();
        for entry in std::fs::read_dir(root.join("book/src")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ext| ext == "md") {
                pages += &std::fs::read_to_string(path).unwrap();
            }
        }
        // The committed ones: the gate's `engine` draws all of them anew, and compares.
        let read = |path: PathBuf| (path.clone(), std::fs::read_to_string(path).unwrap());
        let files: Vec<_> = workspace::walk(&root.join(FOLDER)).unwrap().into_iter().map(read).collect();
        assert!(files.len() > 20, "{} figures", files.len());
        let (alone, pages_own): (Vec<_>, Vec<_>) =
            files.iter().partition(|(path, _)| path.extension().is_some_and(|ext| ext == "svg"));
        let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
        for (path, svg) in alone {
            assert!(readme.contains(&workspace::name(&root, path)), "{}: not in the README", path.display());
            assert!(!svg.contains("var(") && svg.ends_with("</svg>\n"), "{svg}");
        }
        for (path, text) in pages_own {
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(pages.contains(&format!("{{{{#include lab/stills/{name}.md}}}}")), "{name} is on no page");
            let is_idea = name.starts_with("idea-");
            let parts: &[&str] = if is_idea {
                &["<figure class=\"idea still\"", "<p class=\"idea-say\"", "<figcaption>"]
            } else {
                &["<svg class=\"still still-wide\"", "<svg class=\"still still-narrow\"", "<title>", "<desc>"]
            };
            for part in parts {
                assert!(text.contains(part), "{name}: no {part}");
            }
            // One figure is about NaN, and in some a button puts one in.
            let is_about_nan = is_idea || name == "nan-rules";
            for broken in ["undefined", "null", "{n}"].into_iter().chain((!is_about_nan).then_some("NaN")) {
                assert!(!text.contains(broken), "{name}: says {broken}");
            }
        }
        for slug in figures::slugs() {
            let own = format!("<div class=\"lab\" data-lab=\"{slug}\">\n{{{{#include lab/stills/{slug}.md}}}}\n</div>");
            assert!(pages.contains(&own), "{slug}: its lab is on no page, or without its picture");
        }
    }

    /// The script that holds sentences against runs, and one that runs it over every lab.
    const AUDIT: &str = include_str!("stills/audit.js");
    const AUDITS: &str = include_str!("stills/audits.js");

    /// What decides on the sentences of all labs: with another one, all are audited.
    const MAKERS: [&str; 7] = [
        "crates/book/src/stills",
        "book/src/lab/beats",
        "book/src/lab/between",
        "book/src/lab/does",
        "book/src/lab/ranks",
        "book/src/lab/say",
        "book/src/lab/words",
    ];

    /// The labs that the commit has changed are audited, and a share of the others.
    #[test]
    fn every_sentence_of_every_lab_says_what_the_run_does() {
        let root = workspace::root().unwrap();
        let pieces = figures::slugs().into_iter().map(|slug| figures::piece(&root, slug)).collect();
        let chosen = share::for_test("labs whose sentences are audited", &root, pieces, &MAKERS);
        let script = format!("const chosen = {};\n{AUDIT}{AUDITS}", serde_json::to_string(&chosen).unwrap());
        let said: serde_json::Value = serde_json::from_str(&evaluate(&root, &script, "a sentence").unwrap()).unwrap();
        assert_eq!(said["labs"].as_array().unwrap().len(), chosen.len());
        for lab in said["labs"].as_array().unwrap() {
            assert!(lab["count"].as_u64().unwrap() > 20, "{lab}: no sentences");
            assert_eq!(lab["problems"], serde_json::json!([]), "{}", lab["slug"]);
        }
        // Sentences that say something else than the run are found, each of them.
        let lies = said["lies"].as_array().unwrap();
        assert!(lies.len() > 6);
        for lie in lies {
            assert!(lie["found"].as_u64() > Some(0), "{}: not found", lie["lie"]);
        }
    }

    #[test]
    fn a_script_that_fails_is_named_with_the_reason() {
        let context = Context::full(&Runtime::new().unwrap()).unwrap();
        let trouble = Rc::new(RefCell::new(None));
        context.with(|ctx| {
            give(&ctx, Path::new("nowhere"), &trouble).unwrap();
            assert!(ctx.eval::<String, _>("readText('missing.ptx')").is_err());
            assert!(cause(&trouble).contains("cannot read `missing.ptx`"));
            assert!(ctx.eval::<String, _>("simulate('{}')").is_err());
            assert!(cause(&trouble).contains("does not run"));
        });
    }
}
