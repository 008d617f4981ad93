#!/bin/bash
# Versions of a model in a folder: quantize --keep, inspect, serve --versions, rollback, and several
# models behind one server.
source "$(dirname "$0")/cli_test_lib.sh"

run 0 train --config small.json --threads 1 --checkpoint model.safetensors
run 0 generate --rows 200 --first 5000 --vocabulary 50 eval.tsv
run 0 train --resume model.safetensors --epochs 2 --threads 1 --checkpoint later.safetensors

# ---- versions are kept by number, the newest N of them
run 0 quantize model.safetensors -o models --keep 2
has out "models/1: version 1"
run 0 quantize later.safetensors -o models --keep 2 --bits 4
has out "models/2: version 2"
has out "2 tables of dim 4: a row of int4 takes 16 bytes, 10 of them padding, so f32 takes no \
more; one of int4@4 takes 8 (--codec int4@4, or --table TABLE=int4@4)"
run 0 quantize model.safetensors -o models
has out "models/3: version 3"
[ "$(cd models && echo *)" = "1 2 3" ] || fail "without --keep all stay: $(ls models)"
run 0 quantize later.safetensors -o models --keep 2 --bits 16
[ "$(cd models && echo *)" = "3 4" ] || fail "two are kept: $(ls models)"
run 0 quantize model.safetensors -o plain
run 0 quantize later.safetensors -o plain
has out "plain: version 2"

# ---- every command that takes a model directory takes the newest version of a folder
run 0 predict models --data eval.tsv --out newest
run 0 predict models/4 --data eval.tsv --out fourth
cmp newest fourth || fail "another version than the newest was scored"
run 0 inspect models
has out "models: a folder of versions, of which 4 is the newest"
grep -qE '^4 +4 +0 +f16 ' out || fail "no line of version 4: $(cat out)"
grep -qE '^3 +3 +0 +int8 ' out || fail "no line of version 3: $(cat out)"
run 0 inspect models --json
json out '[v["version"] for v in d["versions"]] == [3, 4]'
json out 'd["versions"][1]["tables"][0]["codec"] == "f16"'

# ---- what does not fit is said, with what to do
fails_saying "plain: it is a model directory, but --keep needs a folder of versions" quantize \
  model.safetensors -o plain --keep 2
fails_saying "models/4: it is version 4 of $PWD/models, and stays what it is" quantize \
  model.safetensors -o models/4
fails_saying "models/3: its next delta would be version 4, a number that $PWD/models has or had" \
  export later.safetensors --delta models/3
fails_saying "plain: it is a model directory of tessera quantize without versions to go back to" \
  rollback plain
for number in 9 0 -2; do
  fails_saying "models: there is no version $number, but 3, 4" rollback models --to $number
done
fails_saying "model.safetensors: it is a checkpoint in one file: make a model of it first: tessera \
quantize model.safetensors -o model" serve model.safetensors
fails_saying "models: expected a name for each of several models" serve models plain
fails_saying "a=plain: another model has this name" serve a=models a=plain
fails_saying "=plain: expected a name before the =, got none" serve =plain
fails_saying "--name c: a=models has a name already" serve a=models --name c
fails_saying "--versions latest: plain is no folder of versions" serve plain --versions latest
fails_saying "--versions c=3: there is no model c" serve a=models b=plain --versions c=3
fails_saying "--versions 4: those of model model were said before" serve models --versions 3 \
  --versions 4
fails_saying "models: there is no version 9, but 3, 4" serve models --versions 9
fails_saying "versions 'oldest': expected latest, latest:N or numbers" serve models --versions \
  oldest

fails_saying "--canary 4: expected a version and 1 to 100 percent, such as 5:10" serve models \
  --versions 3,4 --canary 4
fails_saying "--canary 4:10: expected --versions with the numbers of this version" serve models \
  --canary 4:10
fails_saying "version 4 is the --canary and the --shadow" serve models --versions 3,4 \
  --canary 4:10 --shadow 4:10
fails_saying "--shadow c=4:10: there is no model c" serve a=models b=plain --shadow c=4:10
fails_saying "--canary 2:20: plain is no folder of versions" serve plain --canary 2:20
fails_saying "--canary 4:20: that of model model was said before" serve models --versions 3,4 \
  --canary 4:10 --canary 4:20

# ---- rows of a warm-up that no version takes are at fault, not the versions
echo '{"cat_0": "zz"}' >wrong.jsonl
fails_saying "models: no version takes the rows of the warm-up: wrong.jsonl:1: cat_0" serve models \
  --warm-up-file wrong.jsonl
lacks err "tessera quantize"

# ---- two versions of one model, and another model
stopped() { kill -TERM $server && wait $server || fail "the server ended with $?"; }
serve a=models b=plain --versions a=latest:2 --watch 50
has served "serving a, versions 3, 4, 2 tables"
has served "; b, version 2, 2 tables"
# scored PATH VERSION: the version answers.
scored() {
  curl -s "127.0.0.1:$port/v2/models/$1/infer_rows" -d '{"int_0": 3, "cat_0": "1f"}' >answer
  json answer "d['model_version'] == '$2' and d['outputs'][0]['shape'] == [1]"
}
eventually() { for _ in $(seq 600); do grep -qF -- "$2" "$1" &&
  return; sleep 0.1; done; fail "expected '$2' in $1: $(cat "$1")"; }
scored a 4
scored a/versions/3 3
scored a/versions/4 4
scored b 2

# ---- back to a version, and on to one with a new number
run 0 rollback models
has out "models: version 3 is the newest; taken back: 4"
eventually served "took up a: version 3"
scored a 3
fails_saying "models: there is no version before 3" rollback models
fails_saying "models: version 4 is withdrawn: mv models/withdrawn-4 models/4 makes it a version \
again" rollback models --to 4
run 0 quantize later.safetensors -o models
has out "models/5: version 5"
eventually served "took up a: versions 3, 5"
scored a 5
run 0 export model.safetensors --delta models --overwrite
has out "version 6"
eventually served "took up a: versions 3, 6"
scored a/versions/6 6
for number in 5 6; do  # the folder's number and the delta's name one version
  curl -s "127.0.0.1:$port/v2/models/a/versions/$number/infer_rows" -d '{"cat_0": "1f"}' >answer
  json answer 'd["model_version"] == "6"'
done
curl -s "127.0.0.1:$port/v2/models/a/versions/4/infer_rows" -d '{"cat_0": "1f"}' >answer
has answer "there is no version '4', but 3, 6"
mv models/withdrawn-4 models/4
eventually served "took up a: versions 4, 6"
curl -s "127.0.0.1:$port/v2/models/nobody/infer_rows" -d '{"cat_0": "1f"}' >answer
has answer "there is no model 'nobody'"
curl -s "127.0.0.1:$port/metrics" >metrics
lacks metrics 'model=""'
has metrics 'tessera_http_errors_total{code="404"} 2'
stopped
[ ! -s errors ] || fail "errors: $(cat errors)"

# ---- every number of a version is taken where one is given
fails_saying "models: there is no version 7, but 3, 4, 5 with deltas to 6" serve models --versions 7
fails_saying "models: 5 and 6 are one version, 5 with deltas to 6: name it once" serve models \
  --versions 5,6
fails_saying "--canary 7:10: models: there is no version 7, but 3, 4, 5 with deltas to 6" serve \
  models --versions 4,6 --canary 7:10
fails_saying "--canary 6:10: expected --versions with the numbers of this version and of one that \
answers the other requests, such as --versions 4,5" serve models --versions 6 --canary 6:10
serve a=models --versions 3,6 --canary 6:50 --watch 0
has served "serving a, versions 3, 6 (6 answers 50 %)"
stopped
fails_saying "models: there is no version 7, but 3, 4, 5 with deltas to 6" rollback models --to 7
run 0 rollback models --to 6
has out "models: version 5 with deltas to 6 is the newest; taken back: none"
run 0 export later.safetensors --delta models --overwrite
fails_saying "models: version 6 is a delta of version 5, which has deltas to 7: expected 5 or 7" \
  rollback models --to 6
run 0 rollback models --to 3
has out "models: version 3 is the newest; taken back: 5, 4"
fails_saying "models: version 7 is withdrawn: mv models/withdrawn-5 models/5 makes it" rollback \
  models --to 7

# ---- damaged versions: serve starts with the newest that can be loaded, and says which cannot, why
# and what to do; inspect shows the others
mkdir bad && cp -r models/3 bad/3
run 0 quantize later.safetensors -o bad
run 0 quantize model.safetensors -o bad
for version in 4 5; do printf none >bad/$version/weights-$version.safetensors; done
serve a=bad --watch 0
has served "serving a, version 3, 2 tables"
has errors "version 5 cannot be loaded: bad/5/weights-5.safetensors: "
has errors "; version 4 cannot be loaded: bad/4/weights-4.safetensors: "
has errors "; the model is version 3: tessera rollback bad --to 3 takes back the versions above 3"
scored a 3
curl -s "127.0.0.1:$port/metrics" >metrics
has metrics 'tessera_model_newest_version_seen{model="a"} 5'
stopped
run 1 inspect bad
has out "bad: a folder of versions, of which 3 is the newest of those that can be loaded; \
checksums good in 1 of 3 versions; bad: 4, 5"
grep -qE '^3 +3 +0 +int8 ' out || fail "no line of version 3: $(cat out)"
grep -qE '^4 +cannot be loaded' out || fail "no line of version 4: $(cat out)"
has err "tessera: bad: version 4 cannot be loaded: bad/4/weights-4.safetensors: "
has err "; tessera rollback bad --to 3 takes back the versions above 3"
run 1 inspect bad --json
json out '[v["version"] for v in d["versions"]] == [3]'
json out '[v["version"] for v in d["bad_versions"]] == [4, 5]'
json out '"weights-5.safetensors" in d["bad_versions"][1]["error"]'
for command in predict evaluate; do
  fails_saying "bad: version 5 cannot be loaded: bad/5/weights-5.safetensors: " $command bad \
    --data eval.tsv
  has err "; version 4 cannot be loaded: bad/4/weights-4.safetensors: "
  has err "; version 3 can be loaded: name bad/3, or tessera rollback bad --to 3 takes back the \
versions above 3"
done
run 0 predict bad/3 --data eval.tsv
serve a=bad --watch 50
eventually errors "the model stays version 3"  # version 5 was tried again
run 0 rollback bad --to 3
mv bad/3 bad/withdrawn-3
eventually errors "bad: all versions in this folder are withdrawn (withdrawn-3, withdrawn-4, \
withdrawn-5)"
scored a 3
rm -r bad
eventually errors "bad: no version is in this folder any more; the model stays version 3"
stopped
mkdir bad && cp -r models/3 models/withdrawn-5 bad && mv bad/withdrawn-5 bad/5
for version in 3 5; do printf none >bad/$version/weights-$version.safetensors; done
for command in "serve bad" "inspect bad" "predict bad --data eval.tsv"; do
  # shellcheck disable=SC2086
  fails_saying "bad: no version can be loaded: " $command
  has err "version 5 cannot be loaded: bad/5/weights-5.safetensors: "
  has err "; version"
  has err "tessera rollback bad --to VERSION"
done

# ---- rollback says what it wants in place of a file and of a version
fails_saying "eval.tsv: expected a folder of versions, which tessera quantize CHECKPOINT -o DIR \
--keep N makes, got a file" rollback eval.tsv
fails_saying "model.safetensors: expected a folder of versions" rollback model.safetensors
fails_saying "models/3: expected a folder of versions, got version 3 in one: tessera rollback \
$PWD/models" rollback models/3

# ---- a bad one among the N newest that are served keeps no good one out
mkdir among && cp -r models/3 among/3
serve a=among --versions latest:2 --watch 50
has served "serving a, version 3, 2 tables"
mkdir new && cp -r models/3 new/3
for version in 4 5; do run 0 quantize later.safetensors -o new; done
printf none >new/4/weights-4.safetensors
mv new/4 new/5 among
eventually served "took up versions 3, 5"
eventually errors "; the model is versions 3, 5"
has errors "version 4 cannot be loaded: among/4/weights-4.safetensors: "
scored a 5
curl -s "127.0.0.1:$port/v2/repository/index" >index
json index '[(v["version"], v["state"]) for v in d] == [("3", "READY"), ("5", "READY"),
  ("4", "UNAVAILABLE")]'
stopped

# ---- weights that are cut while they are served: the version is not ready, and SIGHUP takes up the
# one before it, then the same version again once its files are whole
mkdir cut && cp -r models/3 among/5 cut
serve a=cut --watch 0
scored a 5
is_ready() { curl -s -f -o answer "127.0.0.1:$port/v2/health/ready"; }
is_ready || fail "not ready"
: >cut/5/weights-5.safetensors
is_ready && fail "ready without weights"
eventually errors "has 0 now; version 5 of a answers no request until a whole version is taken up"
kill -HUP $server
eventually errors "version 5 cannot be loaded: cut/5/weights-5.safetensors: "
scored a 3
is_ready || fail "not ready with version 3"
cp among/5/weights-5.safetensors whole && mv whole cut/5/weights-5.safetensors
kill -HUP $server
eventually served "took up version 5"
scored a 5
is_ready || fail "not ready again"
stopped

# ---- a version in a folder of another number: what is said can be done
mkdir wrong && cp -r models/3 wrong/3 && cp -r models/3 wrong/8
fails_saying "wrong/8: model.json says version 3: expected the number of its folder; $PWD/wrong/3 \
has this number already, so move wrong/8 out of $PWD/wrong" inspect wrong
mv wrong/3 wrong/withdrawn-3
fails_saying "$PWD/wrong/withdrawn-3 has this number already" inspect wrong
rm -r wrong/withdrawn-3
fails_saying "expected the number of its folder; rename that to 3" inspect wrong

# ---- a folder whose versions were all taken back: each command names them, and what to do
mkdir gone && cp -r models/3 gone/withdrawn-3 && cp -r models/3 gone/withdrawn-12
gone="gone: all versions in this folder are withdrawn (withdrawn-3, withdrawn-12): mv \
gone/withdrawn-12 gone/12 makes the newest a version again, and tessera quantize CHECKPOINT -o \
gone writes the next one"
for command in "serve gone" "serve gone --versions latest:2" "inspect gone" "rollback gone" \
  "predict gone --data x" "evaluate gone --data x" "quantize gone -o y" "rollback gone --to 3" \
  "export model.safetensors --delta gone"; do
  # shellcheck disable=SC2086
  fails_saying "$gone" $command
done
run 0 quantize model.safetensors -o gone
has out "gone/13: version 13"
[ ! -e gone/model.json ] || fail "the folder of versions became a model directory"
run 0 inspect gone
