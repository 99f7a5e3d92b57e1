//! Launch of a fixture: the options of `simt run` in its head, for the simulator and for a GPU alike.
//!
//! A head is `//@ kernel=NAME grid=1 …` in the PTX, or `// simt: --kernel NAME --grid 1 …` in the `.cu` beside it.

use std::path::Path;

/// Options of `simt run`, without the file.
pub fn options(ptx: &Path) -> Result<Vec<String>, String> {
    let read = |path: &Path| std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()));
    let text = read(ptx)?;
    let head: Vec<String> =
        text.lines().filter_map(|line| line.strip_prefix("//@ ")).filter_map(settings).flatten().collect();
    if !head.is_empty() {
        return Ok(head);
    }
    let source = ptx.with_extension("cu");
    let text = read(&source)?;
    let line = text.lines().find_map(|line| line.strip_prefix("// simt: "));
    let line = line.ok_or_else(|| format!("{}: no line `// simt: …` says how to run it", source.display()))?;
    Ok(line.split_whitespace().map(str::to_owned).collect())
}

/// The options in one `//@` line; `None` for the lines that say what is expected or which schedules to try.
pub fn settings(line: &str) -> Option<Vec<String>> {
    if ["out ", "count ", "schedule="].iter().any(|other| line.starts_with(other)) {
        return None;
    }
    let mut options = Vec::new();
    let (settings, args) = line.split_once("args=\"").unwrap_or((line, ""));
    for setting in settings.split_whitespace() {
        let (key, value) = setting.split_once('=').map_or((setting, None), |(key, value)| (key, Some(value)));
        options.push(format!("--{key}"));
        options.extend(value.map(str::to_owned));
    }
    for spec in args.trim_end_matches('"').split_whitespace() {
        options.extend(["--arg".to_owned(), spec.to_owned()]);
    }
    Some(options)
}
