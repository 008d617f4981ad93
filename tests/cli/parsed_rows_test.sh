#!/bin/bash
# Text of a schema, parsed once: train, predict and inspect take the folder in place of the text.
source "$(dirname "$0")/cli_test_lib.sh"

python3 - <<'PY'
import json, random

random.seed(5)
with open("clicks.jsonl", "w") as file, open("more.jsonl", "w") as more:
    for i in range(3000):
        row = {"click": int(random.random() < 0.4), "user": f"u{random.randint(0, 50)}",
               "stars": random.randint(1, 5), "at": 1700000000 + i, "w": random.choice([0.5, 1])}
        if i % 3:
            row["price"] = round(random.random() * 90, 2)
        if i % 4:
            row["shelf"] = random.choice(["top", "low", "end of aisle"])
        row["seen"] = [random.randint(-3, 10**15) for _ in range(i % 5)]
        row["how"] = [round(random.random(), 3) for _ in row["seen"]]
        (file if i < 2000 else more).write(json.dumps(row) + "\n")

config = {
    "data": {"format": "jsonl", "dense": [{"name": "price", "transform": "log1p"}],
             "features": [{"name": "user", "ids": "text"},
                          {"name": "shelf", "vocabulary": ["top", "low"], "missing": "row0"},
                          {"name": "seen", "weights": "how", "max_length": 3}],
             "labels": ["click"], "weight": "w", "time": "at"},
    "tables": [{"name": "t_" + name, "rows": rows, "dim": 4, "features": [name]}
               for name, rows in (("user", 60), ("shelf", 5), ("seen", 90))],
    "model": {"type": "dlrm", "dense_in": 1, "dense_arch": [8, 4], "over_arch": [8, 1],
              "weighted": True},
    "optimizer": {"sparse": {"name": "rowwise_adagrad", "lr": 0.1},
                  "dense": {"name": "adam", "lr": 0.01}},
    "train": {"batch_size": 64}}
json.dump(config, open("own.json", "w"))
json.dump(dict(config, data=dict(config["data"], shuffle={"seed": 5, "window_rows": 512,
                                                          "block_rows": 64})),
          open("shuffled.json", "w"))
wider = json.loads(json.dumps(config))
wider["data"]["features"][2]["max_length"] = 4
json.dump(wider, open("wider.json", "w"))
PY
text=(clicks.jsonl more.jsonl)

# ---- the text and its folder train to the same bits, and score alike
run 0 preprocess --config own.json "${text[@]}" -o rows --shard-rows 700
has out "3,000 rows in rows"
has out "2000:3000"
has out 'items without an id of their own, in these rows: seen '
has out '% (beyond the 90 rows of its table: modulo), shelf '
has out '% (outside its vocabulary: id 0)'
[ "$(ls rows | tr '\n' ' ')" = \
  "index.json $(printf 'rows-0000%d.safetensors ' 0 1 2 3 4)" ] || fail "$(ls rows)"
ranges=(--train-rows 0:2500 --eval-rows 2500:)
run 0 train --config own.json --data "${text[@]}" "${ranges[@]}" --checkpoint text.safetensors \
  --json text.json
has out 'items without an id of their own, in the rows trained on: seen '
has out 'items without an id of their own, in the rows for evaluation: seen '
json text.json 'd["unknown_items"]["shelf"]["items"] > d["unknown_items"]["shelf"]["unknown"] > 0'
json text.json 'd["unknown_eval_items"]["shelf"]["items"] < 500'
run 0 train --config own.json --data rows "${ranges[@]}" --checkpoint rows.safetensors \
  --json rows.json
same_tensors text.safetensors rows.safetensors || fail "text and its folder: other bits"
json rows.json "d['auc'] == $(python3 -c 'import json; print(json.load(open("text.json"))["auc"])')"
python3 -c "import json; d = json.load(open('rows.json')); assert 'unknown_items' not in d, d"
run 0 train --config own.json --data rows "${ranges[@]}" --set 'tables[2].rows=30' \
  --json smaller.json
has out 'the rows trained on: seen 6'
has out '% (beyond the 30 rows of its table: modulo)'
json smaller.json '(lambda seen: 0.6 < seen["unknown"] / seen["items"] < 0.7)(
  d["unknown_items"]["seen"])'
run 0 quantize rows.safetensors -o served --bits 8
for model in rows.safetensors served; do
  run 0 predict $model --data "${text[@]}" --out text.scores
  run 0 predict $model --data rows --out rows.scores
  cmp text.scores rows.scores || fail "$model: other scores"
  run 0 predict $model --data rows --rows 1000:1100 --out some.scores
  sed -n '1p; 1002,1101p' text.scores | cmp - some.scores || fail "$model: other rows"
done
run 0 preprocess --config own.json 'c*.jsonl' more.jsonl -o patterns --shard-rows 700
cmp rows/rows-00003.safetensors patterns/rows-00003.safetensors || fail "a pattern: other rows"
run 0 preprocess --config own.json - -o stream <clicks.jsonl
has out "2,000 rows in stream"

# ---- inspect
run 0 inspect rows
has out "3,000 rows in 5 shards, "
has out "checksums good"
has out "read by a schema of jsonl: 1 number, 3 features, 1 label a row, weights of rows, times"
run 0 inspect rows --json
json out 'd["version"] == 2 and d["rows"] == 3000 and d["shards"] == 5 and d["time"]'
json out '[f["name"] for f in d["features"]] == ["user", "shelf", "seen"]'
json out 'd["features"][0]["ids"] == 3000 and d["features"][2]["weighted"]'
json out '0.3 < d["labels"][0]["mean"] < 0.5 and d["labels"][0]["missing"] == 0'

# ---- mixed once: the same rows in another order, one order a seed, and trained on as they lie
run 0 preprocess --config own.json "${text[@]}" -o mixed --shuffle --seed 3 --shard-rows 700
run 0 preprocess --config own.json "${text[@]}" -o mixed_again --shuffle --seed 3 \
  --shard-rows 700 --memory-mib 1
run 0 preprocess --config own.json "${text[@]}" -o mixed_other --shuffle --seed 4 --shard-rows 700
cmp mixed/rows-00000.safetensors mixed_again/rows-00000.safetensors || fail "memory changes it"
cmp -s mixed/rows-00000.safetensors mixed_other/rows-00000.safetensors && fail "seeds do not matter"
cmp -s mixed/rows-00000.safetensors rows/rows-00000.safetensors && fail "nothing was shuffled"
[ "$(ls mixed)" = "$(ls rows)" ] || fail "other files: $(ls mixed)"
run 0 train --config own.json --data mixed --train-rows 0:2500 --eval-rows 2500: --json mixed.json

# ---- shuffled and resumed, on ranks
shuffled=(--config shuffled.json --data rows)
run 0 train "${shuffled[@]}" --epochs 3 --checkpoint whole
run 0 train "${shuffled[@]}" --epochs 2 --checkpoint parts
run 0 train "${shuffled[@]}" --resume parts --epochs 3 --checkpoint parts
cmp whole parts || fail "resumed: other bits"
run 0 train "${shuffled[@]}" --ranks 3 --plan row_wise --checkpoint ranks --json ranks.json
json ranks.json 'd["rows"] == 3000'

# ---- mistakes
fails_saying "feature 'seen': max_length: expected 3, by which these rows were written, got 4" \
  train --config wider.json --data rows
fails_saying "rows: its rows were read by a schema (jsonl)" train --config small.json --data rows
fails_saying "rows is a folder of rows, but clicks.jsonl is none" train --config own.json \
  --data rows clicks.jsonl
fails_saying "rows: it is a folder of rows that were parsed before" preprocess --config own.json \
  rows -o again
sed 's/"format": "planted"[^}]*/"format": "criteo"/' small.json >criteo.json
sed 's/"format": "planted"[^}]*/"format": "npz"/' small.json >days.json
text_alone="but --config is for text with a data schema: expected jsonl, csv or tsv"
fails_saying "--config criteo.json: its data.format is criteo, $text_alone; its rows have Criteo's \
columns, which need no configuration: leave --config out" preprocess --config criteo.json \
  clicks.jsonl -o none
fails_saying "--config days.json: its data.format is npz, $text_alone" preprocess \
  --config days.json clicks.jsonl -o none
lacks err "Criteo"
fails_saying "small.json: its data.format is planted, $text_alone; its rows have Criteo's columns" \
  preprocess --config small.json clicks.jsonl -o none
for flag in --contiguous "--hash 5" "--to npy" "--missing zero" \
  "--dense as_is" "--frequency-threshold 3"; do
  # shellcheck disable=SC2086  # a flag and its value
  fails_saying "--config" preprocess --config own.json clicks.jsonl -o none $flag
  has err "${flag% *}"
done
fails_saying "keeping the last input as it is means to shuffle the others" \
  preprocess --config own.json clicks.jsonl -o none --keep-last
[ ! -e none ] || fail "a refusal left a folder"

# ---- a file whose name is no UTF-8: documents have it with another character in that place
name=$(printf 'd\351.jsonl')
cp clicks.jsonl "$name"
run 0 preprocess --config own.json "$name" -o latin
run 0 inspect latin
run 0 train --config own.json --data "$name" --checkpoint latin.safetensors
run 0 train --resume latin.safetensors --data "$name" --epochs 2 --checkpoint latin.safetensors
lacks out 'resume: --data'
run 0 inspect latin.safetensors
fails_saying '--null: expected UTF-8' describe "$name" --null "$(printf '\351')"
(head -10 clicks.jsonl; echo '{"price": "dear"}') >bad.jsonl
fails_saying "bad.jsonl:11: price: expected a number, got 'dear'" preprocess --config own.json \
  bad.jsonl -o none
[ ! -e none/index.json ] || fail "an error left an index"
run 0 preprocess --config own.json bad.jsonl -o skipped --skip-bad-lines
has out "left out 1 bad line (1: expected a number)"
fails_saying "rows: " preprocess --config own.json clicks.jsonl -o rows
has err "give --overwrite"
run 0 preprocess --config own.json clicks.jsonl -o stream --overwrite

# ---- damage
cp -r rows bad
printf '\x55' | dd of=bad/rows-00001.safetensors bs=1 seek=9000 conv=notrunc 2>/dev/null
fails_saying "bad/rows-00001.safetensors: tensor" inspect bad
fails_saying "are not what was written" train --config own.json --data bad
head -c 3000 rows/rows-00001.safetensors >bad/rows-00001.safetensors
fails_saying "bad/rows-00001.safetensors" train --config own.json --data bad
rm bad/index.json
fails_saying "bad: it has no index.json" train --config own.json --data bad
