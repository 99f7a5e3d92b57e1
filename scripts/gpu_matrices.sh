#!/usr/bin/env bash
# Takes the record of a chapter on a GPU whose contest is over matrices, softmax or norms: its operations at the shapes of the
# chapter on rows, beside torch and Liger.
#
# Usage: scripts/gpu_matrices.sh CONTEST OUT [BIN]
#   CONTEST  its name, as chapters/*/contest.json has it; scripts/torch_CONTEST.py times the others
#   OUT    folder for the record; made if it is not there
#   BIN    folder with the release binary `course`, default target/release; build it first, on any machine:
#          cargo build --release -p course
#   AHEAD_SECONDS, TORCH_SECONDS, MEASURE_SECONDS  in the environment: how long torch compiles before anything is timed, default
#          90, how long torch and Liger are timed, default 200, and ours, default 180; 0 leaves that step out
#   LIGER  in the environment: a folder with the package liger_kernel, where it is not installed
#   TRITON_CACHE_DIR  in the environment: a folder with what was compiled ahead before
#
# Runs in the repository's root and takes some eight minutes with the default times; NVRTC, torch and Liger are used where they are
# there. Nothing is downloaded and no clock or setting of the card is changed. A step that fails or takes too long does not stop
# the others; the status is 1 then. Each says how many seconds it took. What is timed runs alone.
# OUT/torch.json of a run before is taken in where torch is left out.
# Afterwards copy OUT/measurements/h200-WHICH.json to measurements/, and run `cargo course bless`.
set -euo pipefail

if [[ $# -lt 2 || $# -gt 3 || $2 == -* ]]; then
    sed -n '2,22s/^# \{0,1\}//p' "$0"
    exit 2
fi
which=$1
chapter=$(python3 scripts/contest.py "$which" chapter)
out=$2
bin=${3:-target/release}
ahead_seconds=${AHEAD_SECONDS:-90}
torch_seconds=${TORCH_SECONDS:-200}
measure_seconds=${MEASURE_SECONDS:-180}
if [[ ! -x $bin/course ]]; then
    echo "gpu_matrices.sh: $bin/course is not there; build it with cargo build --release -p course" >&2
    exit 2
fi
mkdir -p "$out/measurements"
source "$(dirname "$0")/steps.sh"
use_toolkit
if [[ -n ${LIGER:-} ]]; then
    export PYTHONPATH=$LIGER${PYTHONPATH:+:$PYTHONPATH}
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# What torch compiled ahead has its Triton kernels here; what it chose among them is chosen anew when nothing else runs.
export TRITON_CACHE_DIR=${TRITON_CACHE_DIR:-$scratch/triton} TORCHINDUCTOR_CACHE_DIR=$scratch/inductor

if ((torch_seconds == 0)); then
    :
elif has_torch; then
    if ((ahead_seconds > 0)); then
        attempt "torch, compiling ahead" $((ahead_seconds + 20)) \
            python3 "scripts/torch_$which.py" --ahead "$ahead_seconds"
    fi
    attempt "torch and Liger" $((torch_seconds + 25)) \
        python3 "scripts/torch_$which.py" "$out/torch.json" --seconds "$torch_seconds"
else
    echo "gpu_matrices.sh: python3 has no torch that sees a GPU, so torch is left out" >&2
fi
options=()
if [[ -f $out/torch.json ]]; then options+=(--torch "$out/torch.json"); fi
if ((measure_seconds > 0)); then
    attempt "measurement" $((measure_seconds + 40)) "$bin/course" measure --parts "$which" --chapters $chapter --quick \
        --seconds "$measure_seconds" --out "$out/measurements/h200-$which.json" \
        ${options[@]+"${options[@]}"}
fi
# What is drawn again elsewhere is not a record.
rm -rf "$out/measurements/h200-$which"
echo "=== all: $SECONDS s"
exit_if_failed steps
