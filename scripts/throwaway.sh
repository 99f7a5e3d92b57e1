# A copy of the repository to try a walk of contributing/ in, for the scripts throwaway_*.sh, which source this. What the checkout has
# built in `target/debug` is not built once more. Sets `root` and `copy`, and goes there.
root=$(cd "$(dirname "$0")/.." && pwd)
copy=$root/target/throwaway

step() { echo "== $* ($SECONDS s)"; }

# The files that a page of contributing/ lists in its table, one a line. Usage: listed PAGE PATTERN
listed() {
    local files
    files=$(sed -n "s/^| \`\($2\)\` .*/\1/p" "$root/$1")
    [[ -n $files ]] || { echo "$1: has no list of files" >&2; exit 1; }
    echo "$files"
}

rm -rf "$copy"
mkdir -p "$copy/target/debug/deps"
cd "$root"
# With their times, by which cargo sees that what was built of them still holds.
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
    if [[ -f $file ]]; then printf '%s\0' "$file"; fi
done | xargs -0 cp --preserve=mode,timestamps --parents -t "$copy"
if [[ -d target/debug/.fingerprint ]]; then
    cp -a target/debug/{.fingerprint,build} "$copy/target/debug/"
    find target/debug/deps \( -name 'lib*' -o -name '*.d' \) -exec cp -a -t "$copy/target/debug/deps" {} +
fi
cd "$copy"
touch crates/lab/src/session.rs # which knows where it was built
export CARGO_TARGET_DIR=$copy/target
unset CI # for which PTX must be compared with the compiler's, and the copy may have none: its stamps have to do
