//! A table that a page includes as Markdown and a reader's own report as HTML.

use lab::figure::escaped;

/// Rows of cells below a head.
pub(crate) struct Sheet {
    head: Vec<String>,
    /// Columns from the left that hold words; the others hold figures.
    words: usize,
    rows: Vec<Vec<String>>,
}

impl Sheet {
    /// A table without rows.
    pub fn new(words: usize, head: impl IntoIterator<Item = impl Into<String>>) -> Sheet {
        Sheet { head: head.into_iter().map(Into::into).collect(), words, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn markdown(&self) -> String {
        let rule = (0..self.head.len()).map(|i| if i < self.words { "---" } else { "--:" }.to_owned()).collect();
        let lines = [&self.head, &rule].into_iter().chain(&self.rows);
        lines.map(|cells: &Vec<String>| format!("| {} |\n", cells.join(" | "))).collect()
    }

    pub fn html(&self) -> String {
        let cells = |tag: &str, cells: &[String]| -> String {
            let cell = |(i, cell): (usize, &String)| {
                let class = if i < self.words { "" } else { " class=\"figure\"" };
                format!("<{tag}{class}>{}</{tag}>", escaped(cell))
            };
            format!("<tr>{}</tr>\n", cells.iter().enumerate().map(cell).collect::<String>())
        };
        let rows: String = self.rows.iter().map(|row| cells("td", row)).collect();
        format!(
            "<div class=\"table\"><table>\n<thead>{}</thead>\n<tbody>{rows}</tbody>\n</table></div>\n",
            cells("th", &self.head)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_right() {
        let mut sheet = Sheet::new(1, ["what", "us"]);
        assert!(sheet.is_empty());
        sheet.row(["a < b", "1.5"]);
        assert_eq!(sheet.markdown(), "| what | us |\n| --- | --: |\n| a < b | 1.5 |\n");
        assert!(sheet.html().contains("<tr><td>a &lt; b</td><td class=\"figure\">1.5</td></tr>"), "{}", sheet.html());
    }
}
