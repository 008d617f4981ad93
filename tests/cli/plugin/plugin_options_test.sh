#!/bin/bash
# A rule of a shared object beside ranks, plans, rows of 16 bits, tables on disk, incremental
# checkpoints, launch, plan, sweep and bench: the bits of the same rule of the library.
source "$TEST_SRCDIR/$TEST_WORKSPACE/tests/cli/plugin/plugin_test_lib.sh"

# both NAME ARGS…: trains by the library's rule and by the plugin's, and compares.
both() {
  local name=$1
  shift
  run 0 train --config adagrad.json --checkpoint "library_$name" "$@"
  run 0 train --plugin copied_adagrad.so --config copied_adagrad.json --checkpoint "plugin_$name" \
    "$@"
}
# alone NAME ARGS…: of one process, whose checkpoint is a file.
alone() {
  both "$@"
  same_tables "library_$1" "plugin_$1"
}
# same_folders FOLDER FOLDER: two folders have the same files of tensors.
same_folders() {
  [ "$(cd "$1" && ls)" = "$(cd "$2" && ls)" ] || fail "other files: $(ls "$1" "$2")"
  for file in "$1"/*.safetensors; do same_tables "$file" "$2/$(basename "$file")"; done
}

alone f16 --set 'tables[0].dtype=f16' --set 'tables[0].state_dtype=bf16' \
  --set 'tables[0].stochastic_rounding=true'
alone disk --set 'tables[0].location=DISK' --set 'tables[0].cache.load_factor=0.5'
alone threads --threads 3
alone raw_ids --set 'managed_collision={"kind":"growing"}'
alone pipeline --pipeline prefetch
alone clipped --set optimizer.gradient_clipping.mode=norm \
  --set optimizer.gradient_clipping.max_gradient=0.1 --accumulate-steps 2
both incremental --incremental --checkpoint-every 20
run 0 compact library_incremental -o library_incremental.file
run 0 compact plugin_incremental -o plugin_incremental.file
same_tables library_incremental.file plugin_incremental.file
wide="--set tables[0].dim=64 --set tables[1].dim=64 --set model.dense_arch=[8,64]"
both column_wise --ranks 2 --plan column_wise $wide
json plugin_column_wise/index.json "len(d['stored']['a']['shards']) == 2"
same_folders library_column_wise plugin_column_wise
for plan in table_wise row_wise data_parallel auto; do
  both "$plan" --ranks 2 --plan "$plan"
  same_folders "library_$plan" "plugin_$plan"
done

# ---- the planner prices it by its states
run 0 calibrate --ranks 2 --quick -o topology.json
for topology in cpu topology.json; do
  run 0 plan --tables adagrad.json --ranks 2 --topology $topology
  cp out said
  run 0 plan --plugin copied_adagrad.so --tables copied_adagrad.json --ranks 2 \
    --topology $topology
  cmp out said || fail "another plan: $(cat out)"
  run 0 plan --plugin copied_adagrad.so --tables plugin_row_wise --ranks 2 --topology $topology
done
fails_saying "or that of a shared object, by --plugin FILE" plan --tables plugin_row_wise \
  --ranks 2 --topology topology.json

# ---- bench
sizes="--rows 2000 --tables 2 --dim 8 --batch 64 --threads 1 --rounds 2 --flush-mib 1"
run 0 bench update --plugin copied_rowwise.so --rule copied_rowwise,sgd $sizes --json bench.json
json bench.json "d['context']['plugins'].startswith('copied_rowwise (copied_rowwise.so, sha256 ')"
python3 - <<'EOM' || fail "operations of a rule that cannot be asked for them"
import json
for row in json.load(open("bench.json"))["rows"]:
    assert ("operations" in row["facts"]) == (row["values"]["rule"] == "sgd"), row
EOM
run 0 bench update --plugin copied_adagrad.so --rule copied_adagrad $sizes --row-type f16
# Another build is told of the plugin, too.
run 0 bench update --plugin copied_adagrad.so --rule copied_adagrad ${sizes/--rounds 2/--rounds 5} \
  --against "$tessera" --json-against old.json
json old.json "d['context']['plugins'].startswith('copied_adagrad (copied_adagrad.so, sha256 ')"
fails_saying "copied_adagrad" bench update --rule copied_adagrad $sizes
fails_saying "--plugin" bench lab --kernel update --plugin copied_adagrad.so --rule copied_adagrad
fails_saying "copied_adagrad" bench lab --kernel update --rule copied_adagrad $sizes

# ---- sweep and launch pass it on
run 0 sweep rates --grid optimizer.sparse.lr=0.05,0.1 -- \
  --plugin copied_adagrad.so --config copied_adagrad.json

command -v mpirun >/dev/null || exit 0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
run 0 launch --ranks 2 -- train --plugin ./copied_adagrad.so --config copied_adagrad.json \
  --plan row_wise --checkpoint plugin_launched
same_folders plugin_launched plugin_row_wise
fails_saying "--plugin ./none.so: there is no such file" launch --ranks 2 -- train \
  --plugin ./none.so --config copied_adagrad.json --checkpoint launched
