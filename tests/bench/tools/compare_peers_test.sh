#!/bin/bash
# Ours and the peers', both made up, are joined by name; means, huge pages, pictures and errors.
source "$(dirname "$0")/../../cli/cli_test_lib.sh"
main="$TEST_SRCDIR/$TEST_WORKSPACE"
export REAL_TESSERA=$tessera
mkdir -p venv/bin scripts
cp "$main/tests/bench/tools/fake_peers_python" venv/bin/python
touch scripts/{lookup,multihot,read_text}.py criteo.tsv
compare() { python3 "$main/tools/compare_peers" --peers venv --scripts scripts \
  --tessera "$main/tests/bench/tools/fake_tessera.py" --bazel false "$@" >out 2>err; }

compare --topics lookup --thp --turns 3 --json out.json --svg out.svg ||
  fail "compare_peers: $(cat out err)"
json out.json \
  'set(d["rows"][0]) == {"name", "peer", "ours_seconds", "peer_seconds", "limit_seconds", "ratio"}'
json out.json \
  'len(d["rows"]) == 16 and not any(row["peer"].startswith("bare") for row in d["rows"])'
json out.json 'abs(d["geomean"]["lookup"]["fbgemm_tbe"]["1"] - 5) < 1e-9'
json out.json 'abs(d["geomean"]["lookup"]["fbgemm_tbe"]["2"] - 10) < 1e-9'
json out.json 'abs(d["geomean"]["lookup"]["fbgemm_tbe_thp"]["1"] - 2.5) < 1e-9'
json out.json 'abs(d["geomean"]["lookup"]["torchrec"]["2"] - 5) < 1e-9'
json out.json 'abs(d["geomean_by_rule"]["lookup"]["small calls"]["torchrec"]["1"] - 2.5) < 1e-9'
json out.json \
  'd["versions"]["torch"] == "2.0" and d["machine"] == "a made-up machine" and d["date"]'
json out.json '{row["limit_seconds"] for row in d["rows"] if "D16" in row["name"]} == {1e-3, 5e-4}'
has out.svg "fbgemm_tbe_thp"
has out "lookup/small calls"

compare --topics lookup --only D16 --keep out.json --json more.json ||
  fail "with rows of another run: $(cat out err)"
json more.json 'len(d["rows"]) == 12'
json more.json \
  'not any(row["peer"].endswith("_thp") for row in d["rows"] if "D16" in row["name"])'
json more.json 'abs(d["geomean"]["lookup"]["fbgemm_tbe"]["1"] - 5) < 1e-9'
sed 's/a made-up machine/another/' out.json > another.json
! compare --topics lookup --keep another.json || fail "rows of another machine"
has err "lookup/D16: --keep: results of 'another' and 'a made-up machine' don't go together"

FAKE_MORE=only_ours compare --topics lookup --json out.json ||
  fail "a case that only we have: $(cat out err)"
has err "lookup/only_ours: the peers' script has no such case"

compare --topics multihot,read_text --data criteo.tsv --files files --json out.json ||
  fail "a user's own rows: $(cat out err)"
[[ -e files/multihot/day_2_sparse_multi_hot.npz ]] || fail "the multi-hot files are not generated"
json out.json '{row["name"] for row in d["rows"]} == {"multihot/read_B2048/1t",
  "multihot/read_folder_B2048/1t", "read_text/text_ml1m_tsv/1t", "read_text/text_ml1m_tsv/2t"}'
json out.json 'abs(d["geomean"]["multihot"]["torchrec"]["1"] - 10) < 1e-9'
! compare --topics read_text --data criteo.tsv || fail "text without a folder for its files"
has err "topic read_text: --files DIR names the folder for the files that the script generates"

compare --json out.json || fail "without a wish, the topics that are there: $(cat out err)"
has err "without topic update: tessera: bench: no topic 'update': expected lookup"

! compare --topics lookup,update || fail "a topic that is not there"
has err "compare_peers: topic update: "
! compare --topics speed || fail "an unknown topic"
has err "topic 'speed': there are lookup, update"
! compare --topics lookup --only nothing || fail "no cases"
has err "compare_peers: nothing was compared"
