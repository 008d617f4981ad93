#!/usr/bin/env bash
# Prints docs/configuration.md: what `tessera config` says. Argument: the program.
set -euo pipefail
cat <<'END'
# The configuration

Every key of a configuration of `tessera train`, as `tessera config` prints it. [The
guide](guide/training.md) has whole tasks, [examples/](../examples) whole configurations, one of
each type of model in [examples/models](../examples/models).

An editor completes and checks a configuration whose first key is `"$schema"`:

```
tessera config --json-schema > tessera.schema.json
{"$schema": "./tessera.schema.json", "tables": …
```

END
printf '```\n'
"$1" config
printf '```\n'
