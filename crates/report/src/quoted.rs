//! Measurements of others, beside our own: the table of an article on an A100, and the output of NVIDIA's sample on
//! an H200. Both have two oddities, which are explained here.

use std::path::Path;

use lab::measurement::{MeasuredCase, Measurement};
use lab::text::{bytes, grouped, three_digits};
use lab::{Error, Result, Type, record};
use serde::Deserialize;

use crate::fact::Fact;
use crate::sheet::Sheet;
use crate::tables::{MISSING, ratio, source_line, unmeasured};

/// Blocks of a launch beyond which the sample does not run a kernel and prints -1.
const SAMPLES_BLOCKS_MAX: u64 = 65_535;
/// Blocks that the sample gives its kernels 6 and 7 at most, `--maxblocks`.
const SAMPLES_CAP: u64 = 64;
/// Threads a block in the sample.
const SAMPLES_BLOCK: u64 = 256;
/// The course's kernels by the sample's numbers.
const OURS: [&str; 8] = [
    "interleaved_modulo",
    "strided_index",
    "sequential",
    "first_add",
    "unroll_shuffle",
    "template_shuffle",
    "grid_stride_shuffle",
    "redux",
];

/// A table from a publication.
#[derive(Debug, Clone, Deserialize)]
pub struct Article {
    /// Source.
    pub source: String,
    /// Program.
    pub program: String,
    /// On which card.
    pub device: String,
    /// With which CUDA.
    pub cuda: String,
    /// Names of its columns.
    pub columns: Vec<String>,
    /// Its rows.
    pub rows: Vec<ArticleRow>,
}

/// One size.
#[derive(Debug, Clone, Deserialize)]
pub struct ArticleRow {
    /// Elements.
    pub n: u64,
    /// One time a kernel, ms.
    pub ms: Vec<f64>,
}

/// Output of `reduction --shmoo`.
#[derive(Debug, Clone, PartialEq)]
pub struct Shmoo {
    /// `NVIDIA H200`
    pub device: String,
    /// Elements, a column each.
    pub sizes: Vec<u64>,
    /// A row a kernel: ms, `None` where it printed -1.
    pub ms: Vec<Vec<Option<f64>>>,
}

impl Shmoo {
    /// Reads the program's output; `None` if it holds no table.
    pub fn parse(text: &str) -> Option<Shmoo> {
        let device = text.lines().find_map(|line| line.split_once("Using Device 0: ")).map_or("", |parts| parts.1);
        let mut lines = text.lines().skip_while(|line| !line.starts_with("Kernel,"));
        let sizes = lines.next()?.split(',').skip(1).map(|n| n.trim().parse().ok()).collect::<Option<Vec<u64>>>()?;
        let row = |(kernel, line): (usize, &str)| {
            let mut cells = line.split(',').map(str::trim);
            cells.next().filter(|number| *number == kernel.to_string())?;
            // The verdict follows the last figure without a space.
            let figure = |cell: &str| cell.trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<f64>().ok();
            let row: Vec<f64> = cells.map(figure).collect::<Option<_>>()?;
            (row.len() == sizes.len()).then(|| row.into_iter().map(|ms| Some(ms).filter(|&ms| ms >= 0.0)).collect())
        };
        let ms: Vec<Vec<Option<f64>>> = lines.enumerate().map_while(row).collect();
        (!ms.is_empty()).then(|| Shmoo { device: device.trim().to_owned(), sizes, ms })
    }

    fn at(&self, kernel: usize, n: u64) -> Option<f64> {
        let column = self.sizes.iter().position(|&size| size == n)?;
        *self.ms.get(kernel)?.get(column)?
    }
}

/// Everything that was measured elsewhere.
#[derive(Debug, Clone)]
pub struct Quoted {
    /// The table on the A100.
    pub article: Article,
    /// The sample on an H200, `int`.
    pub shmoo: Shmoo,
    /// The sample on an H200, `float`.
    pub shmoo_float: Shmoo,
}

impl Quoted {
    /// From `measurements/`.
    ///
    /// # Errors
    /// A file that is missing or has another form.
    pub fn load(root: &Path) -> Result<Quoted> {
        let folder = root.join("measurements");
        let not_a_record =
            |path: &Path, problem: &str| Error::Record { path: path.to_owned(), problem: problem.to_owned() };
        let path = folder.join("quoted").join("a100-article.json");
        let article: Option<Article> = record::load_json(&path)?;
        let article = article.ok_or_else(|| not_a_record(&path, "the file is not there"))?;
        if let Some(row) = article.rows.iter().find(|row| row.ms.len() != article.columns.len()) {
            return Err(not_a_record(&path, &format!("the row of n = {} has {} times", row.n, row.ms.len())));
        }
        let shmoo = |name: &str| {
            let path = folder.join(name);
            let text = std::fs::read_to_string(&path).map_err(Error::file(&path, "read"))?;
            Shmoo::parse(&text).ok_or_else(|| not_a_record(&path, "no table of the sample's --shmoo"))
        };
        Ok(Quoted {
            article,
            shmoo: shmoo("cuda-samples-shmoo-int-h200.txt")?,
            shmoo_float: shmoo("cuda-samples-shmoo-float-h200.txt")?,
        })
    }

    /// `ladder-a100.md`: the published table, the same program on an H200, and the course's own kernels there.
    pub fn ladder(&self, record: Option<&Measurement>) -> String {
        let Article { source, program, device, cuda, .. } = &self.article;
        let mut out = format!("**{device}, CUDA {cuda}, in ms**, quoted from {source}: {program}.\n\n");
        let columns = self.article.columns.iter().map(|column| match column.split_once(" (") {
            Some((kernel, what)) => format!("{kernel}<br><small>{}</small>", what.trim_end_matches(')')),
            None => column.clone(),
        });
        let head = || std::iter::once("n".to_owned()).chain(columns.clone());
        let mut quoted = Sheet::new(0, head());
        let mut sampled = Sheet::new(0, head());
        for row in &self.article.rows {
            quoted.row(cells(row.n, row.ms.iter().map(|ms| format!("{ms:.3}"))));
            let ms = (0..self.article.columns.len()).map(|kernel| self.shmoo.at(kernel, row.n));
            sampled.row(cells(row.n, ms.map(|ms| ms.map_or("−1".to_owned(), |ms| format!("{ms:.3}")))));
        }
        out.push_str(&quoted.markdown());
        out.push_str(&format!(
            "\n**{}, in ms**: the same program, as it prints (`measurements/cuda-samples-shmoo-int-h200.txt`).\n\n{}",
            self.shmoo.device,
            sampled.markdown()
        ));
        let Some(record) = record else {
            return out + &format!("\n{}", unmeasured("the course's own kernels at these sizes"));
        };
        let names = OURS.iter().enumerate().map(|(kernel, name)| format!("K{kernel}<br><small>`{name}`</small>"));
        let mut ours = Sheet::new(0, std::iter::once("n".to_owned()).chain(names));
        for row in &self.article.rows {
            let us = OURS.map(|name| record.cold_us(name, Type::I32, row.n));
            ours.row(cells(row.n, us.map(|us| us.map_or("–".to_owned(), three_digits))));
        }
        let source = source_line(record);
        out + &format!(
            "\n**{}, in µs, cold**: the course's own kernels, {source}.\n\n{}",
            record.device,
            ours.markdown()
        )
    }

    /// `minus-one.md`: how many blocks each kernel would need where the sample printed -1 and where it did not, and the
    /// course's own first kernel there.
    pub fn minus_one(&self, record: Option<&Measurement>) -> String {
        let head = ["kernels", "elements a block", "n", "blocks", "printed, int", "printed, float"];
        let mut sheet = Sheet::new(1, head);
        for (kernels, kernel) in [("0 to 2", 0), ("3 to 5", 3)] {
            let per_block = elements_per_block(kernel);
            let ran = self.shmoo.sizes.iter().rev().find(|&&n| self.shmoo.at(kernel, n).is_some());
            let refused = self.shmoo.sizes.iter().find(|&&n| self.shmoo.at(kernel, n).is_none());
            for &n in ran.into_iter().chain(refused) {
                let printed = |shmoo: &Shmoo| shmoo.at(kernel, n).map_or("−1".to_owned(), |ms| format!("{ms:.5} ms"));
                let (int, float) = (printed(&self.shmoo), printed(&self.shmoo_float));
                let blocks = grouped(n.div_ceil(per_block));
                sheet.row([kernels.to_owned(), grouped(per_block), grouped(n), blocks, int, float]);
            }
        }
        let mut out = sheet.markdown();
        let largest = self.shmoo.sizes.iter().filter(|n| self.shmoo.at(0, **n).is_none());
        let ours = record.and_then(|record| {
            let mut cases = largest.filter_map(|&n| record.plain(OURS[0], Type::I32, n));
            cases.find(|case| case.ok && case.grid.is_some() && case.cold_us.is_some())
        });
        match ours {
            Some(case) => out.push_str(&format!(
                "\nThe course's own `{}` with {} elements and {} blocks, on the same kind of card: {} µs, and the sum is right.\n",
                case.name(),
                grouped(case.n),
                grouped(u64::from(case.grid.unwrap_or(0))),
                three_digits(case.cold_us.unwrap_or(0.0))
            )),
            None => out.push_str(&format!("\n{}", unmeasured("the course's first kernel at that size"))),
        }
        out
    }

    /// Cells of the two raw files in which -1 stands, those in which more blocks than the sample allows would be needed, and
    /// those where the two disagree.
    pub fn minus_ones(&self) -> (usize, usize, usize) {
        let (mut printed, mut predicted, mut different) = (0, 0, 0);
        for shmoo in [&self.shmoo, &self.shmoo_float] {
            for (kernel, &n) in (0..shmoo.ms.len()).flat_map(|k| shmoo.sizes.iter().map(move |n| (k, n))) {
                let is_printed = shmoo.at(kernel, n).is_none();
                let needed = n.div_ceil(elements_per_block(kernel));
                let is_predicted = kernel < 6 && needed > SAMPLES_BLOCKS_MAX;
                printed += usize::from(is_printed);
                predicted += usize::from(is_predicted);
                different += usize::from(is_printed != is_predicted);
            }
        }
        (printed, predicted, different)
    }

    /// `few-blocks.md`: kernel 6, which the sample holds to 64 blocks, beside kernel 5, which has as many as it wants.
    pub fn few_blocks(&self) -> String {
        let (card, h200) = (&self.article.device, &self.shmoo.device);
        let here = [format!("K6 / K5, {card}"), format!("K6 / K5, {h200}"), format!("K6, GB/s, {h200}")];
        let head = ["n", "bytes", "blocks of K5", "of K6"].map(str::to_owned);
        let mut sheet = Sheet::new(0, head.into_iter().chain(here));
        for &n in self.shmoo.sizes.iter().filter(|&&n| n >= 1 << 17) {
            let (Some(k5), Some(k6)) = (self.shmoo.at(5, n), self.shmoo.at(6, n)) else { continue };
            let row = self.article.rows.iter().find(|row| row.n == n);
            let quoted = row.and_then(|row| Some(row.ms.get(6)? / row.ms.get(5)?));
            let input_bytes = n * Type::I32.bytes();
            let blocks = n.div_ceil(elements_per_block(5));
            sheet.row([
                grouped(n),
                bytes(input_bytes),
                grouped(blocks),
                grouped(blocks.min(SAMPLES_CAP)),
                ratio(quoted),
                ratio(Some(k6 / k5)),
                three_digits(input_bytes as f64 / k6 / 1e6),
            ]);
        }
        sheet.markdown()
    }

    /// Figures of the raw files for the prose.
    pub(crate) fn facts(&self) -> Vec<Fact> {
        let (printed, _, different) = self.minus_ones();
        let cells: usize =
            [&self.shmoo, &self.shmoo_float].iter().map(|shmoo| shmoo.ms.len() * shmoo.sizes.len()).sum();
        let ms = |value: Option<f64>| value.map_or(MISSING.to_owned(), |ms| format!("{ms:.3}"));
        [
            ("sample-cells", grouped(cells as u64)),
            ("sample-minus_ones", printed.to_string()),
            ("sample-minus_ones-unexplained", different.to_string()),
            ("sample-one_element-ms", ms(self.shmoo.at(0, 1))),
            ("sample-k0-2e20-ms", ms(self.shmoo.at(0, 1 << 20))),
            ("sample-k6-2e20-ms", ms(self.shmoo.at(6, 1 << 20))),
            ("sample-k3-2e22-ms", ms(self.shmoo.at(3, 1 << 22))),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }
}

/// `grid-sweep.md`: the same cap tried with the course's own kernels, and what they take by themselves.
pub(crate) fn grid_sweep(record: &Measurement) -> String {
    let is_swept = |case: &&MeasuredCase| case.swept.as_deref() == Some("grid") && case.cold_us.is_some();
    let swept = || record.cases.iter().filter(is_swept).filter(|case| case.ty == Type::I32.name());
    let mut runs: Vec<(&str, u64)> = swept().map(|case| (case.name(), case.n)).collect();
    runs.dedup();
    let mut sheet = Sheet::new(1, ["kernel", "n", "blocks", "µs, cold", "GB/s"]);
    for (name, n) in runs {
        let mut cases: Vec<&MeasuredCase> = swept().filter(|case| (case.name(), case.n) == (name, n)).collect();
        cases.extend(record.plain(name, Type::I32, n).filter(|case| case.cold_us.is_some()));
        cases.sort_by_key(|case| case.grid);
        for case in cases {
            let own = if case.swept.is_none() { ", its own choice" } else { "" };
            sheet.row([
                format!("`{name}`"),
                grouped(n),
                format!("{}{own}", case.grid.map_or("–".to_owned(), |grid| grouped(u64::from(grid)))),
                three_digits(case.cold_us.unwrap_or(0.0)),
                three_digits(case.gb_per_s().unwrap_or(0.0)),
            ]);
        }
    }
    if sheet.is_empty() { unmeasured("grids of other sizes") } else { sheet.markdown() }
}

/// Elements that a block of the sample's kernel takes, before kernels 6 and 7 go round again.
fn elements_per_block(kernel: usize) -> u64 {
    if kernel < 3 { SAMPLES_BLOCK } else { 2 * SAMPLES_BLOCK }
}

fn cells(n: u64, figures: impl IntoIterator<Item = String>) -> Vec<String> {
    std::iter::once(grouped(n)).chain(figures).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::has;
    use lab::measurement::synthetic;

    fn committed() -> Quoted {
        Quoted::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
    }

    #[test]
    fn every_minus_one_is_a_launch_of_too_many_blocks() {
        let quoted = committed();
        assert_eq!((quoted.shmoo.ms.len(), quoted.shmoo.sizes.len()), (8, 26));
        assert_eq!(quoted.shmoo.device, "NVIDIA H200");
        assert_eq!(quoted.shmoo.at(7, 1 << 25), Some(0.40797), "the verdict sticks to the last figure");
        let (printed, predicted, different) = quoted.minus_ones();
        assert_eq!((printed, predicted, different), (18, 18, 0));
    }

    #[test]
    fn another_prediction_would_be_refuted() {
        let mut quoted = committed();
        quoted.shmoo.ms[0][0] = None;
        assert_eq!(quoted.minus_ones().2, 1);
    }

    #[test]
    fn tables_stand_beside_each_other() {
        let quoted = committed();
        let record = synthetic::record();
        let text = quoted.ladder(Some(&record));
        let own = record.cold_us("interleaved_modulo", Type::I32, 1 << 23).unwrap();
        has(&text, &["| 8,388,608 | 0.199 | 0.130 | 0.109 | 0.065 | 0.046 | 0.045 | 0.141 | 0.139 |"]);
        has(&text, &["| 8,388,608 | 0.098 | 0.065 | 0.052 | 0.033 | 0.029 | 0.029 | 0.059 | 0.059 |"]);
        has(&text, &[&format!("| 8,388,608 | {} |", three_digits(own))]);
        assert!(quoted.ladder(None).contains("no record of the course's own kernels"));
        let few = quoted.few_blocks();
        has(&few, &["| 8,388,608 | 32.0 MiB | 16,384 | 64 | 3.13 | 2.03 | 569 |"]);
        let refused = quoted.minus_one(Some(&record));
        has(&refused, &["| 0 to 2 | 256 | 16,777,216 | 65,536 | −1 | −1 |", "16,777,216 elements and 65,536 blocks"]);
        assert!(quoted.minus_one(None).contains("no record"));
    }

    #[test]
    fn a_sweep_shows_the_plans_own_choice() {
        let record = synthetic::record();
        let text = grid_sweep(&record);
        has(&text, &["| `grid_stride` | 16,777,216 | 64 |", "65,536, its own choice"]);
        assert!(grid_sweep(&Measurement::default()).contains("no record"));
    }

    #[test]
    fn other_texts_are_no_tables() {
        assert_eq!(Shmoo::parse(""), None);
        assert_eq!(Shmoo::parse("Kernel, 1, x\n0, 1, 2\n"), None);
        assert_eq!(Shmoo::parse("Kernel, 1, 2\n0, 1\n"), None);
    }
}
