#!/bin/bash
# A training with a rule of a shared object has the bits of the same rule of the library, resumes,
# and leaves a model that needs no plugin.
source "$TEST_SRCDIR/$TEST_WORKSPACE/tests/cli/plugin/plugin_test_lib.sh"

sha256_of() { sha256sum <"$1" | cut -d' ' -f1; }
sha256=$(sha256_of copied_adagrad.so)

# ---- the bits of the library's rule, with states a row and states an element
run 0 train --config adagrad.json --checkpoint adagrad.safetensors
run 0 train --plugin copied_adagrad.so --config copied_adagrad.json \
  --checkpoint copied_adagrad.safetensors
same_tables adagrad.safetensors copied_adagrad.safetensors
run 0 train --config small.json --checkpoint rowwise.safetensors
run 0 train --plugin copied_rowwise.so --plugin ./copied_adagrad.so --config copied_rowwise.json \
  --checkpoint copied_rowwise.safetensors
same_tables rowwise.safetensors copied_rowwise.safetensors
has err "--plugin ./copied_adagrad.so changes nothing: no table has its rule copied_adagrad"
lacks err "--plugin copied_rowwise.so"

# ---- options by their names; the learning rate of a warm-up
set="--set optimizer.sparse.eps=0.01 --set optimizer.sparse.lr=0.05"
warm='--set optimizer.warmup=[{"policy":"linear","max_iters":40,"value":0.1}]'
run 0 train --config adagrad.json $set $warm --checkpoint a.safetensors
run 0 train --plugin copied_adagrad.so --config copied_adagrad.json $set $warm \
  --set optimizer.sparse.unused_count=3 --set optimizer.sparse.unused_switch=true \
  --set optimizer.sparse.unused_double=-1.5 --checkpoint b.safetensors
same_tables a.safetensors b.safetensors
! same_tensors a.safetensors adagrad.safetensors || fail "options change nothing"

# ---- it goes on where it stopped, with the states
run 0 train --plugin copied_adagrad.so --config copied_adagrad.json --epochs 2 \
  --checkpoint two.safetensors
run 0 train --plugin copied_adagrad.so --resume copied_adagrad.safetensors --epochs 2 \
  --checkpoint resumed.safetensors
lacks out "SHA-256"
same_tables two.safetensors resumed.safetensors
fails_saying "copied_adagrad.safetensors: table 'a' is trained by the rule copied_adagrad, which \
is that of a plugin: give the shared object, by --plugin FILE" \
  train --resume copied_adagrad.safetensors --epochs 2 --checkpoint none.safetensors
[ ! -e none.safetensors ] || fail "a refused training has written"

# ---- another file with the rule: it says so
{ cat copied_adagrad.so; echo; } >rebuilt.so
run 0 train --plugin ./rebuilt.so --resume copied_adagrad.safetensors --epochs 2 \
  --checkpoint rebuilt.safetensors
has out "resume: --plugin ./rebuilt.so: the file with the rule copied_adagrad is another one"
has out "(SHA-256 was $sha256, is $(sha256_of rebuilt.so))"
same_tables two.safetensors rebuilt.safetensors
# One that remembers something else is another rule.
fails_saying "the rule copied_rowwise of --plugin other_rowwise.so remembers \
[\"momentum1 [E, D]\"], but the one that saved this remembered [\"momentum1 [E]\"]" \
  train --plugin other_rowwise.so --resume copied_rowwise.safetensors --epochs 2 \
  --checkpoint other.safetensors

# ---- a file that is written over while it is in use
cp copied_adagrad.so live.so
"$tessera" train --plugin live.so --config copied_adagrad.json --epochs 100000 \
  --checkpoint live.safetensors --checkpoint-every 20 >out 2>err &
training=$!
# saved_after INODE: waits for a checkpoint that is another file.
saved_after() {
  for _ in $(seq 1200); do
    [ -e live.safetensors ] && [ "$(stat -c %i live.safetensors)" != "$1" ] && return
    kill -0 $training || break
    sleep 0.05
  done
  wait $training
  fail "no further checkpoint, exit $?: $(cat out err)"
}
saved_after none
: >live.so
saved_after "$(stat -c %i live.safetensors)"
kill -TERM $training
wait $training
[ $? -eq 143 ] || fail "after the plugin's file was emptied: $(cat out err)"

# ---- run.json
run 0 train --plugin copied_adagrad.so --config copied_adagrad.json --run runs/first
json runs/first/run.json "d['starts'][0]['plugins'] == [{'rule': 'copied_adagrad', \
'path': '$(realpath .)/copied_adagrad.so', \
'sha256': '$sha256'}]"
run 0 train --plugin rebuilt.so --run runs/first --epochs 2
has out "is another one"
json runs/first/run.json "len(d['starts']) == 2"
run 0 train --config adagrad.json --run runs/library --epochs 2
same_tables runs/first/last.safetensors runs/library/last.safetensors
json runs/library/run.json "'plugins' not in d['starts'][0]"
run 0 runs runs
has out first

# ---- what reads the model needs no plugin
run 0 inspect copied_adagrad.safetensors
has out copied_adagrad
run 0 evaluate adagrad.safetensors
cp out said
run 0 evaluate copied_adagrad.safetensors
sed s/copied_// out | diff <(sed s/copied_// said) - >differs ||
  grep -vqE 'seconds|samples|^---|^[0-9]' differs || fail "evaluate says $(cat differs)"
run 0 quantize copied_adagrad.safetensors -o model
run 0 inspect model
run 0 export copied_adagrad.safetensors -o tables
run 0 reshard copied_adagrad.safetensors -o resharded --plan row_wise --ranks 2
run 0 train --plugin copied_adagrad.so --resume resharded --epochs 2 --checkpoint r.safetensors
same_tables two.safetensors r.safetensors
