#!/bin/bash
# tessera train --sharding-group-size: ranks in groups that each hold all tables, beside the same
# ranks without groups; what goes on from them; and what is refused beside them.
source "$(dirname "$0")/../cli_test_lib.sh"
source "$(dirname "$0")/../mpi_test_lib.sh"
sed 's/"batch_size": 64/"batch_size": 64, "epochs": 2/' small.json >two.json
sed 's/{"name": "rowwise_adagrad", "lr": 0.1}/{"name": "sgd", "lr": 0.1}/' two.json >sgd.json

# bits FOLDER: what the checkpoint holds, as one file.
bits() { run 0 export "$1" --out "$1.st"; }

# ---- one group is no group
run 0 train --config two.json --ranks 4 --plan row_wise --checkpoint none
run 0 train --config two.json --ranks 4 --plan row_wise --checkpoint one --sharding-group-size 4 \
  --json one.json
has out "4 ranks (local): 2 tables row_wise"
lacks out "sharding groups"
json one.json '"sharding_groups" not in d'
for folder in none one; do bits $folder; done
cmp none.st one.st || fail "one group: other bits than none"

# ---- two groups under a linear rule follow the run without groups; so do the metrics of training
near='all(abs(d[k] - r[k]) <= 1e-4 for k in ("auc", "log_loss", "normalized_entropy"))'
compare() { json "$1" "(lambda r: $near)(json.load(open('$2')))"; }
run 0 train --config sgd.json --json alone.json --metrics alone.jsonl
run 0 train --config sgd.json --ranks 4 --plan row_wise --sharding-group-size 2 --json sgd2.json \
  --metrics sgd2.jsonl
has out "4 ranks (local) in 2 sharding groups of 2, averaged every step: 2 tables row_wise"
has out "2 sharding groups of 2 ranks: their tables became their mean 158 times"
json sgd2.json 'd["sharding_groups"] == {"groups": 2, "ranks_of_each": 2, "sync_interval": 1,
  "averages": 158}'
json sgd2.json 'len(d["ranks"]) == 4'
compare sgd2.json alone.json
python3 - <<'PYTHON' || fail "metrics: $(cat alone.jsonl sgd2.jsonl)"
import json
a, b = ([json.loads(line) for line in open(f)] for f in ("alone.jsonl", "sgd2.jsonl"))
assert len(a) == len(b) > 0
def numbers(line, path=""):
    for key, value in line.items():
        if isinstance(value, dict):
            yield from numbers(value, path + key + "/")
        elif isinstance(value, (int, float)) and not any(
                w in path + key for w in ("throughput", "time", "seconds", "memory")):
            yield path + key, value
for x, y in zip(a, b):
    x, y = dict(numbers(x)), dict(numbers(y))
    assert x.keys() == y.keys(), (x, y)
    assert all(abs(x[k] - y[k]) <= 1e-3 * max(1, abs(x[k])) for k in x), (x, y)
PYTHON

# ---- an interval; the plan that is saved is of a group; the checkpoint is that of two ranks
groups=(--ranks 4 --plan auto --sharding-group-size 2 --sync-interval 20)
run 0 train --config two.json "${groups[@]}" --save-plan plan.json --checkpoint threads
has out "in 2 sharding groups of 2, averaged every 20 steps"
has out "their tables became their mean 9 times"
json plan.json 'd["world_size"] == 2'
run 0 inspect threads
has out "saved by 2 ranks"
run 0 evaluate threads --json evaluated.json
run 0 train --resume threads --ranks 4 --sharding-group-size 2 --json again.json
compare evaluated.json again.json

# ---- processes: the same bits; the log's lines and run.json say the groups
short=(train --config two.json --set data.rows=1000 --plan plan.json --sharding-group-size 2
  --sync-interval 5)
run 0 "${short[@]}" --ranks 4 --checkpoint of_threads
"${mpirun[@]}" -n 4 "$tessera" "${short[@]}" --pipeline sparse_dist --checkpoint processes \
  >out 2>err || fail "mpirun: $(cat out err)"
has out "4 ranks (mpi) in 2 sharding groups of 2"
for folder in of_threads processes; do bits $folder; done
same_tensors of_threads.st processes.st || fail "processes: other bits than threads"
run 0 "${short[@]}" --ranks 4 --run run --log-format json
grep -q '"ranks":4,"sharding_group_size":2,"sync_interval":5' <(cat out err | tr -d ' ') ||
  fail "the log lacks the groups: $(cat out err)"
json run/run.json 'd["starts"][0]["sharding_group_size"] == 2'
json run/run.json 'd["starts"][0]["sync_interval"] == 5'
json run/run.json 'd["starts"][0]["ranks"] == 4'

# ---- runs with and without groups are no seeds of one setting; a plan of all ranks fits no group
run 0 train --config two.json --epochs 1 --ranks 4 --run alone --save-plan four.json
run 0 runs run alone --json compared.json
json compared.json 'len(d["groups"]) == 2'
has out "--sharding-group-size"
fails_saying "(--sharding-group-size 2: a plan is for the ranks of one group)" train \
  --config two.json --ranks 4 --sharding-group-size 2 --plan four.json

# ---- goes on where it stopped: with the same bits, and with other ranks, groups, and none
run 0 train --config two.json "${groups[@]}" --epochs 1 --checkpoint half
cp -r half part
run 0 train --resume part "${groups[@]}" --epochs 2 --checkpoint part
has out "resumed part: 1 epoch done"
lacks out "resume: the ranks were in"
for folder in part threads; do bits $folder; done
same_tensors part.st threads.st || fail "resumed: other bits"
run 0 train --resume half --ranks 6 --sharding-group-size 3 --epochs 2
has out "resume: the ranks were in 2 sharding groups of 2, averaged every 20 steps, are in 2 \
sharding groups of 3, averaged every step"
run 0 train --resume half --ranks 4 --sharding-group-size 2 --sync-interval 10 --epochs 2 --dry-run
has out "averaged every 20 steps, are in 2 sharding groups of 2, averaged every 10 steps"
run 0 train --resume half --ranks 3 --epochs 2
has out "averaged every 20 steps, are in no sharding groups"
run 0 train --resume half --epochs 2 --checkpoint alone.safetensors
run 0 train --resume alone.safetensors --ranks 2 --sharding-group-size 1 --epochs 3

# ---- a dry run says the groups
run 0 train --config two.json "${groups[@]}" --dry-run
has out "in 2 sharding groups of 2, averaged every 20 steps"

# ---- what is refused, before anything starts
refused() {
  fails_saying "$@" --checkpoint new
  [ ! -e new ] || fail "$*: something was written"
}
two=(--ranks 4 --sharding-group-size 2)
refused "--sharding-group-size 3: the 4 ranks (--ranks, or those of mpirun) do not fill groups of \
3; expected a divisor" train --config two.json --ranks 4 --sharding-group-size 3
refused "--sharding-group-size needs --ranks N, or mpirun" train --config two.json \
  --sharding-group-size 2
refused "--sync-interval needs --sharding-group-size G" train --config two.json --ranks 4 \
  --sync-interval 2
refused "--sync-interval needs --sharding-group-size G" train --config two.json --sync-interval 2
refused "--sync-interval 7 beside --sharding-group-size 4: all ranks are one group" \
  train --config two.json --ranks 4 --sharding-group-size 4 --sync-interval 7
refused "--sharding-group-size beside --incremental: a delta has the rows that" \
  train --config two.json "${two[@]}" --incremental
for kind in prefetch semi_sync; do
  refused "--sharding-group-size beside --pipeline $kind: it brings rows of the next batch" \
    train --config two.json "${two[@]}" --pipeline $kind
done
set_a() { refused "$1" train --config two.json "${two[@]}" --set "tables[0].$2"; }
set_a "--sharding-group-size beside managed_collision of table a: each group would give its rows" \
  'managed_collision={"kind": "growing", "num_parts": 3}'
set_a "--sharding-group-size beside table a on a disk (location DISK" 'location="DISK"'
set_a "beside the optimizer counter_rowwise_adagrad of table a: each group counts" \
  'optimizer={"name": "counter_rowwise_adagrad", "lr": 0.1}'
set_a "--sharding-group-size beside the optimizer dense of table a" 'optimizer={"name": "dense"}'
sed 's/"dim": 4, "features": \["cat_0"\]/"dim": 4, "dtype": "bf16", "stochastic_rounding": true, \
  "features": ["cat_0"]/' two.json >chance.json
refused "--sharding-group-size beside stochastic_rounding of table a" \
  train --config chance.json "${two[@]}"
python3 -c 'import json; plan = json.load(open("plan.json"))
plan["tables"]["a"]["compute_kernel"] = "key_value"
json.dump(plan, open("disk.plan", "w"))'
refused "on a disk (location DISK, or key_value in a plan)" \
  train --config two.json "${two[@]}" --plan disk.plan
run 0 train --config two.json --ranks 2 --plan row_wise --save-plan two.plan
refused "it is for 2 ranks" train --config two.json --ranks 4 --sharding-group-size 4 \
  --plan two.plan
refused "--ranks-per-node 3 beside --sharding-group-size 3: nodes of 3 ranks hold unequal numbers \
of the 2 groups' ranks; expected a multiple or a divisor of 2" train --config two.json --ranks 6 \
  --sharding-group-size 3 --ranks-per-node 3

# ---- launch goes on with all ranks (launch_test), not with fewer
given=(-- train --config two.json --sharding-group-size 2 --checkpoint new)
fails_saying "--sharding-group-size 2 beside --restart-ranks left: fewer than 4 ranks, as may be \
left, do not all fill groups of 2: give --restart-ranks all, or --min-ranks 4" \
  launch --ranks 4 "${given[@]}"
fails_saying "--sharding-group-size 2: the 3 ranks" launch --ranks 3 --restart-ranks all \
  "${given[@]}"
