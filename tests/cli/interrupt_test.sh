#!/bin/bash
# SIGINT, SIGTERM, SIGUSR1: the step is finished, the checkpoint saved if one was asked for, exit
# 130, 143 or 138; and what was saved goes on. Signals in a row are one; a later one, or a time,
# ends the process as it stands.
source "$(dirname "$0")/cli_test_lib.sh"
source "$(dirname "$0")/mpi_test_lib.sh"
sed 's/"rows": 5000/"rows": 50000000/' small.json >long.json

# interrupt SIGNALS CODE ARGS…: starts a training, sends it the signals once it has computed for a
# second, with a pause between them, expects the exit code, or -N for a process that signal N has
# ended. Signals joined by + come within some milliseconds.
interrupt() {
  local signals=$1 want=$2
  shift 2
  # A shell without job control starts its background jobs with SIGINT ignored; python undoes that.
  python3 - "$signals" "$want" "$tessera" "$@" >out 2>err <<'EOF' ||
import os, signal, subprocess, sys, time
signals, want = sys.argv[1].split(), int(sys.argv[2])
signal.signal(signal.SIGINT, signal.default_int_handler)
process = subprocess.Popen(sys.argv[3:], stdout=subprocess.PIPE)
process.stdout.readline()  # the model is made, the training begins
def computed():
  times = open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()[11:13]
  return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
begun = computed()
while computed() < begun + 1 and process.poll() is None: time.sleep(0.01)
for i, burst in enumerate(signals):
  if i > 0: time.sleep(2)
  for name in burst.split("+"):
    process.send_signal(getattr(signal, name))
    time.sleep(0.002)  # else the kernel makes one of two that are alike
got = process.wait()
if got != want: sys.exit(f"expected exit {want}, got {got}")
EOF
    fail "$signals $*: $(cat out err)"
}

# stands FILE: it was saved after a step.
stands() {
  run 0 inspect "$1" --json
  json out 'd["progress"]["epoch"] == 0 and d["progress"]["row"] == 64 * d["progress"]["step"] > 0'
}

interrupt SIGINT 130 train --config long.json
has err "nothing was saved"
interrupt SIGTERM 143 train --config long.json
has err "interrupted by SIGTERM: nothing was saved"
interrupt SIGUSR1 138 train --config long.json
has err "interrupted by SIGUSR1: nothing was saved"

interrupt SIGTERM 143 train --config long.json --checkpoint stopped.safetensors
has err "saved stopped.safetensors"
stands stopped.safetensors
step=$(python3 -c 'import json; print(json.load(open("out"))["progress"]["step"])')

# timeout, Slurm and Kubernetes send one wish more than once.
for burst in SIGTERM+SIGTERM+SIGTERM SIGTERM+SIGINT+SIGTERM; do
  interrupt $burst 143 train --config long.json --checkpoint burst.safetensors --overwrite
  has err "interrupted by SIGTERM: saved burst.safetensors"
  stands burst.safetensors
done

# Going on to a later step gives the bits of a training that never stopped.
rows=$((64 * (step + 100)))
run 0 train --resume stopped.safetensors --train-rows 0:$rows --eval-rows $rows:$((rows + 10)) \
  --checkpoint a.safetensors
run 0 train --config long.json --train-rows 0:$rows --eval-rows $rows:$((rows + 10)) \
  --checkpoint b.safetensors
cmp a.safetensors b.safetensors || fail "resumed: other bits"

# What it says goes on does: the same command, which saves where it was told to.
all=(--config long.json --seed 5 --batch-size 32 --checkpoint-every 100000 --metrics lines.jsonl \
  --json report.json)
echo '{}' >lines.jsonl
interrupt SIGTERM 143 train "${all[@]}" --checkpoint again.safetensors --overwrite
has err "the same command with --resume again.safetensors in place of --overwrite goes on"
before=$(wc -l <lines.jsonl)
interrupt SIGINT 130 train "${all[@]}" --checkpoint again.safetensors --resume again.safetensors
has err "saved again.safetensors; the same command with --resume again.safetensors goes on"
[ "$(wc -l <lines.jsonl)" -ge "$before" ] || fail "metrics of the first run are gone"
run 0 inspect again.safetensors --json
rows=$(python3 -c 'import json; print(json.load(open("out"))["progress"]["row"] + 3200)')
ranges=(--train-rows 0:$rows --eval-rows $rows:$((rows + 10)))
run 0 train "${all[@]}" "${ranges[@]}" --checkpoint again.safetensors --resume again.safetensors
run 0 train --config long.json --seed 5 --batch-size 32 "${ranges[@]}" \
  --checkpoint whole.safetensors
# metrics know times
for model in again whole; do run 0 export $model.safetensors --out $model.weights \
  --weights-only; done
same_tensors again.weights whole.weights || fail "followed literally: other bits"

# Ranks stop after the same step.
interrupt SIGINT 130 train --config long.json --ranks 3 --checkpoint ranks
has err "saved ranks"
run 0 export ranks --out ranks.safetensors
stands ranks.safetensors

# ---- a step that takes long
interrupt "SIGTERM SIGTERM" -15 train --config long.json --batch-size 20000000 \
  --checkpoint never.safetensors
interrupt "SIGINT SIGTERM" -15 train --config long.json --batch-size 20000000
interrupt SIGTERM 143 train --config long.json --batch-size 20000000 --stop-within 1 \
  --checkpoint never.safetensors
has err "took longer than --stop-within"
[ ! -e never.safetensors ] || fail "a step that was not finished was saved"

# ---- commands that write: nothing half written is left
# ends_clean SCRATCH WRITTEN ARGS…: SIGTERM once the command has made files named SCRATCH leaves
# none of these.
ends_clean() {
  python3 - "$tessera" "$@" <<'EOF' || fail "ends_clean $*"
import glob, signal, subprocess, sys, time
tessera, scratch, written, *args = sys.argv[1:]
process = subprocess.Popen([tessera, *args], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
while not glob.glob(scratch) and process.poll() is None: time.sleep(0.01)
for _ in range(3):
  process.send_signal(signal.SIGTERM)
  time.sleep(0.001)
said = process.communicate()[1].decode()
if process.returncode != 143 or "ended by SIGTERM" not in said:
  sys.exit(f"exit {process.returncode}: {said}")
left = [f for pattern in (written, "." + written) for f in glob.glob(pattern, include_hidden=True)]
if left: sys.exit(f"left: {left}")
EOF
}
ends_clean "made.tsv.*.tmp" "made.tsv*" generate --rows 50000000 made.tsv
run 0 generate --rows 300000 --vocabulary 50 rows.tsv
mkfifo endless.tsv
(cat rows.tsv; exec sleep 1000) >endless.tsv &  # rows that have no end
feeder=$!
ends_clean "ready/*/*" "ready*" preprocess endless.tsv -o ready
kill $feeder

# ---- processes: one rank that gets the signal stops all; and all get SIGUSR1 from mpirun
# start_processes ARGS…: starts two ranks, and waits until they have made a step.
start_processes() {
  rm -f steps.jsonl
  start_ranks 2 train --config long.json --plan row_wise --checkpoint processes \
    --metrics steps.jsonl --set metrics.compute_interval_steps=1 "$@"
  until [ -s steps.jsonl ] || ! kill -0 $job; do sleep 0.1; done
}
start_processes
kill -TERM "${processes[1]}"
ranks_end 143
has err "interrupted by SIGTERM: saved processes"
run 0 export processes --out processes.safetensors
stands processes.safetensors
rm -r processes processes.safetensors
start_processes
kill -USR1 $job
ranks_end 138
has err "interrupted by SIGUSR1: saved processes"
run 0 export processes --out processes.safetensors
stands processes.safetensors
rm -r processes processes.safetensors

# mpirun passes SIGTERM on, too, and then kills its ranks: that of Open MPI 5 after 0.25 s, which
# may be before the save. The last checkpoint is whole.
mpirun+=(--mca odls_base_sigkill_timeout 5)  # of Open MPI 4, else 1 s; it waits twice as long
start_processes --checkpoint-every 20
until [ -e processes/index.json ] || ! kill -0 $job; do sleep 0.1; done
kill -TERM $job
ranks_end 1
[ "$open_mpi" -ge 5 ] || has err "interrupted by SIGTERM: saved processes"
run 0 export processes --out processes.safetensors
stands processes.safetensors
