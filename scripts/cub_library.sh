#!/usr/bin/env bash
# Builds NVIDIA's CUB as a library that `cargo course measure` loads.
#
# Usage: scripts/cub_library.sh LIB.so [--overlap | --operators | --rows | --library] [CCCL]
#   --overlap  builds from a copy of the headers in which the reduction's kernels let the next launch begin and wait for the
#              one before, by CUB's own macros, and are launched with the attribute that allows it, by CUB's own argument
#   --operators  with the reductions of scripts/cub_operators.cu too, whose parts are compiled side by side
#   --rows     with the reductions of many segments of scripts/cub_rows.cu too
#   --library  with what the library `reduction` is timed beside: segments, and operators of both files for its types
#   CCCL       a folder with CCCL's sources (cub, thrust, libcudacxx); without it the toolkit's own headers are used
#
# Needs nvcc. ARCH in the environment is what it compiles for, default native.
set -euo pipefail

if [[ $# -lt 1 || $1 == -* ]]; then
    sed -n '2,13s/^# \{0,1\}//p' "$0"
    exit 2
fi
lib=$1
shift
kind=
case ${1:-} in
    --overlap | --operators | --rows | --library)
        kind=${1#--}
        shift
        ;;
esac
cccl=${1:-}
command -v nvcc > /dev/null || { echo "cub_library.sh: nvcc is not there; install a CUDA toolkit" >&2; exit 1; }

include=()
if [[ -n $cccl ]]; then
    [[ -d $cccl/cub/cub ]] || { echo "cub_library.sh: $cccl/cub/cub is not there; CCCL's sources are wanted" >&2; exit 2; }
    headers=$cccl/cub/cub
    include=(-I "$cccl/cub" -I "$cccl/thrust" -I "$cccl/libcudacxx/include")
else
    # Where the compiler itself finds them.
    headers=$(nvcc -E -x cu -include cub/version.cuh /dev/null 2> /dev/null |
        sed -n 's/^# [0-9]* "\(.*\)\/version\.cuh".*/\1/p' | head -n 1)
    [[ -d $headers ]] || { echo "cub_library.sh: nvcc finds no cub/version.cuh" >&2; exit 1; }
fi

if [[ $kind == overlap ]]; then
    copy=$(mktemp -d)
    trap 'rm -rf "$copy"' EXIT
    cp -r "$headers" "$copy/cub"
    kernels=$copy/cub/device/dispatch/kernels/reduce.cuh
    [[ -f $kernels ]] || kernels=$copy/cub/device/dispatch/kernels/kernel_reduce.cuh
    dispatch=$copy/cub/device/dispatch/dispatch_reduce.cuh
    sed -i 's|^  // Consume input tiles$|  _CCCL_PDL_TRIGGER_NEXT_LAUNCH();\n  _CCCL_PDL_GRID_DEPENDENCY_SYNC();|' "$kernels"
    sed -i '/launcher_factory(/s/, 0, stream)/, 0, stream, true)/' "$dispatch"
    waits=$(grep -c _CCCL_PDL_GRID_DEPENDENCY_SYNC "$kernels") || true
    launches=$(grep -c ', 0, stream, true)' "$dispatch") || true
    if ((waits < 2 || launches < 3)); then
        echo "cub_library.sh: $headers has another form: $waits kernels and $launches launches were found" >&2
        exit 1
    fi
    include=(-I "$copy" ${include[@]+"${include[@]}"})
fi
options=(-O3 -std=c++17 -arch="${ARCH:-native}" -Xcompiler "-fPIC,-fno-gnu-unique" ${include[@]+"${include[@]}"})
case $kind in
    operators) parts=$(grep -c 'PART == [0-9]' scripts/cub_operators.cu) ;;
    rows)
        nvcc "${options[@]}" -shared -o "$lib" scripts/cub_baseline.cu scripts/cub_rows.cu
        exit
        ;;
    library) parts=0 ;;
    *)
        nvcc "${options[@]}" -shared -o "$lib" scripts/cub_baseline.cu
        exit
        ;;
esac

objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT
jobs=()
object() { nvcc "${options[@]}" -c -o "$objects/$1.o" "${@:2}"; }
object baseline scripts/cub_baseline.cu & jobs+=($!)
for ((part = 0; part < parts; part++)); do
    object "$part" -DPART="$part" scripts/cub_operators.cu & jobs+=($!)
done
if [[ $kind == library ]]; then
    object rows scripts/cub_rows.cu & jobs+=($!)
    object operators -DLIBRARY scripts/cub_operators.cu & jobs+=($!)
fi
status=0
for job in "${jobs[@]}"; do wait "$job" || status=1; done
# A part that does not compile costs its operators alone.
nvcc -arch="${ARCH:-native}" -shared -o "$lib" "$objects"/*.o
exit $status
