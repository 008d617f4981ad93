#!/bin/bash
# tessera bench TOPIC --against BINARY: passes of two programs in turn, and what is said of programs
# that are none, fail, or measure something else.
source "$(dirname "$0")/../cli_test_lib.sh"
export TMPDIR=$PWD/scratch
mkdir "$TMPDIR"
none_left() { [ -z "$(ls "$TMPDIR")" ] || fail "left in the scratch folder: $(ls "$TMPDIR")"; }

tiny=(--rows 1k --tables 1 --batch 16 --pooling 3 --threads 1 --flush-mib 1)

# program NAME LINES…: a program of these lines of bash, in which $tessera is ours.
program() {
  printf '%s\n' '#!/bin/bash' "tessera=$tessera" "${@:2}" >"$1"
  chmod +x "$1"
}

# ---- this program against itself, in a checkout
mkdir .git bench
touch bench/topics.cc
printf '%040d\n' 7 >.git/HEAD
run 0 bench lookup "${tiny[@]}" --dim 16,32 --rounds 10 --against "$tessera" --json new.json \
  --json-against old.json --csv new.csv --svg change.svg --details
has out "5 passes of each program, in turn: $tessera (old), this one (new)"
has out "dim=32"
has out "distinct rows"
has out "over the medians of passes"
lacks out "compared by rounds"
has out "written to old.json"
has change.svg "speed since"
[ "$(wc -l <new.csv)" -eq 3 ] || fail "$(cat new.csv)"
for file in old new; do
  json $file.json 'd["rounds"] == 10 and len(d["rows"]) == 2'
  json $file.json 'all(r["passes"] == [2] * 5 and len(r["samples"]) == 10 for r in d["rows"])'
done
json new.json '"--against" in d["context"]["command"]'
json old.json '"--against" not in d["context"]["command"]'
json new.json 'd["context"]["commit"].endswith("007")'
json old.json 'd["context"]["commit"] == "unknown"'
rm -r .git bench
none_left
run 0 bench show new.json --compare old.json
has out "over the medians of passes"

# ---- --allow: the exit code says whether a row of ours became too slow
program twice '"$tessera" "$@" || exit' \
  'while [ $# -gt 0 ]; do [ "$1" = --json ] && file=$2; shift; done' \
  '[ -e "$file" ] || exit 0' 'python3 - "$file" <<END' 'import json, sys' \
  'run = json.load(open(sys.argv[1]))' \
  'for row in run["rows"]:' '  row.pop("limit_samples", None), row.pop("limit_seconds", None)' \
  '  row["samples"] = [1e-9] * len(row["samples"])' 'json.dump(run, open(sys.argv[1], "w"))' 'END'
run 1 bench lookup "${tiny[@]}" --rounds 5 --against ./twice --allow 50
has out "1 of our rows slower by more than 50 %"
run 0 bench lookup "${tiny[@]}" --rounds 5 --against ./twice --allow 100
has out "0 of our rows slower by more than 100 %"
fails_saying "--allow requires --compare or --against" bench lookup --allow 5

# ---- 15 rounds a pass unless told otherwise
run 0 bench lookup "${tiny[@]}" --against "$tessera" --json rounds.json
json rounds.json '[r["passes"] for r in d["rows"]] == [[15] * 5]'
run 0 bench lookup "${tiny[@]}" --precision 100 --passes 6 --json rounds.json
json rounds.json 'all(r["passes"] == [15] * max(6, len(r["passes"])) for r in d["rows"])'
run 0 bench lookup "${tiny[@]}" --passes 3 --json rounds.json
json rounds.json '[r["passes"] for r in d["rows"]] == [[5] * 3]'

# ---- what a program leaves out is said once
run 0 bench lab "${tiny[@]}" --dim 20 --variants all --rounds 5 --against "$tessera"
[ "$(grep -c "variant policies does not take --dim 20" out)" -eq 1 ] || fail "$(cat out)"

# ---- the table has the fastest variant first
run 0 bench lab "${tiny[@]}" --variants all --rounds 5 --against "$tessera" \
  --json r.json
python3 - <<'END' || fail "variants are not by time: $(cat out)"
import json
rows = sorted(json.load(open("r.json"))["rows"], key=lambda row: row["seconds"])
text = open("out").read()
places = [text.index("\n" + row["contender"] + " ") for row in rows]
assert len(rows) > 1 and places == sorted(places), (places, rows)
END

# ---- a program that writes the order of its passes, and is slower by half
program slow 'echo "$*" >>slow_passes' '"$tessera" "$@" || exit' \
  'while [ $# -gt 0 ]; do [ "$1" = --json ] && file=$2; shift; done' \
  '[ -e "$file" ] || exit 0  # a list' 'python3 - "$file" <<END' 'import json, sys' \
  'run = json.load(open(sys.argv[1]))' 'for row in run["rows"]:' \
  '  row["samples"] = [2 * s for s in row["samples"]]' '  row.pop("limit_samples")' \
  '  row.pop("limit_seconds")' 'json.dump(run, open(sys.argv[1], "w"))' 'END'
run 0 bench lookup "${tiny[@]}" --dim 16,32 --only 'dim=(16|32),' --against ./slow --passes 6 \
  --rounds 13 --cold --json fast.json --json-against slow.json
json fast.json '[r["passes"] for r in d["rows"]] == [[2, 2, 2, 2, 2, 3]] * 2'
json slow.json '[len(r["samples"]) for r in d["rows"]] == [13, 13]'
[ "$(grep -c -- --json slow_passes)" -eq 7 ] || fail "a list and 6 passes: $(cat slow_passes)"
has slow_passes "--caches=cold --dim=16,32"
has slow_passes "--only=dim=(16|32),"

# ---- --precision goes on with the cases that need it, under their names
program uneven 'echo "$*" >>uneven_passes' '"$tessera" "$@" || exit' \
  'while [ $# -gt 0 ]; do [ "$1" = --json ] && file=$2; shift; done' \
  '[ -e "$file" ] || exit 0' 'python3 - "$file" "$(grep -c -- --json uneven_passes)" <<END' \
  'import json, sys' 'run = json.load(open(sys.argv[1]))' 'for row in run["rows"]:' \
  '  for key in ("limit_samples", "limit_seconds"): row.pop(key)' \
  '  late = int(sys.argv[2]) > 8 or "dim=16" in row["case"]' \
  '  row["samples"] = [1e-3 * (1 if late else int(sys.argv[2]))] * len(row["samples"])' \
  'json.dump(run, open(sys.argv[1], "w"))' 'END'
run 0 bench lookup "${tiny[@]}" --dim 16,32 --rounds 25 --against "$PWD/uneven" --precision 100 \
  --json-against uneven.json
# dim=16 goes on, too, where this program's own times are noisy
grep -qE -- '--only=\^\((dim=16,.*\|)?dim=32,rows=1k,tables=1,batch=16,pooling=3' uneven_passes ||
  fail "which cases go on? $(cat uneven_passes)"
json uneven.json 'len(d["rows"][1]["passes"]) > 5'

# ---- programs that are none
against() {
  fails_saying "$2" bench lookup "${tiny[@]}" --against "$1" "${@:3}"
  none_left
}
against ./nowhere "--against ./nowhere: there is no such file"
against "$TMPDIR" ": expected a program, got a folder"
echo 'text' >text
against ./text "--against ./text: expected a program, got a file that may not be run"
chmod +x text
against ./text "--against ./text: "
has err "Exec format error"
against /bin/echo "--against /bin/echo: expected a tessera, whose bench lookup --list prints names"
program refuses 'echo "tessera: --dim=16: not expected by tessera bench lookup" >&2; exit 1'
against ./refuses "./refuses: it cannot list the cases of this run: --dim=16: not expected" \
  --dim 16
program broken 'echo "a library is missing" >&2' 'exit 3'
against ./broken "ended with exit code 3; its last line is: a library is missing"

# ---- passes that fail
program fails '[ "${*: -1}" = --list ] && exec "$tessera" "$@"' 'echo "no room" >&2; exit 4'
against ./fails "pass 1 of ./fails: ended with exit code 4; its last line is: no room"
program silent '[ "${*: -1}" = --list ] && exec "$tessera" "$@"' 'exit 0'
against ./silent "pass 1 of ./silent wrote no results that this program reads: "
program other '[ "${*: -1}" = --list ] && exec "$tessera" "$@"' \
  'while [ $# -gt 0 ]; do [ "$1" = --json ] && file=$2; shift; done' \
  'exec "$tessera" bench limits --kind read --memory 4Mi --rounds 1 --threads 1 --json "$file"'
against ./other "pass 1 of ./other wrote no results that this program reads: expected results of \
topic 'lookup', got 'limits'"
program dies '[ "${*: -1}" = --list ] && exec "$tessera" "$@"' 'kill -9 $$'
against ./dies "pass 1 of ./dies: ended by signal 9"

# What was measured before a pass fails is kept.
program tires 'echo x >>tired' '[ "$(wc -l <tired)" -le 4 ] && exec "$tessera" "$@"' \
  'echo "tessera: tired" >&2' 'exit 1'
run 1 bench lookup "${tiny[@]}" --against ./tires --json-against kept.json
has err "tessera: pass 4 of ./tires: tired"
has out "are compared by rounds, as a run has fewer than 5 passes"
json kept.json 'd["rows"][0]["passes"] == [15, 15, 15]'
none_left

# ---- options
against "$tessera" "--passes 4 with --against: expected at least 5" --passes 4
against "$tessera" "--rounds 3 with --against: expected at least 5, one for each of --passes" \
  --rounds 3
against "$tessera" "--compare excludes --against" --compare old.json
against "$tessera" "--list excludes --against" --list
against "$tessera" "--counters excludes --against" --counters
fails_saying "--json-against requires --against" bench lookup --json-against x.json
against "$tessera" "this command is told to write it twice" --json twice.json \
  --json-against twice.json
cp "$tessera" copy
against ./copy "copy: this command reads it" --json copy
against "$tessera" "--memory-limit" --memory-limit 1k
against "$tessera" "--only: 'nothing' matches none of 1 cases" --only nothing

# ---- Ctrl-C: the child ends, and the scratch folder goes
program waits '[ "${*: -1}" = --list ] && exec "$tessera" "$@"' 'echo $$ >waiting' 'exec sleep 300'
python3 - "$tessera" bench lookup "${tiny[@]}" --against ./waits >out 2>err <<'END' ||
import os, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
process = subprocess.Popen(sys.argv[1:])
while not os.path.exists("waiting") or not open("waiting").read(): time.sleep(0.02)
process.send_signal(signal.SIGINT)
code = process.wait()
if code != 130: sys.exit(f"expected exit 130, got {code}")
END
  fail "Ctrl-C: $(cat out err)"
! kill -0 "$(cat waiting)" 2>/dev/null || fail "the child still runs"
none_left
