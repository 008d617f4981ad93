#!/bin/bash
# Rows made ready once: text, npy and folders of rows train alike; shuffled, killed and resumed.
source "$(dirname "$0")/cli_test_lib.sh"

run 0 generate --rows 4000 --vocabulary 50 rows.tsv
run 0 generate --rows 1000 --first 4000 --vocabulary 50 more.tsv.gz

# ---- text and a folder of rows train to the same bits
run 0 preprocess rows.tsv more.tsv.gz -o rows --shard-rows 1500
has out "5,000 rows in rows"
has out "4000:5000"
lacks err $'\r'
[ "$(ls rows | tr '\n' ' ')" = \
  "index.json $(printf 'rows-0000%d.safetensors ' 0 1 2 3)" ] || fail "$(ls rows)"
run 0 train --config small.json --data rows.tsv more.tsv.gz --train-rows 0:4500 --eval-rows 4500: \
  --checkpoint text.safetensors --json text.json
run 0 train --config small.json --data rows --train-rows 0:4500 --eval-rows 4500: \
  --checkpoint folder.safetensors --json folder.json
same_tensors text.safetensors folder.safetensors || fail "text and a folder of rows: other bits"
json folder.json "d['auc'] == $(python3 -c \
  'import json; print(json.load(open("text.json"))["auc"])')"
run 0 inspect rows
has out "5,000 rows in 4 shards, "
has out "checksums good"
run 0 inspect rows --json
json out 'd["rows"] == 5000 and d["shards"] == 4 and len(d["features"]) == 26'
json out 'd["made"]["dense"] == "log1p"'

# ---- a file that is given twice, by whatever name, is said, and read twice
run 0 preprocess rows.tsv more.tsv.gz "$PWD/rows.tsv" ./rows.tsv -o often
grep -q 'rows.tsv is given 3 times, so its rows count 3 times$' err || fail "$(cat err)"
[ "$(grep -c 'is given' err)" -eq 1 ] || fail "said more than once: $(cat err)"
has out "13,000 rows in often"
run 0 preprocess rows.tsv more.tsv.gz -o once
lacks err "is given"

# ---- a copy of a file is said by its fingerprint
cp rows.tsv copy.tsv
sed '3s/\t/\t7/' rows.tsv >other.tsv
run 0 preprocess rows.tsv copy.tsv other.tsv -o copies
has err "copy.tsv has the size, the beginning and the end of rows.tsv: it seems to be a copy, so"
[ "$(grep -c 'seems to be a copy' err)" -eq 1 ] || fail "said of another file: $(cat err)"
run 0 train --config small.json --data rows.tsv --data copy.tsv --train-rows 0:4000 \
  --eval-rows 4000:8000
has err "its rows count again, and a row for evaluation may be trained on in its copy"
run 0 describe rows.tsv other.tsv
lacks err "seems to be a copy"

# ---- npy
run 0 preprocess rows.tsv -o npy --to npy
run 0 train --config small.json --data npy/rows --checkpoint npy.safetensors
run 0 train --config small.json --data rows.tsv --checkpoint alone.safetensors
same_tensors alone.safetensors npy.safetensors || fail "text and npy: other bits"

# ---- numbered ids, as TorchRec numbers them; shuffled but for the last input
run 0 preprocess rows.tsv more.tsv.gz -o contiguous --contiguous --frequency-threshold 5 \
  --missing zero --dense log_from_min --shuffle --keep-last --seed 3
has out "distinct ids"
run 0 inspect contiguous
has out "frequency_threshold: 5"
run 0 train --config small.json --data contiguous --train-rows 0:4000 --eval-rows 4000: \
  --json contiguous.json
json contiguous.json 'd["rows"] == 4000 and d["auc"] is not None'

# ---- a last input without rows is said
: >empty.tsv
run 0 preprocess rows.tsv empty.tsv -o kept_none --shuffle --keep-last
has err "empty.tsv: the last input, which --keep-last keeps, has no rows"

# ---- mistakes
fails_saying "--to npy: rows holds rows of --to folder" \
  preprocess rows.tsv -o rows --to npy --overwrite
fails_saying "Parquet is not read" preprocess day_0.parquet -o none
fails_saying "Parquet is not read" train --config small.json --data day_0.parquet
fails_saying "--frequency-threshold needs --contiguous" preprocess rows.tsv -o none \
  --frequency-threshold 2
(head -10 rows.tsv; echo "not a row"; tail -n +11 rows.tsv) >bad.tsv
fails_saying "bad.tsv:11: column 1 (label): expected a label, 0 or 1, got 'not a row'" preprocess \
  bad.tsv -o none
[ ! -e none/index.json ] && [ ! -e none/tessera-preprocess-scratch ] ||
  fail "an error left something: $(ls none)"
run 0 preprocess bad.tsv -o skipped --skip-bad-lines
has out "left out 1 bad line"
printf '\x55' | dd of=rows/rows-00001.safetensors bs=1 seek=3000 conv=notrunc 2>/dev/null
fails_saying "rows-00001.safetensors: tensor" inspect rows
fails_saying "are not what was written" train --config small.json --data rows

# ---- rows that are replaced stay until the new ones are whole: a bad line, an input that cannot be
# read, files that may not grow, a kill. What a kill leaves of new ones goes with the next run.
run 0 preprocess more.tsv.gz -o kept --shard-rows 300
find kept -type f -exec sha256sum {} + | sort >kept_before
# stays WHAT [HIDDEN]: the folder has its rows, and so many hidden files.
stays() {
  find kept -type f ! -name '.*' -exec sha256sum {} + | sort | cmp - kept_before ||
    fail "$1: earlier rows are lost: $(ls -A kept)"
  [ "$(find kept -type f -name '.*' | wc -l)" -eq "${2:-0}" ] || fail "$1: $(ls -A kept)"
  run 0 inspect kept
  has out "1,000 rows in 4 shards, "
}
: >empty.tsv
(head -3 rows.tsv; echo "not a row") >ends_badly.tsv
for inputs in "rows.tsv ends_badly.tsv" "rows.tsv not_there.tsv" "empty.tsv"; do
  # shellcheck disable=SC2086
  run 1 preprocess $inputs -o kept --shard-rows 1000 --overwrite
  stays "$inputs"
done
cat >kept.json <<'EOF'
{"tables": [{"name": "a", "rows": 50, "dim": 4, "features": ["x"]}],
 "model": {"type": "dlrm", "dense_in": 1, "dense_arch": [8, 4], "over_arch": [16, 1]},
 "optimizer": {"sparse": {"name": "sgd", "lr": 0.1}, "dense": {"name": "adam", "lr": 0.01}},
 "data": {"format": "csv", "labels": ["y"], "dense": ["d"]}}
EOF
(echo "y,d,x"; for row in $(seq 5000); do echo "1,0.5,$row"; done) >kept.csv
(cat kept.csv; echo "1,0.5") >bad.csv
into_kept=(-o kept --shard-rows 1000 --overwrite)
run 1 preprocess --config kept.json bad.csv "${into_kept[@]}"
stays "a bad line of a schema"
(ulimit -f 40; "$tessera" preprocess --config kept.json kept.csv -o kept --overwrite \
  >out 2>err)
[ $? -eq 1 ] || fail "files that may not grow: $(cat err)"
has err "File too large"
stays "files that may not grow"
mkfifo slow
"$tessera" preprocess --config kept.json slow "${into_kept[@]}" >out 2>err &
killed=$!
(cat kept.csv; while tail -n +2 kept.csv; do :; done) >slow 2>/dev/null &
feeds=$!
until ls kept/.new-1-rows-* >/dev/null 2>&1; do
  kill -0 $killed 2>/dev/null || fail "it ended by itself: $(cat err)"
done
kill -9 $killed
wait $killed $feeds 2>/dev/null
find kept -name '.*' -type f ! -name '.new-1-rows-*' -delete  # its lock, and a file under way
ls kept/.new-1-rows-* >/dev/null || fail "a kill left nothing: $(ls -A kept)"
stays "a kill" "$(ls kept/.new-1-rows-* | wc -l)"
run 0 preprocess --config kept.json kept.csv "${into_kept[@]}"
run 0 preprocess --config kept.json kept.csv -o fresh --shard-rows 1000
diff -r kept fresh || fail "replaced rows are others than new ones"

# ---- one shard is missing, or cut short; one day of npy files is bad (the shards read before it
# are given back)
cp -r rows cut && rm cut/rows-00001.safetensors
fails_saying "cut/rows-00001.safetensors: cannot be read" train --config small.json --data cut
for bytes in 0 7 300 3000; do
  head -c $bytes rows/rows-00002.safetensors >cut/rows-00001.safetensors
  fails_saying "cut/rows-00001.safetensors" train --config small.json --data cut
done
run 0 preprocess more.tsv.gz -o second --to npy
mkdir days
for file in npy/rows*; do cp "$file" "days/day_0${file#npy/rows}"; done
for part in dense sparse labels; do
  for file in second/more*; do cp "$file" "days/day_1${file#second/more}"; done
  head -c 100 second/more_$part.npy >days/day_1_$part.npy
  fails_saying "days/day_1_$part.npy" train --config small.json --data days/day_0 days/day_1
done

rm rows/index.json
fails_saying "rows: it has no index.json" train --config small.json --data rows

# ---- shuffled, then killed: what is resumed ends in the same bits as what was left alone
run 0 preprocess rows.tsv -o ready
sed 's/"data": {[^}]*}/"data": {"shuffle": {"seed": 5, "window_rows": 512, "block_rows": 64}}/' \
  small.json >shuffled.json
[ "$(grep -c shuffle shuffled.json)" -eq 1 ] || fail "shuffled.json"

# killed_and_resumed NAME ARGS…: trains without a stop, and with one by kill -9.
killed_and_resumed() {
  local name=$1
  shift
  run 0 train "$@" --epochs 12 --checkpoint "$name.whole" --checkpoint-every 25
  "$tessera" train "$@" --epochs 12 --checkpoint "$name.killed" --checkpoint-every 25 >out 2>err &
  local pid=$!
  until [ -e "$name.killed" ]; do kill -0 $pid 2>/dev/null ||
    fail "$name: ended by itself: $(cat out err)"; done
  kill -9 $pid || fail "$name: ended before it was killed"
  wait $pid 2>/dev/null
  run 0 inspect "$name.killed"
  lacks out "epochs done 12"
  run 0 train "$@" --resume "$name.killed" --epochs 12 --checkpoint "$name.killed" \
    --checkpoint-every 25
  cmp "$name.whole" "$name.killed" || fail "$name: killed and resumed: other bits"
}
killed_and_resumed text --config shuffled.json --data rows.tsv
killed_and_resumed ready --config shuffled.json --data ready
same_tensors text.whole ready.whole && fail "windows of text and of blocks are shuffled alike"
sed 's/"data": {/"data": {"shuffle": {"seed": 5}, /' small.json >planted.json
killed_and_resumed planted --config planted.json
run 0 train --config planted.json --epochs 12 --checkpoint again.whole
cmp planted.whole again.whole || fail "shuffled: other bits the second time"
run 0 train --config small.json --epochs 12 --checkpoint plain.whole
same_tensors planted.whole plain.whole && fail "shuffling changed nothing"

# ---- ranks read their own part of a folder of rows
run 0 train --config shuffled.json --data ready --ranks 3 --plan row_wise --checkpoint ranks \
  --json ranks.json
run 0 train --config shuffled.json --data ready --json alone.json
json ranks.json "d['rows'] == 4000 and abs(d['epochs'][0]['train_loss'] - $(python3 -c \
  'import json; print(json.load(open("alone.json"))["epochs"][0]["train_loss"])')) < 1e-3"

# ---- other data
cat >random.json <<'JSON'
{"tables": [{"name": "a", "rows": 50, "dim": 4, "features": ["x", "y"]}],
 "model": {"type": "dlrm", "dense_in": 5, "dense_arch": [8, 4], "over_arch": [16, 1]},
 "optimizer": {"sparse": {"name": "rowwise_adagrad", "lr": 0.1},
               "dense": {"name": "adam", "lr": 0.01}},
 "data": {"format": "random", "rows": 500, "eval_rows": 100, "ids_per_feature": [3, 1]},
 "train": {"batch_size": 64}}
JSON
run 0 train --config random.json --json random_report.json
json random_report.json 'd["rows"] == 500 and 0.3 < d["auc"] < 0.7'
sed 's/"features": \["x", "y"\]/"features": ["userId", "movieId"]/; s/"dense_in": 5/"dense_in": 1/
  s/"data": {.*}/"data": {"format": "movielens", "shuffle": {}}/' random.json >movies.json
awk 'BEGIN {
  for (i = 0; i < 600; ++i)
    printf "%d::%d::%d::%d\n", i % 40 + 1, i * 7 % 50 + 1, i % 40 % 3 ? 5 : 2, 1000 + i
}' >ratings.dat
run 0 train --config movies.json --data ratings.dat --train-rows 0:500 --eval-rows 500: \
  --json movies_report.json
json movies_report.json 'd["rows"] == 500 and d["auc"] is not None'
fails_saying "no data: give --data FILE with ratings" train --config movies.json
fails_saying "--skip-bad-lines does not go with \"format\": \"movielens\"" train \
  --config movies.json --data ratings.dat --skip-bad-lines
echo "userId,movieId,rating,timestamp" >none.csv
fails_saying "none.csv: expected rows, but there are none" train --config movies.json \
  --data none.csv
