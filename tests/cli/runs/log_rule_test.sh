#!/bin/bash
# One rule for all commands: results are on standard output whatever the flags are; notes are beside
# them, or lines of the log with --log-format, or nowhere with --quiet.
source "$(dirname "$0")/../cli_test_lib.sh"
source "$(dirname "$0")/log_lines_lib.sh"

# without_numbers FILE HOW: the text with N for each number, and % for the name of the way it ran,
# without the histogram of times.
without_numbers() {
  sed -E "/calls|\\[[#-]+\\]/d; s/$2/%/g; s/[0-9][0-9.,:]*/N/g; s/[ -]+/ /g" "$1"
}

# follows_rule RESULTS ARGS…: runs a command in three ways, a % of its arguments being the way's
# name. RESULTS says whether it has some or none, beside its files.
follows_rule() {
  local results=$1 command=$2 how flags
  shift 2
  for how in plain_way quiet_way json_way; do
    flags=()
    [ $how != quiet_way ] || flags=(--quiet)
    [ $how != json_way ] || flags=(--log-format json)
    run 0 "$command" "${flags[@]}" "${@//%/$how}"
    mv out $how.out && mv err $how.err
    without_numbers $how.out $how >$how.text
  done
  [ ! -s quiet_way.err ] || fail "$command $* --quiet says: $(cat quiet_way.err)"
  [ ! -s plain_way.err ] || fail "$command $* says on standard error: $(cat plain_way.err)"
  cmp quiet_way.text json_way.text ||
    fail "$command $*: other results: $(cat quiet_way.out json_way.out)"
  case $results in
    some) [ -s quiet_way.out ] ;;
    none) [ ! -s quiet_way.out ] && [ -s json_way.err ] ;;
  esac || fail "$command $*: expected $results results with --quiet: $(cat quiet_way.out)"
  python3 - json_way.err <<'PYTHON' >notes
import json, sys
for line in open(sys.argv[1]):
  assert json.loads(line)["level"] == "info", line
  print(json.loads(line)["message"])
PYTHON
  # All that is said is said without flags, and nothing else.
  without_numbers notes json_way | cat - quiet_way.text | grep . | sort >said.text
  grep . plain_way.text | sort | cmp - said.text ||
    fail "$command $*: $(cat plain_way.out json_way.err)"
}

run 0 generate --rows 600 --vocabulary 50 clicks.tsv
run 0 train --config small.json --checkpoint model.safetensors
run 0 train --config small.json --ranks 2 --checkpoint ranks
run 0 train --config small.json --incremental --checkpoint chain
run 0 quantize model.safetensors -o served
for way in plain_way quiet_way json_way; do cp -r served $way.served && cp -r chain $way.chain; done
run 0 train --config small.json --resume model.safetensors --epochs 2 --checkpoint later.safetensors
run 0 quantize model.safetensors -o versions --keep 2
run 0 quantize model.safetensors -o versions
for way in plain_way quiet_way json_way; do cp -r versions $way.versions; done

# ---- files are the results; what is said of them is a note
follows_rule none generate --rows 100 --vocabulary 50 %.tsv
follows_rule none preprocess clicks.tsv -o %.rows
follows_rule none quantize model.safetensors -o %.model
follows_rule none export model.safetensors -o %.safetensors
follows_rule none export later.safetensors --delta %.served
follows_rule none reshard ranks --world-size 3 --plan row_wise -o %.ranks
follows_rule none compact %.chain
follows_rule none rollback %.versions

# ---- what is asked for is a result, files or not
follows_rule some train --config small.json --checkpoint %.trained.safetensors
follows_rule some train --config small.json --dry-run
follows_rule some evaluate model.safetensors --data clicks.tsv
follows_rule some predict model.safetensors --data clicks.tsv --out %.scores
follows_rule some quantize model.safetensors -o %.scored --data clicks.tsv
follows_rule some describe clicks.tsv -o %.described.json
follows_rule some inspect model.safetensors
follows_rule some plan --tables small.json --ranks 2 -o %.plan
follows_rule some config model
follows_rule some bench lookup --list --dim 8,16
follows_rule some sweep %.sweep --seeds 1 -- --config small.json --threads 1
follows_rule some runs %.sweep

# ---- notes have what they say as keys, too
run 0 quantize model.safetensors -o keys --log-format json
are_json err 'l[0]["path"] == "keys" and l[0]["version"] == 1 and l[0]["tables"] == 2'
are_json err 'l[0]["bytes"] > 1000 and "RMS error" in l[0]["message"]'
run 0 generate --rows 100 --vocabulary 50 keys.tsv --log-format json
are_json err 'l[0]["rows"] == 100 and 0.5 < l[0]["auc"] < 1'
run 0 train --config small.json --log-format json
are_json err 'any(x["message"].startswith("loss while training\n") for x in l)'
run 0 preprocess clicks.tsv -o text_rows --log-format text
are_text err
grep -qE "^$time INFO  input +rows" err || fail "$(cat err)"
run 0 bench lookup --dim 8 --rows 100 --tables 1 --batch 8 --rounds 2 --csv bench.csv \
  --log-format json
are_json err 'l[-1]["path"] == "bench.csv" and l[-1]["message"] == "written to bench.csv"'
lacks out "written to"
