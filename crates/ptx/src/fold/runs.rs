//! Runs of rows that follow each other again and again: a run has a row of its own, which names those that it is made of.

use std::collections::HashMap;

use super::{RUN_BYTES_MAX, bytes_max};

/// Uses that are worth a row: fewer save less than the row takes.
const USES_MIN: usize = 4;

/// Two rows that follow each other.
type Pair = (usize, usize);

/// Rows that are runs of others.
pub(super) struct Runs {
    /// The rows of each run, by their places in the table, where runs follow the rows that are lines. Those of a run stand above it.
    pub(super) rows: Vec<Vec<usize>>,
    /// For each row of the table, the lines that it stands for and the most bytes that they take.
    sizes: Vec<(usize, usize)>,
}

impl Runs {
    /// Count of the lines that a row of the table stands for.
    pub(super) fn lines(&self, row: usize) -> usize {
        self.sizes[row].0
    }

    fn joined_bytes(&self, (first, second): Pair) -> usize {
        self.sizes[first].1 + 1 + self.sizes[second].1
    }

    /// The row of a run of two others.
    fn add(&mut self, pair: Pair) -> usize {
        let size = (self.lines(pair.0) + self.lines(pair.1), self.joined_bytes(pair));
        self.sizes.push(size);
        self.rows.push(vec![pair.0, pair.1]);
        self.sizes.len() - 1
    }
}

/// Runs that stretches of rows share; each stretch is rewritten with them. Pairs that are frequent become one row, again and again.
pub(super) fn shared(stretches: &mut [Vec<usize>], rows: &[&str]) -> Runs {
    let mut runs = Runs { rows: Vec::new(), sizes: rows.iter().map(|row| (1, bytes_max(row))).collect() };
    loop {
        let uses = pairs(stretches, &runs);
        let most = uses.values().copied().max().unwrap_or(0);
        if most < USES_MIN {
            break;
        }
        // Those that are about as frequent become rows together: one at a time would take minutes.
        let least = USES_MIN.max(most / 3);
        let frequent: HashMap<Pair, usize> = uses.into_iter().filter(|&(_, uses)| uses >= least).collect();
        let mut made: HashMap<Pair, usize> = HashMap::new();
        for stretch in stretches.iter_mut() {
            *stretch = paired(stretch, &frequent, |pair| *made.entry(pair).or_insert_with(|| runs.add(pair)));
        }
    }
    without_rare(stretches, rows.len(), runs)
}

/// Pairs of rows that may be one run, with how often each stands; one that overlaps with itself counts once.
fn pairs(stretches: &[Vec<usize>], runs: &Runs) -> HashMap<Pair, usize> {
    let mut uses: HashMap<Pair, usize> = HashMap::new();
    for stretch in stretches {
        let mut last = None;
        for two in stretch.windows(2) {
            let pair = (two[0], two[1]);
            if last == Some(pair) && pair.0 == pair.1 {
                last = None;
                continue;
            }
            last = Some(pair);
            if runs.joined_bytes(pair) <= RUN_BYTES_MAX {
                *uses.entry(pair).or_default() += 1;
            }
        }
    }
    uses
}

/// A stretch with its frequent pairs as one row each; of two pairs that overlap, the more frequent one.
fn paired(stretch: &[usize], frequent: &HashMap<Pair, usize>, mut row: impl FnMut(Pair) -> usize) -> Vec<usize> {
    let uses = |at: usize| match stretch.get(at..at + 2) {
        Some(&[first, second]) => frequent.get(&(first, second)).copied().unwrap_or(0),
        _ => 0,
    };
    let mut out = Vec::with_capacity(stretch.len());
    let mut at = 0;
    while at < stretch.len() {
        if uses(at) > 0 && uses(at) >= uses(at + 1) {
            out.push(row((stretch[at], stretch[at + 1])));
            at += 2;
        } else {
            out.push(stretch[at]);
            at += 1;
        }
    }
    out
}

/// Runs without those that hardly anything uses: their rows stand where they were used. `lines` counts the rows that are lines.
fn without_rare(stretches: &mut [Vec<usize>], lines: usize, runs: Runs) -> Runs {
    let mut uses = vec![0; runs.sizes.len()];
    for &row in stretches.iter().chain(&runs.rows).flatten() {
        uses[row] += 1;
    }
    let mut kept = Runs { rows: Vec::new(), sizes: runs.sizes[..lines].to_vec() };
    // For each row, what stands for it now: those of a run are above it.
    let mut now: Vec<Vec<usize>> = (0..lines).map(|row| vec![row]).collect();
    for (run, rows) in runs.rows.iter().enumerate() {
        let own: Vec<usize> = rows.iter().flat_map(|&row| now[row].iter().copied()).collect();
        now.push(if uses[lines + run] < 3 {
            own
        } else {
            kept.rows.push(own);
            kept.sizes.push(runs.sizes[lines + run]);
            vec![kept.sizes.len() - 1]
        });
    }
    for stretch in stretches {
        *stretch = stretch.iter().flat_map(|&row| now[row].iter().copied()).collect();
    }
    kept
}
