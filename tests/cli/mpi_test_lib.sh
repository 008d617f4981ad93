# Sourced after cli_test_lib.sh by tests that start ranks as processes.
source "$(dirname "${BASH_SOURCE[0]}")/../../tools/mpi_environment.sh"
open_mpi=$(mpirun --version | sed -nE 's/^mpirun .* ([0-9]+)\..*/\1/p')  # 4, 5

# run_mpirun ARGS…: runs mpirun to its end, or for $limit seconds where that is set. That of Open
# MPI 5 ends texts of its own with NULs, which are left out.
run_mpirun() {
  {
    timeout "${limit:-0}" mpirun --oversubscribe "$@" 2>&1 >&3 | tr -d '\0' >&2
    return "${PIPESTATUS[0]}"
  } 3>&1
}
mpirun=(run_mpirun)

# by_rank COMMAND… -- COMMAND…: runs one rank for each command, the first rank the first. (mpirun
# has ":" between programs for this, at which that of Open MPI 5.0 crashes.)
by_rank() {
  local word command=() commands=()
  for word in "$@" --; do
    if [ "$word" = -- ]; then
      commands+=("$(printf '%q ' "${command[@]}")") command=()
    else
      command+=("$word")
    fi
  done
  "${mpirun[@]}" -n ${#commands[@]} bash -c 'shift "$OMPI_COMM_WORLD_RANK"; eval "exec $1"' \
    by_rank "${commands[@]}"
}

# ranks_of PROCESS: the ranks that this mpirun has started, in order.
ranks_of() {
  local process rank
  for process in $(children_of "$1"); do
    rank=$(tr '\0' '\n' <"/proc/$process/environ" | sed -n 's/^OMPI_COMM_WORLD_RANK=//p')
    [ -z "$rank" ] || echo "$rank $process"
  done 2>/dev/null | sort -n | cut -d ' ' -f 2
}

# start_ranks RANKS ARGS…: starts tessera on so many ranks in the background, output in files out
# and err, and waits until it has said its first line; $job is mpirun's process, $processes are
# those of the ranks, in order.
start_ranks() {
  local ranks=$1
  shift
  mpirun --oversubscribe "${mpirun[@]:1}" -n "$ranks" "$tessera" "$@" >out 2>err &
  job=$!
  for _ in $(seq 600); do
    kill -0 $job 2>/dev/null || break
    processes=($(ranks_of "$job"))
    [ ${#processes[@]} -ge "$ranks" ] && grep -q " ranks (mpi)" out && return
    sleep 0.1
  done
  fail "the ranks did not begin: $(cat out err)"
}

# ranks_end CODE: the ranks that start_ranks has started end, and mpirun with the exit code.
ranks_end() {
  wait $job
  local got=$?
  sed -i 's/\x00//g' err
  [ $got -eq "$1" ] || fail "mpirun: expected exit $1, got $got: $(cat out err)"
}
