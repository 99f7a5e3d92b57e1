//! Numbers of a message. A record that is measured anew changes them and leaves the sentence as it was, so a translation outlives them:
//! today's numbers are put where the old ones stand in it.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// What holds no number: code, tags, link targets, names in braces, entities, and words with digits in them, such as f32; or a number.
static PART: LazyLock<Regex> = LazyLock::new(|| {
    let kept = r"(?s)``.*?``|`[^`]*`|<code[^>]*>.*?</code>|<[^<>]*>|\]\([^)]*\)|\{[A-Za-z_]\w*(?::[^}]*)?\}|&#?\w+;";
    Regex::new(&format!(r"{kept}|[A-Za-z_][A-Za-z_0-9]*|(?P<number>[0-9]+(?:,[0-9]{{3}})*(?:\.[0-9]+)?)"))
        .expect("a fixed pattern")
});
/// Stands for a number; no text has it.
const MARK: char = '\u{0}';

/// Places of the numbers of a text.
pub fn places(text: &str) -> Vec<Range<usize>> {
    PART.captures_iter(text).filter_map(|part| Some(part.name("number")?.range())).collect()
}

/// The numbers of a text, in its order.
pub fn numbers(text: &str) -> Vec<&str> {
    places(text).into_iter().map(|place| &text[place]).collect()
}

/// The text with a mark in place of each number.
pub fn skeleton(text: &str) -> String {
    let mut left = String::with_capacity(text.len());
    let mut from = 0;
    for place in places(text) {
        left += &text[from..place.start];
        left.push(MARK);
        from = place.end;
    }
    left + &text[from..]
}

/// The translation `said` of `old`, with the numbers of `new`, which has the same skeleton. Nothing where one cannot tell which number
/// goes where: the translation has others than `old`, or equal ones of `old` differ now.
pub fn carried(old: &str, said: &str, new: &str) -> Option<String> {
    let (before, after) = (numbers(old), numbers(new));
    if before.len() != after.len() || skeleton(old) != skeleton(new) {
        return None;
    }
    let mut becomes: HashMap<&str, &str> = HashMap::new();
    for (before, after) in before.iter().zip(&after) {
        if *becomes.entry(before).or_insert(after) != *after {
            return None;
        }
    }
    let places = places(said);
    let mut found: Vec<&str> = places.iter().map(|place| &said[place.clone()]).collect();
    let mut expected = before;
    found.sort_unstable();
    expected.sort_unstable();
    if found != expected {
        return None;
    }
    let mut written = said.to_owned();
    for place in places.into_iter().rev() {
        let number = becomes[&said[place.clone()]];
        written.replace_range(place, number);
    }
    Some(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_outside_of_code_tags_targets_and_names() {
        let text = "<a id=\"x1\">8</a> of `16` f32 in [32](ch01.html#2) &#39;{count:1|2} {a, 64}: 1,048,576, 2.5× on an H200, 7.81e-5, 3, 4.";
        assert_eq!(numbers(text), ["8", "32", "64", "1,048,576", "2.5", "7.81", "5", "3", "4"]);
        assert_eq!(numbers("第 3 章的f32个32"), ["3", "32"]);
    }

    #[test]
    fn changed_numbers_go_where_the_old_ones_stand() {
        let (old, said) = ("8 of 16 blocks", "16 块中的 8 块");
        assert_eq!(carried(old, said, "9 of 32 blocks").as_deref(), Some("32 块中的 9 块"));
        assert_eq!(carried(old, said, "16 of 8 blocks").as_deref(), Some("8 块中的 16 块"), "swapped");
        assert_eq!(carried(old, said, "8 of 8 blocks").as_deref(), Some("8 块中的 8 块"), "equal now");
        assert_eq!(carried(old, said, old).as_deref(), Some(said), "unchanged");
        assert_eq!(carried(old, said, "8 of 16 threads"), None, "another sentence");
        assert_eq!(carried(old, said, "8 of 1,024.5 blocks").as_deref(), Some("1,024.5 块中的 8 块"));
    }

    #[test]
    fn equal_numbers_that_differ_now_are_no_mans() {
        let (old, said) = ("8 rows of 8, 2 bytes", "8 行 8 列，2 字节");
        assert_eq!(carried(old, said, "4 rows of 4, 1 bytes").as_deref(), Some("4 行 4 列，1 字节"));
        assert_eq!(carried(old, said, "4 rows of 8, 2 bytes"), None);
    }

    #[test]
    fn a_translation_with_other_numbers_is_not_carried() {
        assert_eq!(carried("8 of 16", "八 / 16", "8 of 32"), None);
        assert_eq!(carried("8 of 16", "8 / 16 / 16", "8 of 32"), None);
    }
}
