#!/bin/bash
# tessera recall on users who go round in circles of items: figures of the baselines against loops
# over all items, a model that learns the circles, and what is refused.
source "$(dirname "$0")/cli_test_lib.sh"

python3 - <<'PY'
import random

random.seed(4)
with open("bags.txt", "w") as file:
    for user in range(600):
        step, at = random.choice([1, 7]), random.randint(0, 59)
        items = [(at + step * i) % 60 for i in range(random.randint(4, 9))]
        file.write(f"{user} {' '.join(map(str, items))}\n")
    file.write("600 5\n")
PY
cat >towers.json <<'END'
{"tables": [{"name": "items", "rows": 64, "dim": 16, "features": ["history", "next"],
             "pooling": "MEAN"}],
 "model": {"type": "two_tower", "query": ["history"], "candidate": ["next"], "layers": [32],
           "tasks": [{"loss": "in_batch_softmax"}]},
 "optimizer": {"sparse": {"name": "rowwise_adagrad", "lr": 0.1},
               "dense": {"name": "adam", "lr": 0.01}},
 "data": {"format": "csv", "delimiter": " ", "columns": ["user", "items"],
          "features": [{"name": "history", "from": "items", "separator": " ", "drop_last": 2,
                        "max_length": 2, "keep": "last"},
                       {"name": "next", "from": "items", "separator": " ", "drop_last": 1,
                        "max_length": 1, "keep": "last"}]},
 "train": {"batch_size": 100, "epochs": 30}}
END
run 0 train --config towers.json --data bags.txt --train-rows 0:600 --checkpoint towers

# ---- every figure of the baselines, by loops
cat >loops.py <<'PY'
import json, math, sys

got, keep = json.load(open(sys.argv[1])), len(sys.argv) > 2
bags = [list(map(int, line.split()))[1:] for line in open("bags.txt")]
histories = [set(bag[:-1]) for bag in bags]
with_item = [sum(item in h for h in histories) for item in range(64)]
def cosine(a, b):
    both = sum(a in h and b in h for h in histories)
    return both / math.sqrt(with_item[a] * with_item[b]) if both and a != b else 0
cosines = [[cosine(a, b) for b in range(64)] for a in range(64)]
def figures(scores_of):
    recall = ndcg = mrr = 0
    for bag, history in zip(bags, histories):
        scores, own = scores_of(history), bag[-1]
        rest = [i for i in range(64) if i != own and (keep or i not in history)]
        higher = sum(scores[i] > scores[own] + 1e-6 for i in rest)
        equal = sum(abs(scores[i] - scores[own]) <= 1e-6 for i in rest)
        for place in range(higher, min(3, higher + equal + 1)):
            recall += 1 / (equal + 1)
            ndcg += 1 / (equal + 1) / math.log2(place + 2)
            mrr += 1 / (equal + 1) / (place + 1)
    return [x / len(bags) for x in (recall, ndcg, mrr)]
want = {"popularity": figures(lambda h: with_item),
        "item_knn": figures(lambda h: [sum(cosines[i][j] for i in h) for j in range(64)])}
for name, values in want.items():
    # Float sums may order nearly equal cosines otherwise.
    for mine, key in zip(values, ("recall", "ndcg", "mrr")):
        assert abs(got[name][key] - mine) < (1e-9 if name == "popularity" else 5e-3), \
            (name, key, got[name], values)
assert got["model"]["recall"] > 2 * got["popularity"]["recall"], got
PY
run 0 recall towers --data bags.txt --ahead 1 --at 3 --json recall.json
has out "601 rows among 64 candidates"
has out "recall@3"
python3 loops.py recall.json || fail "figures without the history"
run 0 recall towers --data bags.txt --ahead 1 --at 3 --keep-history --json kept.json
python3 loops.py kept.json keep || fail "figures with the history"

# ---- a candidate that another table reads first, and positions with weights: the same histories
python3 - <<'PY'
import json

config = json.load(open("towers.json"))
config["tables"].insert(0, {"name": "others", "rows": 64, "dim": 16, "features": ["next"],
                            "pooling": "SUM"})
config["tables"][1]["pooling"] = "SUM"
config["model"]["position_weights"] = {"history": 2}
json.dump(config, open("positions.json", "w"))
PY
run 0 train --config positions.json --data bags.txt --train-rows 0:600 --checkpoint positions
run 0 recall positions --data bags.txt --ahead 1 --at 3 --json positions.recall
python3 loops.py positions.recall || fail "figures of a candidate in two tables"

# ---- rows: the baselines know all histories; a row without a candidate is left out
run 0 recall towers --data bags.txt --rows 590:601 --json some.json
has out "left out 1 row without a candidate of their own"
json some.json "d['examples'] == 10 and d['without_candidate'] == 1 and d['candidates'] == 64"
run 0 recall towers --data bags.txt --json all.json --at 64
json all.json "d['model']['recall'] == 1 and d['popularity']['recall'] == 1"

# ---- both parts of a split together have the figures of all rows: the baselines know all
run 0 train --config towers.json --set 'data.split={"by": "random", "fraction": 0.3}' \
  --data bags.txt --checkpoint split
for part in all train eval; do
  run 0 recall split --data bags.txt --part $part --json $part.json
  if [ $part = all ]; then
    has out "these are all rows: --part eval leaves out"
  else
    has out "part $part of the split random"
  fi
  json $part.json "d['part'] == '$part'"
done
python3 - <<'PY' || fail "parts of a split"
import json

whole, train, evaluated = (json.load(open(f"{p}.json")) for p in ("all", "train", "eval"))
assert train["examples"] > 1.5 * evaluated["examples"] > 0, (train, evaluated)
assert whole["examples"] == train["examples"] + evaluated["examples"] == 600
for who in ("model", "item_knn", "popularity"):
    for key in ("recall", "ndcg", "mrr"):
        both = sum(part["examples"] * part[who][key] for part in (train, evaluated)) / 600
        assert abs(both - whole[who][key]) < 1e-9, (who, key, both, whole)
PY
fails_saying "--part eval: towers was trained without a data.split" recall towers \
  --data bags.txt --part eval
run 0 recall split --data bags.txt --part train --rows 0:1
fails_saying "there are no rows to score among --rows 0:1 of --part eval" recall split \
  --data bags.txt --part eval --rows 0:1

# ---- a folder of parsed rows has the same bags, whose histories are as long as they were stored
run 0 preprocess --config towers.json bags.txt -o parsed
run 0 recall towers --data bags.txt --keep-history --json text.json
lacks err "max_length"
run 0 recall towers --data parsed --keep-history --json folder.json
has err "feature 'history' has at most 2 items in a folder of tessera preprocess (\"max_length\"): \
items beyond them are ranked as candidates, and the baselines do not know them"
json text.json "d['model'] == json.load(open('folder.json'))['model']"
json text.json "d['popularity'] != json.load(open('folder.json'))['popularity']"
fails_saying "feature 'history': drop_last: expected" recall towers --data parsed --ahead 1

# ---- a key that is set for the reading alone
run 0 recall towers --data bags.txt --config towers.json --json same.json
run 0 recall towers --data bags.txt --config towers.json --set data.features[0].drop_last=3 \
  --json shorter.json
run 0 recall towers --data bags.txt --json plain.json
json same.json "d['model'] == json.load(open('plain.json'))['model']"
json shorter.json "d['model'] != json.load(open('plain.json'))['model']"

# ---- histories that nothing cuts are read with the rows, and have the figures of two readings
python3 - <<'PY'
import json

config = json.load(open("towers.json"))
history = config["data"]["features"][0]
for name, length in (("once", None), ("twice", 100)):
    history.pop("max_length")
    if length:
        history["max_length"] = length
    json.dump(config, open(f"{name}.json", "w"))
    history["max_length"] = 2
config["tables"] = [{"name": "users", "rows": 640, "dim": 16, "features": ["user"]},
                    {"name": "items", "rows": 64, "dim": 16, "features": ["next"]}]
config["model"]["query"] = ["user"]
config["data"]["features"] = [config["data"]["features"][1]]
config["train"]["epochs"] = 2
json.dump(config, open("users.json", "w"))
PY
run 0 recall towers --data bags.txt --config once.json --json once_read.json
run 0 recall towers --data bags.txt --config twice.json --json twice_read.json
cmp once_read.json twice_read.json || fail "histories with the rows"

# ---- a query without a history needs no second reading: rows may come by a pipe
run 0 train --config users.json --data bags.txt --checkpoint users
run 0 recall users --data bags.txt --json file.json
has out "no baselines"
run 0 recall users --data - --json pipe.json < <(cat bags.txt)
cmp file.json pipe.json || fail "rows by a pipe"

# ---- rows of which none is ranked
fails_saying "none of the 1 rows that count has an id of 'next'" \
  recall towers --data bags.txt --rows 600:601
python3 - <<'PY'
import json

config = json.load(open("towers.json"))
config["data"]["labels"] = ["user"]
config["model"]["tasks"][0]["where"] = "user"
json.dump(config, open("nobody.json", "w"))
PY
sed 's/^[0-9]*/0/' bags.txt >nobody.txt
fails_saying "none of the 601 rows read counts" recall towers --data nobody.txt --config nobody.json

# ---- a row with two candidates is named by its data, and by the rows that --rows takes
python3 - <<'PY'
import json

config = json.load(open("towers.json"))
config["data"]["features"][1] = {"name": "next", "from": "items", "separator": " ", "drop_last": 3}
json.dump(config, open("few.json", "w"))
lines = open("bags.txt").read().splitlines()
short = [line for line in lines if len(line.split()) == 5][:3]
long = next(line for line in lines if len(line.split()) == 6)
open("rows.txt", "w").write("\n".join(short[:2] + [long, short[2]]) + "\n")
open("bad.txt", "w").write("\n".join([short[0], "1 x", long]) + "\n")
PY
fails_saying "rows.txt: row 3 (--rows 2:3): expected one id of 'next', which is to be found, got \
2" recall towers --data rows.txt --config few.json
fails_saying "rows.txt: row 3 (--rows 2:3): expected" recall towers --data rows.txt \
  --config few.json --rows 1:4
fails_saying "bad.txt: a row of --rows 0:3: expected one id of 'next'" \
  recall towers --data bad.txt --config few.json --skip-bad-lines

# ---- what is refused, before anything is written
fails_saying "--set requires --config" recall towers --data bags.txt --set train.epochs=1
fails_saying "--ahead 2: feature 'next' has \"drop_last\": 1" \
  recall towers --data bags.txt --ahead 2 --json new.json
run 0 quantize towers -o served --bits 8
fails_saying "recall needs a checkpoint of tessera train" recall served --data bags.txt
fails_saying "--data -: recall reads its rows more than once, for the baselines of histories" \
  recall towers --data - --json new.json
[ ! -e new.json ] || fail "a refused command wrote new.json"
run 0 train --config small.json --checkpoint clicks
fails_saying "expected a model of the type two_tower" recall clicks --data bags.txt
