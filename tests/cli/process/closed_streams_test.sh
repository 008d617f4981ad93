#!/bin/bash
# Programs that are started without standard streams: what they write to files is what they write
# there with them, and their exit codes are the same.
source "$(dirname "$0")/../cli_test_lib.sh"

# closed STREAMS CODE ARGS…: runs tessera without these of the streams 0, 1 and 2.
closed() {
  python3 - "$1" "$2" "$tessera" "${@:3}" <<'PYTHON' || fail "without $1: ${*:3}"
import os, subprocess, sys
streams, want, *words = sys.argv[1:]
def close():
  for stream in streams: os.close(int(stream))
code = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL, preexec_fn=close, timeout=300).returncode
if code != int(want): sys.exit(f"expected exit {want}, got {code}")
PYTHON
}

train=(train --config small.json --threads 1 --set metrics.compute_interval_steps=5)
run 0 generate --rows 300 --vocabulary 50 rows.tsv
run 0 "${train[@]}" --checkpoint open.safetensors --metrics open.jsonl
for streams in 0 1 2 01 02 12 012; do
  closed $streams 0 generate --rows 300 --vocabulary 50 "rows$streams.tsv"
  cmp rows.tsv "rows$streams.tsv" || fail "without $streams: other rows"
  closed $streams 0 "${train[@]}" --checkpoint "$streams.safetensors" --json "$streams.json" \
    --metrics "$streams.jsonl"
  same_tensors open.safetensors "$streams.safetensors" || fail "without $streams: other weights"
  json "$streams.json" 'd["rows"] > 0'
  python3 -c 'import json, sys
[json.loads(line) for line in open(sys.argv[1])]' "$streams.jsonl" || fail "$streams.jsonl"
  closed $streams 0 preprocess rows.tsv -o "ready$streams"
  closed $streams 0 inspect open.safetensors
  closed $streams 1 inspect missing.safetensors
  closed $streams 1 train --config missing.json
done
