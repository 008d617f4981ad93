#!/bin/bash
# Ranks are lost at random times, by SIGKILL and SIGSTOP in turn: every run goes on, and ends with
# the bits of one that changed its ranks at the same checkpoint. Until one was lost before its run
# had ended, or 50 times where TESSERA_TEST_ALL is set. Arguments: another number of losses, a seed,
# rows to train, the longest time in milliseconds from the first checkpoint to the signal, which is
# halved after each run that had ended before its signal.
rows=${3:-48000}  # half a second on a quiet machine
source "$(dirname "$0")/launch_test_lib.sh"
losses=${TESSERA_TEST_ALL:+50}
losses=${1:-${losses:-8}}
undisturbed 3
went_on=0
RANDOM=${2:-7}

# lose NUMBER SIGNAL RANK SECONDS: a rank gets the signal so long after the first checkpoint.
lose() {
  rm -rf lost
  launch --ranks 3 -- "${train[@]}" --checkpoint lost --checkpoint-every 20 --rank-timeout 1
  victim=$(process lost 0 "$3") && wait_for is_saved lost && sleep "$4" &&
    kill "-$2" "$victim" 2>/dev/null
  local sent=$(date +%s%N)
  until grep -q "^resumed lost" out || ! kill -0 $job 2>/dev/null; do sleep 0.02; done
  local milliseconds=$((($(date +%s%N) - sent) / 1000000))
  ends 0
  grep -q "launch: rank $3 was lost" err || return 0  # it had trained all before
  local step=$(step_from lost)
  same_as_undisturbed lost "$step" 2
  went_on=$((went_on + 1))
  echo "$1: $2 of rank $3: the new ranks had loaded step $step after $milliseconds ms"
}
longest=${4:-400}
for loss in $(seq "$losses"); do
  before=$went_on
  signal=$([ $((loss % 2)) -eq 0 ] && echo STOP || echo KILL)
  wait=$((RANDOM % longest))
  lose "$loss" "$signal" $((RANDOM % 3)) \
    "$(printf %d.%03d $((wait / 1000)) $((wait % 1000)))"
  [ "$went_on" -gt "$before" ] || longest=$(((longest + 1) / 2))
  [ $# -gt 0 ] || [ -n "${TESSERA_TEST_ALL:-}" ] || [ $went_on -eq 0 ] || break
done
echo "$went_on of $loss runs lost a rank before their end, and went on to equal tables"
[ "$went_on" -gt 0 ] || fail "no run lost a rank before its end"
