#!/bin/bash
# Manual pages and completions of the shell: all commands and flags, as --help says them.
set -euo pipefail
install_pages=$1 tessera=$2
prefix=$TEST_TMPDIR/prefix
"$install_pages" "$prefix" "$tessera"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# ---- a manual page for each command, with the text of its help
"$tessera" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]\+\) .*/\1/p' >commands
[ "$(wc -l <commands)" -gt 15 ] || fail "commands: $(cat commands)"
while read -r command; do
  page=$prefix/share/man/man1/tessera-$command.1
  grep -q "^tessera-$command .- [A-Z]" "$page" || fail "$page has no line of its name"
  # Without roff's marks it is the help.
  sed -e '1,/^.nf$/d' -e '/^.fi$/,$d' -e 's/^\\&//' -e 's/\\-/-/g' -e 's/\\e/\\/g' "$page" >text
  diff text <(COLUMNS=100 "$tessera" "$command" --help) || fail "$page"
done <commands
grep -q '^.SH NAME$' "$prefix/share/man/man1/tessera.1" || fail "no page of all"

grep -q '^tessera-runs .*[.]$' \
  "$prefix/share/man/man1/tessera-runs.1" || fail "the name's line is no sentence"
"$install_pages" "$prefix" /bin/true 2>err && fail "/bin/true is no tessera"
grep -q "/bin/true: expected the program tessera" err || fail "$(cat err)"

# ---- completion
source "$prefix/share/bash-completion/completions/tessera"
# expect WORDS WORD…: what may follow, at the last word.
expect() {
  local expected=$1
  shift
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _tessera || true # nothing fits
  [ "${COMPREPLY[*]}" = "$expected" ] || fail "$*: expected $expected, got ${COMPREPLY[*]}"
}
expect train tessera tr
expect "$(tr '\n' ' ' <commands)--help --version --quiet --log-format" tessera ""
expect train tessera --quiet --log-format json tr
expect "--checkpoint --checkpoint-every" tessera --log-format json train --checkp
expect "--checkpoint --checkpoint-every" tessera train --checkp
expect lookup tessera bench look
expect --dim tessera bench lookup --di
expect --canary tessera serve models --can
touch rates.json
expect rates.json tessera train --config rates
expect cuda tessera train --device cu
expect cuda tessera evaluate model.safetensors --device cu
expect "none" tessera quantize model.safetensors --default-row n
expect "avx2 avx512" tessera bench lookup --isa av
expect "f32 f16" tessera bench update --row-type f
expect rates.json tessera train --plan rat
expect "" tessera nothing --c
grep -q '^#compdef tessera$' "$prefix/share/zsh/site-functions/_tessera" || fail "zsh's"
