#!/usr/bin/env bash
# Runs the library's suite through cudarc on a GPU: every family, a thousand random calls, graphs, streams, compute-sanitizer, and
# what a call costs the host.
#
# Usage: scripts/gpu_library.sh OUT [BIN]
#   OUT    folder for what comes out; made if it is not there
#   BIN    folder with `library` (the suite) and the examples, default target/release/gpu; build them first, on any machine:
#          scripts/gpu_library.sh --build
#   CALLS  in the environment: random calls, default 1000
#
# Takes some three minutes. A step that fails or takes too long does not stop the others; the status is 1 then.
set -euo pipefail

if [[ ${1:-} == --build ]]; then
    bin=target/release/gpu
    mkdir -p "$bin"
    cargo build --release --package reduction --examples
    suite=$(cargo test --release --package reduction --test library --no-run 2>&1 | sed -n 's/.*Executable .*(\(.*\))/\1/p')
    cp "$suite" "$bin/library"
    cp target/release/examples/{01-sum,02-rows,03-softmax,04-graph,clock} "$bin/"
    strip "$bin"/*
    exit 0
fi
if [[ $# -lt 1 || $# -gt 2 || $1 == -* ]]; then
    sed -n '2,12s/^# \{0,1\}//p' "$0"
    exit 2
fi
out=$1
bin=${2:-target/release/gpu}
if [[ ! -x $bin/library ]]; then
    echo "gpu_library.sh: $bin/library is not there; build it with scripts/gpu_library.sh --build" >&2
    exit 2
fi
mkdir -p "$out"
source "$(dirname "$0")/steps.sh"

# A step whose output is a file of its own. Usage: into FILE WHAT SECONDS COMMAND...
into() {
    local file=$out/$1 what=$2 most=$3
    shift 3
    attempt "$what" "$most" bash -c '"${@:2}" > "$1" 2>&1' into "$file" "$@"
    tail -n 2 "$file"
}
on_gpu=(env REDUCTION_ON_GPU=1)
own=("$bin/library" --test-threads=1 families:: gpu::)

for example in 01-sum 02-rows 03-softmax 04-graph; do
    into "$example.txt" "example $example" 60 "$bin/$example"
done
into clock.json "host time" 120 "$bin/clock"
into suite.txt "the suite" 300 "${on_gpu[@]}" "${own[@]}"
into random.txt "${CALLS:-1000} random calls" 300 "${on_gpu[@]}" PROPTEST_CASES=$((${CALLS:-1000} / 4)) \
    "$bin/library" --test-threads=1 properties::any_layout
for tool in memcheck racecheck initcheck synccheck; do
    into "$tool.txt" "compute-sanitizer $tool" 300 "${on_gpu[@]}" compute-sanitizer --tool "$tool" --error-exitcode 9 \
        "$bin/library" --test-threads=1 families::a_workspace families::labels gpu::
done
exit_if_failed steps
