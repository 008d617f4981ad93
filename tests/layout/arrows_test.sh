#!/usr/bin/env bash
# The folders' arrows: a file may include only from its own folder and from folders to the left of it.
#   runtime <- sparse | quant | optim | comm <- embedding <- sharding <- planner <- train <- serve <- cli, examples, tests, bench
# Also: no .cuh outside .cu and .cuh files, no kernel started by <<<>>>, no #if TESSERA_WITH_CUDA outside the runtime.
set -euo pipefail
cd "$(dirname "$(readlink -f "$1")")"

declare -A level=([runtime]=0 [sparse]=1 [quant]=1 [optim]=1 [comm]=1 [embedding]=2 [sharding]=3 [planner]=4 [train]=5 [serve]=6
  [cli]=7 [examples]=7 [tests]=7 [bench]=7)
failures=0
complain() {
  echo "$*"
  failures=$((failures + 1))
}

sources=(--include='*.h' --include='*.cc' --include='*.cu' --include='*.cuh')
checked=0
while IFS=: read -r file include; do
  from=${file%%/*} to=${include%%/*}
  [ -n "${level[$from]:-}" ] && [ -n "${level[$to]:-}" ] || continue
  checked=$((checked + 1))
  [ "$from" = "$to" ] && continue
  [ "${level[$to]}" -lt "${level[$from]}" ] || [ "${level[$from]}" -eq 7 ] || complain "$file includes $include: that arrow points the wrong way"
done < <(grep -rnoE "${sources[@]}" '^#include "[^"]+"' "${!level[@]}" 2>/dev/null |
  sed -E 's/^([^:]+):[0-9]+:#include "([^"]+)"/\1:\2/')

while read -r file; do complain "$file: a .cuh may be included by .cu and .cuh files only"; done \
  < <(grep -rlE --include='*.h' --include='*.cc' '^#include ".*\.cuh"' "${!level[@]}" 2>/dev/null || true)
while read -r file; do complain "$file: kernels start through Launch, not <<<>>>"; done \
  < <(grep -rlE "${sources[@]}" '<<<' "${!level[@]}" tools 2>/dev/null || true)
while read -r file; do complain "$file: only runtime/dispatch.h and runtime/*_cuda.* know TESSERA_WITH_CUDA"; done \
  < <(grep -rlE "${sources[@]}" 'TESSERA_WITH_CUDA' "${!level[@]}" 2>/dev/null |
    grep -vE '^runtime/(dispatch\.h|[a-z_]*_cuda\.[a-z]*)$' || true)

[ "$checked" -gt 100 ] || complain "only $checked includes were found: is this the right folder?"
echo "$checked includes checked, $failures problems"
[ "$failures" -eq 0 ]
