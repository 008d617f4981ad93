# Sourced by scripts that run mpirun on this machine, as any user, on any number of cores, and
# without a network.
scratch=$(mktemp -d /tmp/mpi.XXXXXX)  # short: sockets lie in it; nothing stays elsewhere
trap 'rm -rf "$scratch"' EXIT
# Open MPI gives not all its memory back.
export ASAN_OPTIONS=detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export HOME=${HOME:-$scratch}
# No shell on other machines is there to be started through; ranks that share cores give way to each
# other.
export TMPDIR=$scratch OMPI_MCA_plm=isolated OMPI_MCA_btl=self,vader OMPI_MCA_mpi_yield_when_idle=1

children_of() { cat /proc/"$1"/task/*/children 2>/dev/null; }
has_living_child() {
  local child
  for child in $(children_of "$1"); do
    grep -qE '^State:\s+[^ZX]' "/proc/$child/status" 2>/dev/null && return
  done
  return 1
}

# mpiruns_of PROCESS: those that it, or a child of its, has started.
mpiruns_of() {
  local child
  for child in $(children_of "$1"); do
    [ "$(readlink "/proc/$child/exe")" != "$mpirun_file" ] || echo "$child"
    mpiruns_of "$child"
  done
}

# An mpirun of Open MPI 4.1 may wait for itself for ever as it ends, deaf to SIGTERM: one that has
# had no ranks for half a minute is killed.
kill_stuck_mpiruns() {
  local mpirun_file mpirun
  local -A idle=()
  mpirun_file=$(readlink -f "$(command -v mpirun)")
  while sleep 2 && kill -0 $$; do
    for mpirun in $(mpiruns_of $$); do
      idle[$mpirun]=$((${idle[$mpirun]:-0} + 1))
      ! has_living_child "$mpirun" || idle[$mpirun]=0
      [ "${idle[$mpirun]}" -lt 15 ] || kill -KILL "$mpirun"
    done
  done
}
kill_stuck_mpiruns &>/dev/null &
disown
