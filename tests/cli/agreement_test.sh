#!/bin/bash
# Ranks that were not started alike, and runs that go on under another configuration or on other
# data: what cannot be meant is refused by key and values, before the first step; the rest is said.
source "$(dirname "$0")/cli_test_lib.sh"
source "$(dirname "$0")/mpi_test_lib.sh"

# config NAME SED: small.json with something changed.
config() { sed "$2" small.json >"$1.json"; }
config one ''
config lr 's/"lr": 0.1}/"lr": 0.2}/'
config dense 's/"lr": 0.01/"lr": 0.02/'
config clipping \
  's/"dense": {"name": "adam", "lr": 0.01}/&, \
"gradient_clipping": {"mode": "norm", "max_gradient": 1}/'

# disagree TEXT… -- ARGS OF RANK 0 -- ARGS OF RANK 1: both end with an error that has the texts.
disagree() {
  local texts=() first=()
  for (( ; $# > 0; )); do [ "$1" = -- ] && break; texts+=("$1"); shift; done
  shift
  for (( ; $# > 0; )); do [ "$1" = -- ] && break; first+=("$1"); shift; done
  shift
  if limit=60 by_rank "$tessera" train "${first[@]}" -- "$tessera" train "$@" >out 2>err; then
    fail "ranks went along: ${first[*]} and $*"
  fi
  for text in "${texts[@]}"; do has err "$text"; done
  lacks out "epoch 1:"
}
disagree "table 'a': optimizer.lr: rank 0 has 0.1, rank 1 has 0.2" -- --config one.json -- \
  --config lr.json
disagree "optimizer.dense.lr: rank 0 has 0.01, rank 1 has 0.02" -- --config one.json -- \
  --config dense.json
disagree "optimizer.gradient_clipping.m" -- --config one.json -- --config clipping.json
disagree "train.seed: rank 0 has 1, rank 1 has 2" -- --config one.json -- --config one.json --seed 2
disagree "train.batch_size: rank 0 has 64, rank 1 has 32" -- --config one.json -- \
  --config one.json --batch-size 32
disagree "--checkpoint: rank 0 has given, rank 1 has none" -- --config one.json --checkpoint x -- \
  --config one.json
disagree "table 'a': plan: rank 0 has row_wise" "rank 1 has table_wise" -- --config one.json \
  --plan row_wise -- --config one.json --plan table_wise

# ---- a file of its own for each rank
config criteo 's/"format": "planted".*50}/"format": "criteo"}/'
run 0 generate --rows 500 --vocabulary 50 day_0.tsv
run 0 generate --rows 500 --first 500 --vocabulary 50 day_1.tsv
disagree "--data[0]: rank 0 has day_0.tsv (" "rank 1 has day_1.tsv (" "every rank reads all files" \
  -- --config criteo.json --data day_0.tsv -- --config criteo.json --data day_1.tsv
mkdir other && cp day_1.tsv other/day_0.tsv
disagree "--data[0]: rank 0 has day_0.tsv (" -- --config criteo.json --data day_0.tsv -- \
  --config criteo.json --data other/day_0.tsv
cp day_0.tsv other/day_0.tsv  # the same rows, in another folder
by_rank "$tessera" train --config criteo.json --data day_0.tsv -- \
  "$tessera" train --config criteo.json --data other/day_0.tsv >out 2>err ||
  fail "the same rows: $(cat err)"

# ---- going on: another model
run 0 train --config one.json --checkpoint one.safetensors
run 0 train --config one.json --ranks 2 --checkpoint one
config pooling 's/"features": \["cat_0"\]/&, "pooling": "MEAN"/'
config features 's/\["cat_0"\]/["cat_3"]/'
config order 's/\["cat_1", "cat_2"\]/["cat_2", "cat_1"]/'
config rows 's/"name": "a", "rows": 51/"name": "a", "rows": 60/'
config rule 's/rowwise_adagrad/adagrad/'
config over 's/"over_arch": \[16, 1\]/"over_arch": [8, 1]/'
for changed in "pooling table 'a': pooling" "features table 'a': features" \
  "order table 'b': features" "rows table 'a': rows was 51" \
  "rule table 'a': optimizer.name" \
    "over model.over_arch[0] was 16 when it was saved, and is 8 now"; do
  fails_saying "${changed#* }" train --config "${changed%% *}.json" --resume one.safetensors \
    --epochs 2
  fails_saying "${changed#* }" train --config "${changed%% *}.json" --resume one --epochs 2 \
    --ranks 2
done

# ---- going on: what may change is said
run 0 train --config lr.json --resume one.safetensors --epochs 2
has out "resume: 2 tables ('a' to 'b'): optimizer.lr was 0.1, is 0.2"
run 0 train --config dense.json --resume one --ranks 2 --epochs 2
has out "resume: optimizer.dense.lr was 0.01, is 0.02"
run 0 train --resume one.safetensors --epochs 2
lacks out "resume: "

# ---- other data: between epochs, and inside of one
run 0 train --config criteo.json --data day_0.tsv --checkpoint day.safetensors
run 0 train --resume day.safetensors --data day_1.tsv --epochs 2
has out "resume: --data[0] was day_0.tsv ("
has out "is day_1.tsv ("
run 0 generate --rows 400000 --vocabulary 50 long.tsv
"$tessera" train --config criteo.json --data long.tsv --checkpoint mid.safetensors \
  --checkpoint-every 1 >out 2>err &
job=$!
for _ in $(seq 600); do [ -e mid.safetensors ] && break; sleep 0.1; done
kill -9 $job
fails_saying "--data[0] was long.tsv (" train --resume mid.safetensors --data day_1.tsv
fails_saying "--other-data" train --resume mid.safetensors --data day_1.tsv
fails_saying "--other-data is for a training that goes on (--resume, --run)" train \
  --config small.json --data day_1.tsv --other-data
run 0 train --resume mid.safetensors --data long.tsv --train-rows 0:100000
lacks out "--data[0]"
has out "resume: the range of rows was 0:, is 0:100000"
cat long.tsv day_1.tsv >other/long.tsv  # it has grown
run 0 train --resume mid.safetensors --data other/long.tsv
has out "resume: --data[0] was long.tsv ("
sed '1d' long.tsv >day_2.tsv
fails_saying "stands inside an epoch" train --resume mid.safetensors --data day_2.tsv
run 0 train --resume mid.safetensors --data day_2.tsv --other-data
has out "is day_2.tsv ("
