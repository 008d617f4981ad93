#!/bin/bash
# The configurations of examples/ that need no data, on their first rows.
source "$(dirname "$0")/cli_test_lib.sh"
for config in planted hashed_ids raw_ids; do
  run 0 train --config "$TEST_SRCDIR/$TEST_WORKSPACE/examples/$config.json" --train-rows 0:4096 \
    --eval-rows 4096:5120
  has out "trained 4,096 rows"
done
has out "raw ids of 26 tables"
