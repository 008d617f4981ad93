#!/bin/bash
# A reader of a command's output that goes away (| head): training finishes its step and saves, and
# other commands leave nothing half written; where SIGPIPE is ignored, they go on.
source "$(dirname "$0")/../cli_test_lib.sh"
sed 's/"rows": 5000/"rows": 50000000/' small.json >long.json

# unread CODE ARGS…: runs tessera, whose standard output nobody reads; standard error is in err.
unread() {
  local want=$1
  shift
  python3 - "$want" "$tessera" "$@" 2>err <<'PYTHON' || fail "unread $*: $(cat err)"
import os, subprocess, sys
want, *words = sys.argv[1:]
ends = os.pipe()
process = subprocess.Popen(words, stdout=ends[1])
for end in ends: os.close(end)
code = process.wait()
if code != int(want): sys.exit(f"expected exit {want}, got {code}")
PYTHON
}

unread 141 train --config long.json --checkpoint cut.safetensors
has err "interrupted by SIGPIPE (nobody reads its output any more): saved cut.safetensors; the same"
run 0 inspect cut.safetensors --json
json out 'd["progress"]["row"] == 64 * d["progress"]["step"] < 50000000'

run 0 generate --rows 1000 made.tsv
for _ in {1..20}; do  # the thread that wrote does not end the process before the one that removes
  unread 141 preprocess made.tsv -o rows
  [ -z "$(ls -d .rows* rows/*.tmp 2>/dev/null)" ] || fail "left: $(ls -a . rows)"
  rm -rf rows
done

trap '' PIPE  # which bash and env alone pass on: Python does not
"$tessera" train --config small.json --checkpoint whole.safetensors 2>err | sleep 0
wait
run 0 inspect whole.safetensors --json
json out 'd["progress"]["epoch"] == 1'
