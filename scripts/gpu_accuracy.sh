#!/usr/bin/env bash
# Takes all records of the chapter on exact sums on a GPU: results, times beside the champion and CUB, Nsight Compute's counters and
# compute-sanitizer's verdicts.
#
# Usage: scripts/gpu_accuracy.sh CARD OUT [BIN]
#   CARD   the card as the names of the records have it: h100
#   OUT    folder for the records; made if it is not there
#   BIN    folder with the release binaries `course` and `ch13-accuracy`, default target/release; build them first, on any
#          machine: cargo build --release -p course -p ch13-accuracy
#   CUB    in the environment: CUB as a library with a reproducible sum, made by scripts/cub_library.sh from sources of version 3.4 or
#          newer; it can be built where there is no GPU, with ARCH=sm_90
#   MEASURE_SECONDS  in the environment: how long it is timed at most, default 240
#
# Runs in the repository's root; what is missing there is left out. Nothing is downloaded and no clock or setting of the card is
# changed. A step that fails or takes too long does not stop the others; the status is 1 then. What is timed runs alone.
# Afterwards copy OUT/ch13-accuracy/* to chapters/ch13-accuracy/data/ and OUT/measurements/* to measurements/, and run
# `cargo course bless`. OUT/accuracy.tgz has all of them.
set -euo pipefail

if [[ $# -lt 2 || $# -gt 3 || $2 == -* ]]; then
    sed -n '2,20s/^# \{0,1\}//p' "$0"
    exit 2
fi
export CARD=$1
out=$2
bin=${3:-target/release}
chapter=ch13-accuracy
seconds=${MEASURE_SECONDS:-240}
for program in course $chapter; do
    if [[ ! -x $bin/$program ]]; then
        echo "gpu_accuracy.sh: $bin/$program is not there; build it with cargo build --release -p $program" >&2
        exit 2
    fi
done
mkdir -p "$out/$chapter" "$out/measurements"
source "$(dirname "$0")/steps.sh"
use_toolkit

options=()
if [[ -f ${CUB:-} ]]; then options+=(--cub-newer "$CUB"); else echo "gpu_accuracy.sh: CUB names no library, so it is left out" >&2; fi
attempt "measurement" $((seconds + 45)) "$bin/course" measure --parts accuracy --seconds "$seconds" \
    --chapters "$chapter,ch08-cooperative,ch09-operators" --out "$out/measurements/$CARD-accuracy.json" ${options[@]+"${options[@]}"}
attempt "results" 150 "$bin/$chapter" --device gpu --record "$out/$chapter/$CARD.json"
CHAPTERS=$chapter PARTS="ncu sanitizer" attempt "counters and sanitizer" 150 scripts/gpu.sh "$out" "$bin"

kept=()
for file in $chapter/$CARD{.json,-ncu.json,-sanitizer.txt} measurements/$CARD-accuracy.json; do
    if [[ -f $out/$file ]]; then kept+=("$file"); fi
done
# What is drawn again elsewhere is not a record.
rm -rf "$out/measurements/$CARD-accuracy"
if ((${#kept[@]} > 0)); then attempt "packing" 30 tar -czf "$out/accuracy.tgz" -C "$out" "${kept[@]}"; fi
echo "=== all: $SECONDS s"
exit_if_failed steps
