//! How fast the chapter's kernels are: `cargo bench -p ch08-cooperative`.

#![allow(missing_docs)] // criterion's macros write a main without any

#[path = "../../../crates/lab/benches/chapter/mod.rs"]
mod speed;

fn kernels(criterion: &mut criterion::Criterion) {
    speed::bench(criterion, &ch08_cooperative::CHAPTER);
}

criterion::criterion_group!(benches, kernels);
criterion::criterion_main!(benches);
