#!/bin/bash
# The same row gives the same bits wherever it is asked for: to a checkpoint, to its model
# directory, over HTTP as a line of JSON, and in C. Argument: libtessera_c.so.
library=$PWD/$1
source "$(dirname "$0")/cli_test_lib.sh"

# Texts, missing values, bags with weights, words; and Criteo's and MovieLens' own files.
python3 - <<'PY'
import json, random

random.seed(5)
rows = []
for i in range(400):
    row = {"clicked": int(random.random() < 0.4), "user": f"u{random.randint(0, 50)}"}
    if i % 5:
        row["spent"] = round(random.random() * 3, 3)
    if i % 3:
        row["price"] = round(random.random() * 90, 2)
    if i % 4:
        row["shelf"] = random.choice(["top", "low", "end of aisle", "ünder"])
    row["seen"] = [random.randint(-3, 10**15) for _ in range(i % 5)]
    row["how"] = [round(random.random(), 3) for _ in row["seen"]]
    rows.append(row)
open("own.jsonl", "w").write("".join(json.dumps(r) + "\n" for r in rows))
with open("own.csv", "w") as file:
    file.write("user,clicked,spent,price,shelf,seen,how\n")
    for r in rows:
        seen, how = ("|".join(map(str, r[key])) for key in ("seen", "how"))
        file.write(f"{r['user']},{r['clicked']},{r.get('spent', '')},"
                   f"{r.get('price', 'NA')},{r.get('shelf', 'none')},"
                   f"{seen},{how}\n")
with open("ratings.dat", "w") as file:
    for i in range(400):
        file.write(f"{random.randint(1, 60)}::{random.randint(1, 70)}::{random.randint(1, 5)}::9\n")

schema = {"format": "csv", "null": ["NA", "none"],
          "dense": [{"name": "price", "transform": "log1p"}],
          "features": [{"name": "user", "ids": "text"},
                       {"name": "shelf", "vocabulary": ["top", "low", "ünder"], "missing": "row0"},
                       {"name": "seen", "separator": "|", "weights": "how", "max_length": 3}],
          "labels": ["clicked"]}
tables = [{"name": "t_" + name, "rows": rows, "dim": 4, "features": [name]}
          for name, rows in (("user", 60), ("shelf", 5), ("seen", 90))]
config = {"tables": tables, "data": schema, "train": {"batch_size": 50},
          "model": {"type": "dlrm", "dense_in": 1, "dense_arch": [8, 4], "over_arch": [8, 1],
                    "weighted": True},
          "optimizer": {"sparse": {"name": "sgd", "lr": 0.1}, "dense": {"name": "sgd", "lr": 0.1}}}
json.dump(config, open("own.json", "w"))
some = dict(config, data=dict(schema, labels=[{"name": "clicked", "missing": "skip"}]))
json.dump(some, open("some.json", "w"))
tasks = dict(config, model={"type": "mmoe", "dense_in": 1, "dense_arch": [8, 4], "experts": 2,
                            "expert_arch": [6], "tower_arch": [4, 1], "weighted": True,
                            "tasks": [{"label": "clicked"},
                                      {"label": "spent", "loss": "mse", "where": "clicked"}]},
             data=dict(schema, labels=["clicked", {"name": "spent", "missing": "skip"}]))
json.dump(tasks, open("tasks.json", "w"))
rated = dict(config, data={"format": "movielens"},
             model=dict(config["model"], weighted=False),
             tables=[{"name": name, "rows": 50, "dim": 4, "features": [name]}
                     for name in ("userId", "movieId")])
json.dump(rated, open("rated.json", "w"))
PY
sed 's/"data": {.*}/"data": {"format": "criteo"}/' small.json >criteo.json
run 0 generate --rows 400 --vocabulary 50 criteo.tsv
sed -i '1,50s/\t[^\t]*$/\t/; 51,90s/\t[0-9-]*\t/\t\t/2' criteo.tsv  # missing ones

# as_rows: the lines of each data set as rows of JSON.
python3 - <<'PY'
import json
names = ["label"] + [f"int_{i}" for i in range(13)] + [f"cat_{i}" for i in range(26)]
with open("criteo.jsonl", "w") as out:
    for line in open("criteo.tsv"):
        cells = dict(zip(names, line.rstrip("\n").split("\t")))
        out.write(json.dumps({k: v for k, v in cells.items() if v and k != "label"}) + "\n")
with open("rated.jsonl", "w") as out:
    for line in open("ratings.dat"):
        user, item = line.split("::")[:2]
        out.write(json.dumps({"userId": int(user), "movieId": item}) + "\n")
PY

cat >ask.py <<'PY'
"""Scores of the rows of a file over HTTP and in C, which must be those of three files."""
import ctypes, json, struct, sys, urllib.request

library, name, rows, port = sys.argv[1:5]
body = open(rows, "rb").read()
request = urllib.request.Request(f"http://127.0.0.1:{port}/v2/models/model/infer_rows", body)
outputs = json.load(urllib.request.urlopen(request))["outputs"]
rows_of_answers = zip(*(output["data"] for output in outputs))  # an answer a task
http = [struct.pack("f", score) for row in rows_of_answers for score in row]
c = ctypes.CDLL(library)
c.tessera_c_create.restype = ctypes.c_void_p
c.tessera_c_last_error.restype = ctypes.c_char_p
c.tessera_c_predict_rows.restype = ctypes.c_int64
predictor = ctypes.c_void_p(c.tessera_c_create(1))
assert c.tessera_c_load(predictor, name.encode()) == 0, c.tessera_c_last_error()
scores = (ctypes.c_float * 1000)()
size = ctypes.c_int64(len(body))
got = c.tessera_c_predict_rows(predictor, body, size, scores, ctypes.c_int64(1000))
assert got * len(outputs) == len(http), c.tessera_c_last_error()
in_c = [struct.pack("f", score) for score in scores[:got * len(outputs)]]
assert c.tessera_c_predict_rows(predictor, body, size, scores, ctypes.c_int64(3)) == -1
assert b"num_scores is 3; expected at least" in c.tessera_c_last_error()
for path in sys.argv[5:]:
    lines = [line.split() for line in open(path)]
    names = [output["name"] for output in outputs]
    heading = ["score_" + name for name in names] if len(names) > 1 else ["score"]
    assert lines.pop(0) == heading, path
    files = [struct.pack("f", float(score)) for line in lines for score in line]
    assert len(files) == len(http), path
    wrong = [i for i, f in enumerate(files) if f != http[i] or f != in_c[i]]
    assert not wrong, (path, wrong[:5], len(files))
PY

cat >evaluations.py <<'PY'
"""Reports of one evaluation by several commands: metrics must be equal to the last bit."""
import json, sys

first, *others = (json.load(open(path)) for path in sys.argv[1:])
keys = [k for k in ("auc", "log_loss", "normalized_entropy", "calibration", "loss", "tasks")
        if k in first]
assert first["auc"] is not None
for other in others:
    assert all(first[key] == other[key] for key in keys), (first, other)
PY

stop() {
  kill -TERM $server
  wait $server || fail "the server ended with $?"
}

# same CONFIG DATA ROWS: trains, saves, and asks everybody; evaluates as training does.
same() {
  run 0 train --config "$1.json" --data "$2" --train-rows :300 --eval-rows 300: --threads 1 \
    --checkpoint "$1.safetensors" --json "$1.evaluated"
  run 0 quantize "$1.safetensors" -o "$1.model" --bits 32
  run 0 predict "$1.safetensors" --data "$2" --batch-size 400 --out "$1.trained"
  run 0 predict "$1.model" --data "$2" --batch-size 400 --out "$1.served"
  for model in safetensors model; do
    run 0 predict "$1.$model" --data "$2" --rows 300: --batch-size 4096 --json "$1.$model.evaluated"
  done
  python3 evaluations.py "$1.evaluated" "$1.safetensors.evaluated" "$1.model.evaluated" ||
    fail "$1: evaluations differ"
  serve "$1.model"
  python3 ask.py "$library" "$1.model" "$3" "$port" "$1.trained" "$1.served" ||
    fail "$1: scores differ"
}
same own own.csv own.jsonl

curl -s "127.0.0.1:$port/v2/models/model" >answer
has answer '"row_keys":["price","user","shelf","seen","how"]'

curl -s "127.0.0.1:$port/metrics" >answer
items='tessera_row_items_total{model="model",version="1",feature="shelf",result='
has answer "$items\"known\"} "
unknown=$(grep -F "$items\"unknown\"} " answer | cut -d ' ' -f 2)
[ "$unknown" -eq "$(grep -c '"shelf": "end of aisle"' own.jsonl)" ] || fail "$unknown unknown"
run 0 predict own.model --data own.csv --json predicted.json
has out 'items without an id of their own, in the rows scored: '
json predicted.json "d['unknown_items']['shelf']['unknown'] == $unknown"

# ---- rows without a label are scored, and do not count
sed -E '2,31s/^([^,]*),[01],/\1,,/' own.csv >some.csv
run 0 train --config some.json --data some.csv --checkpoint some.safetensors
run 0 predict some.safetensors --data some.csv --json some.predicted
has out '400 examples, 370 of which count: AUC'
json some.predicted 'd["examples"] == 400 and d["counted_examples"] == 370'

# ---- a bad row is named, and the next one is answered
ask() { curl -s -w ' %{http_code}' "127.0.0.1:$port/v2/models/model/infer_rows" "$@" >answer; }
ask_strictly() {
  curl -s -w ' %{http_code}' "127.0.0.1:$port/v2/models/model/infer_rows?strict=true" "$@" >answer
}
ask --data-binary $'{"user": "a"}\n{"user": "b", "seen": [1, "x"], "how": [1, 1]}\n'
has answer 'body:2: seen[1]: expected an integer of 64 bits, got'
has answer ' 400'
ask --data-binary ''
has answer 'expected a JSON object a line, got none"} 400'
ask -d '{"user": "a"'
has answer 'body:1: expected a JSON object, got'
has answer '(column 13: unexpected end of input; expected'
ask --data-binary $'{}\n{"User": "a", "spent": 1}\n'
has answer "body:2: expected at least one of the keys price, user, shelf, seen, how, got 'User'"
ask --data-binary $'{"seen": [89], "how": [1]}\n{"seen": [5, 90], "how": [1, 1]}\n'
has answer ' 200'
ask_strictly --data-binary $'{"seen": [89], "how": [1]}\n{"seen": [5, 90], "how": [1, 1]}\n'
has answer "body:2: feature seen, seen[1]: expected an id from 0 to 89, got '90'"
has answer ' 400'
ask_strictly --data-binary $'{"shelf": "end of aisle"}\n'
has answer "body:1: feature shelf, shelf: expected a word of the vocabulary, which has "
has answer ', got '"'end of aisle'"'"} 400'
ask -H 'Content-Type: image/png' -d '{}'
has answer ' 415'
ask -d '{"user": "nobody", "other": [{}]}'
has answer '"outputs":[{"name":"score","datatype":"FP32","shape":[1],"data":[0.'
has answer ' 200'
stop

same tasks own.csv own.jsonl
stop
run 0 predict tasks.model --data own.csv
has out 'on the rows scored'
has out 'RMSE'

# ---- several tasks: what one lost by 8 bits, what has no metric of rows, rows without labels
run 0 quantize tasks.safetensors -o tasks.int8 --data own.csv --rows 300:
has out '100 rows: clicked: AUC 0.'
has out ' rows: spent: RMSE '
run 0 predict tasks.int8 --data own.csv --checkpoint tasks.safetensors --json lost.json
has out '400 rows: clicked: AUC'
has lost.json '"checkpoint": {'
# Rows that are scored twice are no stream; a file as standard input is read again.
run 0 predict tasks.int8 --data - --checkpoint tasks.safetensors <own.csv
has out '400 rows: clicked: AUC 0.'
fails_saying "--data -: predict scores its rows twice, also by --checkpoint; a stream comes once" \
  predict tasks.int8 --data - --checkpoint tasks.safetensors < <(cat own.csv)
fails_saying "--data -: quantize scores its rows twice, by the checkpoint and by the model" \
  quantize tasks.safetensors -o of.stream --data - < <(cat own.csv)
[ ! -e of.stream ] || fail "a refused quantize wrote a model"
run 0 predict tasks.model --data own.csv --out tasks.served  # over an earlier report
for text in '17\n18\n' 'score_a\tb\n' '0.25\n1e-3\n' 'scores\n0.25\n' '\nscore\n'; do
  # shellcheck disable=SC2059  # line ends
  printf "$text" >ids.txt
  fails_saying 'ids.txt: a file is there that is not scores' \
    predict own.model --data own.csv --out ids.txt
done
fails_saying "--rows: expected FIRST:LAST with 0 <= FIRST < LAST" \
  predict own.model --data own.csv --rows 9:3
cut -d , -f 1,4- own.csv >unknown.csv
for command in "predict tasks.model" "evaluate tasks.safetensors"; do
  fails_saying "unknown.csv:1: there is no column 'clicked'" $command --data unknown.csv
  has err "; tessera predict --no-labels scores rows without labels"
done
awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "clicked") c = i }
  NR == 6 { $c = 3 } { print }' own.csv >clicks.csv
for command in "predict tasks.model" "evaluate tasks.safetensors"; do
  fails_saying "(clicked): expected a label from 0 to 1, as task" $command --data clicks.csv
  has err "clicks.csv:6: column"
  run 0 $command --data clicks.csv --skip-bad-lines
done
run 0 predict tasks.model --data clicks.csv --no-labels
sed 's/"clicked": [01], //' own.jsonl >unknown.jsonl
python3 - <<'PY'
import json
config = json.load(open("tasks.json"))
config["data"].update(format="jsonl", null=[])
for feature in config["data"]["features"]: feature.pop("separator", None)
json.dump(config, open("tasks_json.json", "w"))
PY
run 0 train --config tasks_json.json --data own.jsonl --train-rows 0:300 --checkpoint tasks_json.st
fails_saying "the label is missing" predict tasks_json.st --data unknown.jsonl
has err "; tessera predict --no-labels scores rows without labels"
run 0 predict tasks_json.st --data unknown.jsonl --no-labels

# ---- a key that nobody reads may hold much, but not without end
python3 -c 'n = 200_000; print("{\"unread\": " + "[" * n + "]" * n + "}")' >deep.jsonl
for command in "predict tasks_json.st --no-labels" "train --config tasks_json.json"; do
  # shellcheck disable=SC2086
  run 1 $command --data deep.jsonl
  has err "deep.jsonl:1: more than 1024 levels of nesting"
done
fails_saying "ids.txt:1: expected a heading, got an empty line" \
  predict tasks.model --data ids.txt  # with nothing of a row
lacks err "--no-labels"
run 0 predict tasks.model --data unknown.csv --batch-size 400 --no-labels --out unknown.scores
has out '400 examples, without labels'
cmp unknown.scores tasks.trained || fail "scores of rows without labels differ"

# ---- MLPerf's multi-hot days: dense, and a list for each array, by its feature's name
python3 - <<'PY'
import json, random, struct, zipfile

def npy(values, shape, type):
    header = f"{{'descr': '<{type}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    code = {"f4": "f", "i4": "i", "i8": "q"}[type]
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
            struct.pack(f"<{len(values)}{code}", *values))

random.seed(2)
dense = [struct.unpack("f", struct.pack("f", random.random()))[0] for _ in range(400 * 3)]
hot = {"0": 2, "1": 1, "own": 3}
ids = {key: [random.randint(-5, 10**6) for _ in range(400 * n)] for key, n in hot.items()}
open("day_dense.npy", "wb").write(npy(dense, (400, 3), "f4"))
open("day_labels.npy", "wb").write(npy([random.randint(0, 1) for _ in range(400)], (400,), "i4"))
with zipfile.ZipFile("day_sparse_multi_hot.npz", "w") as archive:
    for key, n in hot.items():
        archive.writestr(key + ".npy", npy(ids[key], (400, n), "i8"))
with open("day.jsonl", "w") as rows:
    for i in range(400):
        row = {"cat_" * (key != "own") + key: ids[key][i * n:i * n + n] for key, n in hot.items()}
        rows.write(json.dumps({"dense": dense[3 * i:3 * i + 3], **row}) + "\n")
config = json.load(open("own.json"))
config["data"] = {"format": "npz"}
config["model"].update({"dense_in": 3, "weighted": False})
config["tables"] = [{"name": name, "rows": 50, "dim": 4, "features": [name]}
                    for name in ("cat_0", "cat_1", "own")]
json.dump(config, open("day.json", "w"))
PY
same day day day.jsonl
curl -s "127.0.0.1:$port/v2/models/model" >answer
has answer '"row_keys":["dense","cat_0","cat_1","own"]'
stop

same criteo criteo.tsv criteo.jsonl
fails_saying 'criteo.model: --no-labels is for data of format jsonl, csv or tsv; rows of criteo' \
  predict criteo.model --data criteo.tsv --no-labels
stop
same rated ratings.dat rated.jsonl
curl -s "127.0.0.1:$port/v2/models/model" >answer
has answer '"row_keys":["userId","movieId"]'
ask -d '{"userId": 1, "movieId": 5}'
cp answer without
ask -d '{"": 5, "userId": 1, "movieId": 5}'
cmp answer without || fail "a number that no rating has was read: $(cat answer without)"
stop
