#!/bin/sh
echo "bazel coverage needs tools that would have to be downloaded; this build downloads nothing" >&2
exit 1
