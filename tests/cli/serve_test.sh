#!/bin/bash
# From a trained checkpoint to a service: quantize, predict, serve.
source "$(dirname "$0")/cli_test_lib.sh"

run 0 train --config small.json --threads 1 --checkpoint model.safetensors --json trained.json
run 0 generate --rows 1000 --first 5000 --vocabulary 50 eval.tsv  # the evaluation's rows

# ---- quantize
for bits in 32 16 8 4 2 fp8; do run 0 quantize model.safetensors -o "bits$bits" --bits $bits; done
run 0 quantize model.safetensors -o model --table a=f16 --default-row mean
has out "int8"
has out "f16"
has out "model: version 1"
run 0 quantize model.safetensors -o model --bits 4 --search
has out "model: version 2"
[ "$(ls model)" = $'model.json\nweights-2.safetensors' ] || fail "$(ls model)"

# ---- a model that reads other inputs does not take the place of another unasked
sed 's/"cat_1", "cat_2"/"cat_1"/' small.json >fewer.json
run 0 train --config fewer.json --checkpoint fewer.safetensors
other="not the feature cat_2; requests of its clients would be refused"
fails_saying "model: version 3 would read other inputs than version 2: $other" \
  quantize fewer.safetensors -o model
has err "(tessera quantize --new-inputs allows it)"
cp -r model other
run 0 quantize fewer.safetensors -o other --new-inputs
has out "other: version 3"
lacks err "changes nothing"
run 0 quantize fewer.safetensors -o new --new-inputs
has err "--new-inputs changes nothing: new holds no model"

# ---- scores that are no numbers are counted
python3 - <<'PYTHON' || fail "cannot damage a checkpoint"
import json, struct
data = open("model.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
name = next(n for n in header if n.startswith("over_arch") and n.endswith("bias"))
begin, end = header[name]["data_offsets"]
infinite = struct.pack("<f", float("inf")) * ((end - begin) // 4)
header.pop("__metadata__")
text = json.dumps(header).encode()
tensors = data[8 + size:]
open("infinite.safetensors", "wb").write(
    struct.pack("<Q", len(text)) + text + tensors[:begin] + infinite + tensors[end:])
PYTHON
run 0 quantize infinite.safetensors --config small.json -o infinite
run 0 predict infinite --data eval.tsv --json infinite.json
has err "1,000 of 1,000 scores are not finite"
json infinite.json 'd["not_finite"] == 1000'

run 0 quantize model.safetensors -o chosen --budget 1x
has out "f32"
run 0 quantize model.safetensors -o chosen --max-error 0.9
has out "chosen: version 2"

run 0 quantize model.safetensors -o pruned --prune 0.3 --remap hash --dense f16 --data eval.tsv
has out "kept"
has out "1,000 rows: AUC "
has out "a loss of "
fails_saying "expected array or hash" quantize model.safetensors -o pruned --remap tree
fails_saying "--dense f8: expected f32 or f16" quantize model.safetensors -o pruned --dense f8

# ---- predict: what training said of the same rows
run 0 predict pruned --data eval.tsv --checkpoint model.safetensors --json pruned.json
json pruned.json 'd["examples"] == 1000 and abs(d["auc_loss"]) < 0.2'
run 0 predict bits32 --data eval.tsv --json f32.json --out scores --batch-size 1
json f32.json "abs(d['auc'] - $(python3 -c \
  'import json; print(json.load(open("trained.json"))["auc"])')) < 1e-6"
json f32.json 'd["examples"] == 1000 and d["calls"] == 1000'
json f32.json '0 < d["p50_seconds"] <= d["p99_seconds"] <= d["p999_seconds"]'
[ "$(wc -l <scores)" -eq 1001 ] && [ "$(head -1 scores)" = score ] || fail "scores"
has out "p99.9"
for bits in 16 8 4; do
  run 0 predict "bits$bits" --data eval.tsv --rows 0:500 --json other.json
  json other.json 'd["examples"] == 500 and d["calls"] == 8 and d["auc"] > 0.5'
done

# ---- serve, on a free port, after a warm-up of which no metric knows
printf '{"cat_0": "1f"}\n{"int_0": 3}\n' >rows.jsonl
"$tessera" serve bits8 --port 0 --name clicks --admin --warm-up 3 --warm-up-file rows.jsonl \
  >served 2>errors &
server=$!
trap 'kill -9 $server 2>/dev/null' EXIT
for _ in $(seq 600); do
  port=$(sed -nE 's,.*http://127.0.0.1:([0-9]+)$,\1,p' served) && [ -n "$port" ] && break
  sleep 0.1
done
has served "serving clicks, version 1, 2 tables"

# http METHOD PATH BODY: the answer's head and body are then in file answer.
http() {
  exec 3<>"/dev/tcp/127.0.0.1/$port" || fail "no connection"
  printf '%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s' "$1" \
    "$2" "${#3}" "$3" >&3
  cat <&3 >answer
  exec 3<&-
}
input() { printf '{"name": "%s", "shape": [1%s], "datatype": "%s", "data": [%s]}' "$@"; }
dense=$(input dense ", 13" FP32 0,0,0,0,0,0,0,0,0,0,0,0,0)
body="{\"inputs\": [$dense, $(input cat_0 "" INT64 1), $(input cat_1 "" INT64 2), $(input cat_2 "" \
  INT64 99)]}"
http GET /v2/health/ready ""
has answer "200 OK"
http GET /metrics ""
has answer 'tessera_table_ids_total{model="clicks",table="b",result="hit"} 0'
has answer 'tessera_table_ids_total{model="clicks",table="b",result="miss"} 0'
lacks answer 'tessera_requests_total{model="clicks"'
http POST /v2/models/clicks/infer "$body"
has answer "200 OK"
has answer '"name":"score"'
has answer '"model_version":"1"'
http POST /v2/models/clicks/infer '{"inputs": []}'
has answer "400 Bad Request"
has answer '{"error":"input dense is missing"}'
run 0 quantize model.safetensors -o bits8 --bits 16
kill -HUP $server
for _ in $(seq 600); do grep -q "took up version 2" served && break; sleep 0.1; done
has served "took up version 2"
http POST /v2/models/clicks/infer "$body"
has answer '"model_version":"2"'

# ---- deltas, as they come
sed 's/"batch_size": 64/"batch_size": 64, "seed": 9/' small.json >other.json
run 0 train --config other.json --threads 1 --checkpoint newer.safetensors
run 0 export newer.safetensors --delta bits8 --overwrite
has out "bits8/delta-3.safetensors: version 3"
for _ in $(seq 600); do grep -q "took up version 3" served && break; sleep 0.1; done
http POST /v2/models/clicks/infer "$body"
has answer "Tessera-Model-Version: 3"
echo nothing >bits8/delta-4.safetensors
http POST /v2/repository/models/clicks/deltas ""
has answer "400 Bad Request"
has answer "delta-4.safetensors"
rm bits8/delta-4.safetensors
run 0 predict bits8 --data eval.tsv
http GET /metrics ""
for version in 1 2 3; do
  has answer "tessera_requests_total{model=\"clicks\",version=\"$version\",code=\"200\"} 1"
done
has answer 'tessera_table_ids_total{model="clicks",table="b",result="miss"} 3'
has answer 'tessera_model_deltas_total{model="clicks",result="ok"} 1'

# ---- a model that reads other inputs is not taken up unasked
run 0 quantize fewer.safetensors -o bits8 --new-inputs
refused="bits8: version 4 would read other inputs than version 3: $other"
load=/v2/repository/models/clicks/load
http POST $load ""
has answer "400 Bad Request"
has answer "$refused"
kill -HUP $server
for _ in $(seq 600); do grep -qF "$refused" errors && break; sleep 0.1; done
has errors "$refused"
http POST /v2/models/clicks/infer "$body"
has answer '"model_version":"3"'
http POST $load '{"parameters": {"new_input": true}}'
has answer "400 Bad Request"
http POST $load '{"parameters": {"new_inputs": true}}'
has answer "200 OK"
has served "took up version 4"
http GET /v2/models/clicks ""
has answer '"versions":["4"]'
lacks answer cat_2
kill -TERM $server
wait $server || fail "it ended with $?: $(cat errors)"
has served "stopped"

# ---- what does not fit
fails_saying "--bits 3: expected 32, 16, 8, 4, 2 or fp8" quantize model.safetensors -o x --bits 3
fails_saying "no such table; there are a, b" quantize model.safetensors -o x --table c=int8
fails_saying "--table a=int4 beside --table a=f16: the table is given twice" \
  quantize model.safetensors -o x --table a=int4 --table b=int8 --table a=f16
fails_saying "--codec excludes --max-error" quantize model.safetensors -o x --codec f32 \
  --max-error 0.1
fails_saying "excludes" quantize model.safetensors -o x --codec int8 --budget 0.3x
fails_saying "--search beside rows of f32" quantize model.safetensors -o x --codec f32 --search
fails_saying "--remap hash without --prune" quantize model.safetensors -o x --remap hash
fails_saying "expected a number from 0 to 1, got 'nan'" quantize model.safetensors -o x --prune nan
for budget in 0.3 infx nanx 1e18x 1e30x; do
  fails_saying "--budget $budget: expected a share" quantize model.safetensors -o x \
    --budget $budget
done
fails_saying "excludes" quantize model.safetensors -o x --budget 0.3x --bits 8
fails_saying "NaN 'maybe': expected error or zero" quantize model.safetensors -o x --nan maybe
fails_saying "int9" quantize model.safetensors -o x --codec int9
fails_saying "nowhere: cannot be read" quantize nowhere -o x
fails_saying "nowhere: cannot be read" export newer.safetensors --delta nowhere
fails_saying "nowhere: cannot be read" predict nowhere --data eval.tsv
fails_saying "nowhere: cannot be read" serve nowhere
mkdir nothing
makes="or a model directory (model.json and the weights that it names), which tessera quantize \
CHECKPOINT -o DIR makes"
for command in serve rollback; do
  fails_saying "nothing: there is no saved model in this folder: " $command nothing
  has err "$makes"
done
fails_saying "--batch-wait 500000 beside --deadline 500: a request waits 500 ms" \
  serve bits8 --batch-wait 500000
fails_saying "--warm-up-file needs a --warm-up above 0" \
  serve bits8 --warm-up 0 --warm-up-file rows.jsonl
fails_saying "there is no model b" serve a=bits8 --warm-up-file b=rows.jsonl
fails_saying "--warm-up-file missing.jsonl: cannot be read: No such file or directory" \
  serve bits8 --warm-up-file missing.jsonl
fails_saying "--warm-up-file nothing: cannot be read: Is a directory" \
  serve a=bits8 --warm-up-file a=nothing
echo '{"cat_0": "zz"}' >wrong.jsonl
fails_saying "wrong.jsonl:1: cat_0" serve bits8 --port 0 --warm-up-file wrong.jsonl
fails_saying "cannot listen on 192.0.2.1:1" serve bits8 --host 192.0.2.1 --port 1
[ ! -e x ] || fail "x was made"
