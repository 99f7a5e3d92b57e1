#!/usr/bin/env bash
# Packs the PTX parser and the simulator for a registry, into target/packages/target/package. `ptx` and `simt` are other people's
# names there, so the packages are simt-ptx-syntax and simt-ptx; the libraries and the command keep their names.
#
#     scripts/package.sh --offline --no-verify
#
# Options go to `cargo package`; without --no-verify it builds what it packed.
set -euo pipefail
cd "$(dirname "$0")/.."
out=target/packages
rm -rf "$out/crates"
mkdir -p "$out/crates"
cp -r crates/ptx crates/simt "$out/crates/"
cp Cargo.toml Cargo.lock "$out/"
cd "$out"
sed -i '0,/^name = "ptx"$/s//name = "simt-ptx-syntax"/; /^publish.workspace/d' crates/ptx/Cargo.toml
sed -i '0,/^name = "simt"$/s//name = "simt-ptx"/; /^publish.workspace/d' crates/simt/Cargo.toml
sed -i 's/^members = .*/members = ["crates\/*"]/; s/^ptx = {/ptx = { package = "simt-ptx-syntax",/' Cargo.toml
cargo package --workspace --allow-dirty "$@"
