//! The questions in the page: the theme's script scores every answer of every chapter in a real browser as the simulator
//! did, without a server and without the network.

use std::path::Path;
use std::process::{Command, Stdio};

use course::chromium;

use crate::checkout::repository;

/// Gives every answer that a question speaks of and then nonsense, and leaves what went wrong in a last element.
const PROBE: &str = r#"<script>
window.addEventListener("load", () => {
    const problems = [];
    let answers = 0;
    const sections = [...document.querySelectorAll("[data-exercise], [data-quiz]")];
    for (const section of sections) {
        const form = section.querySelector("form"), field = section.querySelector("input[type=text]");
        const status = section.querySelector(".exercise-status");
        const check = (given, kind) => {
            if (field) field.value = given;
            else section.querySelector(`input[value="${given}"]`).checked = true;
            form.requestSubmit();
            answers += 1;
            if (!status.classList.contains(kind)) problems.push(`${section.id}: ${given} is not ${kind}`);
        };
        if (form.hidden) problems.push(`${section.id}: no way to answer`);
        if (!field) {
            form.requestSubmit();
            if (!status.textContent.startsWith("Choose one first")) problems.push(`${section.id}: no line, no word`);
        }
        const cases = [...section.querySelectorAll("[data-when]")];
        for (const [i, item] of cases.entries()) {
            const isRight = field ? i === 0 : item.querySelector(".right-mark") !== null;
            check(item.dataset.when, isRight ? "is-right" : "is-wrong");
            const why = item.querySelector(".exercise-why").textContent;
            if (!status.textContent.endsWith(why)) problems.push(`${section.id}: ${item.dataset.when} without its reason`);
        }
        if (field) {
            check("987654321", "is-wrong");
            for (const nonsense of ["", "many", "1.5"]) check(nonsense, "is-wrong");
            check(` ${Number(section.dataset.answer).toLocaleString("en")} `, "is-right");
        }
        if (!section.classList.contains("is-solved")) problems.push(`${section.id}: solved, and not marked`);
    }
    const known = JSON.parse(localStorage.getItem("reduction-course-exercises"));
    const quiz = JSON.parse(localStorage.getItem("reduction-course-quizzes"));
    if (known.length + quiz.length !== sections.length) problems.push(`${known.length} and ${quiz.length} of ${sections.length} remembered`);
    const ticked = document.querySelectorAll(".exercises a.is-solved").length;
    if (ticked !== known.length) problems.push(`${ticked} of ${known.length} ticked in the list`);
    const counter = document.querySelector(".exercises-done");
    if (counter.hidden || !counter.textContent.startsWith(`${known.length} of ${known.length} `)) problems.push(counter.textContent);
    const out = document.createElement("output");
    out.id = "probe";
    out.textContent = [`${sections.length} questions, ${answers} answers`, ...problems].join("; ");
    document.body.append(out);
});
</script>"#;

/// A chapter's exercises and quiz, as its page has them; `None` for a folder that is no chapter's.
fn questions(folder: &Path) -> Option<String> {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    Some(read("exercises.md")? + &read("quiz.md")?)
}

/// Report of the probe on a chapter's questions.
fn probed(browser: &Path, folder: &Path, questions: &str, script: &str) -> String {
    let page = folder.join("page.html");
    let html =
        format!("<!DOCTYPE html><meta charset=\"utf-8\"><main>{questions}</main><script>{script}</script>{PROBE}");
    std::fs::write(&page, html).unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--virtual-time-budget=5000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = shown.split_once("<output id=\"probe\">").and_then(|(_, rest)| rest.split_once("</output>"));
    said.map_or_else(|| format!("no probe in {shown}"), |(said, _)| said.to_owned())
}

#[test]
fn every_answer_of_every_chapter_is_scored() {
    let Some(browser) = chromium::find() else {
        println!("skipped: no Chromium on this machine");
        return;
    };
    let root = repository();
    let script = std::fs::read_to_string(root.join("book/theme/exercises.js")).unwrap();
    let mut chapters = 0;
    for entry in std::fs::read_dir(root.join("book/src/generated")).unwrap() {
        let Some(questions) = questions(&entry.unwrap().path()) else { continue };
        let folder = tempfile::tempdir().unwrap();
        let said = probed(&browser, folder.path(), &questions, &script);
        let count = questions.matches("<form").count();
        assert!(count >= 7 && said.starts_with(&format!("{count} questions, ")) && !said.contains(';'), "{said}");
        chapters += 1;
    }
    assert!(chapters >= 8, "{chapters} chapters are no course");
}

#[test]
fn without_a_script_every_answer_is_in_the_page() {
    let mut count = 0;
    for entry in std::fs::read_dir(repository().join("book/src/generated")).unwrap() {
        let Some(text) = questions(&entry.unwrap().path()) else { continue };
        let sections = text.split("<section").skip(1);
        for section in sections.filter(|section| section.contains("data-exercise=") || section.contains("data-quiz=")) {
            assert!(section.contains("<form class=\"exercise-form\" hidden>"), "{section}");
            let (_, answers) = section.split_once("<details class=\"exercise-answers\">").expect(section);
            assert!(answers.matches("data-when").count() >= 2, "{section}");
            count += 1;
        }
    }
    assert!(count >= 40 + 24, "{count} questions");
}
