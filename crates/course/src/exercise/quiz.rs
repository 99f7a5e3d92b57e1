//! The quiz at the end of a chapter's page: `chapters/<slug>/quiz.toml`. Each option has its reason, and a number that a run
//! gives is counted when the book is made. It asks about what the page says, where the exercises ask about what happens.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::asked::{self, Asked};
use super::page::{folded, inline, option_answer, radios};
use super::predict::ANSWER;
use super::write::is_name;
use crate::lessons;
use crate::workspace;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    question: Vec<Question>,
}

/// A question with its options.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    /// Name under which the browser remembers it; unique in the chapter.
    id: String,
    /// The question, or a sentence that the options end.
    ask: String,
    /// The line that it is about, as a kernel of the course has it.
    line: Option<String>,
    /// The run whose number the right option and the reasons call `{answer}`.
    run: Option<Asked>,
    #[serde(rename = "option")]
    options: Vec<Choice>,
}

/// One of several options.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice {
    say: String,
    why: String,
    #[serde(default)]
    right: bool,
}

/// The quiz of each chapter that has one, by the chapter's slug.
///
/// # Errors
/// A quiz that cannot be read, or that says something impossible.
pub fn fragments(root: &Path) -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for slug in lessons::slugs() {
        let path = root.join("chapters").join(slug).join("quiz.toml");
        if !path.is_file() {
            continue;
        }
        let page = quiz(&workspace::read(root, &path)?, slug, root);
        let page = page.with_context(|| format!("{} is no quiz", workspace::name(root, &path)))?;
        files.push((slug.to_owned(), page));
    }
    Ok(files)
}

/// The page of one file.
fn quiz(text: &str, slug: &str, root: &Path) -> Result<String> {
    let questions = toml::from_str::<File>(text)?.question;
    let about = questions.iter().filter(|question| question.run.is_some() || question.line.is_some()).count();
    ensure!(
        2 * about >= questions.len(),
        "{about} of {} questions are about a counter or a line, and half of them should be: give them a `run` or a `line`",
        questions.len()
    );
    let mut page = String::new();
    for (i, question) in questions.iter().enumerate() {
        let id = &question.id;
        ensure!(!questions[..i].iter().any(|other| other.id == *id), "two questions have the id `{id}`");
        page.push_str(&question.section(slug, i + 1, root).with_context(|| format!("question {id}"))?);
    }
    Ok(page)
}

impl Question {
    /// The question with its answers spelled out, after all that can be checked is checked.
    fn section(&self, slug: &str, number: usize, root: &Path) -> Result<String> {
        ensure!(is_name(&self.id), "its id has lower-case letters, digits and hyphens");
        let right: Vec<&Choice> = self.options.iter().filter(|option| option.right).collect();
        ensure!(right.len() == 1 && self.options.len() >= 3, "it has three options or more, one of them right");
        let answer = self.run.as_ref().map(|run| run.count(slug, root).map(asked::number)).transpose()?;
        let in_right = right[0].say.contains(ANSWER);
        ensure!(in_right == answer.is_some(), "the right option says {ANSWER} if there is a run, and only then");
        let spelled = |text: &str| answer.as_ref().map_or(text.to_owned(), |answer| text.replace(ANSWER, answer));
        let options: Vec<(char, String)> =
            ('a'..='z').zip(self.options.iter().map(|option| inline(&spelled(&option.say)))).collect();
        for (letter, say) in &options {
            let twice = options.iter().any(|(other, same)| letter != other && same == say);
            ensure!(!twice, "two options say `{say}`");
        }
        Ok(self.html(slug, number, &options, &self.shown_line(slug, root)?, &spelled))
    }

    fn html(
        &self,
        slug: &str,
        number: usize,
        options: &[(char, String)],
        line: &str,
        spelled: &dyn Fn(&str) -> String,
    ) -> String {
        let id = format!("quiz-{slug}-{}", self.id);
        let labelled: Vec<(&(char, String), &Choice)> = options.iter().zip(&self.options).collect();
        let right: String =
            labelled.iter().filter(|(_, option)| option.right).map(|((letter, _), _)| *letter).collect();
        let answers: String = labelled
            .iter()
            .map(|((letter, say), option)| option_answer(*letter, option.right, say, &inline(&spelled(&option.why))))
            .collect();
        format!(
            "<section class=\"exercise quiz\" id=\"{id}\" data-quiz=\"{slug}/{}\" data-lines=\"{right}\">\n\
             <p id=\"{id}-ask\"><strong>{number}.</strong> {}</p>\n{line}{}{}</section>\n\n",
            self.id,
            inline(&self.ask),
            radios(&format!("answer-{id}"), &format!("<fieldset aria-labelledby=\"{id}-ask\">\n"), options),
            folded(&format!("<ul>\n{answers}</ul>\n"))
        )
    }

    /// The listing of the line, which must be one of a kernel that the chapter shows.
    fn shown_line(&self, slug: &str, root: &Path) -> Result<String> {
        let Some(line) = &self.line else { return Ok(String::new()) };
        let mut places = workspace::walk(&root.join("kernels"))?;
        places.extend(workspace::walk(&root.join("chapters").join(slug).join("tests/mistakes"))?);
        let is_there = places.iter().filter(|file| file.extension().is_some_and(|ext| ext == "cu")).any(|file| {
            std::fs::read_to_string(file).is_ok_and(|text| text.lines().any(|there| there.contains(line.as_str())))
        });
        ensure!(is_there, "no kernel has the line `{line}`");
        Ok(format!("\n```cpp\n{line}\n```\n\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
        [[question]]
        id = "arrivals"
        ask = "How many?"
        line = "__syncthreads();"
        run = { variant = "interleaved_modulo", n = 64, block = 64, asks = "barriers" }
        option = [
            { say = "7", why = "Each of two warps arrives: {answer}." },
            { say = "{answer}", why = "Seven times two.", right = true },
            { say = "`64`", why = "w" },
        ]

        [[question]]
        id = "idea"
        ask = "Which?"
        option = [{ say = "a", why = "w", right = true }, { say = "b", why = "w" }, { say = "c", why = "w" }]
    "#;

    fn page(text: &str) -> Result<String> {
        quiz(text, "ch01-naive", &workspace::root().unwrap())
    }

    #[test]
    fn numbers_are_counted_and_every_option_has_its_reason() {
        let page = page(SMALL).unwrap();
        for part in [
            "data-quiz=\"ch01-naive/arrivals\" data-lines=\"b\"",
            "value=\"b\" /> <span>14</span>",
            "<li data-when=\"a\"><span class=\"wrong-mark\" role=\"img\" aria-label=\"wrong\">✗</span> 7: \
             <span class=\"exercise-why\">Each of two warps arrives: 14.</span></li>",
            "```cpp\n__syncthreads();\n```",
            "<span><code>64</code></span>",
            "<strong>2.</strong> Which?",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
    }

    #[test]
    fn what_is_impossible_is_named() {
        for (from, to, problem) in [
            ("say = \"{answer}\"", "say = \"15\"", "the right option says {answer}"),
            ("say = \"7\"", "say = \"14\"", "two options say `14`"),
            ("__syncthreads();", "sums[tid] -= 1;", "no kernel has the line"),
            ("id = \"idea\"", "id = \"arrivals\"", "two questions have the id"),
            (
                ", right = true },\n            { say = \"`64`\"",
                " },\n            { say = \"`64`\"",
                "one of them right",
            ),
            ("asks = \"barriers\"", "asks = \"barrier\"", "no counter `barrier`"),
            ("why = \"w\" },\n        ]", "wy = \"w\" },\n        ]", "wy"),
        ] {
            let error = page(&SMALL.replacen(from, to, 1)).unwrap_err();
            assert!(format!("{error:#}").contains(problem), "{to}: {error:#}");
        }
        let idle = SMALL.replace("line = \"__syncthreads();\"", "").replace("{answer}", "14");
        let run = idle.lines().find(|line| line.contains("run = ")).unwrap().to_owned();
        let error = page(&idle.replace(&run, "")).unwrap_err();
        assert!(format!("{error:#}").contains("0 of 2 questions are about a counter or a line"), "{error:#}");
    }
}
