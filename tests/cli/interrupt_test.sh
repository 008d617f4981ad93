#!/bin/bash
# Ctrl-C: the step is finished, the checkpoint saved if one was asked for, exit 130; and what was saved goes on.
source "$(dirname "$0")/cli_test_lib.sh"
sed 's/"rows": 5000/"rows": 50000000/' small.json >long.json

# interrupt ARGS…: starts a training, interrupts it once it is under way, expects exit 130.
interrupt() {
  # A shell without job control starts its background jobs with SIGINT ignored; python undoes that.
  python3 - "$tessera" "$@" >out 2>err <<'EOF'
import signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
process.stdout.readline()  # the model is made, the training begins
time.sleep(1)
process.send_signal(signal.SIGINT)
try:
  sys.exit(process.wait(timeout=60))
except subprocess.TimeoutExpired:
  process.kill()
  raise
EOF
  local got=$?
  [ $got -eq 130 ] || fail "expected exit 130, got $got: $(cat out err)"
}

interrupt train --config long.json
has err "nothing was saved"

interrupt train --config long.json --checkpoint stopped.safetensors
has err "saved stopped.safetensors"
run 0 inspect stopped.safetensors --json
json out 'd["progress"]["epoch"] == 0 and d["progress"]["row"] == 64 * d["progress"]["step"] > 0'
step=$(python3 -c 'import json; print(json.load(open("out"))["progress"]["step"])')

# Going on to a later step gives the bits of a training that never stopped.
rows=$((64 * (step + 100)))
run 0 train --resume stopped.safetensors --train-rows 0:$rows --eval-rows $rows:$((rows + 10)) --checkpoint a.safetensors
run 0 train --config long.json --train-rows 0:$rows --eval-rows $rows:$((rows + 10)) --checkpoint b.safetensors
cmp a.safetensors b.safetensors || fail "resumed: other bits"

# Ranks stop after the same step.
interrupt train --config long.json --ranks 3 --checkpoint ranks
has err "saved ranks"
run 0 export ranks --out ranks.safetensors
run 0 inspect ranks.safetensors --json
json out 'd["progress"]["epoch"] == 0 and d["progress"]["row"] == 64 * d["progress"]["step"] > 0'
