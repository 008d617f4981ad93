#!/bin/bash
# tessera train --dry-run: what would run, the errors of a real start, and nothing written.
source "$(dirname "$0")/../cli_test_lib.sh"
source "$(dirname "$0")/../mpi_test_lib.sh"
sed 's/"rows": 5000/"rows": 1000/' small.json >short.json
train=(train --config short.json --threads 1)

# same_files COMMAND…: the command leaves the folder as it was.
same_files() {
  local before
  before=$(find . -type f ! -name out ! -name err | sort | xargs sha256sum; find . -type d | sort)
  "$@"
  [ "$before" = "$(find . -type f ! -name out ! -name err | sort | xargs sha256sum
    find . -type d | sort)" ] || fail "$*: files were written"
}

mpi_dry_run() {
  "${mpirun[@]}" -n 2 "$tessera" "${train[@]}" --dry-run --run mpi >out 2>err ||
    fail "mpirun: $(cat out err)"
}

# ---- what would run, beside every output, alone and on ranks
outputs=(--json deep/r.json --metrics deep/m.jsonl --tensorboard tb --mllog deep/log
  --trace deep/t.json --eval-every 10)
same_files run 0 "${train[@]}" --dry-run --checkpoint deep/er/a.safetensors "${outputs[@]}"
has out "dlrm, 2 tables of 102 rows in all"
has out "1,000 an epoch, "
has out "deep/er/a.safetensors (checkpoint)"
has out "Nothing was trained or written"
same_files run 0 "${train[@]}" --dry-run --ranks 2 --plan auto --checkpoint deep/folder
has out "2 ranks (local)"
has out "KiB a checkpoint; "
has out " are free in "
same_files run 0 "${train[@]}" --dry-run --run kept --epochs 3
has out "kept/last.safetensors (checkpoint)"
same_files mpi_dry_run
has out "2 ranks (mpi)"

# ---- when it is evaluated, on how many rows, and where that ends it
same_files run 0 "${train[@]}" --dry-run --eval-every 0.25 --patience 3 --stop-at auc=0.9
has out "evaluation 1,000 rows, every 0.25 of an epoch (3 steps) and after each epoch; compared by \
auc; stops at auc 0.9; stops after 3 evaluations without a better one"
lacks err "never reached"
same_files run 0 "${train[@]}" --dry-run --eval-every 40 --epochs 2
has out "evaluation 1,000 rows, every 40 steps and after each epoch; compared by auc"
has err "evaluation.every_steps: 40 (--eval-every) is never reached inside an epoch, which has 16 \
steps, of 32 in all: the ends of epochs alone are evaluated"
run 0 "${train[@]}" --eval-every 40 --epochs 2
has err "evaluation.every_steps: 40 (--eval-every) is never reached inside an epoch"
same_files run 0 "${train[@]}" --dry-run --set data.eval_rows=0
lacks out "evaluation "

# ---- a checkpoint to go on from
run 0 "${train[@]}" --checkpoint a.safetensors
same_files run 0 train --resume a.safetensors --dry-run --epochs 4 --checkpoint a.safetensors
has out "4, of which "
run 0 "${train[@]}" --epochs 2 --patience 1 --checkpoint two.safetensors
for epochs in 1 2; do
  same_files run 0 train --resume two.safetensors --dry-run --epochs $epochs
  has out "done: nothing is left to train"
  has out "A start would have nothing to train. Nothing was trained or written (--dry-run)."
  lacks out "goes on at row"
done

# ---- a warm-up that comes or goes where a training goes on
warmup='optimizer.warmup=[{"policy":"linear","max_iters":20,"value":0.1}]'
run 0 "${train[@]}" --set "$warmup" --checkpoint warm.safetensors
for dry in --dry-run --epochs=2; do
  same_files fails_saying "a.safetensors: optimizer.warmup was none when it was saved, and is [" \
    train --resume a.safetensors --set "$warmup" $dry
  same_files fails_saying "}] when it was saved, and is none now" \
    "${train[@]}" --resume warm.safetensors $dry
done

# ---- keys that do not fit each other: told with their paths, by a start as without one
for dry in --dry-run --epochs=2; do
  same_files fails_saying "short.json: model: dlrm: expected dense features (dense_in above 0), or \
two others" "${train[@]}" $dry --set 'model={"type":"dlrm","dense_in":0,"over_arch":[4,1]}' \
    --set 'tables=[{"name":"t","rows":9,"dim":4,"features":["cat_0"]}]'
  same_files fails_saying "tables[0].dim: emainplace_rowwise_adagrad: its rows are two halves: \
expected an even dim, got 7" "${train[@]}" $dry \
    --set 'tables=[{"name":"t","rows":9,"dim":7,"features":["cat_0"]}]' \
    --set 'optimizer.sparse={"name":"emainplace_rowwise_adagrad"}' \
    --set 'model={"type":"deepfm","hidden":4,"deep_fm_dim":4}'
  same_files fails_saying "short.json: optimizer.dense.name: rowwise_adagrad keeps one number for" \
    "${train[@]}" $dry --set optimizer.dense.name=rowwise_adagrad
done

# ---- the errors of a real start
same_files fails_saying "a.safetensors: a file is there" "${train[@]}" --dry-run \
  --checkpoint a.safetensors
same_files fails_saying "cannot be written" "${train[@]}" --dry-run \
  --checkpoint a.safetensors/b.safetensors
# /proc refuses files, whatever the rights of its folder say; the run itself begins with none either
for place in "--checkpoint /proc/x.st" "--checkpoint /proc/x --ranks 2" "--run /proc/x" \
  "--best /proc/x.st" "--json /proc/x.json" "--metrics /proc/x.jsonl" "--tensorboard /proc/x" \
  "--trace /proc/x.json" "--verify /proc/x.jsonl"; do
  same_files fails_saying "cannot be written: /proc: " "${train[@]}" --dry-run $place
  same_files fails_saying "/proc/x" "${train[@]}" $place
  ! grep -q "epoch 1" out || fail "$place: it trained, then was refused"
done
run 0 "${train[@]}" --json /dev/stdout
run 0 "${train[@]}" --json /proc/self/fd/1
[ -z "$(ls -A | grep '^\.tessera')" ] || fail "a try has left a file"
same_files fails_saying "the training takes about" "${train[@]}" --dry-run --memory-limit 10K
huge=(--set tables[0].rows=60000000000000 --memory-limit 1000000000T)
for how in "--checkpoint far" "--run far" "--best far"; do
  same_files fails_saying "more on the disk of $PWD (each takes about" "${train[@]}" --dry-run \
    $how "${huge[@]}"
done
same_files fails_saying "are free there" "${train[@]}" --dry-run --ranks 2 --checkpoint far \
  "${huge[@]}"
run 0 "${train[@]}" --dry-run "${huge[@]}"  # which saves nothing
fails_saying "are free there" "${train[@]}" --checkpoint far "${huge[@]}"
[ ! -e far ] || fail "a run that has no room for its checkpoints has begun"
same_files fails_saying "nowhere.tsv" "${train[@]}" --dry-run --data nowhere.tsv


# ---- metrics that a training does not have
for dry in --dry-run --epochs=1; do
  same_files fails_saying "metrics: they ask for 'user', but training has 'label', 'prediction', \
'weight' only" "${train[@]}" $dry --metrics m.jsonl \
    --set 'metrics={"rec_tasks":[{"name":"t","label_name":"user"}]}'
done

# ---- Criteo's text: the first line of each file; what is empty, or cut off, is found now
run 0 generate --rows 300 --vocabulary 50 rows.tsv
run 0 generate --rows 100 --first 300 --vocabulary 50 more.tsv
echo "# a heading" >bad.tsv
sed 's/$/\t7/' more.tsv >wide.tsv
: >empty.tsv
gzip -k more.tsv
head -c 12 more.tsv.gz >cut.tsv.gz
criteo=("${train[@]}" --data rows.tsv)
for dry in --dry-run --epochs=1; do
  same_files fails_saying "bad.tsv:1: " "${train[@]}" $dry --data bad.tsv
  same_files fails_saying "bad.tsv:1: " "${train[@]}" $dry --data rows.tsv bad.tsv
  same_files fails_saying "wide.tsv:1: " "${criteo[@]}" $dry --eval wide.tsv
  same_files fails_saying "wide.tsv:1: " "${criteo[@]}" $dry --eval more.tsv wide.tsv
  same_files fails_saying "--eval empty.tsv: expected rows, but there are none" "${criteo[@]}" \
    $dry --eval empty.tsv
  same_files fails_saying "empty.tsv: expected rows, but there are none" "${train[@]}" $dry \
    --data empty.tsv
  same_files fails_saying "--eval bad.tsv: expected rows, but there are none" "${criteo[@]}" \
    $dry --eval bad.tsv --skip-bad-lines
  same_files fails_saying "cut.tsv.gz" "${criteo[@]}" $dry --eval cut.tsv.gz
  ! grep -q "epoch 1" out || fail "it trained, then was refused"
done
cat bad.tsv rows.tsv >headed.tsv
run 0 "${train[@]}" --dry-run --data headed.tsv --train-rows 1:
run 0 "${train[@]}" --dry-run --data headed.tsv --skip-bad-lines
run 0 "${criteo[@]}" --dry-run --eval more.tsv empty.tsv more.tsv.gz
true | "$tessera" "${train[@]}" --data - --dry-run >out 2>err || fail "$(cat err)"

# A plan by a word that does not fit: option, table, what is expected and what came. What such a
# plan does not cut is said.
words=("${train[@]}" --dry-run --data rows.tsv)
same_files fails_saying "--plan column_wise: table a (column_wise): expected a dim that its 3 \
ranks [0, 1, 2] divide, got 4" "${words[@]}" --ranks 3 --plan column_wise
same_files fails_saying "--plan column_wise: table a (column_wise): its rule \
emainplace_rowwise_adagrad needs whole rows" "${words[@]}" --ranks 2 --plan column_wise \
  --set 'tables[0].dim=8' --set 'tables[1].dim=8' \
  --set 'optimizer.sparse={"name":"emainplace_rowwise_adagrad"}' --set model.dense_arch=[8]
run 0 "${words[@]}" --ranks 2 --plan column_wise
has out "2 ranks (local): 2 tables column_wise (2 stay whole on one rank: a [51, 4], b [51, 4])"
run 0 "${words[@]}" --ranks 2 --plan row_wise --set 'tables[1].rows=1'
has out "2 ranks (local): 2 tables row_wise (1 stays whole on one rank: b [1, 4])"
run 0 "${words[@]}" --ranks 4 --plan row_wise --set 'tables[0].rows=3' --set 'tables[1].rows=1'
has out "4 ranks (local): 2 tables row_wise (1 stays whole on one rank: b [1, 4]; 1 lies on fewer \
ranks: a [3, 4] on 3 of 4)"
run 0 "${words[@]}" --ranks 4 --ranks-per-node 2 --plan table_row_wise --set 'tables[0].rows=3'
lacks out "on fewer ranks"
run 0 "${words[@]}" --ranks 4 --plan column_wise --set 'tables[0].dim=8' \
  --set 'tables[1].dim=8' --set model.dense_arch=[8]
has out "2 tables column_wise (2 lie on fewer ranks: a [51, 8] on 2 of 4, b [51, 8] on 2 of 4)"

# Raw ids that ranks cannot take.
raw=("${train[@]}" --set 'managed_collision={"kind":"growing"}' --ranks 2 --dry-run --data rows.tsv)
same_files fails_saying "its raw ids are in no parts, but over ranks they have to be" "${raw[@]}"
same_files fails_saying "--plan data_parallel: table a is sharded data_parallel, but its raw ids \
become rows on one rank each" \
  "${raw[@]}" --set managed_collision.num_parts=3 --plan data_parallel
for plan in row_wise table_row_wise; do  # rows are cut between parts
  run 0 "${raw[@]}" --set managed_collision.num_parts=3 --plan $plan
  has out "2 ranks (local): 2 tables $plan"
done

# A plan that a table's rule does not go with.
planned=("${train[@]}" --ranks 2 --data rows.tsv)
halves='{"sharding_type": "column_wise", "compute_kernel": "fused", "shards": [
  {"rank": 0, "offset": [0, 0], "size": [51, 2]}, {"rank": 1, "offset": [0, 2], "size": [51, 2]}]}'
echo "{\"tessera_sharding_plan\": 1, \"world_size\": 2, \"local_size\": 2,
  \"tables\": {\"a\": $halves, \"b\": $halves}}" >halves.json
same_files fails_saying "its rule emainplace_rowwise_adagrad needs whole rows" "${planned[@]}" \
  --dry-run --plan halves.json --set 'optimizer.sparse={"name":"emainplace_rowwise_adagrad"}'
run 0 "${planned[@]}" --plan row_wise --save-plan plan.json
sed 's/"fused"/"dense"/' plan.json >dense.json
same_files fails_saying ": its kernel is dense, its rule rowwise_adagrad; expected another kernel, \
or the rule dense" "${planned[@]}" --dry-run --plan dense.json
sed 's/"fused"/"key_value"/' plan.json >on_disk.json
same_files fails_saying ": location DISK is for rules that update rows, not for dense" \
  "${planned[@]}" --dry-run --plan on_disk.json --set 'optimizer.sparse={"name":"dense"}'

same_files fails_saying "rows: expected an integer above 0, got 0" "${train[@]}" --dry-run \
  --set tables[0].rows=0
