#!/bin/bash
# SIGHUP, which a terminal sends that is closed: training finishes its step and saves, and other
# commands leave nothing half written; under nohup it changes nothing.
source "$(dirname "$0")/../cli_test_lib.sh"
sed 's/"rows": 5000/"rows": 50000000/' small.json >long.json

# ---- a terminal that is closed, which then can't be written either
python3 - "$tessera" train --config long.json --checkpoint closed.safetensors <<'PYTHON' ||
import os, pty, signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)
child, terminal = pty.fork()
if child == 0: os.execv(sys.argv[1], sys.argv[1:])
os.read(terminal, 1)
time.sleep(2)
os.close(terminal)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
if code != 129: sys.exit(f"expected exit 129, got {code}")
PYTHON
  fail "a terminal that was closed"
run 0 inspect closed.safetensors --json
json out 'd["progress"]["row"] == 64 * d["progress"]["step"] > 0'

# signalled HANDLING "SIGNALS" CODE FILE ARGS…: starts a command with SIGHUP ignored or not, and
# sends it the signals, two seconds apart, once the file is there.
signalled() {
  python3 - "$@" >out 2>err <<'PYTHON' || fail "signalled $*: $(cat out err)"
import glob, os, signal, subprocess, sys, time
handling, signals, want, until, *words = sys.argv[1:]
signal.signal(signal.SIGHUP, getattr(signal, handling))
process = subprocess.Popen(words)
while not glob.glob(until) and process.poll() is None: time.sleep(0.01)
for i, name in enumerate(signals.split()):
  if i > 0: time.sleep(2)
  process.send_signal(getattr(signal, name))
code = process.wait()
if code != int(want): sys.exit(f"expected exit {want}, got {code}")
PYTHON
}

steps=(--set metrics.compute_interval_steps=1)
signalled SIG_DFL SIGHUP 129 hup.jsonl "$tessera" train --config long.json --metrics hup.jsonl \
  "${steps[@]}" --checkpoint hup.safetensors
has err "interrupted by SIGHUP: saved hup.safetensors; the same command with --resume"
run 0 inspect hup.safetensors
signalled SIG_IGN "SIGHUP SIGTERM" 143 nohup.jsonl "$tessera" train --config long.json \
  --metrics nohup.jsonl "${steps[@]}" --checkpoint nohup.safetensors
has err "interrupted by SIGTERM: saved nohup.safetensors"
lacks err SIGHUP
signalled SIG_DFL SIGHUP 129 "made.tsv.*.tmp" "$tessera" generate --rows 50000000 made.tsv
has err "ended by SIGHUP: what was not finished is removed"
[ -z "$(ls -d made.tsv* .made.tsv* 2>/dev/null)" ] || fail "left: $(ls -a)"
signalled SIG_IGN "SIGHUP SIGTERM" 143 "kept.tsv.*.tmp" "$tessera" generate --rows 50000000 \
  kept.tsv
has err "ended by SIGTERM: what was not finished is removed"
