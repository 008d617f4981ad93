#!/bin/bash
# MLPerf's DLRM-DCNv2 (examples/mlperf_dcnv2.json) in small, on a made-up day, and its log.
source "$(dirname "$0")/cli_test_lib.sh"
config="$TEST_SRCDIR/$TEST_WORKSPACE/examples/mlperf_dcnv2.json"

# ---- a multi-hot day of 700 rows: npy and npz of their own, as numpy writes them
python3 - <<'PYTHON'
import random, struct, zipfile
hot = [3,2,1,2,6,1,1,1,1,7,3,8,1,6,9,5,1,1,1,12,100,27,10,3,1,1]
rows, dice = 700, random.Random(5)
def npy(kind, shape, data):
  text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
  text += " " * (-(len(text) + 11) % 64) + "\n"
  return b"\x93NUMPY\x01\0" + struct.pack("<H", len(text)) + text.encode() + data
first = [dice.randrange(40) for _ in range(rows)]
labels = [int(dice.random() < 0.1 + 0.02 * f) for f in first]
open("day_0_dense.npy", "wb").write(npy("<f4", (rows, 13), struct.pack(
  f"<{rows * 13}f", *[dice.random() for _ in range(rows * 13)])))
open("day_0_labels.npy", "wb").write(npy("<i4", (rows, 1), struct.pack(f"<{rows}i", *labels)))
with zipfile.ZipFile("day_0_sparse_multi_hot.npz", "w") as archive:
  for feature, ids in enumerate(hot):
    values = [first[n // ids] if feature == 0 else dice.randrange(50) for n in range(rows * ids)]
    archive.writestr(f"{feature}.npy", npy("<i4", (rows, ids), struct.pack(
      f"<{rows * ids}i", *values)))
PYTHON

# ---- the example: evaluated every twentieth of the epoch, which is each of its 10 steps
small=(--data day_0 --train-rows 0:640 --eval-rows 640:700 --batch-size 64 --max-table-rows 50)
run 0 train --config "$config" "${small[@]}" --mllog run.log --json report.json
has out "26 tables of 1,117 rows in all"
json report.json '[e["step"] for e in d["evaluations"]] == list(range(1, 11))'
grep -v '^:::MLLOG {' run.log && fail "lines that are none: $(cat run.log)"
sed 's/^:::MLLOG //' run.log | python3 -c 'import json, sys
lines = [json.loads(line) for line in sys.stdin]
keys = [line["key"] for line in lines]
head = """cache_clear init_start submission_benchmark submission_org submission_division
submission_status submission_platform global_batch_size gradient_accumulation_steps seed opt_name
opt_base_learning_rate opt_adagrad_learning_rate_decay opt_weight_decay
opt_adagrad_initial_accumulator_value opt_adagrad_epsilon opt_learning_rate_warmup_steps
opt_learning_rate_decay_start_step opt_learning_rate_decay_steps init_stop run_start train_samples
epoch_start eval_start eval_accuracy eval_stop eval_samples""".split()
evaluation = ["eval_start", "eval_accuracy", "eval_stop"]
assert keys == head + 9 * evaluation + ["epoch_stop", "run_stop"], keys
values = {line["key"]: line["value"] for line in lines}
assert values["submission_benchmark"] == "dlrm_dcnv2" and values["opt_name"] == "adagrad", values
assert values["global_batch_size"] == 64 and values["opt_base_learning_rate"] == 0.005, values
assert values["opt_adagrad_epsilon"] == 1e-8 and values["opt_learning_rate_decay_steps"] == 0
assert values["train_samples"] == 640 and values["eval_samples"] == 60, values
of = lambda key: [line for line in lines if line["key"] == key]
report = json.load(open("report.json"))
assert [e["value"] for e in of("eval_accuracy")] == [e["auc"] for e in report["evaluations"]]
assert [round(e["metadata"]["epoch_num"], 9) for e in of("eval_accuracy")] == [
  n / 10 for n in range(1, 11)]
assert of("epoch_start")[0]["metadata"]["epoch_num"] == 0
assert of("run_stop")[0]["metadata"]["status"] == "aborted", "0.80275 was not reached"
types = {line["key"]: line["event_type"] for line in lines}
assert types["init_stop"] == "INTERVAL_END" and types["eval_start"] == "INTERVAL_START"
assert types["seed"] == "POINT_IN_TIME"
assert list(lines[0]) == ["namespace", "time_ms", "event_type", "key", "value", "metadata"]
times = [line["time_ms"] for line in lines]
assert times == sorted(times) and times[0] > 1.7e12' || fail "$(cat run.log)"

# ---- a target that is reached ends epoch and run; ranks write one log
run 0 train --config "$config" "${small[@]}" --mllog run.log --stop-at auc=0.1 --ranks 2 \
  --threads 2
has run.log '"status": "success", "epoch_num": 0.1}'
[ "$(grep -c '"key": "eval_accuracy"' run.log)" -eq 1 ] || fail "$(cat run.log)"
[ "$(grep -c '"key": "epoch_stop"' run.log)" -eq 1 ] || fail "$(cat run.log)"

# ---- other models say what they have
run 0 train --config small.json --train-rows 0:640 --mllog other.log --incremental --checkpoint ck
has other.log '"submission_benchmark", "value": "dlrm"'
has other.log '"opt_name", "value": "adam, tables rowwise_adagrad"'
lacks other.log opt_adagrad
has other.log '"status": "success"'

# ---- a start that is refused late leaves an earlier log as it was, and begins none
cp other.log kept.log
for log in other.log fresh.log; do
  fails_saying "memory" train --config small.json --train-rows 0:640 --mllog $log \
    --memory-limit 1M --quiet
done
cmp -s other.log kept.log || fail "a refused start changed the log: $(cat other.log)"
[ ! -e fresh.log ] || fail "a refused start left a log: $(cat fresh.log)"

# ---- a schedule's steps are in the log where they are those of the log, or a warning says why not
logged_steps() {  # logged_steps STAGES WARMUP START DECAY
  run 0 train --config small.json --train-rows 0:640 --mllog steps.log --set "optimizer.warmup=$1"
  lacks err "--mllog"
  has steps.log "\"opt_learning_rate_warmup_steps\", \"value\": $2,"
  has steps.log "\"opt_learning_rate_decay_start_step\", \"value\": $3,"
  has steps.log "\"opt_learning_rate_decay_steps\", \"value\": $4,"
}
rise='{"policy": "linear", "max_iters": 5, "value": 0}'
logged_steps "[$rise]" 5 0 0
logged_steps "[$rise, {\"policy\": \"none\", \"max_iters\": 8}, {\"policy\": \"poly\", \
  \"max_iters\": 16, \"value\": 2, \"lr_scale\": 4}]" 5 8 8
logged_steps '[{"policy": "poly", "max_iters": 16, "value": 2}]' 0 0 16
unlogged_steps() {  # unlogged_steps STAGES WHY
  run 0 train --config small.json --train-rows 0:640 --mllog steps.log --set "optimizer.warmup=$1"
  has err "_decay_start_step and _decay_steps are left out: optimizer.warmup$2"
  lacks steps.log opt_learning_rate_
}
unlogged_steps "[$rise, {\"policy\": \"poly\", \"max_iters\": 10, \"value\": 2}]" \
  '[1] (poly): it begins at the factor 0.25 of the base rate, that of the log at 1 (which lr_scale'
unlogged_steps '[{"policy": "poly", "max_iters": 10, "value": 1}]' '[0] (poly): its power is 1'
unlogged_steps "[$rise, {\"policy\": \"step\", \"max_iters\": 10, \"value\": 0.5}]" \
  '[1] (step): expected a linear rise to the base rate, stages that keep it, and a poly fall to 0'

fails_saying "--mllog beside --resume" train --resume ck --mllog more.log
echo "kept" >notes.txt
fails_saying "notes.txt: a file is there that is not an MLPerf log" train --config small.json \
  --mllog notes.txt
sed 's/"rows": 51, "dim": 4, "features": \["cat_0"\]/"rows": 60, "dim": 4, "features": ["word"]/
  s/"data": {[^}]*}/"data": {"format": "csv", "dense": [{"name": "d", "size": 13}], "features": \
    [{"name": "word", "vocabulary": ["a", "b", "c"]}, "cat_1", "cat_2"], "labels": ["l"]}/' \
  small.json >words.json
fails_saying "--max-table-rows 2: feature 'word': its vocabulary needs 4 rows" train \
  --config words.json --data notes.txt --max-table-rows 2
