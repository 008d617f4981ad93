#!/bin/bash
# Runs the C program on a model, and looks at what the shared library shows.
set -euo pipefail
folder="$TEST_SRCDIR/$TEST_WORKSPACE"
library="$folder/serve/libtessera_c.so"
"$folder/tests/serve/testing/make_small_model" "$TEST_TMPDIR/model"
ln -s "$library" "$TEST_TMPDIR/libtessera_c.so.1"  # as it is installed
LD_LIBRARY_PATH="$TEST_TMPDIR" "$folder/tests/serve/c_api_program" "$TEST_TMPDIR/model" \
  "$(cat "$TEST_TMPDIR/model.scores")"

exported=$(nm -D --extern-only --defined-only --format=posix "$library" | awk \
  '$2 != "A" {sub("@.*", "", $1); print $1}' | sort)
declared=$(grep -oE '\btessera_c_[a-z_]+\(' "$folder/serve/tessera_c.h" | tr -d '(' | sort -u)
diff <(echo "$declared") <(echo "$exported") || {
  echo "the library exports (right) something else than its header declares (left)"
  exit 1
}
if readelf -d "$library" | grep -E 'NEEDED.*(libmpi|libstdc)'; then
  echo "the library needs more than it should"
  exit 1
fi
echo "$(wc -l <<<"$exported") functions exported"
