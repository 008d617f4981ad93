#!/bin/bash
# A server that clients attack goes on answering others, and ends when it is told to.
source "$(dirname "$0")/cli_test_lib.sh"

run 0 train --config small.json --threads 1 --checkpoint model.safetensors
run 0 quantize model.safetensors -o model --bits 8
python3 "$TEST_SRCDIR/$TEST_WORKSPACE/tests/cli/serve_attack.py" "$tessera" model ||
  fail "serve_attack.py"
fails_saying "--workers 1024 with --threads 1024 takes 1048576 threads" serve model --workers 1024 \
  --threads 1024
