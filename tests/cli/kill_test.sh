#!/bin/bash
# Kill −9 while tables are trained, checkpoints are written and chains compacted: what is there goes
# on, and the end has the bits of the run that was never killed. 5 kills, or 50 where
# TESSERA_TEST_ALL is set. Argument: size_limit_kills.so.
kills_writes=$PWD/$1
source "$(dirname "$0")/cli_test_lib.sh"
kills=${TESSERA_TEST_ALL:+50}
kills=${kills:-5}

# Trains with incremental checkpoints in the folder `run`, which go on if there are any.
save=(--checkpoint run --incremental --checkpoint-every 2 --max-deltas 5 --max-delta-share 9)
train() { "$tessera" train --threads 2 "${go_on[@]}" "${save[@]}"; }

# kill_often CONFIG: `kills` times kill −9 after some checkpoints and some milliseconds.
kill_often() {
  python3 - "$tessera" "$1" "$kills" "${save[@]}" <<'PYTHON' || fail "$1: killed runs"
import os, random, re, subprocess, sys, time
tessera, config, kills, save = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
dice = random.Random(7)
def newest():
  files = os.listdir("run") if os.path.isdir("run") else []
  return max([int(f[:8]) for f in files if re.fullmatch(r"\d{8}\.\w+\.safetensors", f)] or [0])
for kill in range(kills):
  start = ["--resume", "run"] if newest() else ["--config", config]
  with open("killed.txt", "w") as said:
    command = [tessera, "train", "--threads", "2", *start, *save]
    process = subprocess.Popen(command, stdout=said, stderr=said)
    until = newest() + dice.randint(1, 6)
    while newest() < until and process.poll() is None: time.sleep(0.0005)
    time.sleep(dice.random() * 0.004)
    process.kill()
    if process.wait() != -9:
      text = open("killed.txt").read()
      sys.exit(f"kill {kill}: it ended by itself with {process.returncode}: {text}")
PYTHON
}

# a_little_further CONFIG: lets the training end some steps after the newest checkpoint, as `go_on`
# says; whole.safetensors is then the end of one that nobody kills.
a_little_further() {
  run 0 inspect run --json
  local rows=$(python3 -c 'import json; print(json.load(open("out"))["progress"]["row"] + 3200)')
  local range=(--train-rows 0:$rows --eval-rows $rows:$((rows + 1000)))
  run 0 train --config "$1" --threads 2 "${range[@]}" --checkpoint whole.safetensors --overwrite
  go_on=(--resume run "${range[@]}")
}

# same CONFIG: a run that is killed ends as one that is not.
same() {
  rm -rf run
  kill_often "$1"
  a_little_further "$1"
  train >out 2>err || fail "$1: $(cat err)"
  has out "resumed run"
  run 0 compact run --out end.safetensors
  cmp end.safetensors whole.safetensors || fail "$1: other bits"
}

# It does not end before it is killed, however late that is.
sed "s/\"rows\": 5000/\"rows\": 50000000/; s/\"rows\": 51/\"rows\": 5000/g
  s/\"vocabulary\": 50/\"vocabulary\": 4000/" small.json >plain.json
same plain.json

# ---- inside of a write: the limit of a file's size ends the process there
run 0 inspect run --json
json out 'd["chain"]["base_bytes"] > 150000'
rm -rf run
kills=1 kill_often plain.json
go_on=(--resume run)
for kilobytes in 1 100; do  # in a delta; in the next base
  (ulimit -f $kilobytes; LD_PRELOAD=$kills_writes train >/dev/null 2>&1)
  [ $? -gt 128 ] || fail "$kilobytes kB: it was not killed"
  ls run/*.tmp >/dev/null || fail "$kilobytes kB: it was killed elsewhere"
  run 0 inspect run
done
a_little_further plain.json
"$tessera" train --threads 2 "${go_on[@]}" --checkpoint run --incremental --checkpoint-every 2 \
  --max-deltas 5000 --max-delta-share 999 --keep-chains 1 >out 2>err || fail "$(cat err)"
(ulimit -f 100; LD_PRELOAD=$kills_writes "$tessera" compact run >/dev/null 2>&1)
[ $? -gt 128 ] || fail "compact: it was not killed"
ls run/*.tmp >/dev/null || fail "compact: it was killed elsewhere"
run 0 compact run
[ "$(ls run | wc -l)" -eq 1 ] || fail "$(ls run)"
cmp run/*.base.safetensors whole.safetensors || fail "killed inside of writes: other bits"

# ---- what is asked for wrongly
fails_saying "--incremental needs --checkpoint" train --config small.json --incremental
fails_saying "need --incremental" train --config small.json --checkpoint x --max-deltas 3
fails_saying "which is whole: tessera compact puts together" compact whole.safetensors
fails_saying "it is a file; this saves checkpoints in a folder" train --config small.json \
  --checkpoint whole.safetensors --incremental
