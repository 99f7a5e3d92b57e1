#!/usr/bin/env bash
# Searches on a GPU for the fastest team of softmax's and norms' operations at some shapes, and writes what the plans' own teams take
# beside it: `cargo course tune`.
#
# Usage: scripts/gpu_tune.sh OUT [BIN]
#   OUT    folder for the record; made if it is not there. A second run goes on where the first one stopped
#   BIN    folder with the release binary `course`, default target/release; build it first, on any machine:
#          cargo build --release -p course
#   OPS, TYPES, SHAPES, SECONDS_MAX  in the environment: what is searched, and how long
#   CARD   in the environment: the card in the record's name, default h100
#   COURSE_COMMIT  in the environment: the commit, where the tree is a copy without its history
#
# Runs in the repository's root and needs NVRTC. Nothing is downloaded and no clock or setting of the card is changed.
# Afterwards copy OUT/CARD-shapes.json to measurements/library/, and run `cargo course bless`.
set -euo pipefail

if [[ $# -lt 1 || $# -gt 2 || $1 == -* ]]; then
    sed -n '2,15s/^# \{0,1\}//p' "$0"
    exit 2
fi
out=$1
bin=${2:-target/release}
if [[ ! -x $bin/course ]]; then
    echo "gpu_tune.sh: $bin/course is not there; build it with cargo build --release -p course" >&2
    exit 2
fi
mkdir -p "$out"
source "$(dirname "$0")/steps.sh"
use_toolkit
read -ra ops <<<"${OPS:-softmax rms_norm softmax_backward cross_entropy layer_norm cross_entropy_backward add_rms_norm}"
"$bin/course" tune "${ops[@]}" --type "${TYPES:-bf16,f32}" --out "$out/${CARD:-h100}-shapes.json" \
    --shapes "${SHAPES:-8192x2048,16384x4096,8192x8192,4096x16384,2048x32000,1024x65536,2048x128256,256x262144,32x2097152,8x8388608}" \
    --seconds "${SECONDS_MAX:-400}"
