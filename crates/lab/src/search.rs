//! Searches for the fastest team of a problem, as `cargo course tune` writes them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::measurement::geometric_mean;
use crate::text::grouped;
use crate::{Op, Planned, Type};

/// The book's searches by card, from the root on.
pub const RECORDS: [(&str, &str); 2] =
    [("h100", "measurements/library/h100-shapes.json"), ("h200", "measurements/library/h200-shapes.json")];

/// Searches on one card.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Searches {
    /// Name of the card.
    pub device: String,
    /// Version of its driver.
    #[serde(default)]
    pub driver: Option<String>,
    /// Commit of the sources.
    #[serde(default)]
    pub commit: Option<String>,
    /// Time of the run.
    pub date: String,
    /// Method of taking times.
    pub method: String,
    /// A search for each operation, type and shape.
    pub cases: Vec<Searched>,
}

/// Search for the fastest team of one problem.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Searched {
    /// Name of the operation.
    pub op: String,
    /// Name of the type.
    #[serde(rename = "type")]
    pub ty: String,
    /// Rows of the matrix.
    pub rows: u64,
    /// Its columns.
    pub cols: u64,
    /// Number of teams that were timed.
    pub tried: u64,
    /// The plan's own team, of the commit that the record names or of a later one.
    pub chosen: String,
    /// Teams with their times in microseconds, the fastest first: those within a tenth of it, and the plan's.
    pub us: Vec<(String, f64)>,
}

/// Name of a plan's team: that of its first kernel without operation and type, and with how many blocks share a row.
pub fn team(plan: &Planned) -> String {
    let Some(first) = plan.passes.first() else { return String::new() };
    let words: Vec<&str> = first.kernel.split('_').collect();
    let kind = if words[0] == "two" { "two_passes" } else { words[0] };
    let shape = words.iter().rev().nth(1).copied().unwrap_or("");
    let rows = plan.layout.values().max(1);
    let shared = if kind == "parts" { format!("x{}", u64::from(first.grid()).div_ceil(rows)) } else { String::new() };
    format!("{kind} {shape}{shared}")
}

impl Searched {
    /// Returns whether it is of this operation and type.
    pub fn is_of(&self, op: Op, ty: Type) -> bool {
        (self.op.as_str(), self.ty.as_str()) == (op.name(), ty.name())
    }

    /// Time of a team over that of the fastest; `None` if it is not listed.
    pub fn over_best(&self, team: &str) -> Option<f64> {
        let us = self.us.iter().find(|(name, _)| name == team)?.1;
        Some(us / self.us.first()?.1)
    }
}

impl fmt::Display for Searched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Searched { op, ty, tried, chosen, .. } = self;
        let (best, best_us) = self.us.first().map_or(("", 0.0), |(name, us)| (name, *us));
        let over = self.over_best(chosen).unwrap_or(f64::NAN);
        write!(
            f,
            "{op} of {ty}, {} × {}: {chosen} takes {:.2} µs",
            grouped(self.rows),
            grouped(self.cols),
            over * best_us
        )?;
        if best == chosen {
            return write!(f, ", the fastest of {tried}");
        }
        write!(f, "; of {tried} the fastest is {best}, {best_us:.2} µs ({:.1} % less)", 100.0 - 100.0 / over)
    }
}

impl Searches {
    /// Distance of the plans' teams from the fastest, one sentence.
    pub fn summary(&self) -> String {
        let ratios = || self.cases.iter().filter_map(|case| case.over_best(&case.chosen));
        let Some(mean) = geometric_mean(ratios()) else { return "nothing was timed".to_owned() };
        let worst = ratios().fold(1.0, f64::max);
        let count = ratios().count();
        let searches = if count == 1 { "search" } else { "searches" };
        format!(
            "{count} {searches} on {}: plans take {mean:.3} times as long as the fastest, {worst:.2} at most",
            self.device
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_says_what_another_team_would_gain() {
        let us = vec![("block t512v4".to_owned(), 80.0), ("persistent c2t128v8s2".to_owned(), 100.0)];
        let case = Searched {
            op: "softmax".to_owned(),
            ty: "bf16".to_owned(),
            rows: 4096,
            cols: 16_384,
            tried: 9,
            chosen: "persistent c2t128v8s2".to_owned(),
            us,
        };
        assert_eq!(case.over_best("block t512v4"), Some(1.0));
        assert_eq!(case.over_best("block t64v32"), None);
        let line = "softmax of bf16, 4,096 × 16,384: persistent c2t128v8s2 takes 100.00 µs; of 9 the fastest is block t512v4, \
                    80.00 µs (20.0 % less)";
        assert_eq!(case.to_string(), line);
        let all = Searches { device: "A GPU".to_owned(), cases: vec![case], ..Searches::default() };
        assert!(all.summary().contains("1 search on A GPU: plans take 1.250 times"), "{}", all.summary());
    }
}
