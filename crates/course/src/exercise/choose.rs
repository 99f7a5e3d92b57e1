//! A blank with several lines for it. The kernel with each of the lines is committed as PTX, written out by `cargo course
//! ptx` from the definition, and what is said of a line is what a run of it gives.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use device::{Choice, Code, Counters, Device, KernelSource, Module, Report, SimOptions};
use lab::element::Element;
use lab::op::OnHost as _;
use lab::reference::reference_of;
use lab::runner::{self, Arrays};
use lab::{Arg, Matrix, Op, Pass, Plan, Planned, Type, Value};
use serde::Deserialize;
use simt::Metric;

use super::asked::{self, i32_elements};
use super::bench::{self, Answer};
use super::case::{Case, TODAYS, schedules};
use super::copy;
use super::key::{Key, Line};
use super::numbers::Numbers;
use super::ranks;
use super::rows::{self, Shape};
use super::write::{WRONG_SUM, check_each_rank};
use crate::workspace;

/// Text of a blank.
pub const BLANK: &str = "____";
/// Folder of the written-out kernels, in the chapter's folder.
pub const FOLDER: &str = "choices";
/// Outcome of a line that is right, where none is better.
const RIGHT: &str = "right";
/// Outcome of a line that is right, where another counts less.
const MORE: &str = "more";
/// Most warp-instructions of a block: a loop without an end is stopped at once.
const STEPS_PER_BLOCK_MAX: u64 = 1 << 16;
/// Random orders that are tried besides the two schedules without a seed.
const SEEDS: u64 = 4;

/// A question whose answer is one of several lines.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choose {
    /// Name that readers type; no two exercises of the course share one.
    pub id: String,
    /// One line.
    pub title: String,
    /// The question.
    pub question: String,
    /// From a nudge to nearly the answer.
    pub hints: Vec<String>,
    /// A small kernel of `(in, out, n)`, and `state` if it has one, or of what `ranks.rs` says, with one `____` or more.
    pub kernel: String,
    /// Elements of each run; the counters of the first are reported.
    #[serde(default)]
    pub n: Vec<u64>,
    /// Instead of `n`, the rows of each run: the kernel is `(in, out, rows, cols)`, and each row gets a value.
    #[serde(default)]
    pub shapes: Vec<Shape>,
    /// Threads a block.
    pub block: u32,
    /// Blocks.
    #[serde(default = "one")]
    pub grid: u32,
    /// Type of the elements; i32 by default.
    #[serde(default = "i32_elements", rename = "type")]
    pub ty: Type,
    /// Operation that it computes; a sum by default.
    #[serde(default)]
    pub op: Op,
    /// Its input; 1, 2, 3, … by default.
    #[serde(default)]
    pub input: Numbers,
    /// Elements by which the input is shifted from the start of its allocation.
    #[serde(default)]
    pub offset: usize,
    /// True if `out` holds the operation's identity before: for kernels that add to it.
    #[serde(default)]
    pub adds: bool,
    /// 64-bit words of zeroed workspace, the fourth argument; none by default.
    #[serde(default)]
    pub state_words: u64,
    /// Numbers of ranks, each tried, for a kernel that runs on several devices at once; none by default.
    #[serde(default)]
    pub ranks: Vec<u32>,
    /// A counter of which the best line counts fewest. Without one, every line that is right is an answer.
    pub fewest: Option<String>,
    /// The lines.
    #[serde(rename = "option")]
    pub options: Vec<Opt>,
    /// The chapter's slug, from the folder.
    #[serde(skip)]
    pub chapter: String,
}

/// One of the lines.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opt {
    /// Code for each blank, in order.
    pub code: Vec<String>,
    /// Outcome of its run: `right`, `more` (right, but another counts less), `wrong-sum` or the code of a fault. The
    /// answer is not taken from here: it is held against the run.
    pub gives: String,
    /// Why, a sentence or two.
    pub why: String,
}

const fn one() -> u32 {
    1
}

/// Outcome of the runs of one line.
#[derive(Debug)]
struct Outcome {
    /// `right`, `wrong-sum` or the code of a fault.
    gives: String,
    /// In a sentence.
    text: String,
    /// Value of the counter that the question is about.
    counted: Option<u64>,
}

impl Choose {
    /// The lines with what each gives.
    ///
    /// # Errors
    /// PTX that is missing or stale where there is no compiler, or a line that does not give what its definition says.
    pub fn key(&self, root: &Path) -> Result<Key> {
        let source = self.source(root);
        let copy::Compiled::Ptx(ptx, _) = copy::compile_committed(root, &source)? else {
            bail!("{}: does not compile: run `cargo course ptx`", source.cu_name());
        };
        let module = Device::open(Choice::Sim, SimOptions::default())?.load_ptx(&source.ptx_name(), &ptx)?;
        let text = self.written_out();
        let outcomes: Vec<Outcome> =
            (0..self.options.len()).map(|i| self.outcome(letter(i), &module, &text)).collect::<Result<_>>()?;
        let fewest =
            outcomes.iter().filter(|outcome| outcome.gives == RIGHT).filter_map(|outcome| outcome.counted).min();
        let mut lines = Vec::new();
        for (i, (option, outcome)) in self.options.iter().zip(outcomes).enumerate() {
            let is_more = outcome.gives == RIGHT && outcome.counted != fewest && self.fewest.is_some();
            let gives = if is_more { MORE } else { &outcome.gives };
            let letter = letter(i);
            ensure!(gives == option.gives, "{}: line {letter} gives {gives}, not {}", self.id, option.gives);
            lines.push(Line {
                letter,
                code: option.code.clone(),
                is_right: gives == RIGHT,
                outcome: outcome.text,
                why: option.why.trim().to_owned(),
            });
        }
        Ok(Key::Lines(lines))
    }

    /// The kernel with each of its lines, each in a namespace of its own: the text of `choices/<id>.cu`.
    pub fn written_out(&self) -> String {
        let mut text = format!(
            "// Written by `cargo course ptx` from exercises.toml: the kernel of {} with each line that it offers.\n",
            self.id
        );
        for (i, option) in self.options.iter().enumerate() {
            let (letter, name) = (letter(i), self.name());
            let kernel = filled(&self.kernel, &option.code).replacen(
                &format!("{ENTRY}{name}("),
                &format!("extern \"C\" {ENTRY}{name}_{letter}("),
                1,
            );
            text.push_str(&format!("\nnamespace {letter} {{\n{}\n}}\n", kernel.trim_end()));
        }
        text
    }

    /// Paths of the written-out kernel and its PTX.
    pub fn source(&self, root: &Path) -> KernelSource {
        workspace::kernel(&root.join("chapters").join(&self.chapter).join(FOLDER), &self.id)
    }

    /// The kernel's name in the listing.
    fn name(&self) -> &str {
        let rest = self.kernel.split_once(ENTRY).map_or("", |(_, rest)| rest);
        rest.split('(').next().unwrap_or_default()
    }

    fn outcome(&self, letter: char, module: &Module, text: &str) -> Result<Outcome> {
        let mut counted = None;
        for case in self.cases() {
            let Answer { row, result, expected, verdict, report, ranks, .. } = self.ran(letter, module, case)?;
            if let Some(fault) = report.faults.first() {
                let is_own = !fault.site.file.ends_with(ranks::BETWEEN);
                let line = (fault.site.line as usize).checked_sub(1).and_then(|i| text.lines().nth(i));
                let line = line.filter(|_| is_own).map(|line| format!(", in `{}`", line.trim())).unwrap_or_default();
                let text = format!("A run {} ends with `{}`{line}.", described(case), fault.code);
                return Ok(Outcome { gives: fault.code.to_string(), text, counted: None });
            }
            if !verdict.right {
                let of_row = row.map(|row| format!(" for row {row}"));
                let place = ranks.and_then(|ran| ran.place).map(|place| format!(" {}", place.words()));
                let of_row = of_row.or(place).unwrap_or_default();
                let (result, expected) = (number(result), number(expected));
                let text = format!("A run {} gives {result}{of_row} instead of {expected}.", described(case));
                return Ok(Outcome { gives: WRONG_SUM.to_owned(), text, counted: None });
            }
            counted = counted.or(report.counters);
        }
        let asked = self.fewest.as_deref().and_then(Metric::named).zip(counted.as_ref());
        let counted = asked.map(|(metric, counters)| (metric.value)(counters) as u64);
        let count = asked.map(|(metric, counters)| format!(", and `{}` is {}", metric.key, metric.display(counters)));
        let text = format!("Every run gives the right value{}.", count.unwrap_or_default());
        Ok(Outcome { gives: RIGHT.to_owned(), text, counted })
    }

    /// Every size in today's schedule, then the first under others, on each number of ranks.
    fn cases(&self) -> Vec<Case> {
        let case = |n, matrix| Case { matrix, offset: self.offset, ..Case::new(self.ty, n, self.block) };
        let matrices = self.shapes.iter().filter_map(|shape| shape.matrix().ok().flatten());
        let of_rows = matrices.map(|matrix| case(matrix.rows * matrix.cols, Some(matrix)));
        let mut cases: Vec<Case> = self.n.iter().map(|&n| case(n, None)).chain(of_rows).collect();
        if !self.ranks.is_empty() {
            cases =
                cases.iter().flat_map(|&case| self.ranks.iter().map(move |&ranks| ranks::on(ranks, case))).collect();
        }
        let count = self.ranks.len().max(1);
        let first: Vec<Case> = cases.iter().copied().take(count).collect();
        cases
            .extend(first.into_iter().flat_map(|case| schedules(SEEDS).map(move |schedule| Case { schedule, ..case })));
        cases
    }

    /// Letter of each line with a case that shows what it does: the first that fails, else the first of all.
    ///
    /// # Errors
    /// A launch that cannot start.
    pub(super) fn revealing_cases(&self, module: &Module) -> Result<Vec<(char, Case)>> {
        let mut found = Vec::new();
        for letter in (0..self.options.len()).map(letter) {
            let cases = self.cases();
            let mut shown = cases.first().copied();
            for case in cases {
                if !self.ran(letter, module, case)?.is_right() {
                    shown = Some(case);
                    break;
                }
            }
            found.extend(shown.map(|case| (letter, case)));
        }
        Ok(found)
    }

    fn ran(&self, letter: char, module: &Module, case: Case) -> Result<Answer> {
        if let Some(ranks) = case.ranks {
            return self.ran_on_ranks((letter, module), case, ranks);
        }
        lab::with_elements!(self.input.array(self.ty, case.n), values => self.run(letter, module, &values, case))
    }

    /// All calls on so many ranks. Each call takes the next numbers, and each rank of them as many as it adds.
    fn ran_on_ranks(&self, (letter, module): (char, &Module), case: Case, ranks: u32) -> Result<Answer> {
        let kernel = format!("{}_{letter}", self.name());
        let job = ranks::Job { module, kernel: &kernel, grid: self.grid, block: case.block, ranks, n: case.n };
        let options = bench::options(case.schedule, STEPS_PER_BLOCK_MAX, None);
        let numbers = self.input.array(self.ty, ranks::numbers(ranks, case.n));
        let ran = lab::with_elements!(numbers, values => {
            let at = |call, rank, i| u64::from(call * ranks + rank) * case.n + i;
            ranks::run(&job, options, |call, rank, i| values[at(call, rank, i) as usize])
        });
        Ok(Answer::for_ranks(ran?))
    }

    /// One launch.
    fn run<T: Element>(&self, letter: char, module: &Module, values: &[T], case: Case) -> Result<Answer> {
        let device = Device::open(Choice::Sim, bench::options(case.schedule, STEPS_PER_BLOCK_MAX, None))?;
        let plan = self.plan(letter, case);
        let input = runner::upload(&device, values, case.offset)?;
        let arrays = Arrays::new(&device, &plan, self.adds.then_some(self.op))?;
        let mut report = Report { counters: Some(Counters::default()), ..Report::default() };
        let pass = bench::launch(&device, module, &plan, (&input, case.offset), &arrays, &mut report)?;
        if case.matrix.is_some() {
            let results = arrays.results(&device, self.op, &plan.layout)?;
            let additions = plan.passes[pass].additions;
            return Ok(Answer::for_rows(self.op, (values, &plan.layout), results, additions, report));
        }
        let left = arrays.of(&device, pass)?;
        // The values that blocks left are reduced exactly; within a block the order is the kernel's own.
        let result = if self.is_whole() {
            self.op.result_in(&left).context("a result of too few bytes")?
        } else {
            reference_of(self.op, &T::array(left)).expected
        };
        Ok(Answer::for_array(self.op, values, result, case.n, report))
    }

    /// Returns whether a block leaves no element but a place or two numbers, so that nothing reduces it further.
    fn is_whole(&self) -> bool {
        !matches!(self.op.outcome(self.ty), lab::op::Outcome::Number(_))
    }

    /// The launch, as a plan of one pass.
    pub(super) fn plan(&self, letter: char, case: Case) -> Planned {
        let mut args = vec![Arg::Input, Arg::Sums(0)];
        match case.matrix {
            Some(matrix) => args.extend([matrix.rows, matrix.cols].map(|count| Arg::U32(count as u32))),
            None => args.push(Arg::U32(case.n as u32)),
        }
        args.extend((self.state_words > 0).then_some(Arg::State));
        let kernel = format!("{}_{letter}", self.name());
        let pass = Pass::new(kernel, self.grid.into(), case.block.into(), args);
        let (results, additions) = match case.matrix {
            Some(Matrix { rows, cols, .. }) => {
                (self.ty.holding(rows * self.op.row_bytes(self.ty)), cols.saturating_sub(1))
            }
            None if self.is_whole() => (self.ty.holding(self.op.result_bytes(self.ty)), 0),
            None => (self.grid.into(), 0),
        };
        let plan = Plan::new(vec![pass.with_additions(additions)], vec![results]).with_state_words(self.state_words);
        Planned { plan, layout: case.layout(), ..Planned::default() }
    }

    /// Checks for contradictions in the sizes to try.
    fn check_sizes(&self) -> Result<()> {
        ensure!(self.n.is_empty() || self.shapes.is_empty(), "n and shapes: a kernel takes an array or rows");
        ensure!(!(self.n.is_empty() && self.shapes.is_empty()), "no n: give the sizes to try, or shapes for rows");
        ensure!(self.shapes.is_empty() || !self.adds, "adds: rows are written, and nothing is in `out` before");
        let is_plain = !self.adds && self.shapes.is_empty() && self.state_words == 0 && self.offset == 0;
        ensure!(
            self.ranks.is_empty() || is_plain && self.op == Op::Sum,
            "a kernel on ranks adds up their arrays: leave shapes, adds, state_words, offset and op out"
        );
        let types: &[Type] = if self.ranks.is_empty() { &[] } else { &[self.ty] };
        check_each_rank(&self.ranks, types)?;
        for shape in &self.shapes {
            ensure!(shape.matrix()?.is_some(), "a shape without rows and cols");
        }
        Ok(())
    }

    /// Checks for contradictions in the file.
    pub fn check(&self) -> Result<()> {
        let blanks = self.kernel.matches(BLANK).count();
        ensure!(blanks > 0, "the kernel has no {BLANK}");
        ensure!(!self.name().is_empty(), "the kernel has no `{ENTRY}NAME(`");
        ensure!((2..=6).contains(&self.options.len()), "it has two options to six");
        let is_one = self.grid == 1 || !self.is_whole() || !self.shapes.is_empty();
        ensure!(is_one, "what several blocks find is not brought together: one block");
        self.check_sizes()?;
        ensure!((1..=1024).contains(&self.block) && self.grid > 0, "a block has 1 to 1024 threads");
        let numbers = |case: &Case| case.ranks.map_or(case.n, |ranks| ranks::numbers(ranks, case.n));
        ensure!(self.cases().iter().all(|case| self.input.has(numbers(case))), "`input` has too few numbers");
        if let Some(name) = &self.fewest {
            let is_count = Metric::named(name).is_some_and(|metric| !metric.is_ratio);
            ensure!(is_count, "`{name}` is no count: `simt::counters` has the names");
        }
        for Opt { code, gives, .. } in &self.options {
            ensure!(code.len() == blanks, "{code:?} does not fill {blanks} blanks");
            let is_known = [RIGHT, MORE, WRONG_SUM].contains(&gives.as_str()) || Code::named(gives).is_some();
            ensure!(is_known, "`{gives}`: it is {RIGHT}, {MORE}, {WRONG_SUM} or the code of a fault");
        }
        let right = self.options.iter().filter(|option| option.gives == RIGHT).count();
        ensure!(right > 0 && right < self.options.len(), "some option is right, and some is not");
        Ok(())
    }
}

/// Beginning of a kernel's head.
const ENTRY: &str = "__global__ void ";

/// A value as people read it.
fn number(value: Value) -> String {
    match value {
        Value::I32(whole) => asked::number(i64::from(whole)),
        other => other.to_string(),
    }
}

/// `a`, `b`, `c`, …
fn letter(i: usize) -> char {
    char::from(b'a' + i as u8)
}

/// The listing with its blanks filled.
fn filled(kernel: &str, code: &[String]) -> String {
    code.iter().fold(kernel.to_owned(), |text, line| text.replacen(BLANK, line, 1))
}

/// `with n = 50` or `with 3 rows of 8`, and the schedule if it is another than today's.
fn described(case: Case) -> String {
    let on = case.ranks.map(|ranks| format!(" on {ranks} ranks")).unwrap_or_default();
    let size = case.matrix.map_or_else(|| format!("n = {}{on}", case.n), rows::described);
    match case.schedule {
        TODAYS => format!("with {size}"),
        other => format!("with {size} and the schedule {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exercise::catalogue::{parse, refuses};
    use crate::exercise::item::Item;

    const SMALL: &str = r#"
        [[exercise]]
        kind = "choose"
        id = "which"
        title = "t"
        question = "q"
        hints = ["h"]
        kernel = "__global__ void sum(const int* in, int* out, unsigned n) { ____; }"
        n = [8]
        block = 32
        [[exercise.option]]
        code = ["out[0] = 1"]
        gives = "wrong-sum"
        why = "w"
        [[exercise.option]]
        code = ["out[0] = 36"]
        gives = "right"
        why = "w"
    "#;

    #[test]
    fn every_line_gets_a_kernel_of_its_own() {
        let items = parse(SMALL, "ch01-a").unwrap();
        let [Item::Choose(choose)] = items.as_slice() else { panic!("no choose") };
        let text = choose.written_out();
        assert!(text.contains("namespace a {\nextern \"C\" __global__ void sum_a(const int* in, int* out, unsigned n) { out[0] = 1; }\n}"), "{text}");
        assert!(text.contains("void sum_b(") && text.contains("{ out[0] = 36; }"), "{text}");
        assert_eq!(choose.source(Path::new("r")).cu, Path::new("r/chapters/ch01-a/choices/which.cu"));
        assert_eq!(choose.cases().len(), 6);
    }

    #[test]
    fn what_is_impossible_is_named() {
        refuses(
            SMALL,
            &[
                ("____", "out[0] = 2", "the kernel has no ____"),
                ("__global__", "__device__", "the kernel has no `__global__ void NAME(`"),
                ("\"right\"", "\"wrong-sum\"", "some option is right"),
                ("\"wrong-sum\"", "\"wrong\"", "`wrong`: it is right"),
                ("[\"out[0] = 1\"]", "[]", "does not fill 1 blanks"),
                ("block = 32", "block = 2048", "1 to 1024 threads"),
                ("n = [8]", "", "give the sizes to try, or shapes for rows"),
                ("n = [8]", "n = [8]\nshapes = [{ rows = 1, cols = 8 }]", "takes an array or rows"),
                ("n = [8]", "shapes = [{ rows = 8 }]", "rows without cols"),
                ("n = [8]", "shapes = [{}]", "a shape without rows and cols"),
                ("n = [8]", "adds = true\nshapes = [{ rows = 1, cols = 8 }]", "rows are written"),
            ],
        );
    }
}
