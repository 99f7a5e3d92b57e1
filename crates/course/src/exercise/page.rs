//! The exercises in the book: a file for each chapter, with a part for each exercise that the page includes right after what
//! the exercise asks about, and a part that lists them. Answers are those that the simulator gives. A script of the theme
//! checks what the reader answers; without it the answers are folded under each question. Every word that the script shows
//! stands here, so that a translation finds it.

use std::path::Path;

use anyhow::Result;
use lab::figure::escaped;

use super::catalogue;
use super::item::Item;
use super::key::{self, Key, Line};
use super::write::Exercise;
use crate::workspace;

/// Words of the script and of the labels.
pub(super) mod words {
    pub const EXERCISE: &str = "Exercise";
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
    pub const NO_NUMBER: &str = "That is no whole number.";
    pub const NO_LINE: &str = "Choose one first.";
    pub const DONE: &str =
        "{done} of {all} answered in this chapter, {course} in the course. Your browser remembers them.";
    pub const SEE: &str = "See all counters of this run:";
    pub const TERMINAL: &str = "The same question in a terminal:";
    pub const COMPILER: &str =
        "⚙ *Needs the compiler, which [one command](setup.md#change-a-kernel) installs on Linux and Windows (x86-64).*";
}

/// Name of the part with the list of a chapter's exercises.
pub const LIST: &str = "list";

/// The file of each chapter that has exercises, by the chapter's slug.
///
/// # Errors
/// Exercises that cannot be read, or questions without an answer.
pub fn fragments(root: &Path) -> Result<Vec<(String, String)>> {
    let items = catalogue::load_any(root)?;
    let mut files = Vec::new();
    for of_chapter in items.chunk_by(|one, next| one.chapter() == next.chapter()) {
        let slug = of_chapter[0].chapter();
        let mut text = part(LIST, &list(slug, of_chapter));
        for (i, item) in of_chapter.iter().enumerate() {
            let section = match (item, item.key(root)?) {
                (Item::Write(exercise), _) => kernel(exercise, i + 1, root),
                (_, Some(key)) => section(item, &key, i + 1),
                (_, None) => continue,
            };
            text.push_str(&part(item.id(), &section));
        }
        files.push((slug.to_owned(), text));
    }
    Ok(files)
}

/// The ids of each chapter's exercises in their order, by the chapter's slug: what its page includes.
///
/// # Errors
/// Exercises that cannot be read.
pub fn order(root: &Path) -> Result<Vec<(String, Vec<String>)>> {
    let items = catalogue::load_any(root)?;
    let of = |items: &[Item]| {
        (items[0].chapter().to_owned(), items.iter().map(|item| item.id().to_owned()).collect::<Vec<_>>())
    };
    Ok(items.chunk_by(|one, next| one.chapter() == next.chapter()).map(of).collect())
}

/// A part that a page includes by name.
fn part(name: &str, text: &str) -> String {
    format!("<!-- ANCHOR: {name} -->\n{text}<!-- ANCHOR_END: {name} -->\n\n")
}

/// Every word of the script, for the element that stands once on a page.
pub(super) fn script_words() -> String {
    let data = [
        ("right", words::RIGHT),
        ("not-yet", words::NOT_YET),
        ("more", key::MORE),
        ("less", key::LESS),
        ("no-number", words::NO_NUMBER),
        ("no-line", words::NO_LINE),
        ("done", words::DONE),
    ];
    let data: Vec<String> = data.iter().map(|(name, text)| format!("data-{name}=\"{}\"", escaped(text))).collect();
    data.join(" ")
}

/// A chapter's exercises, each with a link to where it stands, and how many are answered.
fn list(slug: &str, items: &[Item]) -> String {
    let link = |item: &Item| {
        let mark = if item.written().is_some() { "⚙ " } else { "" };
        format!("<li><a href=\"#exercise-{}\">{mark}{}</a></li>\n", item.id(), escaped(item.title()))
    };
    format!(
        "<div class=\"exercises\" data-chapter=\"{slug}\" {}>\n<ol>\n{}</ol>\n\
         <p class=\"exercises-done\" hidden></p>\n</div>\n",
        script_words(),
        items.iter().map(link).collect::<String>()
    )
}

/// A kernel to write: what is asked, the starter and the command.
fn kernel(exercise: &Exercise, number: usize, root: &Path) -> String {
    let id = &exercise.id;
    format!(
        "<section class=\"exercise\" id=\"exercise-{id}\">\n\n### {} {number} ⚙: {}\n\n{}\n\n{}\n\n\
         ```cpp\n{{{{#include ../../../../{}:starter}}}}\n```\n\n```sh\ncargo course exercise {id}\n```\n\n</section>\n",
        words::EXERCISE,
        exercise.title,
        exercise.question.trim(),
        words::COMPILER,
        workspace::name(root, &exercise.starter(root).cu)
    )
}

/// One question: Markdown for what is asked, HTML for what is answered.
fn section(item: &Item, key: &Key, number: usize) -> String {
    let id = item.id();
    let mut text = format!(
        "<section class=\"exercise\" id=\"exercise-{id}\" data-chapter=\"{}\" data-exercise=\"{id}\"{}{}>\n\n### {} {number}: {}\n\n{}\n\n",
        item.chapter(),
        answer_data(key),
        if item.has_lab() { "" } else { " data-no-lab" },
        words::EXERCISE,
        item.title(),
        key.asked(item.question()).trim()
    );
    if let Item::Choose(choose) = item {
        text.push_str(&format!("```cpp\n{}\n```\n\n", choose.kernel.trim_end()));
    }
    let answers = match key {
        Key::Number { answer, because, common, .. } => {
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
    text.push_str(&folded(&format!(
        "{answers}{}<p>{} <code>cargo course exercise {id}</code></p>\n",
        see(item),
        words::TERMINAL
    )));
    text.push_str("</section>\n");
    text
}

/// The answers, which open without a script too.
pub(super) fn folded(answers: &str) -> String {
    format!("<details class=\"exercise-answers\"><summary>{}</summary>\n{answers}</details>\n", words::ANSWER)
}

/// The command that shows the run with all its counters, where there is one.
fn see(item: &Item) -> String {
    let command = if let Item::Predict(predict) = item { predict.run.command(&predict.chapter) } else { None };
    command.map(|command| format!("<p>{} <code>{command}</code></p>\n", words::SEE)).unwrap_or_default()
}

/// Data that the script compares an answer with.
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
    let labels: Vec<(char, String)> = lines.iter().map(|line| (line.letter, code(line))).collect();
    radios(&format!("answer-{id}"), &format!("<fieldset><legend>{}</legend>\n", words::LINES), &labels)
}

/// A form with a button for each label, of which one can be on. It opens the group by `fieldset`, which names it.
pub(super) fn radios(name: &str, fieldset: &str, labels: &[(char, String)]) -> String {
    let mut text = format!("<form class=\"exercise-form\" hidden>\n{fieldset}");
    for (letter, label) in labels {
        text.push_str(&format!(
            "<label><input type=\"radio\" name=\"{name}\" value=\"{letter}\" /> <span>{label}</span></label>\n"
        ));
    }
    text.push_str(&format!("</fieldset>\n<button type=\"submit\">{}</button>\n{STATUS}</form>\n", words::CHECK));
    text
}

/// Element in which the script reports its verdict on an answer, and where screen readers pick it up.
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
    let of = |line: &Line| {
        option_answer(
            line.letter,
            line.is_right,
            &code(line),
            &format!("{} {}", inline(&line.outcome), inline(&line.why)),
        )
    };
    format!("<ul>\n{}</ul>\n", lines.iter().map(of).collect::<String>())
}

/// Reply to one of several options.
pub(super) fn option_answer(letter: char, is_right: bool, label: &str, why: &str) -> String {
    format!("<li data-when=\"{letter}\">{} {label}: <span class=\"exercise-why\">{why}</span></li>\n", mark(is_right))
}

/// A sign with a word for those who hear the page.
fn mark(is_right: bool) -> String {
    let (class, word, sign) = if is_right { ("right", words::GOOD, '✓') } else { ("wrong", words::BAD, '✗') };
    format!("<span class=\"{class}-mark\" role=\"img\" aria-label=\"{word}\">{sign}</span>")
}

/// Code that a line puts into the blanks.
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
pub(super) fn inline(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = escaped(&words.join(" "));
    let parts = text.split('`').enumerate();
    parts.map(|(i, part)| if i % 2 == 1 { format!("<code>{part}</code>") } else { part.to_owned() }).collect()
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
