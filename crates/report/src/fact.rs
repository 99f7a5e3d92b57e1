//! Facts of a page, each a line with an anchor, and where figures come from.

use lab::hardware::GpuRecord;
use lab::text::day;

/// A fact: its anchor and its value, one line.
pub(crate) type Fact = (String, String);

pub(crate) fn facts_text(facts: &[Fact]) -> String {
    facts
        .iter()
        .map(|(name, value)| format!("<!-- ANCHOR: {name} -->\n{value}\n<!-- ANCHOR_END: {name} -->\n"))
        .collect()
}

/// Command line of a record, as far as it helps below a table: the results page has the paths of every library too.
fn short_command(command: &str) -> &str {
    command.split(" --out ").next().unwrap_or(command)
}

/// The line below a table that says where its times come from, and whether they still say something.
pub(crate) fn provenance(record: &GpuRecord, stale: Option<String>) -> String {
    let driver = record.driver.as_deref().unwrap_or("unknown");
    let cuda = record.cuda.as_deref().unwrap_or("unknown");
    let mut out = format!(
        "\n<small>Measured on an {} (driver {driver}, CUDA {cuda}) on {}, with `{}`; cold medians.</small>\n",
        record.device,
        day(&record.date),
        short_command(&record.command)
    );
    if let Some(stale) = stale {
        out.push_str(&format!("\n**This record is stale: {stale}.**\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_below_a_table_is_short() {
        assert_eq!(short_command("cargo course measure --out h200.json --cub libcub.so"), "cargo course measure");
        assert_eq!(short_command("cargo run -- --device gpu"), "cargo run -- --device gpu");
    }

    #[test]
    fn facts_have_names_that_mdbook_finds() {
        let text = facts_text(&[("a-i32-n".to_owned(), "1,024".to_owned())]);
        assert_eq!(text, "<!-- ANCHOR: a-i32-n -->\n1,024\n<!-- ANCHOR_END: a-i32-n -->\n");
    }
}
