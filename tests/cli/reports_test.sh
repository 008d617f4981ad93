#!/bin/bash
# Reports replace earlier reports of their kind, and nothing else; no command writes over what it
# reads, or writes a path twice: no model, data or configuration is lost to a mistaken path.
source "$(dirname "$0")/cli_test_lib.sh"
run 0 train --config small.json --checkpoint model.safetensors --metrics metrics.jsonl
run 0 train --config small.json --ranks 2 --checkpoint ranks
run 0 generate --rows 200 --vocabulary 50 rows.tsv
run 0 preprocess rows.tsv -o rows
run 0 quantize model.safetensors -o served
run 0 plan --tables small.json --ranks 2 -o plan.json
kept=(small.json model.safetensors metrics.jsonl rows.tsv plan.json served ranks rows)
sums() { find "${kept[@]}" -type f -exec sha256sum {} + | sort; }
sums >before

# spared TEXT ARGS…: a sentence, and nothing is changed.
spared() {
  local text=$1
  shift
  fails_saying "$text" "$@"
  has err "name another path"
  sums | cmp - before || fail "tessera $*: changed what was there"
}

# ---- what is no report of the kind
for path in small.json model.safetensors metrics.jsonl served/model.json; do
  other="$path: a file is there that is not "
  spared "$other" train --data rows.tsv --config <(cat small.json) --json $path
  spared "$other" train --data rows.tsv --config <(cat small.json) --trace $path
  spared "$other" predict <(:) --data rows.tsv --json $path
  spared "$other" predict <(:) --data rows.tsv -o $path
  spared "$other" plan --tables <(:) --ranks 2 -o $path
  spared "$other" plan --tables <(:) --ranks 2 --html $path
  spared "$other" plan --tables <(:) --ranks 2 --json $path
  spared "$other" calibrate --ranks 1 -o $path
  spared "$other" bench lookup --json $path
  spared "$other" bench lookup --csv $path
  spared "$other" bench lookup --svg $path
done
spared "model.safetensors: a file is there that is not metrics" train --resume ranks --epochs 2 \
  --metrics model.safetensors

# ---- what the command reads, whatever flag is given
reads() { spared "$1: this command reads it" "${@:2}"; }
for option in --checkpoint --metrics; do
  reads small.json train --config small.json $option small.json --overwrite
  reads rows.tsv train --config small.json --data rows.tsv $option ./rows.tsv --overwrite
  reads rows.tsv train --config small.json --eval rows.tsv $option rows.tsv --overwrite
  reads plan.json train --config small.json --ranks 2 --plan plan.json --metrics plan.json \
    --overwrite
done
reads model.safetensors train --resume model.safetensors --epochs 2 --metrics model.safetensors \
  --overwrite
reads ranks/index.json train --resume ranks --epochs 2 --json ranks/index.json
reads rows/index.json train --config small.json --data rows --checkpoint rows/index.json --overwrite
reads model.safetensors export model.safetensors --out model.safetensors --overwrite
reads ranks/index.json export ranks --out ranks/index.json --overwrite
reads rows preprocess rows -o rows --overwrite
reads ranks quantize ranks -o ranks --overwrite
reads served/model.json predict served --data rows.tsv --json served/model.json
reads plan.json plan --tables small.json --ranks 2 --existing plan.json -o plan.json
ln -s small.json link.json
reads link.json train --config small.json --checkpoint link.json --overwrite

# ---- rows are no model
for command in "train --resume rows" "compact rows" "export rows --out new" "quantize rows -o new" \
  "serve rows" "plan --tables rows --ranks 2" \
  "export model.safetensors --delta rows" "predict rows --data rows.tsv"; do
  # shellcheck disable=SC2086
  fails_saying "rows: it is a folder of rows that tessera preprocess wrote" $command
done
fails_saying "--delta ranks: it is a folder that ranks saved: expected a model directory" export \
  model.safetensors --delta ranks

# ---- no rows: nothing is made of them
: >none.tsv
fails_saying "none.tsv: expected rows, but there are none" predict served --data none.tsv -o new
fails_saying "none.tsv: expected rows, but there are none" quantize model.safetensors -o new \
  --data none.tsv
fails_saying "nowhere.tsv: cannot be read" quantize model.safetensors -o new --data nowhere.tsv
fails_saying "none.tsv: expected rows, but there are none" plan --tables small.json --ranks 2 \
  --data none.tsv -o new
[ ! -e new ] || fail "new was made"

# ---- two outputs in one place
twice() { spared "$1: this command is told to write it twice" "${@:2}" && [ ! -e "$1" ] ||
  fail "$1 was made"; }
twice new train --config small.json --checkpoint new --json new
twice ./new train --config small.json --checkpoint new --trace ./new
twice new train --config small.json --checkpoint new --metrics new
twice new train --config small.json --json new --trace new
twice new/index.json train --config small.json --ranks 2 --checkpoint new --json new/index.json
twice new predict served --data rows.tsv --json new -o new
twice new plan --tables small.json --ranks 2 --html new --json new
twice new bench lookup --csv new --svg new

# ---- a second time, over what the first wrote; folders above are made
for _ in 1 2; do
  run 0 train --config small.json --json reports/train.json --trace reports/trace.json
  run 0 predict served --data rows.tsv --json reports/predict.json -o reports/scores.txt
  run 0 plan --tables small.json --ranks 2 -o reports/plan.json --html reports/plan.html \
    --json reports/why.json
done
[ "$(wc -l <reports/scores.txt)" -eq 201 ] || fail "scores: $(head -3 reports/scores.txt)"
touch empty.json
run 0 train --config small.json --json empty.json
# What the shell keeps of standard output is added to.
echo first >log
"$tessera" train --config small.json --json /dev/stdout >>log 2>err || fail "$(cat err)"
has log first
has log '"log_loss"'
# A folder may have the name of a plan.
run 0 train --config small.json --ranks 2 --plan row_wise --checkpoint row_wise
run 0 train --config small.json --ranks 2 --plan row_wise --checkpoint row_wise --overwrite
