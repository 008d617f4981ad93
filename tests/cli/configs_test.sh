#!/bin/bash
# The configurations of examples/ that need no data, on their first rows.
source "$(dirname "$0")/cli_test_lib.sh"
for config in planted hashed_ids raw_ids; do
  run 0 train --config "$TEST_SRCDIR/$TEST_WORKSPACE/examples/$config.json" --train-rows 0:4096 \
    --eval-rows 4096:5120
  has out "trained 4,096 rows"
done
has out "raw ids of 26 tables"

# ---- one of each type of model
for config in "$TEST_SRCDIR/$TEST_WORKSPACE/examples/models"/*.json; do
  run 0 train --config "$config" --train-rows 0:16384 --eval-rows 200000:204096 --json report
  has out "trained 16,384 rows"
  json report 'd["auc"] > 0.52'
  rm report
  type=$(basename "$config" .json)
  grep -q "\"type\": \"$type\"" "$config" || fail "$config: expected the type $type"
done
