#!/bin/bash
# Rows whose values tessera preprocess had changed meet no model of other rows, and no other way
# round; rows with the values of text mix freely. Nor does a model of files measure made-up rows.
source "$(dirname "$0")/../cli_test_lib.sh"

sed 's/"data": {.*}/"data": {"format": "criteo"}/' small.json >criteo.json
run 0 generate --rows 1500 --vocabulary 50 rows.tsv
run 0 generate --rows 500 --first 1500 --vocabulary 50 more.tsv
run 0 preprocess rows.tsv -o plain
run 0 preprocess rows.tsv -o numbered --contiguous --shuffle
run 0 preprocess more.tsv -o numbered_more --contiguous
run 0 preprocess rows.tsv -o zero --missing zero
run 0 preprocess rows.tsv -o as_is --dense as_is
run 0 preprocess rows.tsv -o hashed --hash 7
run 0 preprocess rows.tsv -o divided --hash 102
run 0 preprocess numbered -o again --shuffle --seed 9
run 0 preprocess rows.tsv -o days --contiguous --to npy

# ---- a folder says what was done, and keeps what had been done before
run 0 inspect plain --json
json out 'd["made"]["ids"] == "values" and d["made"]["missing"] == "own"'
run 0 inspect numbered
grep -qE '^ids: contiguous [0-9a-f]{16}$' out || fail "$(cat out)"
numbering=$(sed -n 's/^ids: //p' out)
run 0 inspect again
has out "ids: $numbering"
run 0 inspect numbered_more
lacks out "$numbering"
run 0 inspect hashed
has out "ids: modulo 7"

# ---- inputs that were prepared otherwise do not become one folder
fails_saying "numbered: it would bring values that tessera preprocess changed" preprocess \
  rows.tsv numbered -o none
fails_saying "zero: it holds values that tessera preprocess changed (dense log1p, missing zero" \
  train --config criteo.json --data plain zero

# ---- models of text and of each folder; each says what it was trained on
for rows in text plain numbered zero as_is hashed divided; do
  data=$rows
  [ $rows = text ] && data=rows.tsv
  run 0 train --config criteo.json --data $data --checkpoint $rows.st
  run 0 quantize $rows.st --out $rows.model
  run 0 inspect $rows.st
  cp out said
  run 0 inspect $rows.model
  case $rows in
    text | plain | divided) text="trained on the values of Criteo's text" ;;
    *) text="trained on values that tessera preprocess changed (dense " ;;
  esac
  has out "$text"
  has said "$text"
done
run 0 inspect numbered.st
has out "$numbering"
run 0 inspect zero.model --json
json out 'd["prepared"] == "dense log1p, missing zero, ids values"'

# ---- values of text mix with those of text
for rows in rows.tsv plain divided; do
  for model in text.st plain.st text.model plain.model divided.model; do
    run 0 evaluate $model --data $rows
  done
done
run 0 train --config criteo.json --data plain --eval more.tsv
run 0 evaluate numbered.st --data again

# ---- all others are refused: refused SENTENCE ROWS MODEL
refused() {
  for saved in "$3.st" "$3.model"; do
    fails_saying "$2: expected rows prepared as those that the model is trained on, which are $1" \
      evaluate "$saved" --data "$2"
    fails_saying "give rows that were prepared alike" predict "$saved" --data "$2" --out scores
  done
  fails_saying "$2: expected rows prepared as" quantize "$3.st" --data "$2" --out other.model \
    --codec int8
  [ ! -e other.model ] || fail "a refused quantize left a model"
  fails_saying "$2: expected rows prepared as" train --resume "$3.st" --epochs 2 --data "$2"
  fails_saying "$2: expected rows prepared as" train --resume "$3.st" --config criteo.json \
    --epochs 2 --data "$2" --other-data
  fails_saying "$2: expected rows prepared as" evaluate "$3.st" --config criteo.json --data "$2"
}
for rows in numbered zero as_is hashed; do
  refused "the values of Criteo's text, got values that" $rows text
  refused "values that tessera preprocess changed (dense" rows.tsv $rows
done
refused "values that tessera preprocess changed (dense log1p, missing own, ids contiguous" \
  numbered_more numbered
fails_saying "numbered: expected rows prepared as" train --config criteo.json --data rows.tsv \
  --eval numbered
fails_saying "more.tsv: expected rows prepared as" train --config criteo.json --data zero \
  --eval more.tsv --dry-run
fails_saying "made-up rows: expected rows prepared as" train --config small.json --resume zero.st \
  --epochs 2

# ---- nobody knows how npy days and folders of older releases were prepared
run 0 train --config criteo.json --data days/rows --checkpoint days.st
run 0 evaluate days.st --data rows.tsv
run 0 inspect days.st
lacks out "trained on"
cp -r numbered old
python3 - <<'PY'
import json
index = json.load(open("old/index.json"))
del index["made"]["ids"], index["crc32"]
json.dump(index, open("old/index.json", "w"))
PY
run 0 train --config criteo.json --data old --checkpoint old.st
run 0 evaluate old.st --data rows.tsv
run 0 train --resume old.st --data numbered --epochs 2 --other-data --checkpoint known.st
run 0 inspect known.st
has out "$numbering"

# ---- a served model of changed values takes tensors, and no rows
cat >ask.py <<'PY'
import json, sys, urllib.error, urllib.request
prepared = sys.argv[2] == "prepared"
url = f"http://127.0.0.1:{sys.argv[1]}/v2/models/model"
def ask(path, body=None):
  try:
    request = urllib.request.Request(url + path, body, {"Content-Type": "application/json"})
    return 200, urllib.request.urlopen(request).read().decode()
  except urllib.error.HTTPError as error:
    return error.code, error.read().decode()
metadata = json.loads(ask("")[1])
assert ("row_keys" in metadata) != prepared, metadata
for query in ("", "?strict=true"):
  status, answer = ask("/infer_rows" + query, b'{"int_0": 3, "cat_0": "1f"}')
  assert status == (400 if prepared else 200), answer
  assert ("was trained on values that tessera preprocess changed" in answer) == prepared, answer
inputs = [{"name": "dense", "datatype": "FP32", "shape": [1, 13], "data": [0.5] * 13}]
inputs += [{"name": f"cat_{i}", "datatype": "INT64", "shape": [1], "data": [3]} for i in range(3)]
status, answer = ask("/infer", json.dumps({"inputs": inputs}).encode())
assert status == 200, answer
PY
for model in numbered zero plain; do
  serve $model.model --name model
  kind=prepared
  [ $model = plain ] && kind=plain
  python3 ask.py "$port" $kind || fail "serve $model.model"
  kill -TERM $server
  wait $server || fail "the server ended with $?"
done
echo '{"int_0": 3}' >warm.jsonl
fails_saying "was trained on values that tessera preprocess changed" serve zero.model \
  --warm-up-file warm.jsonl

# ---- a stored id does not say whether it is a missing one
for data in plain numbered days/rows; do
  fails_saying "data.missing: empty_bag is for text, but $data holds stored rows" train \
    --config criteo.json --set data.missing=empty_bag --data $data --dry-run
done
run 0 train --config criteo.json --set data.missing=empty_bag --data rows.tsv --checkpoint empty.st
fails_saying "data.missing: empty_bag is for text, but plain holds" evaluate empty.st --data plain
