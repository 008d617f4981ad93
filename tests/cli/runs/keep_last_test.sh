#!/bin/bash
# tessera train --keep-last: the last checkpoints stay, beside every other option, whatever ends the
# run, and no bit of what is trained changes.
source "$(dirname "$0")/../cli_test_lib.sh"
source "$(dirname "$0")/../mpi_test_lib.sh"
train=(train --config small.json --threads 1)  # 79 steps
save=(--checkpoint-every 20 --keep-last 3)

# there NAME…: these are the checkpoints that begin with "m", in this order.
there() { [ "$(ls -d m*)" = "$(printf '%s\n' "$@")" ] || fail "expected $*: $(ls -d m*)"; }
run 0 "${train[@]}" --checkpoint whole.safetensors

# ---- a file
run 0 "${train[@]}" "${save[@]}" --checkpoint m.safetensors
there m.safetensors m.step-00000040.safetensors m.step-00000060.safetensors
cmp m.safetensors whole.safetensors || fail "other bits"
run 0 inspect m.step-00000060.safetensors
has out "step 60"

# ---- the newest, and an earlier one, go on; what came after it goes
run 0 train --threads 1 --resume m.safetensors "${save[@]}" --epochs 2 --checkpoint m.safetensors
there m.safetensors m.step-00000120.safetensors m.step-00000140.safetensors
cp m.safetensors two.safetensors
fails_saying "which this command did not begin from" train --resume m.step-00000120.safetensors \
  "${save[@]}" --checkpoint m.safetensors
run 0 train --threads 1 --resume m.step-00000120.safetensors "${save[@]}" --epochs 2 \
  --checkpoint m.safetensors --overwrite
there m.safetensors m.step-00000120.safetensors m.step-00000140.safetensors
cmp m.safetensors two.safetensors || fail "from an earlier one: other bits"

# ---- those of another training are not lost
mv m.safetensors n.safetensors
fails_saying "m.step-00000120.safetensors: it is there, kept by a training that" "${train[@]}" \
  "${save[@]}" --checkpoint m.safetensors
fails_saying "would be taken for an earlier checkpoint of this one" "${train[@]}" \
  --checkpoint m.safetensors
fails_saying "or give --overwrite, which removes it" "${train[@]}" "${save[@]}" \
  --checkpoint m.safetensors --resume whole.safetensors --epochs 2 --dry-run
there m.step-00000120.safetensors m.step-00000140.safetensors
run 0 "${train[@]}" --keep-last 2 --checkpoint m.safetensors --overwrite --dry-run
has out "removes    $PWD/m.step-00000120.safetensors, $PWD/m.step-00000140.safetensors, kept by a"
there m.step-00000120.safetensors m.step-00000140.safetensors
run 0 "${train[@]}" --keep-last 2 --checkpoint m.safetensors --overwrite
has out "the first save removes $PWD/m.step-00000120.safetensors, $PWD/m.step-00000140.safetensors"
there m.safetensors
rm m*

# ---- a training without --keep-last that overwrites another leaves none of its checkpoints, which
# a later --keep-last would count
run 0 "${train[@]}" "${save[@]}" --checkpoint m.safetensors
run 0 "${train[@]}" --seed 5 --checkpoint m.safetensors --overwrite
there m.safetensors
run 0 train --threads 1 --resume m.safetensors "${save[@]}" --epochs 2 --checkpoint m.safetensors
there m.safetensors m.step-00000120.safetensors m.step-00000140.safetensors
run 0 train --threads 1 --resume m.step-00000120.safetensors --epochs 2 --overwrite \
  --checkpoint m.safetensors --dry-run
has out "removes    $PWD/m.step-00000140.safetensors, kept by a training that this one does not"
run 0 train --threads 1 --resume m.step-00000120.safetensors --epochs 2 --overwrite \
  --checkpoint m.safetensors
there m.safetensors m.step-00000120.safetensors  # of its own past; it adds none
run 0 train --threads 1 --resume m.safetensors --epochs 3 --checkpoint m.safetensors --dry-run
lacks out removes
rm m*

# ---- a folder of ranks, each of whose checkpoints is whole
run 0 "${train[@]}" --ranks 2 --checkpoint whole
run 0 export whole --out whole_ranks.safetensors
run 0 "${train[@]}" --ranks 2 "${save[@]}" --checkpoint m/
there m m.step-00000040 m.step-00000060
run 0 train --ranks 2 --threads 1 --resume m.step-00000040 "${save[@]}" --checkpoint m --overwrite
there m m.step-00000040 m.step-00000060
run 0 train --ranks 2 --threads 1 --resume m.step-00000060 --checkpoint end
"${mpirun[@]}" -n 2 "$tessera" train --threads 1 --resume m.step-00000040 "${save[@]}" \
  --checkpoint m --overwrite >out 2>err || fail "mpirun: $(cat out err)"
there m m.step-00000040 m.step-00000060
for folder in m end; do
  run 0 export $folder --out $folder.out
  cmp $folder.out whole_ranks.safetensors || fail "$folder: other bits"
done
rm -r m*

# ---- a run's folder
run 0 "${train[@]}" --run m --keep-last 2 --checkpoint-every 30
[ "$(cd m && echo last*)" = "last.safetensors last.step-00000060.safetensors" ] || fail "$(ls m)"
[ "$(cd m && echo best*)" = best.safetensors ] || fail "$(ls m)"
run 0 "${train[@]}" --run m --keep-last 2 --epochs 2
[ "$(cd m && echo last*)" = "last.safetensors last.step-00000079.safetensors" ] || fail "$(ls m)"
run 0 runs m
rm -r m

# ---- kill -9 at any moment: the end has the same bits, and no more than three stay
sed 's/"rows": 5000/"rows": 50000000/' small.json >long.json
train=(train --config long.json --threads 1)
# kill_often PATH FLAGS…: kills a training five times, some milliseconds after a save.
kill_often() {
  local path=$1
  shift
  python3 - "$tessera" "$path" "$@" <<'PYTHON' || fail "$path: killed runs"
import glob, os, random, subprocess, sys, time
tessera, path, flags = sys.argv[1], sys.argv[2], sys.argv[3:]
dice = random.Random(5)
def newest():
  whole = path if path.endswith(".safetensors") else path + "/index.json"
  return os.stat(whole).st_mtime_ns if os.path.exists(whole) else 0
for kill in range(5):
  start = ["--resume", path] if newest() else ["--config", "long.json"]
  command = [tessera, "train", "--threads", "1", *start, *flags, "--checkpoint", path]
  with open("killed.txt", "w") as said:
    process = subprocess.Popen(command, stdout=said, stderr=said)
    for save in range(dice.randint(1, 4)):
      before = newest()
      while newest() == before and process.poll() is None: time.sleep(0.0002)
    time.sleep(dice.random() * 0.004)
    process.kill()
    if process.wait() != -9:
      sys.exit(f"kill {kill}: it ended by itself: " + open("killed.txt").read())
PYTHON
}
for form in m.safetensors m; do
  flags=(--checkpoint-every 5 --keep-last 3)
  [ $form = m ] && flags+=(--ranks 2)
  kill_often $form "${flags[@]}"
  run 0 inspect $form --json
  rows=$(python3 -c 'import json; print(json.load(open("out"))["progress"]["row"] + 3200)')
  range=(--train-rows 0:$rows --eval-rows $rows:$((rows + 1000)))
  run 0 "${train[@]}" "${range[@]}" "${flags[@]:4}" --checkpoint killed_whole_$form
  run 0 train --threads 1 "${range[@]}" --resume $form "${flags[@]}" --checkpoint $form
  [ "$(ls -d m*step* | wc -l)" -eq 2 ] || fail "$(ls -d m*)"
  for path in $form killed_whole_$form m*step*; do run 0 inspect $path; done
  run 0 export $form --out killed.$form.out
  run 0 export killed_whole_$form --out killed_whole.$form.out
  cmp killed.$form.out killed_whole.$form.out || fail "$form: killed: other bits"
  rm -r m*
done

# ---- what is asked for wrongly
train=(train --config small.json)
fails_saying "--keep-last needs --checkpoint" "${train[@]}" --keep-last 2
fails_saying "--keep-last beside --incremental, whose folder keeps earlier saves by --keep-chains" \
  "${train[@]}" --keep-last 2 --checkpoint x --incremental
fails_saying "--best x.step-00000010.safetensors beside --keep-last" "${train[@]}" --keep-last 2 \
  --checkpoint x.safetensors --best x.step-00000010.safetensors
fails_saying "--keep-last beside --checkpoint /dev/stdout" "${train[@]}" --keep-last 2 \
  --checkpoint /dev/stdout
fails_saying "--keep-last: expected a whole number from 1 to 1048576, got '0'" \
  "${train[@]}" --keep-last 0 --checkpoint x.safetensors
