#!/bin/bash
# --quiet and --log-format of the commands: what is a result and what is a line of the log, on a
# terminal and elsewhere; progress without a terminal; the log of a run; memory in reports.
source "$(dirname "$0")/../cli_test_lib.sh"
source "$(dirname "$0")/../mpi_test_lib.sh"
source "$(dirname "$0")/log_lines_lib.sh"

# on_terminal ARGS…: runs tessera with a terminal as its standard error, whose text is in err then.
on_terminal() {
  python3 - "$tessera" "$@" <<'PYTHON' || fail "on a terminal: $*: $(cat out)"
import os, pty, subprocess, sys
ours, theirs = pty.openpty()
process = subprocess.Popen(sys.argv[1:], stdout=open("out", "w"), stderr=theirs)
os.close(theirs)
said = b""
try:
  while piece := os.read(ours, 4096): said += piece
except OSError: pass  # the other end is closed
open("err", "wb").write(said)
sys.exit(process.wait())
PYTHON
}

# ---- progress of long work where there is no terminal: the first line after ten seconds
sed 's/"rows": 5000/"rows": 500000000/' small.json >long.json
# train_until FILE FLAGS…: trains until the file has a line of progress.
train_until() {
  local file=$1 training
  shift
  "$tessera" train --config long.json --threads 1 "$@" >"long$*.out" 2>"long$*.err" &
  training=$!
  until grep -q "epoch 1 " "$file" 2>/dev/null || ! kill -0 $training; do sleep 0.1; done
  kill -TERM $training
  wait $training
}
train_until long.err &
train_until "long--log-format json.err" --log-format json &
train_until long.err --quiet &

# ---- without flags: notes on standard output as they are
run 0 train --config small.json --checkpoint model.safetensors --json report.json
grep -qE "^2 tables of 102 rows" out && grep -qE "^epoch 1: train loss" out || fail "$(cat out)"
grep -qE "^saved model.safetensors" out && grep -qE "^memory: .* at the peak" out ||
  fail "$(cat out)"
[ ! -s err ] || fail "$(cat err)"
json report.json '1e6 < d["memory"]["bytes"] <= d["memory"]["peak_bytes"] < 1e9'

# ---- --quiet: results alone
run 0 train --config small.json --quiet
[ "$(head -1 out | cut -c 1-8)" = "on 1,000" ] || fail "$(cat out)"
lacks out "epoch 1:"
lacks out "loss while training"
[ ! -s err ] || fail "$(cat err)"
run 0 generate --rows 1000 --vocabulary 50 --quiet clicks.tsv
run 0 preprocess clicks.tsv -o rows --quiet && cat out err >said
run 0 quantize model.safetensors -o served --quiet && cat out err >>said
run 0 export model.safetensors --out weights.safetensors --weights-only --quiet &&
  cat out err >>said
[ ! -s said ] || fail "$(cat said)"
for arguments in "evaluate model.safetensors" "predict served --data clicks.tsv" \
  "describe clicks.tsv" "inspect rows"; do
  # shellcheck disable=SC2086
  run 0 $arguments && mv out all && run 0 $arguments --quiet
  head -2 all | grep -vE "[0-9]+ calls" >first  # which says times
  [ -s first ] && head -2 out | grep -vE "[0-9]+ calls" | cmp - first ||
    fail "$arguments --quiet leaves out results: $(cat out)"
done
run 0 train --config small.json --resume weights.safetensors --quiet
grep -qE "^$time WARN  weights.safetensors holds weights alone" err || fail "$(cat err)"
fails_saying "nowhere.json: cannot be read" train --config nowhere.json --quiet

# ---- --log-format: all that is no result is on standard error
run 0 train --config small.json --log-format text --checkpoint text.safetensors
are_text err
grep -qE "^$time INFO  epoch 1: train loss" err && has err "saved text.safetensors" ||
  fail "$(cat err)"
lacks out "epoch 1:"
has out "AUC"
run 0 train --config small.json --log-format json --resume weights.safetensors
are_json err 'any(x["level"] == "warning" and "weights alone" in x["message"] for x in l)'
are_json err '[x["rows"] for x in l if x.get("epoch") == 1 and x["loss"] < 1] == [5000]'
run 0 export model.safetensors --out again.safetensors --log-format json
are_json err 'len(l) == 1 and l[0]["path"] == "again.safetensors" and l[0]["bytes"] > 1000'
[ ! -s out ] || fail "$(cat out)"
run 0 preprocess clicks.tsv -o json_rows --log-format json
are_json err 'l[-1]["rows"] == 1000'

# ---- the last error, and mistakes on the line, in the format
run 1 train --log-format json --config nowhere.json
are_json err 'len(l) == 1 and l[0]["level"] == "error" and "nowhere.json" in l[0]["message"]'
run 1 train --config small.json --epcohs 3 --log-format json
are_json err 'len(l) == 1 and "did you mean --epochs?" in l[0]["message"]'
: >err
"$tessera" train --config long.json --batch-size 20000000 --stop-within 1 --log-format json >out \
  2>err &
training=$!
until [ -s err ] || ! kill -0 $training; do sleep 0.1; done
kill -TERM $training
wait $training
are_json err 'l[-1]["level"] == "error" and "took longer than --stop-within" in l[-1]["message"]'
fails_saying "tessera: nowhere.json" train --log-format text --config nowhere.json
fails_saying "--log-format" train --log-format yaml --config small.json

# ---- a terminal: as it is, but with --log-format
sed 's/"rows": 5000/"rows": 200000/' small.json >some.json
on_terminal train --config some.json
has err "epoch 1  [#"
has err $'\r'
! grep -qE "$time" err || fail "times on a terminal: $(cat err)"
on_terminal train --config some.json --quiet
[ ! -s err ] || fail "$(cat err)"
on_terminal train --config some.json --log-format text
tr -d '\r' <err >lines && are_text lines

# ---- the log of a run has all lines with their times, whatever is printed
run 0 train --config small.json --run quiet --quiet
are_text quiet/log.txt
has quiet/log.txt "INFO  2 tables of 102 rows"
has quiet/log.txt "INFO  epoch 1: train loss"
has quiet/log.txt "INFO  AUC "
run 0 train --config small.json --run json --log-format json
are_text json/log.txt
[ "$(grep -c "INFO  epoch 1: train loss" json/log.txt)" -eq 1 ] || fail "$(cat json/log.txt)"
json json/run.json 'd["starts"][0]["memory"]["peak_bytes"] > 1e6'
json json/result.json 'd["memory"]["peak_bytes"] > 1e6'
head -1 json/metrics.jsonl >line.json
json line.json 'd["memory_bytes"] > 1e6'
run 0 evaluate model.safetensors --json evaluated.json
json evaluated.json 'd["memory"]["peak_bytes"] > 1e6'
run 0 predict model.safetensors --data clicks.tsv --json predicted.json
json predicted.json 'd["memory"]["peak_bytes"] > 1e6'

# ---- ranks: the first one alone says what is done; the memory is the largest rank's
"${mpirun[@]}" -n 2 "$tessera" train --config small.json --log-format json --json ranks.json \
  >out 2>err || fail "mpirun: $(cat out err)"
are_json err 'sum(" ranks (mpi)" in x["message"] for x in l) == 1'
are_json err 'sum(x["message"].startswith("epoch 1:") for x in l) == 1'
json ranks.json '1e6 < d["memory"]["bytes"] <= d["memory"]["peak_bytes"]'

# ---- a sweep: its own lines in the format, its trials' in theirs; their errors are found in either
(cat clicks.tsv; echo "bad") >bad.tsv
for format in text json; do
  run 1 sweep "sweep_$format" --grid train.batch_size=64 --log-format $format -- \
    --config small.json --threads 1 --data bad.tsv --log-format $format
  has out "failed: 1-batch_size=64: bad.tsv:1001: "
done
are_json err 'l[0]["trials"] == 1 and l[-1]["level"] == "error"'
are_json sweep_json/1-batch_size=64.log 'l[-1]["level"] == "error"'

# ---- a server
"$tessera" serve served --port 0 --log-format json >out 2>err &
server=$!
for _ in $(seq 600); do grep -q '"port"' err && break; sleep 0.1; done
mv served/weights-1.safetensors gone && kill -HUP $server
for _ in $(seq 600); do grep -q '"error"' err && break; sleep 0.1; done
kill $server
wait $server || fail "serve: $(cat out err)"
[ ! -s out ] || fail "$(cat out)"
are_json err 'l[0]["message"].startswith("serving model, version 1") and l[0]["port"] > 0'
are_json err 'l[-1]["message"] == "stopped"'
are_json err 'any(x["level"] == "error" and x["model"] == "model" for x in l)'

# ---- a server whose free port is in the line that --quiet leaves in, wherever notes go
# serve_quietly FLAGS…: its standard output and error are then in out and err.
serve_quietly() {
  : >out
  : >err  # the server's shell empties them too late for the first look
  "$tessera" serve served --port 0 --quiet "$@" >out 2>err &
  server=$!
  for _ in $(seq 600); do grep -q "127.0.0.1" out err && break; sleep 0.1; done
  kill $server
  wait $server || fail "serve $*: $(cat out err)"
}
mv gone served/weights-1.safetensors
serve_quietly
grep -qE "^serving model, version 1, .*, on http://127\.0\.0\.1:[1-9][0-9]*$" out ||
  fail "$(cat out)"
[ "$(cat out err | wc -l)" -eq 1 ] || fail "$(cat out err)"
serve_quietly --log-format json
are_json err 'len(l) == 1 and l[0]["port"] > 0 and l[0]["host"] == "127.0.0.1"'
[ ! -s out ] || fail "$(cat out)"
serve_quietly --access-log -
[ ! -s out ] && grep -qE "^$time INFO  serving .*:[1-9][0-9]*$" err || fail "$(cat out err)"

# ---- what the long work has said
wait
are_text long.err
grep -qE "^$time INFO  epoch 1 [0-9]+ % [0-9,]+ samples/s loss 0\.[0-9]{4} ([0-9]+:)*[0-9]+ left$" \
  long.err || fail "$(cat long.err)"
grep -qE "^$time WARN  interrupted by SIGTERM: nothing was saved" long.err || fail "$(cat long.err)"
[ "$(grep -vc "epoch 1 " long.err)" -eq 1 ] || fail "$(cat long.err)"
progress='(lambda x: 0 < x["fraction"] < 1 and x["step"] > 0 and x["seconds_left"] > 0 and
  x["samples_per_second"] > 0)'
are_json "long--log-format json.err" "len(l) >= 3 and all(map($progress, l[1:-1]))"
[ "$(wc -l <"long--quiet.err")" -eq 1 ] || fail "$(cat "long--quiet.err")"
