#!/usr/bin/env bash
# A page of somebody else's names and ours has a row for each of those names, names headers that
# there are, and symbols that they declare: each is in one of its row's headers and compiles.
# Arguments: the WORKSPACE file, the page, the names by heading, and how many symbols there are at
# least. (torchrec_names.txt: the classes, functions and methods of TorchRec's pages, without what
# every torch.nn.Module or autograd function has. fbgemm_names.txt: the operators of
# torch.ops.fbgemm.)
set -euo pipefail
cd "$(dirname "$(readlink -f "$1")")"
table=$2 names=$3 least=$4

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
complain() {
  echo "$*"
  failures=$((failures + 1))
}

# "heading|name", "row|header" and "row|symbol".
awk -F '|' -v work="$work" '
  function each(cell, key, file,   token) {
    while (match(cell, /`[^`]+`/)) {
      token = substr(cell, RSTART + 1, RLENGTH - 2)
      cell = substr(cell, RSTART + RLENGTH)
      if (file != "headers" || token ~ /\.h$/) print key "|" token >(work "/" file)
    }
  }
  /^## / { heading = substr($0, 4) }
  /^\| `/ {
    each($2, heading, "names")
    each($3, NR, "symbols")
    each($4, NR, "headers")
    if ($3 !~ /`/ && $4 ~ /^ *$/) print NR ": neither a symbol nor a reason" >(work "/unexplained")
  }' "$table"
if [ -f "$work/unexplained" ]; then complain "$(cat "$work/unexplained")"; fi

while read -r missing; do complain "$table lacks ${missing#*|}, under ${missing%|*}"; done < <(
  awk '/^## / { heading = substr($0, 4); next } { print heading "|" $0 }' "$names" | sort |
    comm -23 - <(sort "$work/names")
)

while IFS='|' read -r row header; do
  [ -f "$header" ] || complain "$table:$row: there is no $header"
done <"$work/headers"

source=$work/symbols.cc
{
  cut -d '|' -f 2 "$work/headers" | sort -u | sed 's/.*/#include "&"/'
  echo "namespace {"
} >"$source"
number=0
while IFS='|' read -r row symbol; do
  number=$((number + 1)) name=${symbol##*::} scope=${symbol%::*}
  mapfile -t headers < <(awk -F '|' -v row="$row" '$1 == row { print $2 }' "$work/headers")
  [ "${#headers[@]}" -gt 0 ] || { complain "$table:$row: no header for $symbol"; continue; }
  grep -qw "$name" "${headers[@]}" || complain "$table:$row: $symbol is in none of ${headers[*]}"
  echo "#line $row \"$table\"" >>"$source"
  if [ "$scope" = "$symbol" ] || [[ ${scope##*::} =~ ^[a-z] ]] || [[ $name =~ ^k[A-Z] ]]; then
    echo "namespace n$number { using tessera::$symbol; }" >>"$source"
  else # a member: a class that derives from the scope may name it, if it is public or protected
    echo "struct S$number : tessera::$scope { using tessera::$symbol; };" >>"$source"
  fi
done <"$work/symbols"
echo "}" >>"$source"
g++ -std=c++20 -fsyntax-only -Wall -Wextra -Wno-unused-function -I. "$source" ||
  complain "not all symbols compile"

[ "$number" -ge "$least" ] || complain "only $number symbols were found in $table"
echo "$(wc -l <"$work/names") names of $names, $number symbols checked, $failures failures"
[ "$failures" -eq 0 ]
