//! The lab of the page about the library: the call of its first example, as the library plans it for the card that the simulator is.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use device::card::H200;
use lab::{Chapter, Layout, Op, Planned, Type};
use reduction::Reduction;

use super::{Case, Entry, Opening};
use crate::workspace;

/// The example.
const FILE: &str = "crates/reduction/examples/01-sum.rs";
/// Its elements, all of them alike.
const N: u64 = 20_003;
const FILL: f64 = 0.5;

/// Slug of the page.
pub const SLUG: &str = "in-your-own-program";

/// First view: the run of the example, when a block's sum has come.
pub const OPENING: Opening =
    Opening { schedule: "independent", at: Some("message"), ..super::opening(SLUG, "single_pass_f32", N, 128) };

/// The one launch of the example's plan.
///
/// # Errors
/// A plan that no longer is one launch of the chapter's variant `single_pass`.
pub fn entries(chapter: &Chapter) -> Result<Vec<Entry<'_>>> {
    let problem = reduction::Problem::new(Op::Sum, Type::F32, N, reduction::Layout::Array, &H200);
    let plan = Reduction::new(&problem)?.plan().clone();
    let variant = chapter.variants.iter().find(|variant| variant.name == "single_pass").context("no single_pass")?;
    let pass = plan.passes.first().context("the example's plan has no launch")?;
    ensure!(
        pass.kernel.starts_with("single_pass"),
        "the first example launches {}, not chapter 8's kernel",
        pass.kernel
    );
    let block = pass.block();
    let plan = Planned { layout: Layout::Array, ..Planned::from(plan) };
    let case = Case { n: N, block, grid: None, plan, fill: Some(FILL) };
    Ok(vec![Entry { name: OPENING.variant.to_owned(), variant, ty: Type::F32, op: Op::Sum, cases: vec![case] }])
}

/// The lines of the example that make its input, its plan and its call.
///
/// # Errors
/// An example that cannot be read, or does not call what the lab runs.
pub fn lines(root: &Path) -> Result<String> {
    lines_of(&workspace::read(root, FILE)?)
}

fn lines_of(text: &str) -> Result<String> {
    let line = |begins: &str| {
        let found = text.lines().map(str::trim).find(|line| line.starts_with(begins));
        found.with_context(|| format!("{FILE}: no line begins with `{begins}`"))
    };
    let (input, plan, call) = (line("let input")?, line("let plan")?, line("plan.call")?);
    let of_lab = format!("vec![{FILL:?}f32; {}_{:03}]", N / 1000, N % 1000);
    ensure!(input.contains(&of_lab), "{FILE}: its input is not `{of_lab}`, which the lab of {SLUG} runs over");
    ensure!(
        plan.contains("Op::Sum, Type::F32") && plan.contains("Layout::Array"),
        "{FILE}: its plan is not the sum of floats that the lab of {SLUG} runs"
    );
    Ok([input, plan, call].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{PAGES, page_lab};

    #[test]
    fn the_lab_runs_what_the_example_calls() {
        let root = workspace::root().unwrap();
        let page = PAGES.iter().find(|page| page.slug == SLUG).unwrap();
        let (data, request) = page_lab(page, &root).unwrap();
        let text = std::fs::read_to_string(root.join(FILE)).unwrap();
        let call = data["call"].as_str().unwrap();
        assert!(call.lines().count() == 3 && call.lines().all(|line| text.contains(line)), "{call}");
        let problem = reduction::Problem::new(Op::Sum, Type::F32, N, reduction::Layout::Array, &H200);
        let plan = Reduction::new(&problem).unwrap().plan().clone();
        let launches = request["launches"].as_array().unwrap();
        assert_eq!((launches.len(), plan.passes.len()), (1, 1));
        assert_eq!(launches[0]["kernel"], plan.passes[0].kernel);
        assert_eq!(launches[0]["grid"][0], plan.grid());
        assert_eq!(request["buffers"][0], "in=f32[20003]:const(0.5)");
    }

    #[test]
    fn another_example_is_refused() {
        let text = "let input = of(vec![0.5f32; 20_003]);\nlet plan = plan(Op::Sum, Type::F32, n, Layout::Array);\nplan.call();";
        assert!(lines_of(text).is_ok());
        for (from, to) in [("20_003", "20_004"), ("0.5f32", "1.5f32"), ("Op::Sum", "Op::Max"), ("plan.call", "call")] {
            assert!(lines_of(&text.replace(from, to)).is_err(), "{to}");
        }
    }
}
