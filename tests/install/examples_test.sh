#!/bin/bash
# README's program, every fourth of the examples and chapters of the tour (all of them with
# TESSERA_TEST_ALL=1; the build compiles them in the checkout) compile against what is installed, as
# do all public headers together; README's program and the guide's run, and so does one whose ranks
# are processes.
source "$(dirname "$0")/install_test_lib.sh"
skip_without pkg-config
cd "$TEST_TMPDIR"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig

sed -n '/^```cpp$/,/^```$/p' "$checkout/README.md" | sed '/^```/d' >readme.cc
(cd "$prefix/include" && find tessera -name '*.h' -not -path '*/internal/*' | sed \
  's/.*/#include "&"/') >all_headers.h
flags="-std=c++20 -Wall $(pkg-config --cflags tessera)"
# Precompiled, all headers make the programs' own includes quick; one that is not installed is
# still an error.
g++ $flags -Wextra -Wpedantic -Werror -x c++-header all_headers.h ||
  fail "a public header warns"
mkdir examples && cp -r "$checkout/examples/two_tower" examples # it includes its own headers
all=("$checkout"/examples/*.cc "$checkout"/examples/tour/*.cc examples/two_tower/*.cc)
sources=("$PWD/readme.cc")
for i in "${!all[@]}"; do
  if [ -n "${TESSERA_TEST_ALL:-}" ] || ((i % 4 == 1)); then sources+=("${all[i]}"); fi
done
printf '%s\0' "${sources[@]}" |
  xargs -0 -P "$(nproc)" -I{} g++ -fsyntax-only -include all_headers.h -I. $flags {} ||
  fail "a program does not compile"

g++ -std=c++20 readme.cc -o readme $(pkg-config --cflags --libs tessera)
./readme | grep -qx "1 training steps so far" || fail "README's program says $(./readme)"

# The commands of docs/guide/program.md, on its program.
mkdir program && sed -n '/^```cpp$/,/^```$/p' "$checkout/docs/guide/program.md" |
  sed '/^```/d' >program/program.cc
commands=$(sed -n '/^```sh$/,/^```$/p' "$checkout/docs/guide/program.md" | sed '/^```/d')
(cd program && PATH=$prefix/bin:$PATH bash -euo pipefail -c "$commands") | tee program/said
grep -qE '^log-loss 0\.[0-2]' program/said || fail "the guide's program learned nothing"
grep -qE '^AUC (0\.[7-9]|1\.)' program/said || fail "the guide's program says $(cat program/said)"
grep -q 'embedding_bags.t_user.weight' program/said || fail "inspect says $(cat program/said)"

[ "$(ls "$prefix/include")" = tessera ] || fail "there is more than tessera/ in $prefix/include"

pkg-config --exists tessera_mpi || { echo "no MPI here: its library is not linked"; exit 0; }
cat >ranks.cc <<'END'
#include <cstdio>
#include "tessera/comm/mpi/mpi_communicator.h"
int main() {
  const auto comm = tessera::MakeMpiCommunicator();
  if (comm->rank() == 0) std::printf("%d ranks\n", comm->size());
}
END
g++ -std=c++20 ranks.cc -o ranks $(pkg-config --cflags --libs tessera_mpi)
"$checkout/tools/mpi_test.sh" 2 ./ranks | grep -qx "2 ranks" ||
  fail "a program with MPI does not run"
