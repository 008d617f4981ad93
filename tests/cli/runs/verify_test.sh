#!/bin/bash
# tessera train --verify: a run is held against the record of another one of it.
source "$(dirname "$0")/../cli_test_lib.sh"
train=(train --config small.json)  # 79 steps an epoch

# ---- the first run writes the record, others are compared: threads, levels, pipelines
run 0 "${train[@]}" --threads 1 --verify record.jsonl --verify-every 10
has out "verify record.jsonl: equal digests: 0, added: 9"
cp record.jsonl first.jsonl
run 0 "${train[@]}" --threads 3 --verify record.jsonl --json equal.json
has out "verify record.jsonl: equal digests: 9, added: 1"  # step 65, of every 64th
json equal.json 'd["verify"] == {"record": "record.jsonl", "equal": 9, "added": 1, \
"difference": None} and d["rows"] == 5000'
run 0 "${train[@]}" --json without.json
json without.json '"verify" not in d'
TESSERA_ISA=baseline run 0 "${train[@]}" --threads 2 --pipeline base --verify record.jsonl
has out "equal digests: 10, added: 0"
run 0 "${train[@]}" --ranks 1 --plan row_wise --verify record.jsonl
has out "equal digests: 10, added: 0"

fails_saying "record.jsonl: the record is of --pipeline none, whose bits are not those of \
semi_sync" "${train[@]}" --pipeline semi_sync --verify record.jsonl

# ---- a run that stops and goes on
run 0 "${train[@]}" --verify parts.jsonl --verify-every 10 --checkpoint m.safetensors
run 0 train --resume m.safetensors --epochs 2 --verify parts.jsonl --verify-every 10
has out "equal digests: 1, added: 9"
run 0 "${train[@]}" --epochs 2 --verify parts.jsonl
has out "equal digests: 17, added: 2"  # steps 65 and 129

# ---- another run: the step and the place
fails_saying "record.jsonl: the record is of another configuration: train.seed was" \
  "${train[@]}" --seed 2 --verify record.jsonl
python3 - record.jsonl <<'EOF'
import json, sys
lines = open(sys.argv[1]).read().splitlines()
for i, line in enumerate(lines):
    step = json.loads(line)
    if step.get("step") == 31:
        step["rows"] = "0" * 48
        lines[i] = json.dumps(step)
open("changed.jsonl", "w").write("\n".join(lines) + "\n")
EOF
fails_saying "changed.jsonl: step 31 begins with other values than the record has: several rows of \
tables (step 21 was equal)" "${train[@]}" --verify changed.jsonl --json equal.json
json equal.json 'list(d) == ["verify"] and d["verify"]["equal"] == 3 and \
d["verify"]["difference"].startswith("changed.jsonl: step 31 begins with other values")'
fails_saying "changed.jsonl: step 31 begins with other values" "${train[@]}" --ranks 1 \
  --verify changed.jsonl --json equal.json  # in place of the report of a difference
json equal.json 'd["verify"]["equal"] == 3'
run 0 "${train[@]}" --json equal.json
json equal.json 'd["rows"] == 5000 and "verify" not in d'
fails_saying "changed.jsonl: step 31 begins" "${train[@]}" --run kept --verify changed.jsonl
json kept/result.json 'list(d) == ["verify"]'
fails_saying "changed.jsonl: step 31 begins" "${train[@]}" --run kept --verify changed.jsonl
run 0 "${train[@]}" --run kept
json kept/result.json 'd["rows"] == 5000 and "verify" not in d'
echo '{"verify": {"mine": 1}}' >verify.json
fails_saying "verify.json: a file is there that is not a report of tessera train" "${train[@]}" \
  --json verify.json

# ---- what it does not go with
fails_saying "--verify: expected FILE, got an empty value" "${train[@]}" --verify ""
fails_saying "not beside --sharding-group-size" "${train[@]}" --ranks 2 --sharding-group-size 1 \
  --verify other.jsonl
fails_saying "record.jsonl: the record is of --wire-codecs fp32, whose bits are not those of bf16" \
  "${train[@]}" --ranks 1 --wire-codecs bf16 --verify record.jsonl
fails_saying "--verify-every needs --verify to say where" "${train[@]}" --verify-every 2
cp small.json other.json
fails_saying "other.json: a file is there that is not a record of tessera train --verify" \
  "${train[@]}" --verify other.json
sed '3s/rows/row/' record.jsonl >broken.jsonl
fails_saying "broken.jsonl:3: " "${train[@]}" --verify broken.jsonl
mend="bring the whole file back, name another one, or remove it to begin a new record"
has err ": $mend"
sed '3s/"rows":"[^"]*"/"rows":"12"/' record.jsonl >broken.jsonl
fails_saying "broken.jsonl:3: rows: expected three numbers below 2^61 − 1, of 16 hexadecimal \
digits each, got \"12\": $mend" "${train[@]}" --verify broken.jsonl
head -c 200 record.jsonl >broken.jsonl
fails_saying "broken.jsonl:1: expected a whole line that says of which training the record is, got \
one that is cut off: $mend" "${train[@]}" --verify broken.jsonl
sed '1s/"tessera_verify":2/"tessera_verify":9/' record.jsonl >broken.jsonl
fails_saying "broken.jsonl:1: it is no record of tessera train --verify: tessera_verify: this \
library reads version 2, got 9: $mend" "${train[@]}" --verify broken.jsonl
fails_saying "other.json:1: it is no record of tessera train --verify: expected \
{\"tessera_verify\": …, got '{" "${train[@]}" --verify other.json --overwrite
has err "': name another file"
cmp other.json small.json || fail "a file that is no record was changed"
fails_saying "is 2: train with what it was, or name another file" "${train[@]}" --seed 2 \
  --verify record.jsonl
fails_saying "those of semi_sync: train with that pipeline, or name another file" "${train[@]}" \
  --pipeline semi_sync --verify record.jsonl
cp record.jsonl cut.jsonl
truncate -s -30 cut.jsonl  # by a kill: the last line is written again
run 0 "${train[@]}" --verify cut.jsonl
cmp cut.jsonl record.jsonl || fail "a record whose last line was cut"
[ ! -e other.jsonl ] || fail "a refused run left its record"
rm -f other.jsonl
run 0 "${train[@]}" --verify other.jsonl --dry-run
has out "other.jsonl (record)"
fails_saying "train.seed was" "${train[@]}" --seed 2 --verify record.jsonl --dry-run
[ ! -e other.jsonl ] || fail "a dry run left a record"

# ---- ranks: one record of as many ranks, under all plans that have the same bits
elementwise=("${train[@]}" --set 'optimizer.sparse={"name": "adagrad", "lr": 0.1}')
of_ranks=("${elementwise[@]}" --ranks 2)
run 0 "${of_ranks[@]}" --plan table_wise --verify ranks.jsonl --verify-every 10 \
  --checkpoint saved_by_ranks
has out "verify ranks.jsonl: equal digests: 0, added: 9"
for plan in row_wise data_parallel; do
  run 0 "${of_ranks[@]}" --plan $plan --pipeline base --verify ranks.jsonl --json equal.json
  json equal.json 'd["verify"]["equal"] >= 9 and d["verify"]["difference"] is None'
done
run 0 train --resume saved_by_ranks --epochs 2 --ranks 2 --plan data_parallel --verify ranks.jsonl
has out "equal digests: 1, added: "
sed "s/\"rows\":\"[^\"]*\"/\"rows\":\"$(printf 0%.0s {1..48})\"/" ranks.jsonl >changed.jsonl
fails_saying "changed.jsonl: step 1 begins with other values than the record has: several rows of \
tables (no step before it was compared)" "${of_ranks[@]}" --plan table_wise \
  --verify changed.jsonl --json equal.json
json equal.json 'list(d) == ["verify"]'
fails_saying "compared; plans that cut tables otherwise may sum otherwise: table " \
  "${of_ranks[@]}" --plan row_wise --verify changed.jsonl
fails_saying "ranks.jsonl: the record is of a training on 2 ranks, whose sums over a batch are in \
another order than those of 3 ranks: train on as many ranks, or name another file" \
  "${elementwise[@]}" --ranks 3 --verify ranks.jsonl
fails_saying "than those of one process" train --resume saved_by_ranks --epochs 3 --verify \
  ranks.jsonl
run 0 "${of_ranks[@]}" --plan row_wise --save-plan in_memory.json
sed 's/"fused"/"key_value"/' in_memory.json >on_disk.json
fails_saying "not beside kernel key_value of table" "${of_ranks[@]}" --plan on_disk.json \
  --verify ranks.jsonl --dry-run

# ---- a record that cannot grow says why
(ulimit -f 1; "$tessera" train --config small.json --verify full.jsonl >out 2>err)
[ $? -eq 1 ] || fail "expected exit 1: $(cat out err)"
has err "full.jsonl: cannot be written: File too large"
