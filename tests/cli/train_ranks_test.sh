#!/bin/bash
# The same training in one process, on ranks that are threads, and on ranks that are processes.
source "$(dirname "$0")/cli_test_lib.sh"
source "$(dirname "$0")/mpi_test_lib.sh"
sed 's/"batch_size": 64/"batch_size": 64, "epochs": 2/' small.json >two.json

# near A B: the metrics of two reports differ by 1e-3 at most.
near() {
  python3 -c 'import json,sys; a, b = (json.load(open(f)) for f in sys.argv[1:])
assert all(abs(a[k] - b[k]) <= 1e-3 for k in ("auc", "log_loss")), (a, b)' "$1" "$2" ||
    fail "$1 and $2"
}

cat >mixed.json <<'EOM'
{"tessera_sharding_plan": 1, "world_size": 4, "local_size": 4, "tables": {
  "a": {"sharding_type": "row_wise", "shards": [
    {"rank": 0, "offset": [0, 0], "size": [13, 4]},
    {"rank": 1, "offset": [13, 0], "size": [13, 4]},
    {"rank": 2, "offset": [26, 0], "size": [13, 4]},
    {"rank": 3, "offset": [39, 0], "size": [12, 4]}]},
  "b": {"sharding_type": "table_wise", "shards": [{"rank": 2, "offset": [0, 0], "size": [51, 4]}]}}}
EOM

run 0 train --config two.json --json alone.json
run 0 train --config two.json --ranks 4 --plan mixed.json --json threads.json --checkpoint threads
has out "4 ranks (local): 1 table table_wise, 1 table row_wise"
has out "best possible"
[ "$(grep -c "epoch 2:" out)" = 1 ] || fail "not said once: $(cat out)"
near alone.json threads.json
# what ranks did with their time
grep -qE '^rank +computing +in exchanges +of it waiting$' out || fail "no ranks: $(cat out)"
[ "$(grep -cE '^[0-3] +[0-9.]+ s +[0-9.]+ s +[0-9.]+ s$' out)" = 4 ] || fail "ranks: $(cat out)"
json threads.json '[r["rank"] for r in d["ranks"]] == [0, 1, 2, 3]'
json threads.json 'all(0 < r["exchange_seconds"] < r["seconds"] for r in d["ranks"])'
json threads.json 'min(r["waiting_seconds"] for r in d["ranks"]) == 0'
json threads.json 'd["ranks"][0]["peak_bytes"] > 0'
json alone.json '"ranks" not in d'

# ---- a plan that is found: the time that it predicts, and the plan itself
run 0 train --config two.json --ranks 4 --plan auto --save-plan found.json --checkpoint found
has out "plan: "
has out "ms for tables on the busiest rank by the bandwidth cost model"
run 0 train --config two.json --ranks 4 --plan found.json --save-plan again.json --checkpoint given
lacks out "ms for tables on the busiest rank"
cmp found.json again.json || fail "another plan was saved than was given"
for folder in found given; do run 0 export "$folder" --out "$folder.safetensors"; done
cmp found.safetensors given.safetensors || fail "the plan that was saved: other bits"
run 0 train --config two.json --ranks 4 --save-plan dry.json --dry-run
has out "dry.json (plan)"
[ ! -e dry.json ] || fail "a dry run wrote a plan"
run 1 train --config two.json --save-plan alone.plan
has err "--save-plan needs --ranks N, or mpirun"
run 1 train --config two.json --ranks 4 --save-plan two.json
has err "two.json"
run 1 train --config two.json --ranks 4 --plan found.json --save-plan found.json
has err "found.json"

# ---- tables on disk: in the configuration, or by a plan's kernel; the bits of tables in memory
sed 's/"dim": 4,/"dim": 4, "location": "DISK", "cache": {"load_factor": 0.3},/' two.json >disk.json
sed '/"a":/s/"row_wise",/"row_wise", "compute_kernel": "key_value",/' mixed.json >disk.plan
run 0 train --config disk.json --ranks 4 --plan mixed.json --checkpoint disk --json disk.report
has out "2 tables on disk ("
json disk.report 'd["disk"]["tables"] == 2 and 0 < d["disk"]["hits"] < d["disk"]["rows"]'
run 0 train --config two.json --ranks 4 --plan disk.plan --checkpoint by_plan
has out "1 table on disk ("
run 0 train --resume disk --ranks 3 --plan row_wise --epochs 3 --checkpoint disk3
run 0 train --resume threads --ranks 3 --plan row_wise --epochs 3 --checkpoint threads3
for folder in threads disk by_plan threads3 disk3; do
  run 0 export "$folder" --out "$folder.st"
done
for folder in disk by_plan; do
  same_tensors threads.st "$folder.st" || fail "$folder: other bits"
done
same_tensors threads3.st disk3.st || fail "resumed from disk: other bits"
run 0 train --config disk.json --ranks 4 --plan auto --save-plan auto.plan
json auto.plan 'all(t["compute_kernel"] == "key_value" for t in d["tables"].values())'

# ---- threads: those of the environment are all ranks' together
TESSERA_THREADS=4 run 0 train --config small.json --ranks 2
has out "2 threads a rank"

# ---- processes: the same bits
under_mpirun() { "${mpirun[@]}" -n 4 "$tessera" "$@"; }
under_mpirun train --config two.json --plan mixed.json --json processes.json \
  --checkpoint processes >out 2>err ||
  fail "mpirun: $(cat out err)"
has out "4 ranks (mpi)"
[ "$(grep -c "epoch 2:" out)" = 1 ] || fail "not said once: $(cat out)"
for folder in threads processes; do run 0 export "$folder" --out "$folder.safetensors"; done
cmp threads.safetensors processes.safetensors || fail "processes: other bits than threads"
if limit=60 under_mpirun train --config two.json --checkpoint processes >out 2>err; then
  fail "it was written over"
fi
has err "processes: processes/index.json is there, which this command did not begin from"
lacks out "epoch 1"
if under_mpirun train --config two.json --ranks 4 >out 2>err; then fail \
  "--ranks under mpirun was taken"; fi
has err "--ranks under mpirun"

# ---- ranks of different builds: a copy of the program whose build ID is another
python3 - "$tessera" other <<'EOM'
import re, sys
program = bytearray(open(sys.argv[1], "rb").read())
note = re.search(rb"\x04\0\0\0.\0\0\0\x03\0\0\0GNU\0", program, re.DOTALL)
program[note.end()] ^= 1
open(sys.argv[2], "wb").write(program)
EOM
chmod +x other
arguments=(train --config two.json --plan table_wise)
if limit=60 by_rank "$tessera" "${arguments[@]}" -- ./other "${arguments[@]}" >out 2>err; then
  fail "two builds went along"
fi
has err "the program's build"

# ---- a rank that is killed
sed 's/"epochs": 2/"epochs": 100000/' two.json >endless.json
start_ranks 3 train --config endless.json --plan row_wise
sleep 1
kill -9 "${processes[2]}"
ranks_end 137
has err "process rank 2 with PID"

# ---- resumed: under the same plan with the same bits, under others, and in one process
run 0 train --config two.json --epochs 1 --ranks 4 --plan mixed.json --checkpoint part
run 0 train --resume part --epochs 2 --ranks 4 --plan mixed.json --checkpoint part
has out "resumed part: 1 epoch done, next row 0, step 79"
run 0 export part --out part.safetensors
for saved in part threads.safetensors; do
  run 0 inspect "$saved" --json
  grep -v -e '"ranks"' -e '"sharding"' -e '"optimizer_bytes"' out | tr -d ',' >"$saved.json"
done
run 0 inspect part
has out "table_wise"
has out "saved by 4 ranks"
cmp part.json threads.safetensors.json || fail "inspect: $(diff part.json threads.safetensors.json)"
cmp part.safetensors threads.safetensors || fail "resumed: other bits"
run 0 train --resume threads --ranks 3 --json other.json
near threads.json other.json
run 0 train --resume threads.safetensors --epochs 3
has out "epoch 3:"

# ---- raw ids: in parts, which other numbers of ranks go on with, and a server reads
sed 's/"optimizer"/"managed_collision": {"kind": "growing", "num_parts": 3}, "optimizer"/' \
  two.json >raw.json
run 0 train --config raw.json --ranks 2 --epochs 1 --checkpoint raw
has out "raw ids of 2 tables:"
run 0 train --resume raw --epochs 2 --ranks 3 --checkpoint raw --json raw_ranks.json
run 0 train --config raw.json --json raw_alone.json
near raw_ranks.json raw_alone.json
run 0 train --config raw.json --ranks 4 --ranks-per-node 2 --plan table_row_wise \
  --json raw_nodes.json
has out "4 ranks (local): 2 tables table_row_wise"
near raw_nodes.json raw_alone.json
run 0 export raw --out raw.safetensors
run 0 train --resume raw.safetensors --epochs 3 --checkpoint raw_alone.safetensors
run 0 train --resume raw --epochs 3 --checkpoint raw_direct.safetensors
cmp raw_alone.safetensors raw_direct.safetensors ||
  fail "raw ids of a folder of ranks: other bits than of its file"
run 0 train --resume raw.safetensors --epochs 3 --ranks 2 --checkpoint raw_of_file
run 0 export raw_of_file --out raw_of_file.safetensors
run 0 train --resume raw --epochs 3 --ranks 2 --checkpoint raw_of_folder
run 0 export raw_of_folder --out raw_of_folder.safetensors
cmp raw_of_file.safetensors raw_of_folder.safetensors ||
  fail "raw ids of a file, over ranks: other bits than of the folder"
run 0 quantize raw.safetensors -o raw_model --bits 32
run 0 generate --rows 1000 --first 5000 --vocabulary 50 eval.tsv  # the evaluation's rows
run 0 predict raw_model --data eval.tsv --json served.json
near raw_ranks.json served.json
sed 's/, "num_parts": 3//' raw.json >whole.json
fails_saying "expected num_parts" train --config whole.json --ranks 2

# Raw ids of one process go to parts, and over ranks; what each id learned goes with it.
sed -i 's/"rows": 51/"rows": 153/g' whole.json
sed 's/"growing"/&, "num_parts": 3/' whole.json >parts.json
run 0 train --config whole.json --epochs 1 --checkpoint whole.safetensors
run 0 train --resume whole.safetensors --epochs 2 --json whole_ids.json
run 0 train --config parts.json --resume whole.safetensors --ranks 3 --plan row_wise --epochs 2 \
  --checkpoint raw_parts --json parts_ids.json
has out "resume: table 'a': "
has out "raw ids went to 3 parts"
has out "managed_collision.num_parts was none, is 3"
near whole_ids.json parts_ids.json
run 0 train --resume whole.safetensors --set managed_collision.num_parts=3 --ranks 3 \
  --plan row_wise --epochs 2 --json parts_set.json
has out "raw ids went to 3 parts"
near parts_ids.json parts_set.json
run 0 inspect raw_parts
has out "raw ids of rows"
sed 's/"growing"/&, "shared_rows": 4/' parts.json >shared.json
run 0 train --config shared.json --resume raw_parts --ranks 2 --plan row_wise --epochs 3
has out "managed_collision.shared_rows was 1, is 4"
has out "raw ids stayed in 3 parts; ids without a row share 4 rows in each part, where"
run 0 train --config whole.json --resume raw_parts --epochs 3 --incremental --checkpoint raw_chain
has out "raw ids went to one part"
run 0 train --config parts.json --resume raw_chain --epochs 4 --incremental --checkpoint raw_chain
ls raw_chain | grep -q "0000000[1-9].base" ||
  fail "a chain went on across other parts: $(ls raw_chain)"
fails_saying "whole.safetensors: table a: its raw ids are in no parts" reshard whole.safetensors \
  --ranks 2 --plan row_wise --out resharded
run 0 reshard raw_parts --ranks 2 --plan row_wise --out resharded
run 0 train --resume resharded --ranks 2 --plan row_wise --epochs 3
run 0 reshard raw_parts --ranks 2 --plan table_row_wise --out resharded_to_node
fails_saying "--ranks: expected a whole number from 1 to 1024, got 'two'" train --ranks two
fails_saying "--ranks: expected a whole number from 1 to 1024, got '2000'" train --ranks 2000

# ---- what does not fit
fails_saying "--plan needs --ranks" train --config two.json --plan row_wise
fails_saying "--wire-codecs needs --ranks" train --config two.json --wire-codecs fp16
fails_saying "it is for 4 ranks" train --config two.json --ranks 2 --plan mixed.json
fails_saying "--plan nowhere.json: there is no such file, and plans by a word are auto" train \
  --config two.json --ranks 2 --plan nowhere.json
fails_saying "fp17" train --config two.json --ranks 2 --wire-codecs fp17
fails_saying "fp17" train --config two.json --ranks 2 --wire-codecs fp16/fp16/fp17
run 0 train --config two.json --ranks 2 --plan data_parallel --wire-codecs int8
has out "--wire-codecs int8: no rows travel, as all tables are data_parallel"
run 0 train --config two.json --ranks 2 --wire-codecs fp32/fp32/bf16 --json dense.json
has out "embeddings, their gradients and dense ones travel as fp32/fp32/bf16"
near alone.json dense.json
fails_saying "this saves checkpoints in a folder" train --config two.json --ranks 2 \
  --checkpoint threads.safetensors

# ---- a rank that mpirun has bound to fewer cores than its share is told so
if [ "$("${mpirun[@]}" -n 1 nproc)" -lt "$(nproc)" ]; then
  "${mpirun[@]}" -n 1 "$tessera" train --config small.json >out 2>err || fail "bound: $(cat err)"
  has err "rank 0 is bound to 1 of the machine's $(nproc) cores"
  "${mpirun[@]}" -n 1 --bind-to none "$tessera" train --config small.json >out 2>err ||
    fail "not bound: $(cat err)"
  lacks err "is bound to"
fi
