#!/usr/bin/env bash
# Records what a GPU says about every chapter: results and times, Nsight Compute's counters, compute-sanitizer's verdicts.
#
# Usage: scripts/gpu.sh OUT [BIN]
#   OUT  folder for the records; made if it is not there
#   BIN  folder with the chapters' release binaries, default target/release; build them first, on any machine:
#        cargo build --release --workspace
#
# Runs in the repository's root, needs a GPU and its driver; ncu, compute-sanitizer and NVRTC from a CUDA toolkit are
# used where they are there. Nothing is downloaded and no clock or setting of the card is changed.
# Afterwards copy OUT/<chapter>/* to chapters/<chapter>/data/ and run `cargo course bless`.
set -euo pipefail

if [[ $# -lt 1 || $# -gt 2 || $1 == -* ]]; then
    sed -n '2,12s/^# \{0,1\}//p' "$0"
    exit 2
fi
out=$1
bin=${2:-target/release}
name=h200 # of the files; the records themselves say what the card is

metrics=$(IFS=,; echo \
    l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{ld,st,atom}.sum \
    l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{ld,st,atom}.sum \
    l1tex__t_sectors_pipe_lsu_mem_global_op_{ld,st,atom,red}.sum \
    smsp__inst_executed.sum smsp__thread_inst_executed.sum | tr ' ' ',')

chapters=()
for folder in chapters/*/; do
    chapter=$(basename "$folder")
    if [[ ! -x $bin/$chapter ]]; then
        echo "gpu.sh: $bin/$chapter is not there; build it with cargo build --release -p $chapter" >&2
        exit 2
    fi
    chapters+=("$chapter")
done
[[ ${#chapters[@]} -gt 0 ]] || { echo "gpu.sh: no chapters here; run it in the repository's root" >&2; exit 2; }

for chapter in "${chapters[@]}"; do
    mkdir -p "$out/$chapter"
    echo "== $chapter: results and times"
    "$bin/$chapter" --device gpu --record "$out/$chapter/$name.json"
    if "$bin/$chapter" --help | grep -q '^ *--sweep'; then
        echo "== $chapter: sweep"
        "$bin/$chapter" --device gpu --sweep --record "$out/$chapter/$name-sweep.json"
    fi

    # Each variant's kernels, by name, as the chapter lists them.
    mapfile -t variants < <("$bin/$chapter" --help | sed -n '/^Variants:/,$ s/^  \([a-z0-9_]\+\) .*/\1/p')
    if command -v ncu > /dev/null; then
        echo "== $chapter: counters"
        profiled=()
        for variant in "${variants[@]}"; do
            for n in 4099 1000003; do
                for type in i32 f32; do
                    csv=$out/$chapter/$variant-$type-$n.csv
                    ncu --clock-control none --csv --metrics "$metrics" \
                        "$bin/$chapter" --device gpu --variant "$variant" --type "$type" --n "$n" --once > "$csv"
                    profiled+=("$n:$variant:$type:$csv")
                done
            done
        done
        python3 scripts/ncu_to_json.py "kernels/ptx/$chapter.ptx" "${profiled[@]}" > "$out/$chapter/$name-ncu.json"
        rm -f "$out/$chapter"/*.csv
    fi
    if command -v compute-sanitizer > /dev/null; then
        echo "== $chapter: sanitizer"
        for tool in memcheck racecheck initcheck synccheck; do
            for variant in "${variants[@]}"; do
                echo "$tool $variant"
                # What it says, without process numbers and empty lines.
                compute-sanitizer --tool "$tool" \
                    "$bin/$chapter" --device gpu --variant "$variant" --n 100003 --once 2>&1 |
                    sed -n 's/^========= \(.\)/    \1/p' | grep -v COMPUTE-SANITIZER || true
            done
        done > "$out/$chapter/$name-sanitizer.txt"
    fi
done
