//! Numbers and tables as plain text: thousands grouped, columns aligned, never wider than a terminal.

pub use simt::counters::grouped;

/// A share of 1 as per cent with one decimal: `29.5 %`.
pub fn per_cent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A positive quantity in three digits: `0`, `1.23e-6`, `0.0123`, `12.3`, `1,234`.
pub fn three_digits(v: f64) -> String {
    if v == 0.0 || !v.is_finite() {
        return v.to_string();
    }
    let magnitude = v.abs().log10().floor();
    if !(-3.0..6.0).contains(&magnitude) {
        return format!("{v:.2e}");
    }
    if magnitude >= 3.0 {
        let sign = if v < 0.0 { "-" } else { "" };
        return format!("{sign}{}", grouped(v.abs().round() as u64));
    }
    format!("{v:.*}", (2.0 - magnitude) as usize)
}

/// The day of a date with a time.
pub fn day(date: &str) -> &str {
    date.split('T').next().unwrap_or(date)
}

/// Bytes in the largest binary unit that leaves at least 1: `7.5 GiB`.
pub fn bytes(v: u64) -> String {
    let mut size = v as f64;
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        if size < 1024.0 {
            break;
        }
        size /= 1024.0;
        unit = next;
    }
    if unit == "B" { format!("{v} B") } else { format!("{size:.1} {unit}") }
}

/// `a`, `a and b`, `a, b and c`.
pub fn listed<S: AsRef<str>>(items: &[S]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match items.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// Columns that fit a line of this many characters.
pub const WIDTH: usize = 100;

/// A table with named rows. Headers break at underscores and blanks, and columns that do not fit go into a further table below.
#[derive(Debug, Default)]
pub struct Table {
    /// Heads of the columns.
    pub headers: Vec<String>,
    /// Rows.
    pub rows: Vec<Row>,
}

/// One row: what it is, its cells, and what it means (on a line of its own, below).
#[derive(Debug)]
pub struct Row {
    /// Name.
    pub name: String,
    /// Plain English; may be empty.
    pub plain: String,
    /// One a column.
    pub cells: Vec<String>,
}

impl Table {
    /// The lines of the table, indented by two.
    pub fn render(&self) -> String {
        let name_width = self.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        let mut out = String::new();
        let mut first = 0;
        while first < self.headers.len() {
            let mut end = first;
            let mut used = 2 + name_width;
            while end < self.headers.len() && (end == first || used + 2 + self.width(end) <= WIDTH) {
                used += 2 + self.width(end);
                end += 1;
            }
            self.render_columns(&mut out, name_width, first..end);
            first = end;
        }
        out
    }

    fn render_columns(&self, out: &mut String, name_width: usize, columns: std::ops::Range<usize>) {
        let heads: Vec<Vec<String>> = columns.clone().map(|c| broken(&self.headers[c])).collect();
        let height = heads.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..height {
            let mut text = " ".repeat(2 + name_width);
            for (head, c) in heads.iter().zip(columns.clone()) {
                // Aligned at the bottom, like the numbers below.
                let piece = (line + head.len()).checked_sub(height).map_or("", |i| head[i].as_str());
                text.push_str(&format!("  {piece:>width$}", width = self.width(c)));
            }
            push_line(out, &text);
        }
        for row in &self.rows {
            let mut text = format!("  {:<name_width$}", row.name);
            for c in columns.clone() {
                text.push_str(&format!(
                    "  {:>width$}",
                    row.cells.get(c).map_or("", String::as_str),
                    width = self.width(c)
                ));
            }
            push_line(out, &text);
            if !row.plain.is_empty() {
                push_line(out, &format!("      {}", row.plain));
            }
        }
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.cells.get(column)).map(|cell| cell.chars().count());
        let head = broken(&self.headers[column]).iter().map(|piece| piece.chars().count()).max();
        cells.chain(head).max().unwrap_or(0)
    }
}

/// `unroll_syncwarp` as `unroll_` over `syncwarp`, `threads a block` as three words.
fn broken(header: &str) -> Vec<String> {
    header.split_inclusive(['_', ' ']).map(|piece| piece.trim_end().to_owned()).collect()
}

fn push_line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

/// `text` broken between words so that no line is longer than [`WIDTH`]; continuation lines are indented.
pub fn wrapped(text: &str, indent: &str) -> String {
    let start = text.len() - text.trim_start().len();
    let mut out = text[..start].to_owned();
    let mut column = start;
    // A per cent sign stays with its number.
    for word in text[start..].replace(" %", "\u{a0}%").split(' ').map(|word| word.replace('\u{a0}', " ")) {
        let length = word.chars().count();
        if column > start && column + 1 + length > WIDTH {
            out.push('\n');
            out.push_str(indent);
            column = indent.len();
        } else if column > start {
            out.push(' ');
            column += 1;
        }
        out.push_str(&word);
        column += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_048_583), "1,048,583");
        assert_eq!(per_cent(255.0 / 864.0), "29.5 %");
        assert_eq!(three_digits(0.0), "0");
        assert_eq!(three_digits(1.2345e-6), "1.23e-6");
        assert_eq!(three_digits(0.012345), "0.0123");
        assert_eq!(three_digits(12.345), "12.3");
        assert_eq!(three_digits(1234.5), "1,235");
        assert_eq!(three_digits(f64::INFINITY), "inf");
        assert_eq!(bytes(4096), "4.0 KiB");
        assert_eq!(bytes(12), "12 B");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
        assert_eq!(listed(&["a"]), "a");
    }

    #[test]
    fn a_table_is_aligned_and_narrow() {
        let table = Table {
            headers: vec!["unroll_volatile".into(), "x".into()],
            rows: vec![Row {
                name: "barriers".into(),
                plain: "waits for the block".into(),
                cells: vec!["1,024".into(), "7".into()],
            }],
        };
        let expected =
            "             unroll_\n            volatile  x\n  barriers     1,024  7\n      waits for the block\n";
        assert_eq!(table.render(), expected);
    }

    #[test]
    fn columns_that_do_not_fit_go_below() {
        let table = Table {
            headers: (0..12).map(|i| format!("column{i:02}")).collect(),
            rows: vec![Row {
                name: "n".repeat(40),
                plain: String::new(),
                cells: (0..12).map(|i| format!("{i:>8}")).collect(),
            }],
        };
        let text = table.render();
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert_eq!(text.matches(&"n".repeat(40)).count(), 3, "{text}");
        for i in 0..12 {
            assert!(text.contains(&format!("column{i:02}")));
        }
    }

    #[test]
    fn long_text_is_wrapped() {
        let text = wrapped(&format!("  {}29.5 %", "word ".repeat(50)), "    ");
        assert!(text.starts_with("  word word") && text.contains("29.5 %"));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert_eq!(text.split_whitespace().count(), 52);
    }
}
