//! The chapter on softmax: its operations at the shapes of the chapter on rows, until the time is up.

use anyhow::Result;
use device::KernelSource;
use lab::Type;
use lab::element::Element;
use lab::measurement::{SOFTMAX, shapes};

use super::Suite;
use crate::measure::limits;
use crate::measure::pool::Pool;
use crate::measure::softmax::{self, Copying, Logit, TASKS, Task};

/// Elements of the array that the ceiling of copying is taken from.
const CEILING_N: u64 = 1 << 28;

impl Suite<'_> {
    /// In the order of [`TASKS`]. What the time was not enough for is told, and is not in the record.
    pub(super) fn softmax(&mut self, source: &KernelSource) -> Result<()> {
        self.operators_ceiling()?;
        let copying = Copying::new(&self.bench.device, source);
        let Some(mut copying) = self.attempt("what copies and compares", copying)? else { return Ok(()) };
        self.copy_ceiling(&copying)?;
        let shapes = shapes();
        let mut left_out = Vec::new();
        // Numbers of one type at a time lie on the device.
        let (mut f32, mut bf16) = (None, None);
        for (op, ty) in TASKS {
            let is_asked =
                self.options.types.contains(&ty) && (self.options.ops.is_empty() || self.options.ops.contains(&op));
            if !is_asked {
                continue;
            }
            let tasks: Vec<Task> = shapes.iter().map(|&(rows, cols)| Task { op, rows, cols }).collect();
            left_out.extend(match ty {
                Type::BF16 => self.softmax_of::<half::bf16>(&mut bf16, &mut copying, &tasks)?,
                _ => self.softmax_of::<f32>(&mut f32, &mut copying, &tasks)?,
            });
        }
        if !left_out.is_empty() {
            self.say(&format!("the time is up; left out: {}", left_out.join(", ")));
        }
        Ok(())
    }

    fn copy_ceiling(&mut self, copying: &Copying) -> Result<()> {
        let pool = Pool::<i32>::new(&self.bench.device, CEILING_N)?;
        let ceiling = limits::copy_ceiling(&self.bench, copying, &pool, CEILING_N);
        self.record.copy_ceiling = self.attempt("ceiling of copying", ceiling)?.unwrap_or_default();
        let best = self.record.copy_ceiling.iter().map(|point| point.gb_per_s).max_by(f64::total_cmp);
        self.record.copy_ceiling_gb_per_s = best;
        Ok(())
    }

    /// These tasks of one type, whose numbers are made when they are first needed; gives back those that the time was not enough
    /// for.
    pub(super) fn softmax_of<T: Logit>(
        &mut self,
        pool: &mut Option<Pool<T>>,
        copying: &mut Copying,
        tasks: &[Task],
    ) -> Result<Vec<String>> {
        for (i, task) in tasks.iter().enumerate() {
            if self.is_late() {
                return Ok(tasks[i..].iter().map(|task| format!("{task} {}", T::NAME)).collect());
            }
            if pool.is_none() {
                self.say(&format!("{}: making numbers", T::NAME));
                let made = softmax::pool::<T>(&self.bench.device, tasks);
                *pool = self.attempt("input", made)?;
            }
            let Some(pool) = pool.as_ref() else { return Ok(Vec::new()) };
            self.one_softmax(pool, copying, task)?;
        }
        Ok(Vec::new())
    }

    fn one_softmax<T: Element>(&mut self, pool: &Pool<T>, copying: &mut Copying, task: &Task) -> Result<()> {
        let Some(session) = self.sessions.iter().find(|session| session.chapter.slug == SOFTMAX) else { return Ok(()) };
        let what = format!("{task} {}", T::NAME);
        let measured = softmax::contest(&self.bench, session, copying, pool, task);
        let Some(case) = self.attempt(&what, measured)?.flatten() else { return Ok(()) };
        let beside = self.record.cases.iter().filter(|other| softmax::is_beside(other, &case));
        let best = beside.filter_map(|other| other.cold_us).min_by(f64::total_cmp);
        let told = case.cold_us.map_or(String::new(), |us| match best {
            Some(best) => format!(" {us:.2} ({:.2}x)", best / us),
            None => format!(" {us:.2}"),
        });
        self.say(&format!("{what}:{told}{}", if case.ok { "" } else { " WRONG" }));
        self.take(vec![case], None);
        self.save()
    }
}
