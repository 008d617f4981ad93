#!/bin/bash
# Every form in which a model is saved, given to every command: it works and has the bits of the
# reference, or is refused by a sentence that says what to do first. docs/saved_models.md shows what
# is met here.
source "$(dirname "$0")/cli_test_lib.sh"
page="$TEST_SRCDIR/$TEST_WORKSPACE/docs/saved_models.md"

sed 's/"dim": 4/"dim": 8/g; s/\[8, 4\]/[16, 8]/
  s/"rows": 5000, "eval_rows": 1000/"rows": 640, "eval_rows": 200/' small.json >config.json
run 0 generate --rows 200 --first 640 --vocabulary 50 eval.tsv
one=(--threads 2 --config config.json --epochs 1)
two=(--threads 2 --epochs 2)
on_2=(--ranks 2 --plan row_wise) on_4=(--ranks 4 --plan column_wise)

# ---- the forms, each after one epoch of two
run 0 train "${one[@]}" --checkpoint plain.safetensors
run 0 train "${one[@]}" --checkpoint saved_changes --incremental --checkpoint-every 3
run 0 train "${one[@]}" --checkpoint saved_ranks "${on_2[@]}"
run 0 train "${one[@]}" --checkpoint saved_changes_of_ranks --incremental \
  --checkpoint-every 3 "${on_2[@]}"
run 0 export saved_ranks --out ranks.safetensors
run 0 export plain.safetensors --out torchrec.safetensors --weights-only
run 0 quantize plain.safetensors -o saved_model --bits 32
for flag in "--rows 0:9" "--part eval"; do
  # shellcheck disable=SC2086
  run 1 quantize plain.safetensors -o unscored $flag
  has err "${flag% *} requires --data"
done
mkdir saved_dcp && touch saved_dcp/.metadata saved_dcp/__0_0.distcp
"$TEST_SRCDIR/$TEST_WORKSPACE/tests/cli/make_program_checkpoint" program.safetensors ||
  fail "cannot save a program's model"
forms=("a file" "an incremental folder" "a folder of ranks" "an incremental folder of ranks" \
  "a model directory" "TorchRec's state dict" "a program's file" "a PyTorch folder")
paths=(plain.safetensors saved_changes saved_ranks saved_changes_of_ranks saved_model \
  torchrec.safetensors program.safetensors saved_dcp)
# The same as a file: what each cell is held against.
files=(plain.safetensors plain.safetensors ranks.safetensors ranks.safetensors none \
  torchrec.safetensors program.safetensors none)

# ---- a file of each: one epoch more, as it goes on from a file, and from a folder for as many
# ranks
for file in plain ranks torchrec; do
  config=() && [ $file != torchrec ] || config=(--config config.json)
  run 0 predict $file.safetensors --data eval.tsv --out $file.scores "${config[@]}"
  run 0 quantize $file.safetensors -o $file.model "${config[@]}"
  run 0 train --resume $file.safetensors "${two[@]}" "${config[@]}" --checkpoint $file.alone
  for n in 2 4; do
    plan="on_$n[@]" && plan=("${!plan}")
    run 0 reshard $file.safetensors --world-size $n --plan "${plan[3]}" \
      --out $file.for_$n "${config[@]}"
    run 0 train --resume $file.for_$n "${two[@]}" "${config[@]}" "${plan[@]}" \
      --checkpoint $file.on_$n
  done
done
run 0 train --threads 2 --config config.json --epochs 2 --checkpoint whole.safetensors
same_tensors whole.safetensors plain.alone ||
  fail "a file: other bits than a run that never stopped"
run 0 train --threads 2 --config config.json --epochs 2 "${on_2[@]}" --checkpoint whole
run 0 export whole --out whole_ranks.safetensors
run 0 export ranks.on_2 --out went_through_a_file.safetensors
same_tensors whole_ranks.safetensors went_through_a_file.safetensors ||
  fail "ranks, a file, ranks: other bits than a run that never stopped"
run 0 predict saved_model --data eval.tsv --out model.scores
python3 -c 'import sys; a, b = ([float(l) for l in list(open(f))[1:]] for f in sys.argv[1:])
assert len(a) == len(b) == 200 and all(abs(x - y) <= 1e-6 for x, y in zip(a, b))' \
  model.scores plain.scores || fail "scores"

# ---- what a cell of the table says: yes, or the number of a sentence
sentences=()
# try ARGS…: whether the command took it; the cell is then in `cell`.
try() {
  if "$tessera" "$@" >out 2>err; then
    cell=yes
    return 0
  fi
  [ "$(wc -l <err)" -eq 1 ] || fail "tessera $*: expected one line on stderr: $(cat err)"
  local said
  said=$(sed "s,^tessera: ,,; s,$path,PATH,g" err)
  for i in "${!sentences[@]}"; do
    [ "${sentences[$i]}" != "$said" ] || { cell="($((i + 1)))" && return 1; }
  done
  sentences+=("$said")
  cell="(${#sentences[@]})"
  return 1
}
# equal FILE FILE: the same bytes.
equal() { cmp "$1" "$2" || fail "$path, $command: other bits"; }
# resumed REFERENCE ARGS…: one more epoch, in the form that is asked for, has the reference's bits.
resumed() {
  local reference=$1
  shift
  rm -rf next next.safetensors reference.safetensors
  try train --resume "$path" "${two[@]}" "${config[@]}" --checkpoint next "$@" || return
  run 0 export next --out next.safetensors
  run 0 export "$reference" --out reference.safetensors
  equal next.safetensors reference.safetensors
}
inspect() { try inspect "$path"; }
predict() { try predict "$path" --data eval.tsv --out scores "${config[@]}" &&
  equal scores "$name.scores"; }
quantize() {
  rm -rf quantized
  try quantize "$path" -o quantized "${config[@]}" &&
    equal quantized/weights-1.safetensors "$name.model/weights-1.safetensors"
}
export_out() { rm -f exported && try export "$path" --out exported && equal exported "$file"; }
export_delta() {
  rm -rf older && cp -r older_model older
  try export "$path" --delta older --overwrite "${config[@]}" || return
  run 0 predict older --data eval.tsv --out scores
  run 0 predict "$name.model" --data eval.tsv --out expected
  equal scores expected
}
reshard() {
  rm -rf resharded back
  try reshard "$path" --world-size 3 --plan row_wise --out resharded "${config[@]}" || return
  run 0 export resharded --out back
  equal back "$file"
}
compact() { rm -f compacted && try compact "$path" --out compacted && equal compacted "$file"; }
alone() { resumed "$name.alone"; }
incremental() { resumed "$name.alone" --incremental; }
ranks_incremental() { resumed "$name.on_2" "${on_2[@]}" --incremental; }
as_many() { resumed "$name.on_2" "${on_2[@]}"; }
others() { resumed "$name.on_4" "${on_4[@]}"; }

sed 's/"batch_size": 64/"batch_size": 64, "seed": 9/' config.json >seeded.json
run 0 train --threads 2 --config seeded.json --epochs 1 --checkpoint seeded.safetensors
run 0 quantize seeded.safetensors -o older_model

commands=(inspect predict quantize export_out export_delta reshard compact alone incremental \
  as_many ranks_incremental others)
{
  echo '| | `inspect` | `predict` | `quantize` | `export --out` | `export --delta` |' \
    '`reshard` | `compact` | `train --resume` | the same `--incremental` |' \
    'on as many ranks | the same `--incremental` | on others |'
  echo '|---|---|---|---|---|---|---|---|---|---|---|---|---|'
} >met
for i in "${!forms[@]}"; do
  path=${paths[$i]} file=${files[$i]} name=${files[$i]%.safetensors} config=()
  [ "$path" != saved_model ] || name=model
  [ "$path" != torchrec.safetensors ] || config=(--config config.json)
  row="| ${forms[$i]} |"
  for command in "${commands[@]}"; do
    $command
    row+=" $cell |"
  done
  echo "$row" >>met
done
for i in "${!sentences[@]}"; do echo "($((i + 1))) ${sentences[$i]}" >>met; done
# Rows of the table, and the numbered sentences, each on one line.
awk '/^\|/ { print; next }
  /^\([0-9]+\) / { sentence = $0; next }
  sentence != "" && /./ { sentence = sentence " " $0; next }
  sentence != "" { print sentence; sentence = "" }
  END { if (sentence != "") print sentence }' "$page" >shown
diff met shown >differs || fail "docs/saved_models.md does not show what was met: $(cat differs)"

# ---- a program's file has tensors of its own names
run 0 inspect program.safetensors
has out "embedding_bags.t_user.weight"
has out "momentum1, momentum2"
has out "saved by a program with SaveCheckpoint"
run 0 inspect program.safetensors --json
json out '(d["saved_by"] == "SaveCheckpoint" and d["tensors"][0]["shape"] == [20, 8] and
  d["tensors"][0]["optimizer_states"] == ["iter", "momentum1", "momentum2"] and
  d["progress"]["step"] == 400)'
run 0 export program.safetensors --out program_again.safetensors
has out "program_again.safetensors: 1 tensor of SaveCheckpoint"

# ---- what is saved over is of the form that the run saves
saves() { fails_saying "--checkpoint $1: it is $2, but this run saves $3: name another path" train \
  --resume "$1" "${two[@]}" --checkpoint "$1" "${@:4}"; }
saves saved_ranks "a folder that ranks saved" "a checkpoint in one file"
saves saved_ranks "a folder that ranks saved" "a folder of tessera train --incremental" \
  --incremental
saves saved_changes "a folder of tessera train --incremental" "a checkpoint in one file"
saves saved_changes "a folder of tessera train --incremental" "a folder that ranks saved" \
  "${on_2[@]}"
saves saved_changes "a folder of tessera train --incremental" \
  "a folder of tessera train --incremental on ranks" "${on_2[@]}" --incremental
saves saved_changes_of_ranks "a folder of tessera train --incremental on ranks" \
  "a folder of tessera train --incremental" --incremental
fails_saying "it is a file; this saves checkpoints in a folder" train \
  --resume plain.safetensors "${two[@]}" --checkpoint plain.safetensors "${on_2[@]}"

# ---- what is no model at all, what lacks a configuration, and what was changed
mkdir nothing
fails_saying "nothing: there is no saved model in this folder: expected a checkpoint of ranks \
(index.json)" inspect nothing
fails_saying "nowhere: cannot be read" predict nowhere --data eval.tsv
fails_saying "torchrec.safetensors: it does not say what the model is: give --config FILE" reshard \
  torchrec.safetensors --world-size 2 --plan row_wise --out x
fails_saying "--config is for a checkpoint" predict saved_model --config config.json --data eval.tsv
cp -r saved_ranks bad
printf x | dd of=bad/save-1-rank-1.safetensors bs=1 \
  seek=$(($(stat -c %s bad/save-1-rank-1.safetensors) - 1)) conv=notrunc 2>dd
fails_saying "it is corrupt" quantize bad -o x
fails_saying "it is corrupt" train --resume bad "${two[@]}"
[ ! -e x ] || fail "x was made"
run 0 inspect saved_model --json
json out 'd["version"] == 1 and d["tables"][0]["rows"] == 51 and d["tables"][0]["codec"] == "f32"'

# ---- states of one number a row are said to change where blocks of columns are joined or cut, and
# not else
run 0 train "${one[@]}" --checkpoint columns --ranks 2 --plan column_wise
run 0 train --resume columns "${two[@]}" --checkpoint joined
grep -q "momentum1 of columns 0 to 8: the mean" err ||
  fail "going on alone does not say what it joins: $(cat err)"
run 0 train --resume plain.safetensors "${two[@]}" --checkpoint cut --ranks 2 --plan column_wise
grep -q "momentum1 of columns 0 to 4: a copy of" err ||
  fail "going on with ranks does not say what it cuts: $(cat err)"
run 0 train --resume columns "${two[@]}" --checkpoint kept --ranks 2 --plan column_wise
! grep -q "momentum1" err || fail "nothing changes: $(cat err)"
