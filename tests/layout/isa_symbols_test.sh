#!/usr/bin/env bash
# Objects compiled for AVX2 or AVX-512 define nothing that another object may define too: the linker
# keeps one copy of such a function, and a machine without that instruction set would run it. Weak
# symbols (inline functions, templates) must carry the name of their level.
set -euo pipefail
failures=0 objects=0
for archive in "$@"; do
  case "$archive" in
    *_avx512.a | *_avx512.pic.a) level=avx512 ;;
    *_avx2.a | *_avx2.pic.a) level=avx2 ;;
    *) continue ;;
  esac
  objects=$((objects + 1))
  if nm -C --defined-only "$archive" 2>/dev/null | grep -E '^[0-9a-f]+ [WVu] ' |
    grep -v "$level"; then
    echo "$archive defines the symbols above for every level at once"
    failures=$((failures + 1))
  fi
done
[ "$objects" -gt 0 ] || { echo "no archives given: $*"; exit 1; }
echo "$objects archives checked, $failures problems"
[ "$failures" -eq 0 ]
