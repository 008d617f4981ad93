#!/bin/bash
# A sharded checkpoint goes to other plans and into one file, and comes out the same.
source "$(dirname "$0")/cli_test_lib.sh"
"$TEST_SRCDIR/$TEST_WORKSPACE/tests/cli/make_sharded_checkpoint" ckpt ||
  fail "cannot make a checkpoint"

# Tables as they are.
run 0 export ckpt --out first.safetensors
has out "first.safetensors: 2 tables"
has err "table a: momentum1 of columns 0 to 16: the mean, weighted by columns, of 2 column blocks"
run 0 inspect first.safetensors
has out "step 77"

run 0 reshard ckpt --world-size 5 --plan row_wise --out rows
has out "rows: 2 tables for 5 ranks"
has err "the mean, weighted by columns"
[ "$(ls rows)" = "$(printf 'index.json\nsave-1-rank-%d.safetensors\n' 0 1 2 3 4 | sort -u)" ] ||
  fail "$(ls rows)"
run 0 export rows --out second.safetensors
cmp first.safetensors second.safetensors || fail "row_wise: another file"

# A plan of this library's, on two nodes; then in place, without ranks.
cat >plan.json <<'EOF'
{"tessera_sharding_plan": 1, "world_size": 4, "local_size": 2, "tables": {
  "a": {"sharding_type": "table_row_wise", "shards": [
    {"rank": 2, "offset": [0, 0], "size": [30, 16]},
    {"rank": 3, "offset": [30, 0], "size": [30, 16]}]},
  "b": {"sharding_type": "table_wise", "shards": [{"rank": 0, "offset": [0, 0], "size": [5, 8]}]}}}
EOF
run 0 reshard rows --world-size 4 --local-size 2 --plan plan.json --out nodes
run 0 reshard nodes --world-size 1 --plan table_wise --out nodes
run 0 export nodes --out third.safetensors
cmp first.safetensors third.safetensors || fail "plan.json: another file"

run 0 export nodes --out weights.safetensors --weights-only
run 0 inspect weights.safetensors
has out "weights alone"

fails_saying "nowhere: cannot be read" reshard nowhere --world-size 2 --plan row_wise --out x
fails_saying "nowhere: cannot be read" export nowhere --out x
fails_saying "/proc/no/where: cannot be written" export ckpt --out /proc/no/where
fails_saying "plan.json: it is for 4 ranks, 2 a node; here are 4, 4 a node" \
  reshard ckpt --world-size 4 --plan plan.json --out x
fails_saying "--plan grid: there is no such file" reshard ckpt --world-size 4 --plan grid --out x
fails_saying "expected a local_size that divides world_size 4, got 3" \
  reshard ckpt --world-size 4 --local-size 3 --plan row_wise --out x
fails_saying "--ranks is required" reshard ckpt --plan row_wise --out x
fails_saying "--topology needs --plan auto" reshard ckpt --ranks 4 --topology h100 --out x
run 0 reshard nodes --ranks 3 --out by_size
run 0 export by_size --out fourth.safetensors
cmp first.safetensors fourth.safetensors || fail "without --plan: another file"
sed 's/"a"/"c"/' plan.json >other.json
fails_saying "other.json: plan: table a is missing" reshard ckpt --world-size 4 --local-size 2 \
  --plan other.json --out x
[ ! -e x ] || fail "x was made"
rm ckpt/save-1-rank-1.safetensors
fails_saying "ckpt: save-1-rank-1.safetensors is missing" export ckpt --out x

# Sums of column blocks become means; counts are alike in all blocks.
sed -e 's/"rowwise_adagrad"/"counter_rowwise_adagrad"/' -e 's/"dim": 4/"dim": 64/g' \
  -e 's/\[8, 4\]/[8, 64]/' small.json >counts.json
run 0 train --config counts.json --set data.rows=640 --ranks 2 --plan column_wise --checkpoint cut \
  --quiet
run 0 export cut --out counted.safetensors
has err "table a: momentum1 of columns 0 to 64: the mean, weighted by columns, of 2 column blocks"
lacks err prev_iter
lacks err row_counter
