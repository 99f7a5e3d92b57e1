//! How fast the chapter's kernels are: `cargo bench -p ch07-coarsening`.

#![allow(missing_docs)] // criterion's macros write a main without any

#[path = "../../../crates/lab/benches/chapter/mod.rs"]
mod speed;

fn kernels(criterion: &mut criterion::Criterion) {
    speed::bench(criterion, &ch07_coarsening::CHAPTER);
}

criterion::criterion_group!(benches, kernels);
criterion::criterion_main!(benches);
