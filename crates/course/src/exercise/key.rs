//! The answers to a question with what is said of each: what the terminal says to a reader, and what the page holds.

use anyhow::{Result, bail};

use super::asked::number;

/// Placeholder for the other run's number, in the question too.
pub(super) const BESIDE: &str = "{beside}";

/// Key to a question: the right answers and what is said of the others.
#[derive(Debug, Clone, PartialEq)]
pub enum Key {
    /// A whole number.
    Number {
        /// Count of the simulator.
        answer: i64,
        /// Explanation of how to arrive at it.
        because: String,
        /// Wrong answers that are often given, and where each comes from.
        common: Vec<(i64, String)>,
        /// The same of another run, which the question mentions as `{beside}`.
        beside: Option<i64>,
    },
    /// Lines, `a`, `b`, `c`, …
    Lines(Vec<Line>),
}

/// One of several lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Letter to type for it.
    pub letter: char,
    /// Code for each blank.
    pub code: Vec<String>,
    /// True if it is the answer, or one of them.
    pub is_right: bool,
    /// Outcome of its run, a sentence.
    pub outcome: String,
    /// Why, a sentence or two.
    pub why: String,
}

/// Verdict on an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// True if it is right.
    pub is_right: bool,
    /// Sentences.
    pub text: String,
}

impl Key {
    /// Judges an answer.
    ///
    /// # Errors
    /// Text that is no answer at all: a number where a letter is asked, or the other way round.
    pub fn reply(&self, text: &str) -> Result<Reply> {
        match self {
            Key::Number { answer, because, common, .. } => {
                let given = whole(text)?;
                let known = common.iter().find(|(wrong, _)| *wrong == given).map(|(_, why)| why.as_str());
                let is_right = given == *answer;
                let text = match known {
                    _ if is_right => because.clone(),
                    Some(why) => why.to_owned(),
                    None => format!("{} `hint` has a nudge.", if *answer > given { MORE } else { LESS }),
                };
                Ok(Reply { is_right, text })
            }
            Key::Lines(lines) => {
                // The lines are shown as `a)`, and that is what some type.
                let letter = text.trim().trim_end_matches([')', '.']).to_lowercase();
                let line = lines.iter().find(|line| line.letter.to_string() == letter);
                let Some(line) = line else {
                    let letters: Vec<String> = lines.iter().map(|line| line.letter.to_string()).collect();
                    bail!("`{text}` is no answer here: it is one of {}", lab::text::listed(&letters));
                };
                Ok(Reply { is_right: line.is_right, text: format!("{} {}", line.outcome, line.why) })
            }
        }
    }

    /// A question with the number that it mentions.
    pub fn asked(&self, question: &str) -> String {
        match self {
            Key::Number { beside: Some(beside), .. } => question.replace(BESIDE, &number(*beside)),
            Key::Number { .. } | Key::Lines(_) => question.to_owned(),
        }
    }

    /// Form of an answer, for the line that asks for it.
    pub fn form(&self) -> &'static str {
        match self {
            Key::Number { .. } => "a whole number",
            Key::Lines(_) => "a letter",
        }
    }
}

/// Reply to a number that is too small, and for which the file has no reply.
pub const MORE: &str = "The simulator has a larger number.";
/// Reply to one that is too large.
pub const LESS: &str = "The simulator has a smaller number.";

/// A whole number as people write it: `1024`, `1,024`, `1 024`, `-3`, `−3`, `+3`. What separates digits stands before three
/// of them, so that `1,5` is not taken for 15. The pages read numbers in the same way: `whole` in `book/theme/exercises.js`.
fn whole(text: &str) -> Result<i64> {
    let refused = || anyhow::anyhow!("`{text}` is no whole number, and the answer is one: 0, 17 or 1,024");
    let trimmed = text.trim();
    let digits = trimmed.trim_start_matches(['-', '−', '+']);
    let sign = &trimmed[..trimmed.len() - digits.len()];
    let is_digit = |c: char| c.is_ascii_digit();
    let mut groups = digits.split(|c: char| matches!(c, ',' | '_' | '\'' | '’') || c.is_whitespace());
    let first = groups.next().unwrap_or_default();
    let rest: Vec<&str> = groups.collect();
    let is_grouped = rest.is_empty() || (first.len() <= 3 && rest.iter().all(|group| group.len() == 3));
    let all: String = std::iter::once(first).chain(rest).collect();
    if first.is_empty() || !is_grouped || !all.chars().all(is_digit) || sign.chars().count() > 1 {
        return Err(refused());
    }
    let minus = if matches!(sign, "" | "+") { "" } else { "-" };
    format!("{minus}{all}").parse().map_err(|_| refused())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_as_people_write_it() {
        let key = Key::Number {
            answer: 1024,
            because: "b".to_owned(),
            common: vec![(-3, "three".to_owned())],
            beside: Some(1024),
        };
        assert_eq!(key.asked("not {beside}"), "not 1,024");
        for text in ["1024", " 1,024", "1 024", "1_024\n", "+1024", "1\u{a0}024", "1\u{202f}024", "1’024", "01024"] {
            assert_eq!(key.reply(text).unwrap(), Reply { is_right: true, text: "b".to_owned() }, "{text}");
        }
        assert_eq!(key.reply("−3").unwrap(), Reply { is_right: false, text: "three".to_owned() });
        assert_eq!(key.reply("7").unwrap().text, "The simulator has a larger number. `hint` has a nudge.");
        assert_eq!(key.reply("1025").unwrap().text, "The simulator has a smaller number. `hint` has a nudge.");
        let nonsense = [
            "",
            "a",
            "1.5",
            "10e3",
            "0x10",
            "1,5",
            "10,24",
            "1,0240",
            "1,,024",
            ",024",
            "--3",
            "−-3",
            "3-",
            "-",
            "+",
            "1 024 x",
            "17 threads",
            "１７",
            "٣",
            "½",
            "NaN",
            "inf",
            "99999999999999999999",
        ];
        for nonsense in nonsense {
            assert!(key.reply(nonsense).unwrap_err().to_string().contains("no whole number"), "{nonsense}");
        }
    }

    #[test]
    fn a_letter_is_one_of_those_there_are() {
        let line = |letter, is_right| Line {
            letter,
            code: vec!["x".to_owned()],
            is_right,
            outcome: format!("Ran {letter}."),
            why: "Why.".to_owned(),
        };
        let key = Key::Lines(vec![line('a', false), line('b', true)]);
        assert_eq!(key.reply("B").unwrap(), Reply { is_right: true, text: "Ran b. Why.".to_owned() });
        assert!(!key.reply("a ").unwrap().is_right);
        assert!(key.reply("b)").unwrap().is_right && key.reply("B.").unwrap().is_right);
        for nonsense in ["", ")", "ab", "1", "é", "a, b"] {
            assert!(key.reply(nonsense).is_err(), "{nonsense}");
        }
        assert_eq!(key.reply("c").unwrap_err().to_string(), "`c` is no answer here: it is one of a and b");
    }
}
