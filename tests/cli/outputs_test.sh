#!/bin/bash
# Nothing that was saved is lost: two writers of one path, what another run saved, and what a kill
# leaves. Argument: size_limit_kills.so.
kills_writes=$PWD/$1
source "$(dirname "$0")/cli_test_lib.sh"
sed 's/"rows": 5000/"rows": 60000/' small.json >long.json

# ---- six pairs of trainings to one path: one of each is refused before it trains, the other's file
# is whole
pair() {
  local path=$1
  shift
  for seed in 1 2; do
    "$tessera" train --config long.json --threads 1 --seed "$seed" --checkpoint "$path" \
      --checkpoint-every 20 "$@" >"out$seed" 2>"err$seed" &
    pids[seed]=$!
  done
  wait "${pids[1]}"; codes[1]=$?
  wait "${pids[2]}"; codes[2]=$?
  [ "$((codes[1] + codes[2]))" -eq 1 ] ||
    fail "$path: expected one of two to be refused, got ${codes[*]}: $(cat err1 err2)"
  local refused=$((codes[1] == 1 ? 1 : 2))
  has "err$refused" "$path: "
  grep -qE "process [0-9]+ on .* is writing it|another process is writing it|did not begin from" \
    "err$refused" || fail "$(cat "err$refused")"
  ! grep -q "epoch 1" "out$refused" || fail "$path: it trained, then was refused"
  run 0 inspect "$path"
  [ -z "$(find . -name '*.tmp' -o -name '*.lock')" ] ||
    fail "$path: something is left: $(find . -name '*.tmp' -o -name '*.lock')"
}
pair one.safetensors
pair two.safetensors
pair chain1 --incremental
pair chain2 --incremental
pair ranks1 --ranks 2
pair ranks2 --ranks 2

# ---- what another run saved is refused before anything starts, and stays as it was
run 0 train --config small.json --checkpoint model.safetensors --metrics metrics.jsonl
run 0 train --config small.json --checkpoint chain --incremental
run 0 train --config small.json --ranks 2 --checkpoint ranks
run 0 train --config small.json --ranks 2 --checkpoint rank_chains --incremental
run 0 export ranks --out other.safetensors
run 0 generate --rows 500 --vocabulary 50 rows.tsv
run 0 preprocess rows.tsv -o rows
run 0 quantize model.safetensors -o served
sums() { find model.safetensors metrics.jsonl chain ranks rank_chains other.safetensors rows.tsv \
  rows served -type f -exec sha256sum {} + | sort; }
sums >before
refused() {
  local path=$1
  shift
  fails_saying "$path: " "$@"
  has err "${advice:-did not begin from: }name another path, or give --overwrite"
  sums | cmp - before || fail "tessera $*: changed what was there"
}
for saved in model.safetensors "chain --incremental" "ranks --ranks 2" \
  "rank_chains --ranks 2 --incremental"; do
  path=${saved%% *}
  advice="did not begin from: --resume $path goes on with the training that saved it; else " \
    refused $path train --config small.json --checkpoint $saved
done
refused model.safetensors train --resume other.safetensors --config small.json \
  --checkpoint model.safetensors
refused metrics.jsonl train --config small.json --metrics metrics.jsonl
refused chain train --resume model.safetensors --checkpoint chain --incremental
refused model.safetensors export ranks --out model.safetensors
refused model.safetensors compact chain --out model.safetensors
refused rows reshard ranks --world-size 3 --plan row_wise --out rows
refused rows.tsv generate --rows 5 rows.tsv
refused rows preprocess rows.tsv -o rows
refused rows quantize model.safetensors -o rows
fails_saying "chain: it is a folder of tessera train --incremental" train --config small.json \
  --ranks 2 --checkpoint chain --overwrite
sums | cmp - before || fail "ranks into a chain: changed what was there"

# ---- a folder of something else is left alone, with --overwrite too; what a kill left is none
mkdir papers && echo mine >papers/letter.txt
stranger() {
  fails_saying "papers: papers/letter.txt is there, which no command of tessera writes" "$@"
  has err "name a new folder, or an empty one"
  [ "$(ls -A papers)" = letter.txt ] || fail "tessera $*: wrote into papers: $(ls -A papers)"
}
for overwrite in "" --overwrite; do
  stranger preprocess rows.tsv -o papers $overwrite
  stranger preprocess rows.tsv -o papers --to npy $overwrite
  stranger quantize model.safetensors -o papers $overwrite
  stranger quantize model.safetensors -o papers --keep 2 $overwrite
  stranger reshard ranks --world-size 3 --plan row_wise --out papers $overwrite
  stranger train --config small.json --ranks 2 --checkpoint papers $overwrite
  stranger train --config small.json --checkpoint papers --incremental $overwrite
  fails_saying "--run papers: letter.txt is there, and no run of tessera train" train \
    --config small.json --run papers $overwrite
done
mkdir begun && touch begun/rows-00000.safetensors begun/.index.json.7.tmp
run 0 preprocess rows.tsv -o begun
echo mine >begun/letter.txt
fails_saying "did not begin from" preprocess rows.tsv -o begun
run 0 preprocess rows.tsv -o begun --overwrite
[ "$(cat begun/letter.txt)" = mine ] || fail "begun: $(ls begun)"

# ---- another form is never written beside what is there
fails_saying \
  "ranks: it is a folder that ranks saved, but this saves a model directory of tessera quantize" \
  quantize model.safetensors -o ranks --overwrite
fails_saying \
  "chain: it is a folder of tessera train --incremental, but this saves a folder that ranks saved" \
  reshard ranks --world-size 3 --plan row_wise --out chain --overwrite
fails_saying \
  "served: it is a model directory of tessera quantize, but this saves a folder that ranks saved" \
  reshard ranks --world-size 3 --plan row_wise --out served --overwrite
sums | cmp - before || fail "other forms: changed what was there"

# ---- what a run began from goes on, and --overwrite replaces
run 0 train --resume model.safetensors --epochs 2 --checkpoint model.safetensors \
  --metrics metrics.jsonl
[ "$(wc -l <metrics.jsonl)" -eq 5 ] || fail "metrics.jsonl: $(cat metrics.jsonl)"
run 0 train --resume chain --epochs 2 --checkpoint ./chain/ --incremental
run 0 train --resume ranks --epochs 2 --ranks 3 --checkpoint ranks
run 0 reshard ranks --world-size 1 --plan table_wise --out ranks
run 0 quantize model.safetensors -o served --bits 4
has out "version 2"
run 0 train --config small.json --checkpoint model.safetensors --metrics metrics.jsonl --overwrite
[ "$(wc -l <metrics.jsonl)" -eq 2 ] || fail "--overwrite: metrics.jsonl: $(cat metrics.jsonl)"
run 0 train --config small.json --checkpoint chain --incremental --overwrite
run 0 compact chain --out other.safetensors --overwrite
run 0 inspect other.safetensors
has out "epochs done 1"
run 0 train --config small.json --ranks 2 --checkpoint ranks --overwrite
run 0 train --config small.json --ranks 2 --checkpoint rank_chains --incremental --overwrite
run 0 train --resume rank_chains --epochs 2 --ranks 2 --checkpoint rank_chains --incremental
run 0 export ranks --out other.safetensors --overwrite
run 0 generate --rows 5 rows.tsv --overwrite
run 0 preprocess rows.tsv -o rows --overwrite
touch empty.safetensors
run 0 train --config small.json --checkpoint empty.safetensors
run 0 train --config small.json --json /dev/stdout
has out '"log_loss"'

# ---- a training that is done is saved where it is asked for, in the form that is asked for
run 0 train --resume other.safetensors --checkpoint new/copy.safetensors
has out "the epoch is done"
same_tensors other.safetensors new/copy.safetensors || fail "new/copy.safetensors: other tensors"
run 0 train --resume other.safetensors --checkpoint new/chain --incremental
run 0 export new/chain --out new/chain.safetensors
same_tensors other.safetensors new/chain.safetensors || fail "new/chain: other tensors"
run 0 train --resume new/chain --checkpoint new/chain --incremental
[ "$(ls new/chain)" = 00000001.base.safetensors ] ||
  fail "a chain that goes on has what there is: $(ls new/chain)"
run 0 train --resume other.safetensors --checkpoint new/ranks --ranks 2
run 0 inspect new/ranks

# ---- inspect checks every byte of what it shows
printf 'x' | dd of=new/ranks/save-1-rank-1.safetensors bs=1 \
  seek=$(($(stat -c %s new/ranks/save-1-rank-1.safetensors) - 100)) conv=notrunc 2>/dev/null
fails_saying "new/ranks/save-1-rank-1.safetensors: " inspect new/ranks

# ---- a killed run's lock is taken over, and what it left is cleaned; files of others stay
echo mine >note.safetensors.tmp
for target in killed.safetensors "killed --incremental"; do
  # shellcheck disable=SC2086
  (ulimit -f 1; LD_PRELOAD=$kills_writes "$tessera" train --config small.json \
    --checkpoint $target >/dev/null 2>&1)
  [ $? -gt 128 ] || fail "$target: it was not killed"
  find . -name '*killed*.tmp' -o -path './killed/*.tmp' | grep -q . ||
    fail "$target: nothing is left: $(find .)"
  # shellcheck disable=SC2086
  run 0 train --config small.json --checkpoint $target
  ! find . -name '*killed*.tmp' -o -path './killed/*.tmp' -o -name '*.lock' | grep . ||
    fail "$target: something is left"
done
[ "$(cat note.safetensors.tmp)" = mine ] || fail "it removed a file that it did not make"

# ---- streams take what is written once; what must be read as well is refused, as is a folder that
# is a link to nothing
run 0 export killed.safetensors --out /dev/null
fails_saying "--verify /dev/null: it is a stream; expected a file" train --config small.json \
  --verify /dev/null
ln -s nowhere dangling
fails_saying "dangling: cannot be made a folder: it is a link to nowhere, where there is none" \
  preprocess rows.tsv -o dangling
# ---- a link is written through, also one whose target is not there yet; not into a missing folder,
# nor round in a circle
mkdir elsewhere linked
echo old >elsewhere/there.tsv
ln -s ../elsewhere/there.tsv linked/there
ln -s ../elsewhere/new.tsv linked/new
ln -s new linked/twice
ln -s ../nowhere/new.tsv linked/lost
ln -s circle linked/circle
run 0 generate --rows 5 linked/there --overwrite
run 0 generate --rows 5 linked/twice
cmp elsewhere/there.tsv elsewhere/new.tsv || fail "another file: $(ls -l linked elsewhere)"
for link in there new twice; do [ -L linked/$link ] || fail "$link: it is no link any more"; done
fails_saying "linked/twice: a file is there, which this command did not begin from" generate \
  --rows 5 linked/twice
fails_saying "linked/lost: cannot be written: it is a link to linked/../nowhere/new.tsv, but there \
is no folder linked/../nowhere" generate --rows 5 linked/lost
fails_saying "linked/circle: cannot be written: Too many levels of symbolic links" generate \
  --rows 5 linked/circle
rm elsewhere/new.tsv
fails_saying "this command is told to write it twice" train --config small.json \
  --checkpoint linked/twice --metrics linked/new
[ "$(ls -A elsewhere linked | tr '\n' ' ')" = \
  "elsewhere: there.tsv  linked: circle lost new there twice " ] || fail "$(ls -A elsewhere linked)"

# ---- "-" is no file: it would be made beside the command
for output in "generate -" "train --config small.json --json -"; do
  # shellcheck disable=SC2086
  fails_saying "-: expected a file's name to write to; /dev/stdout is standard output" $output
done
[ ! -e - ] || fail "a file called - was made"
