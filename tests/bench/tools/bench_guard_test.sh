#!/bin/bash
# The guard, over a made-up repository, a Bazel that builds nothing, and a command with made-up
# times: who became slower, who did not.
source "$(dirname "$0")/../../cli/cli_test_lib.sh"
main="$TEST_SRCDIR/$TEST_WORKSPACE"
command -v git >/dev/null || { echo "skipped: there is no git here"; exit 0; }
export REAL_TESSERA=$tessera HOME=$PWD CHANGED=$PWD/changed/cli/tessera

mkdir -p repository/tools fake
cp "$main"/tools/{bench_guard,bench_runs.py} repository/tools/
git -C repository init -q -b main
git -C repository add tools
git -C repository -c user.name=x -c user.email=x@y commit -qm "A base"

# Where the build lies tells base from change: ours takes $CHANGED_MS then.
cat >fake/bazel <<EOF
#!/bin/bash
case " \$* " in
  *" info "*) case "\$PWD" in */repository) echo $PWD/changed ;; *) echo $PWD/base ;; esac ;;
esac
EOF
mkdir -p {base,changed}/cli
printf '#!/bin/bash\nexec python3 %q "$@"\n' "$main/tests/bench/tools/fake_tessera.py" \
  >base/cli/tessera
printf '#!/bin/bash\nFAKE_MS=$CHANGED_MS FAKE_LIMIT_MS=$CHANGED_LIMIT_MS exec python3 %q "$@"\n' \
  "$main/tests/bench/tools/fake_tessera.py" >changed/cli/tessera
chmod +x fake/bazel {base,changed}/cli/tessera
PATH=$PWD/fake:$PATH
guard() { TMPDIR=$PWD CHANGED_MS=$1 CHANGED_LIMIT_MS=$2 python3 repository/tools/bench_guard \
  --topics lookup --rounds 3 "${@:3}" >out 2>err; }

guard 2 1 || fail "the same speed: $(cat out err)"
has out "base: "
has out "0 of our rows slower by more than 5 %"
has out "over the medians of passes"
guard 2.06 1 || fail "3 % slower is allowed: $(cat out err)"
! guard 2.4 1 || fail "20 % slower: $(cat out)"
has out "4 of our rows slower by more than 5 %"
! guard 2.4 1.2 || fail "calls without a limit became slower: $(cat out)"
has out "2 of our rows slower by more than 5 %"
guard 2.4 1.2 --threads 1 -- --only D16 ||
  fail "the whole machine became slower, shares are the same: $(cat out err)"
has out "lookup/D16/1t"
lacks out "lookup/D16/2t"

[ "$(git -C repository worktree list | wc -l)" -eq 1 ] ||
  fail "a worktree is left: $(git -C repository worktree list)"
! guard 2 1 no_such_commit || fail "a commit that is not there"
has err "bench_guard: git rev-parse"
! guard 2 1 --work repository/work || fail "a work folder in the checkout"
has err "lies in the checkout"
! TMPDIR=$PWD python3 repository/tools/bench_guard --topics update >out 2>err ||
  fail "a topic that is not there"
has err "no topic 'update'"
! guard 2 1 --passes 4 || fail "passes that cannot decide"
has err "--passes: expected at least 5"
