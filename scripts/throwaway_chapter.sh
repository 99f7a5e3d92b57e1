#!/usr/bin/env bash
# Adds a chapter to a copy of the repository by the list in CONTRIBUTING.md and nothing else, and has it judged: its own
# tests, and the gate's checks of files, exercises, generated files and the book. It needs the pinned NVRTC.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
copy=$root/target/throwaway
like=ch05-unroll slug=ch99-throwaway

[[ -d $root/target/nvrtc ]] || { echo "target/nvrtc: missing: run \`cargo course setup\`" >&2; exit 1; }
rm -rf "$copy"
mkdir -p "$copy/target"
cd "$root"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$copy"
ln -s "$root/target/nvrtc" "$copy/target/nvrtc"
export CARGO_TARGET_DIR=$root/target
cd "$copy"

# Every file of the list, made from the one that another chapter has there.
rename() { sed -e "s/$like/$slug/g; s/${like//-/_}/${slug//-/_}/g; s/one-barrier/thrown-away/g; s/one_barrier/thrown_away/g" -e '/^mod /d' "$1" >"$2"; }
listed=$(sed -n '/^## Add a chapter/,/^## Add an exercise/s/^| `\([^`]*<slug>[^`]*\)` .*/\1/p' CONTRIBUTING.md)
[[ -n $listed ]] || { echo "CONTRIBUTING.md: has no list of a chapter's files" >&2; exit 1; }
for file in $listed; do
    mkdir -p "$(dirname "${file//<slug>/$slug}")"
    rename "${file//<slug>/$like}" "${file//<slug>/$slug}"
done
for file in chapters/$like/{exercises,solutions,wrong}/*.cu; do
    to=${file/$like/$slug}
    mkdir -p "$(dirname "$to")"
    rename "$file" "${to/one-barrier/thrown-away}"
done
# The page that was copied tells of records from a GPU, which the new chapter has none of.
printf '# Thrown away\n\n```cuda\n{{#include ../../kernels/%s.cu:kernels}}\n```\n' $slug >book/src/$slug.md
sed -i "s|^- \[Chapter 8.*|&\n- [Thrown away]($slug.md)|" book/src/SUMMARY.md
sed -i "s|^ch08-cooperative = .*|&\n$slug = { path = \"../../chapters/$slug\" }|" crates/course/Cargo.toml

cargo build --package course --package book
# Copies: cargo builds those of the repository under the same names.
cp "$CARGO_TARGET_DIR"/debug/{course,book} target/
target/course ptx
target/course bless
cargo test --package $slug
checks=(rust-files slugs named-paths ptx exercises generated records includes book links)
target/book gate "${checks[@]/#/--only=}"
rm -rf "$copy"
echo "a chapter needs these files, a line in the list of lessons and one in SUMMARY.md:" $listed
