#!/usr/bin/env bash
# Links between the documents of the checkout lead to files that exist, and to headings where they
# name one. Headers and folders that the documents name exist.
set -euo pipefail
cd "$(dirname "$(readlink -f "$1")")"

# The anchors of a document's headings, as GitHub makes them.
anchors() { sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' |
  sed 's/[^a-z0-9 _-]//g; s/ /-/g'; }

failures=0 checked=0
complain() {
  echo "$*"
  failures=$((failures + 1))
}
for document in *.md docs/*.md docs/*/*.md bench/results/*.md; do
  while read -r link; do
    file=${link%%#*} anchor=
    [[ $link == *#* ]] && anchor=${link#*#}
    target=$document
    [ -n "$file" ] && target=$(dirname "$document")/$file
    checked=$((checked + 1))
    if [ ! -e "$target" ]; then
      complain "$document links to $link, which is not there"
    elif [ -n "$anchor" ] && ! anchors "$target" | grep -qx -- "$anchor"; then
      complain "$document links to $link: $target has no such heading"
    fi
  done < <(awk '/^ *```/ { code = !code } !code' "$document" | grep -oE '\]\([^)]+\)' | sed \
    's/^](//; s/)$//' | grep -vE '^[a-z]+://' || true)
done
while IFS=: read -r document path; do
  checked=$((checked + 1))
  [ -e "$path" ] || complain "$document names $path, which is not there"
done < <(grep -oE '`[a-z_]+/[a-z_/]+(\.h|/)`' README.md CONTRIBUTING.md docs/*.md docs/*/*.md | tr \
  -d '\140' | grep -v '/my_')
[ "$checked" -gt 30 ] || complain "only $checked links were found"
echo "$checked links and headers checked, $failures failures"
[ "$failures" -eq 0 ]
