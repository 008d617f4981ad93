#!/usr/bin/env bash
# docs/headers.md is what public_headers.bzl and the headers say.
set -euo pipefail
cd "$(dirname "$(readlink -f "$1")")"
tools/headers_page | diff -u docs/headers.md - || {
  echo "docs/headers.md is not what the public headers say: run tools/docs"
  exit 1
}
