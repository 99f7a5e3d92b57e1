//! The one way a generated file is written or, in a check, refused.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::workspace;

/// The two ways to treat generated files: bring them up to date, or only compare them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Write what differs.
    Write,
    /// Refuse what differs, and say which command brings it up to date.
    Check,
}

/// Makes `path` hold `contents`, or in check mode fails if it does not, naming `command`. True if it was written.
pub fn ensure(root: &Path, path: &Path, contents: &str, mode: Mode, command: &str) -> Result<bool> {
    let name = workspace::name(root, path);
    let present = match std::fs::read_to_string(path) {
        Ok(present) => Some(present),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| format!("cannot read `{name}`")),
    };
    if present.as_deref() == Some(contents) {
        return Ok(false);
    }
    match (mode, present) {
        (Mode::Write, _) => {
            if let Some(dir) = path.parent() {
                std::fs::create_dir_all(dir).with_context(|| format!("cannot make `{}`", dir.display()))?;
            }
            std::fs::write(path, contents).with_context(|| format!("cannot write `{name}`"))?;
            Ok(true)
        }
        (Mode::Check, None) => bail!("{name}: missing: run `{command}` and commit the result"),
        (Mode::Check, Some(present)) => bail!(
            "{name}:{}: not what the program generates today: run `{command}` and commit the result",
            first_difference(&present, contents)
        ),
    }
}

/// The number of the first line that differs, from 1.
fn first_difference(present: &str, expected: &str) -> usize {
    let same = present.lines().zip(expected.lines()).take_while(|(left, right)| left == right).count();
    same + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_once_then_agrees() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("deep/er/file.md");
        let put = |text, mode| ensure(dir.path(), &file, text, mode, "cargo course bless");

        let message = put("a\n", Mode::Check).unwrap_err().to_string();
        assert_eq!(message, "deep/er/file.md: missing: run `cargo course bless` and commit the result");
        assert!(put("a\nb\n", Mode::Write).unwrap());
        assert!(!put("a\nb\n", Mode::Write).unwrap());
        assert!(!put("a\nb\n", Mode::Check).unwrap());
    }

    #[test]
    fn a_check_names_the_first_line_that_differs_and_writes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file.md");
        std::fs::write(&file, "a\nold\n").unwrap();
        let message = ensure(dir.path(), &file, "a\nnew\n", Mode::Check, "cargo course ptx").unwrap_err().to_string();
        assert!(message.starts_with("file.md:2: "), "{message}");
        assert!(message.contains("`cargo course ptx`"), "{message}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "a\nold\n");
    }
}
