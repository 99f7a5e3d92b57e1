#!/usr/bin/env bash
# Takes the record of the chapter on rows on a GPU: its shapes beside CUB's segmented reductions and torch.
#
# Usage: scripts/gpu_rows.sh OUT [BIN]
#   OUT    folder for the record; made if it is not there
#   BIN    folder with the release binary `course`, default target/release; build it first, on any machine:
#          cargo build --release -p course
#   TORCH_SECONDS, MEASURE_SECONDS  in the environment: how long torch is timed, default 270, and ours and CUB, default 180;
#          0 leaves that step out
#   CCCL   in the environment: a folder with CCCL's sources (cub, thrust, libcudacxx), to measure against newer ones too:
#          from version 3.1 on they have a form for segments of one length, which CUDA 13.0 has not
#
# Runs in the repository's root and takes some eight minutes with the default times; nvcc, NVRTC and torch are used where they
# are there. Nothing is downloaded and no clock or setting of the card is changed. A step that fails or takes too long does not
# stop the others; the status is 1 then. Each says how many seconds it took. What is timed runs alone.
# OUT/torch.json of a run before is taken in where torch is left out.
# Afterwards copy OUT/measurements/h200-rows.json to measurements/, and run `cargo course bless`.
set -euo pipefail

if [[ $# -lt 1 || $# -gt 2 || $1 == -* ]]; then
    sed -n '2,18s/^# \{0,1\}//p' "$0"
    exit 2
fi
out=$1
bin=${2:-target/release}
chapter=ch10-rows
torch_seconds=${TORCH_SECONDS:-270}
measure_seconds=${MEASURE_SECONDS:-180}
if [[ ! -x $bin/course ]]; then
    echo "gpu_rows.sh: $bin/course is not there; build it with cargo build --release -p course" >&2
    exit 2
fi
mkdir -p "$out/measurements"

source "$(dirname "$0")/steps.sh"
use_toolkit

# Nothing is timed while CUB is compiled.
jobs=()
begin_cub=$SECONDS
if ((measure_seconds == 0)); then
    :
elif command -v nvcc > /dev/null; then
    timeout -k 5 120 scripts/cub_library.sh "$out/libcub.so" --rows & jobs+=($!)
    if [[ -n ${CCCL:-} ]]; then
        timeout -k 5 120 scripts/cub_library.sh "$out/libcub_newer.so" --rows "$CCCL" & jobs+=($!)
    fi
else
    echo "gpu_rows.sh: nvcc is not there, so CUB is left out" >&2
fi
for job in ${jobs[@]+"${jobs[@]}"}; do
    status=0
    wait "$job" || status=$?
    ended "CUB, a library" "$begin_cub" "$status" "$(how "$status")"
done

# From here on each step runs alone.
if ((torch_seconds == 0)); then
    :
elif has_torch; then
    attempt "torch" $((torch_seconds + 25)) python3 scripts/torch_rows.py "$out/torch.json" --seconds "$torch_seconds"
else
    echo "gpu_rows.sh: python3 has no torch that sees a GPU, so torch is left out" >&2
fi
options=()
if [[ -f $out/libcub.so ]]; then options+=(--cub "$out/libcub.so"); fi
if [[ -f $out/libcub_newer.so ]]; then options+=(--cub-newer "$out/libcub_newer.so"); fi
if [[ -f $out/torch.json ]]; then options+=(--torch "$out/torch.json"); fi
if ((measure_seconds > 0)); then
    attempt "measurement" $((measure_seconds + 40)) "$bin/course" measure --parts rows --chapters $chapter --quick \
        --seconds "$measure_seconds" --out "$out/measurements/h200-rows.json" ${options[@]+"${options[@]}"}
fi
# What is built or drawn again elsewhere is not a record.
rm -rf "$out/libcub.so" "$out/libcub_newer.so" "$out/measurements/h200-rows"
echo "=== all: $SECONDS s"
exit_if_failed steps
