"""Requests to a server: an honest one, and those of hostile clients, by kind: cut, damaged, in
contradiction with themselves, or asking for too much."""

import gzip
import json

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
