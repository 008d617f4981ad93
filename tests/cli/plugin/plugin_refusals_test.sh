#!/bin/bash
# What is no plugin, or one that does not fit, is refused by one sentence before anything starts.
source "$TEST_SRCDIR/$TEST_WORKSPACE/tests/cli/plugin/plugin_test_lib.sh"

# refused TEXT PLUGIN…: the training is, saying the text.
refused() {
  local text=$1
  shift
  fails_saying "$text" train --config copied_adagrad.json --checkpoint model.safetensors \
    "${@/#/--plugin=}"
  [ ! -e model.safetensors ] || fail "a refused training has written"
}

# ---- files that are none
refused "--plugin none.so: there is no such file" none.so
refused "--plugin .: expected a shared object, got no regular file" .
echo "a text" >text.so
refused "--plugin text.so: expected a shared object with a rule, but it cannot be loaded" text.so
for bytes in 0 10 64 200 3000 $(($(stat -c %s copied_adagrad.so) / 3)); do
  head -c "$bytes" copied_adagrad.so >cut.so
  refused "--plugin cut.so: expected a shared object" cut.so
done
has err "got its first $bytes: copy or compile it anew"
refused "--plugin no_rule.so: expected a shared object with a rule, got one without the symbol \
tessera_rule_plugin: its source needs the line TESSERA_RULE_PLUGIN(Rule)" no_rule.so

# ---- another version: patched PLUGIN OFFSET BYTES, an offset in the plugin's table
patched() {
  python3 - copied_adagrad.so "$@" <<'END'
import sys
source, to, offset, new = sys.argv[1:]
data = bytearray(open(source, "rb").read())
at = data.index(b"tessera rule 1\0\0") + int(offset)
assert data.count(b"tessera rule 1\0\0") == 1
data[at:at + len(new)] = new.encode()
open(to, "wb").write(data)
END
}
patched old.so 16 0.0.9
version=$("$tessera" --version | cut -d' ' -f2)
refused "--plugin old.so: expected a rule that was compiled against the headers of tessera \
$version" old.so
has err "got one of 0.0.9"
has err "g++ -std=c++20 -O3 -march=native -ffp-contract=off -shared -fPIC"
patched layout.so 40 xxxxxxxx
refused "(layout 7878787878787878)" layout.so
patched magic.so 0 "tessera rule 9"
refused "--plugin magic.so: expected a rule for tessera $version, got one for another version" \
  magic.so

# ---- what its code does
refused "--plugin makes_small_zero.so: loading it changes how the whole command rounds, or makes \
small numbers zero, as -Ofast and -ffast-math do" makes_small_zero.so
sed 's/"rowwise_adagrad"/"refused"/' small.json >throwing.json
fails_saying "--plugin throwing.so: its rule refused in step 1 threw something that is no \
std::exception" train --quiet --plugin throwing.so --config throwing.json
fails_saying "--plugin fails_in_step.so: its rule refused in step 3: three is bad" \
  train --quiet --plugin fails_in_step.so --config throwing.json

# ---- names
refused "--plugin named_adagrad.so: its rule is called adagrad, as one of the library's: give it \
another kName" named_adagrad.so
refused "--plugin other_rowwise.so: its rule is called copied_rowwise, as that of --plugin \
copied_rowwise.so" copied_rowwise.so other_rowwise.so
refused "--plugin unnamed.so: its rule has an empty kName" unnamed.so
refused "--plugin null_name.so: its rule has a null kName: give it a name" null_name.so
refused "--plugin odd_name.so: its rule has a kName that is no UTF-8 ('sign" odd_name.so
refused "--plugin odd_option.so: VisitOptions of rule refused names an option 'rest" odd_option.so
refused "--plugin spaced.so: its rule has a kName that goes on after 'sign' with a space" spaced.so
refused "--plugin states_alike.so: rule refused: States() names two states 'first'" states_alike.so
refused "--plugin option_called_name.so: VisitOptions of rule refused names an option 'name'" \
  option_called_name.so
refused "--plugin options_alike.so: VisitOptions of rule refused names an option 'lr'" \
  options_alike.so
refused "--plugin copied_adagrad.so: it is given twice" copied_adagrad.so copied_adagrad.so
refused "no optimizer of tables is called 'copied_adagrad'"
has err "--plugin FILE adds that of a shared object"
refused ", ftrl, dense, copied_rowwise; --plugin FILE adds" copied_rowwise.so

# ---- options
for option in static copied; do
  refused "--plugin ${option}_option.so: its rule refused: VisitOptions visits an option" \
    ${option}_option.so
  has err "outside of the rule's struct, as a static or a copy does; expected a member"
done
refused "--plugin decay_of_one.so: refused: beta1 1; expected at least 0, below 1" decay_of_one.so
refused "--plugin negative_rate.so: refused: lr -1; expected a finite number, at least 0" \
  negative_rate.so
bad() {
  fails_saying "$1" train --plugin copied_adagrad.so --config copied_adagrad.json --set "$2"
}
bad "optimizer.sparse.momentum: unknown key; known here: name, lr, eps, unused_count, unused_int, \
unused_switch, unused_double" optimizer.sparse.momentum=0.9
bad "optimizer.sparse.lr: expected a number that is not negative, got -1" optimizer.sparse.lr=-1
bad "optimizer.sparse.unused_switch: expected true or false, got 3" \
  optimizer.sparse.unused_switch=3
bad "optimizer.sparse.unused_int: expected an integer of 32 bits" \
  optimizer.sparse.unused_int=3000000000
bad "optimizer.sparse.unused_count: expected an integer" optimizer.sparse.unused_count=1.5

bad "optimizer.sparse.eps: expected a number that a float can hold, got 1e-50" \
  optimizer.sparse.eps=1e-50

# ---- a configuration whose plugin is not given: no other key is read as another rule's
for command in "train --config" "plan --ranks 2 --tables"; do
  fails_saying "copied_adagrad.json: optimizer.sparse.name: no optimizer of tables is called \
'copied_adagrad'" $command copied_adagrad.json --set optimizer.sparse.unused_int=3
  lacks err unused_int
done

# A configuration of the library's rule describes no plugin.
bad "optimizer.sparse.plugin: unknown key" 'optimizer.sparse={"name":"sgd","plugin":{"states":[]}}'
bad "optimizer.sparse.plugin.states: expected" \
  'optimizer.sparse={"name":"copied_adagrad","plugin":{"states":3}}'

# ---- a GPU
fails_saying "--device cuda beside --plugin copied_adagrad.so: its rule copied_adagrad, of table \
'a', runs on CPUs alone" train --plugin copied_adagrad.so --config copied_adagrad.json --device cuda
