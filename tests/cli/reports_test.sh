#!/bin/bash
# Reports replace earlier reports of their kind, and nothing else: no model, data or configuration is lost to a mistaken path.
source "$(dirname "$0")/cli_test_lib.sh"
run 0 train --config small.json --checkpoint model.safetensors --metrics metrics.jsonl
run 0 generate --rows 200 --vocabulary 50 rows.tsv
run 0 quantize model.safetensors -o served
sums() { find small.json model.safetensors metrics.jsonl rows.tsv served -type f -exec sha256sum {} + | sort; }
sums >before

spared() {
  local path=$1
  shift
  fails_saying "$path: a file is there that is not " "$@"
  has err "name another path, or remove it first"
  sums | cmp - before || fail "tessera $*: changed what was there"
}
for path in small.json model.safetensors metrics.jsonl rows.tsv served/model.json; do
  spared $path train --config small.json --json $path
  spared $path train --config small.json --trace $path
  spared $path predict served --data rows.tsv --json $path
  spared $path predict served --data rows.tsv -o $path
  spared $path plan --tables small.json --ranks 2 -o $path
  spared $path plan --tables small.json --ranks 2 --html $path
  spared $path plan --tables small.json --ranks 2 --json $path
  spared $path calibrate --ranks 1 -o $path
  spared $path bench lookup --json $path
  spared $path bench lookup --csv $path
  spared $path bench lookup --svg $path
done
spared model.safetensors train --resume model.safetensors --epochs 2 --metrics model.safetensors

# ---- a second time, over what the first wrote; folders above are made
for _ in 1 2; do
  run 0 train --config small.json --json reports/train.json --trace reports/trace.json
  run 0 predict served --data rows.tsv --json reports/predict.json -o reports/scores.txt
  run 0 plan --tables small.json --ranks 2 -o reports/plan.json --html reports/plan.html --json reports/why.json
done
[ "$(wc -l <reports/scores.txt)" -eq 200 ] || fail "scores: $(head -3 reports/scores.txt)"
touch empty.json
run 0 train --config small.json --json empty.json
