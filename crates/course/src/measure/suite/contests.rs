//! The contests of single chapters, `chapters/<slug>/contest.json`: what each measures first and what then, until the time is up.

use std::fmt::Display;

use anyhow::Result;
use device::{KernelSource, Module};
use lab::element::Element;
use lab::measurement::{CeilingPoint, ENTRANT};
use lab::{Array, Op, Type};
use report::{ContestTable, Over};

use super::Suite;
use crate::measure::bench::Bench;
use crate::measure::matrices::Copying;
use crate::measure::pool::Pool;
use crate::measure::task::{RAGGED_SIZE, Task, summary};
use crate::measure::{arrays, limits, matrices, rows};

/// Elements of the array that ceilings are taken from.
const CEILING_N: u64 = 1 << 28;
/// Tasks of up to so many elements share the arrays they read.
const SHARED_N: u64 = 1 << 26;
/// A slice begins at a multiple of so many elements, so that ragged ends need a little more.
const ROOM: u64 = 1 << 25;

impl Suite<'_> {
    /// In the order of the table. What the time was not enough for is named, and is not in the record.
    pub(super) fn contest(&mut self, table: &ContestTable, source: &KernelSource) -> Result<()> {
        if self.record.ceiling.is_empty() {
            let pool = Pool::<i32>::new(&self.bench.device, CEILING_N)?;
            let ceiling = self.alone(|| limits::ceiling(&self.bench, &pool, CEILING_N));
            self.record.ceiling = self.attempt("read ceiling", ceiling)?.unwrap_or_default();
            self.record.read_ceiling_gb_per_s = fastest(&self.record.ceiling);
        }
        match table.over {
            Over::Arrays => self.arrays(table)?,
            Over::Rows => self.rows(table)?,
            Over::Matrices => self.matrices(table, source)?,
        }
        if !self.left_out.is_empty() {
            self.say(&format!("the time is up; left out: {}", self.left_out.join(", ")));
            self.left_out.clear();
        }
        Ok(())
    }

    fn arrays(&mut self, table: &ContestTable) -> Result<()> {
        for task in &table.tasks {
            let is_asked = |op: &&Op| self.options.asks_for(**op, task.ty);
            let ops: Vec<Op> = task.ops.iter().filter(is_asked).copied().collect();
            lab::with_type!(task.ty, T => self.arrays_of::<T>(table, &ops)?);
        }
        Ok(())
    }

    /// These operators of one type, each at every size.
    fn arrays_of<T: Element>(&mut self, table: &ContestTable, ops: &[Op]) -> Result<()> {
        let sizes = arrays::sizes(self.options.quick);
        let n_max = *sizes.last().unwrap_or(&1);
        let mut shared = None;
        self.each::<T, _>(ops, |suite, &op| {
            // Factors are numbers of their own.
            let mut own = None;
            let pool = if op == Op::Prod { &mut own } else { &mut shared };
            let Some(pool) = suite.numbers::<T, _>(pool, |bench| arrays::pool::<T>(&bench.device, op, n_max))? else {
                return Ok(());
            };
            let mut line = String::new();
            for &n in &sizes {
                let task = Task::array(&table.variant, op, n);
                let measured =
                    arrays::contest(&suite.bench, &|slug| suite.session(slug), &suite.libraries, pool, (table, &task));
                let cases = suite.attempt(&format!("{task} {}", T::NAME), measured)?.unwrap_or_default();
                if n.is_power_of_two() {
                    line += &summary(cases.iter());
                }
                suite.take(cases, None);
            }
            suite.say(&format!("{op} {}:{line}", T::NAME));
            suite.save()
        })
    }

    /// The first operation of the first type with all that is measured of it alone, then the others; what does not share its
    /// arrays comes last.
    fn rows(&mut self, table: &ContestTable) -> Result<()> {
        let (small, large): (Vec<_>, Vec<_>) = table.shapes.iter().partition(|&&(rows, cols)| rows * cols <= SHARED_N);
        let of = |op: Op, shapes: &[(u64, u64)]| {
            shapes.iter().map(|&shape| Task::matrix(&table.variant, op, shape)).collect::<Vec<_>>()
        };
        let columns = |shapes: &[(u64, u64)]| shapes.iter().map(|&shape| Task::columns(shape)).collect::<Vec<_>>();
        let all = |ops: &[Op], shapes: &[(u64, u64)]| ops.iter().flat_map(|&op| of(op, shapes)).collect::<Vec<_>>();
        let mut ragged = self.attempt("ragged rows", Task::ragged(RAGGED_SIZE))?.unwrap_or_default();
        ragged.retain(|task| task.n <= SHARED_N + ROOM);
        for (i, task) in table.tasks.iter().enumerate() {
            let Some((&first, others)) = task.ops.split_first() else { continue };
            let tasks = if i == 0 {
                [of(first, &small), ragged.clone(), of(first, &table.drawn), columns(&small), all(others, &small)]
                    .concat()
            } else {
                [all(&task.ops, &small), columns(&small)].concat()
            };
            lab::with_type!(task.ty, T => self.rows_of::<T>(table, &tasks)?);
        }
        for task in &table.tasks {
            let tasks = [all(&task.ops, &large), columns(&large)].concat();
            lab::with_type!(task.ty, T => self.rows_of::<T>(table, &tasks)?);
        }
        Ok(())
    }

    /// These tasks of one type, which share their numbers.
    pub(super) fn rows_of<T: Element>(&mut self, table: &ContestTable, tasks: &[Task]) -> Result<()> {
        let tasks: Vec<&Task> = tasks.iter().filter(|task| self.options.asks_for(task.op, T::TYPE)).collect();
        let n_max = tasks.iter().map(|task| task.n).max().unwrap_or(1);
        let mut pool = None;
        self.each::<T, _>(&tasks, |suite, task| {
            let pool = suite.numbers::<T, _>(&mut pool, |bench| Pool::<T>::new(&bench.device, n_max))?;
            let Some((pool, session)) = pool.as_ref().zip(suite.session(&table.chapter)) else { return Ok(()) };
            let measured = rows::contest(&suite.bench, session, &suite.libraries, pool, (table, task));
            let what = format!("{task} {}", T::NAME);
            let cases = suite.attempt(&what, measured)?.unwrap_or_default();
            suite.say(&format!("{what}:{}", summary(cases.iter())));
            suite.take(cases, None);
            suite.save()
        })
    }

    fn matrices(&mut self, table: &ContestTable, source: &KernelSource) -> Result<()> {
        let copying = Copying::new(&self.bench.device, source);
        let Some(mut copying) = self.attempt("what copies and compares", copying)? else { return Ok(()) };
        if self.record.copy_ceiling.is_empty() {
            let pool = Pool::<i32>::new(&self.bench.device, CEILING_N)?;
            let ceiling = self.alone(|| limits::copy_ceiling(&self.bench, &copying, &pool, CEILING_N));
            self.record.copy_ceiling = self.attempt("ceiling of copying", ceiling)?.unwrap_or_default();
            self.record.copy_ceiling_gb_per_s = fastest(&self.record.copy_ceiling);
        }
        let losses = self.losses(table, source);
        let losses = self.attempt("the library's losses", losses)?.flatten();
        let mut numbers = Vec::new();
        for (shapes, pairs) in table.stages() {
            for (op, ty) in pairs.into_iter().filter(|&(op, ty)| self.options.asks_for(op, ty)) {
                let new = shapes.iter().filter(|&&shape| !self.has_measured(table, (op, ty), shape));
                let tasks: Vec<Task> = new.map(|&shape| Task::matrix(&table.variant, op, shape)).collect();
                lab::with_type!(ty, T => {
                    self.compile_ahead::<T>(table, &tasks)?;
                    self.matrices_of::<T>(table, &mut numbers, (&mut copying, losses.as_ref()), &tasks)?;
                });
            }
        }
        Ok(())
    }

    /// The kernels of the library's losses, which are compiled by the driver: there is no line that makes one of them.
    pub(super) fn losses(&self, table: &ContestTable, source: &KernelSource) -> Result<Option<Module>> {
        let is_asked = table.pairs().any(|(op, ty)| op == Op::CrossEntropyBackward && self.options.asks_for(op, ty));
        if !is_asked || self.is_late() {
            return Ok(None);
        }
        Ok(Some(self.bench.device.load_with(&KernelSource::in_root(source.root(), &table.chapter), &[])?))
    }

    /// Returns whether a record that was taken in has this case of ours.
    fn has_measured(&self, table: &ContestTable, (op, ty): (Op, Type), (rows, cols): (u64, u64)) -> bool {
        self.record.cases.iter().any(|case| {
            (case.entrant.as_str(), case.op(), case.ty.as_str()) == (ENTRANT, op.name(), ty.name())
                && (case.chapter.as_ref(), case.rows, case.cols) == (Some(&table.chapter), Some(rows), Some(cols))
        })
    }

    /// Compiles the kernels of these tasks, if there is time for one of them.
    fn compile_ahead<T: Element>(&mut self, table: &ContestTable, tasks: &[Task]) -> Result<()> {
        let Some(session) = self.session(&table.chapter).filter(|_| !self.is_late()) else { return Ok(()) };
        let Some(variant) = session.chapter.variant(&table.variant) else { return Ok(()) };
        let plans = tasks.iter().filter_map(|task| session.plan(variant, T::TYPE, task.n, task.options()).ok());
        let compiled = session.compile_ahead(variant, &plans.collect::<Vec<_>>());
        self.attempt("compiling ahead", compiled.map_err(Into::into)).map(drop)
    }

    /// These tasks of one type, whose numbers are made when they are first needed.
    pub(super) fn matrices_of<T: Element>(
        &mut self,
        table: &ContestTable,
        numbers: &mut Vec<Array>,
        (copying, losses): (&mut Copying, Option<&Module>),
        tasks: &[Task],
    ) -> Result<()> {
        self.each::<T, _>(tasks, |suite, task| {
            if !numbers.iter().any(|array| array.ty() == T::TYPE) {
                suite.say(&format!("{}: making numbers", T::NAME));
                // Other operations and shapes come later, and some take two matrices.
                let all = table.shapes.iter().chain(&table.models).chain(&table.drawn);
                let tasks = all.map(|&shape| Task::matrix(&table.variant, Op::Sum, shape)).chain(tasks.iter().cloned());
                let most = tasks.map(|task| task.second() + task.n).max().unwrap_or(1);
                numbers.push(T::array(matrices::numbers::<T>(most)));
            }
            let Some(numbers) = numbers.iter().find_map(T::slice) else { return Ok(()) };
            let Some(session) = suite.session(&table.chapter) else { return Ok(()) };
            let what = format!("{task} {}", T::NAME);
            let measured = suite.alone(|| matrices::contest(&suite.bench, session, (copying, losses), (numbers, task)));
            let cases = suite.attempt(&what, measured)?.unwrap_or_default();
            let Some(first) = cases.first() else { return Ok(()) };
            let all = matrices::beside(&suite.record.cases, first).chain(&cases);
            suite.say(&format!("{what}:{}", summary(all)));
            suite.take(cases, None);
            suite.save()
        })
    }

    /// Numbers that are made once and then shared, in `made`; none where that failed before.
    fn numbers<'p, T: Element, P>(
        &mut self,
        made: &'p mut Option<Option<P>>,
        make: impl FnOnce(&Bench) -> Result<P>,
    ) -> Result<&'p Option<P>> {
        if made.is_none() {
            self.say(&format!("{}: making numbers", T::NAME));
            let numbers = make(&self.bench);
            *made = Some(self.attempt("input", numbers)?);
        }
        Ok(made.get_or_insert(None))
    }

    fn is_late(&self) -> bool {
        self.options.seconds.is_some_and(|seconds| self.begin.elapsed().as_secs() >= seconds)
    }

    /// One after the other; those that the time is not enough for are left out.
    fn each<T: Element, U: Display>(
        &mut self,
        units: &[U],
        mut one: impl FnMut(&mut Self, &U) -> Result<()>,
    ) -> Result<()> {
        for (i, unit) in units.iter().enumerate() {
            if self.is_late() {
                self.left_out.extend(units[i..].iter().map(|unit| format!("{unit} {}", T::NAME)));
                return Ok(());
            }
            one(self, unit)?;
        }
        Ok(())
    }
}

fn fastest(ceiling: &[CeilingPoint]) -> Option<f64> {
    ceiling.iter().map(|point| point.gb_per_s).max_by(f64::total_cmp)
}
