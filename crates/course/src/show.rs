//! `cargo course show`: the lab on the case of an exercise that fails, or on a trace, as a page of its own in target/show. The page takes
//! the scripts of the book's labs where they lie, needs no server, and asks no network.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::exercise::{BadUsage, scene};
use crate::workspace;

/// Folder of the pages, from the workspace's root.
const FOLDER: &str = "target/show";
/// The book that pages take files from, seen from that folder.
const BOOK: &str = "../../book/";
/// Oldest and newest version of a trace that the lab reads.
const TRACES: std::ops::RangeInclusive<u64> = 2..=simt::trace::VERSION as u64;
/// A page with more would take a browser long to read.
const TRACE_BYTES_MAX: u64 = 256 << 20;

/// Options of `cargo course show`.
#[derive(clap::Args)]
pub struct Options {
    /// An exercise, as `cargo course exercise` lists it; `next`; or a file that `--trace` wrote
    what: String,
    /// Write the page and say where it is, without opening a browser
    #[arg(long)]
    no_open: bool,
}

/// Runs the verb.
///
/// # Errors
/// [`BadUsage`] for an exercise or a file that is not there; a kernel that does not compile; a file that is no trace.
pub fn run(options: &Options) -> Result<ExitCode> {
    let root = workspace::root()?;
    let what = &options.what;
    let is_file = Path::new(what).extension().is_some();
    let (data, caption) = if is_file {
        (trace(Path::new(what))?, format!("{what}: the recorded steps"))
    } else {
        let scene = scene::named(&root, what)?;
        (scene.data, scene.caption)
    };
    let path = write(&root, &data)?;
    println!("{caption}");
    let name = workspace::name(&root, &path);
    if options.no_open {
        println!("the lab is in {name}");
    } else if let Err(error) = open::that_detached(&path) {
        println!("the lab is in {name}: open it in a browser (none could be started: {error})");
    } else {
        println!("the lab is in {name}, and opens in your browser");
    }
    Ok(ExitCode::SUCCESS)
}

/// The data of a lab that shows a trace; a script of the labs makes of it what the figure draws.
///
/// # Errors
/// [`BadUsage`] for a file that is not there or is no trace; one that is too large or of another version.
pub fn trace(path: &Path) -> Result<Value> {
    let name = path.display().to_string();
    let missing = || BadUsage(format!("{name}: there is no such file (it is looked for from the current folder)"));
    let about = path.metadata().map_err(|_| missing())?;
    ensure!(
        about.len() <= TRACE_BYTES_MAX,
        "{name}: {} bytes are more than a page can show: record fewer blocks",
        about.len()
    );
    let text = std::fs::read(path).with_context(|| format!("cannot read `{name}`"))?;
    let hint = "`simt run --trace FILE`, `cargo course run --trace FILE` and the chapters' `--trace FILE` write one";
    let trace: Value = serde_json::from_slice(&text)
        .map_err(|error| BadUsage(format!("{name}: this is no trace: {error}; {hint}")))?;
    let [version, steps] = [trace["version"].as_u64(), trace["steps"].as_array().map(|steps| steps.len() as u64)];
    let (Some(version), Some(steps), true) = (version, steps, trace["code"].is_array()) else {
        return Err(BadUsage(format!("{name}: this is no trace; {hint}")).into());
    };
    ensure!(
        TRACES.contains(&version),
        "{name}: a trace of version {version}, and the lab reads version {}",
        TRACES.end()
    );
    if steps == 0 {
        bail!("{name}: no step is recorded in this trace");
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let slug: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Ok(
        serde_json::json!({ "slug": format!("trace-{slug}"), "title": path.file_name().unwrap_or_default().to_string_lossy(), "trace": trace, "files": sources(&trace) }),
    )
}

/// The texts of the source files that a trace names, as far as they are there.
fn sources(trace: &Value) -> Value {
    let mut files = serde_json::Map::new();
    let root = workspace::root().unwrap_or_default();
    for name in trace["code"].as_array().into_iter().flatten().filter_map(|code| code["file"].as_str()) {
        if name.is_empty() || files.contains_key(name) {
            continue;
        }
        let text = [root.join(name), PathBuf::from(name)].iter().find_map(|path| std::fs::read_to_string(path).ok());
        files.extend(text.map(|text| (name.to_owned(), text.replace("\r\n", "\n").into())));
    }
    files.into()
}

/// Writes the page of a lab.
///
/// # Errors
/// A folder or file that cannot be written.
pub fn write(root: &Path, data: &Value) -> Result<PathBuf> {
    let slug = data["slug"].as_str().unwrap_or("show");
    let path = root.join(FOLDER).join(format!("{slug}.html"));
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(root.join(FOLDER))?;
        std::fs::write(&path, page(slug, data))
    };
    write().with_context(|| format!("cannot write `{}`", workspace::name(root, &path)))?;
    Ok(path)
}

/// The page: a lab, its data, and of the book's theme what labs need.
fn page(slug: &str, data: &Value) -> String {
    let title = data["title"].as_str().unwrap_or_default().replace('&', "&amp;").replace('<', "&lt;");
    // In a script an end tag would end it, wherever it stands.
    let data = data.to_string().replace("</", "<\\/");
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\" class=\"light js\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <link rel=\"stylesheet\" href=\"{BOOK}theme/lab.css\">\n<style>{STYLE}</style>\n\
         <script>if (matchMedia(\"(prefers-color-scheme: dark)\").matches) document.documentElement.className = \"navy js\";\n\
         window.reductionAlone = true; const path_to_root = \"{BOOK}src/\";</script>\n</head>\n<body class=\"content\">\n<h1>{title}</h1>\n\
         <div class=\"lab\" data-lab=\"{slug}\"></div>\n<script src=\"{BOOK}theme/lab.js\"></script>\n\
         <script>reductionLab.data({data});</script>\n</body>\n</html>\n"
    )
}

/// The part of the book's own style that a lab relies on.
const STYLE: &str = "html { font-size: 62.5%; --links: #20609f; --mono-font: monospace; } \
    html.navy { --links: #2b79a2; color: #e6eaf2; background: #161923; } \
    body { max-width: 75rem; margin: 0 auto; padding: 1.6rem; font: 1.6rem/1.45 system-ui, sans-serif; } \
    h1 { font-size: 2.2rem; overflow-wrap: anywhere; } code, pre, .lab code { font-family: var(--mono-font); }";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_holds_its_data_and_no_text_of_it_ends_the_script() {
        let data = serde_json::json!({ "slug": "show-x", "title": "a < b", "files": { "k.cu": "// </script><b>" } });
        let page = page("show-x", &data);
        assert_eq!(page.matches("</script>").count(), 3, "{page}");
        assert!(page.contains("<title>a &lt; b</title>") && page.contains("data-lab=\"show-x\""), "{page}");
        assert!(!page.contains("http"), "{page}");
    }

    #[test]
    fn what_is_no_trace_is_refused_in_words() {
        let dir = tempfile::tempdir().unwrap();
        let refused = |text: &str| {
            let path = dir.path().join("t.json");
            std::fs::write(&path, text).unwrap();
            format!("{:#}", trace(&path).unwrap_err())
        };
        assert!(refused("nonsense").contains("this is no trace"));
        assert!(refused("{\"version\": 2}").contains("--trace FILE"));
        assert!(refused("{\"version\": 99, \"steps\": [{}], \"code\": []}").contains("version 99"));
        assert!(refused("{\"version\": 2, \"steps\": [], \"code\": []}").contains("no step"));
        assert!(format!("{:#}", trace(&dir.path().join("gone.json")).unwrap_err()).contains("no such file"));
    }
}
