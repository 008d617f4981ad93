#!/bin/bash
# Ranks of tessera train on emulated GPUs: which GPU each works on, and what carries tensors.
source "$(dirname "$0")/cli_test_lib.sh"
source "$(dirname "$0")/mpi_test_lib.sh"
tessera="$TEST_SRCDIR/$TEST_WORKSPACE/tests/cli/tessera_with_symbols"
fake_nccl="$TEST_SRCDIR/$TEST_WORKSPACE/tests/testing/libfake_nccl.so"
sed 's/"rows": 5000, "eval_rows": 1000/"rows": 320, "eval_rows": 64/' small.json >gpus.json
export TESSERA_EMULATION_DEVICES=2
host="tensors travel between the GPUs through the host:"
shared="ranks 0 and 1 share a GPU, and NCCL takes one rank a GPU"

# trains NAME ARGS…: a training whose checkpoint is NAME.safetensors.
trains() {
  local name=$1
  shift
  run 0 train --config gpus.json --checkpoint "$name" "$@"
  cp out "$name.out"
  run 0 export "$name" --out "$name.safetensors" --weights-only
  cp "$name.out" out
}

# ---- threads, with a GPU each
trains through_host --ranks 2 --device cuda --plan row_wise --comm host
has out "2 ranks (local): 2 tables row_wise"
lacks out "$host"
trains without_nccl --ranks 2 --device cuda --plan row_wise
has out "2 ranks (local)"
[ "$(grep -c "$host on rank 0, NCCL was not found. Install it" out)" = 1 ] || fail "$(cat out)"
export TESSERA_NCCL_LIBRARY=$fake_nccl
for plan in row_wise table_wise column_wise data_parallel; do
  trains host_$plan --ranks 2 --device cuda --plan $plan --comm host
  has out "2 ranks (local)"
  trains nccl_$plan --ranks 2 --device cuda --plan $plan
  has out "2 ranks (nccl)"
  lacks out "$host"
  same_tensors host_$plan.safetensors nccl_$plan.safetensors || fail "$plan: other bits by NCCL"
done
for comm in host nccl; do
  trains groups_$comm --ranks 2 --device cuda --sharding-group-size 1 --sync-interval 3 --comm $comm
  has out "2 ranks (${comm/host/local}) in 2 sharding groups of 1, averaged every 3 steps"
done
same_tensors groups_host.safetensors groups_nccl.safetensors || fail "groups: other bits by NCCL"
same_tensors through_host.safetensors without_nccl.safetensors || fail "other bits without NCCL"
trains one_gpu --ranks 2 --device cuda:1 --plan row_wise
has out "$host $shared"
has out "cuda:1 (emulated on the CPU)"
same_tensors through_host.safetensors one_gpu.safetensors || fail "other bits on one GPU"
trains three --ranks 3 --device cuda --plan row_wise
has out "$host ranks 0 and 2 share a GPU"
trains alone --ranks 1 --device cuda --comm nccl
has out "1 rank (nccl)"
for pipeline in base sparse_dist prefetch; do
  trains $pipeline --ranks 2 --device cuda --plan row_wise --pipeline $pipeline
  has out "2 ranks (nccl)"
  same_tensors through_host.safetensors $pipeline.safetensors || fail "$pipeline: other bits"
done

# ---- calibration measures the exchanges that a training makes
for comm in auto host; do
  run 0 calibrate --quick --device cuda --ranks 2 --comm $comm --json -o $comm.json
  [ $comm = auto ] && backend=nccl || backend=local
  has out "\"backend\":\"$backend\""
  run 0 plan --tables gpus.json --topology $comm.json --validate 2 \
    --set tables[0].location=MANAGED_CACHING
  has out "this plan"
done
fails_saying "--comm nccl beside --device cpu" calibrate --quick --ranks 2 --comm nccl

# ---- processes, with a GPU each
under_mpirun() { "${mpirun[@]}" -n 2 "$tessera" train --config gpus.json "$@" >out 2>err; }
under_mpirun --device cuda --plan row_wise --comm host --checkpoint processes ||
  fail "mpirun: $(cat out err)"
has out "2 ranks (mpi)"
run 0 export processes --out processes.safetensors --weights-only
same_tensors through_host.safetensors processes.safetensors || fail "processes: other bits"
TESSERA_NCCL_LIBRARY=nowhere.so under_mpirun --device cuda || fail "mpirun: $(cat out err)"
has out "$host on rank 0, NCCL was not found; nowhere.so: cannot open"
TESSERA_EMULATION_DEVICES=1 under_mpirun --device cuda || fail "mpirun: $(cat out err)"
has out "$host $shared"

# ---- more than a GPU's memory, which is 4 GiB
large=(train --config gpus.json --set "tables[name=a].rows=300000000" --device cuda)
needs="the training on a GPU takes about 5.6 GiB of memory: tables' rows 4.5 GiB (a 5.6 GiB, b"
fails_saying "$needs" "${large[@]}"
has err "GiB (free on cuda:0). What would fit: "
has err 'tables in host memory behind a cache ("location": "MANAGED_CACHING"'
has err "or ranks on 2 such GPUs"
fails_saying "$needs" "${large[@]}:1" --ranks 2 --plan row_wise
has err "GiB (free on cuda:1). What would fit: "
fails_saying "takes about 5.6 GiB" "${large[@]}" --ranks 2 --plan data_parallel
has err "GiB (free on cuda:"

# ---- what cannot be
fails_saying "--comm nccl beside --device cuda:1: $shared; --comm host exchanges" \
  train --config gpus.json --ranks 2 --device cuda:1 --comm nccl
fails_saying "--comm nccl beside --device cuda: ranks 0 and 2 share a GPU" \
  train --config gpus.json --ranks 3 --device cuda --comm nccl
TESSERA_NCCL_LIBRARY= fails_saying "--comm nccl beside --device cuda: on rank 0, NCCL was not" \
  train --config gpus.json --ranks 2 --device cuda --comm nccl
fails_saying "--comm nccl beside --device cpu" train --config gpus.json --ranks 2 --comm nccl
fails_saying "--comm fast: expected auto, nccl or host" \
  train --config gpus.json --ranks 2 --device cuda --comm fast
fails_saying "--comm needs --ranks N, or mpirun" train --config gpus.json --device cuda --comm host
if under_mpirun --device cuda:0 --comm nccl; then fail "NCCL took two ranks on a GPU"; fi
has err "--comm nccl beside --device cuda:0: $shared"
