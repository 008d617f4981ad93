#!/bin/bash
# run_all of a GPU's bundle with programs that stand in for tests, benches and CUDA's tools: what it
# does when an answer is wrong, a kernel hangs, the GPU dies, or a tool is missing.
run_all=$PWD/$1
cd "$(mktemp -d)" || exit 1
export PATH=$PWD/bin:/usr/bin:/bin CUDA_PATH=/nowhere
fail() {
  echo "FAILED: $*"
  exit 1
}

mkdir -p bin bundle/cases/lookup bundle/cases/train
cp "$run_all" bundle/run_all
echo 0123abcd >bundle/commit
program() { cat >"$1" && chmod +x "$1"; }
program bin/nvidia-smi <<'EOF'
#!/bin/bash
echo 'NVIDIA H100 80GB HBM3, 570.86, 81559 MiB'
EOF
program bundle/device_tests <<'EOF'
#!/bin/bash
if [ "$1" = --gtest_list_tests ]; then
  printf 'LookupDeviceTest.\n  A/Cpu\n  A/Cuda\nUpdateDeviceTest.\n  A/Cuda\nSmallTest.\n  B\n'
  exit
fi
filter=${2#--gtest_filter=}
[[ $filter == Lookup*:-*/Cpu && -n ${WRONG-} ]] && echo 'row 3: got 1' && exit 1
[[ $filter == Update*:-*/Cpu && -n ${HANGS-} ]] && { [ -z "${DIES-}" ] || touch gpu_is_dead; } &&
  exec sleep 100
if [[ $filter == Small* && -n ${NONE-} ]]; then
  echo '[==========] 0 tests from 0 test suites ran.'
else
  echo '[  PASSED  ] 1 test.'
fi
EOF
program bundle/run <<'EOF'
#!/bin/bash
echo '3 passed, 0 failed'
EOF
program bundle/device_bench <<'EOF'
#!/bin/bash
[ ! -e gpu_is_dead ] || { echo 'CUDA: unspecified launch failure'; exit 1; }
[ "$1" = --probe ] || echo '{"results": []}' >"${!#}"
echo done
EOF
program bin/compute-sanitizer <<'EOF'
#!/bin/bash
while [[ $1 == --* || $1 == [a-z0-9]* ]]; do shift; done
exec "$@"
EOF
program bin/ncu <<'EOF'
#!/bin/bash
[ -z "${FORBIDDEN-}" ] || { echo '==ERROR== ERR_NVGPUCTRPERM: no permission'; exit 1; }
echo 'dram__throughput 91'
EOF

# runs STATUS ARGS…: run_all exits so; out/results.json is a document.
runs() {
  local want=$1
  shift
  rm -f bundle/gpu_is_dead
  OUT=$PWD/out LIMIT=1 bundle/run_all "$@" >printed 2>&1
  local got=$?
  [ $got -eq "$want" ] || fail "run_all $*: expected exit $want, got $got: $(cat printed)"
}
# expect CONDITION: of the results, a dict `r`.
expect() {
  python3 - "$1" <<'EOF' || fail "$1: $(cat out/results.json)"
import json, sys
r = json.load(open("out/results.json"))
sys.exit(not eval(sys.argv[1]))
EOF
  tar -xOzf out/results.tar.gz ./results.json | cmp - out/results.json || fail "another tar"
}

runs 0
expect 'r["failed"] == [] and r["not_done"] == [] and r["died"] is None and r["passed"] == 21'
expect 'r["stages"] == ["tests", "conformance", "sanitizer", "bench", "counters"]'
expect 'r["bench"] == {"results": []} and r["commit"] == "0123abcd" and "H100" in r["gpu"]'
tar -tzf out/results.tar.gz | grep -q tests_LookupDeviceTest.log || fail "the tar lacks a log"

WRONG=1 runs 1 correctness
expect 'r["failed"] == ["tests_LookupDeviceTest"] and r["passed"] == 16'
expect 'r["stages"] == ["tests", "conformance", "sanitizer"]'
grep -q 'row 3: got 1' printed || fail "a failed check's end is not shown: $(cat printed)"
tail -n 1 printed | grep -q '^1 failed (tests_LookupDeviceTest); results in ' ||
  fail "the last line names no failed check: $(tail -n 1 printed)"

HANGS=1 runs 1 tests conformance
expect 'r["too_slow"] == ["tests_UpdateDeviceTest"] and r["passed"] == 4 and r["died"] is None'

JOBS=1 HANGS=1 DIES=1 runs 3
expect 'r["died"] == "after tests_UpdateDeviceTest" and r["stages"] == ["tests"]'
expect 'r["passed"] == 1 and r["bench"] is None'

NONE=1 runs 1 tests
expect 'r["failed"] == ["tests_SmallTest"]'

FORBIDDEN=1 runs 0 benches
why='==ERROR== ERR_NVGPUCTRPERM: no permission'
expect "r['not_done'] == ['counters: ncu may not be used: $why']"

rm bin/ncu bin/compute-sanitizer
runs 0
expect 'len(r["not_done"]) == 2 and "no compute-sanitizer" in r["not_done"][0]'

runs 2 every
grep -q "got 'every'" printed || fail "$(cat printed)"
program bundle/device_bench <<'EOF'
#!/bin/bash
echo 'there is no CUDA device' && exit 1
EOF
runs 2
grep -q 'there is no CUDA device' printed || fail "$(cat printed)"
