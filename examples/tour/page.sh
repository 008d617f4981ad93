#!/usr/bin/env bash
# Prints docs/tour.md: of each chapter its head, its listing, and what it prints. Run by Bazel.
set -euo pipefail
cd examples/tour

cat <<'END'
# A tour

TorchRec's [introductory
tutorial](https://docs.pytorch.org/tutorials/intermediate/torchrec_intro_tutorial.html), told in
C++, in its order. Each chapter is one program of [examples/tour](../examples/tour): `bazel run
//examples/tour:01_embeddings`. Wherever the tutorial fixes its inputs, the numbers here are the
tutorial's.

END
sources=([0-9][0-9]_*.cc)
[ -f "${sources[0]}" ] || { echo "no chapters in $PWD" >&2; exit 1; }
for source in "${sources[@]}"; do
  number=$((10#${source%%_*}))
  # The comment that a file begins with is its title and text.
  awk -v number="$number" '
    !/^\/\// { exit }
    { sub(/^\/\/ ?/, ""); print (NR == 1 ? "## " number ". " : "") $0 }' "$source"
  printf '\n```cpp\n'
  awk 'code || !/^\/\// { code = 1; print }' "$source"
  printf '```\n\nIt prints:\n\n```\n'
  "./${source%.cc}"
  printf '```\n\n'
done
echo "More: [where what is](index.md), [TorchRec's names and ours](torchrec_api.md)," \
  "[examples](../examples)."
