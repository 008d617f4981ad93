# Sourced by the tests of the command. Each check says what it wanted when it fails.
tessera="$TEST_SRCDIR/$TEST_WORKSPACE/cli/tessera"
cd "$TEST_TMPDIR" || exit 1

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# run CODE ARGS…: runs tessera, expects the exit code; stdout and stderr are then in files out and
# err.
run() {
  local want=$1
  shift
  "$tessera" "$@" >out 2>err
  local got=$?
  [ $got -eq "$want" ] || fail "tessera $*: expected exit $want, got $got; $(cat out err)"
}

# has FILE TEXT: the file has the text.
has() { grep -qF -- "$2" "$1" || fail "expected '$2' in $1: $(cat "$1")"; }
lacks() { ! grep -qF -- "$2" "$1" || fail "did not expect '$2' in $1: $(cat "$1")"; }

# fails_saying TEXT ARGS…: exit 1, one line on stderr that has the text, no place in our source,
# nothing of a bar.
fails_saying() {
  local text=$1
  shift
  run 1 "$@"
  has err "$text"
  [ "$(wc -l <err)" -eq 1 ] || fail "tessera $*: expected one line on stderr: $(cat err)"
  ! grep -qE '\.(cc|h):[0-9]' err || fail "tessera $*: names our source: $(cat err)"
}

# json FILE EXPRESSION: the expression over the document d is true.
json() { python3 -c "import json,sys; d=json.load(open(sys.argv[1])); assert $2, d" "$1" ||
  fail "$1: $2"; }

# Two tables on planted rows.
cat >small.json <<'EOF'
{"tables": [{"name": "a", "rows": 51, "dim": 4, "features": ["cat_0"]},
            {"name": "b", "rows": 51, "dim": 4, "features": ["cat_1", "cat_2"]}],
 "model": {"type": "dlrm", "dense_in": 13, "dense_arch": [8, 4], "over_arch": [16, 1]},
 "optimizer": {"sparse": {"name": "rowwise_adagrad", "lr": 0.1},
               "dense": {"name": "adam", "lr": 0.01}},
 "data": {"format": "planted", "rows": 5000, "eval_rows": 1000, "vocabulary": 50},
 "train": {"batch_size": 64}}
EOF

# same_tensors FILE FILE: two safetensors files have the same bytes but for the metadata, which say
# what data were read.
same_tensors() {
  python3 - "$1" "$2" <<'EOF'
import json, sys
def tensors(path):
  file = open(path, "rb").read()
  end = 8 + int.from_bytes(file[:8], "little")
  header = json.loads(file[8:end])
  header.pop("__metadata__")
  return header, file[end:]
sys.exit(tensors(sys.argv[1]) != tensors(sys.argv[2]))
EOF
}

# serve ARGS…: a server on a free port, $port; its process, $server, ends with the test. What it
# says is in files served and errors.
serve() {
  : >served  # or the line of the server before this one would be read
  "$tessera" serve "$@" --port 0 >served 2>errors &
  server=$!
  trap 'kill -9 $server 2>/dev/null' EXIT
  for _ in $(seq 600); do
    port=$(sed -nE 's,.*http://127.0.0.1:([0-9]+)$,\1,p' served) && [ -n "$port" ] && return
    sleep 0.1
  done
  fail "it does not serve: $(cat errors)"
}
