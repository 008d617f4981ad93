#!/bin/bash
# --set of every command that takes a configuration.
source "$(dirname "$0")/cli_test_lib.sh"
cat >c.json <<'END'
{"tables": [{"name": "a", "rows": 100, "dim": 4, "features": ["cat_0"]}],
 "model": {"type": "dlrm", "dense_arch": [8, 4], "over_arch": [8, 1]},
 "optimizer": {"sparse": {"name": "sgd", "lr": 0.1}, "dense": {"name": "sgd", "lr": 0.1}},
 "data": {"format": "planted", "rows": 512, "eval_rows": 64},
 "train": {"batch_size": 64}}
END
run 0 train --config c.json --set optimizer.sparse.lr=0.02 --set "tables[name=a].rows=50" \
  --set optimizer.warmup='[{"policy": "linear", "max_iters": 4}]' --checkpoint m.safetensors
python3 - <<'END'
import json, struct
with open("m.safetensors", "rb") as f:
    header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
config = json.loads(header["__metadata__"]["config"])
assert config["optimizer"]["sparse"]["lr"] == 0.02, config
assert config["tables"][0]["rows"] == 50, config
assert config["optimizer"]["warmup"][0]["max_iters"] == 4, config
END

# ---- what is set is compared with what the checkpoint has, and without --config changes that
run 1 train --config c.json --resume m.safetensors --epochs 2
has err "rows"
run 0 train --config c.json --set "tables[0].rows=50" --set optimizer.sparse.lr=0.02 \
  --set optimizer.warmup='[{"policy": "linear", "max_iters": 4}]' --resume m.safetensors --epochs 2
run 0 train --resume m.safetensors --set train.epochs=2

# ---- a path is named in errors, a flag takes precedence, and words after --set are arguments
fails_saying "c.json: train.epochs: expected an integer, got \"many\"" \
  train --config c.json --set train.epochs=many
fails_saying "c.json: train.epoch: unknown key" train --config c.json --set train.epoch=2
fails_saying "--set tables[1].rows=5: tables has 1 elements" \
  train --config c.json --set "tables[1].rows=5"
fails_saying "expected PATH=VALUE" train --config c.json --set epochs
fails_saying "dense products tf32 on device cpu: they need a GPU" \
  train --config c.json --set train.dense_products=tf32 --dry-run
run 0 train --config c.json --set train.epochs=many --set train.epochs=3 --epochs 1
run 0 plan --tables c.json --set "tables[0].rows=1000" --ranks 2
run 0 plan --tables m.safetensors --set "tables[0].rows=1000" --ranks 2
run 0 quantize --config c.json --set "tables[0].rows=50" m.safetensors -o served
fails_saying "--set requires --config" \
  predict --set train.epochs=1 m.safetensors --data rows.tsv
fails_saying "--set requires --config" quantize --set train.epochs=1 m.safetensors -o other
run 0 generate rows.tsv --rows 20
run 0 predict --config c.json --set "tables[0].rows=50" \
  --set optimizer.warmup='[{"policy": "linear", "max_iters": 4}]' m.safetensors --data rows.tsv
echo '{"tessera_planner_model": 1}' >model.json
fails_saying "--set a=1: beside --tables model.json, which has no training configuration" \
  plan --tables model.json --set a=1 --ranks 2
cat >schema.json <<'END'
{"tables": [{"name": "a", "rows": 100, "dim": 4, "features": ["f"]}],
 "model": {"type": "deepfm", "dense_in": 0, "deep_fm_dim": 4},
 "optimizer": {"sparse": {"name": "sgd"}, "dense": {"name": "sgd"}},
 "data": {"format": "jsonl", "labels": ["label"]}}
END
echo '{"label": 1, "f": 7, "g": 8}' >rows.jsonl
fails_saying "data.features: feature 'g' is read by no table" \
  preprocess --config schema.json --set "data.features=[\"g\"]" rows.jsonl -o parsed
run 0 preprocess --config schema.json --set "tables[0].features=[\"g\"]" rows.jsonl -o parsed
