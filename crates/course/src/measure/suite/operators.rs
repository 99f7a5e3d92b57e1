//! The chapter on operators: every one of its operators and types, beside the libraries, until the time is up.

use anyhow::Result;
use lab::Op;
use lab::element::Element;
use report::OPERATORS;

use super::Suite;
use crate::measure::limits;
use crate::measure::operators;
use crate::measure::pool::Pool;

/// Elements of the array that the read ceiling is taken from.
const CEILING_N: u64 = 1 << 28;

impl Suite<'_> {
    /// Those that the page's tables show first, of every type; then the others, of every type. Types in the order of the
    /// command line. What the time was not enough for is told, and is not in the record.
    pub(super) fn operators(&mut self) -> Result<()> {
        self.operators_ceiling()?;
        let mut left_out = Vec::new();
        for is_headline in [true, false] {
            for &ty in &self.options.types {
                let is_asked = |op: &Op| self.options.ops.is_empty() || self.options.ops.contains(op);
                let ops = operators::of_type(ty, is_headline).into_iter().filter(is_asked).collect::<Vec<_>>();
                let left = lab::with_type!(ty, T => self.operators_of::<T>(&ops)?);
                left_out.extend(left.iter().map(|op| format!("{op} {ty}")));
            }
        }
        if !left_out.is_empty() {
            self.say(&format!("the time is up; left out: {}", left_out.join(", ")));
        }
        Ok(())
    }

    /// How fast memory can be read, if the record does not say so yet.
    pub(super) fn operators_ceiling(&mut self) -> Result<()> {
        if self.record.ceiling.is_empty() {
            let pool = Pool::<i32>::new(&self.bench.device, CEILING_N)?;
            let ceiling = limits::ceiling(&self.bench, &pool, CEILING_N);
            self.record.ceiling = self.attempt("read ceiling", ceiling)?.unwrap_or_default();
            let best = self.record.ceiling.iter().map(|point| point.gb_per_s).max_by(f64::total_cmp);
            self.record.read_ceiling_gb_per_s = best;
        }
        Ok(())
    }

    /// These operators of one type; gives back those that the time was not enough for.
    fn operators_of<T: Element>(&mut self, ops: &[Op]) -> Result<Vec<Op>> {
        if ops.is_empty() || self.is_late() {
            return Ok(ops.to_vec());
        }
        let sizes = operators::sizes(self.options.quick);
        let n_max = *sizes.last().unwrap_or(&1);
        self.say(&format!("{}: making numbers", T::NAME));
        let pool = operators::pool::<T>(&self.bench.device, Op::Sum, n_max);
        let Some(pool) = self.attempt("input", pool)? else { return Ok(Vec::new()) };
        for (i, &op) in ops.iter().enumerate() {
            if self.is_late() {
                return Ok(ops[i..].to_vec());
            }
            self.one_operator(&pool, op, &sizes)?;
        }
        Ok(Vec::new())
    }

    /// One operator at every size.
    fn one_operator<T: Element>(&mut self, pool: &Pool<T>, op: Op, sizes: &[u64]) -> Result<()> {
        let n_max = *sizes.last().unwrap_or(&1);
        let own = if op == Op::Prod { Some(operators::pool::<T>(&self.bench.device, op, n_max)?) } else { None };
        let pool = own.as_ref().unwrap_or(pool);
        let mut told = String::new();
        for &n in sizes {
            let Some(session) = self.sessions.iter().find(|session| session.chapter.slug == OPERATORS) else {
                return Ok(());
            };
            let measured = operators::contest(&self.bench, session, &self.libraries, pool, op, n);
            let cases = self.attempt(&format!("{op} {} n = {n}", T::NAME), measured)?.unwrap_or_default();
            if n.is_power_of_two() {
                told += &operators::told(&cases);
            }
            self.take(cases, None);
        }
        self.say(&format!("{op} {}:{told}", T::NAME));
        self.save()
    }

    /// Whether nothing more is begun.
    pub(super) fn is_late(&self) -> bool {
        self.options.seconds.is_some_and(|seconds| self.begin.elapsed().as_secs() >= seconds)
    }
}
