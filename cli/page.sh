#!/usr/bin/env bash
# Prints docs/cli.md: what `tessera --help` and the help of every command and bench topic say.
# Argument: the program.
set -euo pipefail
tessera=$1

# The subcommands that a help text lists.
subcommands() { sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p'; }
section() {
  printf '%s %s\n\n```\n' "$1" "${*:2}"
  "$tessera" "${@:3}" --help | sed -E 's/(threads of a call \[)[0-9]+\]/\1all cores]/'
  printf '```\n\n'
}

cat <<'END'
# The command line

What `--help` says of each command. [The guide](guide/README.md) has whole tasks.

END
section '##' tessera
for command in $("$tessera" --help | subcommands); do
  section '##' tessera "$command"
  for topic in $("$tessera" "$command" --help | subcommands); do section '###' tessera "$command" \
    "$topic"; done
done
