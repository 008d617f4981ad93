"""serve_attack.py TESSERA MODEL: what clients may do to `tessera serve`, and what others get
meanwhile."""

import json
import math
import signal
import socket
import struct
import subprocess
import sys

TESSERA, MODEL = sys.argv[1:]
LONG = 600  # seconds that no test sits out


class Server:
    def __init__(self, *flags):
        command = [TESSERA, "serve", MODEL, "--port", "0", "--deadline", "60000", *flags]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=LONG)

    def ask(self, data):
        """The status and the body of the answer to these bytes."""
        with self.connect() as client:
            client.sendall(data)
            return answer(client)

    def post(self, path, body, kind="application/json"):
        head = (
            f"POST {path} HTTP/1.1\r\nHost: x\r\n"
            f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return self.ask(head.encode() + body)

    def resident(self):
        """The most bytes that were resident at once."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=LONG)
        assert self.process.returncode == 0 and "stopped" in out, (
            self.process.returncode,
            out,
            err,
        )


def answer(client):
    data = b""
    while b"\r\n\r\n" not in data:
        more = client.recv(1 << 16)
        assert more, data
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    while len(body) < length:
        body += client.recv(1 << 16)
    return int(head.split()[1]), body.decode(errors="replace")


HEALTH = b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n"
INFER = "/v2/models/model/infer"


def two_servers_on_a_port():
    server = Server()
    second = subprocess.run(
        [TESSERA, "serve", MODEL, "--port", str(server.port)],
        capture_output=True,
        text=True,
        timeout=LONG,
    )
    assert second.returncode == 1 and "Address already in use" in second.stderr, second
    server.stop()


def hanging_clients():
    times = ("--header-seconds", "--body-seconds", "--idle-seconds")
    server = Server("--drain-seconds", "1", *(word for flag in times for word in (flag, "3600")))
    hanging = []
    for begin in [
        b"",
        b"GET /v2 HT",
        b"POST " + INFER.encode() + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{",
    ]:
        for _ in range(40):
            hanging.append(server.connect())
            hanging[-1].sendall(begin)
    assert server.ask(HEALTH) == (200, "{}")
    server.stop()  # it ends although they hang on


def endless_header():
    server = Server()
    status, body = server.ask(b"GET /v2 HTTP/1.1\r\nHost: x\r\nA: " + b"b" * 100_000)
    assert status == 431 and "16384 bytes" in body, (status, body)
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    with server.connect() as client:
        client.sendall(b"POST /nowhere HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            for _ in range(1000):
                client.sendall(chunk)
        except OSError:
            pass  # it takes no more
    assert server.resident() < 400 << 20, server.resident()
    server.stop()


def many_keys():
    """As many as a body may have: a search of all earlier keys for each would take an hour."""
    server = Server()
    body = ("{" + ",".join(f'"{i}":0' for i in range(1_200_000)) + "}").encode()
    status, text = server.post(INFER, body)
    assert status == 400, (status, text)
    status, text = server.post(INFER, b'{"inputs": [], "inputs": []}')
    assert status == 400 and "given twice" in text, (status, text)
    server.stop()


def safetensors(tensors):
    header, data = {}, b""
    for name, (kind, shape, content) in tensors.items():
        header[name] = {
            "dtype": kind,
            "shape": shape,
            "data_offsets": [len(data), len(data) + len(content)],
        }
        data += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def large_bodies():
    """Resident memory grows by no more than 4 times the bodies, whatever they hold."""
    bodies = {}
    examples = (16 << 20) // (13 * 4 + 3 * 8) - 1000
    one = struct.pack("<q", 1) * examples
    bodies["examples"] = safetensors(
        {
            "dense": ("F32", [examples, 13], b"\0" * (52 * examples)),
            "cat_0": ("I64", [examples], one),
            "cat_1": ("I64", [examples], one),
            "cat_2": ("I64", [examples], one),
        }
    )
    ids = (16 << 20) // 8 - 1000
    bodies["ids"] = safetensors(
        {
            "dense": ("F32", [1, 13], b"\0" * 52),
            "cat_0": ("I64", [1, ids], struct.pack("<q", 1) * ids),
            "cat_1": ("I64", [1], one[:8]),
            "cat_2": ("I64", [1], one[:8]),
        }
    )
    empty = {f"t{i}": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for i in range(230_000)}
    text = json.dumps(empty).encode()
    bodies["tensors"] = struct.pack("<Q", len(text)) + text
    examples = (16 << 20) // (13 * 4 + 3 * 2) - 1000
    data = {
        "dense": ("FP32", [examples, 13], "0.5,"),
        "cat_0": ("INT64", [examples], "1,"),
        "cat_1": ("INT64", [examples], "2,"),
        "cat_2": ("INT64", [examples], "3,"),
    }
    inputs = (
        f'{{"name": "{name}", "datatype": "{kind}", "shape": {shape}, '
        f'"data": [{(text * math.prod(shape))[:-1]}]}}'
        for name, (kind, shape, text) in data.items()
    )
    bodies["json"] = ('{"inputs": [' + ", ".join(inputs) + "]}").encode()
    ids = (16 << 20) // 2 - 1000
    bodies["json of short ids"] = (
        '{"inputs": [{"name": "dense", "datatype": "FP32", "shape": [1, 13], '
        '"data": [0,0,0,0,0,0,0,0,0,0,0,0,0]}, '
        f'{{"name": "cat_0", "datatype": "INT64", "shape": [1, {ids}], '
        f'"data": [{("1," * ids)[:-1]}]}}, '
        '{"name": "cat_1", "datatype": "INT64", "shape": [1], "data": [1]}, '
        '{"name": "cat_2", "datatype": "INT64", "shape": [1], "data": [1]}]}'
    ).encode()
    for name, body in bodies.items():
        server = Server()
        server.ask(HEALTH)
        before = server.resident()
        status, text = server.post(
            INFER,
            body,
            "application/json" if name.startswith("json") else "application/x-safetensors",
        )
        assert status == (400 if name == "tensors" else 200), (name, status, text[:300])
        grown = (server.resident() - before) / len(body)
        print(f"{name}: {len(body)} bytes, resident memory grew by {grown:.1f} times as much")
        assert grown <= 4, (name, grown)
        server.stop()


for case in [two_servers_on_a_port, hanging_clients, endless_header, many_keys, large_bodies]:
    case()
