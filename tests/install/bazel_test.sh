#!/bin/bash
# examples/external by Bazel, in a workspace of its own.
source "$(dirname "$0")/install_test_lib.sh"
skip_without bazel
project=$TEST_TMPDIR/project
mkdir "$project"
cp "$checkout"/examples/external/main.c* "$project"
cp "$checkout/examples/external/bazel/BUILD.example" "$project/BUILD"
sed "s,/opt/tessera,$prefix," "$checkout/examples/external/bazel/WORKSPACE.example" \
  >"$project/WORKSPACE"
cd "$project"
# Without the network: what Bazel's own rules would download has stand-ins in the checkout.
offline=()
for name in rules_cc rules_java remote_coverage_tools; do \
  offline+=("--override_repository=$name=$checkout/tools/offline/$name"); done
HOME=$TEST_TMPDIR bazel --batch --output_user_root="$TEST_TMPDIR/bazel" build --jobs=1 \
  --symlink_prefix=out- --spawn_strategy=local \
  --incompatible_enable_cc_toolchain_resolution=false "${offline[@]}" //... >log 2>&1 ||
    fail "$(cat log)"
runs out-bin/program
says_the_same out-bin/program_c
