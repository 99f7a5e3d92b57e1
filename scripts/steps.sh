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
