#!/usr/bin/env bash
# Replays a folder of cases with the runner (and its options); fails if one fails or none passes.
set -euo pipefail
output=$("$1" --allow-unsupported "${@:2}") || { echo "$output"; exit 1; }
echo "$output"
! grep -q '^0 passed' <<<"$output"
