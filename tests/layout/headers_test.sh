#!/usr/bin/env bash
# Headers compile alone, those for .cu files (.cuh) beside the emulator: every twentieth, or all
# with TESSERA_TEST_ALL=1. (A build doesn't show it, since all sources see the standard library:
# tools/pch.) Public headers (outside tests and bench) bring no fmt, Eigen, JSON or CLI11 along
# (runtime/json/ is for .cc files).
set -euo pipefail
cd "$(dirname "$(readlink -f "$1")")"

compile() {
  local emulated=()
  [[ "$1" == *.cuh ]] && emulated=(-Itools/emulation -Wno-unknown-pragmas)
  g++ -std=c++20 -fsyntax-only -Wall -Wextra -Werror -Wno-pragma-once-outside-header -I. \
    -DTESSERA_ISA=native "${emulated[@]}" -x c++ "$1" || {
    echo "$1 does not compile alone"
    return 1
  }
}
export -f compile
existing() { for folder in "$@"; do if [ -d "$folder" ]; then echo "$folder"; fi; done; }
library=$(existing runtime sparse quant optim comm embedding metrics data sharding planner models \
  serve)
headers=$(find $library $(existing train cli bench tests tools) -name '*.h' -o -name '*.cuh')
if [ -z "${TESSERA_TEST_ALL:-}" ]; then
  headers=$(sort <<<"$headers" | awk 'NR % 20 == 0')
fi
xargs -P "$(nproc)" -I{} bash -c 'compile {}' <<<"$headers"

if grep -nE '#include <(fmt|eigen3|Eigen|nlohmann|CLI)/' \
  $(find $library -name '*.h' -not -path 'runtime/json/*') tessera.h; then
  echo "a public header includes a library that only .cc files may"
  exit 1
fi
echo "$(wc -l <<<"$headers") headers compile alone"
