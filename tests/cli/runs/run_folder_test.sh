#!/bin/bash
# tessera train --run: what a run's folder has, the bits of the same flags, and going on with a run
# that was cut off at any moment, alone and over ranks.
source "$(dirname "$0")/../cli_test_lib.sh"
source "$(dirname "$0")/../mpi_test_lib.sh"

# same_state FILE FILE: two checkpoints have the same bytes but for the state of metrics, which has
# times in it.
same_state() {
  python3 - "$1" "$2" <<'EOF'
import json, sys
def tensors(path):
  file = open(path, "rb").read()
  end = 8 + int.from_bytes(file[:8], "little")
  entries = json.loads(file[8:end])
  return {name: (entry["shape"], file[end:][slice(*entry["data_offsets"])])
          for name, entry in entries.items() if not name.startswith(("metrics.", "__"))}
first, second = tensors(sys.argv[1]), tensors(sys.argv[2])
sys.exit(first != second or len(first) < 10)
EOF
}

# same_curve FOLDER FOLDER: both have the same evaluations, bit for bit, and lines of metrics of the
# same steps; each once, by rising steps.
same_curve() {
  python3 - "$1" "$2" <<'EOF' || fail "$2 has another curve than $1"
import json, sys
def curve(folder):
  return [json.loads(line) for line in open(folder + "/curve.jsonl")]
def metrics(folder):
  lines = [json.loads(line) for line in open(folder + "/metrics.jsonl")]
  places = [(line["step"], line["phase"]) for line in lines]
  assert len(places) == len(set(places)), (folder, places)
  return sorted(places)
for of in curve, metrics:
  first, second = (of(folder) for folder in sys.argv[1:])
  assert first == second != [], (first, second)
EOF
}

# same_result RUN RUN: the results tell the same epochs, rows and evaluations, times aside, and
# tessera runs the same rows.
same_result() {
  run 0 runs "$@" --json compared.json --metric train_loss
  python3 - "$@" <<'EOF' || fail "results differ: $*"
import json, sys
def of(folder):
  result = json.load(open(folder + "/result.json"))
  for entry in result["epochs"] + result["evaluations"]:
    entry.pop("seconds", None)
  return {key: result[key] for key in ("rows", "epochs", "evaluations", "best")}
first, second = (of(folder) for folder in sys.argv[1:])
assert first == second and first["epochs"], (first, second)
for compared in json.load(open("compared.json"))["runs"]:
  assert compared["rows"] == first["rows"], (compared, first)
EOF
}

# ---- what is there, and the bits of the same training by flags
base=(train --config small.json --threads 2 --eval-every 0.5 --set optimizer.sparse.lr=0.05)
plain=("${base[@]}" --epochs 2)
run 0 "${plain[@]}" --checkpoint plain.st --best plain_best.st --json plain.json
run 0 "${plain[@]}" --run runs/a
mv out said
same_state plain.st runs/a/last.safetensors || fail "--run changed what is trained"
same_state plain_best.st runs/a/best.safetensors || fail "--run has another best model"
[ "$(ls runs/a | tr '\n' ' ')" = "best.safetensors config.json curve.jsonl last.safetensors \
log.txt loss.json metrics.jsonl result.json run.json " ] || fail "$(ls runs/a)"
python3 - <<'EOF' || fail "run.json, result.json, curve.jsonl"
import json
run = json.load(open("runs/a/run.json"))
[start] = run["starts"]
assert "--set optimizer.sparse.lr=0.05" in start["command"]
assert start["build"] and start["version"] and "core" in start["machine"]
assert start["data"]["train"]["rows"] == "0:5000" and start["data"]["eval"]["rows"] == "5000:6000"
assert start["from"]["step"] == 0 and start["ended"] == "finished" and start["rows"] == 10000
assert run["finished"] == {"epochs": 2, "step": 158, "stopped_early": ""}
config = json.load(open("runs/a/config.json"))
assert config["train"]["epochs"] == 2 and config["optimizer"]["sparse"]["lr"] == 0.05
result, plain = (json.load(open(path)) for path in ("runs/a/result.json", "plain.json"))
assert result["auc"] == plain["auc"] and result["best"] == plain["best"]
curve = [json.loads(line) for line in open("runs/a/curve.jsonl")]
assert [point["step"] for point in curve] == [39, 79, 118, 158]
assert [point["auc"] for point in curve] == [e["auc"] for e in plain["evaluations"]]
assert all(0.1 < point["train_loss"] < 2 for point in curve)
lines = [json.loads(line) for line in open("runs/a/metrics.jsonl")]
assert sum(line["phase"] == "eval" for line in lines) == 4
EOF
time='20[0-9-]{8}T[0-9:]{8}\.[0-9]{3}Z'
tail -n +2 runs/a/log.txt | sed -E "s/^$time INFO  //" | cmp - said ||
  fail "the log is not what was printed"
head -1 runs/a/log.txt | grep -qE "^$time INFO  started: .*--run runs/a" ||
  fail "$(head -1 runs/a/log.txt)"
json runs/a/run.json 'd["starts"][0]["memory"]["peak_bytes"] >= d["starts"][0]["memory"]["bytes"]'
run 0 train --config runs/a/config.json --threads 2 --run runs/again  # the configuration is whole
same_state plain.st runs/again/last.safetensors || fail "config.json is another configuration"

# ---- data of files have fingerprints; without rows for evaluation the curve is the training's loss
run 0 generate --rows 1000 --vocabulary 50 clicks.tsv
run 0 train --config small.json --data clicks.tsv --epochs 2 --run runs/files
json runs/files/run.json 'd["starts"][0]["data"]["train"]["paths"][0]["name"] == "clicks.tsv"'
json runs/files/run.json 'len(d["starts"][0]["data"]["train"]["paths"][0]["head"]) == 16'
[ "$(grep -c '"metric":"train_loss"' runs/files/curve.jsonl)" -eq 2 ] || fail "curve of two epochs"
[ ! -e runs/files/best.safetensors ] || fail "a best model without evaluations"

# ---- that curve's lines are of an epoch each, also where the run goes on from an epoch's end, or
# ---- was killed between the save of an epoch and its line
run 0 train --config small.json --data clicks.tsv --epochs 4 --run losses_whole
cp -r runs/files losses
sed -i '$d' losses/curve.jsonl
run 0 train --config small.json --data clicks.tsv --epochs 3 --run losses
run 0 train --config small.json --data clicks.tsv --epochs 4 --run losses
cmp losses_whole/curve.jsonl losses/curve.jsonl || fail "losses: $(cat losses/curve.jsonl)"

# ---- a run goes on with the rows that it began with, under whatever name
rows=(train --config small.json --run runs/rows --train-rows 0:800)
run 0 "${rows[@]}" --data clicks.tsv --eval-rows 800:1000
fails_saying "--run runs/rows: this run evaluates on rows 800:1000, but this start on 900:1000" \
  "${rows[@]}" --data clicks.tsv --eval-rows 900:1000 --epochs 2
fails_saying "--run runs/rows: this run trains on rows 0:800, but this start on 0:700" \
  train --config small.json --run runs/rows --train-rows 0:700 --data clicks.tsv \
  --eval-rows 800:1000 --epochs 2 --dry-run
run 0 generate --rows 1000 --vocabulary 50 --seed 7 others.tsv
fails_saying "this run trains on other rows, but this start has other files: name another folder" \
  "${rows[@]}" --data others.tsv --eval-rows 800:1000 --epochs 2
mv clicks.tsv renamed.tsv
run 0 "${rows[@]}" --data renamed.tsv --eval-rows 800:1000 --epochs 2
run 0 "${rows[@]}" --data others.tsv --eval-rows 800:1000 --epochs 3 --other-data

# ---- killed at any moment, the same command goes on: the same bits, evaluations and best model
sed 's/"rows": 5000/"rows": 2000/' small.json >short.json
every=(train --config short.json --threads 2 --epochs 6 --eval-every 5 --checkpoint-every 7)
for form in "" "--incremental" "--ranks 2" "--ranks 2 --incremental"; do
  rm -rf whole cut
  run 0 "${every[@]}" $form --run whole
  python3 - "$tessera" "${every[@]}" $form --run cut <<'EOF' || fail "$form: killed runs"
import random, subprocess, sys, time
dice = random.Random(len(sys.argv))
for kill in range(5):
  with open("killed.txt", "w") as said:
    process = subprocess.Popen(sys.argv[1:], stdout=said, stderr=said)
    time.sleep(0.02 + 0.05 * dice.random())
    process.kill()
    if process.wait() == 0: break  # it was done before the kill
    if process.returncode != -9: sys.exit(open("killed.txt").read())
EOF
  "$tessera" "${every[@]}" $form --run cut >out 2>err || has err "this run is finished"
  json cut/run.json 'd["finished"]["epochs"] == 6 and len(d["starts"]) > 0'
  same_curve whole cut
  same_result whole cut
  for which in last best; do
    saved=$(basename whole/$which*)
    for run in whole cut; do run 0 export $run/$saved --out $run.st --overwrite; done
    same_state whole.st cut.st || fail "$form: $which has other bits"
  done
done

# ---- killed before its first last: it goes on from its best, and no other training replaces that
sed 's/"rows": 5000/"rows": 100000/' small.json >early.json
early=(train --config early.json --eval-every 50)
for form in "" "--ranks 2"; do
  rm -rf whole cut
  run 0 "${early[@]}" $form --run whole
  python3 - "$tessera" "${early[@]}" $form --run cut <<'EOF' || fail "$form: nothing was saved"
import os, shutil, subprocess, sys, time
def is_saved(name):
  return any(os.path.exists(f"cut/{name}{end}") for end in (".safetensors", "/index.json"))
for attempt in range(20):
  process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
  while not is_saved("best") and process.poll() is None: time.sleep(0.001)
  process.kill()
  if process.wait() not in (0, -9) or not is_saved("best"): sys.exit(1)
  if not is_saved("last"): sys.exit(0)
  shutil.rmtree("cut")  # the kill came too late
sys.exit(1)
EOF
  fails_saying "--run cut: this run's train.seed is 1, but this start says 9" "${early[@]}" $form \
    --set train.seed=9 --run cut
  run 0 "${early[@]}" $form --run cut
  has out "resumed cut/best"
  for run in whole cut; do run 0 export $run/last* --out $run.st --overwrite; done
  same_state whole.st cut.st || fail "$form: from the best model other bits are trained"
  same_curve whole cut
  same_result whole cut
done
fails_saying "its checkpoint is cut/last, but this start saves" "${early[@]}" --run cut

# ---- a signal: the step is finished, and the same command goes on
sed 's/"rows": 5000/"rows": 50000000/' small.json >long.json
python3 - "$tessera" train --config long.json --run stopped <<'EOF' || fail "SIGTERM: $(cat out)"
import os, subprocess, sys, time
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=open("err", "w"))
lines = "stopped/metrics.jsonl"  # of steps that were made
while not os.path.exists(lines) or os.path.getsize(lines) == 0:
  if process.poll() is not None: sys.exit(1)
  time.sleep(0.01)
process.terminate()
sys.exit(process.wait() != 143)
EOF
has err "interrupted by SIGTERM: saved stopped; the same command goes on"
has stopped/log.txt "interrupted by SIGTERM: saved stopped; the same command goes on"
json stopped/run.json 'd["starts"][0]["ended"] == "interrupted" and d["starts"][0]["rows"] > 0'
json stopped/run.json '"finished" not in d'

# ---- what killed saves left is removed by the next start; what a process still writes stays
unfinished=4711-0123456789abcdef.tmp
run 0 train --config short.json --epochs 1 --run leftovers
for name in run.json config.json curve.jsonl loss.json result.json last.safetensors mine; do
  : >leftovers/$name.$unfinished
done
: >leftovers/run.json.4712-0123456789abcdef.tmp
exec 9<leftovers/run.json.4712-0123456789abcdef.tmp
flock -x 9
run 0 train --config short.json --epochs 2 --run leftovers
exec 9<&-
left=$(cd leftovers && echo *.tmp)
[ "$left" = "mine.$unfinished run.json.4712-0123456789abcdef.tmp" ] || fail "left: $left"
run 0 train --config short.json --epochs 1 --run fewer --ranks 2 --incremental --max-deltas 0
mkdir -p fewer/last/rank-3
: >fewer/last/rank-3/00000002.delta.safetensors.$unfinished
run 0 train --config short.json --epochs 2 --run fewer --ranks 2 --incremental --max-deltas 0
[ ! -e fewer/last/rank-3 ] || fail "left: $(ls fewer/last/rank-3)"

# ---- a run that is past the epochs that are asked for changes in its log alone
python3 - "$tessera" "${base[@]}" --epochs 40 --checkpoint-every 20 --run past <<'EOF' ||
import os, signal, subprocess, sys, time
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
def lines():
  try: return open("past/curve.jsonl").read().count("\n")
  except FileNotFoundError: return 0
while lines() < 3 and process.poll() is None: time.sleep(0.001)
process.terminate()
sys.exit(process.wait() != 143)
EOF
  fail "no run was stopped: $(cat out)"
# past_files: the sums of the run's files.
past_files() { find past -type f ! -name log.txt -exec sha256sum {} + | sort; }
before=$(past_files)
for check in "" --dry-run; do
  fails_saying "--run past: this run is already past 1 epoch: it has trained " "${base[@]}" \
    --epochs 1 --run past $check
  has err "more --epochs go on with it; else name another folder, or give --overwrite to begin it"
done
[ "$before" = "$(past_files)" ] || fail "a refused start changed the run: $(ls -l past)"

# ---- a run that is finished; one that goes on longer; one that begins anew
fails_saying "--run runs/a: this run is finished: it has trained 2 epochs: more --epochs go on \
with it; else name another folder" "${plain[@]}" --run runs/a
run 0 "${base[@]}" --epochs 3 --run runs/a
has out "resumed runs/a/last.safetensors: 2 epochs done"
json runs/a/run.json 'len(d["starts"]) == 2 and d["finished"]["epochs"] == 3'
run 0 train --run runs/a --epochs 4 --threads 2  # the configuration is the run's
run 0 "${base[@]}" --epochs 4 --run longer
same_state longer/last.safetensors runs/a/last.safetensors || fail "a run in parts has other bits"
same_curve longer runs/a
same_result longer runs/a
run 0 "${plain[@]}" --run runs/a --overwrite
json runs/a/run.json 'len(d["starts"]) == 1 and d["finished"]["epochs"] == 2'
same_state plain.st runs/a/last.safetensors || fail "--overwrite did not begin anew"
run 0 train --resume plain.st --epochs 3 --threads 2 --run from_plain
json from_plain/run.json 'd["starts"][0]["from"]["step"] == 158'
run 0 train --config short.json --patience 1 --epochs 20 --run patient
json patient/run.json 'd["finished"]["stopped_early"] == "patience"'
early="stopped early by its patience of 1: a larger --patience, or 0, goes on with it"
for epochs in 20 30; do
  fails_saying "--run patient: this run is finished: it $early; else name another folder" train \
    --config short.json --patience 1 --epochs $epochs --run patient
done
run 0 train --config short.json --patience 1 --epochs 20 --checkpoint patient.st
run 0 train --resume patient.st --patience 1 --epochs 30 --checkpoint patient.st
has out "nothing is left to train: it $early"
run 0 train --config short.json --patience 3 --epochs 20 --run patient
json patient/run.json 'len(d["starts"]) == 2 and d["starts"][1]["rows"] > 0'
run 0 train --config short.json --patience 3 --epochs 20 --run at_once
same_curve at_once patient
same_result at_once patient
same_state at_once/last.safetensors patient/last.safetensors || fail "more patience has other bits"

# ---- stopped inside an epoch by its target, then killed: in the end its rows are of all starts
inside=(train --config short.json --threads 2 --epochs 3 --eval-every 5)
run 0 "${inside[@]}" --run inside_whole
target=$(python3 -c 'import json
print(json.load(open("inside_whole/result.json"))["evaluations"][2]["auc"])')
run 0 "${inside[@]}" --run inside --stop-at auc=$target
json inside/result.json 'd["stopped_early"] == "target" and d["rows"] < 2000'
python3 - "$tessera" "${inside[@]}" --stop-at none --checkpoint-every 4 --run inside <<'EOF' ||
import json, subprocess, sys
def rows(): return json.load(open("inside/loss.json"))["rows"]
before = rows()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while rows() == before and process.poll() is None: pass
process.kill()
process.wait()
sys.exit(rows() == before)
EOF
  fail "nothing was saved"
run 0 runs inside --json inside.json
json inside.json "d['runs'][0]['rows'] == json.load(open('inside/loss.json'))['rows']"
if [ ! -e inside/result.json ]; then
  cp -r inside worn
  truncate -s 9 worn/loss.json
  run 0 "${inside[@]}" --stop-at none --run worn
  has err "worn/loss.json: it is missing or damaged: the result leaves out the rows"
  run 0 "${inside[@]}" --stop-at none --run inside
  lacks err "loss.json"
fi
same_result inside_whole inside
same_curve inside_whole inside
run 0 train --config short.json --stop-at auc=0.5 --epochs 20 --run aimed
json aimed/run.json 'd["finished"]["stopped_early"] == "target"'
fails_saying "--run aimed: this run is finished: it stopped early by its target 0.5: another \
--stop-at, or none, goes on with it" train --config short.json --stop-at auc=0.5 --epochs 20 \
  --run aimed
run 0 train --config short.json --stop-at none --epochs 3 --run aimed  # as the sentence says
json aimed/run.json 'd["finished"]["epochs"] == 3'
json aimed/config.json 'd["evaluation"]["metric"] == "auc" and "target" not in d["evaluation"]'
run 0 train --config short.json --epochs 4 --run aimed
run 0 train --config short.json --eval-metric auc --epochs 5 --run aimed
fails_saying "--run aimed: this run's evaluation.metric is \"auc\", but this start says \"loss\"" \
  train --config short.json --eval-metric loss --epochs 6 --run aimed
run 0 train --config short.json --stop-at log_loss=9 --epochs 2 --run low
fails_saying "this run's evaluation.metric is \"log_loss\", but this start says \"auc\"" train \
  --config short.json --stop-at auc=0.5 --epochs 2 --run low
run 0 train --config short.json --stop-at none --epochs 2 --run low
tail -1 low/curve.jsonl >line
has line '"metric":"log_loss"'

# ---- a checkpoint that was saved and is missing (lost_checkpoints_test has more): refused
missing="which is missing, so it cannot go on: bring it back, name another folder, or give \
--overwrite to begin the run anew"
rm stopped/last.safetensors  # it was interrupted by a signal, and said that it saved
fails_saying "--run stopped: this run has saved stopped/last.safetensors, $missing" train \
  --config long.json --run stopped
run 1 "${plain[@]}" --run unsaved --data no_such.tsv  # a start that saved nothing begins anew
run 0 train --config short.json --run unsaved

# ---- over processes: rank 0 alone keeps the folder
"${mpirun[@]}" -n 2 "$tessera" "${plain[@]}" --run mpi >out 2>err || fail "mpirun: $(cat out err)"
json mpi/run.json 'd["starts"][0]["ranks"] == 2 and len(d["starts"]) == 1'
"${mpirun[@]}" -n 2 "$tessera" "${base[@]}" --epochs 3 --run mpi >out 2>err ||
  fail "mpirun: $(cat out err)"
run 0 "${base[@]}" --epochs 3 --ranks 2 --run threads
run 0 export mpi/last --out mpi.st
run 0 export threads/last --out threads.st
same_state mpi.st threads.st || fail "processes and threads have other bits"
same_curve mpi threads

# ---- refused: nothing is changed
before=$(find runs/a -type f ! -name log.txt -exec sha256sum {} + | sort)
for flag in --checkpoint --best --metrics --json; do
  fails_saying "$flag x beside --run runs/a" "${plain[@]}" --run runs/a $flag x
done
fails_saying "--run runs/a: its checkpoint is runs/a/last.safetensors, but this start saves \
runs/a/last" "${plain[@]}" --run runs/a --ranks 2
fails_saying "--resume plain.st beside --run runs/a, which goes on from its own checkpoint" train \
  --resume plain.st --run runs/a
fails_saying "no run of tessera train: name another folder" "${plain[@]}" --run .
fails_saying "--run plain.st: a file is there: name a folder" "${plain[@]}" --run plain.st
fails_saying "/proc/x/run.json: cannot be written: /proc: its file system takes no new files" \
  "${plain[@]}" --run /proc/x
mkdir damaged
echo '{"tessera_run": 1, "sta' >damaged/run.json
fails_saying "damaged/run.json: " "${plain[@]}" --run damaged
has err "name another folder, or give --overwrite to begin the run anew"
run 0 "${plain[@]}" --run damaged --overwrite
fails_saying "--run with evaluations inside epochs beside --pipeline semi_sync" "${plain[@]}" \
  --run new --pipeline semi_sync
fails_saying "--run runs/a: this run's table 'a': optimizer.name is \"rowwise_adagrad\", but this \
start says \"sgd\"" "${base[@]}" --epochs 3 --run runs/a --set tables[0].optimizer.name=sgd
fails_saying "--run runs/a: this run's train.seed is" "${plain[@]}" --run runs/a --seed 9
fails_saying "this run's optimizer.dense.lr is" "${plain[@]}" --run runs/a \
  --set optimizer.dense.lr=0.5
run 1 "${plain[@]}" --run runs/a --overwrite --set train.batch_size=0
grep -qE "^$time ERROR .*train.batch_size" runs/a/log.txt || fail "$(tail -3 runs/a/log.txt)"
[ "$before" = "$(find runs/a -type f ! -name log.txt -exec sha256sum {} + | sort)" ] ||
  fail "a refused start changed the run"
