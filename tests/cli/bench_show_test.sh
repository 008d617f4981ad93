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
