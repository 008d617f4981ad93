#!/bin/bash
# What a user may not read or write is named, with "Permission denied": never as missing, nor in the
# words of an exception.
source "$(dirname "$0")/../cli_test_lib.sh"

# Root may read everything: commands are run as another user then, in a folder that it may enter.
as_user=()
if [ "$(id -u)" -eq 0 ]; then
  as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
  "${as_user[@]}" true || { echo "SKIPPED: no other user can be taken"; exit 0; }
fi
work=$(mktemp -d) || exit 1
trap 'chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
chmod 755 "$work"
cp "$tessera" small.json "$work"
cd "$work" || exit 1
tessera=$work/tessera

run 0 train --config small.json --checkpoint model.safetensors
run 0 train --config small.json --checkpoint chain --incremental
run 0 train --config small.json --ranks 2 --checkpoint ranks --save-plan plan.json
run 0 quantize model.safetensors -o served
run 0 generate --rows 200 --vocabulary 50 rows.tsv
run 0 preprocess rows.tsv -o rows
run 0 calibrate --ranks 2 --quick -o topology.json
run 0 plan --tables small.json --ranks 2 -o plan.json
echo '{}' >rules.json
all="small.json model.safetensors chain ranks served rows.tsv rows topology.json plan.json
  rules.json"
mkdir closed inside free
chmod 777 free
cp -r $all closed
cp -r $all inside
chmod 000 closed inside/*
chmod 755 inside

# denied PATH ARGS…: exit 1, one line that names the path and the reason.
denied() {
  local path=$1
  shift
  "${as_user[@]}" "$tessera" "$@" >/dev/null 2>"$work/err"
  local got=$?
  [ $got -eq 1 ] || fail "tessera $*: expected exit 1, got $got: $(cat err)"
  grep -F "$path" err | grep -qF "Permission denied" || fail "tessera $*: $(cat err)"
  ! grep -qE "filesystem error|no such|\.(cc|h):[0-9]" err || fail "tessera $*: $(cat err)"
}

for of in closed inside; do
  denied $of/small.json train --config $of/small.json
  denied $of/model.safetensors train --config small.json --resume $of/model.safetensors
  denied $of/chain train --resume $of/chain
  denied $of/ranks train --resume $of/ranks --ranks 2
  for rows in rows.tsv rows; do
    denied $of/$rows train --config small.json --data $of/$rows
    denied $of/$rows predict served --data $of/$rows
    denied $of/$rows preprocess $of/$rows -o free/none
    denied $of/$rows describe $of/$rows
  done
  denied $of/plan.json train --config small.json --ranks 2 --plan $of/plan.json
  denied $of/topology.json train --config small.json --ranks 2 --plan auto \
    --topology $of/topology.json
  denied $of/topology.json plan --tables small.json --topology $of/topology.json
  denied $of/small.json plan --tables $of/small.json --ranks 2
  denied $of/chain plan --tables $of/chain --ranks 2
  denied $of/plan.json plan --tables small.json --ranks 2 --existing $of/plan.json
  denied $of/rules.json plan --tables small.json --ranks 2 --constraints $of/rules.json
  denied $of/plan.json plan diff plan.json $of/plan.json --tables small.json
  for model in model.safetensors chain ranks served; do
    denied $of/$model inspect $of/$model
    denied $of/$model predict $of/$model --data rows.tsv
    denied $of/$model evaluate $of/$model --data rows.tsv
    denied $of/$model quantize $of/$model -o free/none
    denied $of/$model serve $of/$model --port 0
    denied $of/$model export $of/$model --out free/none
  done
  denied $of/rows inspect $of/rows
done
denied closed train --config small.json --data 'closed/*.tsv'
denied closed describe 'closed/*.tsv'
denied inside/rows.tsv train --config small.json --data 'inside/*.tsv'

# ---- outputs: a folder that may not be entered, and one that may not be written
chmod 755 inside
for of in closed/ inside/; do
  denied ${of}new train --config small.json --checkpoint ${of}new
  denied ${of}new train --config small.json --checkpoint ${of}new --incremental
  denied ${of}new train --config small.json --ranks 2 --checkpoint ${of}new
  denied ${of}new train --config small.json --json ${of}new
  denied ${of}new train --config small.json --metrics ${of}new
  denied ${of}new train --config small.json --run ${of}new
  denied ${of}new train --config small.json --verify ${of}new
  denied ${of}new generate --rows 5 ${of}new
  denied ${of}new preprocess rows.tsv -o ${of}new
  denied ${of}new quantize model.safetensors -o ${of}new
  denied ${of}new plan --tables small.json --ranks 2 -o ${of}new
  denied ${of}new export model.safetensors --out ${of}new
  denied ${of}new sweep ${of}new --grid optimizer.sparse.lr=0.1,0.2 -- --config small.json
done
for folder in chain ranks rows served; do
  denied inside/$folder train --config small.json --run inside/$folder
  denied inside/$folder preprocess rows.tsv -o inside/$folder --overwrite
  denied inside/$folder quantize model.safetensors -o inside/$folder --overwrite
done
