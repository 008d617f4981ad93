#!/bin/bash
# A data file of `tessera bench` is printed, drawn and compared without measuring anything.
source "$(dirname "$0")/cli_test_lib.sh"

# data MS TOPIC: a run of nine rounds of about MS milliseconds beside a limit of one.
data() {
  local samples=
  for i in 1 2 3 4 5 6 7 8 9; do samples+="${samples:+, }$1e-3"; done
  cat <<JSON
{"machine": "M", "date": "2026-11-21", "topic": "$2", "rounds": 9, "rows": [
  {"case": "D16", "threads": 2, "contender": "tessera", "samples": [$samples],
   "limit_seconds": 1e-3, "values": {"dim": "16"}}]}
JSON
}
data 2 lookup >old.json
data 3 lookup >new.json
data 3 update >update.json

run 0 bench show old.json
has out "lookup: M, 2026-11-21; cold caches, 9 rounds"
has out "50 %"
run 0 bench show old.json --json copy.json --csv old.csv --svg old.svg
json copy.json 'd["rows"][0]["name"] == "lookup/D16/2t" and d["rows"][0]["share"] == 0.5'
json copy.json 'len(d["rows"][0]["samples"]) == 9'
has old.csv "axis_dim"
has old.svg "</svg>"

# How samples lie, and facts below their row.
run 0 bench show old.json --histogram --details
has out "lookup/D16/2t tessera: 9 samples from 2.00 ms to 2.00 ms"
has out " ######### 9"
lacks out "operations"

# Under the machine's roofs.
cat >facts.json <<'JSON'
{"machine": "M", "topic": "lookup", "rows": [{"case": "D16", "threads": 2, "contender": "tessera",
 "samples": [1e-3], "bytes": 1e6, "facts": {"operations": 2e5, "working_set_bytes": 1024}}]}
JSON
cat >roofs.json <<'JSON'
{"machine": "another", "topic": "limits", "rows": [
 {"case": "kind=read", "threads": 2, "contender": "bare", "samples": [1e-3], "bytes": 1e7,
  "values": {"kind": "read"}},
 {"case": "kind=fma", "threads": 2, "contender": "bare", "samples": [1e-3], "items": 100000000,
  "values": {"kind": "fma"}}]}
JSON
run 0 bench show facts.json --details --roofline roofline.svg --limits roofs.json
has out "operations 200,000; working set 1.0 KiB"
has err "roofs.json: limits of another machine: another, the run is of M"
has roofline.svg "2 threads: read 10 GB/s, fma 100G operations/s"
fails_saying "--roofline requires --limits" bench show facts.json --roofline again.svg
sed 's/another/M/' roofs.json >same.json
fails_saying "no row has operations and bytes" bench show old.json --roofline again.svg \
  --limits same.json

run 0 bench show new.json --compare old.json
has out "slower"
has out "0.667x"
has out "0 faster, 1 slower, 0 the same"
run 0 bench show new.json --compare old.json --svg change.svg
has change.svg "speed since 2026-11-21, new / old"
run 1 bench show new.json --compare old.json --allow 5
has out "1 of our rows slower by more than 5 %"
run 0 bench show new.json --compare old.json --allow 40
run 0 bench show old.json --compare new.json --allow 0
has out "1 faster, 0 slower"

fails_saying "nowhere.json: cannot be read" bench show nowhere.json
fails_saying "/proc/no/where: cannot be written" bench show new.json --csv /proc/no/where
fails_saying "a run of topic 'update' cannot be compared with one of topic 'lookup'" bench show \
  update.json --compare old.json
echo '{"topic": "lookup", "rows": [{"case": "D16"}]}' >bad.json
fails_saying "bad.json: rows[0].contender: the key is missing" bench show bad.json
fails_saying "--allow requires --compare" bench show new.json --allow 5
