#!/bin/bash
# The main job on generated data: train, evaluate, save, inspect, resume.
source "$(dirname "$0")/cli_test_lib.sh"

# ---- planted data: curve, table, JSON
run 0 train --config small.json --threads 2 --epochs 2 --json report.json \
  --checkpoint two.safetensors
has out "best possible"
has out "epoch 2:"
has out "saved two.safetensors"
lacks err $'\r'
json report.json 'list(d)[:4] == ["auc", "log_loss", "normalized_entropy", "calibration"]'
json report.json 'list(d)[4:6] == ["seconds", "samples_per_second"]'
json report.json '0.5 < d["auc"] < d["optimum"]["auc"] and d["log_loss"] > d["optimum"]["log_loss"]'
json report.json \
  'len(d["epochs"]) == 2 and d["epochs"][1]["auc"] == d["auc"] and d["epochs"][0]["rows"] == 5000'
json report.json 'd["rows"] == 10000 and d["skipped_rows"] == 0'
json report.json 'd["seconds"] > 0 and d["samples_per_second"] > 0'

# ---- a noun is counted as one
run 0 train --config small.json --train-rows 0:1 --eval-rows 5000:5001
has out "on 1 row for evaluation"
has out "trained 1 row,"
lacks out " 1 rows"

# ---- a file that is given twice is said
run 0 generate --rows 100 --vocabulary 50 twice.tsv
run 0 train --config small.json --data twice.tsv "$PWD/twice.tsv" --ranks 2
[ "$(grep -c 'twice.tsv is given twice, so its rows count twice$' err)" -eq 1 ] || fail "$(cat err)"
run 0 train --config small.json --data twice.tsv --dry-run
lacks err "is given"

# ---- inspect
run 0 inspect two.safetensors
has out "rowwise_adagrad"
has out "epochs done 2, next row 0, step 158, iter 158, seed 1"
run 0 inspect two.safetensors --json
json out '[t["name"] for t in d["tables"]] == ["a", "b"]'
json out 'd["tables"][0]["rows"] == 51 and d["tables"][0]["dim"] == 4'
json out 'd["progress"]["step"] == 158 and d["dense"]["optimizer"] == "adam"'
json out 'd["config"]["train"]["epochs"] == 2'

# ---- the same bits again, with other threads and instruction sets
for variant in "1 avx512" "1 avx2" "2 baseline"; do
  set -- $variant
  TESSERA_ISA=$2 "$tessera" train --config small.json --threads "$1" --epochs 2 \
    --checkpoint other.safetensors --overwrite >out 2>err ||
    { grep -q "$2" err && continue; fail "$variant: $(cat err)"; }  # this CPU does not have it
  cmp two.safetensors other.safetensors || fail "$variant: other bits"
done

# ---- resumed after the first epoch, without --config
run 0 train --config small.json --epochs 1 --checkpoint one.safetensors
run 0 train --resume one.safetensors --epochs 2 --checkpoint one.safetensors
has out "resumed one.safetensors: 1 epoch done"
cmp one.safetensors two.safetensors || fail "resumed: other bits"
run 0 train --resume two.safetensors --json done.json
json done.json \
  'd["rows"] == 0 and d["samples_per_second"] is None and d["epochs"] == [] and 0.5 < d["auc"] < 1'

# ---- metrics as the training goes
run 0 train --config small.json --epochs 1 --metrics metrics.jsonl --tensorboard runs/board \
  --checkpoint watched.safetensors --json watched.json
[ "$(wc -l <metrics.jsonl)" -eq 2 ] || fail "metrics.jsonl: $(cat metrics.jsonl)"
head -1 metrics.jsonl >line.json
json line.json 'd["phase"] == "train" and d["step"] == 79'
json line.json 'd["metrics"]["throughput-throughput|total_examples"] == 5000'
tail -1 metrics.jsonl >line.json
json line.json "d['phase'] == 'eval' and d['metrics']['auc-click|window_auc'] == $(python3 -c \
  'import json; print(json.load(open("watched.json"))["auc"])')"
ls runs/board/train/*tfevents* runs/board/eval/*tfevents* >out 2>&1 || fail "no event files"
run 0 train --resume watched.safetensors --epochs 2 --metrics metrics.jsonl
[ "$(wc -l <metrics.jsonl)" -eq 5 ] || fail "metrics.jsonl: $(cat metrics.jsonl)"
run 0 inspect watched.safetensors
fails_saying "/proc/no/metrics.jsonl: cannot be written" train --config small.json \
  --metrics /proc/no/metrics.jsonl

# ---- refused checkpoints
head -c 1000 two.safetensors >cut.safetensors
fails_saying "cut.safetensors: " train --resume cut.safetensors
fails_saying "cut.safetensors: " inspect cut.safetensors
sed 's/"rows": 51/"rows": 52/' small.json >other.json
fails_saying "table 'a': rows was 51 when it was saved, and is 52 now" train --config other.json \
  --resume two.safetensors

# ---- files: generated, split, gzip, row ranges
run 0 generate --rows 3000 --vocabulary 50 rows.tsv
has out "AUC"
run 0 generate --rows 1000 --first 3000 --vocabulary 50 more.tsv.gz
[ "$(wc -l <rows.tsv)" -eq 3000 ] || fail "rows.tsv"
[ "$(zcat more.tsv.gz | wc -l)" -eq 1000 ] || fail "more.tsv.gz"
run 0 train --config small.json --data rows.tsv more.tsv.gz --train-rows 0:3500 \
  --eval-rows 3500:4000 --checkpoint files.safetensors --json files.json
run 0 train --config small.json --train-rows 0:3500 --eval-rows 3500:4000 \
  --checkpoint planted.safetensors --json planted.json
same_tensors files.safetensors planted.safetensors || fail "files and planted rows differ"
json files.json '"optimum" not in d'
json planted.json "d['auc'] == $(python3 -c \
  'import json; print(json.load(open("files.json"))["auc"])')"
run 0 train --config small.json --data rows.tsv --eval more.tsv.gz --json eval.json
json eval.json 'd["rows"] == 3000 and d["auc"] is not None'
run 0 train --config small.json --data rows.tsv --json none.json
json none.json 'd["auc"] is None and d["epochs"][0]["log_loss"] is None'
fails_saying "no row may be both" train --config small.json --data rows.tsv --eval-rows 0:10
cat more.tsv.gz more.tsv.gz >members.tsv.gz
run 0 train --config small.json --data members.tsv.gz --json members.json
json members.json 'd["rows"] == 2000'
python3 -c 'd = bytearray(open("members.tsv.gz", "rb").read())
d[len(d) // 2] ^= 1
open("members.tsv.gz", "wb").write(d)'
fails_saying "members.tsv.gz: cannot be read to its end: gzip member 2" train --config small.json \
  --data members.tsv.gz
fails_saying "the data has 3,000 rows" train --config small.json --data rows.tsv --train-rows 0:3001

# ---- rows that are trained on are not called rows not trained on, by whatever name they come
cp rows.tsv copy.tsv
ln -s rows.tsv link.tsv
for name in rows.tsv copy.tsv link.tsv; do
  fails_saying "$name: its rows are those of rows.tsv, which are trained on" train \
    --config small.json --data rows.tsv --eval $name
done
fails_saying "copy.tsv: its rows are those of rows.tsv" train --config small.json \
  --data more.tsv.gz rows.tsv --train-rows 0:900 --eval copy.tsv
run 0 train --config small.json --data rows.tsv --train-rows 0:2000 --eval copy.tsv \
  --eval-rows 2000:3000 --json split.json
json split.json 'd["rows"] == 2000'

# ---- a run that stands behind the last row to train on says so; one that is done is evaluated
sed 's/"data": {[^}]*}/"data": {"shuffle": {"seed": 5, "window_rows": 512}}/' small.json \
  >windows.json
for config in small windows; do
  run 0 train --config $config.json --data rows.tsv --checkpoint $config.chain --incremental \
    --checkpoint-every 20 --max-delta-share 99
  # what is left stands at row 1280
  rm "$config.chain/00000002.delta.safetensors" "$config.chain/00000003.delta.safetensors"
  fails_saying "training goes on at row 1280, but the rows to train on are 0:640" train \
    --resume $config.chain --data rows.tsv --train-rows 0:640 --other-data
  head -700 rows.tsv >few.tsv
  fails_saying "the data has 700 rows" train --resume $config.chain --data few.tsv --other-data
  run 0 train --resume $config.chain --data rows.tsv --json rest.json
  json rest.json 'd["rows"] == 1720'
done
run 0 train --resume two.safetensors
has out "all 2 epochs are done: nothing is left to train"

# ---- bad lines
(head -10 rows.tsv; echo "not a row"; tail -n +11 rows.tsv) >bad.tsv
fails_saying "bad.tsv:11: column 1 (label): expected a label, 0 or 1, got 'not a row'" train \
  --config small.json --data bad.tsv
run 0 train --config small.json --data bad.tsv --skip-bad-lines --json skipped.json
json skipped.json 'd["skipped_rows"] == 1 and d["rows"] == 3000'
has out "left out 1 bad line"
json skipped.json 'd["skipped_eval_rows"] == 0'
(head -100 rows.tsv; echo "not a row"; echo "nor this") >bad_eval.tsv
run 0 train --config small.json --data rows.tsv --eval bad_eval.tsv --skip-bad-lines \
  --json skipped.json
json skipped.json 'd["skipped_rows"] == 0 and d["skipped_eval_rows"] == 2'
has out "the evaluation left out 2 bad lines"

# ---- two towers on rows without items: training says which feature is missing
cat >towers.json <<'EOT'
{"data": {"format": "jsonl"},
 "tables": [{"name": "users", "rows": 60, "dim": 4, "features": ["user"]},
            {"name": "items", "rows": 40, "dim": 4, "features": ["item"]}],
 "model": {"type": "two_tower", "query": ["user"], "candidate": ["item"], "layers": [4],
           "tasks": [{"loss": "in_batch_softmax"}]},
 "optimizer": {"sparse": {"name": "sgd", "lr": 0.1}, "dense": {"name": "sgd", "lr": 0.1}},
 "train": {"batch_size": 64, "epochs": 2}}
EOT
for n in $(seq 300); do echo "{\"user\": $((n % 60)), \"itme\": $((n % 40))}"; done >pairs.jsonl
for ranks in "" "--ranks 2"; do
  run 0 train --config towers.json --data pairs.jsonl $ranks
  has err "rows has an id of 'item': this tower has nothing"
  has err "model.candidate: none of the first "
  has err 'pairs.jsonl: none of the first 300 rows has the key "item"'
  [ "$(grep -c "nothing to learn from" err)" -eq 1 ] || fail "$(cat err)"
done
sed 's/itme/item/' pairs.jsonl >whole_pairs.jsonl
run 0 train --config towers.json --data whole_pairs.jsonl
lacks err "nothing to learn from"
