#!/usr/bin/env bash
# Adds an operator, the sum of magnitudes, to a copy of the repository in the files that contributing/operator.md lists and no others, and has it
# judged: its results in each type, its row of the table and its contest. Needs NVRTC, since its kernels are new ones: `cargo course setup`.
set -euo pipefail
source "$(dirname "$0")/throwaway.sh"
files=$(listed contributing/operator.md '[^`]*')
(($(wc -l <<<"$files") <= 5)) || { echo "contributing/operator.md: an operator takes more than five files" >&2; exit 1; }
if [[ -d $root/target/nvrtc ]]; then ln -s "$root/target/nvrtc" target/nvrtc; fi

step "the files of the list"
# Adds lines behind the one line of a file that has a text. Usage: behind FILE TEXT LINE...
behind() {
    local file=$1 text=$2
    shift 2
    [[ $(grep -cF -- "$text" "$file") == 1 ]] || { echo "$file: \`$text\` is there not once" >&2; exit 1; }
    printf '%s\n' "$@" >target/lines
    sed -i "$(grep -nF -- "$text" "$file" | cut -d: -f1)r target/lines" "$file"
}
behind crates/reduction/src/op.rs '"the sum of the squares";' \
    '    Sumabs "sumabs" Total Zero Floats "The sum of the magnitudes."' '        "the sum of the magnitudes";'
behind crates/lab/src/reference/operators.rs 'Op::Sumsq => product_sum' \
    '        Op::Sumabs => product_sum(values.iter().map(|v| (v.abs(), 1.0))),'
behind crates/reduction/src/families/operators.rs '    Op::Sumsq,' '    Op::Sumabs,'
behind crates/reduction/src/families/operators.rs 'Op::Sumsq => "SumOfSquares",' '        Op::Sumabs => "SumOfMagnitudes",'
behind kernels/ch09-operators.cu '// How many elements are above 0.' 'template <typename T>' 'struct SumOfMagnitudes : Sum<T> {' \
    '    using typename Sum<T>::Value;' \
    '    static __device__ Value lift(T x, unsigned int) { return widen(x) < 0 ? -widen(x) : widen(x); }' '};'
behind kernels/ch09-operators.cu 'BITS(unsigned int, u32) BITS(long long, i64)' \
    '#define MAGNITUDES(T, TYPE) OPERATOR(SumOfMagnitudes<T>, _sumabs, TYPE)' 'FLOATS(MAGNITUDES)'
sed -i 's/"minimum",/& "sumabs",/' chapters/ch09-operators/contest.json
changed=$(git -C "$root" ls-files -z --cached --others --exclude-standard |
    while IFS= read -r -d '' file; do [[ -d $root/$file ]] || cmp -s "$root/$file" "$file" || echo "$file"; done)
diff <(sort <<<"$files") <(sort <<<"$changed") || { echo "these files differ from the list in contributing/operator.md" >&2; exit 1; }

step "its results"
for type in f16 bf16 f32 f64; do
    cargo run --quiet --package ch09-operators -- --device sim --variant reduce --op sumabs --type $type --n 100003
done
step "its row, and its contest"
cargo test --quiet --package lab-tests -- op:: reference::operators
cargo test --quiet --package course --lib -- every_contest_is_of_what_its_chapter_computes
step "seen to the end"
rm -rf "$copy"
echo "an operator needs these files:" $files
