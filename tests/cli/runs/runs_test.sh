#!/bin/bash
# tessera runs: figures, groups over seeds with means and standard errors, what differs, curves.
source "$(dirname "$0")/../cli_test_lib.sh"

sed 's/"rows": 5000/"rows": 1000/' small.json >short.json
every=(train --config short.json --threads 1 --eval-every 0.5)
for lr in 0.02 0.2; do
  for seed in 1 2 3; do
    run 0 "${every[@]}" --epochs 2 --set optimizer.sparse.lr=$lr --seed $seed --run all/$lr-$seed
  done
done

# ---- the table, and JSON against the runs' own files
run 0 runs all --json runs.json --svg curves.svg --html runs.html
has out "all/0.02-1"
has out "2 tables ('a' to 'b'): optimizer.lr"
has out " ± "
python3 - <<'EOF' || fail "runs.json"
import json, statistics
def points(run): return [json.loads(line) for line in open(run + "/curve.jsonl")]
found = json.load(open("runs.json"))
assert found["compared_by"] == "auc" and found["higher_is_better"]
assert len(found["runs"]) == 6 and len(found["groups"]) == 2
assert [r["best"] for r in found["runs"]] == sorted((r["best"] for r in found["runs"]),
                                                    reverse=True)
for run in found["runs"]:
  values = [point["auc"] for point in points(run["path"])]
  assert run["last"] == values[-1] and run["best"] == max(values), run
  assert run["finished"] and run["epochs"] == 2 and run["rows"] == 2000, run
  start = json.load(open(run["path"] + "/run.json"))["starts"][0]
  assert abs(run["rows_per_second"] - 2000 / start["training_seconds"]) < 1e-6, run
for place, group in enumerate(found["groups"]):
  runs = [found["runs"][r] for r in group["runs"]]
  assert sorted(r["seed"] for r in runs) == [1, 2, 3]
  assert all(r["group"] == place for r in runs)
  [(key, value)] = group["settings"].items()
  assert key == "2 tables ('a' to 'b'): optimizer.lr"
  assert all(r["path"].startswith(f"all/{value}-") for r in runs)
  for name in ("last", "best"):
    values = [r[name] for r in runs]
    assert abs(group[name]["mean"] - statistics.mean(values)) < 1e-12
    assert abs(group[name]["standard_error"] - statistics.stdev(values) / 3 ** 0.5) < 1e-12
means = [group["best"]["mean"] for group in found["groups"]]
assert means == sorted(means, reverse=True)
svg = open("curves.svg").read()
assert svg.count("<path") == 6 and svg.count("<circle") == 6 * len(points("all/0.2-1"))
assert "0.02" in svg
html = open("runs.html").read()
assert html.count("<svg") == 1 and html.count("<tr>") == 7 + 3 and "all/0.2-3" in html
EOF

# ---- by other metrics, where lower is better; one run alone; a run that was cut off
run 0 runs all --metric log_loss --json by_loss.json
json by_loss.json 'not d["higher_is_better"]'
json by_loss.json '[r["best"] for r in d["runs"]] == sorted(r["best"] for r in d["runs"])'
run 0 runs all --metric train_loss
has out "best train_loss"
run 0 runs all/0.2-1
lacks out "means over seeds"
[ "$(wc -l <out)" -eq 2 ] || fail "a table of one run: $(cat out)"
python3 - <<'EOF'
import json
run = json.load(open("all/0.2-1/run.json"))
del run["finished"]
json.dump(run, open("all/0.2-1/run.json", "w"))
EOF
run 0 runs all/0.2-1
has out "2 of 2"

# ---- a folder of folders of runs, as of sweeps
mkdir -p sweeps/slow sweeps/fast sweeps/none
cp -r all/0.02-1 all/0.02-2 sweeps/slow
cp -r all/0.2-2 sweeps/fast
cp -r all/0.2-3 sweeps
run 0 runs sweeps --json sweeps.json
json sweeps.json 'sorted(r["path"] for r in d["runs"]) == [
  "sweeps/0.2-3", "sweeps/fast/0.2-2", "sweeps/slow/0.02-1", "sweeps/slow/0.02-2"]'

# ---- a run that a signal stops in the evaluation at an epoch's end has trained that epoch
"$tessera" train --config short.json --threads 1 --epochs 2 --set data.eval_rows=50000000 \
  --run stopped >out 2>err &
training=$!
for _ in $(seq 600); do [ -e stopped/last.safetensors ] && break; sleep 0.1; done
sleep 0.5
kill -TERM $training
wait $training
[ $? -eq 143 ] || fail "a training that was stopped: $(cat out err)"
[ ! -s stopped/curve.jsonl ] || fail "the evaluation has ended: $(cat stopped/curve.jsonl)"
run 0 runs stopped --json stopped.json
has out " 1 of 2 "
json stopped.json 'd["runs"][0]["epochs"] == 1 and not d["runs"][0]["finished"]'

# ---- a run counts once, a seed counts once, and an unfinished run counts in no mean
run 0 runs all all/0.2-2 all/../all/0.2-2 --json once.json
json once.json 'len(d["runs"]) == 6'
run 0 "${every[@]}" --epochs 2 --set optimizer.sparse.lr=0.2 --seed 2 --run again
run 0 runs all/0.2-2 all/0.2-3 --json two.json
run 0 runs all/0.2-1 all/0.2-2 all/0.2-3 again --json three.json
has out "3 of 4"  # finished ones, of which the mean is
json three.json 'len(d["runs"]) == 4 and len(d["groups"]) == 1'
json three.json 'd["groups"][0]["best"] == json.load(open("two.json"))["groups"][0]["best"]'
run 0 runs all/0.2-1 --json unfinished.json
json unfinished.json 'd["groups"][0]["best"]["mean"] is None and d["runs"][0]["best"] > 0.5'

# ---- a pipeline that changes bits is another group
for pipeline in none semi_sync; do
  run 0 train --config short.json --threads 1 --pipeline $pipeline --run of/$pipeline
done
run 0 runs of --json semi.json
json semi.json '{g["settings"]["--pipeline"] for g in d["groups"]} == {"\"none\"", "\"semi_sync\""}'

# ---- other data, another list and other epochs are other groups
run 0 "${every[@]}" --epochs 1 --set 'model.over_arch=[8,1]' --set optimizer.sparse.lr=0.2 \
  --set data.seed=7 --run other
run 0 runs all/0.2-2 other --json other.json
json other.json 'len(d["groups"]) == 2'
json other.json '{(k, v) for g in d["groups"] for k, v in g["settings"].items()} >= {
  ("model.over_arch", "[8,1]"), ("model.over_arch", "[16,1]"), ("train.epochs", "1"),
  ("data.seed", "7")}'
run 0 generate --rows 500 --vocabulary 50 clicks.tsv
run 0 generate --rows 500 --first 500 --vocabulary 50 more.tsv
for data in clicks more; do
  run 0 train --config short.json --data $data.tsv --run files/$data
done
run 0 runs files --json files.json
has out "all of clicks.tsv"
has out "all of more.tsv"
lacks out '{"rows"'
json files.json 'd["compared_by"] == "train_loss" and len(d["groups"]) == 2'
json files.json 'all("tsv" in g["settings"]["rows trained on"] for g in d["groups"])'

# ---- long values are short in tables, with what differs, and whole in JSON
for part in 1 2 3 4 5 6; do cp clicks.tsv part_$part.tsv; done
run 0 train --config short.json --data part_{1,2,3,4,5,6}.tsv --run long/six
run 0 train --config short.json --data part_{1,2,3,4,5}.tsv more.tsv --run long/other
# fits: no line of out is wider than a terminal of 100 columns.
fits() { python3 -c 'import sys; sys.exit(max(map(len, open("out", encoding="utf-8"))) > 101)' ||
  fail "a wide table: $(cat out)"; }
run 0 runs long --json long.json --html long.html
fits
has out "…"
has out "more.tsv"
lacks long.html "part_1.tsv"
json long.json 'all(g["settings"]["rows trained on"].count("head") == 6 for g in d["groups"])'

# ---- runs that differ in many keys: the table is folded
run 0 train --config short.json --threads 1 --epochs 2 --seed 3 --batch-size 32 \
  --set optimizer.sparse.name=adam --set optimizer.dense.lr=0.02 --set 'model.dense_arch=[16,4]' \
  --run unlike/first
run 0 train --config short.json --threads 1 --set optimizer.sparse.lr=0.01 --set data.seed=7 \
  --set 'model.over_arch=[8,1]' --run unlike/second
run 0 runs unlike
fits
for key in model.over_arch data.seed train.epochs optimizer.dense.lr; do has out "$key"; done
grep -qE '^group +1 +2$' out || fail "groups are no columns: $(cat out)"

# ---- a damaged run does not hide the others
cp -r all broken
head -c 100 all/0.02-1/run.json >broken/0.02-1/run.json
sed -i 's/"epochs": 2,/"epochs": "two",/' broken/0.02-2/run.json
echo '{"tables": 3}' >broken/0.02-3/config.json
run 1 runs broken --json broken.json --html broken.html
has err "3 of 6 runs cannot be read: what is wrong is below the table"
has out "broken/0.2-2"
has out "not read: broken/0.02-1: broken/0.02-1/run.json: parse error at line"
has out 'broken/0.02-2/run.json: finished.epochs: expected an integer, got "two"'
has out "not read: broken/0.02-3: broken/0.02-3/config.json: "
has broken.html "not read: broken/0.02-1"
json broken.json 'len(d["runs"]) == 3 and [r["path"] for r in d["unread"]] == [
  "broken/0.02-1", "broken/0.02-2", "broken/0.02-3"]'
fails_saying "broken/0.02-1/run.json: parse error at line" runs broken/0.02-1
fails_saying "none of 2 runs can be read; the first: broken/0.02-1/run.json: parse error" runs \
  broken/0.02-1 broken/0.02-2
sed -i 's/"starts": \[/"starts": [7, /' broken/0.2-2/run.json
fails_saying "broken/0.2-2/run.json: starts[0]: expected an object {…}, got 7" runs broken/0.2-2
cp -r all lost
rm lost/0.02-1/run.json lost/0.02-2/config.json
run 1 runs lost
has err "2 of 6 runs cannot be read"
has out "not read: lost/0.02-1: there is no run.json in it"
has out "not read: lost/0.02-2: there is no config.json in it, which its first step has written"

# ---- a curve that is not that of the run's result is said
cp -r all/0.2-2 cut
sed -i '$d' cut/curve.jsonl
run 0 runs cut all/0.2-3 --json cut.json
has out "note: cut/curve.jsonl was cut: it lacks step 32, which result.json has"
json cut.json 'sorted(r["note"] is None for r in d["runs"]) == [False, True]'
cp all/0.2-3/curve.jsonl cut/curve.jsonl
run 0 runs cut
has out "note: cut/curve.jsonl was changed: it has other values than result.json at step 7 ("
cp all/0.2-2/curve.jsonl cut/curve.jsonl
sed -i '2s/"log_loss":[0-9.]*/"log_loss":0.5/' cut/curve.jsonl  # not what runs are compared by
run 0 runs cut
has out "it has other values than result.json at step 16 (log_loss)"
cp all/0.2-2/curve.jsonl cut/curve.jsonl
python3 - <<'EOF' || fail "another best"
import json
result = json.load(open("cut/result.json"))
result["best"]["value"] = 0.9
json.dump(result, open("cut/result.json", "w"))
EOF
run 0 runs cut
has out "note: cut/result.json says that the best auc is 0.9, of step "

cp all/0.2-2/curve.jsonl cut/curve.jsonl
rm cut/result.json
run 0 runs cut --json cut.json
has out "note: cut/result.json is missing, which a finished run has: its curve is held against no"
json cut.json '"is missing" in d["runs"][0]["note"]'
python3 - <<'EOF' || fail "a run that is under way, with half a line"
import json, os
run = json.load(open("cut/run.json"))
del run["finished"]
json.dump(run, open("cut/run.json", "w"))
os.truncate("cut/curve.jsonl", os.path.getsize("cut/curve.jsonl") - 9)
EOF
lines=$(wc -l <all/0.2-2/curve.jsonl)
run 0 runs cut
has out "note: line $lines of cut/curve.jsonl was cut off, and is left out"
lacks out "is missing"
cp all/0.2-2/*.json all/0.2-2/curve.jsonl cut

# ---- a start that evaluates a step again, to other numbers than a line that is there
run 0 "${every[@]}" --epochs 1 --run twice
run 0 "${every[@]}" --epochs 2 --run twice
run 0 runs twice --json twice.json
json twice.json 'd["runs"][0]["note"] is None'
run 0 "${every[@]}" --epochs 1 --run moved
python3 - <<'EOF' || fail "a line of a start that was cut off"
import json
line = json.loads(open("twice/curve.jsonl").read().splitlines()[-1])
line.update(auc=0.25, value=0.25)
open("moved/curve.jsonl", "a").write(json.dumps(line) + "\n")
EOF
run 0 "${every[@]}" --epochs 2 --run moved
run 0 runs moved twice --json moved.json
has out "note: moved: start 2 has evaluated step 32 to other numbers than a start before it \
(value, auc)"
json moved.json 'sorted(r["note"] is None for r in d["runs"]) == [False, True]'

# ---- one task and several: its metrics have its name in both
cat >one.json <<'END'
{"tables": [{"name": "a", "rows": 100, "dim": 4, "features": ["user"]}],
 "model": {"type": "dlrm", "dense_in": 1, "dense_arch": [8, 4], "over_arch": [4, 1]},
 "optimizer": {"sparse": {"name": "sgd", "lr": 0.1}, "dense": {"name": "adam", "lr": 0.01}},
 "data": {"format": "csv", "dense": ["price"], "labels": ["like", "buy"],
          "features": ["user"]},
 "train": {"batch_size": 32}}
END
python3 - <<'EOF'
import json
config = json.load(open("one.json"))
config["model"] = {"type": "mmoe", "dense_in": 1, "dense_arch": [8], "experts": 2,
                   "expert_arch": [8], "tower_arch": [4, 1],
                   "tasks": [{"label": "like"}, {"label": "buy"}]}
json.dump(config, open("several.json", "w"))
print("user,price,like,buy", file=open("tasks.csv", "w"))
for n in range(1200):
  print(f"{n % 97},{n % 7},{int(n % 97 > 50)},{int(n % 7 > 3)}", file=open("tasks.csv", "a"))
EOF
for model in one several; do
  run 0 train --config $model.json --data tasks.csv --train-rows 0:1000 --eval-rows 1000:1200 \
    --run tasks/$model
done
for metric in auc-like auc log_loss-like; do
  run 0 runs tasks --metric $metric --json tasks.json
  json tasks.json 'len(d["runs"]) == 2 and all(r["best"] > 0 for r in d["runs"])'
done
run 0 runs tasks/one tasks/several --metric auc-buy --json tasks.json
json tasks.json 'sorted(r["best"] is None for r in d["runs"]) == [False, True]'
cp all/0.2-3/curve.jsonl cut/curve.jsonl
echo '{' >cut/result.json
run 0 runs cut
has out "note: the curve is held against no result: cut/result.json: parse error"
cp -r files/clicks cut_epochs
: >cut_epochs/curve.jsonl
run 0 runs cut_epochs
has out "note: cut_epochs/curve.jsonl was cut: it lacks epoch 1, which result.json has"

# ---- a start that fails before its first step is named with the reason, and the next one begins
mkdir starts
run 1 "${every[@]}" --data no_such.tsv --run starts/bad_data
run 1 "${every[@]}" --set train.batch_size=0 --run starts/bad_config
fails_saying "starts/bad_data: it failed before its first step: no_such.tsv: cannot be read" runs \
  starts/bad_data
fails_saying "none of 2 runs can be read; the first: starts/bad_config: it failed before its first \
step: " runs starts
run 0 "${every[@]}" --run starts/good
run 0 runs starts --json starts.json
has out "not read: starts/bad_data: it failed before its first step: no_such.tsv: cannot be read"
json starts.json 'len(d["runs"]) == 1 and [r["path"] for r in d["unread"]] == [
  "starts/bad_config", "starts/bad_data"]'
run 0 "${every[@]}" --run starts/bad_data
json starts/bad_data/run.json '"failed" not in d and len(d["starts"]) == 1'
mkdir starts/begins
echo '{"tessera_run": 1, "starts": []}' >starts/begins/run.json
run 0 runs starts
lacks out "starts/begins"
fails_saying "starts/begins: there is no config.json in it: no start has come to its first step" \
  runs starts/begins

# ---- refused
fails_saying "nowhere: it is no folder of tessera train --run" runs nowhere
mkdir empty
fails_saying "empty: there is no run of tessera train --run in it" runs empty
fails_saying "no metric that evaluations are compared by is called 'x'" runs all --metric x
for run in "tasks/one tasks/several" "tasks/several tasks/one" "tasks"; do
  fails_saying "is called 'auc-dislike'" runs $run --metric auc-dislike
  for metric in auc-like auc-buy log_loss-buy loss train_loss; do
    grep -qE "[ ']$metric([,;']|\$)" err || fail "$metric is not listed: $(cat err)"
  done
done
fails_saying "train_loss: no run has two values of it" runs files --svg files.svg
fails_saying "small.json: a file is there that is not a report of tessera runs" runs all \
  --json small.json
