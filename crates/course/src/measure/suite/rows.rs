//! The chapter on rows: its shapes by each of its operators, columns, ragged rows and shapes drawn at random, beside the
//! libraries, until the time is up.

use anyhow::Result;
use lab::element::Element;
use lab::{Op, Type};
use report::{ROWS, random_shapes, shapes};

use super::Suite;
use crate::measure::pool::Pool;
use crate::measure::rows::{self, OPS, Task};

/// Tasks of up to so many elements share the arrays they read.
const SHARED_N: u64 = 1 << 26;
/// A slice begins at a multiple of so many elements, so that ragged ends need a little more.
const ROOM: u64 = 1 << 25;

impl Suite<'_> {
    /// First sums of floats, then the other operators and types. What the time was not enough for is told, and is not in the
    /// record.
    pub(super) fn rows(&mut self) -> Result<()> {
        self.operators_ceiling()?;
        let (small, large): (Vec<_>, Vec<_>) = shapes().into_iter().partition(|(rows, cols)| rows * cols <= SHARED_N);
        let of = |op: Op, shapes: &[(u64, u64)]| shapes.iter().map(|&shape| Task::rows(op, shape)).collect::<Vec<_>>();
        let columns = |shapes: &[(u64, u64)]| shapes.iter().map(|&shape| Task::columns(shape)).collect::<Vec<_>>();
        let all = |shapes: &[(u64, u64)]| OPS.map(|op| of(op, shapes)).concat();
        let ragged = self.attempt("ragged rows", Task::all_ragged())?.unwrap_or_default();
        let is_beside = |task: &Task| task.n() <= SHARED_N + ROOM;
        let floats = [of(Op::Sum, &small), ragged, of(Op::Sum, &random_shapes()), columns(&small)].concat();
        let floats: Vec<Task> =
            floats.into_iter().chain(all(&small)[small.len()..].to_vec()).filter(is_beside).collect();
        let halves = [all(&small), columns(&small)].concat();
        let mut left_out = Vec::new();
        for ty in self.options.types.clone() {
            match ty {
                Type::F32 => left_out.extend(self.rows_of::<f32>(&floats)?),
                Type::BF16 => left_out.extend(self.rows_of::<half::bf16>(&halves)?),
                _ => self.say(&format!("{ty}: rows are measured in f32 and bf16")),
            }
        }
        let largest = [all(&large), columns(&large)].concat();
        for ty in self.options.types.clone() {
            match ty {
                Type::F32 => left_out.extend(self.rows_of::<f32>(&largest)?),
                Type::BF16 => left_out.extend(self.rows_of::<half::bf16>(&largest)?),
                _ => {}
            }
        }
        if !left_out.is_empty() {
            self.say(&format!("the time is up; left out: {}", left_out.join(", ")));
        }
        Ok(())
    }

    /// These tasks of one type; gives back those that the time was not enough for.
    pub(super) fn rows_of<T: Element>(&mut self, tasks: &[Task]) -> Result<Vec<String>> {
        let named = |tasks: &[Task]| tasks.iter().map(|task| format!("{task} {}", T::NAME)).collect::<Vec<_>>();
        let is_asked = |task: &&Task| self.options.ops.is_empty() || self.options.ops.contains(&task.op);
        let tasks: Vec<Task> = tasks.iter().filter(is_asked).copied().collect();
        if tasks.is_empty() || self.is_late() {
            return Ok(named(&tasks));
        }
        self.say(&format!("{}: making numbers", T::NAME));
        let pool = rows::pool::<T>(&self.bench.device, &tasks);
        let Some(pool) = self.attempt("input", pool)? else { return Ok(Vec::new()) };
        for (i, task) in tasks.iter().enumerate() {
            if self.is_late() {
                return Ok(named(&tasks[i..]));
            }
            self.one_task(&pool, task)?;
        }
        Ok(Vec::new())
    }

    fn one_task<T: Element>(&mut self, pool: &Pool<T>, task: &Task) -> Result<()> {
        let Some(session) = self.sessions.iter().find(|session| session.chapter.slug == ROWS) else { return Ok(()) };
        let measured = rows::contest(&self.bench, session, &self.libraries, pool, task);
        let what = format!("{task} {}", T::NAME);
        let cases = self.attempt(&what, measured)?.unwrap_or_default();
        self.say(&format!("{what}:{}", rows::told(&cases)));
        self.take(cases, None);
        self.save()
    }
}
