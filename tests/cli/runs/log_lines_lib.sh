# Sourced after cli_test_lib.sh by tests of the log's lines.
time='20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z'
# are_text FILE: each line has a time and a level.
are_text() {
  [ -s "$1" ] && ! grep -vE "^$time (INFO |WARN |ERROR) " "$1" || fail "$1: $(cat "$1")"
}
# are_json FILE EXPRESSION: each line is an object with time, level and message; the expression over
# the list of all, l, is true.
are_json() {
  python3 - "$time" "$@" <<'PYTHON' || fail "$1: $2: $(cat "$1")"
import json, re, sys
l = [json.loads(line) for line in open(sys.argv[2])]
for line in l:
  assert re.fullmatch(sys.argv[1], line["time"]) and line["message"], line
  assert line["level"] in ("info", "warning", "error") and list(line)[2] == "message", line
assert eval(sys.argv[3]), l
PYTHON
}
