//! Gradients of a cross-entropy from the logarithms that a forward pass has saved, as the libraries of others make them, by the
//! kernels of ours: the chapter's find the logarithms anew.

use anyhow::{Context, Result};
use device::{Arg, Buffer, Call, Device, Module};
use lab::element::Element;
use lab::runner::{self, Arrays};
use lab::{Matrix, Planned};
use reduction::{CrossEntropy, LossReduction, Role};

use super::matrices::set_operand;
use super::task::Task;

/// Roundings that a saved logarithm adds: of a size up to 32 it is off by half of its last place, and so is what is left of a logit.
const ROUNDINGS: u64 = 64;

/// Launches from saved logarithms, which are there.
pub struct Saved<'m> {
    module: &'m Module,
    /// The launches.
    pub plan: Planned,
    /// Roundings on the longest path to a gradient, those to the logarithms among them.
    pub additions: u64,
    logs: Buffer<f32>,
}

impl<'m> Saved<'m> {
    /// Runs the forward pass over the matrix of a task, with the labels of `anew`, the plan that finds the logarithms itself.
    ///
    /// # Errors
    /// A plan that the library refuses, memory that does not suffice.
    pub fn new<T: Element>(
        device: &Device,
        module: &'m Module,
        task: &Task,
        (input, anew): (&Buffer<T>, &Planned),
    ) -> Result<Saved<'m>> {
        let matrix = Matrix::dense(task.shape().0, task.shape().1);
        let planned = |loss: CrossEntropy| -> Result<Planned> {
            let mut loss = loss.with_reduction(LossReduction::None).with_logsumexp();
            (loss.label_bits, loss.one_gradient) = (anew.targets.label_bits(), anew.targets.has_one_gradient());
            let reduction = loss.reduction(device.card()).context("saved logarithms")?;
            Ok(Planned { plan: reduction.plan().clone(), layout: anew.layout, targets: anew.targets, written: "" })
        };
        let forward = planned(CrossEntropy::forward(T::TYPE, matrix))?;
        let plan = planned(CrossEntropy::backward(T::TYPE, matrix))?;
        let logs = device.alloc("logsumexp", matrix.rows as usize)?;
        let losses = Arrays::new(device, &forward, None)?;
        let additions = forward.additions() + plan.additions() + ROUNDINGS;
        let saved = Saved { module, plan, additions, logs };
        saved.calls_of(&forward, input, &losses)?.iter().try_for_each(|call| device.launch(call).map(drop))?;
        Ok(saved)
    }

    /// The launches over a matrix with the same numbers.
    ///
    /// # Errors
    /// None so far.
    pub fn calls<'a, T: Element>(&'a self, input: &'a Buffer<T>, arrays: &'a Arrays<T>) -> Result<Vec<Call<'a>>> {
        self.calls_of(&self.plan, input, arrays)
    }

    fn calls_of<'a, T: Element>(
        &'a self,
        plan: &'a Planned,
        input: &'a Buffer<T>,
        arrays: &'a Arrays<T>,
    ) -> Result<Vec<Call<'a>>> {
        let mut calls = runner::calls(&|_| Ok(self.module), plan, (input, 0), arrays)?;
        set_operand(&mut calls, plan, lab::Arg::Operand(Role::Logsumexp), || Arg::Address(&self.logs, 0));
        Ok(calls)
    }
}
