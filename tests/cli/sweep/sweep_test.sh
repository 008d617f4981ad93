#!/bin/bash
# tessera sweep: the trials of a plan, the same results after kills, failures, what is refused.
source "$(dirname "$0")/../cli_test_lib.sh"
source "$(dirname "$0")/../mpi_test_lib.sh"
sed 's/"rows": 5000/"rows": 1000/' small.json >short.json
rate=optimizer.sparse.lr
grid=(--grid $rate=0.02,0.2 --seeds 1,2)
train=(--config short.json --threads 1 --epochs 2 --eval-every 0.5)

# ---- the plan, the trials' folders, and the comparison of tessera runs
run 0 sweep whole "${grid[@]}" --json whole.json --svg whole.svg --html whole.html -- "${train[@]}"
has out "4 trials, of which 0 are finished"
has out "3-lr=0.2-seed=1 finished"
has out " ± "
lacks err "trials"
sed -n '/^run /,$p' out >table
run 0 runs whole --json runs.json
cmp out table || fail "another table than tessera runs prints: $(cat out table)"
cmp runs.json whole.json || fail "another comparison than that of tessera runs"
json whole/sweep.json '[t["name"] for t in d["trials"]] == [
  "1-lr=0.02-seed=1", "2-lr=0.02-seed=2", "3-lr=0.2-seed=1", "4-lr=0.2-seed=2"]'
json whole/sweep.json 'd["trials"][2]["settings"] == {"optimizer.sparse.lr": "0.2"}'
json whole/sweep.json 'd["trials"][3]["seed"] == 2'
json whole.json 'len(d["groups"]) == 2 and all(len(g["runs"]) == 2 for g in d["groups"])'
json whole.json '{next(iter(g["settings"].values())) for g in d["groups"]} == {"0.02", "0.2"}'
json whole/3-lr=0.2-seed=1/config.json 'd["optimizer"]["sparse"]["lr"] == 0.2'
json whole/3-lr=0.2-seed=1/config.json 'd["train"]["seed"] == 1 and d["train"]["epochs"] == 2'
has whole/3-lr=0.2-seed=1.log "saved whole/3-lr=0.2-seed=1/last.safetensors"
has whole.svg "<path"
has whole.html "<svg"
run 0 train "${train[@]}" --set $rate=0.2 --seed 1 --run alone
cmp alone/curve.jsonl whole/3-lr=0.2-seed=1/curve.jsonl || fail "a trial trains something else"

# ---- the same command has nothing left to train; the configuration is that of the beginning
run 0 sweep whole "${grid[@]}" --json again.json -- "${train[@]}"
has out "4 trials, of which 4 are finished"
cmp again.json whole.json || fail "a second start changed the results"
mv whole/2-lr=0.02-seed=2/config.json lost.json
run 1 sweep whole "${grid[@]}" -- "${train[@]}"
has out "not read: whole/2-lr=0.02-seed=2: there is no config.json in it"
mv lost.json whole/2-lr=0.02-seed=2/config.json

# same_values FILE FILE: the comparisons have the same trials and metrics.
same_values() {
  python3 - "$1" "$2" <<'PYTHON' || fail "$2 has other values than $1"
import json, os, sys
def values(path):
  found = json.load(open(path))
  runs = {os.path.basename(r["path"]): (r["seed"], r["finished"], r["epochs"], r["last"], r["best"])
          for r in found["runs"]}
  return runs, [(g["settings"], g["last"], g["best"]) for g in found["groups"]]
assert values(sys.argv[1]) == values(sys.argv[2])
PYTHON
}

# ---- killed at any moment, two at a time: the same values
python3 - "$tessera" sweep cut "${grid[@]}" --jobs 2 -- "${train[@]}" <<'PYTHON' || fail "kills"
import glob, os, random, shutil, signal, subprocess, sys, time
dice = random.Random(7)
def size(path):
  try: return os.path.getsize(path)
  except FileNotFoundError: return 0  # its trial begins again
def curves(): return {path: size(path) for path in glob.glob("cut/*/curve.jsonl")}
kills = 0
while kills < 4:
  before = curves()
  with open("said.txt", "w") as said:
    process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=said,
                               start_new_session=True)
  while curves() == before and process.poll() is None: time.sleep(0.001)
  time.sleep(0.04 * dice.random())
  if process.poll() is None: os.killpg(process.pid, signal.SIGKILL)
  if process.wait() == -9: kills += 1
  elif "still trains trial" in open("said.txt").read(): time.sleep(0.1)  # a killed one ends late
  elif process.returncode != 0: sys.exit(f"kill {kills}: {open('said.txt').read()}")
  else: shutil.rmtree("cut")  # the kill came too late: it begins anew
PYTHON
run 0 sweep cut "${grid[@]}" --jobs 2 --json cut.json -- "${train[@]}"
same_values whole.json cut.json

# ---- a signal goes on to the trials, which save; the same command goes on
sed 's/"rows": 5000/"rows": 50000000/' small.json >long.json
python3 - "$tessera" sweep stopped --seeds 2 -- --config long.json <<'PYTHON' || fail "SIGTERM"
import glob, subprocess, sys, time
process = subprocess.Popen(sys.argv[1:], stdout=open("out", "w"), stderr=open("err", "w"))
while not glob.glob("stopped/*/curve.jsonl"): time.sleep(0.05)
time.sleep(0.3)
process.terminate()
sys.exit(process.wait() != 143)
PYTHON
has err "interrupted by SIGTERM: the same command goes on with stopped"
json stopped/1-seed=1/run.json 'd["starts"][0]["ended"] == "interrupted"'
[ -s stopped/1-seed=1/last.safetensors ] || fail "the trial did not save"
[ ! -e stopped/2-seed=2 ] || fail "a trial began after the signal"

# ---- a trial that fails: the others are trained, and the same command tries it again
run 0 generate --rows 500 --vocabulary 50 clicks.tsv
(cat clicks.tsv; echo "bad") >bad.tsv
failing=(sweep failing --grid train.batch_size=64,65 -- --config short.json --threads 1
  --data bad.tsv)
run 1 "${failing[@]}"
has out "1-batch_size=64 failed"
has out "failed: 2-batch_size=65: bad.tsv"
has err "failing: 2 of 2 trials failed"
[ "$(wc -l <err)" -eq 1 ] || fail "$(cat err)"
cp clicks.tsv bad.tsv
python3 - "$tessera" "${failing[@]}" <<'PYTHON' || fail "one of two fails: $(cat out err)"
import fcntl, subprocess, sys
lock = open("failing/1-batch_size=64/.metrics.jsonl.lock", "w")  # as another command has it
fcntl.flock(lock, fcntl.LOCK_EX)
sys.exit(subprocess.run(sys.argv[1:], stdout=open("out", "w"), stderr=open("err", "w")).returncode
         != 1)
PYTHON
has out "2-batch_size=65 finished"
has out "failed: 1-batch_size=64: failing/1-batch_size=64/metrics.jsonl: "
has err "failing: 1 of 2 trials failed"
run 0 "${failing[@]}"
has out "2 trials, of which 1 is finished"

# ---- the sweep alone is killed: its trial still runs, and is not counted as failed
orphaned=(sweep orphaned --seeds 1,2 -- --config long.json --threads 1)
python3 - "$tessera" "${orphaned[@]}" <<'PYTHON' || fail "kill -9 of the sweep alone"
import glob, subprocess, sys, time
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
while not glob.glob("orphaned/1-seed=1/curve.jsonl"): time.sleep(0.05)
process.kill()
sys.exit(process.wait() != -9)
PYTHON
trial=$(sed 's/ on .*//' orphaned/1-seed=1/.last.safetensors.lock)
kill -0 "$trial" || fail "the trial does not run"
fails_saying "orphaned: process $trial on " "${orphaned[@]}"
has err "still trains trial 1-seed=1"
lacks out failed
kill -TERM "$trial"
for _ in $(seq 600); do [ -e orphaned/1-seed=1/.last.safetensors.lock ] || break; sleep 0.1; done
"$tessera" "${orphaned[@]}" >out 2>err &
sweep=$!
for _ in $(seq 600); do grep -q "resumed" orphaned/1-seed=1.log && break; sleep 0.1; done
kill -TERM $sweep
wait $sweep
has orphaned/1-seed=1.log "resumed orphaned/1-seed=1/last.safetensors"
has out "2 trials, of which 0 are finished"

# ---- another process begins to train one of the trials meanwhile
python3 - "$tessera" sweep late --grid train.epochs=40,1 -- --config short.json --threads 1 \
  <<'PYTHON' || fail "another process trains a trial: $(cat out err)"
import fcntl, os, shutil, subprocess, sys, time
def is_trained_by_another():
  process = subprocess.Popen(sys.argv[1:], stdout=open("out", "w"), stderr=open("err", "w"))
  while not os.path.exists("late/1-epochs=40/curve.jsonl"): time.sleep(0.001)
  os.makedirs("late/2-epochs=1", exist_ok=True)
  with open("late/2-epochs=1/.last.safetensors.lock", "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    return process.wait() == 1
for attempt in range(20):
  if is_trained_by_another(): sys.exit(0)
  shutil.rmtree("late")  # the sweep had trained it before
sys.exit(1)
PYTHON
has out "2-epochs=1 is trained by another process"
lacks out "failed"
has err "late: another process trains trial 2-epochs=1: when it has ended, the same command goes on"
[ "$(wc -l <err)" -eq 1 ] || fail "$(cat err)"
run 0 sweep late --grid train.epochs=40,1 -- --config short.json --threads 1
has out "2 trials, of which 1 is finished"

# ---- draws: those of the seed, in the range, crossed with the grid
drawn=(--random 3 --range $rate=0.001:1:log --range optimizer.dense.lr=0.01:0.02)
tiny=(--config short.json --threads 1 --set data.rows=100 --set data.eval_rows=100)
run 0 sweep drawn "${drawn[@]}" --grid train.batch_size=32,64 -- "${tiny[@]}"
run 0 sweep other "${drawn[@]}" --sweep-seed 5 -- "${tiny[@]}"
python3 - <<'PYTHON' || fail "draws"
import json
def settings(path):
  return [t["settings"] for t in json.load(open(path + "/sweep.json"))["trials"]]
drawn, other = settings("drawn"), settings("other")
assert len(drawn) == 6 and len(other) == 3
rates = [float(s["optimizer.sparse.lr"]) for s in drawn]
assert all(0.001 <= r < 1 for r in rates) and len(set(rates)) == 3 and rates[:3] == rates[3:]
assert all(0.01 <= float(s["optimizer.dense.lr"]) < 0.02 for s in drawn)
assert [s["train.batch_size"] for s in drawn] == ["32"] * 3 + ["64"] * 3
assert not {s["optimizer.sparse.lr"] for s in other} & {s["optimizer.sparse.lr"] for s in drawn}
PYTHON

# ---- successive halving: the best means go on, with the bits of trainings that went on at once
rates=(--grid $rate=0.0001,0.2,0.05,0.001 --seeds 2 --halving 2 --epochs 1:3)
short=(--config short.json --threads 1 --eval-every 0.5)
run 0 sweep halved "${rates[@]}" -- "${short[@]}"
has out "the best 4 trials go on to epoch 2"
has out "the best 2 trials go on to epoch 3"
python3 - <<'PYTHON' || fail "rungs"
import json, statistics
plan = json.load(open("halved/sweep.json"))
names = [t["name"] for t in plan["trials"]]
assert [(r["epochs"], len(r["trials"])) for r in plan["rungs"]] == [(1, 8), (2, 4), (3, 2)]
for rung, after in zip(plan["rungs"], plan["rungs"][1:]):
  def best(trial):
    points = [json.loads(line) for line in open(f"halved/{names[trial]}/curve.jsonl")]
    return max(p["auc"] for p in points if p["epoch"] <= rung["epochs"])
  means = {t // 2: statistics.mean([best(t), best(t + 1)]) for t in rung["trials"][::2]}
  kept = sorted(means, key=means.get, reverse=True)[:len(means) // 2]
  assert sorted(kept) == sorted({t // 2 for t in after["trials"]}), (means, after)
for number, name in enumerate(names):
  epochs = json.load(open(f"halved/{name}/run.json"))["finished"]["epochs"]
  assert epochs == sum(number in rung["trials"] for rung in plan["rungs"])
PYTHON
run 0 sweep halved "${rates[@]}" -- "${short[@]}"
has out "8 trials, of which 8 are finished"  # those that were left out among them
last=$(python3 -c "import json; d=json.load(open('halved/sweep.json'))
print(d['trials'][d['rungs'][2]['trials'][0]]['name'])")
value=${last#*lr=}
run 0 train "${short[@]}" --set $rate=${value%-seed*} --seed 1 --epochs 3 --run at_once
for run in halved/$last at_once; do
  grep -o '"auc":[^,]*' $run/curve.jsonl >$(basename $run).auc
done
cmp $last.auc at_once.auc || fail "halving trains something else"
for time in 0.3 0.6 0.5; do timeout -s KILL $time "$tessera" sweep parts "${rates[@]}" -- \
  "${short[@]}" >out 2>err; sleep 0.1; done
run 0 sweep parts "${rates[@]}" -- "${short[@]}"
python3 - <<'PYTHON' || fail "a sweep in parts kept other settings"
import json
parts, halved = (json.load(open(f"{folder}/sweep.json")) for folder in ("parts", "halved"))
assert parts == halved
PYTHON
rm -r parts halved
fails_saying "no trial has a value of auc, so --halving has nothing to go by" sweep blind \
  --seeds 2 --halving 2 --epochs 1:2 --metric auc -- --config short.json --data clicks.tsv

# ---- a damaged sweep.json says what is wrong, and where
run 0 sweep torn --grid $rate=0.02,0.1 --halving 2 --epochs 1:2 -- "${short[@]}"
cp torn/sweep.json kept.json
# torn PYTHON TEXT: after the change of its rungs the command is refused with the text.
torn() {
  python3 -c "import json; d=json.load(open('kept.json')); $1
json.dump(d, open('torn/sweep.json', 'w'))"
  fails_saying "torn/sweep.json: $2" sweep torn --grid $rate=0.02,0.1 --halving 2 --epochs 1:2 -- \
    "${short[@]}"
}
torn "d['rungs'][-1]['epochs'] = 'two'" 'rungs[1].epochs: expected an integer, got "two"'
torn "d['rungs'][-1] = 7" "rungs[1]: expected an object {…}, got 7"
torn "d['rungs'][-1]['trials'] = [5]" "rungs[1].trials: expected trials from 0 to 1, got 5"
torn "del d['rungs']" "rungs: the key is missing"

# ---- refused before anything is written
# refused TEXT ARGS…: the command fails, says this, and leaves no folder `new`.
refused() {
  fails_saying "$@"
  [ ! -e new ] || [ -z "$(ls new)" ] || fail "$*: it wrote $(ls new)"
}
refused "no configuration: give tessera train's options after --" sweep new "${grid[@]}"
refused "nothing to sweep over" sweep new -- "${train[@]}"
refused "trial 1-rate=1: short.json: optimizer.sparse.rate: unknown key" sweep new \
  --grid optimizer.sparse.rate=1 -- "${train[@]}"
refused "train.batch_size: expected an integer" sweep new --grid train.batch_size=64,x -- \
  "${train[@]}"
refused "nowhere.json" sweep new "${grid[@]}" -- --config nowhere.json
refused "trial 1-lr=0.02-seed=1: nowhere.tsv" sweep new "${grid[@]}" -- "${train[@]}" \
  --data nowhere.tsv
refused "the training takes about" sweep new "${grid[@]}" -- "${train[@]}" --memory-limit 10K
refused "$rate is given twice by --grid and --range" sweep new --grid $rate=1,2 --grid $rate=3 -- \
  "${train[@]}"
refused "optimizer.sparse beside $rate, which it sets, too" sweep new --grid $rate=1,2 \
  --grid 'optimizer.sparse={"name":"sgd","lr":1}' -- "${train[@]}"
refused "--grid $rate=1,1: 1 is given twice" sweep new --grid $rate=1,1 -- "${train[@]}"
refused "trials 1-lr=1 and 2-lr=1.0 are one training" sweep new --grid $rate=1,1.0 -- "${train[@]}"
refused "are one training: their values say the same, or an option after -- takes precedence" \
  sweep new --grid train.epochs=3,4 -- "${train[@]}"
refused "expected KEY=V1,V2" sweep new --grid $rate -- "${train[@]}"
refused "--set $rate=1 beside the sweep's $rate" sweep new "${grid[@]}" -- "${train[@]}" \
  --set $rate=1
refused "train.seed sets the seed: give --seeds" sweep new --grid train.seed=1,2 -- "${train[@]}"
refused "--set train.seed=4 beside --seeds" sweep new "${grid[@]}" -- "${train[@]}" \
  --set train.seed=4
refused "--halving says how many settings go on, and --epochs until when: give both" sweep new \
  "${grid[@]}" --halving 2 -- "${short[@]}"
refused "--epochs 3: expected FIRST:LAST" sweep new "${grid[@]}" --halving 2 --epochs 3 -- \
  "${short[@]}"
refused "--epochs after -- beside --halving" sweep new "${rates[@]}" -- "${train[@]}"
refused "--set train.epochs=2 beside --halving" sweep new "${rates[@]}" -- "${short[@]}" \
  --set train.epochs=2
refused "train.epochs beside --halving, which sets the epochs" sweep new "${rates[@]}" \
  --grid train.epochs=2,3 -- "${short[@]}"
refused "--seeds 1,1: seed 1 is given twice" sweep new --seeds 1,1 -- "${train[@]}"
refused "--seeds x: expected seeds" sweep new --seeds x -- "${train[@]}"
refused "--random says how often each --range is drawn from" sweep new --random 3 -- "${train[@]}"
refused "expected KEY=LOW:HIGH" sweep new --random 3 --range $rate=0:1:log -- "${train[@]}"
for option in --run --checkpoint --best --json --metrics --resume "--seed 1" --overwrite \
  --dry-run; do
  value=x
  [[ $option != *" "* && $option != --overwrite && $option != --dry-run ]] || value=
  refused "${option% *} after --: tessera sweep says that of each trial" sweep new "${grid[@]}" -- \
    "${train[@]}" $option $value
done
for option in --tensorboard --trace --mllog; do
  refused "$option after --: all trials would write to one place" sweep new "${grid[@]}" -- \
    "${train[@]}" $option x
done
refused "standard input can be read once" sweep new "${grid[@]}" -- "${train[@]}" --data -
refused "--help: not expected by tessera train" sweep new "${grid[@]}" -- "${train[@]}" --help
refused "--epcohs 3: not expected by tessera train; did you mean --epochs?" sweep new \
  "${grid[@]}" -- --config short.json --epcohs 3
# ---- a flag on the wrong side of --
for given in "--set $rate=1" "--set=$rate=1" "--config short.json" "--batch-size 8"; do
  flag=${given%%[ =]*}
  refused "$flag: it is a flag of tessera train, and those stand after --: tessera sweep DIR \
--grid KEY=V1,V2 -- --config FILE $flag …; before -- stand those of the sweep" sweep new \
    "${grid[@]}" $given -- "${train[@]}"
done
refused "--config: it is a flag of tessera train" sweep new "${grid[@]}" "${train[@]}"
refused "a word before -- belongs to no flag: --grid and --range take one key each" sweep new \
  "${grid[@]}" train.batch_size=8,16 -- "${train[@]}"
refused "--grid after --: it is a flag of tessera sweep: write it before --" sweep new --seeds 2 \
  -- "${train[@]}" --grid $rate=1,2
refused " --jbos: not expected by tessera sweep; did you mean --jobs?" sweep new "${grid[@]}" \
  --jbos 2 -- "${train[@]}"
refused "no metric that evaluations are compared by is called 'x'" sweep new "${grid[@]}" \
  --metric x -- "${train[@]}"
refused "small.json: it is a file; expected a folder for the sweep" sweep small.json \
  "${grid[@]}" -- "${train[@]}"
refused "/proc/x/sweep.json: cannot be written: /proc: its file system takes no new files" sweep \
  /proc/x "${grid[@]}" -- "${train[@]}"
refused "a file is there that is not a report of tessera runs" sweep new "${grid[@]}" \
  --json small.json -- "${train[@]}"

# ---- another sweep in the folder; a folder with other files
before=$(find whole -type f -exec sha256sum {} + | sort)
fails_saying "whole: its sweep began with --grid" sweep whole --grid $rate=0.02,0.3 --seeds 1,2 -- \
  "${train[@]}"
fails_saying "whole: its sweep began with --seeds [1,2], but this command says [1,2,3]" sweep \
  whole --grid $rate=0.02,0.2 --seeds 3 -- "${train[@]}"
fails_saying "whole: its sweep began with options of tessera train" sweep whole "${grid[@]}" -- \
  "${train[@]}" --batch-size 8
sed -i 's/"lr": 0.01/"lr": 0.03/' short.json
fails_saying "whole: its sweep began with optimizer.dense.lr 0.01, but the configuration now says \
0.03" sweep whole "${grid[@]}" -- "${train[@]}"
fails_saying "is there, and no sweep: name another folder" sweep alone "${grid[@]}" -- \
  "${train[@]}"
[ "$before" = "$(find whole -type f -exec sha256sum {} + | sort)" ] || fail "the sweep was changed"
"${mpirun[@]}" -n 1 "$tessera" sweep new "${grid[@]}" -- "${train[@]}" >out 2>err &&
  fail "mpirun: $(cat out)"
has err "leave mpirun out"
