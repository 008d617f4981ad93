#!/usr/bin/env python3
"""A server among hostile clients: 10,000 requests that are cut, contradict themselves or ask for
too much (a tenth without TESSERA_TEST_ALL), then 64 clients that send a byte now and then beside
500 honest requests a second. Every honest request is answered rightly, the server lives, and it
ends in time. Prints the honest p50 and p99 with and without the attack."""

import asyncio
import collections
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import attack
from hostile_requests import HOSTILE, request

REQUESTS = 10_000
DRIPPING_CLIENTS = 64
HONEST_RATE = 500
HONEST_CLIENTS = 8
HONEST_SECONDS = 20 if attack.ALL else 4
ANSWER_SECONDS = 30


class Server:
    def __init__(self, folder):
        attack.make_world(folder)
        self.said = open(folder / "said", "w")
        self.process = subprocess.Popen(
            [attack.program(), "serve", "served", "--port", "0", "--workers", "1"],
            cwd=folder,
            stdout=self.said,
            stderr=subprocess.STDOUT,
        )
        self.port = self.wait_for_port(folder / "said")

    def wait_for_port(self, path):
        for _ in range(600):
            found = re.search(r"http://127\.0\.0\.1:(\d+)", path.read_text())
            if found:
                return int(found.group(1))
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        sys.exit(f"the server does not serve: {path.read_text()}")

    def resident_mib(self):
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0


async def read_answer(reader):
    """The status and the body of one answer; None where the connection ends before one."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    except asyncio.LimitOverrunError:
        return 0, b""
    status = int(head.split(b" ", 2)[1])
    length = re.search(rb"content-length: *(\d+)", head, re.I)
    try:
        body = await reader.readexactly(int(length.group(1))) if length else b""
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return status, body


async def hostile(port, kind, dice):
    """What came of one hostile request."""
    data = HOSTILE[kind](dice)
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    except ConnectionError:
        return "no connection"
    try:
        writer.write(data)
        if writer.can_write_eof():
            writer.write_eof()
        answer = await asyncio.wait_for(read_answer(reader), ANSWER_SECONDS)
        if answer is None:
            return "closed"
        return f"{answer[0] // 100}xx"
    except asyncio.TimeoutError:
        return "hang"
    except OSError:
        return "closed"
    finally:
        writer.close()


async def drip(port, stop, dice):
    """A client that holds connections and sends a byte now and then."""
    while not stop.is_set():
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            for byte in dice.choice([request(), request(headers=[b"X: " + b"a" * 9000]), b""]):
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(dice.random())
                if stop.is_set():
                    break
            await asyncio.sleep(dice.random())
            writer.close()
        except (ConnectionError, asyncio.TimeoutError):
            await asyncio.sleep(0.1)


class Honest:
    """HONEST_RATE requests a second over kept connections, each answer compared with the first."""

    def __init__(self, port):
        self.port, self.seconds, self.wrong, self.expected = port, [], [], None

    async def client(self, begin, number, until):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        i = 0
        while True:
            due = begin + (number + i * HONEST_CLIENTS) / HONEST_RATE
            i += 1
            if due >= until:
                break
            await asyncio.sleep(max(due - time.monotonic(), 0))
            writer.write(request())
            try:
                answer = await asyncio.wait_for(read_answer(reader), ANSWER_SECONDS)
            except asyncio.TimeoutError:
                answer = "no answer"
            self.expected = self.expected or answer
            if answer != self.expected or not isinstance(answer, tuple) or answer[0] != 200:
                self.wrong.append(answer)
                writer.close()
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            self.seconds.append(time.monotonic() - due)
        writer.close()

    async def run(self, seconds):
        self.seconds = []
        begin = time.monotonic()
        await asyncio.gather(
            *(self.client(begin, n, begin + seconds) for n in range(HONEST_CLIENTS))
        )
        ordered = sorted(self.seconds)
        return ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100]


async def main_async(server, tally):
    dice = attack.dice("hostile")
    honest = Honest(server.port)
    alone = await honest.run(HONEST_SECONDS)
    outcomes = collections.Counter()
    kinds = sorted(HOSTILE)
    for first in range(0, attack.share(REQUESTS), 8):
        batch = [kinds[(first + i) % len(kinds)] for i in range(8)]
        found = await asyncio.gather(
            *(hostile(server.port, kind, random.Random(dice.random())) for kind in batch)
        )
        for kind, outcome in zip(batch, found):
            outcomes[outcome] += 1
            allowed = kind in (
                "pipelined",
                "another body",
                "damaged bytes",
                "other paths",
                "other methods",
                "encodings",
                "damaged gzip",
                "binary tensors",
                "ranges of metrics",
            )
            wrong = outcome in ("hang", "no connection") or outcome == "2xx" and not allowed
            tally.add(
                kind,
                "hang" if outcome == "hang" else "wrong result" if wrong else "refused or answered",
                outcome,
            )
        if server.process.poll() is not None:
            tally.add(
                batch[0],
                "crash",
                f"the server ended with {server.process.returncode} after one of {batch}",
            )
            return
    peak = server.resident_mib()
    stop = asyncio.Event()
    drips = [
        asyncio.create_task(drip(server.port, stop, random.Random(i)))
        for i in range(DRIPPING_CLIENTS)
    ]
    await asyncio.sleep(1)
    beside = await honest.run(HONEST_SECONDS)
    server.process.send_signal(signal.SIGTERM)  # it does not wait for those that drip
    begin = time.monotonic()
    while server.process.poll() is None and time.monotonic() - begin < 30:
        await asyncio.sleep(0.05)
    ended = time.monotonic() - begin
    tally.add(
        "end by SIGTERM",
        (
            "hang"
            if server.process.poll() is None
            else "ok" if server.process.returncode == 0 else "crash"
        ),
        f"exit {server.process.returncode}",
    )
    stop.set()
    for task in drips:
        task.cancel()
    for answer in honest.wrong:
        tally.add("honest", "wrong result", repr(answer)[:300])
    tally.counts["honest", "ok"] += 2 * HONEST_RATE * HONEST_SECONDS - len(honest.wrong)
    print(
        "hostile requests: "
        + ", ".join(f"{n} {outcome}" for outcome, n in sorted(outcomes.items()))
    )
    print(f"resident after them: {peak:.0f} MiB; ended {ended:.1f} s after SIGTERM")
    for name, (p50, p99) in (
        ("alone", alone),
        (f"beside {DRIPPING_CLIENTS} dripping clients", beside),
    ):
        print(
            f"honest requests {name}, {HONEST_RATE}/s: "
            f"p50 {1e3 * p50:.2f} ms, p99 {1e3 * p99:.2f} ms"
        )


def main():
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (4096, max(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    )
    folder = attack.scratch() / "world"
    folder.mkdir()
    server = Server(folder)
    tally = attack.Tally("hostile server")
    try:
        asyncio.run(main_async(server, tally))
    finally:
        if server.process.poll() is None:
            server.process.kill()
    if tally.problems:
        print((folder / "said").read_text()[-2000:])
    shutil.rmtree(folder.parent)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
