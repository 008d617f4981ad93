#!/bin/bash
# On a machine without room for another thread a command ends with a sentence: it neither hangs nor
# aborts, whichever of its threads it is that cannot begin.
preload=$PWD/$1
source "$(dirname "$0")/../cli_test_lib.sh"
export ASAN_OPTIONS=verify_asan_link_order=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
most=24  # more threads than any of these commands begins

# with_threads N ARGS…: runs tessera where N threads can begin; its exit code is then in $code.
with_threads() {
  LD_PRELOAD=$preload TESSERA_TEST_THREADS=$1 timeout -s KILL 120 "$tessera" "${@:2}" >out 2>err
  code=$?
}

# says_so WHAT: the command has ended by one sentence about a thread.
says_so() {
  [ $code -eq 1 ] || fail "$*: expected exit 1, got $code: $(cat out err)"
  has err "cannot be started: Resource temporarily unavailable; ask for fewer threads"
  [ "$(wc -l <err)" -eq 1 ] || fail "$*: expected one line on stderr: $(cat err)"
}

# ends ARGS…: with fewer threads than it needs the command says so; with enough it does its work.
ends() {
  local refused=0
  for threads in $(seq 0 $most); do
    with_threads "$threads" "$@"
    [ $code -eq 0 ] && continue
    says_so "$threads threads: $*"
    refused=$((refused + 1))
  done
  [ $code -eq 0 ] || fail "$*: it fails with $most threads: $(cat err)"
  [ $refused -gt 0 ] || fail "$*: it needs no threads"
}

run 0 generate --rows 2000 --vocabulary 50 rows.tsv
sed 's/"format": "planted".*50}/"format": "criteo"}/' small.json >criteo.json
ends train --config small.json --threads 4
ends train --config small.json --ranks 3 --threads 3 --checkpoint saved --overwrite
ends train --config criteo.json --data rows.tsv --threads 3 --checkpoint model.safetensors \
  --overwrite
ends preprocess rows.tsv -o ready --overwrite
run 0 quantize model.safetensors -o model
ends predict model --data rows.tsv --out scores

# ---- a server says so before it says that it serves; else SIGTERM ends it
serving=(serve model --port 0 --workers 2 --threads 2 --io-threads 2 --access-log access)
refused=0 served=0
for threads in $(seq 0 $most); do
  : >out # or what another command said would be read
  LD_PRELOAD=$preload TESSERA_TEST_THREADS=$threads timeout -s KILL 120 "$tessera" \
    "${serving[@]}" >out 2>err &
  server=$!
  # UCX, which Open MPI 5 brings, may say on stdout that it got no thread.
  until grep -q " on http://" out || ! kill -0 $server 2>/dev/null; do sleep 0.02; done
  if grep -q " on http://" out; then
    kill -TERM "$(pgrep -P $server)" && wait $server || fail "$threads threads: it ended with $?"
    served=$((served + 1))
  else
    wait $server
    code=$?
    says_so "$threads threads: ${serving[*]}"
    has err "ask for fewer threads by --workers, --threads or --io-threads, or allow more (ulimit"
    refused=$((refused + 1))
  fi
done
[ $refused -gt 0 ] && [ $served -gt 0 ] || fail "refused $refused times, served $served times"
