#!/bin/bash
# tools/parquet_to_rows.py makes of Parquet the folder that tessera preprocess makes of the same
# rows as lines of JSON. Argument: the tool.
tool=$PWD/$1
source "$(dirname "$0")/cli_test_lib.sh"
if ! python3 -c "import pyarrow.parquet" 2>/dev/null; then
  echo "SKIPPED: python3 has no pyarrow, by which the tool reads Parquet"
  exit 0
fi

python3 - <<'PY'
import datetime, json, random
import pyarrow as pa
import pyarrow.parquet as pq

random.seed(3)
rows = []
for i in range(1000):
    seen = [random.randint(-3, 2**62) for _ in range(i % 5)]
    rows.append({"click": i % 2, "user": f"ü{i % 50}", "at": 1700000000000 + i, "w": 0.5 * (i % 3),
                 "price": None if i % 3 == 0 else random.random() * 90,
                 "shelf": None if i % 4 == 0 else random.choice(["top", "low", "x"]),
                 "seen": seen, "how": [random.random() for _ in seen], "big": 2**64 - 1 - i,
                 "vec": [i / 8, -i], "day": i % 9})
types = {"click": pa.int8(), "user": pa.dictionary(pa.int32(), pa.string()),
         "at": pa.timestamp("ms"), "w": pa.float32(), "price": pa.float64(),
         "shelf": pa.large_string(), "seen": pa.list_(pa.int64()), "how": pa.list_(pa.float64()),
         "big": pa.uint64(), "vec": pa.list_(pa.float32(), 2), "day": pa.date32()}
table = pa.table({name: pa.array([row[name] for row in rows], pa.string()).dictionary_encode()
                  if name == "user" else pa.array([row[name] for row in rows], kind)
                  for name, kind in types.items()})
table = table.append_column("nobody", pa.array([{"a": 1}] * len(rows)))
pq.write_table(table.slice(0, 700), "a.parquet", row_group_size=90)
pq.write_table(table.slice(700), "b.parquet")
pq.write_table(pa.table({"click": [0], "price": ["dear"]}), "dear.parquet")
pq.write_table(pa.table({"other": [0]}), "other.parquet")
# The same columns in other types, and categories in lists of several row groups.
views = {"user": pa.list_(pa.dictionary(pa.int32(), pa.string())), "shelf": pa.binary_view(),
         "at": pa.time64("us"), "seen": pa.large_list_view(pa.int64()),
         "how": pa.list_view(pa.float64()), "vec": pa.list_view(pa.float32())}
def view(name):
    values = [row[name] for row in rows]
    if name == "user":
        return pa.array([[value] for value in values], views[name])
    if name == "shelf":
        return pa.array([value and value.encode() for value in values], views[name])
    return pa.array(values, views.get(name, types[name]))
try:
    pq.write_table(pa.table({name: view(name) for name in types}), "views.parquet",
                   row_group_size=90)
except AttributeError:
    print("this pyarrow has no views")
def odd(file, **columns):
    pq.write_table(pa.table({"click": [0] * len(next(iter(columns.values()))), **columns}), file)
odd("infinite.parquet", price=[float("inf")])
odd("bytes.parquet", shelf=pa.array([b"top", b"\xff"], pa.binary_view()))
odd("struct.parquet", shelf=pa.array([{"a": b"x"}]))
pq.write_table(pa.Table.from_arrays([pa.array([0])] * 3, names=["click", "big", "big"]),
               "twice.parquet")
with open("rows.jsonl", "w") as file:
    file.writelines(json.dumps(row) + "\n" for row in rows)
features = [{"name": "user", "ids": "text"}, {"name": "seen", "weights": "how"}, "big", "day",
            {"name": "shelf", "vocabulary": ["top", "low"], "missing": "row0"}]
config = {
    "data": {"format": "jsonl", "features": features, "labels": ["click"], "weight": "w",
             "dense": [{"name": "price", "transform": "log1p"}, {"name": "vec", "size": 2}],
             "time": "at"},
    "tables": [{"name": "t", "rows": 60, "dim": 4,
                "features": ["user", "shelf", "seen", "big", "day"]}],
    "model": {"type": "dlrm", "dense_in": 3, "dense_arch": [8, 4], "over_arch": [8, 1],
              "weighted": True},
    "optimizer": {"sparse": {"name": "rowwise_adagrad", "lr": 0.1},
                  "dense": {"name": "adam", "lr": 0.01}},
    "train": {"batch_size": 64}}
json.dump(config, open("own.json", "w"))
json.dump(dict(config, data=dict(config["data"], format="csv")), open("csv.json", "w"))
PY

convert() { python3 "$tool" --tessera "$tessera" "$@" >out 2>err; }
# refuses TEXT ARGS…: one sentence, and no folder.
refuses() {
  local text=$1
  shift
  ! convert "$@" || fail "parquet_to_rows.py $*: expected a refusal"
  has err "$text"
  [ "$(wc -l <err)" -eq 1 ] || fail "parquet_to_rows.py $*: expected one line: $(cat err)"
  [ ! -e none ] || fail "parquet_to_rows.py $*: it left a folder"
}

convert --config own.json a.parquet b.parquet -o rows --batch-rows 128 -- --shard-rows 300 ||
  fail "$(cat out err)"
has out "1,000 rows"
run 0 preprocess --config own.json rows.jsonl -o text --shard-rows 300
for shard in 0 1 2 3; do
  cmp rows/rows-0000$shard.safetensors text/rows-0000$shard.safetensors || fail "other rows"
done
convert --config own.json views.parquet -o views -- --shard-rows 300 || fail "$(cat out err)"
for shard in 0 1 2 3; do
  cmp views/rows-0000$shard.safetensors text/rows-0000$shard.safetensors || fail "other rows"
done
[ "$(ls -d rows*)" = "$(printf 'rows\nrows.jsonl')" ] || fail "it left $(ls -d rows*)"
run 0 train --config own.json --data rows --json rows.json
json rows.json 'd["rows"] == 1000'

refuses "rows: it exists" --config own.json a.parquet -o rows
refuses 'data.format: expected "jsonl"' --config csv.json a.parquet -o none
refuses "gone.parquet: cannot be read" --config own.json a.parquet gone.parquet -o none
refuses "rows.jsonl: cannot be read" --config own.json rows.jsonl -o none
refuses "other.parquet: it has none of the configuration's columns" --config own.json \
  other.parquet -o none
refuses "--batch-rows: expected at least 1, got 0" --config own.json a.parquet -o none \
  --batch-rows 0
refuses "twice.parquet: it has 2 columns of the name 'big'" --config own.json twice.parquet -o none
! convert --config own.json infinite.parquet -o none || fail "infinite.parquet: no refusal"
has err ":1: price: expected a number, got 'Infinity'"
! convert --config own.json bytes.parquet -o none || fail "bytes.parquet: no refusal"
has err "column 'shelf': cannot be read as numbers or text: Invalid UTF8 payload"
! convert --config own.json struct.parquet -o none || fail "struct.parquet: no refusal"
has err "a row cannot be written as JSON: values of Python's type bytes"
[ ! -e none ] || fail "it left a folder"
! convert --config own.json a.parquet dear.parquet -o none || fail "dear.parquet: no refusal"
has err 'dear.parquet: columns that are read as missing, as it has none of these names: at, big,'
has err ":701: price: expected a number, got 'dear'"
has err 'lines 701 to 701 are the rows of dear.parquet'
[ ! -e none ] || fail "it left a folder"
