#!/bin/bash
# A newcomer reads --help and knows what to type; mistakes are one sentence and exit 1.
source "$(dirname "$0")/cli_test_lib.sh"

run 0 --help
has out "tessera train --config examples/planted.json"
for command in train generate preprocess inspect reshard export calibrate plan quantize predict \
  serve bench; do has out "$command"; done
run 0 train --help
for flag in --config --data --train-rows --eval --eval-rows --epochs --batch-size --threads --seed \
  --checkpoint \
  --checkpoint-every --resume --skip-bad-lines --device --json --ranks --plan --topology \
    --wire-codecs --eval-every --eval-metric --best --stop-at --patience --mllog \
    --max-table-rows --run; do has out "$flag"; done
has out '"seconds" covers'
has out "--verify with ranks: threads and processes share a record"
run 0 inspect --help
run 0 preprocess --help
has out "--frequency-threshold"
run 0 generate --help
has out "--zipf"

fails_saying \
  "expected a command: train, launch, config, describe, generate, preprocess, inspect, reshard"
fails_saying "fly" fly
run 0 train --help && mv out train_help && run 0 help train
cmp -s out train_help || fail "help train is not train --help"
run 0 --help && mv out all_help && run 0 help && cmp -s out all_help || fail "help is not --help"
# ---- exit codes, version, a request that can be pasted, and nothing of the parser's own
run 0 --help
for code in 0 1 129 130 143; do grep -qE "^  $code +[A-Z]" out ||
  fail "--help does not say what exit code $code is: $(cat out)"; done
run 0 --version
grep -qE '^tessera [0-9]+\.[0-9]+\.[0-9]+ \(build [0-9a-f]+' out || fail "--version: $(cat out)"
run 0 serve --help
for word in '"datatype": "FP32"' /deltas "too many requests or connections" --write-seconds \
  --max-header --memory-limit; do has out "$word"; done
run 0 quantize --help
has out "on SIGHUP"
run 0 export --help
lacks out "Option Group"
fails_saying "give --out FILE or --delta DIR" export folder
fails_saying "excludes" export folder --out a --delta b
for command in reshard export compact calibrate plan quantize predict preprocess; do
  run 0 $command --help
  grep -qE -- "-o,--out" out || fail "$command has no -o"
done
fails_saying "--speed" train --speed 5

# ---- flags of all commands may stand before the command; others are told where they belong
run 0 --quiet train --config small.json
lacks out "epoch 1:"
run 0 --log-format json train --config small.json
has err '"level":"info"'
lacks out "epoch 1:"
fails_saying '"level":"error","message":"nowhere.json: cannot be read' --quiet --log-format=json \
  train --config nowhere.json
run 0 --quiet bench lookup --list --dim 8
has out "lookup/"
fails_saying "--data x: flags of a command follow its name: tessera train --data x (see tessera \
train --help)" --data x train --config small.json
fails_saying "expected a command" --quiet
fails_saying "--log-format" --log-format yaml train --config small.json
fails_saying "--threads" train --threads 0 --config small.json
fails_saying "--epochs" train --epochs -1 --config small.json
fails_saying "give --config FILE" train
fails_saying "(see tessera predict --help)" predict model
fails_saying "nowhere.json: cannot be read" train --config nowhere.json
fails_saying "give --data FILE" train --config <(sed 's/"planted".*},/"criteo"},/' small.json)
fails_saying "--train-rows: expected FIRST:LAST" train --config small.json --train-rows 5
fails_saying "--checkpoint-every needs --checkpoint" train --config small.json --checkpoint-every 5
fails_saying "/proc/no/where: cannot be written" train --config small.json \
  --checkpoint /proc/no/where
fails_saying "x: cannot be read" train --config small.json --data x
fails_saying "cuda" train --config small.json --device cuda
fails_saying "device 'tpu'" train --config small.json --device tpu
sed 's/"dim": 4, "features": \["cat_0"\]/"dimension": 4, "features": ["cat_0"]/' small.json \
  >bad.json
run 1 train --config bad.json
has err "bad.json: 2 problems:"
has err "  tables[0].dim: the key is missing"
has err "  tables[0].dimension: unknown key; known here: name, rows, dim,"
sed 's/"batch_size"/"bach_size"/' small.json >bad.json
fails_saying \
  "bad.json: train.bach_size: unknown key (did you mean 'batch_size'?); known here: batch_size, \
accumulate_steps, epochs, seed" \
  train --config bad.json
fails_saying "nowhere: cannot be read" inspect nowhere
fails_saying "expected a number between 0 and 1" generate --click-rate 2 x.tsv
fails_saying "/proc/no/where.tsv: cannot be written" generate /proc/no/where.tsv
fails_saying "'trian' is no command; did you mean train?" trian --config small.json
fails_saying "'trian' is no command; did you mean train?" help trian
fails_saying "'trian' is no command; did you mean train?" trian --help
fails_saying "train.batch_sze: unknown key (did you mean 'batch_size'?)" train --config small.json \
  --set train.batch_sze=3
fails_saying "--epcohs 3: not expected by tessera train; did you mean --epochs?" train --epcohs 3
fails_saying " --epcohs 3: not expected by tessera train; did" train --epcohs 3 --ranks 3
fails_saying " --epcohs 3: not expected by tessera train; did" train --ranks 3 --epcohs 3
fails_saying " --epcohs 3: not expected by tessera train; did" train --epcohs 3 -- --ranks 3
fails_saying " --epcohs 3: not expected by tessera train; did" train -- --epcohs 3
fails_saying "its name: tessera train --quite; did you mean --quiet?" --quite train --epcohs 3
fails_saying "--epcohs=3: not expected by tessera train; did you mean --epochs?" train --epcohs=3
fails_saying "--dmi 3: not expected by tessera bench lookup; did you mean --dim?" bench lookup \
  --dmi 3 --list
fails_saying "did you mean --csv?" bench show --cvs x
topics=$("$tessera" bench | sed -n 's/^  \([a-z]*\)  .*/\1/p')
[ "$(wc -w <<<"$topics")" -ge 13 ] || fail "topics of the bench: $topics"
for topic in $topics; do
  fails_saying "--threds 3: not expected by tessera bench $topic; did you mean --threads?" \
    bench "$topic" --threds 3 --list
  fails_saying "stray: not expected by tessera bench $topic" bench "$topic" --list stray
done
fails_saying "--config is given twice: expected once" train --config small.json --config small.json
fails_saying "--epochs is given 3 times: expected once" train --epochs 1 --epochs 2 --epochs 3
fails_saying "--config: expected FILE behind it, got nothing" train --config
fails_saying "--plan rowwise: there is no such file, and plans by a word are auto, table_wise" \
  train --config small.json --ranks 2 --plan rowwise
echo "no model" >text
fails_saying "text: it is no safetensors file, or it was cut short" inspect text
for command in "serve text" "compact text" "predict text --data x" "train --resume text" \
  "export text --delta text" "quantize text -o x"; do
  # shellcheck disable=SC2086
  fails_saying "text: it is no safetensors file, or it was cut short" $command
done
for command in "compact nowhere" "export nowhere --out x" "predict nowhere --data x" \
  "quantize nowhere -o x" "export text --delta nowhere" "serve nowhere" "train --resume nowhere" \
  "train --resume nowhere --ranks 2"; do
  # shellcheck disable=SC2086
  fails_saying "nowhere: cannot be read: there is no such file or folder" $command
done

# ---- what cannot be written to standard output is a failure of every command
run 0 train --config small.json --checkpoint model.safetensors
for arguments in "--help" "train --help" "inspect model.safetensors" \
  "inspect model.safetensors --json" "train --config small.json"; do
  # shellcheck disable=SC2086
  "$tessera" $arguments >/dev/full 2>err &&
    fail "tessera $arguments > /dev/full: expected a failure"
  has err "tessera: standard output could not be written"
done
