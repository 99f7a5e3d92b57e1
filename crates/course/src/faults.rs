//! The book's appendix of fault codes, from the simulator's own tables, and the same codes for a sheet of paper.

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

/// `book/src/generated/faults-sheet.md`: what a kernel can do wrong, for the cheat sheet.
pub fn sheet() -> String {
    let mut table = "| code | in short | try |\n|---|---|---|\n".to_owned();
    for code in Code::ALL {
        if let Some((why, remedy)) = in_short(code) {
            table.push_str(&format!("| [`{code}`](faults.md#{code}) | {why} | {remedy} |\n"));
        }
    }
    table
}

/// A code in a few words, and a repair in a few; none for what is no mistake that a kernel of the course can make.
const fn in_short(code: Code) -> Option<(&'static str, &'static str)> {
    Some(match code {
        Code::OutOfBounds => ("no array has this address", "`if (i < n)`"),
        Code::Misaligned => ("no multiple of the access's size", "begin wide loads at an aligned element"),
        Code::UninitialisedRead => ("no thread has written it", "write 0 where a thread has no element"),
        Code::SharedRace => ("nothing orders two threads of a block", "`__syncthreads()`, in one warp `__syncwarp()`"),
        Code::GlobalRace => ("nothing orders two threads", "an atomic, a fence with a flag, another launch"),
        Code::BarrierDivergence => ("some threads do not come", "the barrier out of the `if`"),
        Code::Deadlock => ("all wait for one another", "who should have come, and why not?"),
        Code::InactiveShuffleLane => ("a value from a lane that is not there", "all lanes of the mask to the shuffle"),
        Code::MaskMismatch => ("mask and lanes differ", "name exactly the lanes that come"),
        Code::StepBudget => ("it did not end", "the loop's step and its test"),
        Code::Trap | Code::StackOverflow | Code::UnsupportedInstruction => return None,
    })
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
