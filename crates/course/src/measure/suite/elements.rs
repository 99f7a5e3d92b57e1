//! The chapters on softmax and on norms: their operations at the shapes of the chapter on rows, until the time is up.

use anyhow::Result;
use device::KernelSource;
use lab::Type;
use lab::element::Element;
use report::shapes;

use super::Suite;
use crate::measure::elements::{self, Copying, Family, Logit, Task};
use crate::measure::limits;
use crate::measure::pool::Pool;

/// Elements of the array that the ceiling of copying is taken from.
const CEILING_N: u64 = 1 << 28;

impl Suite<'_> {
    /// In the family's order. What the time was not enough for is told, and is not in the record.
    pub(super) fn elements(&mut self, family: &Family, source: &KernelSource) -> Result<()> {
        self.operators_ceiling()?;
        let copying = Copying::new(&self.bench.device, source);
        let Some(mut copying) = self.attempt("what copies and compares", copying)? else { return Ok(()) };
        if self.record.copy_ceiling.is_empty() {
            self.copy_ceiling(&copying)?;
        }
        let mut left_out = Vec::new();
        let (mut f32, mut bf16) = (Vec::new(), Vec::new());
        for &(op, ty) in family.tasks {
            let is_asked =
                self.options.types.contains(&ty) && (self.options.ops.is_empty() || self.options.ops.contains(&op));
            if !is_asked {
                continue;
            }
            let tasks: Vec<Task> = shapes().into_iter().map(|(rows, cols)| Task { op, rows, cols }).collect();
            left_out.extend(match ty {
                Type::BF16 => self.elements_of::<half::bf16>(family, &mut bf16, &mut copying, &tasks)?,
                _ => self.elements_of::<f32>(family, &mut f32, &mut copying, &tasks)?,
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
    pub(super) fn elements_of<T: Logit>(
        &mut self,
        family: &Family,
        numbers: &mut Vec<T>,
        copying: &mut Copying,
        tasks: &[Task],
    ) -> Result<Vec<String>> {
        for (i, task) in tasks.iter().enumerate() {
            if self.is_late() {
                return Ok(tasks[i..].iter().map(|task| format!("{task} {}", T::NAME)).collect());
            }
            if numbers.is_empty() {
                self.say(&format!("{}: making numbers", T::NAME));
                *numbers = elements::numbers(tasks);
            }
            self.one_matrix(family, copying, (numbers, task))?;
        }
        Ok(Vec::new())
    }

    fn one_matrix<T: Element>(&mut self, family: &Family, copying: &mut Copying, of: (&[T], &Task)) -> Result<()> {
        let Some(session) = self.sessions.iter().find(|session| session.chapter.slug == family.chapter) else {
            return Ok(());
        };
        let what = format!("{} {}", of.1, T::NAME);
        let measured = elements::contest(&self.bench, session, family, copying, of);
        let Some(case) = self.attempt(&what, measured)?.flatten() else { return Ok(()) };
        let beside = self.record.cases.iter().filter(|other| elements::is_beside(other, &case));
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
