#!/usr/bin/env bash
# docs/headers.md is what public_headers.bzl and the headers say, and every rule has its line there.
set -euo pipefail
cd "$(dirname "$(readlink -f "$1")")"
tools/headers_page | diff -u docs/headers.md - || {
  echo "docs/headers.md is not what the public headers say: run tools/docs"
  exit 1
}
for header in $(grep -o '"optim/rules/.*\.h"' optim/any_rule.h); do
  grep -q "$header" public_headers.bzl || {
    echo "$header: programs name its rule, but public_headers.bzl lacks it"
    exit 1
  }
done
