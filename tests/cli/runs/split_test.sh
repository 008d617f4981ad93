#!/bin/bash
# data.split through the commands: what is said, evaluations of the same rows, going on, ranks,
# sweeps, and what is refused.
source "$(dirname "$0")/../cli_test_lib.sh"

python3 - <<'EOF'
import gzip, random
dice = random.Random(3)
rows = [(dice.randrange(200), dice.randrange(80), (n * 7919) % 3000) for n in range(3000)]
lines = ['{"user": %d, "item": %d, "when": %d, "y": %d}\n' % (u, i, t, (u * 3 + i * 5) % 7 > 3)
         for u, i, t in rows]
open("a.jsonl", "w").writelines(lines[:1000])
gzip.open("b.jsonl.gz", "wt").writelines(lines[1000:])
open("u.data", "w").writelines("%d\t%d\t%d\t%d\n" % (u, i, 1 + (u + i) % 5, t) for u, i, t in rows)
EOF
cat >own.json <<'EOF'
{"data": {"format": "jsonl", "time": "when", "labels": ["y"],
          "split": {"by": "key", "feature": "user", "fraction": 0.2, "seed": 4},
          "shuffle": {"window_rows": 500, "block_rows": 10}},
 "tables": [{"name": "users", "rows": 200, "dim": 4, "features": ["user"]},
            {"name": "items", "rows": 80, "dim": 4, "features": ["item"]}],
 "model": {"type": "dlrm", "dense_in": 0, "over_arch": [8, 1]},
 "optimizer": {"sparse": {"name": "rowwise_adagrad", "lr": 0.1},
               "dense": {"name": "adam", "lr": 0.01}},
 "train": {"batch_size": 64, "epochs": 2}}
EOF
text=(--data a.jsonl b.jsonl.gz)
train=(train --config own.json --threads 2)
times=(--set 'data.split={"by": "time", "fraction": 0.25}')

# same_values FILE FILE: two reports have the same metrics, of as many rows.
same_values() {
  python3 - "$1" "$2" <<'EOF' || fail "$2 has other metrics than $1"
import json, sys
first, second = (json.load(open(path)) for path in sys.argv[1:])
keys = ("auc", "log_loss", "normalized_entropy", "calibration")
assert all(first[key] == second[key] for key in keys), (first, second)
EOF
}

# ---- what is said of text, before and after it was read, and of folders
run 0 "${train[@]}" "${text[@]}" --checkpoint text.st --json text.json
has out "split by user, 20 % of its ids for evaluation (seed 4)"
json text.json 'd["split"]["by"] == "key" and d["split"]["feature"] == "user"'
json text.json 'd["split"]["train_rows"] + d["split"]["eval_rows"] == 3000'
json text.json 'd["split"]["train_ids"] + d["split"]["eval_ids"] == 200'
json text.json 'd["split"]["eval_rows"] > 200'
json text.json 'd["epochs"][0]["rows"] == d["split"]["train_rows"]'
grep -q "^split .*: .* rows of .* ids to train on, .* of .* for evaluation" out || fail "$(cat out)"
run 0 preprocess --config own.json a.jsonl b.jsonl.gz -o folder --shard-rows 700
run 0 "${train[@]}" --data folder --run kept --dry-run
has out "rows of"
run 0 "${train[@]}" --data folder --run kept
json kept/result.json "d['split'] == $(python3 -c 'import json
print(json.load(open("text.json"))["split"])')"
json kept/run.json 'd["starts"][0]["data"]["split"]["train_rows"] > 2000'
[ -e kept/best.safetensors ] || fail "--run kept no best model"
json kept/config.json 'd["data"]["split"]["seed"] == 4'

# ---- a run of text that was cut off after its first epoch keeps what that epoch has counted
sed -e '/"shuffle"/d' -e 's/"seed": 4},/"seed": 4}},/' own.json >in_order.json
in_order=(train --config in_order.json --threads 2 "${text[@]}" --run cut --batch-size 4
  --set 'metrics={"compute_interval_steps": 1}')
python3 - "$tessera" "${in_order[@]}" --epochs 1000000 <<'EOF' || fail "SIGTERM: $(cat err)"
import os, subprocess, sys, time
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=open("err", "w"))
lines = "cut/metrics.jsonl"
while not os.path.exists(lines) or '"train","epoch":2' not in open(lines).read():
  if process.poll() is not None: sys.exit(1)
  time.sleep(0.01)
process.terminate()
sys.exit(process.wait() != 143)
EOF
epochs=$(python3 -c 'import json
print(json.load(open("cut/run.json"))["starts"][0]["stopped"]["epochs"])')
run 0 "${in_order[@]}" --epochs $((epochs + 1))
json cut/result.json "d['split'] == $(python3 -c 'import json
print(json.load(open("text.json"))["split"])')"

# ---- a line of the log with --log-format, for folders before training, for text again after it
source "$(dirname "$0")/log_lines_lib.sh"
run 0 "${train[@]}" --data folder --log-format json
are_json err 'sum("split" in x for x in l) == 1'
are_json err '[x["train_rows"] + x["eval_rows"] for x in l if "split" in x] == [3000]'
are_json err '[x["train_ids"] + x["eval_ids"] for x in l if "split" in x] == [200]'
are_json err 'any(x["message"].startswith("split " + x.get("split", "?") + ": ") for x in l)'
lacks out "split "
run 0 "${train[@]}" "${text[@]}" --log-format json
are_json err '["train_rows" in x for x in l if "split" in x] == [False, True]'
run 0 "${train[@]}" --data folder --quiet
lacks out "split "

# ---- evaluating the part of the same rows gives the metrics of the training, in every form
for data in "a.jsonl b.jsonl.gz" folder; do
  run 0 evaluate text.st --data $data --part eval --json eval.json
  json eval.json 'd["part"] == "eval"'
  same_values text.json eval.json
done
json eval.json "d['examples'] == $(python3 -c 'import json
print(json.load(open("text.json"))["split"]["eval_rows"])')"
run 0 evaluate text.st "${text[@]}" --part train --json train.json
run 0 evaluate text.st "${text[@]}" --json all.json
has out "--part eval leaves out"
json all.json 'd["examples"] == 3000'
json train.json 'd["log_loss"] < 0.9 * json.load(open("eval.json"))["log_loss"]'
run 0 quantize text.st -o served
run 0 quantize text.st -o served.of_part --data folder --part eval
has out "part eval of the split by user"
has out "$(python3 -c 'import json
print(json.load(open("eval.json"))["examples"])') rows: AUC"
fails_saying "part 'test': expected train, eval or all" quantize text.st -o x --data folder \
  --part test
run 0 evaluate served --data folder --part eval --json served.json
json served.json 'd["examples"] == json.load(open("eval.json"))["examples"]'
run 0 evaluate text.st --data folder --part eval --rows 0:1000 --json some.json
json some.json 'd["examples"] < json.load(open("eval.json"))["examples"] / 2'
run 0 "${train[@]}" "${text[@]}" --eval-rows 0:1000 --epochs 1 --json ranged.json
has out "rows for evaluation"
json ranged.json 'd["split"]["eval_rows"] == json.load(open("some.json"))["examples"]'
json ranged.json 'd["split"]["train_rows"] == json.load(open("text.json"))["split"]["train_rows"]'

# ---- scoring a part
run 0 predict text.st "${text[@]}" --part eval --json scored.json --out scores.txt
has out "part eval of the split by user, 20 % of its ids for evaluation (seed 4)"
json scored.json 'd["part"] == "eval"'
json scored.json 'abs(d["auc"] - json.load(open("eval.json"))["auc"]) < 1e-6'
json scored.json 'd["examples"] == json.load(open("eval.json"))["examples"]'
[ "$(wc -l <scores.txt)" -eq "$(python3 -c 'import json
print(json.load(open("eval.json"))["examples"] + 1)')" ] || fail "$(wc -l <scores.txt) scores"
run 0 predict served --data folder --part train --json scored.json
json scored.json 'd["examples"] == json.load(open("train.json"))["examples"]'
run 0 predict served --data folder --checkpoint text.st
has out "these are all rows: --part eval leaves out"
has out "3,000 rows: AUC"
fails_saying "part 'test': expected train, eval or all" predict text.st --data folder --part test

# ---- by time, of text, folders and ratings; ranks
run 0 "${train[@]}" "${times[@]}" "${text[@]}" --json time.json --checkpoint time.st
has out "rows from 2250 on for evaluation: 2,250 rows to train on, 750 for evaluation"
json time.json 'd["split"] == {"by": "time", "at": 2250, "of_fraction": 0.25, "train_rows": 2250,
                              "eval_rows": 750}'
run 0 evaluate time.st --data folder --part eval --json eval.json
same_values time.json eval.json
has out "part eval of the split by time"
has out "the time from which rows are for evaluation, 2250, stays that of the last 25 % of the rows"
lacks err "other files"
json eval.json 'd["split"].startswith("by time")'
run 0 predict time.st --data folder --part eval --no-labels
has out "750 examples, without labels"
# One part alone needs no row of the other, also of standard input; an empty one is named.
grep -v '"when": 2[2-9]' a.jsonl >earlier.jsonl
for part in "earlier.jsonl" "- --skip-bad-lines"; do
  run 0 predict time.st --data $part --part train --no-labels < <(cat earlier.jsonl)
  has out "$(wc -l <earlier.jsonl) examples, without labels"
done
run 0 evaluate time.st --data earlier.jsonl --part train
fails_saying "earlier.jsonl: there are no rows to score among --rows 3:9 of --part eval" \
  evaluate time.st --data earlier.jsonl --part eval --rows 3:9
run 0 "${train[@]}" --set 'data.split={"by": "random"}' "${text[@]}" --checkpoint random.st \
  --epochs 1
for command in evaluate predict; do
  run 0 $command random.st --data folder --part eval
  has err "--data are other files than random.st was trained on"
done

# ---- rows that came later do not move the time that was found, which --config seeks again
sed 's/"when": [0-9]*/"when": 5000/' a.jsonl >later.jsonl
later=("${text[@]}" later.jsonl)
run 0 evaluate time.st "${text[@]}" --part train --json before.json
for config in "" "--config own.json"; do
  seek=()
  [ -n "$config" ] && seek=("${times[@]}")
  run 0 evaluate time.st "${later[@]}" --part train $config "${seek[@]}" --rows 0:3000 \
    --json after.json
  same_values before.json after.json
  run 0 evaluate time.st "${later[@]}" --part eval $config "${seek[@]}" --rows 0:3000 \
    --json after.json
  same_values time.json after.json
done
run 0 evaluate time.st "${later[@]}" --part eval --json after.json
json after.json 'd["examples"] == 1750'
run 0 quantize time.st -o time_served
run 0 evaluate time_served "${later[@]}" --part eval --json after.json
json after.json 'd["examples"] == 1750'
run 0 "${train[@]}" "${times[@]}" "${later[@]}" --resume time.st --epochs 3 --json later.json
has out "resume: --data[2] was none, is later.jsonl"
has out "resume: the time from which rows are for evaluation, 2250, stays that of the last 25 %"
json later.json 'd["split"]["at"] == 2250 and d["split"]["eval_rows"] == 1750'
fails_saying "data.split.of_fraction was 0.25 when it was saved, and is 0.3 now" "${train[@]}" \
  "${later[@]}" --set 'data.split={"by": "time", "fraction": 0.3}' --resume time.st --epochs 3
run 0 "${train[@]}" "${times[@]}" "${text[@]}" --run found --epochs 1
json found/config.json 'd["data"]["split"] == {"by": "time", "at": 2250, "of_fraction": 0.25}'
run 0 "${train[@]}" "${times[@]}" "${later[@]}" --run found --epochs 2 --other-data
json found/config.json 'd["data"]["split"]["at"] == 2250'
run 0 evaluate text.st --data folder --part eval
lacks err "other files"  # a split by key goes by no other rows
run 0 "${train[@]}" "${times[@]}" --data folder --ranks 2 --json ranks.json
json ranks.json 'd["split"]["eval_rows"] == 750 and d["epochs"][1]["rows"] == 2250'
run 0 "${train[@]}" "${text[@]}" --ranks 2 --json ranks.json
json ranks.json 'd["split"] == json.load(open("text.json"))["split"]'
run 0 evaluate text.st "${text[@]}" --config own.json "${times[@]}" --part eval --json other.json
json other.json 'd["examples"] == 750'
sed -e 's/"format": "jsonl".*"labels": \["y"\]/"format": "movielens"/' -e 's/"user"/"userId"/g' \
  -e 's/"item"/"movieId"/' own.json >ratings.json
run 0 train --config ratings.json "${times[@]}" --data u.data --json ratings_report.json
json ratings_report.json 'd["split"]["eval_rows"] == 750'

# ---- going on inside an epoch and after one gives the bits of one training
for data in "a.jsonl b.jsonl.gz" folder; do
  rm -f part.st
  run 0 "${train[@]}" --data $data --epochs 1 --checkpoint part.st
  run 0 "${train[@]}" --data $data --resume part.st --checkpoint whole.st
  run 0 "${train[@]}" --data $data --checkpoint once.st --overwrite --keep-last 9 \
    --checkpoint-every 9
  same_tensors once.st whole.st || fail "$data: other tensors after an epoch"
  inside=$(ls -d once.st.step-* | sed -n 5p)
  [ -n "$inside" ] || fail "no checkpoint inside an epoch: $(ls)"
  run 0 "${train[@]}" --data $data --resume "$inside" --checkpoint inside.st --overwrite
  grep -q "next row [1-9]" out || fail "$inside: $(cat out)"
  same_tensors once.st inside.st || fail "$data: other tensors after $inside"
  rm -rf once.* whole.st
done

# ---- another split would evaluate rows that were trained on
fails_saying "data.split.seed was 4 when it was saved, and is 5 now" "${train[@]}" --data folder \
  --resume part.st --set data.split.seed=5
has err "take the new one by --other-data"
run 0 "${train[@]}" --data folder --resume part.st --set data.split.seed=5 --other-data
has out "resume: data.split.seed was 4, is 5"

# ---- a sweep evaluates all trials on the same rows
run 0 sweep swept --seeds 1,2 -- --config own.json --data folder --threads 1 --epochs 1
json swept/1-seed=1/result.json \
  'd["split"] == json.load(open("swept/2-seed=2/result.json"))["split"]'

# ---- what is refused, before anything starts
fails_saying "rows from 99999 on for evaluation: it leaves no rows for evaluation, of a.jsonl: \
expected at least one: change the split" "${train[@]}" "${text[@]}" --checkpoint empty.st \
  --set 'data.split={"by": "time", "at": 99999}'
fails_saying "of a.jsonl, among --eval-rows 0:1: expected at least one: change the split or the \
range" "${train[@]}" "${text[@]}" --eval-rows 0:1 --set data.split.fraction=0.01 --dry-run
[ ! -e empty.st ] || fail "it trained"
fails_saying "data.split beside --eval b.jsonl.gz" "${train[@]}" --data a.jsonl --eval b.jsonl.gz
fails_saying "it can be read once, so rows for evaluation (data.split) cannot be taken of it" \
  "${train[@]}" --epochs 1 --data - < <(cat a.jsonl)
fails_saying "data.split chooses them" "${train[@]}" "${text[@]}" --eval-every 0.5
run 0 "${train[@]}" --data folder --eval-every 0.5
run 0 train --config small.json --checkpoint planted.st
fails_saying "--part eval: planted.st was trained without a data.split" predict planted.st \
  --data a.jsonl --part eval
fails_saying "--part eval: planted.st was trained without a data.split" evaluate planted.st \
  --part eval
fails_saying "part 'test': expected train, eval or all" evaluate text.st "${text[@]}" --part test
fails_saying "data.split: made-up rows" train --config small.json --set data.split.by=random
