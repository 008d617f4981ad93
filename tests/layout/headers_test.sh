#!/usr/bin/env bash
# Headers compile alone, those for .cu files (.cuh) and the emulator's beside the emulator. Every
# sixth is tried, or all with TESSERA_TEST_ALL=1; of those that their own .cc includes first every
# fortieth: a build of sources one by one (tools/nightly) shows it but for headers of the standard
# library, which all sources see (tools/pch), these programs too (precompiled, they halve the time):
# includes_test checks them.
# Public headers (outside tests and bench) bring no fmt, Eigen, JSON or CLI11 along (runtime/json/
# is for .cc files).
set -euo pipefail
cd "$(dirname "$(readlink -f "$1")")"

shown_by_build() {
  [ -f "${1%.h}.cc" ] && [ "$(grep -m1 '^#include' "${1%.h}.cc")" = "#include \"$1\"" ]
}
standard=$TEST_TMPDIR/standard.h
printf '#include <%s>\n' algorithm atomic cmath cstdint functional map memory optional span \
  sstream string unordered_map variant vector >"$standard"
g++ -std=c++20 -DTESSERA_ISA=native -x c++-header "$standard" -o "$standard.gch"
export standard
compile() {
  local emulated=()
  [[ "$1" == *.cuh || "$1" == tools/emulation/* ]] &&
    emulated=(-Itools/emulation -Wno-unknown-pragmas)
  g++ -std=c++20 -fsyntax-only -Wall -Wextra -Werror -Wno-pragma-once-outside-header -I. \
    -DTESSERA_ISA=native -include "$standard" "${emulated[@]}" -x c++ "$1" || {
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
  headers=$(sort <<<"$headers" | while read -r header; do
    if shown_by_build "$header"; then echo "shown $header"; else echo "tried $header"; fi
  done | awk '++seen[$1] % ($1 == "tried" ? 6 : 40) == 0 {print $2}')
fi
xargs -P "$(nproc)" -I{} bash -c 'compile {}' <<<"$headers"

if grep -nE '#include <(fmt|eigen3|Eigen|nlohmann|CLI)/' \
  $(find $library -name '*.h' -not -path 'runtime/json/*') tessera.h; then
  echo "a public header includes a library that only .cc files may"
  exit 1
fi
echo "$(wc -l <<<"$headers") headers compile alone"
