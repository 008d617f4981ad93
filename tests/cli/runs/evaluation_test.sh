#!/bin/bash
# Evaluations inside epochs, the best model kept, and early stops, by the command.
source "$(dirname "$0")/../cli_test_lib.sh"
sed 's/"rows": 5000/"rows": 2000/' small.json >ten.json  # 32 steps an epoch
run="train --config ten.json --threads 2"

run 0 generate --rows 1000 --first 2000 --vocabulary 50 eval.tsv  # the rows for evaluation
# has_auc FILE AUC: a saved model, served, has the AUC on them.
has_auc() {
  rm -rf served
  run 0 quantize "$1" -o served --bits 32
  run 0 predict served --data eval.tsv --json served.json
  json served.json "abs(d['auc'] - $2) < 1e-4"
}

# ---- ten epochs: the best kept model has the best AUC, and training has the bits of one that is
# not evaluated
run 0 $run --epochs 10 --checkpoint plain.st
run 0 $run --epochs 10 --eval-every 0.25 --checkpoint last.st --best best.st --json all.json
has out "epoch 1, 0.22 of it, step 7:  AUC"
has out "best so far"
has out "saved best.st, the best model"
same_tensors plain.st last.st || fail "evaluations changed what was trained"
json all.json 'len(d["evaluations"]) == 40 and len(d["epochs"]) == 10'
json all.json 'd["best"]["value"] == max(e["auc"] for e in d["evaluations"])'
json all.json 'd["best"]["metric"] == "auc" and d["stopped_early"] is None'
json all.json 'd["best"]["value"] > d["auc"] == d["evaluations"][-1]["auc"]'
json all.json '[e["step"] for e in d["evaluations"]][:6] == [7, 14, 21, 32, 39, 46]'
json all.json 'd["evaluations"][0]["epoch_fraction"] == 7 * 64 / 2000'
best=$(python3 -c 'import json; print(json.load(open("all.json"))["best"]["value"])')
has_auc best.st "$best"
run 0 inspect best.st
has out "); 0 evaluations since"
run 0 inspect last.st --json
json out "d['evaluation']['best']['value'] == $best and d['evaluation']['metric'] == 'auc'"
awk -F '\t' '$1 == 0' eval.tsv >zeros.tsv  # rows of one label, of which there is no AUC
run 0 $run --epochs 1 --eval zeros.tsv --best none.st
has err "none.st was not written: auc was not defined in any evaluation, as the evaluation rows \
have one label only; --eval-metric log_loss compares evaluations without it"
awk 'BEGIN { print "y,w,k"; for (n = 0; n < 300; n++)
  print n % 2 "," (n < 200) "," n % 7 }' >zero.csv
cat >zero.json <<'END'
{"data": {"format": "csv", "labels": ["y"], "weight": "w"},
 "tables": [{"name": "k", "rows": 7, "dim": 4, "features": ["k"]}],
 "model": {"type": "deepfm", "dense_in": 0, "deep_fm_dim": 4},
 "optimizer": {"sparse": {"name": "sgd", "lr": 0.1}, "dense": {"name": "sgd", "lr": 0.1}},
 "train": {"batch_size": 50}}
END
run 0 train --config zero.json --data zero.csv --train-rows 0:200 --eval-rows 200: --best zero.st
has err "zero.st was not written: auc was not defined in any evaluation, as no evaluation row \
counts: each has the weight 0 (data.weight) or no label"
# ---- rows for evaluation that are there, but of which none counts: said once, and training goes on
awk 'BEGIN { for (n = 0; n < 250; n++)
  printf "{\"k\": %d%s}\n", n % 7, n < 200 ? ", \"y\": " n % 2 : "" }' >unknown.jsonl
sed 's/"format": "csv", "labels": \["y"\], "weight": "w"/"format": "jsonl", \
  "labels": [{"name": "y", "missing": "skip"}]/' zero.json >unknown.json
unknown=(train --config unknown.json --data unknown.jsonl --train-rows 0:200 --eval-rows 200:250)
run 0 "${unknown[@]}" --epochs 3 --checkpoint unknown.st --json unknown_run.json \
  --metrics unknown_metrics.jsonl
has err "none of the 50 rows for evaluation counts: each lacks a label, weighs 0 or fails"
[ "$(grep -c "none of the 50 rows" err)" -eq 1 ] || fail "said again: $(cat err)"
json unknown_run.json 'len(d["epochs"]) == 3 and d["auc"] is None and d["log_loss"] is None'
fails_saying "counts: each lacks a label, weighs 0 or fails \"where\", so auc is not defined, by \
which a target (--stop-at) or patience (--patience) would end the training; unknown_patient.st has \
the training up to step 4" "${unknown[@]}" --patience 1 --checkpoint unknown_patient.st
run 0 inspect unknown_patient.st
fails_saying "unknown.jsonl: none of the 50 rows read among --rows 200:250 counts: each lacks a" \
  evaluate unknown.st --data unknown.jsonl --rows 200:250
run 0 $run --epochs 1 --eval zeros.tsv --best by_loss.st --eval-metric log_loss
has out "saved by_loss.st, the best model"
has_auc last.st "$(python3 -c 'import json; print(json.load(open("all.json"))["auc"])')"
run 0 $run --epochs 2 --eval-every 0.25 --metrics all.jsonl
[ "$(grep -c '"phase":"eval"' all.jsonl)" -eq 8 ] || fail "all.jsonl: $(head -3 all.jsonl)"
has all.jsonl '"step":7,"epoch_fraction":0.224,'

# ---- a target and patience, from flags and from the configuration
run 0 $run --epochs 10 --eval-every 0.25 --stop-at "auc=$best" --checkpoint target.st \
  --json target.json
has out "stopped early: auc $best has reached the target $best"
json target.json "d['stopped_early'] == 'target' and d['auc'] == $best"
same_tensors target.st best.st || fail "the model at the target is not the best one"
run 0 $run --epochs 10 --patience 2 --checkpoint patient.st --json patient.json
has out "stopped early: no better auc in 2 evaluations"
sed 's/"train"/"evaluation": {"patience": 2, "metric": "auc"}, "train"/' ten.json >patient.config
run 0 train --config patient.config --epochs 10 --checkpoint config.st --json config.json
json patient.json "d['evaluations'][-1]['step'] == $(python3 -c \
  'import json; print(json.load(open("config.json"))["evaluations"][-1]["step"])')"
same_tensors patient.st config.st || fail "the configuration's patience differs from the flag's"
run 0 train --resume patient.st --checkpoint patient.st
has out "stopped early: no better auc in 2 evaluations"
has out "trained 0 rows"
run 0 train --resume patient.st --patience 0 --epochs 6 --checkpoint longer.st
has out "resume: evaluation.patience was 2, is 0"
has out "epoch 6:"
run 0 $run --epochs 2 --eval-metric log_loss --stop-at log_loss=9 --eval-every 1
has out "stopped early: log_loss"

# ---- killed and resumed, in every form: the same bits and the same decisions
every=(--config ten.json --threads 2 --epochs 9 --eval-every 5 --patience 6)
forms=("" "--incremental" "--ranks 2" "--ranks 2 --incremental")
for form in "${forms[@]}"; do
  rm -rf whole* part part[._]*
  run 0 train "${every[@]}" $form --checkpoint whole --best whole_best --json whole.json
  json whole.json 'd["stopped_early"] == "patience"'
  python3 - "$tessera" "${every[@]}" $form <<'PYTHON' || fail "$form: killed runs"
import json, random, subprocess, sys, time
tessera, arguments = sys.argv[1], sys.argv[2:]
form = arguments[arguments.index("6") + 1:]
dice = random.Random(len(form))
save = ["--checkpoint", "part", "--checkpoint-every", "3", "--best", "part_best"]
def saved_step():
  shown = subprocess.run([tessera, "inspect", "part", "--json"], capture_output=True)
  return json.loads(shown.stdout)["progress"]["step"] if shown.returncode == 0 else 0
for kill in range(4):
  start = ["--resume", "part", *form] if saved_step() else arguments
  until = saved_step() + dice.randint(1, 9)
  with open("killed.txt", "w") as said:
    process = subprocess.Popen([tessera, "train", *start, *save], stdout=said, stderr=said)
    while saved_step() < until and process.poll() is None: pass
    time.sleep(dice.random() * 0.004)
    process.kill()
    if process.wait() not in (0, -9): sys.exit(open("killed.txt").read())
PYTHON
  run 0 train --resume part $form --checkpoint part --best part_best --json part.json
  has out "resumed part"
  json part.json "d['best'] == $(python3 -c \
    'import json; print(json.load(open("whole.json"))["best"])')"
  json part.json 'd["stopped_early"] == "patience"'
  for saved in whole part whole_best part_best; do run 0 export $saved --out $saved.st; done
  same_tensors whole.st part.st || fail "$form: other bits"
  same_tensors whole_best.st part_best.st || fail "$form: another best model"
done

# ---- an evaluation at the end of an epoch has one line, whether steps or a fraction ask for it
for every in "--eval-every 8" "--eval-every 0.25"; do
  run 0 $run --epochs 2 $every --json lines.json
  lacks out "1.00 of it, step 32"
  [ "$(grep -c "^epoch .*AUC" out)" -eq "$(python3 -c \
    'import json; print(len(json.load(open("lines.json"))["evaluations"]))')" ] ||
    fail "$every: lines of evaluations: $(cat out)"
done
run 0 train --config ten.json --data eval.tsv --eval zeros.tsv --eval-every 16  # of unknown length
[ "$(grep -c "^epoch .*log-loss" out)" -eq 1 ] || fail "lines of evaluations: $(cat out)"

# ---- a fraction below one step evaluates each step, and says so
run 0 $run --eval-every 0.001
has out "evaluation.every: 0.001 of an epoch of 32 steps is less than one step, so each step is"
has out "step 1:"
has out "step 31:"
run 0 $run --eval-every 0.04
lacks out "less than one step"

# ---- rows for evaluation past the end: before the training where lines of plain text tell, else at
# the evaluation, with what is saved
run 0 generate --rows 1000 --vocabulary 50 clicks.tsv
gzip -k clicks.tsv
past=(train --config ten.json --train-rows 0:800 --checkpoint past.st)
fails_saying "--eval-rows: rows 800:1200 were asked for, but the data has 1,000 rows (clicks.tsv)" \
  "${past[@]}" --data clicks.tsv --eval-rows 800:1200
fails_saying "--eval-rows: rows 1000: were asked for, but the data has 1,000 rows (clicks.tsv)" \
  "${past[@]}" --data clicks.tsv --eval-rows 1000: --dry-run
head -300 clicks.tsv >few.tsv
fails_saying "--train-rows: rows 0:800 were asked for, but the data has 300 rows (few.tsv)" \
  "${past[@]}" --data few.tsv --eval clicks.tsv
[ ! -e past.st ] || fail "a refused training saved"
fails_saying "evaluation: rows 800:1200 were asked for, but the data has 1,000 rows \
(clicks.tsv.gz); past.st has the training up to step 13" "${past[@]}" --data clicks.tsv.gz \
  --eval-rows 800:1200
run 0 inspect past.st
fails_saying "(clicks.tsv.gz); early.st was not saved" train --config ten.json --train-rows 0:800 \
  --checkpoint early.st --data clicks.tsv.gz --eval-rows 800:1200 --eval-every 2
fails_saying "(clicks.tsv.gz); nothing of the training was saved" train --config ten.json \
  --train-rows 0:800 --data clicks.tsv.gz --eval-rows 800:1200
fails_saying "there are no rows for evaluation; past.st has the training up to step 13" \
  "${past[@]}" --overwrite --data clicks.tsv.gz --eval-rows 1000:

# ---- a best model that is not this training's is kept; one that is lost is said
fails_saying "best.st: a file is there, which this command did not begin from" train \
  --config ten.json --best best.st
run 0 $run --batch-size 32 --checkpoint other.st
fails_saying "best.st: a file is there" train --resume other.st --epochs 2 --best best.st
fails_saying "--best part_best: it is a folder that ranks saved, but this run saves" train \
  --resume other.st --epochs 2 --best part_best
run 0 train --resume last.st --epochs 11 --best best.st
run 0 train --resume last.st --epochs 11 --best fresh.st
has out "is the best auc so far, but its model is not in fresh.st"

# ---- other rows for evaluation, or another metric: the best value is forgotten, and that is said
clicks=(--data clicks.tsv --train-rows 0:600)
run 0 train --config ten.json "${clicks[@]}" --eval-rows 600:800 --epochs 8 --patience 1 \
  --checkpoint moved.st
has out "stopped early"
run 0 train --resume moved.st "${clicks[@]}" --eval-rows 600:800 --epochs 9
has out "nothing is left to train"
lacks out "forgotten"
run 0 train --resume moved.st "${clicks[@]}" --eval-rows 800:1000 --epochs 9 --best moved_best.st \
  --checkpoint moved_on.st
has out "resume: evaluation rows were 600:800, are 800:1000: the best value so far, auc 0."
lacks out "nothing is left to train"
lacks out "is the best auc so far"
has out "saved moved_best.st, the best model"
run 0 train --resume moved_on.st "${clicks[@]}" --eval-rows 800:1000 --epochs 10 --patience 0
lacks out "forgotten"
run 0 train --resume moved.st "${clicks[@]}" --eval-rows 600:800 --epochs 9 --best by_loss_best.st \
  --eval-metric log_loss
has out "resume: evaluations were compared by auc, are compared by log_loss: the best value so far"
lacks out "so far, but its model is not in"

# ---- saved before the evaluation of its step: that is said wherever its best value is shown
run 0 train --config ten.json --epochs 1 --eval-every 12 --checkpoint due.st
run 0 inspect due.st
has out "the evaluation of step 32 was not made yet when it was saved"
run 0 train --resume due.st --epochs 2
has out "resume: the evaluation of step 32 was not made yet when it was saved, and is made first"

# ---- several tasks: by the name of one
cat >tasks.json <<'END'
{"tables": [{"name": "a", "rows": 100, "dim": 4, "features": ["user"]}],
 "model": {"type": "mmoe", "dense_in": 1, "dense_arch": [8], "experts": 2, "expert_arch": [8],
           "tower_arch": [4, 1], "tasks": [{"label": "rating", "loss": "mse"}, {"label": "like"}]},
 "optimizer": {"sparse": {"name": "sgd", "lr": 0.1}, "dense": {"name": "adam", "lr": 0.01}},
 "data": {"format": "csv", "dense": ["price"], "labels": ["rating", "like"],
          "features": ["user"]},
 "train": {"batch_size": 32}}
END
python3 -c 'print("user,price,rating,like")
for n in range(1200): print(f"{n % 97},{n % 7},{n % 5},{int(n % 97 > 50)}")' >tasks.csv
sed '2,1000d' tasks.csv >other.csv
run 0 train --config tasks.json --data tasks.csv --train-rows 0:1000 --eval-rows 1000:1200 \
  --eval-every 0.5 --eval-metric auc-like --best tasks.st --json tasks_report.json
json tasks_report.json 'd["best"]["metric"] == "auc-like"'
json tasks_report.json \
  'd["best"]["value"] == max(e["tasks"]["like"]["auc"] for e in d["evaluations"])'
fails_saying "evaluation.metric: no metric that evaluations are compared by is called 'auc'; there \
are mse, mse-rating, rmse, rmse-rating, mae, mae-rating, auc-like, log_loss-like" train \
  --config tasks.json --data tasks.csv --train-rows 0:1000 --eval-rows 1000:1200 --stop-at auc=1

# ---- refused before anything starts
fails_saying "evaluation.every: 0.1 is a fraction of an epoch, but how many rows that has is not \
known" train --config tasks.json --data tasks.csv --eval other.csv --eval-every 0.1
run 0 train --config tasks.json --data tasks.csv --eval other.csv --eval-every 20 --json text.json
has out "step 20:"
# 38 steps of 32 rows, whose number nobody knows before they are read: by bytes.
json text.json 'all(abs(e["epoch_fraction"] - e["step"] * 32 / 1200) < 0.02
  for e in d["evaluations"][:-1]) and d["evaluations"][-1]["epoch_fraction"] == 1'
# The fraction of what comes by a pipe is left out, but for the end.
cat tasks.csv | run 0 train --config tasks.json --data - --eval other.csv --eval-every 20 \
  --run piped || exit 1
has out "epoch 1, step 20:"
lacks out "epoch 1, 1.00 of it, step 20"
[ "$(grep -c epoch_fraction piped/curve.jsonl) $(wc -l <piped/curve.jsonl)" = "1 2" ] ||
  fail "fractions of a pipe: $(cat piped/curve.jsonl)"
run 0 runs piped --metric loss
fails_saying "evaluation: there are no rows for it" train --config tasks.json --data tasks.csv \
  --patience 2
fails_saying "--eval-metric auc-like: there are no rows for evaluation" train --config tasks.json \
  --data tasks.csv --train-rows 0:1000 --eval-metric auc-like
run 0 train --config tasks.json --data tasks.csv --train-rows 0:1000 --eval other.csv --patience 2 \
  --checkpoint rows.st
fails_saying "evaluation: there are no rows for it" train --resume rows.st --data tasks.csv \
  --train-rows 0:1000 --epochs 2
run 0 train --resume rows.st --data tasks.csv --train-rows 0:1000 --epochs 2 --patience 0
has out "epoch 2:"
fails_saying "--best with evaluations inside epochs beside --pipeline semi_sync" $run \
  --eval-every 5 --best semi.st --pipeline semi_sync
run 0 $run --eval-every 5 --pipeline semi_sync --checkpoint semi.st
run 0 $run --best semi_best.st --pipeline semi_sync
fails_saying "--stop-at auc=0.8 beside --eval-metric loss" $run --stop-at auc=0.8 \
  --eval-metric loss
fails_saying "--stop-at 0.8: expected METRIC=VALUE" $run --stop-at 0.8
for bad in 1.5 -1 x 1.0; do
  fails_saying "--eval-every $bad: expected a number of steps" $run --eval-every=$bad
done
fails_saying "evaluation.target: no auc reaches 1.5: it is never above 1 (--stop-at auc=VALUE)" \
  $run --stop-at auc=1.5
sed 's/"train"/"evaluation": {"every": 0.1, "every_steps": 5}, "train"/' ten.json >both.json
fails_saying "both.json: evaluation.every beside evaluation.every_steps" train --config both.json
sed 's/"train"/"evaluation": {"metric": "auc", "target": 0.9}, "train"/' ten.json >aimed.json
fails_saying "--eval-metric loss beside evaluation.target 0.9" train --config aimed.json \
  --eval-metric loss
