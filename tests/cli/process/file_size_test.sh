#!/bin/bash
# Beyond the limit of files' sizes (ulimit -f) a write is an error that names the file; the signal
# for it (SIGXFSZ) ends nothing.
source "$(dirname "$0")/../cli_test_lib.sh"

# beyond KIB FILE ARGS…: the command fails by one sentence that names the file.
beyond() {
  local said code
  said=$(ulimit -f "$1" && "$tessera" "${@:3}" 2>&1 >/dev/null)
  code=$?
  [ $code -eq 1 ] || fail "${*:3}: expected exit 1, got $code: $said"
  echo "$said" >err
  has err "$2"
  has err "File too large"
  [ "$(wc -l <err)" -eq 1 ] || fail "${*:3}: expected one line on stderr: $said"
}

beyond 64 rows.tsv generate --rows 3000 rows.tsv
train=(train --config small.json --threads 1)
beyond 1 model.safetensors "${train[@]}" --checkpoint model.safetensors
beyond 1 lines.jsonl "${train[@]}" --metrics lines.jsonl --set metrics.compute_interval_steps=1
[ ! -e model.safetensors ] && [ ! -e rows.tsv ] || fail "a part was left: $(ls)"
