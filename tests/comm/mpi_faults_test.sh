#!/usr/bin/env bash
# mpi_faults_test.sh MPI_TEST_SH PROGRAM: each fault ends the job with the reason, from every rank
# that it reaches.
set -uo pipefail
run=$1 program=$2
failures=0
threads=("" "--comm-thread=off")

# expect FAULT PATTERN…: the job fails, with the exit code $want where it is given, and says each
# pattern. One that hangs is ended after far more time than a job takes on a busy machine. Open MPI
# 5 ends texts of its own with NULs.
expect() {
  local fault=$1 thread output code bad pattern
  shift
  for thread in "${threads[@]}"; do
    output=$(timeout -k 10 300 "$run" 3 "$program" "$fault" $thread 2>&1 | tr -d '\0')
    code=$?  # of the program: pipefail
    echo "== $fault $thread: exit code $code"
    bad=0
    [ "$code" -ne 0 ] && [ "$code" -ne 124 ] || { echo "expected a failure"; bad=1; }
    [ "$code" -eq "${want:-$code}" ] || { echo "expected exit code $want"; bad=1; }
    ! grep -qE 'received signal|double free' <<<"$output" || { echo "it crashed"; bad=1; }
    for pattern in "$@"; do
      grep -qE "$pattern" <<<"$output" || { echo "not said: $pattern"; bad=1; }
    done
    [ "$bad" -eq 0 ] || { echo "$output"; failures=$((failures + 1)); }
  done
}

# What the others are in: on a busy machine still the collective before.
waits='AllReduce sum "(before|sum of t7)"'
expect throw '^rank 1: row 12 of t7 is out of range' \
  "rank [02].*in $waits"
# mpirun ends at once, and may lose the last line of a rank.
want=137 expect kill 'process rank 1 with PID' "rank [02]: (ended by SIGTERM|waited) in $waits"
expect op 'rank 1 made AllGather "rows of t7"' 'made AllReduce sum "sum of t7"'
expect count \
  'AllToAllV "ids of t7" .*: rank 1 expected 20000 elements of f32 from rank 2, which sent 9000'
expect leave "rank [02]: waits in $waits .*, but rank 1 has left"
expect abort "rank [02]: waited in $waits .*: rank 1 aborted: the disk is full"
expect split 'rank 2: no memory' 'rank [01].* in (Send "never sent"|Barrier "the pair")'
slow='rank .: waited 1 s in (Send "never sent"|AllReduce sum "sum of t7")'
expect timeout "$slow.*: nothing, or not all, came from ranks [01]"

silent="rank [02]: waited in $waits.*: rank 1 \(process [0-9]+ on .*\)"
expect stop "$silent has been stopped for 2 s \(SIGSTOP\)"
early="rank [02]: waited in the start of MPI: rank 1 \(process [0-9]+ on .*\)"
expect stop_early "$early has been stopped for 2 s \(SIGSTOP\)"
ended='rank 1 has had no process on .* for 2 s: it has ended before it started MPI'
expect end_first "rank [02]: waited in the start of MPI: $ended"
expect end_early 'exited due to process rank 1 '
want=137 expect kill_early 'process rank 1 with PID'
threads=("")  # hosts hear of each other by the thread of MPI
expect apart "$silent has not been heard of for 2 s"
# All ranks end well, though one computes for long, or comes late.
for fault in busy late; do
  output=$(timeout -k 10 300 "$run" 3 "$program" "$fault" 2>&1 | tr -d '\0') &&
    [ "$(grep -c 'ended well' <<<"$output")" = 3 ] ||
    { echo "$fault: a rank was taken for lost: $output"; failures=$((failures + 1)); }
done

echo "$failures failures"
[ "$failures" -eq 0 ]
