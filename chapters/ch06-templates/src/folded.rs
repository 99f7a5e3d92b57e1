//! The compiler's result for each block size: the length of an instance, the instructions that one full block of it executes, and
//! the lines that are left of chapter 5's loop.

use lab::text::grouped;
use lab::{Job, KernelSource, LaunchOptions, Note, Op, Result, Simulator, Type, Variant, input};

use crate::CHAPTER;

/// One note a variant, with the facts of each block size; the excerpts of PTX are with the first one's.
pub(crate) fn notes(session: &dyn Simulator) -> Result<Vec<Note>> {
    let mut notes =
        CHAPTER.variants.iter().map(|variant| variant_note(session, variant)).collect::<Result<Vec<Note>>>()?;
    if let Some(first) = notes.first_mut() {
        first.facts.extend(excerpts(session));
    }
    Ok(notes)
}

/// Block sizes that a variant has an instance for.
fn block_sizes(variant: &Variant) -> Vec<u32> {
    (0..=10).map(|log| 1 << log).filter(|&block| variant.blocks.allows(block)).collect()
}

fn variant_note(session: &dyn Simulator, variant: &'static Variant) -> Result<Note> {
    let (mut facts, mut per_element) = (Vec::new(), Vec::new());
    for block in block_sizes(variant) {
        let n = (variant.elements_per_block)(block);
        let numbers = input::random(Type::I32, n as usize, input::SEED);
        let job = Job { variant, options: LaunchOptions::block(block), input: &numbers, reference: None, offset: 0 };
        let Some(counters) = session.run(job)?.counters else { continue };
        let mut fact = |name: &str, value| facts.push((format!("{}-i32-b{block}-{name}", variant.name), value));
        let each = format!("{:.2}", counters.inst_executed as f64 / n as f64);
        per_element.push(format!("{each} with {block}"));
        fact("inst_executed", grouped(counters.inst_executed));
        fact("inst_per_element", each);
        fact("barriers", grouped(counters.barriers));
        fact("shuffles", grouped(counters.shuffles));
        fact("shared_wavefronts", grouped(counters.shared_ld_wavefronts + counters.shared_st_wavefronts));
        let listing = session.source().listing(&variant.entry(Op::Sum, Type::I32, block));
        fact("ptx_instructions", grouped(listing.iter().filter(|line| line.ends_with(';')).count() as u64));
    }
    let text = format!(
        "{}, one full block of i32, in warp-instructions for each element: {} threads.",
        variant.name,
        per_element.join(", ")
    );
    Ok(Note { variant: variant.name, text, facts })
}

/// The rounds above the last warp's, in PTX: chapter 5's loop, and what this chapter has in its place.
fn excerpts(session: &dyn Simulator) -> Vec<(String, String)> {
    let now = session.source();
    let before = KernelSource::in_root(now.root(), "ch05-unroll");
    let excerpt = |name: &str, source: &KernelSource, entry: &str| {
        let lines: Vec<String> = block_rounds(&source.listing(entry)).into_iter().map(indented).collect();
        (!lines.is_empty()).then(|| (name.to_owned(), lines.join("\n")))
    };
    let of_256 = crate::TEMPLATE_UNROLLED.entry(Op::Sum, Type::I32, 256);
    [excerpt("ptx-loop", &before, "unroll_syncwarp_i32"), excerpt("ptx-chain", now, &of_256)]
        .into_iter()
        .flatten()
        .collect()
}

/// Labels stand at the margin, and words one space apart.
fn indented(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let margin = if line.ends_with(':') { "" } else { "    " };
    format!("{margin}{}", words.join(" "))
}

/// Instructions of a kernel between the barrier after the load and the test for the last warp, `tid > 31`.
fn block_rounds(listing: &[String]) -> Vec<&str> {
    let after_load = listing.iter().map(String::as_str).skip_while(|line| !line.starts_with("bar.sync")).skip(1);
    after_load.take_while(|line| !line.ends_with(", 31;")).collect()
}
