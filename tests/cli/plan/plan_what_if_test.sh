#!/bin/bash
# tessera plan --what-if: plans over a grid, what would help, and what is refused.
source "$(dirname "$0")/../cli_test_lib.sh"

cat >tables.json <<'EOM'
{"tessera_planner_model": 1, "modules": [
  {"path": "ebc", "kind": "ebc", "tables": [
    {"name": "large", "rows": 4000000, "dim": 64}, {"name": "wide", "rows": 300000, "dim": 128},
    {"name": "small", "rows": 2000, "dim": 64}]}]}
EOM
grid="--what-if ranks=4,8 --what-if batch=64,512"

# ---- a row for each point; a point is what tessera plan says of it
# shellcheck disable=SC2086
run 0 plan --tables tables.json --topology h100 --ranks 2 $grid --html what_if.html --json all.json
cp out first
has out "6 points by the bandwidth cost model, which times the tables alone"
has out "2 (now)"
has out "rows/s"
has out "the single change that helps the most is ranks 2 → "
has out "point 2 (now) the fewest rank-hours of a row"
run 0 plan --tables tables.json --topology h100 --ranks 8 --batch 64 --json point.json
python3 - <<'EOM' || fail "the points of all.json are not those of tessera plan"
import json
grid, plan = json.load(open("all.json")), json.load(open("point.json"))
assert [axis["values"] for axis in grid["axes"]] == [[2, 4, 8], [64, 512]]
assert [axis["current"] for axis in grid["axes"]] == [2, 512]
point = grid["points"][4]
assert point["values"] == {"ranks": 8, "batch": 64}
assert abs(point["step_ms"] / plan["rating"] - 1) < 1e-9
assert abs(point["rows_per_second"] / (8 * 64 / point["step_ms"] * 1e3) - 1) < 1e-9
assert point["bound_by"] in ("compute", "exchange") and point["most_hbm"] > 0
assert [p["current"] for p in grid["points"]] == [False, True] + [False] * 4
rows = {p["point"]: p["rows_per_second"] for p in grid["points"]}
assert grid["best_change"]["key"] == "ranks" and grid["best_change"]["from"] == 2
assert rows[grid["best_change"]["point"]] > 0.999 * max(rows[n] for n in (1, 4, 6))
assert rows[grid["fastest_point"]] > 0.999 * max(rows.values())
EOM
[ "$(grep -c '<svg' what_if.html)" -eq 4 ] || fail "expected four charts"
has what_if.html "2: ranks=2, batch=512"

# ---- the same input, the same output
cp what_if.html first.html
cp all.json first.json
# shellcheck disable=SC2086
run 0 plan --tables tables.json --topology h100 --ranks 2 $grid --html what_if.html --json all.json
for pair in "out first" "what_if.html first.html" "all.json first.json"; do
  # shellcheck disable=SC2086
  cmp $pair || fail "another output for the same input: $pair"
done

# ---- where no plan fits
run 0 plan --tables tables.json --ranks 2 --what-if ranks=1,8 --what-if ddr=0.2 --json tight.json
has out "no plan fits"
has out "point 1 (ranks=1, ddr=0.2): no plan: the tables need at least"
json tight.json '"is missing" in d["points"][0]["no_plan"] and "step_ms" not in d["points"][0]'
json tight.json '"step_ms" in d["points"][4]'
run 0 plan --tables tables.json --ranks 2 --ddr 0.2 --what-if ranks=8 --what-if ddr=0.1
has out "the single change that helps the most is ranks 2 → 8: "
has out "where no plan fits now"
run 0 plan --tables tables.json --ranks 2 --ddr 0.2 --what-if ddr=0.1
has out "no plan fits at any of these points"
run 0 plan --tables tables.json --ranks 4 --what-if ranks=3
lacks out "helps the most"
fails_saying "2 ranks have 0 B for them (dense parameters and batches take" \
  plan --tables small.json --ranks 2 --ddr 0.00001

# ---- tables that are priced in another way than they read
cat >odd.json <<'EOM'
{"tessera_planner_model": 1, "modules": [{"path": "ebc", "tables": [
  {"name": "t", "rows": 4000, "dim": 64, "features": ["a", "b"], "optimizer": "sgdd"},
  {"name": "u", "rows": 4000, "dim": 64, "features": ["c", "d"], "optimizer": "sgd"}]}],
 "constraints": {"u": {"pooling_factors": [1, 3]}}}
EOM
run 0 plan --tables odd.json --ranks 2
has err 'table t: no rule "sgdd"'
has err "table t: its 2 features are priced as 1"
lacks err "table u"

# ---- with rules, another cost model, networks, a configuration whose batch is of all ranks
echo '{"tessera_placement_rules": 1, "rank_caps": [{"rank": 3, "ddr": 0}]}' >rules.json
run 0 plan --tables tables.json --ranks 4 --constraints rules.json --what-if ranks=2
has out "point 1 (ranks=2): placement rules: rank_caps: there are ranks 0 to 1, got 3"
run 0 plan --tables tables.json --topology h100 --ranks 16 --cost-model torchrec \
  --what-if inter_bw=25,400 --what-if intra_bw=900 --what-if hbm=40
has out "12 points by the torchrec cost model"
run 0 plan --tables small.json --ranks 2 --what-if ranks=4 --json config.json
json config.json '[p["batch"] for p in d["points"]] == [32, 16]'
run 0 plan --tables small.json --ranks 2 --what-if ranks=4 --what-if batch=32 --json config.json
json config.json '[p["batch"] for p in d["points"]] == [32, 32]'

# ---- on a machine that was measured
run 0 calibrate --ranks 2 --quick -o topology.json
run 0 generate rows.tsv --rows 300
run 0 plan --tables small.json --topology topology.json --what-if ranks=1,4 \
  --what-if codec=fp16,int8 --data rows.tsv
has out "9 points by the calibrated cost model, whose machine was measured with 2 ranks; other"
has out "fp16"
fails_saying "ranks=3: --ranks 3: they do not fill the topology's nodes of 2 ranks" \
  plan --tables small.json --topology topology.json --what-if ranks=3
run 0 plan --tables small.json --topology topology.json --what-if batch=8
lacks out "extrapolated"
# A pipe can be read once.
run 0 plan --tables small.json --topology <(cat topology.json) --constraints <(echo \
  '{"tessera_placement_rules": 1, "apart": [["a", "b"]]}') --what-if batch=8,16
has out "3 points"

# ---- tables on disk, where memory is short: allowed, they are planned there, and cost time
run 0 plan --tables tables.json --ranks 2 --ddr 0.4 --what-if disk=1 --json disk.json
has out "where no plan fits now"
json disk.json '"no_plan" in d["points"][0] and d["points"][0]["values"] == {"disk": 0}'
json disk.json 'd["points"][1]["most_disk"] > 2**28 and d["points"][1]["most_ddr"] < 0.4 * 2**30'
run 0 plan --tables tables.json --ranks 2 --what-if disk=1 --json roomy.json
json roomy.json 'd["points"][1]["most_disk"] == 0'
slow=$(python3 -c 'import json; print(json.load(open("disk.json"))["points"][1]["step_ms"])')
json roomy.json "d['points'][1]['step_ms'] < $slow"

# ---- what cannot be
with() { # with TEXT ARGS…
  local text=$1
  shift
  fails_saying "$text" plan --tables tables.json --ranks 4 "$@"
}
with "--what-if beside -o" --what-if ranks=2 -o plan.json
with "--what-if beside --existing" --what-if ranks=2 --existing plan.json
with "--what-if beside --most-moved-bytes" --what-if ranks=2 --most-moved-bytes 4
with "--what-if beside --validate" --what-if ranks=2 --validate 3
[ ! -e plan.json ] || fail "a plan was written"
with "--what-if key 'rank': expected ranks" --what-if rank=2
with "--what-if ranks: 'hbm=2': one flag is of one key" --what-if ranks=2,hbm=2
with "--what-if ranks is given twice" --what-if ranks=2 --what-if ranks=8
with "--what-if hbm: the ranks of this topology are CPUs" --what-if hbm=40
with "--what-if codec: the bandwidth cost model does not know" --what-if codec=fp16
with "--what-if inter_bw: exchanges of this topology are priced as they were measured" \
  --topology topology.json --what-if inter_bw=25
with "--what-if ranks=6: topology: expected a local_world_size that divides" --ranks-per-node 4 \
  --what-if ranks=6
fails_saying "how many ranks?" plan --tables tables.json --what-if ranks=2
with "tables.json" --what-if ranks=2 --json tables.json
