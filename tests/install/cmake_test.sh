#!/bin/bash
# examples/external by CMake.
source "$(dirname "$0")/install_test_lib.sh"
skip_without cmake
cp -r "$checkout/examples/external" "$TEST_TMPDIR/project"
cd "$TEST_TMPDIR"
cmake -S project/cmake -B build -DCMAKE_PREFIX_PATH="$prefix" >log 2>&1 || fail "$(cat log)"
cmake --build build >log 2>&1 || fail "$(cat log)"
runs build/program
says_the_same build/program_c
