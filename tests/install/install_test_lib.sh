# Sourced: installs into $prefix, and makes a model directory, $model.
set -euo pipefail
checkout=$(dirname "$(readlink -f "$1")")
built=$PWD
prefix=$TEST_TMPDIR/prefix model=$TEST_TMPDIR/model
archive=$(realpath "$2") mpi_archive=$(realpath "$3")

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
skip_without() { command -v "$1" >/dev/null || { echo "SKIPPED: there is no $1 here"; exit 0; }; }

(cd "$checkout" && tools/install_files "$prefix.first" "$archive" "$mpi_archive" \
  "$(realpath "$built/serve/libtessera_c.so")" "$(realpath "$built/cli/tessera")")
mv "$prefix.first" "$prefix" # it may be moved
"$built/tests/serve/testing/make_small_model" "$model"

# runs PROGRAM, says_the_same PROGRAM_C: they find the model's score.
runs() {
  "$1" "$model" >out || fail "$1"
  grep -qF "pooled: [2, 16]" out && grep -qE '^score: 0\.[0-9]{4}$' out || fail "$1 says $(cat out)"
  cp out cpp_says
}
says_the_same() {
  "$1" "$model" >out || fail "$1"
  diff <(grep score cpp_says) out || fail "$1 has another score"
}
