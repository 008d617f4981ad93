#!/bin/bash
# examples/external by hand, with pkg-config; and the installed command.
source "$(dirname "$0")/install_test_lib.sh"
skip_without pkg-config
cd "$TEST_TMPDIR"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
g++ -std=c++20 "$checkout/examples/external/main.cc" \
  -o program $(pkg-config --cflags --libs tessera)
runs ./program
gcc "$checkout/examples/external/main.c" -o program_c $(pkg-config --cflags --libs tessera_c)
export LD_LIBRARY_PATH=$prefix/lib
says_the_same ./program_c
"$prefix/bin/tessera" --help >help
grep -q quantize help || fail "the installed command"
