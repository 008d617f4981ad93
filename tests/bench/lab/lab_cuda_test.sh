#!/usr/bin/env bash
# tools/lab_cuda with every variant of the lab, in a checkout where all is built already; and the
# commands of it that documents show. $1 is the kind of build, $2 the root of CUDA.
set -euo pipefail
kind=$1 runfiles=$PWD checkout=$TEST_TMPDIR/checkout
export CUDA_PATH=$2 PATH=$TEST_TMPDIR/bin:/usr/bin:/bin
export TESSERA_PTX_SEED=5 # of a user's shell: the report is not of it
trap 'rm -rf "$checkout"' EXIT
fail() {
  echo "FAILED: $*"
  cat "$TEST_TMPDIR"/out
  exit 1
}
# run FLAGS…: what it says of a build is left out.
run() {
  local code=0
  "$checkout/tools/lab_cuda" "$@" >"$TEST_TMPDIR/out" 2>"$TEST_TMPDIR/err" || code=$?
  grep -vE '^(building |  \[)' "$TEST_TMPDIR/err" >>"$TEST_TMPDIR/out" || true
  return $code
}
lab() { "$runfiles/bench/lab/cuda/lab" "$@" >"$TEST_TMPDIR/out" 2>&1; }
says() { grep -qF -- "$1" "$TEST_TMPDIR/out" || fail "it does not say: $1"; }

mkdir -p "$TEST_TMPDIR/bin" "$checkout/tests"
cp -rL "$runfiles/tools" "$checkout/tools"
cp -rL "$runfiles/tests/layout" "$checkout/tests/layout"
ln -s "$runfiles" "$checkout/bazel-bin"
printf '#!/bin/bash\necho "$@" >>"%s"\n' "$TEST_TMPDIR/bazel" >"$TEST_TMPDIR/bin/bazel"
chmod +x "$TEST_TMPDIR/bin/bazel"

if [ "$kind" = ptx ]; then
  run rows_in_flight --only ptx --rows-in-flight 1,2,4 --card h200 || fail "exit code $?"
  says 'RowsInFlightKernel<4>'
  says 'LookupKernel<16, true>'
  grep -q -- '--output_groups=+cubins_90' "$TEST_TMPDIR/bazel" || fail "what did it build?"
  python3 - "$TEST_TMPDIR/out" <<'PYTHON'
import sys
text = open(sys.argv[1]).read()
def of(label):
    """The variant's figure with 1, 2 and 4 rows in flight; the library's stands beside it."""
    lines = [line.split(label)[1] for line in text.split("\n") if line.startswith("  " + label)]
    return [float(line.replace("%", "").split()[0]) for line in lines]
assert of("  bytes in flight") == [16, 32, 64], text
assert all(0 < n < 256 for n in of("registers a thread")), text
assert all(1 <= n <= 1.1 for n in of("  by what the batch needs")), text
shares = of("share of peak by Little's law")
assert shares == sorted(set(shares)) and shares[-1] > 100, text
tb = of("TB/s by Little's law")
assert all(abs(n / 4.8 * 100 - share) < 1 for n, share in zip(tb, shares)), text
# What brings rows comes first, and apart from ids.
rows, ids = [line for line in text.split("\n") if "  load   at " in line][:2]
assert " 128  load   at vector.cuh:" in rows and " < lookup_rows_in_flight.cu:" in rows, text
assert " 64  load   at lookup_rows_in_flight.cu:" in ids, text
PYTHON
  grep -q 'hot loop  *lookup_rows_in_flight.cu:[0-9]*-[0-9]*' "$TEST_TMPDIR/out" || fail "no loop"
  run copied_rows --only ptx --rows-ahead 4 || fail "exit code $?"
  says "of them copies (cp.async)"
  # A product lives by arithmetic; the library groups by CUB, of whose kernels no figures are read.
  run shared_tile --only ptx --batch 20 --in 40 --out 24 || fail "exit code $?"
  says 'SharedTile<16>'
  says 'TiledGemm<'
  ! grep -q "Little's law" "$TEST_TMPDIR/out" || fail "what has Little's law to do with a product?"
  run radix_tiles --only ptx --batch 8 || fail "exit code $?"
  says 'MoveOccurrences<8>'
  says 'also launched by tessera: DeviceRadixSort'
  TESSERA_PTX_SEED=1 lab warp_per_row --batch 8 || fail "exit code $?"
  says "every bit is right"
  exit
fi

run || fail "exit code $?"
for kind in lookup 'quantized lookup' update grouping product; do
  grep -qx "$kind" "$TEST_TMPDIR/out" || fail "it does not list the kind $kind"
done
names=$(sed -n 's/^  \([a-z_0-9]*\) .*/\1/p' "$TEST_TMPDIR/out" | grep .)
[ "$(wc -w <<<"$names")" -ge 6 ] || fail "which variants?"
for name in $names; do
  run "$name" || fail "$name: exit code $?"
  says "emulated GPU: every bit is right, with threads in order and in 2 random orders"
  says "left out: compiling and the report need nvcc 13 or newer, and there is none"
done
run rows_in_flight --rows-in-flight 1,8 --dim=16,256 || fail "exit code $?"
[ "$(grep -c 'every bit is right' "$TEST_TMPDIR/out")" = 4 ] || fail "of four points"
says "rows_in_flight --rows-in-flight 8 --dim 256"

# Flags are those that a kind reads.
lab shared_tile --help || fail "exit code $?"
says "--product"
! grep -q -- '--dim' "$TEST_TMPDIR/out" || fail "a product has no dim"
! run radix_tiles --mode mean || fail "a grouping has no mode"
says "--mode"
# What is timed says what was reached.
lab shared_tile --time --rounds 1 --flush-mib 1 --batch 20 --in 16 --out 16 || fail "exit code $?"
says "in 16, out 16, batch 20"
says "GFLOP/s"
lab radix_tiles --time --rounds 1 --flush-mib 1 --rows 9 --tables 1 --batch 8 || fail "exit code $?"
says "% of copy"

! run rows_in_flight --dim 48,16 || fail "a dim that it does not take"
says "variant rows_in_flight does not take --dim 48"
says "rows_in_flight --dim 16"
says "1 of 2 checks failed"
! run no_such_variant || fail "no such variant"
says "variant no_such_variant: there are "
! run rows_in_flight --dim || fail "a flag without a value"
says "--dim: expected --flag value"
! run --dim 16 rows_in_flight || fail "flags before a name"
says "--dim: expected the name of a variant first"
! run radix_tiles --mode mean --dim 4 || fail "flags that a grouping does not read"
says "--mode mean --dim 4: not expected by variant radix_tiles, a grouping; it reads --rows"
! lab --dim 16 || fail "no name"
says "--dim: expected the name of a variant first"
! run rows_in_flight --only ptx || fail "without nvcc"
says "compiling and the report need nvcc 13"

# A file that does not compile is left out, and named with what the compiler says of it.
variants=bench/lab/cuda/variants
mkdir -p "$checkout/$variants"
echo 'const RegisterCuda kMine({.name = "mine", .run = LookupMine});' >"$checkout/$variants/mine.cu"
cat >"$TEST_TMPDIR/bin/bazel" <<BAZEL
#!/bin/bash
[ "\$TESSERA_LAB_LEFT_OUT" != mine.cu ] || exit 0
cat >&2 <<SAID
[1 / 2] Compiling $variants/mine.cu; 3s processwrapper-sandbox
ERROR: $checkout/bench/lab/cuda/BUILD:3:13: Compiling $variants/mine.cu failed: (Exit 1): bash
$variants/mine.cu(1): error: identifier "LookupMine" is undefined
Target //bench/lab/cuda:lab failed to build
SAID
exit 1
BAZEL
! run rows_in_flight || fail "one file does not compile"
says "$variants/mine.cu does not compile:"
says 'mine.cu(1): error: identifier "LookupMine" is undefined'
says "emulated GPU: every bit is right"
says "lab_cuda: $variants/mine.cu does not compile (see above)"
grep -q '^  \[1 / 2\] Compiling' "$TEST_TMPDIR/err" || fail "how far is it?"
! run mine || fail "it does not compile"
says "lab_cuda: 1 of 1 checks failed; $variants/mine.cu does not compile"
! run || fail "the list, without what does not compile"
says "rows_in_flight"
printf '#!/bin/bash\n' >"$TEST_TMPDIR/bin/bazel"

commands=$(grep -h '^ *tools/lab_cuda' docs/guide/research.md docs/howto/try_a_variant.md)
while read -r command; do
  # shellcheck disable=SC2086
  run ${command#*tools/lab_cuda} || fail "$command: exit code $?"
done <<<"$commands"
