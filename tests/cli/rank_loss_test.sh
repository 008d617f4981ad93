#!/bin/bash
# A rank that is killed or stopped ends all others, which name it; one that computes for long, or
# that a debugger holds, does not.
source "$(dirname "$0")/cli_test_lib.sh"
source "$(dirname "$0")/mpi_test_lib.sh"
sed 's/"rows": 5000/"rows": 50000000/' small.json >long.json
# time for the ranks to find out by themselves; mpirun waits twice as long
mpirun+=(--mca odls_base_sigkill_timeout 3)

# lose SIGNAL CODE: the job of two ranks ends with the exit code, in the middle of its training,
# once rank 1 has got the signal.
lose() {
  start_ranks 2 train --config long.json --plan row_wise --rank-timeout 2
  sleep 1
  kill "$1" "${processes[1]}"
  ranks_end "$2"
}
# says TEXT: rank 0 has said the text of rank 1.
says() { grep -qE "^rank 0: waited in .*: rank 1 \(process ${processes[1]} on .*\) $1" err; }
lose -STOP 1
says "has been stopped for 2 s \(SIGSTOP\)" || fail "-STOP: $(cat err)"
# mpirun kills rank 0, that of Open MPI 5 within half a second, in which a busy machine may not let
# it say anything.
for _ in {1..10}; do
  lose -KILL 137
  says "ended without taking leave: it was killed, or crashed" && break
  [ "$open_mpi" -ge 5 ] || break
done
says "ended without taking leave: it was killed, or crashed" || fail "-KILL: $(cat err)"

# ---- a rank that is lost before it has met the others
# lost_at_start COMMAND CODE TEXT: a job of three ranks whose last runs the command first ends
# with the exit code, and says the text of rank 2.
lost_at_start() {
  local train=("$tessera" train --config long.json --rank-timeout 2)
  by_rank "${train[@]}" -- "${train[@]}" -- bash -c "$1; exec \"\$@\"" rank "${train[@]}" \
    >out 2>err
  [ $? -eq "$2" ] || fail "$1: expected exit $2: $(cat err)"
  grep -qE "$3" err || fail "$1: $(cat err)"
}
lost_at_start 'kill -STOP $$' 1 \
  "^rank [01]: waited in .*: rank 2 \(process [0-9]+ on .*\) has been stopped for 2 s \(SIGSTOP\)"
lost_at_start 'sleep 3; exit 0' 1 "exited due to process rank 2 "
lost_at_start 'sleep 3; kill -KILL $$' 137 "process rank 2 with PID [0-9]+ "

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
ranks_end 143
fails_saying "--rank-timeout needs mpirun" train --config long.json --rank-timeout 2 --ranks 2
fails_saying "--rank-timeout needs mpirun" train --config long.json --rank-timeout 2
