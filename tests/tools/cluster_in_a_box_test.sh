#!/usr/bin/env bash
# Links between nodes of tools/cluster_in_a_box take the time and have the speed that was asked for,
# at least; what cannot be meant is refused by a sentence.
set -uo pipefail
box="$TEST_SRCDIR/$TEST_WORKSPACE/tools/cluster_in_a_box"
cd "$TEST_TMPDIR" || exit 1

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# refuses TEXT ARGS…: it says the sentence, and starts nothing.
refuses() {
  local text=$1
  shift
  "$box" "$@" -- touch started 2>err
  [ $? -eq 2 ] || fail "cluster_in_a_box $*: expected exit code 2: $(cat err)"
  [ "$(cat err)" = "cluster_in_a_box: $text" ] || fail "expected '$text': $(cat err)"
  [ ! -e started ] || fail "cluster_in_a_box $* started its command"
}
for delay in -1 1.5 100us 10000000 "" 010; do
  refuses "--delay-us $delay: expected a whole number of microseconds below 10000000 (10 s)" \
    --delay-us "$delay" 2 1
done
for gbits in 0 0.0 -1 fast 1000 ""; do
  refuses "--gbits $gbits: expected a number above 0 and below 1000" --gbits "$gbits" 2 1
done
refuses "NODES 0: expected a whole number from 1 to 99" 0 1
refuses "RANKS_PER_NODE 1x: expected a whole number from 1 to 99" 2 1x

# The first rank sends back what it gets; the second measures round trips of a byte, and the time
# in which 2 MB have come.
cat >talk.py <<'EOP'
import os, socket, time
def echo():
    link = socket.create_server(("10.77.0.1", 4711)).accept()[0]
    while byte := link.recv(1):
        if byte == b"y":
            break
        link.sendall(byte)
    size = 1
    while data := link.recv(1 << 20):
        size += len(data)
    link.sendall(b"%d" % size)
def connect():
    while True:
        try:
            return socket.create_connection(("10.77.0.1", 4711))
        except ConnectionRefusedError:
            time.sleep(0.05)
def measure():
    link, trips = connect(), []
    for _ in range(5):
        start = time.monotonic()
        link.sendall(b"x")
        assert link.recv(1) == b"x"
        trips.append(time.monotonic() - start)
    start = time.monotonic()
    link.sendall(b"y" * 2_000_000)
    link.shutdown(socket.SHUT_WR)
    assert link.recv(64) == b"2000000"
    print("trip", min(trips), "sent", time.monotonic() - start)
echo() if os.environ["OMPI_COMM_WORLD_RANK"] == "0" else measure()
EOP

# talks DELAY_US: over links of 0.02 Gbit/s, which let 256 KiB through at once.
talks() {
  "$box" --gbits 0.02 --delay-us "$1" 2 1 -- python3 "$PWD/talk.py" >out 2>err &
  local pid=$! code
  wait "$pid"
  code=$?
  [ $code -ne 77 ] || { echo "SKIPPED: $(cat err)" && exit 0; }
  [ $code -eq 0 ] || fail "delay of $1 us: exit code $code: $(cat out err)"
  cat out
  python3 - "$1" <<'EOP' || fail "delay of $1 us: $(cat out)"
import sys
_, trip, _, sent = open("out").read().split()
delay = float(sys.argv[1]) * 1e-6
assert float(trip) >= 2 * delay, "a round trip is too short"
assert float(sent) >= (2_000_000 - 2 * 262144) * 8 / 0.02e9, "the link is too fast"
EOP
  ! compgen -G "/run/netns/box$pid*" || fail "namespaces are left"
}
talks 0
talks 10000
