#!/usr/bin/env bash
# Runs the library's all-reduce and chapter 14 on the GPUs of one machine: random calls that are judged, times beside NCCL and torch's
# symmetric memory, and what the link does.
#
# Usage: scripts/gpu_all_reduce.sh OUT [BIN]
#   OUT    folder for what comes out; made if it is not there
#   BIN    folder with `library` and `device` (two suites), `ch14-all-reduce`, `beside-nccl` and `09-all-reduce`, default target/release/peers; build
#          them first, on any machine:
#          scripts/gpu_all_reduce.sh --build
#   CALLS  in the environment: random calls, default 10000
#   ROUNDS in the environment: how often each case is timed, default 31
#
# Afterwards copy OUT/all-reduce.json to measurements/library/CARD-all-reduce.json and run `cargo course bless`.
#
# NCCL is torch's, if torch is here. NVLink multicast stays off. A step that fails or takes too long does not stop the others; the
# status is 1 then. Takes some two minutes for each number of GPUs: 2, 4 and so on, up to all.
set -euo pipefail

if [[ ${1:-} == --build ]]; then
    bin=target/release/peers
    mkdir -p "$bin"
    for suite in reduction:library device:device; do
        built=$(cargo test --release --package "${suite%:*}" --test "${suite#*:}" --no-run 2>&1 | sed -n 's/.*Executable .*(\(.*\))/\1/p')
        cp "$built" "$bin/${suite#*:}"
    done
    cargo build --release --package ch14-all-reduce
    cp target/release/ch14-all-reduce "$bin/"
    cargo build --release --package reduction --example 09-all-reduce
    cp target/release/examples/09-all-reduce "$bin/"
    (cd crates/reduction/examples/beside-nccl && cargo build --release --target-dir ../../../../target/beside-nccl)
    cp target/beside-nccl/release/beside-nccl "$bin/"
    find "$bin" -maxdepth 1 -type f -exec strip {} +
    exit 0
fi
if [[ $# -lt 1 || $# -gt 2 || $1 == -* ]]; then
    sed -n '2,17s/^# \{0,1\}//p' "$0"
    exit 2
fi
out=$1
bin=${2:-target/release/peers}
for program in library device ch14-all-reduce beside-nccl 09-all-reduce; do
    if [[ ! -x $bin/$program ]]; then
        echo "gpu_all_reduce.sh: $bin/$program is not there; build it with scripts/gpu_all_reduce.sh --build" >&2
        exit 2
    fi
done
mkdir -p "$out"
# What is added to below is of this run alone.
rm -f "$out"/{cases.jsonl,cases.txt,torch.txt}
source "$(dirname "$0")/steps.sh"
export NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1

# cudarc looks for libnccl.so, and wheels have libnccl.so.2 alone.
nccl=$(python3 -c 'import importlib.util as u; print(next(iter(u.find_spec("nvidia.nccl").submodule_search_locations)))' 2> /dev/null || true)
if [[ -f $nccl/lib/libnccl.so.2 ]]; then
    mkdir -p "$out/nccl"
    ln -sf "$nccl/lib/libnccl.so.2" "$out/nccl/libnccl.so"
    export LD_LIBRARY_PATH=$out/nccl:$nccl/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi

attempt "the link's shape" 20 bash -c 'nvidia-smi topo -m > "$1"; nvidia-smi --query-gpu=name,driver_version,clocks.max.sm --format=csv >> "$1"' topology "$out/topology.txt"
attempt "the example" 30 bash -c '"$1" > "$2" 2>&1' example "$bin/09-all-reduce" "$out/example.txt"
attempt "a few calls" 60 bash -c 'REDUCTION_ON_GPU=1 RANKS_CALLS=40 "$1" --test-threads=1 --nocapture ranks:: > "$2" 2>&1' few "$bin/library" "$out/few.txt"
gpus=$(nvidia-smi --list-gpus | wc -l)
for ((ranks = 2; ranks <= gpus; ranks *= 2)); do
    attempt "$ranks GPUs beside NCCL" 120 bash -c 'RANKS=$1 "$2" "$3" >> "$4" 2>> "$5"' beside "$ranks" "$bin/beside-nccl" "${ROUNDS:-31}" \
        "$out/cases.jsonl" "$out/cases.txt"
    if has_torch; then
        attempt "$ranks GPUs by torch" 120 bash -c 'python3 -m torch.distributed.run --nproc-per-node "$1" "$2" "$3" >> "$4" 2>&1' torch \
            "$ranks" "$(dirname "$0")/torch_all_reduce.py" "$out/cases.jsonl" "$out/torch.txt"
    fi
done
attempt "chapter 14" 60 bash -c '"$1" --device gpu > "$2" 2>&1 && "$1" --device gpu --n 2^24 --json > "$3"' chapter "$bin/ch14-all-reduce" \
    "$out/ch14-all-reduce.txt" "$out/ch14-all-reduce.json"
attempt "peers" 30 bash -c '"$1" --test-threads=1 --nocapture peers:: > "$2" 2>&1' peers "$bin/device" "$out/peers.txt"
attempt "${CALLS:-10000} random calls" 120 bash -c 'REDUCTION_ON_GPU=1 RANKS_CALLS=$1 "$2" --test-threads=1 ranks::any > "$3" 2>&1' random \
    "${CALLS:-10000}" "$bin/library" "$out/random.txt"
attempt "memcheck" 60 bash -c 'REDUCTION_ON_GPU=1 RANKS_CALLS=40 compute-sanitizer --tool memcheck --error-exitcode 9 "$1" --test-threads=1 ranks:: > "$2" 2>&1' \
    memcheck "$bin/library" "$out/memcheck.txt"
python3 "$(dirname "$0")/all_reduce_record.py" "$out"
rm -rf "$out/nccl"
exit_if_failed steps
