# Sourced after cli_test_lib.sh by tests that start ranks as processes.
scratch=$(mktemp -d /tmp/mpi.XXXXXX)  # short: sockets lie in it
trap 'rm -rf "$scratch"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 HOME=${HOME:-$scratch}
# Open MPI gives not all its memory back
export ASAN_OPTIONS=detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
# No shell on other machines is there to be started through; ranks that share cores give way to each
# other.
export TMPDIR=$scratch OMPI_MCA_plm=isolated OMPI_MCA_btl=self,vader OMPI_MCA_mpi_yield_when_idle=1
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
