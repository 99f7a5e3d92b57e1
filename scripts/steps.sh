# Steps of the scripts that take records on a GPU, which source this: one that fails is remembered and costs nothing else.
failed=()
script=$(basename "$0")

# Says how long a step took, and if it failed, how. Usage: ended WHAT BEGIN STATUS [HOW]
ended() {
    echo "== $1: $((SECONDS - $2)) s"
    if (($3 == 0)); then return; fi
    echo "$script: $1 ${4:-failed with status $3}" >&2
    failed+=("$1")
}

# Ends the script with status 1 if anything failed. Usage: exit_if_failed WHAT-THEY-ARE
exit_if_failed() {
    if ((${#failed[@]} == 0)); then return; fi
    printf '%s: %d %s failed:\n' "$script" "${#failed[@]}" "$1" >&2
    printf '  %s\n' "${failed[@]}" >&2
    exit 1
}

# NVRTC compiles the shapes that the committed PTX has not, and is looked for in the toolkit that nvcc is of.
use_toolkit() {
    local compiler toolkit
    if compiler=$(command -v nvcc); then
        toolkit=$(dirname "$(dirname "$(readlink -f "$compiler")")")
        export CUDA_HOME=${CUDA_HOME:-$toolkit}
        export LD_LIBRARY_PATH=$CUDA_HOME/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    fi
}

# Runs a command for so many seconds at most; what fails is remembered, and costs nothing else. Usage: attempt WHAT SECONDS COMMAND...
attempt() {
    local what=$1 most=$2 status=0 begin=$SECONDS
    shift 2
    timeout -k 5 "$most" "$@" || status=$?
    ended "$what" "$begin" "$status" "$(how "$status")"
}

# What is said of a status that `timeout` gives; nothing of another. Usage: how STATUS
how() {
    case $1 in
        124 | 137) echo "took too long and was ended" ;;
    esac
}

has_torch() {
    timeout 60 python3 -c "import torch; assert torch.cuda.is_available()" 2> /dev/null
}
