//! The questions in the book: a file for each chapter, with the answers that the simulator gives. A script of the theme
//! checks what the reader answers; without it the answers are folded under each question. Every word that the script shows
//! stands here, so that a translation finds it.

use std::path::Path;

use anyhow::Result;

use super::catalogue;
use super::item::Item;
use super::key::{Key, Line};

/// What the script says and the labels show.
mod words {
    pub const NUMBER: &str = "Your number";
    pub const CHECK: &str = "Check";
    pub const HINT: &str = "Hint";
    pub const ANSWER: &str = "Answer";
    pub const LINES: &str = "Which one?";
    pub const BLANK: &str = "blank";
    pub const GOOD: &str = "right";
    pub const BAD: &str = "wrong";
    pub const RIGHT: &str = "Right.";
    pub const NOT_YET: &str = "Not yet.";
    pub const ELSE: &str = "The simulator counts another number.";
    pub const NO_NUMBER: &str = "That is no whole number.";
    pub const NO_LINE: &str = "Choose a line first.";
    pub const DONE: &str =
        "{done} of {all} answered in this chapter, {course} in the course. Your browser remembers them.";
    pub const SEE: &str = "See all counters of this run:";
    pub const TERMINAL: &str = "The same question in a terminal:";
}

/// The file of each chapter that has questions, by the chapter's slug.
///
/// # Errors
/// Exercises that cannot be read, or questions without an answer.
pub fn fragments(root: &Path) -> Result<Vec<(String, String)>> {
    let items = catalogue::load_any(root)?;
    let mut files: Vec<(String, String)> = Vec::new();
    let mut number = 0;
    for item in &items {
        let Some(key) = item.key(root)? else { continue };
        if files.last().is_none_or(|(slug, _)| slug != item.chapter()) {
            files.push((item.chapter().to_owned(), opening()));
            number = 0;
        }
        number += 1;
        if let Some((_, text)) = files.last_mut() {
            text.push_str(&section(item, &key, number));
        }
    }
    for (_, text) in &mut files {
        text.push_str("</div>\n");
    }
    Ok(files)
}

fn opening() -> String {
    let data = [
        ("right", words::RIGHT),
        ("not-yet", words::NOT_YET),
        ("else", words::ELSE),
        ("no-number", words::NO_NUMBER),
        ("no-line", words::NO_LINE),
        ("done", words::DONE),
    ];
    let data: Vec<String> = data.iter().map(|(name, text)| format!("data-{name}=\"{}\"", escaped(text))).collect();
    format!("<div class=\"exercises\" {}>\n<p class=\"exercises-done\" hidden></p>\n\n", data.join(" "))
}

/// One question: Markdown for what is asked, HTML for what is answered.
fn section(item: &Item, key: &Key, number: usize) -> String {
    let id = item.id();
    let mut text = format!(
        "<section class=\"exercise\" id=\"exercise-{id}\" data-exercise=\"{id}\"{}>\n\n### {number}. {}\n\n{}\n\n",
        answer_data(key),
        item.title(),
        item.question().trim()
    );
    if let Item::Choose(choose) = item {
        text.push_str(&format!("```cpp\n{}\n```\n\n", choose.kernel.trim_end()));
    }
    let answers = match key {
        Key::Number { answer, because, common } => {
            text.push_str(&number_form(id));
            number_answers(*answer, because, common)
        }
        Key::Lines(lines) => {
            text.push_str(&lines_form(id, lines));
            lines_answers(lines)
        }
    };
    let hints: String = item.hints().iter().map(|hint| format!("<p>{}</p>\n", inline(hint))).collect();
    text.push_str(&format!("<details><summary>{}</summary>\n{hints}</details>\n", words::HINT));
    text.push_str(&format!(
        "<details class=\"exercise-answers\"><summary>{}</summary>\n{answers}{}\
         <p>{} <code>cargo course exercise {id}</code></p>\n</details>\n",
        words::ANSWER,
        see(item),
        words::TERMINAL
    ));
    text.push_str("</section>\n\n");
    text
}

/// The command that shows the run with all its counters, where there is one.
fn see(item: &Item) -> String {
    let command = if let Item::Predict(predict) = item { predict.command() } else { None };
    command.map(|command| format!("<p>{} <code>{command}</code></p>\n", words::SEE)).unwrap_or_default()
}

/// What the script compares with.
fn answer_data(key: &Key) -> String {
    match key {
        Key::Number { answer, .. } => format!(" data-answer=\"{answer}\""),
        Key::Lines(lines) => {
            let right: String = lines.iter().filter(|line| line.is_right).map(|line| line.letter).collect();
            format!(" data-lines=\"{right}\"")
        }
    }
}

fn number_form(id: &str) -> String {
    format!(
        "<form class=\"exercise-form\" hidden>\n\
         <label for=\"answer-{id}\">{}</label>\n\
         <input id=\"answer-{id}\" name=\"answer\" type=\"text\" inputmode=\"numeric\" autocomplete=\"off\" size=\"8\" />\n\
         <button type=\"submit\">{}</button>\n{STATUS}</form>\n",
        words::NUMBER,
        words::CHECK
    )
}

fn lines_form(id: &str, lines: &[Line]) -> String {
    let mut text = format!("<form class=\"exercise-form\" hidden>\n<fieldset><legend>{}</legend>\n", words::LINES);
    for line in lines {
        text.push_str(&format!(
            "<label><input type=\"radio\" name=\"answer-{id}\" value=\"{}\" /> <span>{}</span></label>\n",
            line.letter,
            code(line)
        ));
    }
    text.push_str(&format!("</fieldset>\n<button type=\"submit\">{}</button>\n{STATUS}</form>\n", words::CHECK));
    text
}

/// Where the script says what an answer is worth, and where a screen reader hears it.
const STATUS: &str = "<p class=\"exercise-status\" role=\"status\"></p>\n";

fn number_answers(answer: i64, because: &str, common: &[(i64, String)]) -> String {
    let line = |number: i64, is_right: bool, why: &str| {
        format!(
            "<li data-when=\"{number}\">{} <strong>{}</strong>: <span class=\"exercise-why\">{}</span></li>\n",
            mark(is_right),
            number.to_string().replace('-', "−"),
            inline(why)
        )
    };
    let common: String = common.iter().map(|(number, why)| line(*number, false, why)).collect();
    format!("<ul>\n{}{common}</ul>\n", line(answer, true, because))
}

fn lines_answers(lines: &[Line]) -> String {
    let item = |line: &Line| {
        format!(
            "<li data-when=\"{}\">{} {}: <span class=\"exercise-why\">{} {}</span></li>\n",
            line.letter,
            mark(line.is_right),
            code(line),
            inline(&line.outcome),
            inline(&line.why)
        )
    };
    format!("<ul>\n{}</ul>\n", lines.iter().map(item).collect::<String>())
}

/// A sign with a word for those who hear the page.
fn mark(is_right: bool) -> String {
    let (class, word, sign) = if is_right { ("right", words::GOOD, '✓') } else { ("wrong", words::BAD, '✗') };
    format!("<span class=\"{class}-mark\" role=\"img\" aria-label=\"{word}\">{sign}</span>")
}

/// What a line puts into the blanks.
fn code(line: &Line) -> String {
    let code = |part: &String| format!("<code>{}</code>", escaped(part.trim()));
    match line.code.as_slice() {
        [only] => code(only),
        several => {
            let part = |(at, part): (usize, &String)| format!("{} {}: {}", words::BLANK, at + 1, code(part));
            several.iter().enumerate().map(part).collect::<Vec<_>>().join(", ")
        }
    }
}

/// A sentence with code between backquotes, in HTML. Line ends mean nothing.
fn inline(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = escaped(&words.join(" "));
    let parts = text.split('`').enumerate();
    parts.map(|(i, part)| if i % 2 == 1 { format!("<code>{part}</code>") } else { part.to_owned() }).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_signs_become_html() {
        assert_eq!(inline("if `a < b &&\n c`, \"so\""), "if <code>a &lt; b &amp;&amp; c</code>, &quot;so&quot;");
    }

    #[test]
    fn an_answer_is_in_the_page_with_its_reason() {
        let answers = number_answers(-3, "since `x` is it", &[(4, "no".to_owned())]);
        assert!(answers.contains("<strong>−3</strong>: <span class=\"exercise-why\">since <code>x</code> is it"));
        assert!(answers.contains("<li data-when=\"4\">"), "{answers}");
        let line = |letter, is_right| Line {
            letter,
            code: vec!["a < b".to_owned()],
            is_right,
            outcome: "Every run gives the right value.".to_owned(),
            why: "w".to_owned(),
        };
        let key = Key::Lines(vec![line('a', true), line('b', false), line('c', true)]);
        assert_eq!(answer_data(&key), " data-lines=\"ac\"");
    }
}
