#!/bin/bash
# A rank that is killed or stopped ends all others, which name it; one that computes for long, or
# that a debugger holds, does not.
source "$(dirname "$0")/cli_test_lib.sh"
source "$(dirname "$0")/mpi_test_lib.sh"
sed 's/"rows": 5000/"rows": 50000000/' small.json >long.json
# time for the ranks to find out by themselves; mpirun waits twice as long
mpirun+=(--mca odls_base_sigkill_timeout 3)

# lose SIGNAL TEXT: the job of two ranks ends with an error, in the middle of its training, once
# rank 1 has got the signal, and says the text of it.
lose() {
  start_ranks 2 train --config long.json --plan row_wise --rank-timeout 2
  sleep 1
  kill "$1" "${processes[1]}"
  wait $job && fail "$1: the job ended well"
  grep -qE "^rank 0: waited in .*: rank 1 \(process ${processes[1]} on .*\) $2" err ||
    fail "$1: $(cat err)"
}
lose -STOP "has been stopped for 2 s \(SIGSTOP\)"
lose -KILL "ended without taking leave: it was killed, or crashed"

# ---- a rank that is lost before it has met the others
# lost_at_start COMMAND TEXT: a job of three ranks whose last runs the command first ends, and says
# the text of rank 2.
lost_at_start() {
  local train=("$tessera" train --config long.json --rank-timeout 2)
  "${mpirun[@]}" -n 2 "${train[@]}" : -n 1 bash -c "$1; exec \"\$@\"" rank \
    "${train[@]}" >out 2>err && fail "$1: the job ended well"
  grep -qE "$2" err || fail "$1: $(cat err)"
}
lost_at_start 'kill -STOP $$' \
  "^rank [01]: waited in .*: rank 2 \(process [0-9]+ on .*\) has been stopped for 2 s \(SIGSTOP\)"
lost_at_start 'sleep 3; exit 0' \
  "exited due to process rank 2 "
lost_at_start 'sleep 3; kill -KILL $$' "process rank 2 with PID [0-9]+ .* exited on signal 9"

# ---- a step that takes longer than the time-out, and a debugger that holds a rank
"${mpirun[@]}" -n 2 "$tessera" train --config long.json --plan row_wise --rank-timeout 0.05 \
  --train-rows 0:300000 --batch-size 300000 >out 2>err ||
  fail "a long step: $(cat err)"
start_ranks 2 train --config long.json --plan row_wise --rank-timeout 1
python3 - "${processes[1]}" <<'EOF'
import ctypes, os, sys, time
libc, pid = ctypes.CDLL(None, use_errno=True), int(sys.argv[1])
ATTACH, DETACH = 16, 17
if libc.ptrace(ATTACH, pid, None, None) != 0: sys.exit(0)  # not allowed here
os.waitpid(pid, 0x40000000)  # __WALL
time.sleep(2.5)
libc.ptrace(DETACH, pid, None, None)
EOF
sleep 0.5
kill -0 $job || fail "a debugger: $(cat err)"
kill -TERM "${processes[0]}"
wait $job
[ $? -eq 143 ] || fail "after a debugger: $(cat out err)"
fails_saying "--rank-timeout needs mpirun" train --config long.json --rank-timeout 2 --ranks 2
fails_saying "--rank-timeout needs mpirun" train --config long.json --rank-timeout 2
