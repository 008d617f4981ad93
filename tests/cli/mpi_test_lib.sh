# Sourced after cli_test_lib.sh by tests that start ranks as processes.
source "$(dirname "${BASH_SOURCE[0]}")/../../tools/mpi_environment.sh"
mpirun=(mpirun --oversubscribe)

# start_ranks RANKS ARGS…: starts tessera on so many ranks in the background, output in files out
# and err, and waits until it has said its first line; $job is mpirun's process, $processes are
# those of the ranks, in order.
start_ranks() {
  local ranks=$1
  shift
  "${mpirun[@]}" -n "$ranks" "$tessera" "$@" >out 2>err &
  job=$!
  for _ in $(seq 600); do
    kill -0 $job 2>/dev/null || break
    processes=($(cat /proc/"$job"/task/*/children | tr ' ' '\n' | sort -n))
    [ ${#processes[@]} -ge "$ranks" ] && grep -q " ranks (mpi)" out && return
    sleep 0.1
  done
  fail "the ranks did not begin: $(cat out err)"
}
