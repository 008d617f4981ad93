#!/usr/bin/env python3
"""A server among hostile clients: 10,000 requests that are cut, contradict themselves or ask for
too much (a tenth without TESSERA_TEST_ALL), then 64 clients that send a byte now and then beside
500 honest requests a second. Every honest request is answered rightly, the server lives, and it
ends in time. Prints the honest p50 and p99 with and without the attack."""

import asyncio
import collections
import gzip
import json
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import attack

REQUESTS = 10_000
DRIPPING_CLIENTS = 64
HONEST_RATE = 500
HONEST_CLIENTS = 8
HONEST_SECONDS = 20 if attack.ALL else 4
ANSWER_SECONDS = 30
INFER = "/v2/models/model/infer"
PREDICTION = {
    "inputs": [
        {"name": "dense", "shape": [1, 13], "datatype": "FP32", "data": [0.25] * 13},
        *(
            {"name": f"cat_{i}", "shape": [1], "datatype": "INT64", "data": [i + 1]}
            for i in range(3)
        ),
    ]
}
BODY = json.dumps(PREDICTION).encode()
ZIPPED = gzip.compress(BODY)
BOMB = gzip.compress(b" " * (64 << 20))


def request(body=BODY, method=b"POST", path=INFER.encode(), headers=(), length=None):
    lines = [method + b" " + path + b" HTTP/1.1", b"Host: x", *headers]
    if length is not False:
        lines.append(b"Content-Length: " + str(len(body) if length is None else length).encode())
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def deep(depth):
    return b'{"inputs": ' + b"[" * depth + b"]" * depth + b"}"


def changed_body(dice):
    """The honest body with something else in it."""
    document = json.loads(BODY)
    tensor = dice.choice(document["inputs"])
    key = dice.choice(["name", "shape", "datatype", "data"])
    tensor[key] = dice.choice(
        [
            None,
            -1,
            1e999,
            "",
            "\u0000",
            [],
            [[]],
            [-1],
            [1 << 62, 1 << 62],
            {"a": 1},
            [1 << 63],
            "x" * 5000,
            ["a"],
            [0.5] * 14,
            [1e300] * 13,
            [9007199254740993],
        ]
    )
    return json.dumps(document).encode()


def damaged_bytes(dice):
    data = bytearray(request())
    for _ in range(dice.choice([1, 1, 4, 40])):
        data[dice.randrange(len(data))] = dice.randrange(256)
    return bytes(data)


def damaged_gzip(dice):
    data = bytearray(ZIPPED)
    for _ in range(dice.choice([0, 1, 4])):
        data[dice.randrange(len(data))] = dice.randrange(256)
    return request(
        bytes(data[: dice.choice([len(data), dice.randrange(len(data))])]),
        headers=[b"Content-Encoding: " + dice.choice([b"gzip", b"gzip", b"deflate"])],
    )


def duplicate_keys(dice):
    return request(b'{"inputs": [], "inputs": ' + json.dumps(PREDICTION["inputs"]).encode() + b"}")


HOSTILE = {
    "damaged bytes": damaged_bytes,
    "cut": lambda dice: request()[: dice.randrange(len(request()))],
    "noise": lambda dice: dice.randbytes(dice.choice([1, 10, 1000, 20000])),
    "another body": lambda dice: request(changed_body(dice)),
    "duplicate keys": duplicate_keys,
    "deep": lambda dice: request(deep(dice.choice([100, 5000, 200_000]))),
    "many keys": lambda dice: request(
        b"{" + b",".join(b'"k%d": 1' % i for i in range(dice.choice([10, 60_000]))) + b"}"
    ),
    "two lengths": lambda dice: request(headers=[b"Content-Length: 5"]),
    "length and chunks": lambda dice: request(headers=[b"Transfer-Encoding: chunked"]),
    "bad chunks": lambda dice: request(
        dice.choice([b"zz\r\n", b"ffffffffffffffff\r\n", b"5\r\nab", b"-1\r\n\r\n"]),
        length=False,
        headers=[b"Transfer-Encoding: chunked"],
    ),
    "endless chunks": lambda dice: request(
        b"100000\r\n" + b"a" * 0x100000 + b"\r\n",
        length=False,
        headers=[b"Transfer-Encoding: chunked"],
    )
    + (b"100000\r\n" + b"a" * 0x100000 + b"\r\n") * 20,
    "too long": lambda dice: request(b"", length=dice.choice([1 << 30, 1 << 63, 1 << 70])),
    "wrong length": lambda dice: request(length=dice.choice(["-1", "x", "1e3", "0x10", ""])),
    "long header": lambda dice: request(headers=[b"X: " + b"a" * dice.choice([20_000, 1_000_000])]),
    "endless header": lambda dice: b"POST / HTTP/1.1\r\nX: " + b"a" * 3_000_000,
    "many headers": lambda dice: request(headers=[b"X%d: 1" % i for i in range(5000)]),
    "folded header": lambda dice: request(headers=[b"X: 1\r\n 2"]),
    "body of a GET": lambda dice: request(method=b"GET"),
    "other methods": lambda dice: request(
        method=dice.choice([b"PUT", b"DELETE", b"BREW", b"CONNECT", b"TRACE", b"", b"GET /"])
    ),
    "other paths": lambda dice: request(
        path=dice.choice(
            [
                b"/",
                b"/..%2f..%2fetc/passwd",
                b"*",
                b"http://x/",
                b"/" + b"a" * 9000,
                b"/v2/models/%00/infer",
                b"/v2/models/\xff/infer",
            ]
        )
    ),
    "encodings": lambda dice: request(
        headers=[
            dice.choice(
                [
                    b"Content-Encoding: gzip",
                    b"Content-Type: multipart/form-data; boundary=x",
                    b"Expect: 100-continue",
                    b"Upgrade: h2c",
                    b"Range: bytes=" + b"0-1," * 900,
                ]
            )
        ]
    ),
    "damaged gzip": damaged_gzip,
    "bombs": lambda dice: request(BOMB, headers=[b"Content-Encoding: gzip"]),
    "ranges of metrics": lambda dice: request(
        b"", b"GET", b"/metrics", [b"Range: bytes=" + b",".join([b"0-"] * 700)]
    ),
    "administration": lambda dice: request(
        b"",
        path=dice.choice(
            [b"/v2/repository/models/model/load", b"/v2/repository/models/model/deltas"]
        ),
    ),
    "safetensors": lambda dice: request(
        (dice.choice([8, 1 << 20, 1 << 62])).to_bytes(8, "little") + dice.randbytes(200),
        headers=[b"Content-Type: application/x-safetensors"],
    ),
    "binary tensors": lambda dice: request(
        BODY,
        headers=[
            b"Inference-Header-Content-Length: "
            + str(dice.choice([0, 3, len(BODY), 1 << 40, "x"])).encode()
        ],
    ),
    "pipelined": lambda dice: request() * dice.choice([2, 20]),
}


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
