#!/bin/bash
# Files as other programs write them: states of optimizers without a place in a training, and the
# reverse.
source "$(dirname "$0")/../cli_test_lib.sh"

run 0 generate --rows 200 --vocabulary 50 eval.tsv
run 0 train --config small.json --epochs 1 --checkpoint whole.safetensors
# part FILE states|none metadata|none: those parts of the checkpoint, with its weights.
part() {
  python3 - "$@" <<'EOF'
import json, sys
to, states, metadata = sys.argv[1], sys.argv[2] == "states", sys.argv[3] == "metadata"
file = open("whole.safetensors", "rb").read()
end = 8 + int.from_bytes(file[:8], "little")
header = json.loads(file[8:end])
known = header.pop("__metadata__")
kept, content = {}, b""
for name, entry in sorted(header.items()):
    if name.startswith("optimizer.") and not states:
        continue
    begin, last = entry["data_offsets"]
    entry["data_offsets"] = [len(content), len(content) + last - begin]
    content += file[end + begin : end + last]
    kept[name] = entry
keys = ("epoch", "row", "step", "iter", "seed", "random_next_sequence")
kept["__metadata__"] = {k: known[k] for k in keys} if metadata else {"format": "pt"}
text = json.dumps(kept).encode()
text += b" " * (-len(text) % 8)
open(to, "wb").write(len(text).to_bytes(8, "little") + text + content)
EOF
}
part both.safetensors states metadata
part states.safetensors states none
part place.safetensors none metadata
part weights.safetensors none none

on=(--config small.json --epochs 2)
run 0 train --resume both.safetensors "${on[@]}" --checkpoint goes_on.safetensors
lacks err "afresh"
run 0 train --resume whole.safetensors --epochs 2 --checkpoint whole_on.safetensors
same_tensors goes_on.safetensors whole_on.safetensors || fail "it goes on to other bits"
run 0 train --resume weights.safetensors "${on[@]}"
has err "weights.safetensors holds weights alone: optimizers start afresh"
keys="epoch, iter, random_next_sequence, row, seed, step"
fails_saying "states.safetensors: it has states of optimizers, but its metadata do not say where \
the training stands: expected $keys (docs/saved_models.md says what they are). tessera export \
--weights-only leaves the states out" train --resume states.safetensors "${on[@]}"
fails_saying "place.safetensors: it says that 79 steps were trained, but has no state of the \
optimizers, and this model's have some. tessera export --weights-only leaves out where the \
training stands" train --resume place.safetensors "${on[@]}"
run 0 inspect states.safetensors
has out "optimizer state, but no place in a training: its metadata lack $keys"
run 0 inspect weights.safetensors
has out "weights alone: no optimizer state"

# Scores are the model's alone.
run 0 predict whole.safetensors --data eval.tsv --out scores
for file in both states place weights; do
  run 0 predict $file.safetensors --config small.json --data eval.tsv --out $file.scores
  cmp scores $file.scores || fail "$file: other scores"
done
for file in states place; do
  run 0 export $file.safetensors --out $file.alone.safetensors --weights-only
  run 0 train --resume $file.alone.safetensors "${on[@]}"
  has err "$file.alone.safetensors holds weights alone"
done
