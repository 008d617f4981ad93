#!/bin/bash
# Mistakes in flags and configurations of runs over ranks are said once, as without ranks; what is
# wrong with the data of one rank names it; and a start that is refused leaves nothing.
source "$(dirname "$0")/../cli_test_lib.sh"
source "$(dirname "$0")/../mpi_test_lib.sh"

# once TEXT ARGS…: three processes, and three threads, are refused with a text that stands there
# once, without a rank.
once() {
  local text=$1
  shift
  ! "${mpirun[@]}" -n 3 "$tessera" "$@" --checkpoint new >out 2>err || fail "it went along: $*"
  [ "$(grep -cF -- "$text" err)" -eq 1 ] || fail "expected '$text' once: $(cat err)"
  grep -F -- "$text" err | grep -q "^tessera: " || fail "of one rank: $(cat err)"
  ! grep -q "^rank " err || fail "a rank is named: $(cat err)"
  [ ! -e new ] || fail "$*: something was left: $(ls -a new)"
  fails_saying "$text" "$@" --ranks 3 --checkpoint new
  lacks err "rank 0:"
  lacks err "rank 1:"
  lacks err "rank 2:"
  [ ! -e new ] || fail "$* --ranks 3: something was left: $(ls -a new)"
}
once "--plan nowhere.json: there is no such file" train --config small.json --plan nowhere.json
once "fp17" train --config small.json --wire-codecs fp17
once "--sharding-group-size 2: the 3 ranks" train --config small.json --sharding-group-size 2
once "train.epoch" train --config small.json --set train.epoch=3
once "nothing.json" train --config nothing.json
"$tessera" train --config small.json --device cuda >out 2>err ||
  once "device cuda:0: " train --config small.json --device cuda
once "of memory" train --config small.json --memory-limit 1K
once "expected num_parts" train --config small.json \
  --set 'managed_collision={"kind": "growing"}'

# ---- words that the parser of flags refuses
once "--epcohs 7: not expected by tessera train; did you mean --epochs?" \
  train --config small.json --epcohs 7
once "--batch-size: expected a whole number" train --config small.json --batch-size two
! "${mpirun[@]}" -n 3 "$tessera" calibrate --ranks 2 >out 2>err || fail "calibrate went along"
[ "$(grep -c "^tessera: --ranks under mpirun" err)" -eq 1 ] || fail "--ranks: $(cat err)"
for line in "calibrate --quik" "trian" "inspect --foo" "inspect nowhere" \
  "launch --ranks 2 -- train --config small.json --checkpoint new" \
  "sweep new --seeds 1,2 -- --config small.json"; do
  ! "${mpirun[@]}" -n 3 "$tessera" $line >out 2>err || fail "it went along: $line"
  [ "$(grep -c "^tessera: " err)" -eq 1 ] || fail "$line: expected one line: $(cat err)"
done
! by_rank "$tessera" train --config small.json --checkpoint new -- \
  "$tessera" train --config small.json --checkpoint new --rank-timeout x >out 2>err ||
  fail "it went along with a wrong flag"
[ "$(grep -c "rank 1: --rank-timeout" err)" -eq 1 ] || fail "expected rank 1 once: $(cat err)"
[ ! -e new ] || fail "something was left: $(ls -a new)"

run 0 train --config small.json --checkpoint there.safetensors
fails_saying "there.safetensors" train --config small.json --ranks 3 --checkpoint there.safetensors

# ---- a rank that lacks its data is named, once
sed 's/"format": "planted".*50}/"format": "criteo"}/' small.json >criteo.json
run 0 generate --rows 500 --vocabulary 50 day.tsv
! by_rank "$tessera" train --config criteo.json --data day.tsv --checkpoint new -- \
  "$tessera" train --config criteo.json --data gone.tsv --checkpoint new >out 2>err ||
  fail "it went along without its data"
[ "$(grep -c "rank 1: .*gone.tsv" err)" -eq 1 ] || fail "expected rank 1 once: $(cat err)"
[ ! -e new ] || fail "something was left: $(ls -a new)"
