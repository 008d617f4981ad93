# Sourced by the tests of tessera launch.
lib=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$lib/cli_test_lib.sh"
source "$lib/mpi_test_lib.sh"
export TESSERA_THREADS=1
rows=${rows:-19200}
sed "s/\"rows\": 5000/\"rows\": $rows/; s/\"eval_rows\": 1000/\"eval_rows\": 200/" \
  small.json >launched.json
train=(train --config launched.json --plan row_wise)

# launch FLAGS… -- TRAIN…: starts tessera launch in the background; its output in files out and err.
launch() {
  env --default-signal=HUP "$tessera" launch "$@" >out 2>err &
  job=$!
}

# wait_for COMMAND…: waits until it is true; false if the launch ends before.
wait_for() {
  until "$@" 2>/dev/null; do
    kill -0 $job 2>/dev/null || return
    sleep 0.01
  done
}

# process CHECKPOINT START RANK: prints the process of a rank of a start, once it runs; false if the
# launch ends before.
process() {
  local report="$(dirname "$1")/.$(basename "$1").launch/$2/$3.process"
  wait_for [ -s "$report" ] && grep -oP '"process": *\K\d+' "$report"
}

is_started() { true; }
is_saved() { ls "$1"/*.json >/dev/null; }

# lose WHEN SIGNAL CHECKPOINT RANK FLAGS… -- TRAIN…: a rank gets the signal once WHEN (is_started or
# is_saved) is true of the checkpoint, and the launch goes on to its end. False if the training had
# ended before the signal.
lose() {
  local when=$1 signal=$2 checkpoint=$3 rank=$4 victim
  launch "${@:5}"
  victim=$(process "$checkpoint" 0 "$rank") && wait_for "$when" "$checkpoint" &&
    kill "-$signal" "$victim" 2>/dev/null
  ends 0
  grep -q "rank $rank was lost" err
}

# in_time COMMAND…: runs it until it is true, each time without the files that it made before. It is
# false where a training ended before the test sent its signal, as may happen on a busy machine.
in_time() {
  local before attempt
  before=$(ls -A)
  for attempt in {1..20}; do
    "$@" && return
    comm -13 <(echo "$before") <(ls -A) | xargs -d '\n' rm -rf
  done
  fail "every training ended before the signal: $*"
}

# ends CODE: the launch ends with the exit code.
ends() {
  wait $job
  local got=$?
  [ $got -eq "$1" ] || fail "launch: expected exit $1, got $got: $(cat out err)"
}

# step_from CHECKPOINT: the step that the last restart went on from.
step_from() { grep -oP "from step \K\d+(?= of $1 )" err | tail -n 1; }

# undisturbed RANKS: trains without a loss, and keeps every checkpoint: undisturbed.step-….
undisturbed() {
  run 0 "${train[@]}" --ranks "$1" --checkpoint undisturbed --checkpoint-every 20 --keep-last 10000
}

# same_as_undisturbed CHECKPOINT STEP RANKS: it has the tensors of the undisturbed training that
# went on from the step with so many ranks.
same_as_undisturbed() {
  local from=undisturbed.step-$(printf %08d "$2")
  [ -d "$from" ] || fail "no checkpoint of step $2: $(ls -d undisturbed*)"
  rm -rf changed
  run 0 "${train[@]}" --ranks "$3" --resume "$from" --checkpoint changed
  same_tables "$1" changed
}

# same_tables CHECKPOINT CHECKPOINT: they have the same parameters and states of optimizers, bit for
# bit. What metrics remember is of the ranks that added it.
same_tables() {
  run 0 export "$1" --out is.safetensors --overwrite
  run 0 export "$2" --out want.safetensors --overwrite
  python3 - is.safetensors want.safetensors <<'PYTHON' || fail "$1 and $2 differ"
import json, sys
def tensors(path):
  file = open(path, "rb").read()
  end = 8 + int.from_bytes(file[:8], "little")
  header = json.loads(file[8:end])
  bytes_of = lambda t: file[end + t["data_offsets"][0]:end + t["data_offsets"][1]]
  return {name: (t["dtype"], t["shape"], bytes_of(t)) for name, t in header.items()
          if name != "__metadata__" and not name.startswith("metrics.")}
is_, want = map(tensors, sys.argv[1:])
sys.exit(is_ != want or not any("embedding" in name for name in is_))
PYTHON
}
