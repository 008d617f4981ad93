#!/bin/bash
# tessera evaluate --device on an emulated GPU: the metrics that the CPU has for a checkpoint.
source "$(dirname "$0")/../cli_test_lib.sh"
sed 's/"rows": 5000, "eval_rows": 1000/"rows": 640, "eval_rows": 128/' small.json >short.json

run 0 train --config short.json --threads 1 --checkpoint model.st
run 0 evaluate model.st --json cpu.json
for device in cuda cuda:0; do
  run 0 evaluate model.st --device $device --json gpu.json
  python3 - cpu.json gpu.json <<'PYTHON' || fail "other metrics on $device"
import json, sys
cpu, gpu = (json.load(open(path)) for path in sys.argv[1:])
assert cpu["examples"] == gpu["examples"] == 128, (cpu, gpu)
for key in ("auc", "log_loss"):
    assert abs(cpu[key] - gpu[key]) < 1e-5, (key, cpu, gpu)
PYTHON
done
run 0 evaluate model.st --device cuda --by cat_0 --json by.json
json by.json 'len(d["by"]["groups"]) > 1'
fails_saying "device cuda:9: " evaluate model.st --device cuda:9
