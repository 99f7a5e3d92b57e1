//! The book's appendix of fault codes, from the simulator's own tables.

use simt::Code;
use simt::fault::Blame;

/// `book/src/generated/faults.md`: an overview, then a section for each code.
pub fn appendix() -> String {
    let mut page = "| code | in short |\n|---|---|\n".to_owned();
    for code in Code::ALL {
        page.push_str(&format!("| [`{code}`](#{code}) | {} |\n", code.explanation().why));
    }
    for code in Code::ALL {
        page.push_str(&section(code));
    }
    page
}

fn section(code: Code) -> String {
    let words = code.explanation();
    let blame = match words.blame {
        Blame::Kernel => "A bug in the kernel.",
        Blame::Either => "A bug in the kernel, or a budget too small for its work.",
        Blame::Simulator => "A limit of the simulator; it says nothing about the kernel.",
    };
    format!(
        "\n## `{code}`\n\n**{blame}** {}\n\n- **What to try**: {}.\n- **May miss**: {}.\n- **False alarms**: {}.\n",
        words.meaning,
        clause(words.remedy),
        clause(words.may_miss),
        clause(words.false_alarms)
    )
}

/// A clause of the tables without a full stop of its own.
fn clause(words: &str) -> &str {
    words.trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_whole_section() {
        let page = appendix();
        for code in Code::ALL {
            let start = page.find(&format!("\n## `{code}`\n")).expect("a section for each code");
            let section = page[start + 1..].split("\n## ").next().unwrap_or("");
            for label in ["**What to try**: ", "**May miss**: ", "**False alarms**: "] {
                let words = section.split(label).nth(1).expect("each label");
                assert!(
                    words.starts_with(|first: char| first.is_alphabetic() || first == '`'),
                    "{code} {label}{words}"
                );
            }
            assert!(page.contains(&format!("[`{code}`](#{code})")));
        }
    }
}
