#!/usr/bin/env bash
# A page of docs/ is what the command says: its help, or its reference of configurations. Arguments:
# the page, the script that prints it, the program.
set -euo pipefail
page=$TEST_TMPDIR/page.md
"$2" "$3" >"$page"
diff -u "$1" "$page" || {
  echo "$1 is not what $2 prints: run tools/docs"
  exit 1
}
