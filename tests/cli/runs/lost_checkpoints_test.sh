#!/bin/bash
# tessera train --run where a checkpoint that the run has saved is missing: refused, and nothing is
# replaced, however the run ended.
source "$(dirname "$0")/../cli_test_lib.sh"

sed 's/"rows": 5000/"rows": 2000/' small.json >short.json
sed 's/"rows": 5000/"rows": 50000000/' small.json >long.json
missing="which is missing, so it cannot go on: bring it back, name another folder, or give \
--overwrite to begin the run anew"

state_of() { find "$1" -type f ! -name log.txt -exec sha256sum {} + | sort; }
# gone CONFIG FOLDER CHECKPOINT FLAGS…: a run that has lost this checkpoint is refused.
gone() {
  local config=$1 folder=$2 lost=$2/$3
  shift 3
  local kept=$(state_of "$folder")
  for dry in "" --dry-run; do
    fails_saying "--run $folder: this run has saved $lost, $missing" train --config "$config" \
      --run "$folder" "$@" $dry
  done
  [ "$kept" = "$(state_of "$folder")" ] || fail "a refused start changed $folder"
}

# killed SAVED FLAGS…: kills a run in the folder lost once it has saved these checkpoints.
killed() {
  rm -rf lost
  python3 - "$tessera" "$@" <<'EOF' || fail "killed runs: $*"
import json, subprocess, sys, time
tessera, saved, *flags = sys.argv[1:]
process = subprocess.Popen([tessera, "train", "--config", "long.json", "--run", "lost", *flags],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
def has_saved():
  try:
    run = json.load(open("lost/run.json"))
  except OSError:
    return False
  return run["starts"] != [] and " ".join(sorted(run.get("saved", []))) == saved
while not has_saved() and process.poll() is None: time.sleep(0.005)
process.kill()
sys.exit(process.wait() != -9)
EOF
}

for form in "" --incremental "--ranks 2"; do
  last=last best=best
  [ -n "$form" ] || last=last.safetensors
  [ "$form" = "--ranks 2" ] || best=best.safetensors

  # ---- a finished run without its last
  rm -rf lost
  run 0 train --config short.json $form --run lost
  json lost/run.json 'sorted(d["saved"]) == ["best", "last"]'
  rm -r lost/$last
  gone short.json lost $last $form
  run 0 train --config short.json $form --run lost --overwrite
  json lost/run.json 'len(d["starts"]) == 1 and d["finished"]["epochs"] == 1'

  # ---- a killed one without its last, and without both
  killed "best last" $form --eval-every 20 --checkpoint-every 30
  rm -r lost/$last
  gone long.json lost $last $form --eval-every 20 --checkpoint-every 30
  rm -r lost/$best
  gone long.json lost $last $form --eval-every 20 --checkpoint-every 30

  # ---- one that had saved its best alone, without it
  killed best $form --eval-every 20
  rm -r lost/$best
  gone long.json lost $best $form --eval-every 20
done

# ---- a run that was killed before its first save begins anew
killed ""
run 0 train --config short.json --run lost
json lost/run.json 'len(d["starts"]) == 1 and d["finished"]["epochs"] == 1'

# ---- a run.json that is damaged there
sed -i 's/"saved": \[/"saved": [5, /; s/"saved":\[/"saved":[5,/' lost/run.json
fails_saying "lost/run.json: saved[0]: expected" train --config short.json --run lost
