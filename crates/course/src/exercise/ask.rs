//! A question in the terminal: shown, answered by an argument or at a prompt, and noted.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use anyhow::Result;

use super::item::Item;
use super::key::{Key, Reply};
use super::progress::Progress;
use super::{BadUsage, paragraph, say};

/// Indentation of a listing.
const INDENT: &str = "    ";

/// The question, with the lines to choose from.
pub fn question(item: &Item, key: &Key) -> String {
    let mut text = format!("{}: {}\n", item.chapter(), item.title());
    for part in key.asked(item.question()).trim().split("\n\n") {
        text.push_str(&format!("\n{}\n", paragraph(part, "")));
    }
    if let Item::Predict(predict) = item {
        text.push_str(&format!(
            "\nThe kernel is {} in {}.\n",
            predict.run.variant,
            predict.run.place(&predict.chapter)
        ));
    }
    if let Item::Choose(choose) = item {
        let listing =
            choose.kernel.trim_end().lines().map(|line| format!("{INDENT}{line}").trim_end().to_owned() + "\n");
        text.push_str(&format!("\n{}", listing.collect::<String>()));
    }
    if let Key::Lines(lines) = key {
        text.push('\n');
        for line in lines {
            text.push_str(&format!("  {})  {}\n", line.letter, line.code.join("\n      ")));
        }
    }
    text
}

/// Reads an answer at the prompt. `None` if there is none: an empty line, or the end of the input.
pub fn prompt(key: &Key, what_else: &str) -> Result<Option<String>> {
    if std::io::stdin().is_terminal() {
        print!("your answer, {}{what_else}: ", key.form());
        let _ = std::io::stdout().flush();
    }
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let line = line.trim();
    Ok((!line.is_empty()).then(|| line.to_owned()))
}

/// Returns whether the input has ended, so that no answer will come.
pub fn has_ended() -> bool {
    std::io::stdin().lock().fill_buf().is_ok_and(<[u8]>::is_empty)
}

/// Says what an answer is worth and notes it. True if it is right.
///
/// # Errors
/// [`BadUsage`] for text that is no answer at all, which is no try.
pub fn answered(root: &Path, item: &Item, key: &Key, text: &str) -> Result<bool> {
    let Reply { is_right, text: said } = key.reply(text).map_err(|error| BadUsage(error.to_string()))?;
    say(paragraph(&format!("{}: {said}", if is_right { "right" } else { "not yet" }), ""));
    if let (true, Item::Predict(predict)) = (is_right, item)
        && let Some(command) = predict.run.command(&predict.chapter)
    {
        say(format_args!("See all its counters: {command}"));
    }
    let mut progress = Progress::load(root)?;
    progress.judged(item.id(), text, is_right);
    progress.save(root)?;
    Ok(is_right)
}
