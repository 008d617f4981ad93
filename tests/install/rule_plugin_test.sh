#!/bin/bash
# The page docs/guide/rule_plugin.md, whose rules are compiled against what is installed; and what
# the command says of objects that only a compiler makes: one with fused multiply-adds, one
# compiled with -ffast-math, and one that needs more than the headers.
source "$(dirname "$0")/install_test_lib.sh"
skip_without pkg-config
cd "$TEST_TMPDIR"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig PATH=$prefix/bin:$PATH TESSERA=$checkout
page=$checkout/docs/guide/rule_plugin.md

mkdir guide && cd guide
sed -n '/^```cpp$/,/^```$/p' "$page" | sed '/^```/d' >plain_sign.cc
commands=$(sed -n '/^```sh$/,/^```$/p' "$page" | sed '/^```/d')
bash -euxo pipefail -c "$commands" >said 2>log || fail "the guide's commands: $(cat said log)"
[ "$(grep -o '"sha256": "[^"]*"' runs/sign/run.json | sort -u)" = \
  "\"sha256\": \"$(sha256sum <sign_descent.so | cut -d' ' -f1)\"" ] || fail "run.json's SHA-256"

compile() { g++ -std=c++20 -O2 -shared -fPIC $(pkg-config --cflags tessera) "$@"; }
sizes="--rows 2000 --tables 2 --dim 8 --batch 64 --threads 1 --rounds 2 --flush-mib 1"

# ---- the bits do not depend on the instructions: the guide's object has all of this CPU's
compile -ffp-contract=off sign_descent.cc -o baseline.so
for object in baseline sign_descent; do
  tessera train --plugin "./$object.so" --config "$checkout/examples/planted.json" \
    --set optimizer.sparse.name=sign_descent --set data.rows=5000 \
    --checkpoint "$object.safetensors" >log 2>&1 || fail "$(cat log)"
done
python3 - baseline.safetensors sign_descent.safetensors <<'END' || fail "other bits"
import sys
def tensors(path):
  file = open(path, "rb").read()
  return file[8 + int.from_bytes(file[:8], "little"):]
sys.exit(tensors(sys.argv[1]) != tensors(sys.argv[2]))
END

# ---- fused multiply-adds, where the CPU has them
if grep -qw fma /proc/cpuinfo; then
  compile -mfma plain_sign.cc -o fused.so
  tessera bench update --plugin fused.so --rule plain_sign $sizes >log 2>&1 || fail "$(cat log)"
  grep -q "plugin fused.so: it was compiled to multiply and add in one instruction" log ||
    fail "no warning: $(cat log)"
fi

# ---- -ffast-math, for which some compilers link code that makes small numbers zero at the start
compile -ffast-math -ffp-contract=off plain_sign.cc -o fast.so
tessera bench update --plugin fast.so --rule plain_sign $sizes >log 2>&1 || true
grep -qE "plugin fast.so: (loading it changes how|it was compiled to multiply .* or with -ffast)" \
  log || fail "no word about -ffast-math: $(cat log)"

# ---- more than the headers
sed 's/^struct PlainSign/void Missing();\n&/; s/      x.w = /      Missing();\n&/' plain_sign.cc \
  >missing.cc
compile missing.cc -o missing.so
! tessera bench update --plugin missing.so --rule plain_sign $sizes >log 2>&1 || fail "$(cat log)"
grep -q "plugin missing.so: it needs what the command does not have for it (.*Missing" log ||
  fail "$(cat log)"

# ---- mistakes that the compiler finds, in our words
mistake() {
  sed "$1" plain_sign.cc >mistake.cc
  ! compile mistake.cc -o mistake.so 2>log || fail "$1 compiles"
  grep -q "$2" log || fail "$1: $(head -5 log)"
}
mistake 's/float lr = 0.1f;/double lr = 0.1;/; s/return {lr}/return {float(lr)}/' \
  "a rule has a member float lr"
mistake 's/Update(const/Updates(const/' "Step needs Update"
acts='  TableSweep SweepAt(int64_t) const { return {}; }\n  struct Step'
mistake "s/^  struct Step/$acts/" "leave SweepAt out"
acts='  OwedDecay OwedAt(int64_t) const { return {}; }\n  struct Step'
mistake "s/^  struct Step/$acts/" "leave OwedAt out"
visits='  void VisitOptions(auto\&\& visit) { visit("lr", lr); visit("text", text); }'
mistake "s/float lr = 0.1f;/& const char* text = \"\";/; s/^  struct Step/$visits\n&/" \
  "an option of a plugin's rule is a float, double, bool, int or int64_t"
