#!/bin/bash
# tessera evaluate: the metrics of the training's own evaluation, bit for bit, of a model in every
# form; by groups; and what it refuses.
source "$(dirname "$0")/../cli_test_lib.sh"

# same_metrics TRAINED EVALUATED: both reports have equal values, the optimum among them.
same_metrics() {
  python3 - "$1" "$2" <<'EOF' || fail "$2 has other metrics than $1"
import json, sys
trained, evaluated = (json.load(open(path)) for path in sys.argv[1:])
other = ("seconds", "unknown_items", "memory")
keys = [key for key in trained if key in evaluated and key not in other]
print(keys)
assert {"auc", "log_loss", "normalized_entropy", "calibration"} <= set(keys)
assert ("tasks" in trained) == ("tasks" in evaluated)
assert all(trained[key] == evaluated[key] for key in keys), (trained, evaluated)
EOF
}

# ---- every form, on synthetic rows, which need no --data
for form in "" "--incremental" "--ranks 2" "--ranks 2 --incremental"; do
  rm -rf model*
  run 0 train --config small.json --threads 2 $form --checkpoint model --json trained.json
  run 0 evaluate model --json evaluated.json
  has out "best possible"
  [ "$form" = "" ] || [ "$form" = "--incremental" ] || continue
  same_metrics trained.json evaluated.json
done
run 0 export model --out whole.st
run 0 evaluate whole.st --json whole.json
same_metrics evaluated.json whole.json
run 0 evaluate whole.st --threads 1 --json one.json
same_metrics evaluated.json one.json

# ---- the same rows as files, and other rows
run 0 generate --rows 1000 --first 5000 --vocabulary 50 eval.tsv
run 0 evaluate whole.st --data eval.tsv --json of_file.json
json of_file.json 'd["examples"] == 1000 and d["skipped_rows"] == 0'
sed -n '1,600p' eval.tsv >part.tsv
for command in evaluate predict; do
  run 0 $command whole.st --data eval.tsv 'eva[l].tsv'
  [ "$(grep -c 'eval.tsv is given twice, so its rows count twice$' err)" -eq 1 ] ||
    fail "$command: $(cat err)"
done
run 0 evaluate whole.st --data eval.tsv --rows 0:600 --json range.json
run 0 evaluate whole.st --data part.tsv --json part.json
same_metrics range.json part.json
run 0 evaluate whole.st --rows 5000:5600 --json made_up.json
same_metrics made_up.json range.json
run 0 evaluate whole.st --rows 0:300
has out "on 300 rows"

# ---- a model directory: what tessera predict says of it
run 0 quantize whole.st -o served --bits 8
run 0 evaluate served --data eval.tsv --json served.json
run 0 predict served --data eval.tsv --batch-size 2048 --json predicted.json
same_metrics predicted.json served.json
run 0 evaluate served
has out "on 1,000 rows"

# ---- a model that could make rows up, but was trained on files, says so
for form in "" "--ranks 2"; do
  run 0 train --config small.json --data part.tsv $form --checkpoint of_files
  fails_saying "of_files: its format is planted, but it was trained on files (--data), not on" \
    evaluate of_files
  run 0 quantize of_files --out of_files.model
  fails_saying "of_files.model: its format is planted, but it was trained on files" \
    evaluate of_files.model --rows 0:100
  run 0 evaluate of_files --data part.tsv
  rm -r of_files of_files.model
done

# ---- by groups: their rows are all rows, and each has the metrics of its rows alone
run 0 evaluate whole.st --data eval.tsv --by cat_0 --groups 3 --json by.json
has out "the 3 largest of"
has out "within groups of cat_0"
same_metrics of_file.json by.json
json by.json 'sum(g["examples"] for g in d["by"]["groups"]) == 1000'
json by.json '[g["examples"] for g in d["by"]["groups"]] == sorted(
  (g["examples"] for g in d["by"]["groups"]), reverse=True)'
python3 - <<'EOF' || fail "by.json: the AUC within groups"
import json
by = json.load(open("by.json"))["by"]
both = [g for g in by["groups"] if g["auc"] is not None]
mean = sum(g["auc"] * g["examples"] for g in both) / sum(g["examples"] for g in both)
[auc] = by["auc_within_groups"].values()
assert abs(mean - auc) < 1e-12 and len(both) < len(by["groups"])
EOF

# ---- several tasks, text of a schema, rows left out, a feature that is missing in some rows
cat >tasks.json <<'END_OF_CONFIG'
{"tables": [{"name": "a", "rows": 100, "dim": 4, "features": ["user"]}],
 "model": {"type": "mmoe", "dense_in": 1, "dense_arch": [8], "experts": 2, "expert_arch": [8],
           "tower_arch": [4, 1], "tasks": [{"label": "rating", "loss": "mse"}, {"label": "like"}]},
 "optimizer": {"sparse": {"name": "sgd", "lr": 0.1}, "dense": {"name": "adam", "lr": 0.01}},
 "data": {"format": "csv", "dense": ["price"], "labels": ["rating", "like"],
          "features": ["user"]},
 "train": {"batch_size": 32}}
END_OF_CONFIG
python3 -c 'print("user,price,rating,like")
for n in range(1200): print(f"{n % 3 if n % 4 else str()},{n % 7},{n % 5},{int(n % 97 > 50)}")' \
  >tasks.csv
run 0 train --config tasks.json --data tasks.csv --train-rows 0:1000 --eval-rows 1000:1200 \
  --checkpoint tasks.st --json tasks_trained.json
run 0 evaluate tasks.st --data tasks.csv --rows 1000:1200 --by user --json tasks_evaluated.json
same_metrics tasks_trained.json tasks_evaluated.json
grep -qE "^\(none\) +50 +rating  RMSE [0-9.]+  like  AUC" out ||
  fail "no group without an id: $(cat out)"
has out "like: AUC"
json tasks_evaluated.json 'len(d["by"]["groups"]) == 4 and d["by"]["groups"][0]["examples"] == 50'
json tasks_evaluated.json 'list(d["by"]["auc_within_groups"]) == ["like"]'
echo "1,x,3,1" >>tasks.csv
fails_saying "tasks.csv" evaluate tasks.st --data tasks.csv --rows 1000:
run 0 evaluate tasks.st --data tasks.csv --rows 1000: --skip-bad-lines
has out "left out"

# ---- groups of a vocabulary have its words
cat >cities.json <<'END_OF_CONFIG'
{"tables": [{"name": "c", "rows": 4, "dim": 4, "features": ["city", "n"]}],
 "model": {"type": "dlrm", "dense_in": 0, "over_arch": [4, 1]},
 "optimizer": {"sparse": {"name": "sgd", "lr": 0.1}, "dense": {"name": "adam", "lr": 0.01}},
 "data": {"format": "csv", "labels": ["like"],
          "features": [{"name": "city", "vocabulary": ["Ber", "Osl"], "missing": "row0"}, "n"]},
 "train": {"batch_size": 32}}
END_OF_CONFIG
python3 -c 'print("city,n,like")
for n in range(100): print(("Osl", "Ber", "Rom", "")[n % 10 % 4], n % 4, n % 3 % 2, sep=",")' \
  >cities.csv
run 0 train --config cities.json --data cities.csv --checkpoint cities.st
run 0 evaluate cities.st --data cities.csv --by city --json cities_evaluated.json
for group in "Osl +30" "Ber +30" "\(another word\) +20" "\(missing\) +20"; do
  grep -qE "^$group +AUC" out || fail "no group $group: $(cat out)"
done
json cities_evaluated.json '[(g["id"], g.get("word")) for g in d["by"]["groups"]] == [
  (2, "Ber"), (3, "Osl"), (0, None), (1, None)]'

# ---- a label among the inputs is warned of
sed 's/"labels": \["like"\]/"labels": ["like"], "dense": ["like"]/
  s/"dense_in": 0/"dense_in": 1, "dense_arch": [4]/' cities.json >leak.json
run 0 train --config leak.json --data cities.csv
has err "the label like is an input, too (data.dense like): the model can read its answer there"

# ---- two towers: values within the batches of an evaluation
cat >towers.json <<'END_OF_CONFIG'
{"tables": [{"name": "u", "rows": 100, "dim": 4, "features": ["user"]},
            {"name": "i", "rows": 50, "dim": 4, "features": ["item"]}],
 "model": {"type": "two_tower", "query": ["user"], "candidate": ["item"], "layers": [8, 4],
           "tasks": [{"loss": "in_batch_softmax"}]},
 "optimizer": {"sparse": {"name": "sgd", "lr": 0.1}, "dense": {"name": "adam", "lr": 0.01}},
 "data": {"format": "csv", "features": ["user", "item"]}, "train": {"batch_size": 64}}
END_OF_CONFIG
python3 -c 'print("user,item")
for n in range(4000): print(f"{n % 97},{n * n % 50}")' >pairs.csv
run 0 train --config towers.json --data pairs.csv --train-rows 0:1000 --eval-rows 1000:4000 \
  --checkpoint towers.st --json towers_trained.json
run 0 evaluate towers.st --data pairs.csv --rows 1000:4000 --json towers_evaluated.json
same_metrics towers_trained.json towers_evaluated.json
json towers_evaluated.json \
  '[t["in_batch_recall_at_20"] for t in d["tasks"].values()][0] > 0'
run 0 quantize towers.st -o towers_served
fails_saying "which has no metric of single rows" evaluate towers_served --data pairs.csv

# ---- beside a task of single rows: of a model directory the sum of the losses is not known
sed 's/{"loss": "in_batch_softmax"}/{"name": "next", "loss": "in_batch_softmax"},\
                                     {"name": "like", "label": "like"}/
  s/"features": \["user", "item"\]}/"features": ["user", "item"], "labels": ["like"]}/' \
  towers.json >both.json
sed 's/$/,1/; 1s/1$/like/' pairs.csv >liked.csv
run 0 train --config both.json --data liked.csv --checkpoint both.st
run 0 quantize both.st -o both_served --bits 32
run 0 evaluate both.st --data liked.csv --json of_checkpoint.json
run 0 evaluate both_served --data liked.csv --json of_directory.json
json of_checkpoint.json 'd["loss"] > d["tasks"]["like"]["log_loss"]'
json of_directory.json 'd["loss"] is None and d["tasks"]["like"]["log_loss"] >= 0'

# ---- refused
fails_saying "the model reads no feature 'x' to group rows by; there are cat_0, cat_1, cat_2" \
  evaluate whole.st --data eval.tsv --by x
fails_saying "give --data FILE" evaluate tasks.st
fails_saying "--rows has no end: give --rows FIRST:LAST" evaluate whole.st --rows 0:
fails_saying "rows 1000:1001 were asked for, but the data has 1,000 rows" \
  evaluate whole.st --data eval.tsv --rows 1000:1001
fails_saying "--groups requires --by" evaluate whole.st --data eval.tsv --groups 3
fails_saying "--config is for a checkpoint" evaluate served --config small.json
fails_saying "--device cuda:0: served is a model directory of tessera quantize, which is read on \
the CPU" evaluate served --data eval.tsv --device cuda
fails_saying "device 'gpu': expected cpu, cuda or cuda:<index>" evaluate whole.st --device gpu
fails_saying "this command reads it" evaluate whole.st --data eval.tsv --json eval.tsv
run 0 evaluate --help
has out "tessera evaluate model.safetensors --data clicks.tsv --rows 56000:64000"
