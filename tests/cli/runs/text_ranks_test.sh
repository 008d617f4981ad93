#!/bin/bash
# Ranks that parse their own rows of text train to the bits of ranks that parse all, which those do
# that skip bad lines; the totals they report are those of one process, and a bad line ends all.
source "$(dirname "$0")/../cli_test_lib.sh"
source "$(dirname "$0")/../mpi_test_lib.sh"

python3 - <<'EOF'
import json, random
random.seed(7)
with open("clicks.jsonl", "w") as jsonl, open("clicks.csv", "w") as csv:
    csv.write("user,price,item,click\n")
    for i in range(700):
        user, price = random.randint(0, 60), random.random()
        items, click = random.choices(range(90), k=i % 4), int(random.random() < 0.4)
        row = {"click": click, "user": user, "price": price, "item": items}
        jsonl.write(json.dumps(row) + "\n")
        csv.write(f"{user},{price},{'|'.join(map(str, items))},{click}\n")

def write(path, data, tables, dense):
    json.dump({
        "data": data,
        "tables": [{"name": "t_" + name, "rows": rows, "dim": 4, "features": [name]}
                   for name, rows in tables],
        "model": {"type": "dlrm", "dense_in": dense, "dense_arch": [8, 4], "over_arch": [8, 1]},
        "optimizer": {"sparse": {"name": "rowwise_adagrad", "lr": 0.1},
                      "dense": {"name": "adam", "lr": 0.01}},
        "train": {"batch_size": 37, "epochs": 2}}, open(path, "w"))

own = {"dense": ["price"], "labels": ["click"]}
tables = (("user", 70), ("item", 50))
bag = {"name": "item", "separator": "|"}
write("csv.json", dict(own, format="csv", features=[bag]), tables, 1)
write("plain.json", dict(own, format="jsonl"), tables, 1)
write("jsonl.json", dict(own, format="jsonl", shuffle={"seed": 2, "window_rows": 256}), tables, 1)
write("criteo.json", {"format": "criteo"}, (("cat_0", 50), ("cat_1", 50)), 13)
EOF
run 0 generate clicks.criteo --rows 700 --vocabulary 50

# trained NAME FORMAT ARGS…: trains on 600 rows, 17 batches an epoch of which the last has 8;
# leaves checkpoint NAME, NAME.safetensors and the report NAME.report.
trained() {
  local name=$1 format=$2
  shift 2
  run 0 train --config "$format.json" --data "clicks.$format" --train-rows 0:600 \
    --eval-rows 600:700 --plan row_wise --checkpoint "$name" --json "$name.report" "$@"
  cp out "$name.out"
  run 0 export "$name" --out "$name.safetensors"
}

# same A B [KEY…]: two trainings have the same tensors, evaluation and counts, or of these the keys.
same() {
  same_tensors "$1.safetensors" "$2.safetensors" || fail "$1 and $2: other bits"
  python3 - "$@" <<'EOF' || fail "$1 and $2: other reports"
import json, sys
first, second = (json.load(open(path + ".report")) for path in sys.argv[1:3])
keys = sys.argv[3:] or ("auc", "log_loss", "rows", "skipped_rows", "unknown_items",
                        "unknown_eval_items")
assert all(first.get(key) == second.get(key) for key in keys), (first, second)
EOF
}

for format in csv jsonl criteo; do
  rm -rf parts_* all_* middle* from* processes*
  for ranks in 1 2 3; do
    trained parts_$ranks $format --ranks $ranks
    trained all_$ranks $format --ranks $ranks --skip-bad-lines
    same parts_$ranks all_$ranks
  done
  # on from inside an epoch, by another number of ranks
  trained middle $format --ranks 2 --checkpoint-every 10 --keep-last 5
  same middle parts_2
  for name in from from--skip-bad-lines; do
    trained $name $format --ranks 3 --resume middle.step-00000010 ${name#from}
    has $name.out "next row 370, step 10"
  done
  same from from--skip-bad-lines auc log_loss rows
  "${mpirun[@]}" -n 2 "$tessera" train --config $format.json --data clicks.$format \
    --train-rows 0:600 --eval-rows 600:700 --plan row_wise --checkpoint processes \
    --json processes.report >out 2>err || fail "mpirun: $(cat out err)"
  run 0 export processes --out processes.safetensors
  same processes parts_2
  [ $format = criteo ] || json processes.report '0 < d["unknown_items"]["item"]["unknown"]'
  python3 - <<'EOF' || fail "$format: other counts than of one rank"
import json
one, three = (json.load(open(f"parts_{ranks}.report")) for ranks in (1, 3))
for key in ("rows", "unknown_items", "unknown_eval_items"):
    assert one.get(key) == three.get(key), (key, one, three)
EOF
done

# ---- a bad line of any rank's rows ends all, and is said with its file and line
for line in 186 204; do  # of batch 186 to 222, whose first 18 rows are the first rank's
  sed "${line}s/.*/{\"click\": \"no\"}/" clicks.jsonl >bad.jsonl
  rm -rf bad
  fails_saying "bad.jsonl:$line: " train --config plain.json --data bad.jsonl --ranks 2 \
    --checkpoint bad --checkpoint-every 1
  run 0 inspect bad
  has out "step 5"
  limit=60 "${mpirun[@]}" -n 2 "$tessera" train --config plain.json --data bad.jsonl >out 2>err
  [ $? = 1 ] || fail "line $line: $(cat out err)"
  has err "bad.jsonl:$line: "
done
run 0 train --config plain.json --data bad.jsonl --ranks 2 --skip-bad-lines
has out "left out 2 bad lines"
run 0 train --config plain.json --data clicks.jsonl --eval bad.jsonl --ranks 2 --skip-bad-lines
has out "the evaluation left out 1 bad line (1: expected a number"

# ---- a pipe can be read by one rank
run 0 train --config plain.json --epochs 1 --data - --ranks 1 < <(cat clicks.jsonl)
fails_saying "it can be read once, but each of 2 ranks reads all lines" train --config plain.json \
  --epochs 1 --data - --ranks 2 < <(cat clicks.jsonl)
