#!/usr/bin/env bash
# Takes the record of a chapter on a GPU whose contest is over matrices, softmax or norms: its operations at the shapes of the
# chapter on rows, of language models, and drawn at random, beside torch, Liger and QuACK.
#
# Usage: scripts/gpu_matrices.sh CONTEST OUT [BIN]
#   CONTEST  its name, as chapters/*/contest.json has it; scripts/torch_CONTEST.py times the others
#   OUT    folder for the record; made if it is not there. A second run goes on where the first one stopped
#   BIN    folder with the release binary `course`, default target/release; build it first, on any machine:
#          cargo build --release -p course
#   TORCH_SECONDS, MEASURE_SECONDS  in the environment: how long the others are timed, default 300, and ours, default 240; 0 leaves
#          that step out
#   SITE   in the environment: a folder with Python's packages liger_kernel and quack, where they are not installed
#   CARD   in the environment: the card in the record's name, default h200
#   COURSE_COMMIT  in the environment: the commit, where the tree is a copy without its history
#
# Runs in the repository's root; NVRTC, torch, Liger and QuACK are used where they are there. Nothing is downloaded and no clock or
# setting of the card is changed. A step that fails or takes too long does not stop the other; the status is 1 then. Each says how
# many seconds it took. What is timed has the GPU alone: ours and the others lock one file.
# Afterwards copy OUT/measurements/CARD-CONTEST.json to measurements/, and run `cargo course bless`.
set -euo pipefail

if [[ $# -lt 2 || $# -gt 3 || $2 == -* ]]; then
    sed -n '2,20s/^# \{0,1\}//p' "$0"
    exit 2
fi
which=$1
chapter=$(python3 scripts/contest.py "$which" chapter)
out=$2
bin=${3:-target/release}
torch_seconds=${TORCH_SECONDS:-300}
measure_seconds=${MEASURE_SECONDS:-240}
record=$out/measurements/${CARD:-h200}-$which.json
if [[ ! -x $bin/course ]]; then
    echo "gpu_matrices.sh: $bin/course is not there; build it with cargo build --release -p course" >&2
    exit 2
fi
mkdir -p "$out/measurements"
source "$(dirname "$0")/steps.sh"
use_toolkit
if [[ -n ${SITE:-} ]]; then
    export PYTHONPATH=$SITE${PYTHONPATH:+:$PYTHONPATH}
fi

# Both compile for longer than they measure, and take turns at the GPU.
lock=$(mktemp)
trap 'rm -f "$lock"' EXIT
measure=("$bin/course" measure --parts "$which" --chapters "$chapter" --quick --resume --out "$record" --lock "$lock")
others= status=0
if ((torch_seconds == 0)); then
    :
elif has_torch; then
    timeout -k 5 $((torch_seconds + 60)) python3 "scripts/torch_$which.py" "$out/torch-$which.json" \
        --seconds "$torch_seconds" --lock "$lock" &
    others=$!
else
    echo "gpu_matrices.sh: python3 has no torch that sees a GPU, so torch is left out" >&2
fi
if ((measure_seconds > 0)); then
    attempt "measurement" $((measure_seconds + 60)) "${measure[@]}" --seconds "$measure_seconds"
fi
if [[ -n $others ]]; then
    wait "$others" || status=$?
    ended "torch, Liger and QuACK" 0 "$status" "$(how "$status")"
fi
if [[ -f $out/torch-$which.json ]]; then
    attempt "putting both together" 60 "${measure[@]}" --seconds 0 --torch "$out/torch-$which.json"
fi
# What is drawn again elsewhere is not a record.
rm -rf "${record%.json}"
echo "=== all: $SECONDS s"
exit_if_failed steps
