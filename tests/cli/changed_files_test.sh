#!/bin/bash
# Numbers that a disk or a hand changed beside the tensors of a checkpoint are refused by the file's
# name, and names in an index lead nowhere else than into its folder.
source "$(dirname "$0")/cli_test_lib.sh"
run 0 train --config small.json --checkpoint model.safetensors
run 0 train --config small.json --checkpoint chain --incremental --checkpoint-every 50
run 0 train --config small.json --ranks 2 --checkpoint ranks
run 0 generate --rows 500 --vocabulary 50 rows.tsv
run 0 preprocess rows.tsv -o rows

# bump FROM TO KEY: a copy whose first number under the key, in the text before any tensor, is
# another one.
bump() {
  python3 - "$@" <<'PYTHON' || fail "bump $*"
import re, sys
source, target, key = sys.argv[1:]
data = open(source, "rb").read()
end = 8 + int.from_bytes(data[:8], "little") if source.endswith(".safetensors") else len(data)
found = re.search(key.encode() + rb'[\\"]*: ?[\\"[]*[0-9.]*([0-9])', data[:end])
at = found.start(1)
open(target, "wb").write(data[:at] + b"%d" % ((data[at] - 47) % 10) + data[at + 1:])
PYTHON
}

# ---- headers
for key in step iter seed epoch lr random_next_sequence shape crc32; do
  bump model.safetensors bad.safetensors $key
  for command in inspect "train --config small.json --resume" "quantize -o served"; do
    # shellcheck disable=SC2086
    fails_saying "bad.safetensors: " $command bad.safetensors
    has err "was changed, or is corrupt"
  done
done
newest=$(ls chain/*.delta.safetensors | tail -1)
cp "$newest" kept
bump "$newest" bad.safetensors step
cp bad.safetensors "$newest"
fails_saying "$newest: the header was changed" train --resume chain
cp kept "$newest"
run 0 inspect chain

# ---- indexes
for key in step iter seed lr save rows bytes max_counter; do
  cp -r ranks bad
  bump ranks/index.json bad/index.json $key
  fails_saying "bad/index.json: " export bad --out out.safetensors
  has err "was changed, or is corrupt"
  fails_saying "bad/index.json: " train --resume bad --ranks 2
  rm -r bad
done
cp -r rows bad
bump rows/index.json bad/index.json rows
fails_saying "bad/index.json: it was changed, or is corrupt" train --config small.json --data bad
rm -r bad

# ---- names: an index without a checksum, as it was written before there was one, may say what it
# likes renamed FROM TO: the first file that bad/index.json names is called TO.
renamed() {
  python3 - "$@" <<'PYTHON' || fail "renamed $*"
import json, sys
d = json.load(open("bad/index.json"))
del d["crc32"]
entry = (d["files"] if "files" in d else d["shards"])[0]
entry["name" if "name" in entry else "file"] = sys.argv[1]
json.dump(d, open("bad/index.json", "w"))
PYTHON
}
for folder in ranks rows; do
  file=$(ls $folder/*.safetensors | head -1)
  file=${file#*/}
  read_it() { if [ $folder = ranks ]; then echo export bad --out out.safetensors; else echo train \
    --config small.json --data bad; fi; }
  for name in "../$folder/$file" "$PWD/$folder/$file" ..; do
    cp -r $folder bad
    renamed "$name"
    # shellcheck disable=SC2046
    fails_saying "bad: expected the name of a file in it, without a folder, got '$name'" $(read_it)
    rm -r bad
  done
  cp -r $folder bad
  ln -sf "../$folder/$file" "bad/$file"
  # shellcheck disable=SC2046
  fails_saying "bad/$file: it is a link that leads out of its folder" $(read_it)
  rm -r bad
  cp -r $folder bad
  renamed "$file"
  # shellcheck disable=SC2046
  run 0 $(read_it)
  rm -r bad
  rm -f out.safetensors
done
