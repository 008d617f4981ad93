#!/usr/bin/env bash
# docs/tour.md is what the chapters of examples/tour are and print now. What PyTorch's tutorial
# prints for inputs that it fixes (tutorial/CHAPTER.txt, word for word) is printed by our chapters,
# too, line by line and in this order; Python's dress of numbers ("tensor(...)", "torch.Size(...)",
# quotes, devices) is taken off on both sides. Lines that begin with "#" are ours.
set -euo pipefail

page=$TEST_TMPDIR/tour.md
examples/tour/page >"$page"
failures=0
if ! diff -u docs/tour.md "$page"; then
  echo "docs/tour.md is not what examples/tour is and prints now: run tools/docs"
  failures=1
fi

undress() {
  sed -E -e "s/(tensor|torch\.Size|dict_keys)\(//g" \
    -e "s/, (grad_fn=<[A-Za-z0-9]+>|requires_grad=True)//g; s/\]\)/]/g; s/'//g" \
    -e 's/^ebc_\.//; s/torch\.float32/f32/; s/torch\.uint8/u8/; s#/cuda:[0-9]+##' \
    -e 's/[[:space:]]+/ /g; s/^ //; s/ $//' | tr '[:upper:]' '[:lower:]'
}

checked=0
for file in tests/docs/tutorial/*.txt; do
  chapter=$(basename "$file" .txt)
  "examples/tour/$chapter" | undress >"$TEST_TMPDIR/ours"
  grep -v '^#' "$file" | undress | grep -v '^$' >"$TEST_TMPDIR/theirs"
  checked=$((checked + $(wc -l <"$TEST_TMPDIR/theirs")))
  awk -v chapter="$chapter" '
    FNR == NR { theirs[++count] = $0; next }
    next_line < count && $0 == theirs[next_line + 1] { ++next_line }
    END {
      if (next_line < count)
        print chapter " does not print, after what comes before it: " theirs[next_line + 1]
      exit next_line < count
    }' "$TEST_TMPDIR/theirs" "$TEST_TMPDIR/ours" || failures=$((failures + 1))
done
[ "$checked" -gt 50 ] ||
  { echo "only $checked lines of the tutorial were found"; failures=$((failures + 1)); }
echo "$checked lines of the tutorial checked, $failures failures"
[ "$failures" -eq 0 ]
