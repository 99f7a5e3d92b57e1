//! The gradients of weights and biases are sums over all rows, and have the same bits in whatever order blocks run.

use ch12_norms::CHAPTER;
use device::{Checks, Schedule};
use lab::input::random_for;
use lab::trial::{run_with, simulator};
use lab::{LaunchOptions, Matrix, Op, Result, Type};

#[test]
fn gradients_have_the_same_bits_in_any_order() -> Result<()> {
    for op in [Op::LayerNormBackward, Op::RmsNormBackward] {
        for (rows, cols) in [(700, 40), (70, 500), (40, 3000), (9, 20_000)] {
            let mut hashes = Vec::new();
            for seed in [None, Some(1), Some(2), Some(3)] {
                let session = simulator(&CHAPTER, Schedule::Independent { seed }, Checks::NONE)?;
                let options = LaunchOptions::over(op, Matrix::dense(rows, cols));
                let input = random_for(op, Type::F32, (rows * cols) as usize, 7);
                let run = run_with(&session, &CHAPTER.variants[3], options, &input, 0)?;
                assert!(run.verdict.right && run.all_sha256.is_some());
                hashes.push(run.all_sha256);
            }
            assert!(hashes.iter().all(|hash| hash == &hashes[0]), "{op} {rows} x {cols}");
        }
    }
    Ok(())
}
