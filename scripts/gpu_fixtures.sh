#!/usr/bin/env bash
# Records what a GPU does with the simulator's fixtures: what whole kernels leave, what Nsight Compute counts in them, kernels
# made by this machine's nvcc or left undefined by PTX, and what compute-sanitizer says of the fixtures that pass and fail.
#
# Usage: scripts/gpu_fixtures.sh OUT [WHOLE]
#   OUT    folder for the records; made if it is not there
#   WHOLE  the recorder, default target/release/examples/whole; build it first, on any machine:
#          cargo build --release -p device --example whole
#   PARTS  in the environment: which parts to run, default "whole undefined unseen counters sanitizer"
#
# Runs in the repository's root. A part that fails does not stop the others; the status is 1 then. Nothing is downloaded and
# no clock or setting of the card is changed. Afterwards: cp -r OUT/* crates/simt/tests/ && cargo test -p simt-tests
set -euo pipefail

if [[ $# -lt 1 || $# -gt 2 || $1 == -* ]]; then
    sed -n '2,13s/^# \{0,1\}//p' "$0"
    exit 2
fi
mkdir -p "$1"
out=$(realpath "$1")
whole=${2:-target/release/examples/whole}
parts=${PARTS:-whole undefined unseen counters sanitizer}
name=h200 # of the files; the records themselves say what the card is
tests=crates/simt/tests

[[ -d $tests/gpu ]] || { echo "gpu_fixtures.sh: no $tests/gpu here; run it in the repository's root" >&2; exit 2; }
[[ -x $whole ]] || { echo "gpu_fixtures.sh: $whole is not there; cargo build --release -p device --example whole" >&2; exit 2; }
whole=$(realpath "$whole")

metrics=$(IFS=,; echo \
    l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{ld,st,atom}.sum \
    l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{ld,st,atom}.sum \
    l1tex__t_sectors_pipe_lsu_mem_global_op_{ld,st,atom,red}.sum | tr ' ' ',')

failed=()
mkdir -p "$out/gpu" "$out/undefined" "$out/unseen" "$out/sanitizer"

# Runs a command; what fails is remembered. Usage: attempt WHAT COMMAND...
attempt() {
    local what=$1 status=0 begin=$SECONDS
    shift
    "$@" || status=$?
    echo "== $what: status $status, $((SECONDS - begin)) s"
    if ((status != 0)); then failed+=("$what"); fi
}

# PTX of a kernel by nvcc; it names its source by the file's name alone. Usage: by_nvcc NAME
by_nvcc() {
    (
        cd "$out/unseen"
        nvcc -ptx -lineinfo -arch=sm_90 -std=c++17 "$1.cu" -o "$1.ptx" && sed -i "s|\"$PWD/|\"|" "$1.ptx"
    )
}

unseen() {
    local file builds=() build
    cp "$tests"/unseen/*.cu "$out/unseen"
    for file in "$out"/unseen/*.cu; do
        by_nvcc "$(basename "$file" .cu)" &
        builds+=($!)
    done
    for build in "${builds[@]}"; do
        wait "$build" || failed+=("a kernel by nvcc")
    done
    "$whole" "$out/unseen" --out "$out/unseen/$name.json"
}

count() {
    python3 scripts/fixture_counters.py "$whole" "$metrics" "$out/$1/$name-ncu.json" "${@:2}"
}

for part in $parts; do
    case $part in
        whole) attempt "whole kernels" "$whole" "$tests/gpu" --jobs 8 --out "$out/gpu/$name.json" ;;
        # Some of these hang.
        undefined) attempt "undefined kernels" "$whole" "$tests/undefined" --seconds 10 --jobs 1 --out "$out/undefined/$name.json" ;;
        unseen) attempt "kernels by nvcc" unseen ;;
        counters)
            attempt "counters" count gpu "$tests"/gpu/*.ptx
            attempt "counters of kernels by nvcc" count unseen "$out"/unseen/*.ptx
            ;;
        sanitizer) attempt "sanitizer" python3 scripts/sanitize_fixtures.py "$whole" "$out/sanitizer/$name.json" ;;
        *) echo "gpu_fixtures.sh: PARTS has $part; there are whole, undefined, unseen, counters and sanitizer" >&2; exit 2 ;;
    esac
done
if ((${#failed[@]} > 0)); then
    printf 'gpu_fixtures.sh: these failed:\n' >&2
    printf '  %s\n' "${failed[@]}" >&2
    exit 1
fi
