# Sourced: $plugins is the folder of the shared objects, here and below by relative paths.
source "$TEST_SRCDIR/$TEST_WORKSPACE/tests/cli/cli_test_lib.sh"
plugins=$(dirname "$TEST_SRCDIR/$TEST_WORKSPACE/tests/cli/plugin/copied_adagrad.so")
cp "$plugins"/*.so .

# named RULE FROM TO: the configuration FROM with this rule of tables, as TO.
named() { sed "s/\"rowwise_adagrad\"/\"$1\"/" "$2" >"$3"; }
named adagrad small.json adagrad.json
named copied_adagrad small.json copied_adagrad.json
named copied_rowwise small.json copied_rowwise.json

# same_tables FILE FILE: two checkpoints have the same tensors but for metrics, which know the time.
same_tables() {
  python3 - "$1" "$2" <<'EOF' || fail "$1 and $2 have other tensors"
import json, sys
def tensors(path):
  file = open(path, "rb").read()
  end = 8 + int.from_bytes(file[:8], "little")
  header = json.loads(file[8:end])
  header.pop("__metadata__", None)
  return {name: file[end + at["data_offsets"][0]:end + at["data_offsets"][1]]
          for name, at in header.items() if not name.startswith("metrics.")}
a, b = map(tensors, sys.argv[1:])
assert a == b, [name for name in a if a[name] != b.get(name)]
EOF
}
