#!/usr/bin/env bash
# Runs the library's suite through cudarc on a GPU: every family, a thousand random calls, graphs, streams, compute-sanitizer, and
# what a call costs the host.
#
# Usage: scripts/gpu_library.sh OUT [BIN]
#   OUT    folder for what comes out; made if it is not there
#   BIN    folder with `library` (the suite) and the examples, default target/release/gpu; build them first, on any machine:
#          scripts/gpu_library.sh --build
#   PARTS  in the environment: which parts to run, default "examples clock candle cubek cub losses suite"; PARTS=cub takes under two minutes
#   CALLS  in the environment: random calls, default 1000
#   EXACT  in the environment: arrays of random bit patterns whose sums are held to arbitrary precision, default 6250
#   CANDLE in the environment: folder with the sources of candle-kernels (0.11.1), whose kernels are timed beside ours on the same arrays
#
# `beside-cubek` in BIN is timed too, if it is there: crates/reduction/examples/beside-cubek, built by hand. CUB is timed by all libcub*.so
# in BIN, of each shape the fastest. `--build` makes them where nvcc is: of the toolkit's CUB, and with CCCL in the environment, a folder
# with CCCL's sources, of these too; for ARCH, default sm_90. If there is none, nvcc makes one of its own CUB on the machine with the card.
#
# Losses of torch, Liger and QuACK are timed too; SITE in the environment is a folder with the packages liger_kernel and quack, where they
# are not installed.
#
# CARD in the environment is the card as the names of the records have it, default h200.
#
# Afterwards copy OUT/$CARD*.json to measurements/library/, and run `cargo course bless`.
#
# The suite runs twice: with the kernels that the crate has, and with those that NVRTC compiles, which is nvcc's toolkit's.
#
# Takes some six minutes. A step that fails or takes too long does not stop the others; the status is 1 then.
set -euo pipefail

if [[ ${1:-} == --build ]]; then
    bin=target/release/gpu
    mkdir -p "$bin"
    cargo build --release --package reduction --examples
    suite=$(cargo test --release --package reduction-tests --test library --no-run 2>&1 | sed -n 's/.*Executable .*(\(.*\))/\1/p')
    cp "$suite" "$bin/library"
    cp target/release/examples/{01-sum,02-rows,03-softmax,04-graph,06-own-operator,07-gradients,clock,compare,first_plan} "$bin/"
    if command -v nvcc > /dev/null; then
        export ARCH=${ARCH:-sm_90}
        scripts/cub_library.sh "$bin/libcub.so" --library
        if [[ -n ${CCCL:-} ]]; then scripts/cub_library.sh "$bin/libcub_newer.so" --library "$CCCL"; fi
    fi
    find "$bin" -maxdepth 1 -type f -exec strip {} +
    exit 0
fi
if [[ $# -lt 1 || $# -gt 2 || $1 == -* ]]; then
    sed -n '2,28s/^# \{0,1\}//p' "$0"
    exit 2
fi
out=$1
bin=${2:-target/release/gpu}
if [[ ! -x $bin/compare ]]; then
    echo "gpu_library.sh: $bin/compare is not there; build it with scripts/gpu_library.sh --build" >&2
    exit 2
fi
mkdir -p "$out"
source "$(dirname "$0")/steps.sh"

# A step whose output is a file of its own. Usage: into FILE WHAT SECONDS COMMAND...
into() {
    local file=$out/$1 what=$2 most=$3
    shift 3
    attempt "$what" "$most" bash -c '"${@:2}" > "$1" 2>&1' into "$file" "$@"
    tail -n 2 "$file"
}
on_gpu=(env REDUCTION_ON_GPU=1)
own=("$bin/library" --test-threads=1 families:: axes:: many:: offsets:: loss:: masked:: normalise:: quantised:: exact:: exact_rows:: gpu::)

use_toolkit
if [[ -n ${SITE:-} ]]; then export PYTHONPATH=$SITE${PYTHONPATH:+:$PYTHONPATH}; fi

wanted() { [[ " ${PARTS:-examples clock candle cubek cub losses suite} " == *" $1 "* ]]; }
# A step that writes a record, and says on the way what it found. Usage: record NAME WHAT SECONDS COMMAND...
record() {
    attempt "$2" "$3" bash -c '"${@:3}" > "$1" 2> "$2"' record "$out/$1.json" "$out/$1.txt" "${@:4}"
    tail -n 2 "$out/$1.txt"
}

if wanted examples; then
    for example in 01-sum 02-rows 03-softmax 04-graph 06-own-operator 07-gradients; do
        into "$example.txt" "example $example" 60 "$bin/$example"
    done
fi
if wanted clock; then
    into clock.json "host time" 120 "$bin/clock"
    into clock_compiled.json "host time where kernels are compiled" 120 "$bin/clock" compiled
    into first_plan.txt "first plans" 60 env CUDA_CACHE_DISABLE=1 "$bin/first_plan"
fi
if wanted candle && [[ -n ${CANDLE:-} ]] && command -v nvcc > /dev/null; then
    into reduce.txt "candle's kernels" 120 nvcc -cubin -arch=native -O3 -std=c++17 -I"$CANDLE" -o "$out/reduce.cubin" "$CANDLE/reduce.cu"
    record compare "beside candle" 300 "$bin/compare" candle "$out/reduce.cubin"
    into torch.txt "gradients by torch" 120 python3 "$(dirname "$0")/torch_gradients.py" "$out/torch.json"
fi
if wanted cubek && [[ -x $bin/beside-cubek ]]; then
    record cubek "beside cubek" 300 "$bin/beside-cubek"
fi
if wanted cub; then
    shopt -s nullglob
    libraries=("$bin"/libcub*.so)
    shopt -u nullglob
    if ((${#libraries[@]} == 0)) && command -v nvcc > /dev/null; then
        into cub_library.txt "CUB, a library" 200 scripts/cub_library.sh "$out/libcub.so" --library
        libraries=("$out/libcub.so")
    fi
    if ((${#libraries[@]} > 0)); then
        record cub "beside CUB" 150 "$bin/compare" cub 90 "${libraries[@]}"
        rm -f "$out/libcub.so"
    else
        echo "gpu_library.sh: neither $bin/libcub*.so nor nvcc is there, so CUB is left out" >&2
    fi
fi
if wanted losses; then
    record losses "losses" 60 "$bin/compare" losses
    into torch-losses.txt "losses of others" 260 python3 "$(dirname "$0")/torch_losses.py" "$out/torch-losses.json" --seconds 200
fi
attempt "records" 60 python3 "$(dirname "$0")/library_records.py" "$out"
if ! wanted suite; then
    exit_if_failed steps
    exit
fi
into suite.txt "the suite" 300 "${on_gpu[@]}" "${own[@]}"
# A capture forbids other threads to allocate.
compiled=(env REDUCTION_ON_GPU=nvrtc "$bin/library")
into suite_compiled.txt "the suite with kernels that are compiled" 400 "${compiled[@]}" --test-threads=8 families:: own::
into gpu_compiled.txt "streams and graphs with kernels that are compiled" 60 "${compiled[@]}" --test-threads=1 gpu::
into random.txt "${CALLS:-1000} random calls" 300 "${on_gpu[@]}" PROPTEST_CASES=$((${CALLS:-1000} / 4)) \
    "$bin/library" --test-threads=1 properties::any_layout
# Four types and four operations each, over any bit patterns and their negatives.
into exact.txt "${EXACT:-6250} times 16 exact results" 300 "${on_gpu[@]}" PROPTEST_CASES="${EXACT:-6250}" \
    "$bin/library" --test-threads=4 exact::any_bits
for tool in memcheck racecheck initcheck synccheck; do
    into "$tool.txt" "compute-sanitizer $tool" 300 "${on_gpu[@]}" compute-sanitizer --tool "$tool" --error-exitcode 9 \
        "$bin/library" --test-threads=1 families::a_workspace families::labels many:: offsets:: gpu::streams
done
exit_if_failed steps
