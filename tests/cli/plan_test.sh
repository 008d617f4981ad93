#!/bin/bash
# Plans, from every kind of input, and trainings that follow them.
source "$(dirname "$0")/cli_test_lib.sh"

run 0 plan --tables small.json --ranks 4 -o plan.json --html plan.html --json report.json
has out "busiest rank"
has out "by the bandwidth cost model"
json report.json 'd["cost_model"] == "bandwidth"'
grep -q "<svg" plan.html || fail "no picture"
json report.json 'len(d["tables"]) == 2 and len(d["ranks"]) == 4'
json report.json 'd["dense"]["ddr"] > 0 and d["batches"]["ddr"] > 0 and d["batches"]["hbm"] == 0'
python3 - <<'EOM' || fail "text, JSON and page differ in the memory of a rank"
import json, re
report = json.load(open("report.json"))
text = open("out").read().split("\n  rank ")[1].splitlines()
page = re.findall(r"rank \d+\nDDR: (\S+) GiB", open("plan.html").read())
heading = [h.strip() for h in re.split(r"  +", text[0]) if h.strip()]
assert "DDR GiB" in heading, heading
assert len(page) == len(report["ranks"]), page
for rank, line, bar in zip(report["ranks"], text[1:], page):
    gib = rank["ddr"] / 2**30
    assert rank["ddr"] > report["dense"]["ddr"], rank
    assert f"{gib:.3f}" in line.split(), (gib, line)
    assert abs(float(bar) - gib) <= 1e-3 * gib, (bar, gib)
EOM
json report.json 'd["lower_bound"] <= d["rating"] * (1 + 1e-9) and d["bottleneck"]["limited_by"]'
json plan.json 'd["world_size"] == 4 and sorted(d["tables"]) == ["a", "b"]'
cp plan.json first.json
run 0 plan --tables small.json --ranks 4 -o plan.json
cmp plan.json first.json || fail "another plan for the same input"

# ---- followed
run 0 train --config small.json --ranks 4 --plan plan.json --checkpoint folder
has out "4 ranks (local)"
run 0 train --config small.json --ranks 2 --plan auto
run 0 train --config small.json --ranks 2 --plan auto --topology h100
fails_saying "--config: give the configuration as --tables FILE" plan --config small.json
fails_saying "how many ranks? --topology h100 names a kind of machine: give --ranks N" plan \
  --tables small.json --topology h100
fails_saying "--topology needs --plan auto" train --config small.json --ranks 2 --topology h100
run 0 train --config small.json --ranks 2 --plan auto --wire-codecs fp16
has err "--plan auto prices exchanges as fp32"

# ---- from checkpoints, other machines, other cost models
run 0 plan --tables folder --ranks 3 --batch 100
has out "batch 100 a rank"
run 0 export folder --out one.safetensors
run 0 plan --tables one.safetensors --topology h200 --ranks 16 --cost-model torchrec \
  -o torchrec.json
has out "by the torchrec cost model"
json torchrec.json 'd["local_size"] == 8'

echo '{"tessera_planner_model": 1, "modules": []}' >nothing.json
fails_saying "nothing.json: it has no tables to plan" plan --tables nothing.json --ranks 2

# ---- on a machine that was measured
run 0 calibrate --ranks 2 --quick -o topology.json
run 0 plan --tables small.json --topology topology.json --validate 3 -o measured.json \
  --json measured_report.json
has out "by the calibrated cost model"
has out "predicted step: "
has out "this plan"
has out "Spearman correlation"
python3 - <<'EOM' || fail "the report lacks what --validate found"
import json
validation = json.load(open("measured_report.json"))["validation"]
assert [p["plan"] for p in validation["plans"]][0] == "this plan" and len(validation["plans"]) == 3
assert all(p["predicted_ms"] > 0 and p["measured_ms"] > 0 for p in validation["plans"])
assert -1 <= validation["spearman"] <= 1 and validation["median_error"] >= 0
text = open("out").read()
assert all(f'{p["measured_ms"]:.3f}' in text for p in validation["plans"])
EOM
# A plan that is another one's equal does not run again, and ties have no correlation.
run 0 plan --tables small.json --topology topology.json --validate 6
has out "this plan"
lacks out "large tables by rows"
run 0 plan --tables small.json --topology topology.json --validate 2 --json two.json
python3 - <<'EOM' || fail "a correlation of ties, or none of different predictions"
import json
validation = json.load(open("two.json"))["validation"]
first, second = (p["predicted_ms"] for p in validation["plans"])
assert (validation["spearman"] is None) == (first == second), validation
assert ("Spearman" in open("out").read()) == (first != second)
EOM
# Every plan that is run has the tables on disk that this plan has there. (A millisecond a row: what
# a short calibration measures may be noise.)
python3 - <<'EOM'
import json
topology = json.load(open("topology.json"))
topology["profile"]["tiers"]["key_value"]["row"] = 1e-3
json.dump(topology, open("slow_disk.json", "w"))
EOM
run 0 plan --tables small.json --topology slow_disk.json --set tables[0].location=DISK \
  --validate 6 --json disk_report.json
! grep -q "^data_parallel " out || fail "copies on every rank of a table on disk: $(cat out)"
python3 - <<'EOM' || fail "plans of tables on disk are predicted as if these were in memory"
import json
def predicted(path):
    plans = json.load(open(path))["validation"]["plans"]
    return {p["plan"]: p["predicted_ms"] for p in plans}
memory, disk = predicted("measured_report.json"), predicted("disk_report.json")
both = [name for name in memory if name in disk and name != "this plan"]
assert both and all(disk[name] > memory[name] for name in both), (memory, disk)
EOM
# A profile that is damaged is named by its file.
sed 's/"lookup":{/"lookup":"x","was":{/' topology.json >damaged.json
for more in "" "--what-if ranks=2,4"; do
  # shellcheck disable=SC2086
  fails_saying "damaged.json: profile: " plan --tables small.json --topology damaged.json $more
done
fails_saying "damaged.json: profile: " train --config small.json --ranks 2 --plan auto \
  --topology damaged.json
run 0 plan diff measured.json measured.json --tables small.json --topology topology.json \
  --json measured_diff.json
python3 - <<'EOM' || fail "plan and plan diff predict other steps"
import json
step = json.load(open("measured_report.json"))["step_ms"]
assert step > 0 and step == json.load(open("measured_diff.json"))["before"]["step_ms"], step
EOM
run 0 train --config small.json --ranks 2 --plan auto --topology topology.json --wire-codecs fp16
! grep -q "warning" err || fail "a measured codec is priced: $(cat err)"
sed 's/"backend":"local"/"backend":"mpi"/' topology.json >processes.json
fails_saying "measured with ranks as processes, and the ranks of this run are threads" train \
  --config small.json --ranks 2 --plan auto --topology processes.json
fails_saying "which was measured with processes (mpirun): it runs ranks as threads" plan \
  --tables small.json --topology processes.json --validate 2
sed 's/"device":"cpu"/"device":"cuda"/' topology.json >gpu.json
fails_saying "which was measured on a GPU: it runs steps there, and this machine has none" plan \
  --tables small.json --topology gpu.json --validate 2
# A table is planned where its configuration has it; on CPUs that is memory in any case.
for machine in topology.json cpu h100; do
  run 0 plan --tables small.json --topology $machine --ranks 2 \
    --set tables[0].location=MANAGED_CACHING -o managed_$machine
done
run 0 plan --tables small.json --ranks 2 --cost-model torchrec --set tables[0].location=MANAGED
json managed_h100 'd["tables"]["a"]["compute_kernel"] == "fused_uvm_caching"'
json managed_topology.json 'd["tables"]["a"]["compute_kernel"] == "fused"'
fails_saying "--validate needs the calibrated cost model" plan --tables small.json --ranks 2 \
  --validate 3
fails_saying "--validate beside --cost-model bandwidth: it needs the calibrated one" plan \
  --tables small.json --topology topology.json --cost-model bandwidth --validate 3
fails_saying "--hbm without --topology: the ranks are CPUs, which have no device memory" plan \
  --tables small.json --ranks 2 --hbm 4
fails_saying "--hbm beside --topology topology.json: the ranks are CPUs" plan --tables small.json \
  --topology topology.json --hbm 4
run 0 generate rows.tsv --rows 300
run 0 plan --tables small.json --topology topology.json --data rows.tsv
cat >tables.json <<'EOM'
{"tessera_planner_model": 1, "modules": [
  {"path": "ebc", "kind": "ebc", "tables": [{"name": "t", "rows": 100, "dim": 8}]}]}
EOM
run 0 plan --tables tables.json --ranks 2
fails_saying "does not say which columns" plan --tables tables.json --ranks 2 --data rows.tsv

# ---- re-planning, and rules
run 0 plan --tables small.json --ranks 4 --existing plan.json --most-moved-bytes 0 -o same.json
cmp plan.json same.json || fail "something moved"
echo '{"tessera_placement_rules": 1, "apart": [["a", "b"]], "rank_caps": [{"rank": 0, "ddr": 0}]}' \
  >rules.json
run 0 plan --tables small.json --ranks 4 --constraints rules.json -o apart.json
json apart.json \
  'not set.intersection(*({s["rank"] for s in d["tables"][t]["shards"]} for t in "ab"))'
json apart.json 'all(s["rank"] != 0 for t in d["tables"].values() for s in t["shards"])'

# ---- what cannot be
sed 's/"name": "t"/"name": "c", "rows": 100, "dim": 8}, {"name": "t"/
  s/\]}\]}/]}], "constraints": {"c": {"device_group": "cpu"}}}/' tables.json >grouped.json
wrong="its constraints ask for device_group cpu, and the topology has cuda devices alone"
fails_saying "it is not in the plan: $wrong" plan --tables grouped.json --topology h100 \
  --ranks 1
fails_saying "Give --ranks N" plan --tables small.json
fails_saying "expected calibrated, bandwidth or torchrec" plan --tables small.json --ranks 2 \
  --cost-model fast
fails_saying "calibrate" plan --tables small.json --ranks 2 --cost-model calibrated
fails_saying "is missing" plan --tables small.json --ranks 2 --ddr 0.000001
run 0 plan --tables small.json --ranks 2 --reserve 0.25
has out "reserved a rank: 25 % of DDR, "
fails_saying "is missing" plan --tables small.json --ranks 2 --reserve 1
run 0 plan --tables small.json --ranks 2 --topology h100 --reserve 0.25
has out "reserved a rank: 25 % of HBM and 25 % of DDR, "
fails_saying "--most-moved-bytes needs --existing" plan --tables small.json --ranks 2 \
  --most-moved-bytes 5
fails_saying "--most-moved-bytes" plan --tables small.json --ranks 4 --existing plan.json \
  --most-moved-bytes -1
fails_saying "no machine is called 'h300' (did you mean 'h100'?); there are cpu, a100, h100, h200" \
  plan --tables small.json --ranks 2 --topology h300
fails_saying 'topology.json: it is a file of "tessera_topology": expected a plan' plan \
  --tables small.json --ranks 2 --existing topology.json
fails_saying "nowhere.json: cannot be read" plan --tables nowhere.json --ranks 2
echo '{"rows": 5}' >other.json
fails_saying "neither a model to plan" plan --tables other.json --ranks 2

# ---- a plan counts caches as a run makes them: bytes are those of each shard
planned() {  # cache ranks
  run 0 plan --tables small.json --ranks "$2" --set tables[0].location=MANAGED_CACHING \
    --set "tables[0].cache=$1" --set tables[0].rows=100000 --json cached.json
  python3 -c 'import json; print(sum(r["ddr"] for r in json.load(open("cached.json"))["ranks"]))'
}
tenth=$(planned '{"load_factor": 0.1}' 1) all=$(planned '{"load_factor": 1}' 1)
python3 -c "assert $all - $tenth > 0.9 * 100000 * 4, ($tenth, $all)" ||
  fail "caches on CPUs are not counted: $tenth, $all"
run 0 plan --tables small.json --ranks 2 --topology h100 \
  --set tables[0].location=MANAGED_CACHING --set 'tables[0].cache={"load_factor": 1}'
has out "fused_uvm_caching"

# ---- two modules with a table of one name: reported, not written
module='"kind": "ebc", "tables": [{"name": "t", "rows": 1000, "dim": 8, "features": ["f"]}]'
echo '{"tessera_planner_model": 1, "modules": [{"path": "x", '"$module"'},
  {"path": "y", '"$module"'}]}' >twins.json
run 0 plan --tables twins.json --topology h100 --ranks 2
fails_saying "table t: two modules have a table of this name" plan --tables twins.json \
  --topology h100 --ranks 2 -o twins_plan.json
lacks out "rank"
[ ! -e twins_plan.json ] || fail "a plan of tables of one name was written"

# ---- names that would break tables on the terminal, and bandwidths that overflow times
sed 's/"t"/"t\\n"/' twins.json >ends.json
fails_saying "table t?: expected a name without control characters" plan --tables ends.json \
  --topology h100 --ranks 2
echo '{"tessera_topology": 1, "compute_device": "cuda", "world_size": 2, "hbm_mem_bw": 1e-300}' \
  >slow.json
fails_saying "hbm_mem_bw: expected a bandwidth of at least 0.001 bytes a millisecond, got 1e-300" \
  plan --tables twins.json --topology slow.json
