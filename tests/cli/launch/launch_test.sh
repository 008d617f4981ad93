#!/bin/bash
# tessera launch: a run that loses a rank goes on from its last checkpoint, with the bits of a run
# that changed its ranks there; errors and interruptions start nothing again.
source "$(dirname "$0")/launch_test_lib.sh"
sed 's/"rows": [0-9]*, "eval_rows"/"rows": 50000000, "eval_rows"/' launched.json >endless.json
endless=(train --config endless.json --plan row_wise)
save=(--checkpoint-every 20 --rank-timeout 1)

# ---- a rank is killed; files of lines go on
undisturbed 4
echo "localhost slots=4" >hosts
in_time lose is_saved KILL killed 2 --hostfile hosts -- "${train[@]}" --checkpoint killed \
  "${save[@]}" --metrics metrics.jsonl --json result.json --keep-last 2 --best best
has err "launch: rank 2 was lost after step "
has err ": it was killed by signal 9; going on with 3 ranks from step "
has err " of killed (restart 1 of 3)"
has out "saved killed"
[ ! -e .killed.launch ] || fail "reports stayed: $(ls -a .killed.launch)"
cp err killed.err
json result.json 'd["rows"] > 0'
[ -s metrics.jsonl ] && [ -d best ] || fail "metrics or best are missing: $(ls)"
step=$(step_from killed)
same_as_undisturbed killed "$step" 3

# ---- the first rank is stopped; incremental checkpoints; lines as JSON
in_time lose is_saved STOP stopped 0 --ranks 4 -- "${train[@]}" --checkpoint stopped "${save[@]}" \
  --incremental --keep-chains 99 --log-format json
python3 - err <<'PYTHON' || fail "no line of JSON says it: $(cat err)"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1]) if line.startswith("{")]
said = [line for line in lines if line["message"].startswith("launch: ")]
assert len(said) == 1 and said[0]["level"] == "warning", said
assert said[0]["ranks"] == 3 and said[0]["restart"] == 1, said
assert "rank 0 was lost after step " in said[0]["message"], said
assert ": it has been stopped for 1 s (SIGSTOP); going on with 3 ranks" in said[0]["message"], said
PYTHON
same_as_undisturbed stopped "$(step_from stopped)" 3

# ---- a rank is stopped before the ranks watch each other
in_time lose is_started STOP early 1 --ranks 2 -- "${train[@]}" --checkpoint early "${save[@]}"
[ "$(grep -c "going on with" err)" = 1 ] || fail "not one restart: $(cat err)"

# ---- with all ranks again, in a run's folder, held against the record of ranks that are threads
run 0 "${train[@]}" --ranks 4 --verify record.jsonl --verify-every 7
in_time lose is_saved KILL run/last 1 --ranks 4 --restart-ranks all -- "${train[@]}" --run run \
  "${save[@]}" --verify record.jsonl
has err "going on with 4 ranks from step "
grep -q "verify record.jsonl: equal digests: [1-9]" out || fail "no digest was equal: $(cat out)"
same_tables run/last undisturbed
json run/run.json 'len(d["starts"]) == 2 and d["finished"]["epochs"] == 1'

# ---- in sharding groups, too
run 0 "${train[@]}" --ranks 4 --sharding-group-size 2 --checkpoint groups
in_time lose is_saved KILL grouped 1 --ranks 4 --restart-ranks all -- "${train[@]}" \
  --sharding-group-size 2 --checkpoint grouped "${save[@]}"
has err "going on with 4 ranks from step "
same_tables grouped groups

# ---- no checkpoint yet: from the beginning; then no restart is left. One rank alone is known by
# mpirun's exit code.
launch --ranks 2 --max-restarts 1 -- "${endless[@]}" --checkpoint late --metrics late.jsonl \
  --set metrics.compute_interval_steps=5 \
  --rank-timeout 1
victim=$(process late 0 1) || fail "it ended: $(cat out err)"
wait_for [ -s late.jsonl ]
kill -KILL "$victim"
victim=$(process late 1 0) || fail "it did not begin again: $(cat out err)"
has err "going on with 1 rank from the beginning (restart 1 of 1)"
kill -KILL "$victim"
ends 1
has err "tessera: a rank was lost: it was killed by signal 9, and the last of 1 restart is used up"
has err "no checkpoint was saved: the same command begins again"

# ---- what the training, its configuration or its data do wrong starts nothing again
never_again() {
  lacks err "launch: "
  lacks err "restart"
}
launch --ranks 2 -- train --config missing.json --checkpoint never
ends 1
has err "missing.json"
never_again
sed 's/"format": "planted".*50}/"format": "criteo"}/' launched.json >criteo.json
run 0 generate clicks.tsv --rows 3000 --vocabulary 50
echo "no row" >>clicks.tsv
launch --ranks 2 -- train --config criteo.json --data clicks.tsv --checkpoint never \
  --checkpoint-every 2
ends 1
has err "clicks.tsv"
never_again

# ---- SIGTERM, Ctrl-C and SIGHUP: all save and end
end() {
  launch --ranks 2 -- "${train[@]}" --checkpoint "after_$1" "${save[@]}"
  wait_for is_saved "after_$1"
  kill "-$1" $job 2>/dev/null
  wait $job
  code=$?
  [ $code -ne 0 ]
}
for signal in TERM INT HUP; do
  in_time end $signal
  case $signal in TERM) want=143 ;; INT) want=130 ;; HUP) want=129 ;; esac
  [ $code -eq $want ] || fail "SIG$signal: expected exit $want, got $code: $(cat out err)"
  has err "saved after_$signal; the same command with --resume after_$signal goes on"
  never_again
  [ ! -e ".after_$signal.launch" ] || fail "reports stayed: $(ls -a ".after_$signal.launch")"
  run 0 train --resume "after_$signal" --ranks 2 --checkpoint "after_$signal"
done

# ---- mpirun stays after its ranks have ended: it is ended, and the ranks' own codes count
mkdir stays
cat >stays/mpirun <<PYTHON
#!/usr/bin/env python3
import os, signal, subprocess, sys
os.write(2, b"a text of Open MPI 5\n\0")
subprocess.call(["$(readlink -f "$(command -v mpirun)")"] + sys.argv[1:])
signal.pause()
PYTHON
chmod +x stays/mpirun
PATH=$PWD/stays:$PATH in_time lose is_saved KILL stuck 1 --ranks 2 -- "${train[@]}" \
  --checkpoint stuck "${save[@]}"
has err "launch: rank 1 was lost after step "
has out "saved stuck"
cmp err <(tr -d "\0" <err) || fail "NULs were passed on: $(cat err)"

# ---- the launch itself is killed: nothing goes on without it
launch --ranks 2 -- "${endless[@]}" --checkpoint orphans "${save[@]}"
victim=$(process orphans 0 0) || fail "it ended: $(cat out err)"
kill -KILL $job
wait $job
for _ in $(seq 1200); do
  kill -0 "$victim" 2>/dev/null || break
  sleep 0.1
done
kill -KILL "$victim" 2>/dev/null && fail "a rank outlives the launch"
[ -d .orphans.launch ] || fail "no reports are left, whose taking over is tested"
launch --ranks 2 -- "${train[@]}" --checkpoint orphans --overwrite
ends 0
lacks err "orphans.launch"
[ ! -e .orphans.launch ] || fail "reports stayed: $(ls -a .orphans.launch)"

# ---- what is refused before anything starts
refused() { fails_saying "$@" && lacks err "launch: "; }
given=(-- train --config launched.json --checkpoint new)
refused "expected tessera train and its flags after --" launch --ranks 2
refused "expected tessera train and its flags after --" launch --ranks 2 train
refused "'predict' after --: expected train" launch --ranks 2 -- predict model
refused "expected --ranks N, for ranks on this host, or --hostfile FILE" launch "${given[@]}"
refused "train without --checkpoint: after the loss of a rank there would be nothing" \
  launch --ranks 2 -- train --config launched.json
refused "--ranks among train's flags, where it means threads" \
  launch --ranks 2 "${given[@]}" --ranks 2
for variable in OMPI_MCA_orte_tmpdir_base TMPDIR; do
  (
    unset OMPI_MCA_orte_tmpdir_base
    export "$variable=$PWD/launched.json"
    refused "$variable=$PWD/launched.json: Open MPI cannot keep its files there" \
      launch --ranks 2 "${given[@]}"
  ) || exit 1
done
refused "2 ranks are fewer than --min-ranks 3" launch --ranks 2 --min-ranks 3 "${given[@]}"
refused "MLPerf's log is that of a run without restarts" launch --ranks 2 "${given[@]}" --mllog log
refused "standard input can be read once" launch --ranks 2 "${given[@]}" --data -
refused "--epcohs 3: not expected by tessera train" launch --ranks 2 "${given[@]}" --epcohs 3
refused "with 3 of 4 ranks, as may be left after a loss, --plan column_wise: table" \
  launch --ranks 4 --min-ranks 3 "${given[@]}" --plan column_wise
refused "--verify record.jsonl beside --restart-ranks left: the record is of 4 ranks" \
  launch --ranks 4 --min-ranks 3 "${given[@]}" --verify record.jsonl
refused "--restart-ranks all beside --max-restarts 0: nothing is started again" \
  launch --ranks 2 --max-restarts 0 --restart-ranks all "${given[@]}"
refused "--ranks-per-node 2 beside --restart-ranks left: fewer than 4 ranks, as may be left" \
  launch --ranks 4 "${given[@]}" --ranks-per-node 2
refused "--ranks-per-node 3: 4 ranks do not fill nodes of 3" launch --ranks 4 "${given[@]}" \
  --ranks-per-node 3
echo "node1 slots=2 more" >hosts
refused "hosts: line 1: expected HOST slots=N" launch --hostfile hosts "${given[@]}"
mkdir starts_none
printf '#!/bin/sh\n' >starts_none/mpirun
chmod +x starts_none/mpirun
PATH=$PWD/starts_none:$PATH refused "it ended with 0, but no rank has begun" \
  launch --ranks 2 "${given[@]}"
mkdir kept
echo mine >kept/0
ln -s kept .new.launch
fails_saying ".new.launch: it is a link, where tessera launch keeps what its ranks tell it" \
  launch --ranks 2 "${given[@]}"
rm .new.launch
mv kept .new.launch
echo mine >.new.launch/notes
fails_saying ".new.launch: notes is in it" launch --ranks 2 "${given[@]}"
[ "$(cat .new.launch/0 .new.launch/notes | uniq)" = mine ] || fail "files of others are gone"
rm -r .new.launch
PATH=/nowhere "$tessera" launch --ranks 2 "${given[@]}" >out 2>err && fail "there is no mpirun"
has err "tessera: mpirun is not in PATH: install Open MPI (apt-get install openmpi-bin)"
OMPI_COMM_WORLD_SIZE=2 refused "tessera launch starts mpirun itself: leave mpirun out" \
  launch --ranks 2 "${given[@]}"
[ ! -e new ] || fail "a refused start made a checkpoint"
