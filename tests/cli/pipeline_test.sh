#!/bin/bash
# tessera train by pipelines: the same bits, and traces that show how stages overlap.
source "$(dirname "$0")/cli_test_lib.sh"

run 0 train --config small.json --ranks 2 --checkpoint none
run 0 export none --out none.safetensors
for kind in base sparse_dist prefetch; do
  run 0 train --config small.json --ranks 2 --pipeline "$kind" --trace "$kind.json" \
    --checkpoint "$kind"
  run 0 export "$kind" --out "$kind.safetensors"
  cmp none.safetensors "$kind.safetensors" || fail "$kind: other bits than the plain loop"
done
run 0 train --config small.json --pipeline semi_sync --json semi.json
json semi.json 'd["auc"] > 0.5'
lacks err "--checkpoint-every"

# ---- saves inside epochs change what semi_sync trains, which is said, and no other pipeline
run 0 train --config small.json --pipeline semi_sync --checkpoint seldom.st
run 0 train --config small.json --pipeline semi_sync --checkpoint often.st --checkpoint-every 7
has err "--checkpoint-every beside --pipeline semi_sync changes what is trained: a save looks the"
if same_tensors seldom.st often.st; then fail "saves inside epochs changed nothing"; fi
run 0 train --config small.json --pipeline prefetch --checkpoint ahead.st --checkpoint-every 7
lacks err "--checkpoint-every"

# ---- raw ids travel ahead and find their rows inside the step
sed 's/"features"/"managed_collision": {"kind": "hash_zch", "num_parts": 3}, "features"/' \
  small.json >raw.json
run 0 train --config raw.json --ranks 2 --checkpoint raw_none
run 0 train --config raw.json --checkpoint raw_alone_none
run 0 export raw_none --out raw_none.safetensors
for kind in sparse_dist prefetch; do
  run 0 train --config raw.json --ranks 2 --pipeline "$kind" --checkpoint "raw_$kind" \
    --checkpoint-every 30
  run 0 export "raw_$kind" --out "raw_$kind.safetensors"
  cmp raw_none.safetensors "raw_$kind.safetensors" ||
    fail "raw ids, $kind: other bits than the plain loop"
  run 0 train --config raw.json --pipeline "$kind" --checkpoint "raw_alone_$kind"
  cmp raw_alone_none "raw_alone_$kind" ||
    fail "raw ids alone, $kind: other bits than the plain loop"
done
fails_saying \
  "its raw ids (managed_collision) find their rows inside the step, but the pipeline semi_sync" \
  train --config raw.json --ranks 2 --pipeline semi_sync --checkpoint raw_semi
[ ! -e raw_semi ] || fail "raw_semi was begun"

# ---- a trace: ranks, threads, stages; ids of a batch travel while an earlier one is trained
python3 - sparse_dist.json <<'EOM' || fail "the trace of sparse_dist"
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
for rank in (0, 1):
    assert {n for (p, _), n in names.items() if p == rank} == {"step", "copy", "input_dist"}, names
spans = [e for e in events if e["ph"] == "X"]
def on(thread, name):
    return [e for e in spans if names[e["pid"], e["tid"]] == thread and e["name"] == name]
assert on("copy", "data") and on("copy", "copy") and on("input_dist", "input_dist")
for name in ("step", "forward", "lookup", "backward", "update", "optimizer"):
    assert on("step", name), name
steps = {(e["pid"], e["args"]["batch"]): e for e in on("step", "step")}
dists = {(e["pid"], e["args"]["batch"]): e for e in on("input_dist", "input_dist")}
assert len(steps) == len(dists) == 2 * 79, (len(steps), len(dists))
end = lambda step: step["ts"] + step["dur"]
ahead = sum(dists[r, b]["ts"] < end(steps[r, b - 1]) for r, b in dists if b)
assert ahead > 0  # how many is the machine's business
EOM
run 0 train --config small.json --trace plain.json
json plain.json '{"data", "step", "lookup"} <= {e["name"] for e in d["traceEvents"]}'

# ---- what semi_sync does not go with is said before the start, and by --dry-run
for setting in 'tables[0].location="DISK"' 'optimizer.sparse={"name":"counter_rowwise_adagrad"}'; do
  for more in --dry-run "--ranks 2"; do
    fails_saying "but the pipeline semi_sync looks rows up before the step" train \
      --config small.json --pipeline semi_sync --set "$setting" $more
    lacks out dense
  done
done
run 0 train --config small.json --ranks 2 --plan row_wise --save-plan in_memory.json
sed 's/"fused"/"key_value"/' in_memory.json >on_disk.json
fails_saying "(DISK): its rows pass through a cache, which holds those of one training batch at a \
time, but the pipeline semi_sync" train --config small.json --ranks 2 --plan on_disk.json \
  --pipeline semi_sync --dry-run
fails_saying "expected none, base, sparse_dist, prefetch or semi_sync" train --config small.json \
  --pipeline fast
fails_saying "/proc/no/trace.json" train --config small.json --trace /proc/no/trace.json
