#!/usr/bin/env bash
# Adds a chapter to a copy of the repository by the list in contributing/chapter.md and nothing else, and has it judged: its own
# tests, and the gate's checks of files, exercises and the book. No compiler for CUDA is needed, since the
# chapter's kernels are another's, with their PTX.
set -euo pipefail
source "$(dirname "$0")/throwaway.sh"
like=ch05-unroll slug=ch99-throwaway

step "the files of the list"
# Each is made from the one that another chapter has there. Kernels stay as they are, so that their PTX does.
rename() { sed -e "s/$like/$slug/g; s/${like//-/_}/${slug//-/_}/g" -e '/^mod /d' "$1" >"$2"; }
files=$(listed contributing/chapter.md '[^`]*<slug>[^`]*')
for file in $files; do
    from=${file//<slug>/$like} to=${file//<slug>/$slug}
    mkdir -p "$(dirname "$to")"
    if [[ $file == *.cu ]]; then cp "$from" "$to"; else rename "$from" "$to"; fi
done
cp kernels/ptx/$like.ptx kernels/ptx/$slug.ptx
# Exercises of its own, one of them by kernels that have another's name.
sed -i 's/^id = "one-barrier"$/id = "thrown-away"\nentry = "one_barrier_{type}"/; t; s/^id = "/&thrown-/' chapters/$slug/exercises.toml
for file in chapters/$like/{exercises,solutions,wrong}/*; do
    to=${file/$like/$slug}
    mkdir -p "$(dirname "$to")"
    cp "$file" "${to/one-barrier/thrown-away}"
done
# A question's kernels name it in their head, in a comment, so that their stamp holds.
mkdir -p chapters/$slug/choices
for file in chapters/$like/choices/*.cu; do
    id=$(basename "$file" .cu)
    to=chapters/$slug/choices/thrown-$id
    sed "s/the kernel of $id /the kernel of thrown-$id /" "$file" >"$to.cu"
    cp "${file%.cu}.ptx" "$to.ptx"
done
# The page that was copied tells of records from a GPU, which the new chapter has none of.
printf '# Thrown away\n\n```cuda\n{{#include ../../kernels/%s.cu:kernels}}\n```\n' $slug >book/src/$slug.md
sed -i "s|^- \[Chapter 8.*|&\n- [Thrown away]($slug.md)|" book/src/SUMMARY.md
sed -i "s|^ch08-cooperative = .*|&\n$slug = { path = \"../../chapters/$slug\" }|" crates/course/Cargo.toml

step "cargo course bless"
cargo run --quiet --package course -- bless
step "the labs' data"
cargo run --quiet --package book -- engine --data
step "its tests"
cargo test --quiet --package $slug
step "the gate"
# What bless and the step before have just written is not compared once more.
checks=(rust-files slugs named-paths ptx exercises records includes book links)
cargo run --quiet --package book -- gate "${checks[@]/#/--only=}"
step "seen to the end"
rm -rf "$copy"
echo "a chapter needs these files, a line in the list of lessons and one in SUMMARY.md:" $files
