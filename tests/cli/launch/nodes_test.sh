#!/bin/bash
# Ranks on several nodes: rows that are added up in a node before they leave it, with the bits of
# rows that return directly, on nodes that are asked for and on nodes that mpirun has.
source "$(dirname "$0")/../cli_test_lib.sh"

python3 - <<'EOP'
import json
def halves(node):
    return [{"rank": 2 * node, "offset": [0, 0], "size": [26, 4]},
            {"rank": 2 * node + 1, "offset": [26, 0], "size": [25, 4]}]
tables = {name: {"sharding_type": "table_row_wise", "compute_kernel": "fused",
                 "shards": halves(node)} for name, node in (("a", 0), ("b", 1))}
json.dump({"tessera_sharding_plan": 1, "world_size": 4, "local_size": 2, "tables": tables},
          open("plan.json", "w"))
EOP

# tables_of FOLDER: the folder's checkpoint as one rank's, FOLDER.one
tables_of() { run 0 reshard "$1" --ranks 1 --plan table_wise --out "$1.one"; }
# same_tables_as_without FOLDER: as under a plan that adds nothing up
same_tables_as_without() {
  tables_of "$1"
  cmp tables.one/save-1-rank-0.safetensors "$1.one/save-1-rank-0.safetensors" ||
    fail "$1 has other tables than a plan of whole tables"
}

run 0 train --config small.json --ranks 4 --plan table_wise --checkpoint tables
tables_of tables
nodes=(train --config small.json --plan plan.json --ranks-per-node 2)
for route in auto direct by_node; do
  run 0 "${nodes[@]}" --ranks 4 --route $route --checkpoint $route
  same_tables_as_without $route
done
run 0 "${nodes[@]}" --ranks 4 --pipeline sparse_dist --checkpoint ahead
same_tables_as_without ahead
run 0 train --config small.json --plan table_row_wise --ranks-per-node 2 --ranks 4 \
  --save-plan word.json --checkpoint word
same_tables_as_without word
json word.json '[s["rank"] for s in d["tables"]["b"]["shards"]] == [2, 3]'

fails_saying "--ranks-per-node 3: 4 ranks do not fill nodes of 3" train --config small.json \
  --ranks 4 --ranks-per-node 3
run 0 train --config small.json --ranks 4 --route by_node
has err "--route by_node beside 1 node of 4 ranks changes nothing"
fails_saying "--ranks-per-node needs --ranks N, or mpirun" train --config small.json \
  --ranks-per-node 2
fails_saying "--route needs --ranks N, or mpirun" train --config small.json --route direct
fails_saying "route 'by_nod': expected auto, direct or by_node" train --config small.json \
  --ranks 4 --route by_nod
fails_saying "it is for 4 ranks, 2 a node; here are 4, 4 a node" train --config small.json \
  --ranks 4 --plan plan.json

# ---- nodes that mpirun knows
box="$TEST_SRCDIR/$TEST_WORKSPACE/tools/cluster_in_a_box"
"$box" 2 2 -- "$tessera" train --config small.json --plan plan.json --checkpoint apart >out 2>err
code=$?
if [ $code -eq 77 ]; then
  echo "SKIPPED the nodes of mpirun: $(cat err)"
  exit 0
fi
[ $code -eq 0 ] || fail "nodes of mpirun: exit code $code: $(cat out err)"
has out "4 ranks (mpi): 2 tables table_row_wise"
same_tables_as_without apart
"$box" --delay-us 500 2 2 -- "$tessera" train --config small.json --plan plan.json \
  --checkpoint far >out 2>err || fail "nodes 500 us apart: $(cat out err)"
same_tables_as_without far
"$box" 2 2 -- "$tessera" calibrate --quick -o topology.json >out 2>err ||
  fail "calibrate over nodes: $(cat out err)"
grep -qE "all_to_all_inside +2 " out && grep -qE "all_to_all_between +2 " out ||
  fail "calibrate measured no links of nodes: $(cat out)"
