#!/usr/bin/env bash
# Takes all records of the chapter on operators on a GPU: results, times beside CUB and torch, Nsight Compute's counters and
# compute-sanitizer's verdicts.
#
# Usage: scripts/gpu_operators.sh OUT [BIN]
#   OUT    folder for the records; made if it is not there
#   BIN    folder with the release binaries `course` and `ch09-operators`, default target/release; build them first, on any
#          machine: cargo build --release -p course -p ch09-operators
#   TORCH_SECONDS, MEASURE_SECONDS  in the environment: how long torch is timed, default 130, and ours and CUB, default 170
#   WARM_SECONDS  in the environment: how long torch compiles ahead, at most, default 0: on an H200
#                 machine of 16 cores 31 s were enough for 6 of 104
#
# Runs in the repository's root and takes some seven minutes with the default times; nvcc, NVRTC, torch, ncu and
# compute-sanitizer are used where they are there. Nothing is downloaded and no clock or setting of the card is changed. A step
# that fails or takes too long does not stop the others; the status is 1 then. Each says how many seconds it took. What is
# timed runs alone.
# Afterwards copy OUT/ch09-operators/* to chapters/ch09-operators/data/ and OUT/measurements/* to measurements/, and run
# `cargo course bless`. OUT/operators.tgz has all of them.
set -euo pipefail

if [[ $# -lt 1 || $# -gt 2 || $1 == -* ]]; then
    sed -n '2,18s/^# \{0,1\}//p' "$0"
    exit 2
fi
out=$1
bin=${2:-target/release}
chapter=ch09-operators
torch_seconds=${TORCH_SECONDS:-130}
measure_seconds=${MEASURE_SECONDS:-170}
warm_seconds=${WARM_SECONDS:-0}
for program in course $chapter; do
    if [[ ! -x $bin/$program ]]; then
        echo "gpu_operators.sh: $bin/$program is not there; build it with cargo build --release -p $program" >&2
        exit 2
    fi
done
mkdir -p "$out/$chapter" "$out/measurements"

source "$(dirname "$0")/steps.sh"
use_toolkit
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# What torch compiled ahead has its Triton kernels here; what it chose among them is chosen anew when nothing else runs.
export TRITON_CACHE_DIR=$scratch/triton TORCHINDUCTOR_CACHE_DIR=$scratch/inductor

# Nothing is timed yet: CUB is compiled while results are judged and torch compiles ahead.
library=$out/libcub.so
job=
if command -v nvcc > /dev/null; then
    begin_cub=$SECONDS
    timeout -k 5 240 scripts/cub_library.sh "$library" --operators & job=$!
else
    echo "gpu_operators.sh: nvcc is not there, so CUB is left out" >&2
fi
attempt "results" 150 "$bin/$chapter" --device gpu --record "$out/$chapter/h200.json"
torch=
if has_torch; then torch=yes; else echo "gpu_operators.sh: python3 has no torch that sees a GPU, so torch is left out" >&2; fi
CHAPTERS=$chapter PARTS=sanitizer attempt "sanitizer" 90 scripts/gpu.sh "$out" "$bin"
if [[ -n $torch ]] && ((warm_seconds > 0)); then
    attempt "torch, compiling ahead" $((warm_seconds + 30)) python3 scripts/torch_operators.py --ahead "$warm_seconds"
fi
if [[ -n $job ]]; then
    status=0
    wait "$job" || status=$?
    ended "CUB, the library" "$begin_cub" "$status" "$(how "$status")"
fi

# From here on each step runs alone.
options=()
if [[ -n $torch ]]; then
    attempt "torch" $((torch_seconds + 45)) python3 scripts/torch_operators.py "$out/torch.json" 10 28 "$torch_seconds"
fi
if [[ -f $library ]]; then options+=(--cub "$library"); fi
if [[ -f $out/torch.json ]]; then options+=(--torch "$out/torch.json"); fi
attempt "measurement" $((measure_seconds + 45)) "$bin/course" measure --parts operators --chapters $chapter --quick \
    --seconds "$measure_seconds" \
    --out "$out/measurements/h200-operators.json" ${options[@]+"${options[@]}"}
CHAPTERS=$chapter PARTS=ncu attempt "counters" 60 scripts/gpu.sh "$out" "$bin"

kept=()
for file in $chapter/h200.json $chapter/h200-ncu.json $chapter/h200-sanitizer.txt measurements/h200-operators.json torch.json; do
    if [[ -f $out/$file ]]; then kept+=("$file"); fi
done
# What is built or drawn again elsewhere is not a record.
rm -rf "$library" "$out/measurements/h200-operators"
if ((${#kept[@]} > 0)); then attempt "packing" 30 tar -czf "$out/operators.tgz" -C "$out" "${kept[@]}"; fi
echo "=== all: $SECONDS s"
exit_if_failed steps
