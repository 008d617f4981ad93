#!/bin/bash
# A model directory that is not what was written: weights, deltas and model.json that changed, a
# delta that is missing, a version number used twice.
source "$(dirname "$0")/cli_test_lib.sh"

run 0 train --config small.json --threads 1 --checkpoint model.safetensors
run 0 generate --rows 200 --first 5000 --vocabulary 50 eval.tsv
run 0 quantize model.safetensors -o model
for seed in 8 9; do
  sed "s/\"batch_size\": 64/\"batch_size\": 64, \"seed\": $seed/" small.json >seeded.json
  run 0 train --config seeded.json --threads 1 --checkpoint seed$seed.safetensors
  run 0 export seed$seed.safetensors --delta model --overwrite
done

# ---- a delta is what the same training learned later, unless --overwrite says otherwise
run 0 train --resume model.safetensors --epochs 2 --threads 1 --checkpoint later.safetensors
run 0 quantize later.safetensors -o trained
later="its version 1 is of step 158 of a training with seed 1"
fails_saying "trained: $later, but model.safetensors is of step 79" export model.safetensors \
  --delta trained
fails_saying "but seed8.safetensors is of step 79 of one with seed 8" export seed8.safetensors \
  --delta trained
run 0 train --resume later.safetensors --epochs 3 --threads 1 --checkpoint later.safetensors
run 0 export later.safetensors --delta trained
run 0 export model.safetensors --delta trained --overwrite
has out "version 3"
run 0 predict model --data eval.tsv --out scores

# flipped FILE OFFSET: one bit of a byte, counted from the end.
flipped() { python3 -c 'import sys
d = bytearray(open(sys.argv[1], "rb").read())
d[-int(sys.argv[2])] ^= 4
open(sys.argv[1], "wb").write(d)' "$@"; }

# ---- bytes that changed
for offset in 1 100 700 1500; do
  rm -rf changed && cp -r model changed && flipped changed/weights-1.safetensors $offset
  fails_saying "changed/weights-1.safetensors: its bytes do not have their crc32" predict changed \
    --data eval.tsv
  rm -rf changed && cp -r model changed && flipped changed/delta-3.safetensors $offset
  fails_saying "changed/delta-3.safetensors: its bytes do not have their crc32" predict changed \
    --data eval.tsv
done
rm -rf changed && cp -r model changed && sed -i 's/"cat_2"/"cat_3"/' changed/model.json
fails_saying "changed/model.json: it was changed, or is corrupt" predict changed --data eval.tsv

stop() {
  kill -TERM $server
  wait $server || fail "the server ended with $?"
}
# asked PATH [BODY]: a GET, or a POST of the body; the answer's head and body are then in file
# answer.
asked() {
  exec 3<>"/dev/tcp/127.0.0.1/$port" || fail "no connection"
  if [ $# -gt 1 ]; then
    printf 'POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s' "$1" \
      "${#2}" "$2" >&3
  else
    printf 'GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' "$1" >&3
  fi
  cat <&3 >answer
  exec 3<&-
}
eventually() { for _ in $(seq 600); do grep -qF -- "$2" "$1" &&
  return; sleep 0.1; done; fail "expected '$2' in $1: $(cat "$1")"; }

input() { printf '{"name": "%s", "shape": [1%s], "datatype": "%s", "data": [%s]}' "$@"; }
body="{\"inputs\": [$(input dense ", 13" FP32 0,0,0,0,0,0,0,0,0,0,0,0,0), $(input cat_0 "" INT64 \
  1), $(input cat_1 "" INT64 2), $(input cat_2 "" INT64 3)]}"

# ---- a delta that is missing while a newer one is there
rm -rf gap && cp -r model gap && mv gap/delta-2.safetensors kept
missing="delta-2.safetensors is missing, so that delta-3.safetensors cannot be taken"
fails_saying "gap: $missing: the newest version is 1" predict gap --data eval.tsv
serve gap --watch 50
has served "version 1"
eventually errors "gap: $missing: the newest version is 1"
asked /metrics
has answer 'tessera_model_version{model="model"} 1'
has answer 'tessera_model_newest_version_seen{model="model"} 3'
mv kept gap/delta-2.safetensors
eventually served "took up version 3"
stop

# ---- started again after a delta was damaged: the version before it is served
rm -rf changed && cp -r model changed && flipped changed/delta-3.safetensors 50
serve changed --watch 50
has served "version 2"
eventually errors \
  "changed/delta-3.safetensors: its bytes do not have their crc32; the model is version 2"

stop

# ---- weights that are cut while they are mapped: this model's requests fail, the server lives and
# takes up the next version
rm -rf cut && cp -r model cut && rm cut/delta-*
serve cut --watch 50
: >cut/weights-1.safetensors
asked /v2/models/model/infer "$body"
has answer "500 Internal Server Error"
gone="cut/weights-1.safetensors: it was cut, or could not be read, while it was in use: it had"
has answer "$gone $(stat -c %s model/weights-1.safetensors) bytes, and has 0 now"
asked /v2/health/live
has answer "200 OK"
for path in /v2/health/ready /v2/models/model/ready /v2/models/model/versions/1/ready; do
  asked $path
  has answer "503 Service Unavailable"
  has answer "$gone"
done
asked /v2/repository/index ""
has answer '"state":"UNAVAILABLE","reason":"its files were cut"'
asked /v2/repository/index '{"ready": true}'
lacks answer '"version":"1"'
eventually errors "$gone"
has errors "has 0 now; version 1 of model answers no request until a whole version is taken up"
sleep 0.3  # it looks some more times
[ "$(grep -cF "$gone" errors)" -eq 1 ] || fail "it is not said once: $(cat errors)"
cp -r model/. cut
kill -HUP $server
eventually served "took up version 3"
asked /v2/health/ready
has answer "200 OK"
asked /v2/models/model/ready
has answer "200 OK"
asked /v2/models/model/infer "$body"
has answer "200 OK"
stop

# ---- pruning that names every row leaves one of each table, and says so
run 0 quantize model.safetensors --prune-norm 1000 -o bare
has err "--prune, --prune-norm and --prune-untouched name every row of these tables; the row of the"
rm -rf bare

# ---- the same where ids find their rows by a hash, or are raw: nobody looks for an end that is
# gone
sed 's/"optimizer"/"managed_collision": {"kind": "growing"}, "optimizer"/' small.json >raw.json
run 0 train --config raw.json --train-rows 0:64 --threads 1 --checkpoint raw.safetensors
run 0 train --config raw.json --threads 1 --checkpoint more.safetensors
for options in "model.safetensors --prune 0.3 --remap hash" "raw.safetensors"; do
  rm -rf cut
  # shellcheck disable=SC2086
  run 0 quantize $options -o cut
  cp -r cut more
  [ "$options" != raw.safetensors ] || run 0 quantize $options --prune 0.5 -o pruned
  [ "$options" != raw.safetensors ] || has err "tables with raw ids keep all rows that ids have"
  [ "$options" != raw.safetensors ] || run 0 quantize $options --default-row mean -o default
  [ "$options" != raw.safetensors ] ||
    has err "--default-row mean changes nothing of tables whose unknown raw ids read rows"
  [ "$options" != raw.safetensors ] || run 0 export more.safetensors --delta more
  serve cut --watch 50
  : >cut/weights-1.safetensors
  for _ in 1 2; do
    asked /v2/models/model/infer "$body"
    has answer "500 Internal Server Error"
  done
  cp more/delta-2.safetensors cut 2>/dev/null && eventually errors "the model stays version 1"
  rm -rf more
  stop
done

# ---- a version number that was used twice: the digest tells them apart
serve changed --watch 50
digest() {
  asked /v2/models/model/infer "$body"
  has answer "200 OK"
  has answer "Tessera-Model-Version: 2"
  sed -nE 's/^Tessera-Model-Digest: ([0-9a-f]{16}).*/\1/p' answer
}
first=$(digest)
stop
rm -rf back && cp -r model back && rm back/delta-*
run 0 export seed9.safetensors --delta back --overwrite
serve back --watch 50
second=$(digest)
stop
[ -n "$first" ] && [ -n "$second" ] && [ "$first" != "$second" ] ||
  fail "digests '$first' and '$second'"
serve changed --watch 50
[ "$(digest)" = "$first" ] || fail "another digest for the same content"
stop
