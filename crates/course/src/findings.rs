//! Findings of a check: how many things it looked at, and the problems with them.

use anyhow::{Result, bail};

/// The result of one check. A check that looked at nothing has failed: it would pass whatever happened.
#[derive(Debug)]
pub struct Findings {
    /// Number of things that were looked at.
    pub examined: usize,
    /// Their name in the plural: `pages`.
    pub what: &'static str,
    /// One sentence each, beginning with the place.
    pub problems: Vec<String>,
    /// Notes on things that are no problem but worth a look, one sentence each, beginning with the place.
    pub notes: Vec<String>,
}

impl Findings {
    /// Nothing looked at yet.
    pub fn new(what: &'static str) -> Findings {
        Findings { examined: 0, what, problems: Vec::new(), notes: Vec::new() }
    }

    /// `12 pages`, and the notes in lines of their own, or an error that lists every problem.
    pub fn verdict(self) -> Result<String> {
        let Findings { examined, what, problems, notes } = self;
        if examined == 0 {
            bail!("found no {what} to check: nothing was proved");
        }
        match problems.len() {
            0 => Ok(std::iter::once(format!("{examined} {what}")).chain(notes).collect::<Vec<_>>().join("\n    ")),
            1 => bail!("{}", problems[0]),
            many => bail!("{many} problems\n{}", problems.join("\n")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_examined_is_a_failure() {
        let message = Findings::new("pages").verdict().unwrap_err().to_string();
        assert_eq!(message, "found no pages to check: nothing was proved");
    }

    #[test]
    fn problems_are_counted_and_listed() {
        let problems = vec!["a: x".into(), "b: y".into()];
        let findings = Findings { examined: 3, problems, ..Findings::new("pages") };
        assert_eq!(findings.verdict().unwrap_err().to_string(), "2 problems\na: x\nb: y");
        let mut findings = Findings { examined: 3, ..Findings::new("pages") };
        findings.notes.push("c: z".to_owned());
        assert_eq!(findings.verdict().unwrap(), "3 pages\n    c: z");
    }
}
