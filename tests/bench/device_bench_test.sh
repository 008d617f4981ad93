#!/usr/bin/env bash
# The bench of a device runs, at a size that the emulator manages, and writes its results as JSON.
set -euo pipefail
bench=$1 device=$2
json=$TEST_TMPDIR/results.json
"$bench" --device "$device" --tables 2 --rows 100 --dim 16 --batch 16 --pooling 3 --zipf 1.05 \
  --rounds 2 --flush-mib 1 --json "$json"
python3 - "$json" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
shape, *one_example = report["results"]
for op in "lookup", "rowwise_adagrad":
    assert shape[op]["gbps"] > 0 and shape[op]["share_of_copy"] > 0, shape
assert shape["copy_gbps"] > 0
assert [r["tables"] for r in one_example] == [8, 26]
assert all(r["step_microseconds"] > 0 for r in one_example)
PYTHON
if "$bench" --device cuda:9 2> "$TEST_TMPDIR/error"; then
  echo "a device that is not there was accepted" >&2
  exit 1
fi
grep -q "device_bench: device cuda:9" "$TEST_TMPDIR/error"
