#!/bin/bash
# tessera config prints every key, a part, a key, the keys of a type, and the JSON Schema.
source "$(dirname "$0")/cli_test_lib.sh"

run 0 config
for text in "tables[].rows" "optimizer.sparse" "metrics.rec_metrics" "data.features[]"; do
  has out "${text%.rows}"
done
has out '  batch_size  (integer of at least 1; default 256)'
# A key is listed once in its section; what it is in other kinds stands below it.
twice=$(awk '/^[a-zA-Z]/ { section = $1 }
  /^  [^ ]/ { if (seen[section, $1]++) print section, $1 }' out)
[ -z "$twice" ] || fail "keys that are listed twice: $twice"
run 0 config managed_collision
grep -A4 '^  eviction  (LRU, LFU or DISTANCE_LFU; default "LRU")' out | tr -s '\n ' ' ' |
  grep -qF 'Of growing. or (LRU, LFU or DISTANCE_LFU; default "DISTANCE_LFU") Which id loses' ||
  fail "eviction of mch is not below that of growing: $(cat out)"
run 0 config model
has out "Extraction layers. Of ple."
lacks out "optimizer.sparse"
run 0 config model --type ple
has out "  task_experts  (integer from 1 to 1048576; required)"
lacks out "dcn_low_rank"
run 0 config optimizer.sparse --type adam
has out "  use_rowwise_bias_correction  (true or false; default false)"
lacks out "counter_halflife"
for path in "tables[0].rows" tables.rows; do
  run 0 config "$path"
  has out "  rows  (integer of at least 1; required)"
  lacks out "dim"
done
run 0 config metrics.rec_metrics --type ndcg
has out "exponential_gain"
lacks out "num_bins"

# ---- a name or a word of names: every key that has it
run 0 config lr
for path in optimizer.sparse optimizer.dense; do
  grep -qxF "$path" out || fail "no section $path: $(cat out)"
done
grep -q '^  lr  (number' out || fail "no lr: $(cat out)"
[ -z "$(grep '^  [^ ]' out | grep -v '^  lr  ')" ] || fail "keys beside lr: $(cat out)"
run 0 config sparse.lr
lacks out "optimizer.dense"
run 0 config cache
has out "tables[].cache"
run 0 config eval
has out "  eval_rows  ("
lacks out "batch_size"
fails_saying "no key 'batchsize'; did you mean 'batch_size'?" config batchsize

fails_saying "no key 'train.batchsize'; did you mean 'train.batch_size'?" config train.batchsize
fails_saying "--type plee: model has no such type; did you mean ple?" config model --type plee
fails_saying "--type adamm: a configuration has no such type; did you mean adam?" config \
  --type adamm
fails_saying "--type trees: model has the types dlrm, dlrm_dcn," config model --type trees
fails_saying "--type adam: train has the same keys for all types" config train --type adam
fails_saying "leave model out" config model --json-schema
fails_saying "leave --type out" config --type ple --json-schema

# ---- the schema, and a configuration that names it
run 0 config --json-schema
json out 'd["$schema"] == "https://json-schema.org/draft/2020-12/schema"'
json out 'd["properties"]["train"]["properties"]["epochs"]["default"] == 1'
json out 'd["additionalProperties"] is False'
mv out tessera.schema.json
sed 's/^{"tables"/{"$schema": ".\/tessera.schema.json", "tables"/' small.json >with_schema.json
run 0 train --config with_schema.json --train-rows 0:512
has out "trained 512 rows"

# ---- settings that change nothing
run 0 train --config small.json --train-rows 0:512 --set 'tables[0].stochastic_rounding=true' \
  --set optimizer.sparse.name=sgd --set 'tables[1].state_dtype=f16'
has err "stochastic_rounding of table a changes nothing: rows of f32 are not rounded"
has err "state_dtype of table b changes nothing: the optimizer has no states"
run 0 train --config small.json --train-rows 0:512 \
  --set 'optimizer.gradient_clipping={"max_gradient":0.5,"norm_type":1}' \
  --set 'optimizer.dense={"name":"sgd","lr":0.1,"dampening":0.5}'
has err "optimizer.gradient_clipping.max_gradient changes nothing: the mode is none"
has err "optimizer.gradient_clipping.norm_type changes nothing: the mode is not norm"
has err "optimizer.dense.dampening changes nothing: the momentum is 0"
run 0 train --config small.json --train-rows 0:512 \
  --set optimizer.sparse.name=cowclip_rowwise_adagrad
has err "the optimizer cowclip_rowwise_adagrad of tables a, b changes nothing: weight_norm"
run 0 train --config small.json --train-rows 0:512 --set 'tables[1].optimizer={"name":"sgd"}' \
  --set 'optimizer.sparse={"name":"counter_rowwise_adagrad","weight_decay":0.5,
           "weight_decay_mode":"DECOUPLE"}'
has err "weight_decay of table a makes rows larger, as in FBGEMM: counter_rowwise_adagrad takes it"
run 0 train --config small.json --train-rows 0:512 --set 'tables[0].state_dtype=f16' \
  --set optimizer.sparse.name=adam
has err "state_dtype f16 of table a beside Adam: second moments"

# idle_of_rule OPTIMIZER SETTING… -- WHY: training warns of these settings of the rule, and of no
# other.
idle_of_rule() {
  run 0 train --config small.json --train-rows 0:512 --set "optimizer.sparse=$1"
  shift
  local settings=()
  while [ "$1" != -- ]; do settings+=("$1") && shift; done
  for setting in "${settings[@]}"; do
    has err "the optimizer's $setting of tables a, b changes nothing: $2"
  done
  [ "$(grep -c 'changes nothing' err)" -eq ${#settings[@]} ] || fail "$(cat err)"
}
counter='"name":"counter_rowwise_adagrad"'
tail='"tail_id_threshold":3,"tail_id_threshold_is_ratio":true,"adjustment_ub":2,"max_counter":5,
  "max_counter_update_freq":2,"adjustment_iter":3'
idle_of_rule "{$counter,$tail}" tail_id_threshold tail_id_threshold_is_ratio adjustment_ub \
  adjustment_iter max_counter max_counter_update_freq -- "its learning_rate_mode is EQUAL"
idle_of_rule "{$counter,$tail,\"weight_decay_mode\":\"ADAGRADW\",\"counter_halflife\":-2,
  \"learning_rate_mode\":\"COUNTER_SGD\"}" learning_rate_mode tail_id_threshold \
  tail_id_threshold_is_ratio max_counter max_counter_update_freq -- \
  "its weight_decay_mode ADAGRADW takes the step from the row's count"
idle_of_rule "{$counter,\"learning_rate_mode\":\"COUNTER_SGD\",\"max_counter\":5,
  \"max_counter_update_freq\":2}" max_counter max_counter_update_freq -- \
  "its learning_rate_mode is COUNTER_SGD"
idle_of_rule "{$counter,\"learning_rate_mode\":\"TAIL_ID_LR_INCREASE\",$tail}" --
idle_of_rule "{$counter,\"weight_decay_mode\":\"L2\"}" weight_decay_mode -- "its weight_decay is 0"
idle_of_rule '{"name":"rowwise_rmsprop_ar","min_shrinkage":0.9}' min_shrinkage -- \
  "its ar_alpha is 0"
idle_of_rule '{"name":"global_decay_rowwise_adagrad","start_iter":3,"lower_bound":0.3}' \
  start_iter lower_bound -- "its weight_decay is 0"

echo '{"d": [1,2,3,4,5,6,7,8,9,1,2,3,4], "cat_0": [1, 2], "cat_1": 3, "cat_2": 4, "l": 1}' \
  >rows.jsonl
run 0 train --config small.json --data rows.jsonl --dry-run \
  --set 'data={"format": "jsonl", "dense": [{"name": "d", "size": 13}], "labels": ["l"],
    "features": [{"name": "cat_0", "keep": "last"},
                 {"name": "cat_1", "keep": "last", "max_length": 1}]}'
has err "data.features: keep of feature 'cat_0' changes nothing: it has no max_length"
[ "$(grep -c 'changes nothing' err)" -eq 1 ] || fail "$(cat err)"

# idle SETTING WHY MANAGED_COLLISION: training warns of the setting of raw ids.
idle() {
  run 0 train --config small.json --train-rows 0:512 --set "managed_collision=$3"
  has err "managed_collision.$1 of tables a, b changes nothing: $2"
}
idle sketch_bytes "admit_after is 1" '{"kind":"growing","sketch_bytes":4096}'
idle decay_exponent "the eviction is not DISTANCE_LFU" \
  '{"kind":"mch","eviction":"LRU","decay_exponent":2}'
idle percent_reserved_slots "opt_in_prob is -1" '{"kind":"hash_zch","percent_reserved_slots":10}'
idle disable_fallback "with opt_in_prob, ids without a slot read reserved ones" \
  '{"kind":"hash_zch","opt_in_prob":50,"percent_reserved_slots":10,"disable_fallback":true}'
run 0 train --config small.json --train-rows 0:512 --set 'managed_collision={"kind":"growing",
  "admit_after":3,"sketch_bytes":64}'
has err "sketch_bytes 64 of table a: so small a sketch"
idle clock "the eviction is NONE" '{"kind":"hash_zch","clock":"HOURS"}'
run 0 train --config small.json --train-rows 0:512 --set 'managed_collision={"kind":"mch",
  "eviction":"DISTANCE_LFU","decay_exponent":2}'
lacks err "changes nothing"

# ---- a wrong type hides no other key
cat >wrong.json <<'END'
{"tables": [{"name": "a", "rows": 51, "dim": 4, "feature": ["cat_0"]}],
 "model": {"type": "dlmr", "dense_arch": [8, 4], "over_arch": "16"},
 "optimizer": {"sparse": {"name": "adagard", "lr": -1}, "dense": {"name": "adam"}}}
END
run 1 train --config wrong.json
for text in "6 problems" "sparse.lr:" \
  "sparse.name: no optimizer of tables is called 'adagard' (did you mean 'adagrad'?); there are" \
  "tables[0].features: the key is missing" "tables[0].feature: unknown key" "model.type: expected" \
  'read as those of "dlrm"' "model.over_arch: expected a list"; do has err "$text"; done
