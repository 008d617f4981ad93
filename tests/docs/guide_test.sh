#!/usr/bin/env bash
# Runs the commands of a page of docs/guide: every block marked sh, in order, in an empty folder.
# Arguments: the page, the program, the files of examples/.
set -euo pipefail
page=$PWD/$1 program=$PWD/$2 examples=$(dirname "$(readlink -f "$3")")
export TESSERA=${examples%/examples}
bin=$TEST_TMPDIR/bin folder=$TEST_TMPDIR/try
trap 'rm -rf "$folder"' EXIT  # gigabytes of checkpoints, which Bazel keeps
mkdir -p "$bin" "$folder"
ln -s "$program" "$bin/tessera"
export PATH=$bin:$PATH
commands=$(awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$page")
grep -q tessera <<<"$commands" || { echo "$1 has no commands"; exit 1; }
cd "$folder"
bash -euxo pipefail -c "$commands"
