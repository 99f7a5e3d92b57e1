//! Latencies of the card, and the trials that ran on it thousands of times.

use lab::measurement::{LATENCIES, Measurement, Proof};
use lab::text::{grouped, three_digits};

use crate::sheet::Sheet;
use crate::tables::unmeasured;

/// Nanoseconds and cycles of a step; of a launch no cycles.
pub(crate) fn latency(record: &Measurement, name: &str) -> Option<(f64, Option<f64>)> {
    let floor = record.floor_us;
    match name {
        "launch" => floor.map(|floor| (1e3 * floor.one_block, None)),
        "launch_overlapped" => floor.map(|floor| (1e3 * floor.overlapped, None)),
        _ => {
            let found = record.latencies.iter().find(|latency| latency.name == name)?;
            Some((found.ns, Some(found.cycles)))
        }
    }
}

/// `latencies.md`: a row a step.
pub(crate) fn latencies(record: &Measurement) -> String {
    let mut sheet = Sheet::new(1, ["step", "ns", "cycles"]);
    for (name, words) in LATENCIES {
        if let Some((ns, cycles)) = latency(record, name) {
            sheet.row([words.to_owned(), three_digits(ns), cycles.map_or("–".to_owned(), three_digits)]);
        }
    }
    if sheet.is_empty() {
        return unmeasured("latencies");
    }
    let mhz = record.latencies.iter().map(|latency| latency.mhz).max_by(f64::total_cmp);
    let clock = mhz.map_or(String::new(), |mhz| {
        format!("\nThe multiprocessors ran at {} MHz meanwhile.\n", grouped(mhz.round() as u64))
    });
    sheet.markdown() + &clock
}

/// `proofs.md`: a row for each thing that was tried.
pub(crate) fn proofs(record: &Measurement) -> String {
    let mut sheet = Sheet::new(3, ["around the reduction", "type", "launches", "n", "judged", "wrong"]);
    for Proof { name, ty, n, overlap, judged, wrong } in &record.proofs {
        let launches = if *overlap { "overlapping" } else { "one after the other" };
        sheet.row([name, ty, launches, &grouped(*n), &grouped(*judged), &grouped(*wrong)]);
    }
    if sheet.is_empty() { unmeasured("reductions between other kernels") } else { sheet.markdown() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::measurement::synthetic;

    #[test]
    fn every_step_has_a_row_and_launches_come_from_the_floor() {
        let mut record = synthetic::record();
        let text = latencies(&record);
        assert!(text.contains("| load from shared memory | 14.7 | 29.0 |"), "{text}");
        assert!(text.contains("| launch of an empty kernel after another | 530 | – |"), "{text}");
        assert!(text.contains("ran at 1,980 MHz"), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("| ")).count(), 2 + LATENCIES.len());
        (record.latencies, record.floor_us) = (Vec::new(), None);
        assert!(latencies(&record).contains("no record of latencies"));
    }

    #[test]
    fn what_was_wrong_is_told() {
        let mut record = synthetic::record();
        record.proofs[1].wrong = 3;
        let text = proofs(&record);
        assert!(text.contains("| producer and consumer | i32 | overlapping | 4,096 | 10,000 | 3 |"), "{text}");
        record.proofs.clear();
        assert!(proofs(&record).contains("no record of reductions between other kernels"));
    }
}
