#!/bin/bash
# One signal ends tessera bench while it prepares a case; what was measured before is kept.
source "$TEST_SRCDIR/$TEST_WORKSPACE/tests/cli/cli_test_lib.sh"

# The second case draws ten million ids for each of its batches.
python3 - "$tessera" bench lookup --rows 1k --tables 1 --dim 4 --batch 20k --pooling 1,500 \
  --skew zipf:1.05 --rounds 2 --threads 1 --flush-mib 1 --json kept.json >out 2>err <<'END' ||
import signal, subprocess, sys, time
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
for line in process.stdout:
  print(line, end="")
  if line.startswith("pooling=1 "): break
time.sleep(0.2)
process.send_signal(signal.SIGTERM)
print(process.stdout.read(), end="")
code = process.wait()
if code != 143: sys.exit(f"expected exit 143, got {code}")
END
  fail "$(cat out err)"
has err "interrupted by SIGTERM: the case at hand is left out"
has out "written to kept.json"
lacks out "pooling=500 "
json kept.json "[r['values']['pooling'] for r in d['rows']] == ['1']"
