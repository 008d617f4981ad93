#!/bin/bash
# tessera plan --simulate: steps of many ranks under a plan, and what is refused.
source "$(dirname "$0")/../cli_test_lib.sh"

run 0 calibrate --ranks 2 --quick -o topology.json

# ---- three rows; the first is the predicted step where ranks are alike
run 0 plan --tables small.json --topology topology.json --ranks 64 --ranks-per-node 2 \
  --simulate 50 --jitter 0.2 --slow-rank 3 --json many.json
has out "steps of 64 ranks"
has out "every rank keeps its speed"
has out "work varies by 20 %"
has out "and rank 0 takes 3 times as long"
cp out first
run 0 plan --tables small.json --topology topology.json --ranks 64 --ranks-per-node 2 \
  --simulate 50 --jitter 0.2 --slow-rank 3
cmp out first || fail "another simulation for the same input"
python3 - <<'EOM' || fail "the simulation of many.json is not one of its plan"
import json
report = json.load(open("many.json"))
even, varied, slow = report["simulation"]
assert even["p50_ms"] > 0 and abs(even["p99_ms"] / even["p50_ms"] - 1) < 1e-6, even
assert even["mean_ms"] <= report["step_ms"] * (1 + 1e-9), (even, report["step_ms"])
assert even["mean_ms"] < varied["mean_ms"] < slow["mean_ms"], report["simulation"]
for run in report["simulation"]:
    shares = run["at_work"] + run["waiting_for_ranks"] + run["exchanging"]
    assert abs(shares - 1) < 1e-9, run
EOM
run 0 plan --tables small.json --topology topology.json --ranks 4096 --simulate 2
has out "steps of 4,096 ranks"

# ---- beside steps that are run
run 0 plan --tables small.json --topology topology.json --validate 2 --simulate 10 --json both.json
has out "simulated, ms"
json both.json 'all(p["simulated_ms"] > 0 for p in d["validation"]["plans"]) and d["simulation"]'

# ---- refused before anything is planned
fails_saying "--simulate needs the calibrated cost model: --topology of tessera calibrate" \
  plan --tables small.json --ranks 4 --simulate 10
fails_saying "--what-if beside --simulate" \
  plan --tables small.json --topology topology.json --what-if ranks=4 --simulate 10
fails_saying "--jitter requires --simulate" \
  plan --tables small.json --topology topology.json --jitter 0.5
fails_saying "--slow-rank requires --simulate" \
  plan --tables small.json --topology topology.json --slow-rank 2
for bad in "--simulate 0" "--jitter -1 --simulate 10" "--slow-rank 0.5 --simulate 10"; do
  # shellcheck disable=SC2086
  fails_saying "${bad%% *}: " plan --tables small.json --topology topology.json $bad
done
