#!/usr/bin/env bash
# Records what a GPU says about the course: results and times, Nsight Compute's counters, compute-sanitizer's verdicts, and the
# course-wide measurement beside CUB and torch.
#
# Usage: scripts/gpu.sh OUT [BIN]
#   OUT    folder for the records; made if it is not there
#   BIN    folder with the release binaries of the chapters and of `course`, default target/release; build them first, on
#          any machine: cargo build --release --workspace
#   PARTS  in the environment: which parts to run, default "measure records ncu sanitizer", in this order
#   CHAPTERS  in the environment: these chapters alone, for all parts but measure; default all
#   CARD   in the environment: the card as the names of the files have it, default h200
#   CCCL   in the environment: a folder with CCCL's sources (cub, thrust, libcudacxx), to measure against newer ones too, and
#          against the mode that adds in any order if the toolkit's have none
#
# Runs in the repository's root, needs a GPU and its driver; ncu, compute-sanitizer, nvcc, NVRTC and torch are used where they
# are there, and a line says where one is not. Nothing is downloaded and no clock or setting of the card is changed. A part
# that fails does not stop the others; the status is 1 then. Each step says how many seconds it took. What is timed runs
# alone; what is only counted or judged runs side by side where its tool allows it.
# Afterwards copy OUT/<chapter>/* to chapters/<chapter>/data/ and OUT/measurements/* to measurements/, and run
# `cargo course bless`.
set -euo pipefail

if [[ $# -lt 1 || $# -gt 2 || $1 == -* ]]; then
    sed -n '2,22s/^# \{0,1\}//p' "$0"
    exit 2
fi
out=$1
bin=${2:-target/release}
parts=${PARTS:-measure records ncu sanitizer}
name=${CARD:-h200} # of the files; the records themselves say what the card is

metrics=$(IFS=,; echo \
    l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{ld,st,atom}.sum \
    l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{ld,st,atom}.sum \
    l1tex__t_sectors_pipe_lsu_mem_global_op_{ld,st,atom,red}.sum \
    smsp__inst_executed.sum smsp__thread_inst_executed.sum | tr ' ' ',')

chapters=()
for folder in chapters/*/; do
    chapter=$(basename "$folder")
    # A chapter whose page is not there yet has no records either.
    [[ -f $folder/exercises.toml ]] || continue
    [[ -z ${CHAPTERS:-} || " $CHAPTERS " == *" $chapter "* ]] || continue
    if [[ ! -x $bin/$chapter ]]; then
        echo "gpu.sh: $bin/$chapter is not there; build it with cargo build --release -p $chapter" >&2
        exit 2
    fi
    chapters+=("$chapter")
done
[[ ${#chapters[@]} -gt 0 ]] || { echo "gpu.sh: no such chapters here; run it in the repository's root" >&2; exit 2; }

source "$(dirname "$0")/steps.sh"

# Runs a command; what fails is remembered, and costs nothing else. Usage: attempt WHAT COMMAND...
attempt() {
    local what=$1
    shift
    # `set -e` does not hold in what runs here: functions return 1 themselves.
    local status=0 begin=$SECONDS
    "$@" || status=$?
    ended "$what" "$begin" "$status"
}

# Whether a tool is there, with a line if not.
has() {
    command -v "$1" > /dev/null && return
    echo "gpu.sh: $1 is not there, so $2 is left out" >&2
    return 1
}

# Each variant's name, as the chapter lists them.
variants_of() {
    "$bin/$1" --help | sed -n '/^Variants:/,$ s/^  \([a-z0-9_]\+\) .*/\1/p'
}

# CUB as libraries, side by side: the toolkit's and newer sources, each with launches that overlap too.
build_cub() {
    local status=0 job jobs=()
    scripts/cub_library.sh "$out/libcub.so" & jobs+=($!)
    scripts/cub_library.sh "$out/libcub_overlap.so" --overlap & jobs+=($!)
    if [[ -n ${CCCL:-} ]]; then
        scripts/cub_library.sh "$out/libcub_newer.so" "$CCCL" & jobs+=($!)
        scripts/cub_library.sh "$out/libcub_newer_overlap.so" --overlap "$CCCL" & jobs+=($!)
    fi
    for job in "${jobs[@]}"; do wait "$job" || status=1; done
    return $status
}

measure() {
    local folder=$out/measurements options=() library
    mkdir -p "$folder"
    if [[ ! -x $bin/course ]]; then
        echo "gpu.sh: $bin/course is not there, so the measurement is left out; cargo build --release -p course" >&2
        return
    fi
    if has nvcc "CUB"; then attempt "CUB, the libraries" build_cub; fi
    for library in cub cub_overlap cub_newer cub_newer_overlap; do
        if [[ -f $out/lib$library.so ]]; then options+=("--${library//_/-}" "$out/lib$library.so"); fi
    done
    if python3 -c "import torch; assert torch.cuda.is_available()" 2> /dev/null; then
        attempt "torch.sum" python3 scripts/torch_sum.py "$out/torch.json"
        if [[ -f $out/torch.json ]]; then options+=(--torch "$out/torch.json"); fi
    else
        echo "gpu.sh: python3 has no torch that sees a GPU, so torch.sum is left out" >&2
    fi
    attempt "measurement" "$bin/course" measure --out "$folder/$name.json" ${options[@]+"${options[@]}"}
}

# Results of every chapter side by side, then the sweeps, which are timed. Usage: records
records() {
    local chapter job i jobs=()
    for chapter in "${chapters[@]}"; do
        "$bin/$chapter" --device gpu --record "$out/$chapter/$name.json" & jobs+=($!)
    done
    for i in "${!jobs[@]}"; do attempt "${chapters[$i]}: results" wait "${jobs[$i]}"; done
    for chapter in "${chapters[@]}"; do
        if "$bin/$chapter" --help | grep -q '^ *--sweep'; then
            attempt "$chapter: sweep" "$bin/$chapter" --device gpu --sweep --record "$out/$chapter/$name-sweep.json"
        fi
    done
}

# What a chapter launches for this type and size, all its variants that this card can run. Usage: plan CHAPTER TYPE N
plan() {
    "$bin/$1" --device gpu --type "$2" --n "$3" --once --plan --json > "$out/$1/$2-$3.plan"
}

# One run of all variants under ncu; the plan says which launch is whose. Usage: profile CHAPTER TYPE N
profile() {
    local plan=$out/$1/$2-$3.plan csv=$out/$1/$2-$3.csv
    plan "$1" "$2" "$3" || return 1
    ncu --clock-control none --csv --metrics "$metrics" \
        "$bin/$1" --device gpu --variant all --type "$2" --n "$3" --once > "$csv" || return 1
    profiled+=("$2:$3:$plan:$csv")
}

profiled_to_json() {
    python3 scripts/ncu_to_json.py "kernels/ptx/$1"*.ptx "${profiled[@]}" > "$out/$1/$name-ncu.json.new" || return 1
    mv "$out/$1/$name-ncu.json.new" "$out/$1/$name-ncu.json"
    rm -f "$out/$1"/*.csv "$out/$1"/*.plan
}

# Elements and types of which a chapter is profiled, and elements that compute-sanitizer sees, are those of its contest.json. Of rows
# a multiple of 64 is many, and any other number one. Usage: profiled_of CHAPTER KEY DEFAULT...
profiled_of() {
    python3 scripts/contest.py "$1" "profiled.$2" "${@:3}"
}

counters() {
    local chapter n type
    has ncu "what Nsight Compute counts" || return 0
    for chapter in "${chapters[@]}"; do
        profiled=()
        for n in $(profiled_of "$chapter" n 4099 1000003); do
            for type in $(profiled_of "$chapter" types i32 f32); do
                attempt "$chapter: counters of $n $type" profile "$chapter" "$type" "$n"
            done
        done
        if ((${#profiled[@]} > 0)); then attempt "$chapter: counters" profiled_to_json "$chapter"; fi
    done
}

# What one tool says of one variant, without process numbers and empty lines. Fails where the program did, since a tool finds nothing
# in what did not run. Usage: verdict CHAPTER TOOL VARIANT
verdict() {
    local n said status=0
    for n in $(profiled_of "$1" sanitized 100003); do
        echo "$2 $3"
        said=$(compute-sanitizer --tool "$2" "$bin/$1" --device gpu --variant "$3" --n "$n" --once 2>&1 |
            sed -n 's/^========= \(.\)/    \1/p' | grep -v COMPUTE-SANITIZER || true)
        echo "$said"
        [[ $said != *"returned an error"* ]] || status=1
    done
    return $status
}

# What every tool says of every variant; nothing here is timed, so that tools run side by side. Usage: sanitize CHAPTER
sanitize() {
    local chapter=$1 tool variant job status=0 files=() jobs=()
    for tool in memcheck racecheck initcheck synccheck; do
        for variant in $(variants_of "$chapter"); do
            files+=("$out/$chapter/$tool-$variant.said")
            verdict "$chapter" "$tool" "$variant" > "$out/$chapter/$tool-$variant.said" & jobs+=($!)
            if ((${#jobs[@]} < 16)); then continue; fi
            for job in "${jobs[@]}"; do wait "$job" || status=1; done
            jobs=()
        done
    done
    for job in ${jobs[@]+"${jobs[@]}"}; do wait "$job" || status=1; done
    cat "${files[@]}" > "$out/$chapter/$name-sanitizer.txt"
    rm -f "${files[@]}"
    return $status
}

sanitizer() {
    local chapter
    has compute-sanitizer "what compute-sanitizer says" || return 0
    for chapter in "${chapters[@]}"; do
        attempt "$chapter: sanitizer" sanitize "$chapter"
    done
}

for chapter in "${chapters[@]}"; do
    mkdir -p "$out/$chapter"
done
for part in $parts; do
    begin=$SECONDS
    case $part in
        measure) measure ;;
        records) records ;;
        ncu) counters ;;
        sanitizer) sanitizer ;;
        *) echo "gpu.sh: PARTS has $part; there are measure, records, ncu and sanitizer" >&2; exit 2 ;;
    esac
    echo "=== $part: $((SECONDS - begin)) s"
done
exit_if_failed parts
