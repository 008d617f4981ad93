#!/bin/bash
# tessera plan diff: what changes from one plan to another, and what it would cost.
source "$(dirname "$0")/../cli_test_lib.sh"

cat >tables.json <<'EOM'
{"tessera_planner_model": 1, "modules": [
  {"path": "ebc", "kind": "ebc", "tables": [
    {"name": "large", "rows": 4000000, "dim": 64}, {"name": "wide", "rows": 300000, "dim": 128},
    {"name": "small", "rows": 2000, "dim": 64}, {"name": "tiny", "rows": 50, "dim": 64}]}]}
EOM
run 0 plan --tables tables.json --topology h100 --ranks 4 -o four.json --json four_report.json
run 0 plan --tables tables.json --topology h100 --ranks 8 -o eight.json --json eight_report.json

# ---- equal plans say so
run 0 plan diff four.json four.json --tables tables.json --topology h100 --json same.json
has out "the plans are equal: 4 tables, and nothing moves"
lacks out "sharding"
json same.json 'd["moved_bytes"] == 0 and d["changes"] == [] and d["tables"]["same"] == 4'

# ---- of other ranks; times and memory are those of tessera plan
run 0 plan diff four.json eight.json --tables tables.json --topology h100 --json grown.json
has out "four.json (4 ranks) → eight.json (8 ranks)"
has out "by the bandwidth cost model on h100; busiest rank: "
has out "most HBM used: "
python3 - <<'EOM' || fail "plan diff --json: $(cat grown.json)"
import json
diff = json.load(open("grown.json"))
for side, name in (("before", "four"), ("after", "eight")):
  report, plan = json.load(open(name + "_report.json")), json.load(open(name + ".json"))
  assert diff[side]["plan"] == name + ".json"
  assert diff[side]["ranks"] == plan["world_size"]
  assert abs(diff[side]["step_ms"] / report["rating"] - 1) < 1e-9
  assert diff[side]["most_hbm"]["bytes"] == max(rank["hbm"] for rank in report["ranks"])
assert diff["moved_bytes"] == sum(change["moved_bytes"] for change in diff["changes"])
assert sum(diff["tables"].values()) == 4
EOM

# ---- a table that moves, one that gets another kernel, a new one, one that is gone
cat >edit.py <<'EOM'
import json
shard = lambda rank, rows: [{"rank": rank, "offset": [0, 0], "size": [rows, 64]}]
table = lambda shards, kernel="fused", type="table_wise": {
    "sharding_type": type, "compute_kernel": kernel, "shards": shards}
plan = lambda tables: {"tessera_sharding_plan": 1, "world_size": 2, "local_size": 2,
                       "tables": tables}
halves = [{"rank": r, "offset": [2000000 * r, 0], "size": [2000000, 64]} for r in (0, 1)]
json.dump(plan({"large": table(shard(0, 4000000)), "small": table(shard(1, 2000)),
                "tiny": table(shard(0, 50)), "old": table(shard(0, 77))}),
          open("before.json", "w"))
json.dump(plan({"large": table(halves, type="row_wise"),
                "small": table(shard(1, 2000), "fused_uvm"), "tiny": table(shard(1, 50)),
                "wide": table([{"rank": 0, "offset": [0, 0], "size": [300000, 128]}])}),
          open("after.json", "w"))
EOM
python3 edit.py
run 0 plan diff before.json after.json --tables tables.json --topology h100 --json diff.json
has out "tables: 0 stay as they are, 2 move, 1 change in place, 1 new, 1 gone; 488.3 MiB of weights"
has out "table_wise → row_wise"
has out "fused → fused_uvm"
has out "0 → 0-1"
has out "none → table_wise"
has out "times and memory of before.json leave out table old: --tables lacks it"
json diff.json '[(c["table"], c["change"], c["moved_bytes"]) for c in d["changes"]] == [
  ("large", "moved", 2000000 * 64 * 4), ("tiny", "moved", 50 * 64 * 4), ("old", "gone", 0),
  ("small", "in_place", 0), ("wide", "new", 0)]'
json diff.json 'd["changes"][3]["after"]["compute_kernel"] == "fused_uvm"'
json diff.json 'd["changes"][0]["after"]["ranks"] == [0, 1] and d["changes"][4]["before"] is None'
json diff.json 'd["before"]["unpriced_tables"] == ["old"] and d["after"]["unpriced_tables"] == []'
json diff.json 'd["before"]["most_ddr"]["bytes"] < d["after"]["most_ddr"]["bytes"]'
run 0 plan diff before.json after.json --tables tables.json --topology h100 --top 1
has out "  large "
lacks out "  tiny "
has out "… and 4 more tables: 12.5 KiB moved"

# ---- bytes are those of --existing
run 0 plan --tables small.json --ranks 4 -o first.json
run 0 plan --tables small.json --ranks 4 --existing first.json --most-moved-bytes 0 -o again.json
run 0 plan diff first.json again.json --tables small.json
has out "the plans are equal: 2 tables"
run 0 --quiet plan diff first.json again.json --tables small.json --batch 8
has out "the plans are equal"

# ---- on a machine that was measured, the whole step
run 0 calibrate --ranks 2 --quick -o topology.json
run 0 plan --tables small.json --topology topology.json -o two.json
run 0 plan diff two.json first.json --tables small.json --topology topology.json
has out "by the calibrated cost model"

# ---- a plan of TorchRec, made one of ours by the line that the error names
cat >torchrec.json <<'EOM'
{"ebc": {"a": {"sharding_type": "table_wise", "compute_kernel": "fused", "ranks": [3],
               "shards": [{"shard_offsets": [0, 0], "shard_sizes": [51, 4],
                           "placement": "rank:3/cpu"}]},
         "b": {"sharding_type": "table_wise", "compute_kernel": "fused", "ranks": [0],
               "shards": [{"shard_offsets": [0, 0], "shard_sizes": [51, 4],
                           "placement": "rank:0/cpu"}]}}}
EOM
fails_saying "--existing torchrec.json --most-moved-bytes 0 -o FILE makes one" plan diff \
  torchrec.json first.json --tables small.json
run 0 plan --tables small.json --ranks 4 --existing torchrec.json --most-moved-bytes 0 -o ours.json
run 0 plan diff ours.json ours.json --tables small.json
has out "the plans are equal"
json ours.json 'd["tables"]["a"]["shards"][0]["rank"] == 3'

# ---- what cannot be
fails_saying "after.json: kernel fused_uvm: a cpu has no such kernel (there is dense, fused, \
quant); name the plan's machine by --topology" plan diff before.json after.json --tables tables.json
fails_saying "before is required" plan diff
fails_saying "after is required" plan diff four.json --tables tables.json
fails_saying "--tables is required" plan diff four.json eight.json
fails_saying "--tables: flags of diff follow its name" plan --tables tables.json diff four.json \
  eight.json
fails_saying "--ranks 4: not expected by tessera plan diff" plan diff four.json eight.json \
  --tables tables.json --ranks 4
fails_saying "nowhere.json: cannot be read" plan diff nowhere.json four.json --tables tables.json
fails_saying "tables.json: expected a plan that tessera plan -o wrote" plan diff tables.json \
  four.json --tables tables.json
sed 's/"world_size": *2/"world_size": 0/' before.json >none.json
fails_saying "none.json: plan: expected a world_size above 0" plan diff none.json four.json \
  --tables tables.json
sed 's/"world_size": *2/"world_size": 1/; s/"local_size": *2/"local_size": 1/' before.json >one.json
fails_saying "one.json: plan: table small (table_wise): rank 1" plan diff one.json four.json \
  --tables tables.json
fails_saying "first.json: it has no table of tables.json" plan diff first.json four.json \
  --tables tables.json
sed 's/4000000/4000001/' tables.json >longer.json
fails_saying "four.json: plan: table large" plan diff four.json eight.json --tables longer.json
fails_saying "four.json" plan diff four.json eight.json --tables tables.json --json four.json
run 1 plan
has err "--tables is required"
