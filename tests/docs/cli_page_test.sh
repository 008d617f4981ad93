#!/usr/bin/env bash
# docs/cli.md is what the help of every command says. Arguments: the page, the script that prints
# it, the program.
set -euo pipefail
"$2" "$3" | diff -u "$1" - || {
  echo "docs/cli.md is not what --help says: run tools/docs"
  exit 1
}
