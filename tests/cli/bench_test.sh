#!/bin/bash
# tessera bench: lists, sweeps at toy sizes, suites, files, and what it says of mistakes.
source "$(dirname "$0")/cli_test_lib.sh"

small=(--rows 1k --tables 2 --batch 16 --pooling 3 --rounds 3 --threads 1 --flush-mib 1)

# The list.
run 0 bench
for topic in lookup update quant sparse train comm plan serve limits lab; do has out "  $topic "; \
  done
run 0 bench lookup --help
has out "--skew"
has out "peers, "

# A sweep, as table and as files.
run 0 bench lookup "${small[@]}" --dim 16,64 --skew uniform,zipf:1.05 --json sweep.json \
  --csv sweep.csv --svg sweep.svg
has out "Limit: a bare gather"
has out "All rows: rows=1k, tables=2, batch=16, pooling=3; 1 thread"
has out "dim=64,skew=zipf:1.05 "
has out "written to sweep.svg"
json sweep.json 'd["topic"] == "lookup" and d["rounds"] == 3 and d["cold"] and len(d["rows"]) == 4'
point="lookup/dim=16,rows=1k,tables=2,batch=16,pooling=3"
json sweep.json "[r['name'] for r in d['rows']][:2] == [
  f'$point,skew={s}/1t' for s in ('uniform', 'zipf:1.05')]"
json sweep.json 'all(r["contender"] == "tessera" and len(r["samples"]) == 3 for r in d["rows"])'
json sweep.json 'all(r["share"] > 0 and r["items"] == 96 for r in d["rows"])'
json sweep.json \
  'd["rows"][0]["bytes"] == 4 * 16 * (96 + 32) + 8 * 96 and d["rows"][0]["values"]["rows"] == "1k"'
[ "$(wc -l <sweep.csv)" -eq 5 ] || fail "sweep.csv: $(cat sweep.csv)"
has sweep.svg "</svg>"

# Every kind of lookup is checked before it is timed.
run 0 bench lookup "${small[@]}" --mode sum,mean,none --dim 16,20
run 0 bench lookup --mode sum,mean --weighted yes --pooling poisson:3 --rows criteo:50 --batch 16 \
  --rounds 3 --threads 1 --flush-mib 1
run 0 bench lookup "${small[@]}" --api module --mode sum,mean,none --json module.json
json module.json \
  '[r["contender"] for r in d["rows"]] == ["tessera", "collection"] * 2 + ["tessera"]'
json module.json 'not d["cold"] and not any("cold" in r for r in d["rows"])'
has out "cold caches, warm for calls of at most 4096 ids with --api module, 3 rounds"

# Rows as they are stored, with and without an alignment.
run 0 bench quant --codec int8,int8@4 --op lookup,encode --dim 30 --rows 1k --threads 1 --rounds 2 \
  --flush-mib 1 --batch 16 --json stored.json
json stored.json '[r["bytes"] for r in d["rows"]][1] > [r["bytes"] for r in d["rows"]][0]'
fails_saying "row codec 'int8@x': expected an alignment" bench quant --codec int8@x
fails_saying "unknown row codec 'int7'" bench lab --kernel quantized --codec int7

# Suites.
run 0 bench lookup --suite peers --list --threads 1,2
[ "$(grep -c '/2t$' out)" -eq 13 ] || fail "peers: $(cat out)"
has out "lookup/criteo_D64/2t"
has out "lookup/call_T26_B1_L1/1t"
lacks out "call_T26_B1_L1/2t"
run 0 bench lookup --suite calls --only T26_B1 --rounds 2
has out "call_T26_B1_L1"

# The machine's limits.
run 0 bench limits --kind read,copy,write,gather:64,update:256,fma --memory 4Mi --rounds 2 \
  --threads 1 --flush-mib 1 --json roofs.json
has out "kind=update:256  bare"

# Against a file of before.
run 0 bench lookup "${small[@]}" --dim 16 --json before.json
run 0 bench lookup "${small[@]}" --dim 16,32 --compare before.json --svg change.svg
has out "lookup/dim=16,rows=1k,tables=2,batch=16,pooling=3/1t"
has out "only in the new run: lookup/dim=32"
has change.svg "speed since"
run 0 bench lab "${small[@]}" --variants plain --json plain.json
run 0 bench lab "${small[@]}" --compare plain.json
has out "pooling=3/1t (old: "

# Cold and warm caches in one run, compared with a run of one of them.
run 0 bench lookup "${small[@]}" --caches cold,warm --json caches.json
has out "cold and warm caches"
has out "caches=warm "
json caches.json '[r["cold"] for r in d["rows"]] == [True, False] and "cold" not in d'
run 0 bench lookup "${small[@]::${#small[@]}-2}" --warm --compare caches.json
has out "only in the old run: lookup/rows=1k,tables=2,batch=16,pooling=3,caches=cold/1t tessera"
run 0 bench lookup --suite peers --only '^D16,' --caches cold,warm --list --threads 1
has out "lookup/D16,caches=warm/1t"

# What rows read and compute. Counters are facts, or one note says why they are not; no zeros.
run 0 bench lookup "${small[@]}" --dim 16,32 --details --counters --json details.json
has out "    distinct rows "
has out "; lru l1 hit "
json details.json '[r["facts"]["operations"] for r in d["rows"]] == [96 * 16, 96 * 32]'
json details.json 'all(0 <= r["facts"]["lru_l1_hit_share"] <= 1 for r in d["rows"])'
json details.json 'all(r["facts"].get("cycles", 1) > 0 for r in d["rows"])'
if ! grep -q cycles details.json; then
  [ "$(grep -c '^counters: not counted: cycles' out)" -eq 1 ] || fail "one note: $(cat out)"
fi
run 0 bench show details.json --roofline roofline.svg --limits roofs.json
run 0 bench update "${small[@]}" --rule sgd,adam --json rules.json
json rules.json 'all(r["facts"]["operations"] > 96 * 128 for r in d["rows"])'

# Types, any dim, ids of a user, and Google Benchmark's layout.
own=(--rows 1k --tables 2 --batch 16 --rounds 3 --threads 1 --flush-mib 1 --ids lines:bags.txt)
for bag in $(seq 40); do echo "$bag 5 $((bag * 20))"; done >bags.txt
run 0 bench lookup "${own[@]}" --dim 48 --row-type f16,f32 --gbench google.json \
  --json with_context.json
has out "All rows: dim=48, rows=1k"
json google.json \
  '{b["name"].split("/")[-1] for b in d["benchmarks"]} >= {"tessera", "tessera_median"}'
json with_context.json '"tessera bench lookup" in d["context"]["command"] and d["context"]["isa"]'
[ "$(wc -L <out)" -le 160 ] || fail "wide lines: $(cat out)"
fails_saying "id 500 (place 74) is no row of a table of 500 rows" bench lookup \
  "${own[@]}" --rows 500 --tables 1

# A table on disk, of one process and by rows over ranks: the losses of the table in memory.
run 0 bench disk --ranks 1,2 --rows 2k --dim 8 --batch 32 --steps 2 --batches 4 --rounds 2 \
  --threads 2 --json disk.json
json disk.json '[r["values"]["ranks"] for r in d["rows"]] == ["1", "1", "2", "2"]'
json disk.json '[r["contender"] for r in d["rows"]] == ["tessera", "memory"] * 2'
json disk.json 'all(r["facts"]["share_of_bound"] > 0 for r in d["rows"][::2])'
json disk.json 'all(r["facts"]["file_bytes"] > 0 for r in d["rows"][::2])'
json disk.json 'not any(r["facts"] for r in d["rows"][1::2])'
run 0 bench disk --help
grep -A9 -- "--details" out | tr -s ' \n' ' ' | grep -q "of bound, its speed as a share of" ||
  fail "$(cat out)"

# Bag lengths and tables of a user.
few=(--batch 16 --rounds 3 --threads 1 --flush-mib 1)
printf '%s\n' 3 0 7 >lengths.txt
run 0 bench lookup "${few[@]}" --rows 1k --tables 1 --json trace.json \
  --pooling trace:lengths.txt,trace:lines:bags.txt
json trace.json '[r["items"] for r in d["rows"]] == [5 * 10 + 3, 16 * 3]'
echo '[{"rows": "1k", "dim": 64, "pooling": 2}, {"rows": 7, "dim": 20}]' >tables.json
for topic in lookup update lab; do
  run 0 bench $topic "${few[@]}" --tables tables.json --pooling 1 --json "$topic.json"
  json "$topic.json" 'd["rows"][0]["items"] == 16 * 3 and d["rows"][0]["share"] > 0'
done
has out "variant policies does not take --dim 20"
fails_saying "--dim 64: no case uses it" bench lookup "${few[@]}" --tables tables.json \
  --dim 64
fails_saying "--tables 2 with --rows criteo:50" bench lookup --rows criteo:50 --tables 2
echo 3x >>lengths.txt
fails_saying 'lengths.txt:4: expected one length, an integer from 0, got "3x"' bench lookup \
  --pooling trace:lengths.txt

# Every topic refuses what it does not know or use.
run 0 bench
for topic in $(sed -n 's/^  \([a-z]*\)  .*/\1/p' out); do
  fails_saying "--dimm 3: not expected" bench "$topic" --dimm 3
  fails_saying "stray: not expected" bench "$topic" stray
done
[ "$topic" = lab ] || fail "the topics end with $topic"
fails_saying "--examples 7: no case uses it" bench train --part products --dim 8 \
  --rows 10 --batch 8 --examples 7 --threads 1
fails_saying "--tables 3: no case uses it" bench quant --op encode --rows 100 --tables 3 \
  --threads 1
fails_saying "--tables 1: no case uses it" bench quant --op encode,search --rows 100 --tables 1 \
  --threads 1
lacks out "op="
fails_saying "--ranks: expected at most 8 GPUs, or whole nodes of 8, got '12'" bench plan \
  --tables 20 --ranks 8,12
lacks out "ranks=8"
fails_saying "--op search with --codec f16: its rows have no ranges" bench quant --op search \
  --codec int8,f16 --rows 100 --threads 1
lacks out "codec=int8"
fails_saying "--count 9: no case uses it" bench eviction --ids lines:bags.txt --count 9

# The lab ranks a point's contenders, and takes parameters of variants as axes.
run 0 bench lab "${small[@]}" --variants plain+policies --ahead 0,16 --min-time 0.001
has out "of limit"
run 0 bench lab "${small[@]}" --dim 20 --variants all
has out "variant policies does not take --dim 20"
fails_saying "policies does not take --dim 20" bench lab "${small[@]}" --dim 20 --variants policies
fails_saying "no kernel has a variant 'nosuch'; grouping has four_bytes, hash_map, " bench lab \
  "${small[@]}" --variants plain+nosuch
run 0 bench lab "${small[@]}" --kernel update --mode mean --row-type bf16 --variants batch_order
run 0 bench lab "${small[@]}" --kernel grouping,quantized
has out "hash_map"
has out "ask_ahead"
run 0 bench lab "${small[@]}" --dim 30 --kernel quantized --codec int8@4
run 0 bench lab --kernel product --batch 32 --rounds 3 --threads 1 --flush-mib 1
has out "eigen (6e-05): sums in another order than ours"
fails_saying "emainplace_rowwise_adagrad: its rows are two halves: expected an even dim, got 5" \
  bench update "${small[@]}" --rule sgd,emainplace_rowwise_adagrad --dim 4,5
fails_saying "--rule sgd with --kernel lookup: nothing that is timed here reads it" bench lab \
  "${small[@]}" --rule sgd
fails_saying "--mode mean with --kernel grouping: nothing" bench lab "${small[@]}" --mode mean \
  --kernel lookup,grouping
lacks out "Limit: "

# Mistakes.
fails_saying "bench: no topic 'lokup': expected lookup" bench lokup
fails_saying "--dim: expected a number such as 20" bench lookup --dim wide
fails_saying "--skew: " bench lookup --skew odd
fails_saying "--dim: 16 is given twice" bench lookup --dim 16,16
fails_saying "--rounds 3 with --passes 5: expected at least 5 rounds" bench lookup "${small[@]}" \
  --passes 5
fails_saying "--flush-mib 1 with --warm: caches are left warm" bench lookup "${small[@]}" --warm
fails_saying "--flush-mib 1 with --caches auto: caches are left warm" bench comm --flush-mib 1
fails_saying "--only: 'nothing' matches none of 1 cases" bench lookup --only nothing
fails_saying "lookup: no suite 'pears': expected peers" bench lookup --suite pears
fails_saying "sets it itself" bench lookup --suite peers --dim 16
fails_saying "missing.json" bench lookup --compare missing.json
echo '{"rows": 3}' >wrong.json
fails_saying "wrong.json" bench lookup --compare wrong.json
fails_saying "/proc/no/where: cannot be written" bench lookup --json /proc/no/where
fails_saying "weighted=yes/1t: --weighted yes with --mode none" bench lookup "${small[@]}" \
  --weighted yes --mode none
fails_saying "a run of topic 'limits' cannot be compared with one of topic 'lookup'" bench limits \
  --compare before.json --json lost.json
fails_saying "late.png: the picture is SVG: expected a name that ends in .svg" bench lookup \
  --svg late.png
fails_saying "--op: " bench sparse --op permute,typo
export TESSERA_THREADS=many
fails_saying "TESSERA_THREADS=many: expected a number above 0" bench lookup --list
run 0 inspect --help
