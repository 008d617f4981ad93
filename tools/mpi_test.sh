#!/usr/bin/env bash
# mpi_test.sh RANKS PROGRAM [ARGUMENT…]: runs the program on that many ranks of this machine, as any
# user, on any number of cores, and without a network.
set -euo pipefail

ranks=$1
shift
# Short: sockets lie in it. mpirun and its ranks leave nothing elsewhere.
scratch=$(mktemp -d /tmp/mpi.XXXXXX)
trap 'rm -rf "$scratch"' EXIT

# Of one process each.
unset TEST_PREMATURE_EXIT_FILE XML_OUTPUT_FILE
# Open MPI gives not all its memory back, and its transport in shared memory takes two of its locks
# in either order.
export ASAN_OPTIONS=detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
echo 'deadlock:mca_btl_vader' >"$scratch/tsan"
export TSAN_OPTIONS=suppressions=$scratch/tsan${TSAN_OPTIONS:+:$TSAN_OPTIONS}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export HOME=${HOME:-$scratch}
# No shell on other machines is there to be started through; ranks that share cores give way to each
# other.
export TMPDIR=$scratch OMPI_MCA_plm=isolated OMPI_MCA_btl=self,vader OMPI_MCA_mpi_yield_when_idle=1
mpirun --oversubscribe -n "$ranks" "$@"
