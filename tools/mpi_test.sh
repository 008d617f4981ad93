#!/usr/bin/env bash
# mpi_test.sh RANKS PROGRAM [ARGUMENT…]: runs the program on that many ranks of this machine, as any
# user, on any number of cores, and without a network.
set -euo pipefail

ranks=$1
shift
source "$(dirname "$(readlink -f "$0")")/mpi_environment.sh"

# Of one process each.
unset TEST_PREMATURE_EXIT_FILE XML_OUTPUT_FILE
# Its transport in shared memory takes two of its locks in either order.
echo 'deadlock:mca_btl_vader' >"$scratch/tsan"
export TSAN_OPTIONS=suppressions=$scratch/tsan${TSAN_OPTIONS:+:$TSAN_OPTIONS}
mpirun --oversubscribe -n "$ranks" "$@"
