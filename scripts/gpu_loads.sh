#!/usr/bin/env bash
# What the kind of load costs in the chapters whose contests name `loads`: their kernels with another instruction in the place of the one that loads a
# vector, timed on a GPU (scripts/loads.cu). Prints a line for each kind and case: kind, operation, type, rows, columns, threads and
# vectors, microseconds.
#
# Usage: scripts/gpu_loads.sh > OUT
#
# Runs in the repository's root, needs a GPU and nvcc, and takes about a minute. No clock or setting of the card is changed.
set -euo pipefail
if (($# > 0)); then
    sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
source "$(dirname "$0")/steps.sh"
use_toolkit
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

chapters=$(python3 scripts/contest.py --with loads)
stands='ld\.global[.a-zA-Z0-9_:]*\.v4\.u32'
jobs=()
for load in global.L1::no_allocate global global.nc global.cs global.lu global.L1::evict_first; do
    for chapter in $chapters; do
        name=$load-$chapter number=${chapter%%-*} number=${number#ch}
        mkdir -p "$scratch/$load"
        for file in "$chapter.cu" elements.cuh; do
            sed "s/$stands/ld.$load.v4.u32/" "kernels/$file" > "$scratch/$load/$file"
        done
        grep -q "ld\.$load\.v4\.u32" "$scratch/$load/"* || { echo "gpu_loads.sh: no load to replace in $chapter.cu" >&2; exit 1; }
        nvcc -std=c++17 -arch=sm_90 -O3 -include cooperative_groups.h -DWANTED_ALONE -DCHAPTER="$number" -DKERNELS="\"$scratch/$load/$chapter.cu\"" \
            -DLOAD="\"ld.$load\"" -o "$scratch/$name" scripts/loads.cu & jobs+=($!)
    done
done
for job in "${jobs[@]}"; do wait "$job"; done
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | sed 's/^/# /'
for chapter in $chapters; do
    for program in "$scratch"/*-"$chapter"; do "$program"; done
done
