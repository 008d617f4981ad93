#!/bin/bash
# Sizes that no computer holds, wherever a file or a flag names them: refused by field, at once,
# with no memory touched.
source "$(dirname "$0")/cli_test_lib.sh"

# with FROM TO: small.json with one thing changed where it first stands, in other.json.
with() {
  sed "0,/$1/s//$2/" small.json >other.json
  ! cmp -s small.json other.json || fail "small.json has no $1"
}

# ---- configurations
huge=1152921504606846977
with '"rows": 51, "dim": 4' "\"rows\": $huge, \"dim\": 4"
fails_saying "other.json: tables[0] ('a'): rows: expected at most 281474976710656, got $huge" \
  train --config other.json
fails_saying "tables[0] ('a'): rows: expected at most" plan --tables other.json --ranks 2
with '"rows": 51, "dim": 4' '"rows": 51, "dim": 4611686018427387904'
fails_saying "tables[0] ('a'): dim: expected at most 1048576" train --config other.json
with '\[8, 4\]' '[9223372036854775807, 4]'
fails_saying "model.dense_arch[0]: expected at most 1048576" train --config other.json
with '"batch_size": 64' '"batch_size": 9223372036854775807'
fails_saying "train.batch_size: expected at most" train --config other.json
with '"rows": 5000' '"rows": 9223372036854775807'
fails_saying "data.rows: expected at most" train --config other.json

# ---- a checkpoint's own configuration
run 0 train --config small.json --epochs 1 --checkpoint good.safetensors
run 0 quantize good.safetensors -o model
cat >change.py <<'EOP'
# change.py FROM TO: good.safetensors with FROM replaced in its header, as bad.safetensors;
# checksums of the header go.
import json, struct, sys
data = open("good.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
config = header["__metadata__"]["config"]
assert sys.argv[1] in config, config
header["__metadata__"]["config"] = config.replace(sys.argv[1], sys.argv[2], 1)
header["__metadata__"].pop("header_crc32", None)
text = json.dumps(header, separators=(",", ":")).encode()
open("bad.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data[8 + size:])
EOP
for change in '"rows":51 "rows":1152921504606846977' '"dim":4 "dim":4611686018427387904' \
  '"dense_arch":[8 "dense_arch":[9223372036854775807'; do
  python3 change.py $change || fail "good.safetensors cannot be changed"
  fails_saying "bad.safetensors" quantize bad.safetensors -o model2
  fails_saying "bad.safetensors" train --resume bad.safetensors
  fails_saying "bad.safetensors" plan --tables bad.safetensors --ranks 2
done

# ---- models to plan, plans, topologies, model directories
cat >tables.json <<'EOF2'
{"tessera_planner_model": 1, "modules": [
  {"path": "ebc", "kind": "ebc", "tables": [{"name": "t", "rows": 100, "dim": 8}]}]}
EOF2
sed 's/"dim": 8/"dim": 1099511627776/' tables.json >wide.json
fails_saying "table t: dim: expected at most 1048576, got 1099511627776" plan --tables wide.json \
  --ranks 2
sed 's/"rows": 100/"rows": 1152921504606846977/' tables.json >long.json
fails_saying "table t: rows: expected at most" plan --tables long.json --ranks 2
run 0 plan --tables small.json --ranks 2 -o plan.json
sed 's/"world_size": 2/"world_size": 2147483647/' plan.json >many.json
fails_saying "it is for 2147483647 ranks" train --config small.json --ranks 2 --plan many.json
sed -E 's/"size": ?\[[0-9]+/"size":[1152921504606846977/' plan.json >large.json
fails_saying "table a" train --config small.json --ranks 2 --plan large.json
python3 -c 'import json
d = json.load(open("model/model.json"))
del d["crc32"]
d["tables"][0]["rows"] = (1 << 60) + 1
json.dump(d, open("model/model.json", "w"))'
fails_saying "rows: expected at most" serve model --port 0

# ---- threads that cannot be started are an error in one sentence; sanitizers need all addresses
if (ulimit -v 4000000; "$tessera" --version >/dev/null 2>&1); then
  (ulimit -v 4000000; "$tessera" train --config small.json --threads 4096 >out 2>err)
  [ $? -eq 1 ] || fail "4096 threads: $(cat out err)"
  grep -qE 'worker thread [0-9]+ of 4095 cannot be started: .*ask for fewer threads' err ||
    fail "4096 threads: $(cat err)"
  (ulimit -v 4000000; "$tessera" train --config small.json --ranks 1024 >out 2>err)
  [ $? -eq 1 ] || fail "1024 ranks: $(cat out err)"
fi

# ---- memory that is not there: the sum of all tables, before one of them is filled
python3 - <<'EOP'
import json
d = json.load(open("small.json"))
for name in "ab":
    d["tables"]["ab".index(name)].update(rows=6000000, dim=4)
json.dump(d, open("sum.json", "w"))
for t in d["tables"]:
    t.update(rows=600000000000)
json.dump(d, open("huge.json", "w"))
EOP
fails_saying "the training takes about" train --config huge.json
has err "tables' rows 17.5 TiB (a 10.9 TiB, b 10.9 TiB)"
has err "What would fit: "
has err "--memory-limit SIZE sets another limit"
fails_saying "the training takes about" train --config huge.json --ranks 2
# Each table fits, both do not.
fails_saying "there are 240.0 MiB (--memory-limit)" train --config sum.json --memory-limit 240M
has err "rows of 16 bits"
fails_saying "the training takes about" train --config sum.json --memory-limit 200M --ranks 2
run 0 train --config sum.json --memory-limit 400M --checkpoint sum.safetensors
run 0 train --config sum.json --memory-limit 400M --ranks 2 --plan row_wise
fails_saying "the training takes about" train --config sum.json --memory-limit 400M --ranks 2 \
  --plan data_parallel
# The process itself counts: of a small model it is nearly all, so that the estimate of a dry run is
# of the order of what a training takes.
fails_saying "the process itself" train --config small.json --memory-limit 4M
run 0 train --config small.json --dry-run
cp out dry
run 0 train --config small.json --json took.json
python3 - <<'EOP' || fail "the dry run's memory is of another order: $(cat dry took.json)"
import json, re
said = re.search(r"memory +([0-9.]+) MiB of ", open("dry").read())
took = json.load(open("took.json"))["memory"]["peak_bytes"] / 2**20
assert said and took / 2 < float(said[1]) < 2 * took, took
EOP

# ---- tables of raw ids count with the size to which they may grow; writing, scoring and serving a
# ---- model have limits, too
python3 - <<'EOP'
import json
d = json.load(open("small.json"))
for t in d["tables"]:
    t["rows"] = 1000000
d["managed_collision"] = {"kind": "growing"}
json.dump(d, open("grow.json", "w"))
EOP
fails_saying "tables' rows 30.5 MiB (a " train --config grow.json --memory-limit 30M
run 0 train --config grow.json --checkpoint grow.safetensors
fails_saying "writing the model takes about" quantize grow.safetensors -o grow --memory-limit 4K
has err "what is known of raw ids"
[ ! -e grow ] || fail "grow was made"
run 0 quantize grow.safetensors -o grow --memory-limit 30M  # rows in use count
run 0 generate --rows 100 --vocabulary 50 eval.tsv
fails_saying "the model takes about" predict grow --data eval.tsv --memory-limit 30M
has err "rows that deltas may add to growing tables"
fails_saying "the model takes about" serve grow --port 0 --memory-limit 30M
fails_saying "writing the model takes about" quantize good.safetensors -o pruned --prune 0.5 \
  --memory-limit 4K
fails_saying "scoring rows with the checkpoint takes about" quantize sum.safetensors -o scored \
  --data eval.tsv --memory-limit 200M
run 0 quantize good.safetensors -o scored
fails_saying "scoring rows with the checkpoint takes about" predict scored --data eval.tsv \
  --checkpoint grow.safetensors --memory-limit 30M
fails_saying "the model takes about" serve scored --port 0 --workers 1024 --memory-limit 1M
run 0 predict scored --data eval.tsv --checkpoint good.safetensors --memory-limit 1G
fails_saying "--memory-limit: expected a size such as 512M" predict scored --data eval.tsv \
  --memory-limit much
fails_saying "--memory-limit: expected a size such as 512M" train --config small.json \
  --memory-limit much
fails_saying "lookup/rows=2G,tables=4 takes about 3.7 TiB of memory" bench lookup --tables 4 \
  --rows 2G --dim 128
fails_saying "of memory: tables 512.0 MiB, the process itself" bench update --tables 1 --rows 1Mi \
  --rule sgd --memory-limit 511M
fails_saying "train/rows=1G takes about" bench train --rows 1G
exit 0
