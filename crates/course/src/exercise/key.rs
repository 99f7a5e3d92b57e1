//! The answers to a question with what is said of each: what the terminal says to a reader, and what the page holds.

use anyhow::{Result, bail};

/// What a question's answers are worth.
#[derive(Debug, Clone, PartialEq)]
pub enum Key {
    /// A whole number.
    Number {
        /// What the simulator counted.
        answer: i64,
        /// How one arrives at it.
        because: String,
        /// Wrong answers that are often given, and where each comes from.
        common: Vec<(i64, String)>,
    },
    /// Lines, `a`, `b`, `c`, …
    Lines(Vec<Line>),
}

/// One of several lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// What is typed for it.
    pub letter: char,
    /// What is put into each blank.
    pub code: Vec<String>,
    /// Whether it is the answer, or one of them.
    pub is_right: bool,
    /// What its run gave, a sentence.
    pub outcome: String,
    /// Why, a sentence or two.
    pub why: String,
}

/// What is said of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Whether it is right.
    pub is_right: bool,
    /// Sentences.
    pub text: String,
}

impl Key {
    /// What an answer is worth.
    ///
    /// # Errors
    /// Text that is no answer at all: a number where a letter is asked, or the other way round.
    pub fn reply(&self, text: &str) -> Result<Reply> {
        match self {
            Key::Number { answer, because, common } => {
                let given = whole(text)?;
                let known = common.iter().find(|(wrong, _)| *wrong == given).map(|(_, why)| why.as_str());
                let is_right = given == *answer;
                let text = if is_right { because.clone() } else { known.unwrap_or(ELSE).to_owned() };
                Ok(Reply { is_right, text })
            }
            Key::Lines(lines) => {
                let line = lines.iter().find(|line| line.letter.to_string() == text.trim().to_lowercase());
                let Some(line) = line else {
                    let letters: Vec<String> = lines.iter().map(|line| line.letter.to_string()).collect();
                    bail!("`{text}` is no answer here: it is one of {}", lab::text::listed(&letters));
                };
                Ok(Reply { is_right: line.is_right, text: format!("{} {}", line.outcome, line.why) })
            }
        }
    }

    /// What can be typed, for the line that asks for it.
    pub fn form(&self) -> &'static str {
        match self {
            Key::Number { .. } => "a whole number",
            Key::Lines(_) => "a letter",
        }
    }
}

/// What is said of a wrong number that nobody expected.
pub const ELSE: &str = "The simulator counts another number. `hint` has a nudge.";

/// A whole number as people write it: `1024`, `1,024`, `1 024`, `-3`, `−3`.
fn whole(text: &str) -> Result<i64> {
    let digits: String =
        text.trim().replace('−', "-").chars().filter(|c| !matches!(c, ',' | '_' | '\'' | ' ')).collect();
    digits.parse().map_err(|_| anyhow::anyhow!("`{text}` is no whole number, and the answer is one: 0, 17 or 1,024"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_as_people_write_it() {
        let key = Key::Number { answer: 1024, because: "b".to_owned(), common: vec![(-3, "three".to_owned())] };
        for text in ["1024", " 1,024", "1 024", "1_024\n"] {
            assert_eq!(key.reply(text).unwrap(), Reply { is_right: true, text: "b".to_owned() }, "{text}");
        }
        assert_eq!(key.reply("−3").unwrap(), Reply { is_right: false, text: "three".to_owned() });
        assert_eq!(key.reply("7").unwrap().text, ELSE);
        for nonsense in ["", "a", "1.5", "10e3", "0x10"] {
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
        assert_eq!(key.reply("c").unwrap_err().to_string(), "`c` is no answer here: it is one of a and b");
    }
}
